// Searches the files that a task with secrets changed for those secrets, before anything is stored; a leak fails the attempt. In files of
// its write scope the value is replaced, so no snapshot, output or fork holds it. Other files may be a person's, so they are named and left
// unchanged. New names and link targets with a secret are replaced everywhere, because paths are shown and stored in many places and
// renaming loses nothing.

import { lstat, readlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { JsonObject } from '../../domain/json.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { Failure } from '../../domain/result.ts'
import type { Outcome, RunnerTools } from '../../runners/runner.ts'
import { openGate, type PathGate } from '../../safety/files/path-gate.ts'
import { scopeEntries } from '../../safety/files/scope-entries.ts'
import { failure } from '../../safety/safety-refusal.ts'
import { byteRedactor, REDACTED, type Redact, redactJson, redactor } from '../../safety/secrets/redaction.ts'
import type { Rooms } from '../rooms.ts'

/** Timestamps of file systems are coarse. */
const TICK_MS = 2_000
const FILE_MAX_BYTES = 64 * 1024 * 1024
const NAMED = 3

/** Runs the attempt and searches the files it changed, however it ended. */
export async function withoutSecretFiles(
  rooms: Pick<Rooms, 'root' | 'stateDir' | 'clock'>,
  { secrets = {}, write }: Pick<RunnerTools, 'secrets' | 'write'>,
  carryOut: () => Promise<Outcome>,
): Promise<Outcome> {
  const values = Object.values(secrets)
  const redact = redactor(values)
  const since = rooms.clock.now() - TICK_MS
  const before = new Set((await leaksBelow(rooms, write, redact)).map(keyOf))
  const outcome = await carryOut()
  const { beyond } = 'beyond' in outcome ? outcome : {}
  const leaks = [await leaksBelow(rooms, write, redact)]
  for (const path of beyond?.appeared ?? []) leaks.push(await leaksBelow(rooms, null, redact, path))
  const names = await replaceLeaks(
    rooms,
    [...new Map(leaks.flat().map(leak => [keyOf(leak), leak])).values()].filter(leak => !before.has(keyOf(leak))),
    redact,
  )
  const found = [...names, ...(await redactChanged(rooms, write, since, values))]
  if (found.length === 0 || outcome.type === 'interrupted') return outcome
  const now = (path: string) => names.find(name => name.from === path)?.path ?? path
  const elsewhere = beyond === undefined ? {} : { beyond: { ...beyond, appeared: beyond.appeared.map(now) } }
  return { type: 'failed', failure: leakFailure(found, write !== null, redact), ...elsewhere }
}

function leakFailure(found: readonly Found[], isDeclared: boolean, redact: Redact): Failure {
  const kept = found.filter(({ isReplaced }) => !isReplaced)
  const names = named(kept.length === 0 ? found : kept, redact)
  const contain = kept.length === 1 ? 'contains' : 'contain'
  const otherwise = 'hand it on by the environment, not in a file'
  const [message, hint] =
    kept.length === 0
      ? [`it left a secret in ${names}; the value was replaced there`, otherwise]
      : isDeclared
        ? [
            `it left a secret in ${names}, where it could not be replaced`,
            `delete it there, and give out a new secret; ${otherwise}`,
          ]
        : [
            `${names} changed while it ran and ${contain} a secret it was given; nothing was replaced there`,
            'if the task wrote it, delete it there and give out a new secret; say with `write` which files the task may change',
          ]
  return failure('policy', message, hint)
}

/** Parsing removes escapes, so a secret may appear only now. */
export const withoutSecretTexts = (outputs: JsonObject, secrets: RunnerTools['secrets'] = {}): JsonObject =>
  redactJson(outputs, redactor(Object.values(secrets), { parts: true }))

function named(files: readonly Found[], redact: Redact): string {
  const names = files
    .slice(0, NAMED)
    .map(({ path, part }) => `${part === undefined ? '' : `${part} `}'${redact(path)}'`)
  const more = files.length - NAMED
  return `${names.join(', ')}${more > 0 ? ` and ${numberOf(more, 'more file', 'more files')}` : ''}`
}

interface Found {
  readonly path: string
  readonly isReplaced: boolean
  /** Where the secret was, if not in the content. */
  readonly part?: 'the name' | 'the target of the link'
}

interface Leak {
  readonly path: string
  readonly clean: { readonly name: string } | { readonly target: string }
}

const keyOf = ({ path, clean }: Leak): string => ('name' in clean ? path : `${path}\0${clean.target}`)

/** Parents before children. A secret with slashes spans several components; the last one is replaced. */
async function leaksBelow(
  { root, stateDir }: Pick<Rooms, 'root' | 'stateDir'>,
  write: readonly string[] | null,
  redact: Redact,
  top = '',
): Promise<readonly Leak[]> {
  const leaks: Leak[] = []
  const look = async (path: string, isLink: boolean) => {
    const folder = dirname(path)
    const name = path.slice(path.lastIndexOf('/') + 1)
    const isWhole = redact(path) !== path && (redact(name) !== name || redact(folder) === folder)
    if (isWhole) leaks.push({ path, clean: { name: redact(name) === name ? REDACTED : redact(name) } })
    const target = isLink ? await readlink(join(root, path)).catch(() => '') : ''
    if (redact(target) !== target) leaks.push({ path, clean: { target: redact(target) } })
  }
  const stat = await lstat(join(root, top)).catch(() => null)
  if (top !== '') await look(top, stat?.isSymbolicLink() === true)
  if (stat?.isDirectory() !== true) return leaks
  for await (const { path, stat } of scopeEntries(root, stateDir, write, top)) await look(path, stat.isSymbolicLink())
  return leaks
}

async function replaceLeaks(
  { root, stateDir }: Pick<Rooms, 'root' | 'stateDir'>,
  leaks: readonly Leak[],
  redact: Redact,
): Promise<readonly (Found & { readonly from: string })[]> {
  const gate = leaks.length === 0 ? null : await openGate({ root, stateDir })
  const found: (Found & { readonly from: string })[] = []
  // Children before parents, so that the paths stay valid.
  for (const leak of leaks.toReversed()) {
    const path = gate?.ok === true ? await replaceLeak(gate.value, leak) : null
    const part = 'name' in leak.clean ? ('the name' as const) : ('the target of the link' as const)
    found.push({ from: leak.path, path: path ?? redact(leak.path), isReplaced: path !== null, part })
  }
  if (gate?.ok === true) await gate.value.close()
  return found.reverse()
}

async function replaceLeak(gate: PathGate, { path, clean }: Leak): Promise<string | null> {
  const parent = dirname(path)
  const entered = await gate.directory(parent)
  if (!entered.ok) return null
  const folder = entered.value
  const old = Buffer.from(path.slice(path.lastIndexOf('/') + 1))
  try {
    if ('target' in clean) {
      await folder.unlink(old)
      await folder.makeLink(old, Buffer.from(clean.target))
      return path
    }
    let name = clean.name
    for (let n = 2; (await folder.look(Buffer.from(name))) !== null; n++) name = `${clean.name}.${n}`
    await folder.rename(old, Buffer.from(name))
    return parent === '.' ? name : `${parent}/${name}`
  } catch {
    return null
  } finally {
    await folder.close()
  }
}

async function redactChanged(
  { root, stateDir }: Pick<Rooms, 'root' | 'stateDir'>,
  write: readonly string[] | null,
  since: number,
  secrets: readonly string[],
): Promise<readonly Found[]> {
  const redact = byteRedactor(secrets)
  const gate = await openGate({ root, stateDir })
  if (!gate.ok) return []
  const found: Found[] = []
  try {
    for await (const { path, stat } of scopeEntries(root, stateDir, write)) {
      if (!stat.isFile() || stat.ctimeMs < since || stat.size > FILE_MAX_BYTES) continue
      const read = await gate.value.read(path, { maxBytes: FILE_MAX_BYTES })
      if (!read.ok || read.value === null) continue
      const bytes = Buffer.from(read.value.bytes)
      const clean = redact(bytes)
      if (clean === bytes) continue
      const { sha256, mode } = read.value
      const written = write === null ? null : await gate.value.write(path, clean, { expect: sha256, mode })
      found.push({ path, isReplaced: written?.ok === true })
    }
  } finally {
    await gate.value.close()
  }
  return found
}
