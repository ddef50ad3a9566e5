// Changes outside the write scope of a sandboxed command: new names, and protected names that changed because a person or another process
// replaced them outside the sandbox. Changes in the scope of another task that has started, here or in another plan meanwhile, belong to
// that task.
//
// If the user wrote the command, the rest is reported and left in place. Otherwise the attempt fails, and new files are moved away, not
// deleted.

import { cpSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Interrupted } from '../../domain/command.ts'
import type { Millis } from '../../domain/id.ts'
import { orElse } from '../../domain/json.ts'
import { numberOf } from '../../domain/phrases.ts'
import { confinementOf } from '../../domain/policy/run-mode.ts'
import { reservedScope } from '../../domain/reservation.ts'
import { besideSentences, type Failure, type OutsideChanges, type Result } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Attempt } from '../../runners/runner.ts'
import { makeFolder, removeTree } from '../../safety/files/directory.ts'
import { codeOf, hasCode } from '../../safety/safety-refusal.ts'
import type { Beyond } from '../../safety/sandbox/sandbox.ts'
import { isClosed } from '../../safety/sandbox/workspace-mounts.ts'
import { inScope } from '../../safety/scope.ts'
import { shellWord } from '../../safety/text/terminal.ts'
import type { MovedFiles } from '../../stores/store.ts'
import type { Rooms } from '../rooms.ts'
import { otherPlans } from './other-plans.ts'

const NAMED_MAX = 5
const BESIDE_MAX = 100
const MOVED_TO = 'outside-scope'

export type BeyondScope =
  /** The user's own command: only reported. */
  | { readonly is: 'reported'; readonly beside: OutsideChanges; readonly notes: readonly string[] }
  /** Files that the agent always leaves; moved away and reported, not a failure. */
  | { readonly is: 'moved'; readonly notes: readonly string[] }
  | { readonly is: 'failed'; readonly failure: Failure; readonly notes: readonly string[] }

/** Null if other tasks account for everything. */
export async function judgeBeyond(
  rooms: Rooms,
  state: PlanState,
  attempt: Attempt,
  beyond: Beyond,
): Promise<BeyondScope | null> {
  const isOthers = await othersScopes(rooms, state, attempt)
  const appeared = beyond.appeared.filter(path => !isOthers(path))
  const changed = beyond.changed.filter(path => !isOthers(path))
  const { task } = attempt
  const to = join(rooms.stateDir, MOVED_TO, attempt.plan, `${task}-${attempt.visit}-${attempt.attempt}`)
  const left = (beyond.left ?? []).filter(path => !isOthers(path))
  for (const path of left) move(join(rooms.root, path), join(to, path))
  const moved = left.length === 0 ? [] : [`${named(left)}, which the agent leaves by itself, moved to ${to}`]
  if (appeared.length + changed.length === 0) return moved.length === 0 ? null : { is: 'moved', notes: moved }
  if (confinementOf(state, attempt.definition).isOwn) {
    return { is: 'reported', beside: besideOf(appeared, changed), notes: besideSentences(task, { appeared, changed }) }
  }
  for (const path of appeared) move(join(rooms.root, path), join(to, path))
  const message = [
    ...(appeared.length === 0 ? [] : [`${named(appeared)} appeared outside its write scope while it ran`]),
    ...(changed.length === 0 ? [] : [`${named(changed)} changed outside its write scope while it ran`]),
  ].join('; ')
  const back = `moved to ${to}; to bring it back: cp -Rn -- ${shellWord(`${to}/.`)} ${shellWord(`${rooms.root}/`)}`
  const failure: Failure = {
    class: 'policy',
    code: 'sandbox:write',
    message,
    hint: `${appeared.length === 0 ? '' : `${back}; `}add it to \`write\` if the task may write it`,
    retryable: false,
  }
  return { is: 'failed', failure, notes: [...moved, message, ...(appeared.length === 0 ? [] : [back])] }
}

/** The form in the journal: names only, because these files are never reverted. */
export function besideOf(appeared: readonly string[], changed: readonly string[]): OutsideChanges {
  const more = Math.max(0, appeared.length - BESIDE_MAX) + Math.max(0, changed.length - BESIDE_MAX)
  return {
    ...(appeared.length === 0 ? {} : { appeared: appeared.slice(0, BESIDE_MAX) }),
    ...(changed.length === 0 ? {} : { changed: changed.slice(0, BESIDE_MAX) }),
    ...(more === 0 ? {} : { more }),
  }
}

/** Adds the names to the result, whether the attempt succeeded or failed; an interruption has no result. */
export const withBeside = (result: Result | Interrupted, strayed: BeyondScope | null): Result | Interrupted =>
  strayed?.is !== 'reported' || result.status === 'interrupted' ? result : { ...result, beside: strayed.beside }

async function othersScopes(
  rooms: Rooms,
  state: PlanState,
  { task, plan }: Attempt,
): Promise<(path: string) => boolean> {
  const scopes = state.order
    .filter(({ definition, attempt }) => definition.id !== task && attempt > 0)
    .map(({ definition }) => reservedScope(state.definition, definition))
  const since = state.tasks.get(task)?.startedAt ?? 0
  const beside = await otherPlans(rooms, { plan, place: state.place, since })
  const all = [...scopes, ...beside.reserved(since)]
  return path => all.some(scope => holds(scope, path) && !isClosed(scope, path))
}

/** A new folder that leads to the scope belongs to it. */
const holds = (scope: readonly string[], path: string): boolean =>
  inScope(scope, path) || scope.some(pattern => pattern.startsWith(`${path}/`))

function named(paths: readonly string[]): string {
  const shown = paths.slice(0, NAMED_MAX).map(path => `'${path}'`)
  const more = paths.length > NAMED_MAX ? ` and ${numberOf(paths.length - NAMED_MAX, 'other', 'others')}` : ''
  return `${shown.join(', ')}${more}`
}

const FILES_NAMED_MAX = 200

/** Files that were moved away before `before`. A person may have made them, so they are removed only on explicit request. */
export async function pruneMoved(
  { stateDir }: Pick<Rooms, 'stateDir'>,
  { before, remove }: { readonly before: Millis; readonly remove: boolean },
): Promise<MovedFiles> {
  const folder = join(stateDir, MOVED_TO)
  const files: string[] = []
  let attempts = 0
  for (const plan of namesIn(folder)) {
    for (const attempt of namesIn(join(folder, plan))) {
      const at = join(folder, plan, attempt)
      if ((statSync(at, { throwIfNoEntry: false })?.mtimeMs ?? before) >= before) continue
      attempts++
      files.push(...filesBelow(at))
      // A person sees the names before they confirm, so files that were not named stay.
      if (remove && files.length <= FILES_NAMED_MAX) await removeTree(at)
    }
    if (remove && namesIn(join(folder, plan)).length === 0) rmdirSync(join(folder, plan))
  }
  return { attempts, files: files.slice(0, FILES_NAMED_MAX), more: Math.max(0, files.length - FILES_NAMED_MAX) }
}

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)))

const namesIn = (folder: string): readonly string[] => orElse(() => readdirSync(folder), [], hasCode('ENOENT'))

function move(from: string, to: string): void {
  makeFolder(dirname(to), 0o700)
  try {
    renameSync(from, to)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    if (codeOf(error) !== 'EXDEV') throw error
    cpSync(from, to, { recursive: true, verbatimSymlinks: true })
    rmSync(from, { recursive: true, force: true })
  }
}
