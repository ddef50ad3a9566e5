// Outputs of a task: declared files and its standard output, of the declared type. JSON is parsed, so that expressions can look into it;
// anything else, and anything large, becomes an artifact in the content store, named by its hash.

import { isJsonType, isStored, type OutputType, readOutputType, typeFault } from '../../domain/artifacts/output-type.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { OUTPUT_MAX_BYTES } from '../../domain/limits.ts'
import type { OutputSource, TaskDefinition } from '../../domain/plan.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Failure } from '../../domain/result.ts'
import { openGate } from '../../safety/files/path-gate.ts'
import type { Blobs } from '../../workspace/workspace.ts'

const TEXT_INLINE_MAX_BYTES = 64 * 1024
const JSON_INLINE_MAX_BYTES = 1024 * 1024

export type Collected =
  | { readonly ok: true; readonly outputs: JsonObject }
  | { readonly ok: false; readonly failure: Failure }

export async function collect(
  declared: { readonly [name: string]: OutputSource },
  seen: { readonly stdout: string; readonly truncated: boolean },
  rooms: { readonly root: string; readonly stateDir: string; readonly blobs: Blobs },
): Promise<Collected> {
  const outputs: Record<string, Json> = {}
  for (const [name, source] of Object.entries(declared)) {
    // Only a report of an external task can contain it.
    if (source.from === 'report') continue
    if (source.from === 'stdout' && seen.truncated)
      return missing(name, 'it printed more than can be taken whole', 'let it write a file, and declare the file')
    const read =
      source.from === 'stdout'
        ? { ok: true as const, bytes: Buffer.from(seen.stdout) }
        : await readDeclared(name, source.file, rooms)
    if (!read.ok) return read
    const type = source.type === undefined ? null : readOutputType(source.type)
    const kept = await keep(name, read.bytes, { type: type ?? plainType(source), source }, rooms.blobs)
    if (!kept.ok) return kept
    outputs[name] = kept.value
  }
  return { ok: true, outputs }
}

async function readDeclared(
  name: string,
  file: string,
  rooms: { readonly root: string; readonly stateDir: string },
): Promise<{ ok: true; bytes: Buffer } | { ok: false; failure: Failure }> {
  const gate = await openGate(rooms)
  if (!gate.ok) return gate
  try {
    const content = await gate.value.read(file, { maxBytes: OUTPUT_MAX_BYTES })
    if (!content.ok) return content
    if (content.value === null)
      return missing(name, `it left no file '${file}'`, 'declare outputs only for files the task always writes')
    return { ok: true, bytes: Buffer.from(content.value.bytes) }
  } finally {
    await gate.value.close()
  }
}

/** Without a declared type, a file is JSON if its name says so. */
const plainType = (source: OutputSource): OutputType =>
  (source.from === 'stdout' ? source.as === 'json' : source.from === 'file' && source.file.endsWith('.json'))
    ? { is: 'json' }
    : { is: source.from === 'file' ? 'file' : 'text' }

async function keep(
  name: string,
  bytes: Buffer,
  { type, source }: { readonly type: OutputType; readonly source: OutputSource },
  blobs: Blobs,
): Promise<{ ok: true; value: Json } | { ok: false; failure: Failure }> {
  const file = source.from === 'file' ? source.file : null
  const isJson = isJsonType(type) || (source.from === 'stdout' && source.as === 'json')
  if (isJson || type.is !== 'file') {
    const value = isJson ? parseJson(bytes) : bytes.toString('utf8').replace(/\n$/, '')
    if (value === undefined)
      return missing(
        name,
        'it is not JSON',
        file === null ? 'declare it as `stdout: text`, or print only JSON' : `look at ${file}`,
      )
    const fault = typeFault(type, value)
    if (fault !== null) return missing(name, fault, `let the task leave ${source.type}, or correct its type`)
    if (bytes.length <= (isJson ? JSON_INLINE_MAX_BYTES : TEXT_INLINE_MAX_BYTES)) return { ok: true, value }
  }
  const sha256 = await blobs.put(bytes)
  return { ok: true, value: { artifact: sha256, bytes: bytes.length, ...(file === null ? {} : { file }) } }
}

/** An output that was reported, of another type than declared; null if there is none. */
export function mistyped({ id, outputs: declared = {} }: TaskDefinition, outputs: JsonObject = {}): Refusal | null {
  for (const [name, source] of Object.entries(declared)) {
    const type = source.type === undefined ? null : readOutputType(source.type)
    if (type === null || !Object.hasOwn(outputs, name)) continue
    const value = outputs[name]!
    // Its type was checked before it was stored.
    if (source.from !== 'report' && isStored(value)) continue
    const fault = typeFault(type, value)
    if (fault !== null)
      return refuse(
        'invalid',
        `output '${name}' of '${id}' is not accepted: ${fault}`,
        `report ${source.type}, or correct its type`,
      )
  }
  return null
}

/** Rejects the key `__proto__`, which could change the prototype of an object. */
function parseJson(bytes: Buffer): Json | undefined {
  try {
    return JSON.parse(bytes.toString('utf8'), (key, value) => {
      if (key === '__proto__') throw new SyntaxError('__proto__')
      return value
    })
  } catch {
    return undefined
  }
}

function missing(name: string, why: string, hint: string): { ok: false; failure: Failure } {
  return {
    ok: false,
    failure: { class: 'logic', message: `output '${name}' cannot be taken: ${why}`, hint, retryable: true },
  }
}
