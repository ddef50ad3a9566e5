// Brings drafted changes to disk, each by one rename after its precondition held. Files are written before any is deleted,
// so bytes on their way from one name to another are always somewhere. When one step is refused, those made are undone.

import type { Failure } from '../../domain/result.ts'
import type { PathGate } from '../../safety/path-gate.ts'
import type { Answer } from '../../safety/refused.ts'
import { type Change, type FileState, same } from './draft.ts'

/** Null when everything is on disk; otherwise nothing has changed, or the message says what could not be undone. */
export async function commitChanges(changes: readonly Change[], gate: PathGate): Promise<Failure | null> {
  const real = changes.filter(change => !same(change.before, change.after))
  const ordered = [...real.filter(change => change.after !== null), ...real.filter(change => change.after === null)]
  const made: Change[] = []
  for (const change of ordered) {
    const answer = await turn(gate, change.path, change.before, change.after)
    if (!answer.ok) return await undone(made, gate, answer.failure)
    made.push(change)
  }
  return null
}

async function undone(made: readonly Change[], gate: PathGate, why: Failure): Promise<Failure> {
  const stuck: string[] = []
  for (const { path, before, after } of made.toReversed()) {
    const back = await turn(gate, path, after, before)
    if (!back.ok) stuck.push(path)
  }
  if (stuck.length === 0) return why
  return { ...why, message: `${why.message} Changed before that and not undone: ${stuck.join(', ')}.` }
}

/** One file from one state to another. */
async function turn(gate: PathGate, path: string, from: FileState | null, to: FileState | null): Promise<Answer<void>> {
  if (to === null)
    return from === null ? { ok: true, value: undefined } : await gate.remove(path, { expect: from.sha256 })
  if (from?.sha256 === to.sha256 && to.mode !== undefined) return await gate.chmod(path, to.mode)
  const mode = to.mode === undefined ? {} : { mode: to.mode & 0o777 }
  return await gate.write(path, to.bytes, { expect: from?.sha256 ?? null, ...mode })
}
