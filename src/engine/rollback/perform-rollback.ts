// Performs the rollback that the journal has started: files first, then refs. If a file differs from what the plan left there, nothing is
// changed unless a person has chosen what to do. An interrupted rollback is completed, not started again.

import type { Adoption, RollbackOutcome } from '../../domain/command.ts'
import { advise, next, quoted } from '../../domain/hint.ts'
import type { Actor, PlanId, TaskName } from '../../domain/id.ts'
import type { GitOperation } from '../../domain/plan-rules/git-operation.ts'
import type { Failure } from '../../domain/result.ts'
import type { PlanState, RollbackUnderWay } from '../../domain/state/state.ts'
import { gitOperationsSince } from '../../domain/views/git-operations.ts'
import type { Entry } from '../../stores/store.ts'
import { commitMessage } from '../../workspace/git/git.ts'
import type { Change, Choice, LeftOut, RolledBack } from '../../workspace/workspace.ts'
import { settleUnfinished } from '../files/kept-files.ts'
import { reservedFailure } from '../files/reserved-files.ts'
import { lazy } from '../lazy-imports.ts'
import { failureFor, isFailStop, shortageOf } from '../loop/shortage.ts'
import type { Rooms } from '../rooms.ts'
import { keepChanges, MissingChanges, readChanges } from './attempt-changes.ts'
import { foldersOf, leftUnclaimed, unclaimedWords } from './unclaimed-paths.ts'
import { claimsIn, composeSince, entriesAfter, scopesIn, splitAt, type Written } from './write-set.ts'

const ENGINE = 'engine' as Actor

async function toAdopt(rooms: Rooms, { changes }: Adoption): Promise<readonly Change[]> {
  const all = await readChanges(rooms, changes)
  return all.map(({ path, before, after }) => ({ path, before: after, after: before }))
}

/**
 * The commit on the plan's branch, if the plan commits the work of its tasks. Its key makes it idempotent. A git failure is reported; the
 * files are adopted anyway.
 */
async function commitAdopted(
  rooms: Rooms,
  state: PlanState,
  under: RollbackUnderWay,
  changed: readonly Change[],
): Promise<{ readonly done: readonly GitOperation[]; readonly left: readonly LeftOut[] }> {
  const { git } = state.definition
  if (git?.commits !== 'task' || changed.length === 0) return { done: [], left: [] }
  const { commitEntries, guarded } = await lazy.taskCommits()
  const title = `adopt ${under.adopts?.name ?? 'a fork'}`
  const message = commitMessage({ title, template: git.message })
  const entries = changed.map(({ path, after }) => [path, after] as const)
  const key = `${state.id}/adopt/${under.id}`
  const made = await guarded(rooms, () =>
    commitEntries(rooms, state, { entries, message, actor: ENGINE, at: under.at, key }),
  )
  if (made.ok) return { done: made.value.operations, left: [] }
  return { done: made.done, left: [{ path: '.git', reason: `not committed: ${made.failure.message}` }] }
}

const LEFT_MAX = 100

export async function rollBack(rooms: Rooms, state: PlanState): Promise<RollbackOutcome> {
  const under = state.rollback
  if (under === null) throw new Error('bug: no rollback is under way')
  // The state is live; read it before the first await.
  const { id: plan, definition } = state
  try {
    const all = await entriesAfter(rooms.store, plan, 0)
    const entries = all.slice(under.to)
    const { until, since } = splitAt(all, under)
    const beside = { plan, place: state.place, since: entries[0]?.now ?? 0 }
    const by = { rollback: under.id, beside, until, scopeOf: scopesIn(state), claimedBy: claimsIn(state) }
    const found =
      under.adopts === undefined
        ? await composeSince(rooms, since, { ...under, ...by })
        : {
            changes: await toAdopt(rooms, under.adopts),
            seen: [],
            kept: [],
            shared: [],
            aside: [],
            uncovered: [],
            doubted: new Map<string, string>(),
            unclaimed: new Map<string, TaskName>(),
            underWay: new Set<string>(),
          }
    const written = withoutUnclaimed(under, asChosen(under, found))
    const rolled = await files(rooms, plan, under, written)
    if (rolled !== null && !rolled.ok)
      return stopped(
        rolled.failure,
        rolled.conflicts?.map(({ path }) => path),
      )
    const git =
      under.adopts === undefined
        ? await refs(rooms, { plan, name: definition.name, actor: ENGINE }, under, entries)
        : await commitAdopted(rooms, state, under, rolled?.changed ?? [])
    const withDoubts = (rolled?.left ?? []).map(one => ({ ...one, ...doubtAbout(under, written, one.path) }))
    const left = [...written.uncovered, ...withDoubts, ...written.aside, ...git.left]
    const kept = distinct([...written.kept, ...(rolled?.kept ?? []), ...writtenOver(written, rolled?.changed ?? [])])
    return {
      changes: rolled === null ? null : await keepChanges(rooms, rolled.changed),
      paths: rolled?.changed.length ?? 0,
      ...(rolled === null ? {} : { saved: rolled.saved }),
      adopted: under.adopts?.name,
      // Everything an adoption left must be adopted later, so the list is not cut.
      ...(left.length === 0 ? {} : { left: under.adopts === undefined ? left.slice(0, LEFT_MAX) : left }),
      // Never cut: stored versions of a person's edits are named only here.
      ...(kept.length === 0 ? {} : { kept }),
      ...(git.done.length === 0 ? {} : { git: git.done }),
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const hint =
      error instanceof MissingChanges
        ? advise`run ${quoted('check', { readData: true })}`
        : 'nothing was changed; try again'
    if (isFailStop(error)) throw error
    const shortage = shortageOf(rooms, error, 'Rolling back')
    if (shortage !== null) return stopped(failureFor(shortage))
    return stopped({ class: 'resource', message: `cannot roll back: ${message}`, hint, retryable: false })
  }
}

/** A choice stays valid even if more is known now about the author: the file is treated as chosen, and backed up if it is replaced. */
function asChosen(under: RollbackUnderWay, written: Written): Written {
  const isChosen = (path: string): boolean =>
    written.underWay.has(path) ? choiceFor(under, path) !== undefined : isKept(under, path)
  return {
    ...written,
    changes: written.changes.map(one => (isChosen(one.path) ? { ...one, after: one.before } : one)),
  }
}

/** Files that may be another's, and were not included, stay and are reported, with their folders. */
function withoutUnclaimed(under: RollbackUnderWay, written: Written): Written {
  const left = leftUnclaimed(written.unclaimed, under)
  if (left.size === 0) return written
  const folders = foldersOf(left)
  // Files that an earlier rollback has reverted already are not reported.
  const differs = new Set(written.seen.map(({ path }) => path))
  const remaining = [...left].filter(path => differs.has(path))
  const stay = remaining.map(path => ({ path, reason: unclaimedWords(written.unclaimed.get(path)!) }))
  return {
    ...written,
    changes: written.changes.filter(({ path }) => !left.has(path) && !folders.has(path)),
    aside: [...written.aside, ...stay],
  }
}

type Kept = Written['kept'][number]

/** The file differed from what the plan had left: a person's work, replaced by a person's choice. */
function writtenOver({ changes }: Written, changed: readonly Change[]): readonly Kept[] {
  const left = new Map(changes.map(({ path, after }) => [path, after]))
  return changed.flatMap(({ path, before }) => {
    const ours = left.get(path)
    if (before?.type !== 'file' || (ours?.type === 'file' && ours.sha256 === before.sha256)) return []
    return [{ path, sha256: before.sha256 }]
  })
}

const distinct = (all: readonly Kept[]): readonly Kept[] => [
  ...new Map(all.map(one => [`${one.sha256}${one.path}`, one])).values(),
]

const stopped = (failure: Failure, conflicts?: readonly string[]): RollbackOutcome => ({
  changes: null,
  paths: 0,
  failure,
  conflicts: conflicts === undefined ? undefined : conflicts.slice(0, LEFT_MAX),
})

/** Null if the plan wrote nothing since. */
async function files(
  rooms: Rooms,
  plan: PlanId,
  under: RollbackUnderWay,
  { changes, doubted }: Written,
): Promise<RolledBack | null> {
  const { snapshots } = rooms
  const about = JSON.stringify({ plan, rollback: under.id })
  const begun = await snapshots?.resume()
  if (begun?.ok === true && begun.about === about) return begun
  if (begun?.ok === false) return begun
  if (changes.length === 0) return null
  if (snapshots === undefined)
    return {
      ok: false,
      failure: { class: 'policy', message: 'this engine was opened without file snapshots', retryable: false },
    }
  const other = begun?.ok === true ? await settleUnfinished(rooms, begun) : null
  if (other !== null)
    return {
      ok: false,
      failure: {
        class: 'transient',
        message: `a rollback of '${other}' was cut off in this workspace`,
        hint: advise`finish it first: ${next('resume', { plan: other })}`,
        retryable: true,
      },
    }
  const refuse = async () => (under.adopts === undefined ? null : await reservedNow(rooms, plan, changes))
  const reserved = await refuse()
  if (reserved !== null) return { ok: false, failure: reserved }
  await snapshots.settled()
  const target = await snapshots.compose(changes.map(({ path, before }) => [path, before] as const))
  if (!target.ok) return target
  const writeSet = changes.map(({ path, after }) => [path, after] as const)
  const previewed = await snapshots.preview(target.manifest, writeSet)
  if (!previewed.ok) return previewed
  const choices: [string, Choice][] = []
  for (const { path, conflict } of previewed.paths) {
    const choice = conflict === undefined ? undefined : (choiceFor(under, path) ?? ownChoice(under, path, doubted))
    if (choice !== undefined) choices.push([path, choice])
  }
  return await snapshots.rollback(target.manifest, writeSet, { choices, about, refuse })
}

/** The files were free when the adoption was ordered; a task may have reserved them since. */
async function reservedNow(rooms: Rooms, plan: PlanId, changes: readonly Change[]): Promise<Failure | null> {
  const state = await rooms.store.state(plan)
  const paths = changes.map(({ path }) => path)
  return state === null ? null : await reservedFailure(rooms, state, paths)
}

/** An automatic rollback cannot ask: what may be another plan's work stays and is reported. */
const ownChoice = (
  { because }: RollbackUnderWay,
  path: string,
  doubted: ReadonlyMap<string, string>,
): Choice | undefined => (because === 'failure' && doubted.has(path) ? 'keep' : undefined)

function doubtAbout({ because }: RollbackUnderWay, { doubted }: Written, path: string): { readonly reason?: string } {
  const plan = because === 'failure' ? doubted.get(path) : undefined
  return plan === undefined ? {} : { reason: `plan '${plan}' worked here at the same time and may have written it` }
}

/** What to do with a file that a person edited since; undefined if they have not chosen. */
export function choiceFor(
  { choices, every, force }: Pick<RollbackUnderWay, 'choices' | 'every' | 'force'>,
  path: string,
): Choice | undefined {
  const own = choices !== undefined && Object.hasOwn(choices, path) ? choices[path] : undefined
  return own ?? every ?? (force === true ? 'take' : undefined)
}

/** Chosen by name to stay, even if only the plan has changed it. */
const isKept = ({ choices }: Pick<RollbackUnderWay, 'choices'>, path: string): boolean =>
  choices !== undefined && Object.hasOwn(choices, path) && choices[path] === 'keep'

/** A rollback of some files or tasks leaves refs alone. */
export const touchesGit = (under: Pick<RollbackUnderWay, 'keepGit' | 'filesOnly' | 'paths' | 'tasks'>): boolean =>
  under.keepGit !== true && under.filesOnly !== true && under.paths === undefined && under.tasks === undefined

/** Commits that others may have fetched are reverted only with `force`. */
export const whenPushed = ({ force }: Pick<RollbackUnderWay, 'force'>): 'revert' | 'refuse' =>
  force === true ? 'revert' : 'refuse'

async function refs(
  rooms: Rooms,
  owner: { readonly plan: PlanId; readonly name: PlanState['definition']['name']; readonly actor: Actor },
  under: RollbackUnderWay,
  entries: readonly Entry[],
) {
  const operations = touchesGit(under) ? gitOperationsSince(entries) : []
  if (operations.length === 0 || rooms.git === undefined) return { done: [], left: [] }
  const rolled = await rooms.git.rollback({
    ...owner,
    operations,
    at: under.at,
    whenCheckedOut: 'leave-files',
    pushed: whenPushed(under),
  })
  const refused = rolled.steps
    .filter(step => step.do === 'refuse')
    .map(({ target, why, run }) => ({ path: target, reason: [why, ...run.map(each => `run: ${each}`)].join('; ') }))
  return {
    done: rolled.done,
    left: rolled.ok ? refused : [...refused, { path: '.git', reason: rolled.failure.message }],
  }
}
