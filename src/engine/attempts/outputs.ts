// Outputs of a task: declared files and its standard output. JSON is parsed, so that expressions can look into it; anything else, and
// anything large, becomes an artifact in the content store, named by its hash.

import type { Json, JsonObject } from '../../domain/json.ts'
import type { OutputSource } from '../../domain/plan.ts'
import type { Failure } from '../../domain/result.ts'
import { openGate } from '../../safety/files/path-gate.ts'
import type { Blobs } from '../../workspace/workspace.ts'

const TEXT_INLINE_MAX_BYTES = 64 * 1024
const JSON_INLINE_MAX_BYTES = 1024 * 1024
const FILE_MAX_BYTES = 64 * 1024 * 1024

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
    const json = source.from === 'stdout' ? source.as === 'json' : source.file.endsWith('.json')
    const kept = await keep(name, read.bytes, { json, file: source.from === 'file' ? source.file : null }, rooms.blobs)
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
    const content = await gate.value.read(file, { maxBytes: FILE_MAX_BYTES })
    if (!content.ok) return content
    if (content.value === null)
      return missing(name, `it left no file '${file}'`, 'declare outputs only for files the task always writes')
    return { ok: true, bytes: Buffer.from(content.value.bytes) }
  } finally {
    await gate.value.close()
  }
}

async function keep(
  name: string,
  bytes: Buffer,
  how: { readonly json: boolean; readonly file: string | null },
  blobs: Blobs,
): Promise<{ ok: true; value: Json } | { ok: false; failure: Failure }> {
  if (how.json) {
    const parsed = parseJson(bytes)
    if (parsed === undefined)
      return missing(
        name,
        'it is not JSON',
        how.file === null ? 'declare it as `stdout: text`, or print only JSON' : `look at ${how.file}`,
      )
    if (bytes.length <= JSON_INLINE_MAX_BYTES) return { ok: true, value: parsed }
  } else if (how.file === null && bytes.length <= TEXT_INLINE_MAX_BYTES) {
    return { ok: true, value: bytes.toString('utf8').replace(/\n$/, '') }
  }
  const sha256 = await blobs.put(bytes)
  return {
    ok: true,
    value: { artifact: sha256, bytes: bytes.length, ...(how.file === null ? {} : { file: how.file }) },
  }
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
