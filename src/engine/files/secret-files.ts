// A task that was given secrets must not leave them in files: what it changed is looked through before anything of it is kept, and what
// is found fails the attempt. In files that it declares to write the value is replaced, so no snapshot, output or fork holds it. Any
// other file may be somebody's who saved it meanwhile: it is named and left as it is.

import type { JsonObject } from '../../domain/json.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { Outcome, RunnerTools } from '../../runners/runner.ts'
import { openGate } from '../../safety/files/path-gate.ts'
import { scopeEntries } from '../../safety/files/scope-entries.ts'
import { failure } from '../../safety/safety-refusal.ts'
import { byteRedactor, redactJson, redactor } from '../../safety/secrets/redaction.ts'
import type { Rooms } from '../rooms.ts'

/** Clocks of file systems tick coarsely. */
const TICK_MS = 2_000
const FILE_MAX_BYTES = 64 * 1024 * 1024
const NAMED = 3

/** Carries it out, and looks through what it changed, however it ended. */
export async function withoutSecretFiles(
  rooms: Pick<Rooms, 'root' | 'stateDir' | 'clock'>,
  { secrets = {}, write }: Pick<RunnerTools, 'secrets' | 'write'>,
  carryOut: () => Promise<Outcome>,
): Promise<Outcome> {
  const isDeclared = write !== null
  const since = rooms.clock.now() - TICK_MS
  const outcome = await carryOut()
  const found = await redactChanged(rooms, write, since, Object.values(secrets))
  if (found.length === 0 || outcome.type === 'interrupted') return outcome
  if (!isDeclared)
    return {
      type: 'failed',
      failure: failure(
        'policy',
        `${named(found)} changed while it ran and ${found.length === 1 ? 'contains' : 'contain'} a secret it was given; nothing was replaced there`,
        'if the task wrote it, delete it there and give out a new secret; say with `write` which files the task may change',
      ),
    }
  const kept = found.filter(({ isReplaced }) => !isReplaced)
  const message =
    kept.length === 0
      ? `it left a secret in ${named(found)}; the value was replaced there`
      : `it left a secret in ${named(kept)}, where it could not be replaced`
  const hint =
    kept.length === 0
      ? 'hand the secret on by the environment, not in a file'
      : 'delete it there, and give out a new secret; hand it on by the environment, not in a file'
  return { type: 'failed', failure: failure('policy', message, hint) }
}

/** What was parsed may say in plain words what its text had hidden in escapes. */
export const withoutSecretTexts = (outputs: JsonObject, secrets: RunnerTools['secrets'] = {}): JsonObject =>
  redactJson(outputs, redactor(Object.values(secrets), { parts: true }))

function named(files: readonly Found[]): string {
  const names = files.slice(0, NAMED).map(({ path }) => `'${path}'`)
  const more = files.length - NAMED
  return `${names.join(', ')}${more > 0 ? ` and ${numberOf(more, 'more file', 'more files')}` : ''}`
}

interface Found {
  readonly path: string
  /** It holds the secret no more. */
  readonly isReplaced: boolean
}

/** The files below the workspace that were changed since then and held a secret. */
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
