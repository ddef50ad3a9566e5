// Computes what a rollback would do: folds the journal up to the entry, compares that with the current state, and looks at the files. Used
// by the preview and by the command itself.

import { actionFacts, sandboxedCommand } from '../../domain/actions/actions.ts'
import type { Reset, Rollback } from '../../domain/command.ts'
import { ENGINE } from '../../domain/gates/gate-timeouts.ts'
import { advise, type Hint, next, quoted } from '../../domain/hint.ts'
import type { Actor, TaskName } from '../../domain/id.ts'
import { suggest } from '../../domain/phrases.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { effectOf, usesTaskWorktrees } from '../../domain/plan-rules/effect.ts'
import { isOffline, networkOf } from '../../domain/plan-rules/network.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { type Meaning, meaningFor, meaningOf } from '../../domain/rollback/rollback-plan.ts'
import { evolve } from '../../domain/state/evolve.ts'
import { newState } from '../../domain/state/fold.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Checkpoint } from '../../domain/views/checkpoints.ts'
import { gitOperationsSince } from '../../domain/views/git-operations.ts'
import type { Entry } from '../../stores/store.ts'
import type { RollbackStep } from '../../workspace/git/git.ts'
import type { Change } from '../../workspace/workspace.ts'
import type { FilePreview, RollbackAsk, RollbackPreview } from '../engine.ts'
import type { Rooms } from '../rooms.ts'
import { MissingChanges } from './attempt-changes.ts'
import { resolveEntry } from './entry-reference.ts'
import { choiceFor, touchesGit, whenPushed } from './perform-rollback.ts'
import { foldersOf, leftUnclaimed, unclaimedWords } from './unclaimed-paths.ts'
import { claimsIn, composeSince, entriesAfter, scopesIn, splitAt, type Written } from './write-set.ts'

export type Worked = Extract<RollbackPreview, { ok: true }> & {
  readonly command: Omit<Rollback, 'id' | 'at'>
  readonly unsure: readonly TaskName[]
  readonly version: number
  /** From each path as it was to the path as the plan left it. */
  readonly changes: readonly Change[]
}

export type WorkedOut = Worked | { readonly ok: false; readonly refusal: Refusal }

export async function workOut(
  rooms: Rooms,
  state: PlanState,
  kind: Exclude<Rollback['kind'], 'adopt'>,
  ask: RollbackAsk,
): Promise<WorkedOut> {
  const { version } = state
  const entries = await entriesAfter(rooms.store, state.id, 0)
  const place = kind === 'undo' ? beforeLastRollback(entries) : placeOf(entries, ask.to)
  if ('code' in place) return { ok: false, refusal: place }
  const { to, checkpoint } = place
  const unknown = ask.tasks?.find(name => !state.tasks.has(name))
  if (unknown !== undefined)
    return { ok: false, refusal: refuse('not-found', `the plan has no task '${unknown}'`, hintFor(state, unknown)) }
  const since = entries.filter(entry => entry.version > to)
  const { unsureCompensated: unsure } = state
  const { resets, compensate: all, ends } = meaningFrom(state, entries, to, ask)
  const compensate = all.filter(name => !unsure.includes(name))
  const command: Worked['command'] = {
    type: 'rollback',
    kind,
    to,
    ...(checkpoint === null ? {} : { checkpoint: checkpoint.name }),
    undoes: place.adopted,
    resets,
    compensate,
    ends,
    paths: ask.files,
    tasks: ask.tasks,
    ...(ask.filesOnly === true || ask.files !== undefined ? { filesOnly: true as const } : {}),
    ...(ask.keepGit === true ? { keepGit: true as const } : {}),
    ...(ask.includeUnclaimed === true ? { includeUnclaimed: true as const } : {}),
    ...(ask.force === true ? { force: true as const } : {}),
    choices: ask.choices,
    every: ask.every,
  }
  try {
    const beside = { plan: state.id, place: state.place, since: since[0]?.now ?? 0 }
    const split = splitAt(entries, { to, kind })
    const written = await composeSince(rooms, split.since, {
      ...command,
      beside,
      until: split.until,
      scopeOf: scopesIn(state),
      claimedBy: claimsIn(state),
    })
    if (written.shared.length > 0) return { ok: false, refusal: inseparable(state, ask.tasks ?? [], written.shared) }
    const own = await previewFiles(rooms, written.changes)
    if ('code' in own) return { ok: false, refusal: own }
    const aside = written.aside.map(({ path, reason }) => ({ path, will: 'leave' as const, why: reason }))
    const files = [
      // First, because a long list is cut.
      ...written.uncovered.map(({ path, reason }) => ({ path, will: 'leave', why: reason, uncovered: true }) as const),
      ...markUnclaimed(written, command, own).map(file =>
        file.conflict === undefined ? file : { ...file, ...doubtAbout(written, file.path) },
      ),
      ...aside,
    ]
    const git = await previewRefs(rooms, state, command, since)
    if ('code' in git) return { ok: false, refusal: git }
    const stays = kind === 'undo' ? [] : staying(state, resets, compensate, since)
    return {
      ok: true,
      kind,
      adopted: place.adopted,
      redoes: place.redoes,
      label: place.label,
      to,
      checkpoint,
      files,
      resets,
      compensate,
      stays,
      decisionsLost:
        ask.tasks === undefined
          ? decisionsLost(resets, since)
          : decisionsLost(resets.filter(isStanding(state)), entries),
      git,
      kept: written.kept,
      command,
      unsure,
      version,
      changes: written.changes,
    }
  } catch (error) {
    if (!(error instanceof MissingChanges)) throw error
    return {
      ok: false,
      refusal: refuse(
        'conflict',
        `cannot roll back: ${error.message}`,
        advise`run ${quoted('check', { readData: true })}`,
      ),
    }
  }
}

/** Tasks whose changes cannot be separated go back together or not at all. */
function inseparable({ definition }: PlanState, tasks: readonly TaskName[], shared: readonly TaskName[]): Refusal {
  const named = [...tasks, ...shared]
  return refuse(
    'conflict',
    `${named.map(task => `'${task}'`).join(' and ')} ran at the same time and declare no write scope, so their changes cannot be told apart`,
    advise`roll them back together: ${next('rollback', { plan: definition.name, tasks: named })}`,
    shared,
  )
}

/** Marks files that may be another's. Unless they are included they stay, and so do their folders. */
function markUnclaimed(
  written: Written,
  command: Worked['command'],
  files: readonly FilePreview[],
): readonly FilePreview[] {
  const left = leftUnclaimed(written.unclaimed, command)
  const folders = foldersOf(left)
  return files.flatMap((file): readonly FilePreview[] => {
    const { path, will } = file
    const task = written.unclaimed.get(path)
    if (task === undefined || will === 'leave') return folders.has(path) ? [] : [file]
    const mark = { why: unclaimedWords(task), unclaimed: will }
    return [left.has(path) ? { path, will: 'leave', ...mark } : { ...file, ...mark }]
  })
}

function doubtAbout({ doubted }: Written, path: string): { readonly why?: string } {
  const plan = doubted.get(path)
  return plan === undefined ? {} : { why: `plan '${plan}' worked here at the same time and may have written it` }
}

/** Why it must not be done as asked; null if it may. */
export function objection(worked: Worked, plan: string): Refusal | null {
  const undecided = worked.files.filter(
    ({ path, conflict }) => conflict !== undefined && choiceFor(worked.command, path) === undefined,
  )
  if (undecided.length > 0) {
    const shown = undecided.slice(0, 10).map(({ path }) => JSON.stringify(path))
    const more = undecided.length > 10 ? ` and ${undecided.length - 10} more` : ''
    return refuse(
      'conflict',
      `somebody${undecided.every(({ why }) => why !== undefined) ? ', perhaps another plan,' : ''} has worked on ${shown.join(', ')}${more} since; nothing was changed`,
      'choose keep, take or merge for each',
      undecided.map(({ path }) => path),
    )
  }
  if (worked.command.force === true) return null
  const unsure = worked.resets.filter(({ task }) => worked.unsure.includes(task))
  if (unsure.length > 0)
    return refuse(
      'conflict',
      `it is unknown whether the undo step of ${unsure.map(({ task }) => `'${task}'`).join(', ')} ran`,
      'check it, undo manually what is left, then use --force: it is not run again',
      unsure.map(({ task }) => task),
    )
  const stays = worked.stays.filter(({ declared }) => declared)
  if (stays.length > 0)
    return refuse(
      'conflict',
      `what ${stays.map(({ task }) => `'${task}'`).join(', ')} did cannot all be undone from here: ${stays[0]!.why}`,
      'declare `compensate` for it, or undo it manually and use --force',
      stays.map(({ task }) => task),
    )
  const refused = worked.git.filter(step => step.do === 'refuse')
  if (refused.length === 0) return null
  const { target, why, run } = refused[0]!
  return refuse(
    'conflict',
    `${target} cannot be undone: ${why}`,
    advise`${run.length === 0 ? '' : `run ${run.map(line => `\`${line}\``).join(', ')}; `}or leave git alone: ${next('rollback', { plan, keepGit: true })}`,
  )
}

interface HistoryPoint {
  readonly to: number
  readonly checkpoint: Checkpoint | null
  readonly adopted?: string
  readonly redoes?: true
  readonly label?: string
}

function placeOf(entries: readonly Entry[], reference: string | undefined): HistoryPoint | Refusal {
  if (reference === undefined) {
    const started = entries.find(({ events }) => events.some(event => event.type === 'plan.started'))
    return started === undefined
      ? refuse('illegal-transition', 'cannot roll back: the plan was not started', 'nothing has been done yet')
      : { to: started.version, checkpoint: null }
  }
  const found = resolveEntry(entries, reference)
  if ('code' in found) return found
  const { version, checkpoint, label } = found
  return { to: version, checkpoint, label }
}

function beforeLastRollback(entries: readonly Entry[]): HistoryPoint | Refusal {
  let begun: { readonly version: number; readonly kind: Rollback['kind'] } | null = null
  let last: HistoryPoint | null = null
  for (const { version, events } of entries) {
    for (const event of events) {
      if (event.type === 'rollback.started') begun = { version, kind: event.kind }
      if (event.type !== 'rollback.finished' || begun === null) continue
      // An adoption without changes must not hide what was done before it.
      if (begun.kind === 'adopt' && event.changes === null && last !== null) continue
      const adopted = event.adopted === undefined ? {} : { adopted: event.adopted }
      // An undo of an undo is a redo; undoing that is an undo again.
      const redoes: Pick<HistoryPoint, 'redoes'> =
        begun.kind === 'undo' && last?.redoes === undefined ? { redoes: true } : {}
      last = { to: begun.version - 1, checkpoint: null, ...adopted, ...redoes }
    }
  }
  return (
    last ??
    refuse('not-found', 'nothing was rolled back or adopted, so there is nothing to undo', advise`see ${quoted('log')}`)
  )
}

/** If only files are reverted, every task keeps its state. */
function meaningFrom(now: PlanState, entries: readonly Entry[], to: number, ask: RollbackAsk): Meaning {
  if (ask.filesOnly === true || ask.files !== undefined) return { resets: [], compensate: [] }
  return ask.tasks === undefined ? meaningOf(entries, now, to) : meaningFor(entries, now, ask.tasks)
}

export function foldTo(entries: readonly Entry[], to: number): PlanState {
  const state = newState()
  for (const { version, now, events } of entries) {
    if (version > to) break
    for (const event of events) evolve(state, event, now)
    state.version = version
  }
  return state
}

async function previewFiles(
  { snapshots }: Rooms,
  changes: Awaited<ReturnType<typeof composeSince>>['changes'],
): Promise<readonly FilePreview[] | Refusal> {
  if (changes.length === 0) return []
  if (snapshots === undefined) return refuse('not-supported', 'this engine was opened without file snapshots')
  const target = await snapshots.compose(changes.map(({ path, before }) => [path, before] as const))
  const previewed = target.ok
    ? await snapshots.preview(
        target.manifest,
        changes.map(({ path, after }) => [path, after] as const),
      )
    : target
  if (previewed.ok) return previewed.paths
  return refuse('conflict', previewed.failure.message, previewed.failure.hint)
}

async function previewRefs(
  { git, clock }: Rooms,
  { id, definition }: PlanState,
  command: Worked['command'],
  since: readonly Entry[],
): Promise<readonly RollbackStep[] | Refusal> {
  const operations = touchesGit(command) ? gitOperationsSince(since) : []
  if (operations.length === 0 || git === undefined) return []
  const actor = 'engine' as Actor
  const previewed = await git.previewRollback({
    plan: id,
    name: definition.name,
    actor,
    operations,
    at: clock.now(),
    whenCheckedOut: 'leave-files',
    pushed: whenPushed(command),
  })
  return previewed.ok ? previewed.value : refuse('conflict', previewed.failure.message, previewed.failure.hint)
}

/** What stays after a rollback: effects outside the workspace, files that were not captured, and changes beside the write scopes. */
function staying(
  state: PlanState,
  resets: readonly Reset[],
  compensate: readonly TaskName[],
  since: readonly Entry[],
): Worked['stays'] {
  const unseen = unseenSince(state, since)
  const beside = resets.flatMap(({ task: name, status }): Worked['stays'] => {
    const { appeared = [], changed = [], more = 0 } = state.tasks.get(name)?.result?.beside ?? {}
    const paths = [...appeared, ...changed]
    if (paths.length === 0 || status !== 'pending') return []
    const others = paths.length + more - BESIDE_NAMED_MAX
    const named = `${paths.slice(0, BESIDE_NAMED_MAX).join(', ')}${others > 0 ? ` and ${others} more` : ''}`
    return [
      { task: name, why: `${named} appeared or changed beside its scope; perhaps yours, so it stays`, declared: false },
    ]
  })
  const reached = resets.flatMap(({ task: name, status }): Worked['stays'] => {
    const task = state.tasks.get(name)
    if (task === undefined || status !== 'pending' || task.attempt === 0 || compensate.includes(name)) return []
    // An unknown outcome is listed separately.
    if (state.unsureCompensated.includes(name)) return []
    const { effect, action, compensate: own } = task.definition
    const why = unseen.get(name)
    if (why !== undefined) return [{ task: name, why: `its files cannot be reverted: ${why}`, declared: true }]
    if (own !== undefined && task.status !== 'completed') return []
    if (effect === 'unsafe' || effect === 'idempotent' || effect === 'probed')
      return [{ task: name, why: `declares the effect ${effect} and no \`compensate\``, declared: true }]
    const isRun =
      sandboxedCommand(action) !== null && effect === undefined && !isOffline(networkOf({}, task.definition))
    return isRun
      ? [{ task: name, why: 'may have changed external systems; only its files are reverted', declared: false }]
      : []
  })
  return [...beside, ...reached]
}

const BESIDE_NAMED_MAX = 5

/** Decisions about single tasks are searched in the whole journal. A gate that is not reached, or asks again, has none to lose. */
const isStanding =
  ({ tasks }: PlanState) =>
  ({ task }: Reset): boolean => {
    const status = tasks.get(task)?.status
    return status !== 'pending' && status !== 'waiting'
  }

/** Decisions of people in these entries about tasks that will run again. A task that is restored as it was keeps its older decision. */
function decisionsLost(resets: readonly Reset[], since: readonly Entry[]): Worked['decisionsLost'] {
  const again = new Set(resets.filter(({ status }) => status === 'pending').map(({ task }) => task))
  const last = new Map<TaskName, Worked['decisionsLost'][number]>()
  for (const event of since.flatMap(({ events }) => events))
    if (event.type === 'gate.decided' && event.by !== ENGINE && again.has(event.task))
      last.set(event.task, { task: event.task, verdict: event.verdict, by: event.by })
  return [...last.values()]
}

/** Visits since then whose changes were not captured although they may have written files, and why. */
function unseenSince(state: PlanState, since: readonly Entry[]): ReadonlyMap<TaskName, string> {
  const unseen = new Map<TaskName, string>()
  const seen = new Set<string>()
  for (const { events } of since) {
    for (const event of events) {
      if (event.type !== 'attempt.started') continue
      const { task: name, visit, preimage, before, unwatched } = event
      const task = state.tasks.get(name)?.definition
      if (preimage !== undefined || before !== undefined) seen.add(`${name}/${visit}`)
      if (task === undefined || seen.has(`${name}/${visit}`) || !mayWrite(state, task)) continue
      unseen.set(name, unwatched ?? 'they were not captured before it ran')
    }
  }
  return unseen
}

/** Only in the files that are reverted. A task worktree is merged, so its changes are reverted with the refs. */
function mayWrite({ definition }: PlanState, task: TaskDefinition): boolean {
  const { changesFiles, watched } = actionFacts(task.action)
  if (usesTaskWorktrees(definition) || (changesFiles !== true && watched !== true)) return false
  return effectOf(definition, task) !== 'pure'
}

function hintFor(state: PlanState, name: string): Hint {
  const near = suggest(name, state.tasks.keys())
  return near === null ? advise`see ${quoted('show')}` : `did you mean '${near}'?`
}
