// Prepares an attempt: judges its condition and preconditions, expands `for_each`, and captures the files that it may write (first attempt
// of a visit) or restores them (later attempts), so that every attempt begins with the same files; an agent may continue its own work instead.
// Recorded before the start.

import type { Expanded, Turn } from '../../domain/command.ts'
import { needsConsent } from '../../domain/gates/consent-rules.ts'
import type { TaskName } from '../../domain/id.ts'
import { numberOf } from '../../domain/phrases.ts'
import { commandOf } from '../../domain/plan-rules/criterion-text.ts'
import { keepsWork, scopeOf, usesTaskWorktrees } from '../../domain/plan-rules/effect.ts'
import type { Failure, Prepared, Verdict } from '../../domain/result.ts'
import { dueBefore } from '../../domain/rollback/checkpoint-rules.ts'
import { capturesScope } from '../../domain/rules/scheduling.ts'
import { type Shortage, shortageIn } from '../../domain/shortage.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { PROTECTED } from '../../workspace/workspace.ts'
import { type RestoredFiles, restoreScope } from '../files/restore-scope.ts'
import { reserveScope } from '../files/scope-reservation.ts'
import { makeQuestion } from '../gates/gate-checks.ts'
import { lazy } from '../lazy-imports.ts'
import { isFailStop, missingFolder, ShortageMet, shortageOf, unusableFolder } from '../loop/shortage.ts'
import type { ScopeWait } from '../queries.ts'
import { snapshotBefore, standingNow } from '../rollback/attempt-changes.ts'
import { editedSinceEnd } from '../rollback/change-owner.ts'
import type { Rooms } from '../rooms.ts'
import { evaluator, ownContext, truth } from './expressions.ts'
import { recognise } from './failure-modes.ts'
import { findItems } from './groups.ts'
import { type Judged, judgePreconditions } from './preconditions.ts'

export interface Preparation {
  readonly task: TaskName
  readonly visit: number
  readonly prepared: Prepared
  readonly expanded?: Expanded
  readonly gate?: Omit<NonNullable<Turn['gates']>[number], 'task' | 'visit'>
  /** Other plans have reserved its files: nothing of this is recorded, and the task waits. */
  readonly waits?: ScopeWait
  /** This machine ran short of something: nothing was prepared, and nothing is recorded about the task. */
  readonly shortage?: Shortage
  readonly restored: RestoredFiles | null
  readonly earlier?: readonly RestoredFiles[]
}

/** `isHeld`: do we still hold the lease? Checked immediately before a check runs or files are restored. */
export async function prepare(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  isHeld: () => true | Promise<boolean>,
  signal: AbortSignal = NEVER,
): Promise<Preparation> {
  const base = { task: task.definition.id, visit: task.visit }
  try {
    const missing = missingFolder(rooms)
    if (missing !== null) throw new ShortageMet(missing)
    const { prepared, ...rest } = await made(rooms, state, task, isHeld, signal)
    const shortage = prepared.failure === undefined ? null : (shortageIn(prepared.failure) ?? unusableFolder(rooms))
    if (shortage !== null) throw new ShortageMet(shortage)
    return { ...base, prepared: await named(state, task, prepared), ...rest }
  } catch (error) {
    if (isFailStop(error)) throw error
    const shortage = shortageOf(rooms, error, `Preparing '${base.task}'`)
    if (shortage !== null) return { ...base, prepared: {}, shortage, restored: null }
    const message = error instanceof Error ? error.message : String(error)
    return {
      ...base,
      prepared: {
        failure: { class: 'resource', message: `cannot prepare '${base.task}': ${message}`, retryable: true },
      },
      restored: null,
    }
  }
}

const NEVER = new AbortController().signal

/** With task worktrees, preconditions that run commands look at what the plan has done so far, not at the workspace. */
async function seeing(rooms: Rooms, state: PlanState, task: TaskState, signal: AbortSignal): Promise<Judged> {
  const { preconditions = [], id } = task.definition
  if (!usesTaskWorktrees(state.definition) || !preconditions.some(one => commandOf(one) !== null))
    return await judgePreconditions(rooms, state, task, signal)
  const { reading } = await lazy.taskWorktrees()
  const seen = await reading(rooms, state, `${id}~ready`, at => judgePreconditions(at, state, task, signal))
  return seen.ok ? seen.value : { failure: seen.failure }
}

async function named(state: PlanState, task: TaskState, prepared: Prepared): Promise<Prepared> {
  if (prepared.failure === undefined || task.definition.failureModes === undefined) return prepared
  const { definition, visit } = task
  const attempt = { definition, inputs: definition.inputs ?? {}, visit, attempt: task.attempt + 1 }
  const { failure, mode } = await recognise(state, attempt, { status: 'failed', failure: prepared.failure })
  return { ...prepared, failure, ...(mode === undefined ? {} : { mode }) }
}

async function made(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  isHeld: () => true | Promise<boolean>,
  signal: AbortSignal,
): Promise<Pick<Preparation, 'prepared' | 'restored' | 'earlier' | 'expanded' | 'gate' | 'waits'>> {
  const { when } = task.definition
  const isGate = task.definition.action.type === 'gate'
  let judged: Prepared = {}
  let prose: readonly Verdict[] = []
  if (when !== undefined && task.prepared?.when === undefined) {
    const verdict = truth((await evaluator(state, ownContext(task)))(when), when)
    if ('message' in verdict)
      return {
        prepared: { failure: { class: 'logic', ...verdict, retryable: false } satisfies Failure },
        restored: null,
      }
    if (!verdict.holds) return { prepared: { when: false }, restored: null }
    judged = { when: true }
  }
  if (task.definition.action.type === 'items') {
    const found = await findItems(state, task)
    return 'failure' in found
      ? { prepared: found, restored: null }
      : { prepared: judged, expanded: found.expanded, restored: null }
  }
  if ((task.definition.preconditions?.length ?? 0) > 0) {
    if (!(await isHeld())) throw new Error('another process took over the plan')
    const met = await seeing(rooms, state, task, signal)
    if (met === null) return { prepared: judged, restored: null }
    if ('failure' in met) {
      const { failure, verdicts } = met
      return { prepared: { failure, preconditions: verdicts }, restored: null }
    }
    judged = { ...judged, preconditions: met.verdicts }
    // Until the person has answered, the files stay unreserved.
    const asks = task.prepared?.approved !== true && met.verdicts.some(({ holds }) => holds === null)
    if (asks && !isGate) return { prepared: judged, restored: null }
    // The gate's own question will include the criteria that only a person can judge, so that there is only one question.
    if (asks) judged = { ...judged, preconditions: met.verdicts.filter(({ holds }) => holds !== null) }
    prose = asks ? met.verdicts.filter(({ holds }) => holds === null) : []
  }
  if (isGate) {
    if (!(await isHeld())) throw new Error('another process took over the plan')
    const made = await makeQuestion(rooms, state, task, signal, prose)
    if (made === null) return { prepared: judged, restored: null }
    if ('failure' in made) return { prepared: made, restored: null }
    return { prepared: judged, gate: { from: state.hash, ...made }, restored: null }
  }
  if (task.prepared?.preimage === undefined && needsConsent(state, task)) {
    const { findConsent, isCovered } = await lazy.consent()
    const consent = await findConsent(rooms, state, task)
    judged = { ...judged, consent }
    // Unreserved while a person is asked, as above.
    if (!isCovered(task, consent, rooms.clock.now())) return { prepared: judged, restored: null }
  }
  if (task.definition.action.type !== 'external') {
    const { waits, reserves } = await reserveScope(rooms, state, task)
    if (waits !== undefined) return { prepared: judged, restored: null, waits }
    if (reserves !== undefined) judged = { ...judged, reserves }
  }
  const due = dueBefore(state, task)
  if (due !== null) judged = { ...judged, checkpoint: await standingNow(rooms, state, 'throw') }
  if (!capturesScope(state, task)) {
    const { snapshot } = judged.checkpoint ?? {}
    const isFirst = task.prepared?.before === undefined && task.attempt === 0
    const look =
      !isFirst || task.definition.action.type === 'external' ? {} : await snapshotBefore(rooms, state, task, snapshot)
    const edited = isFirst ? null : await editedSinceEnd(rooms, task)
    return { prepared: { ...judged, ...look, ...(edited === null ? {} : { edited }) }, restored: null }
  }
  const preimage = task.prepared?.preimage
  if (preimage !== undefined) {
    if (keepsWork(state.definition, task.definition)) return { prepared: { ...judged, preimage }, restored: null }
    if (!(await isHeld())) throw new Error('another process took over the plan')
    const back = await restoreScope(rooms, state, task, preimage)
    if (back.status === 'failed') {
      const { failure, earlier = [] } = back
      return { prepared: { failure }, restored: null, ...(earlier.length === 0 ? {} : { earlier }) }
    }
    if (back.status === 'asked') return { prepared: { ...judged, edits: back.edits }, restored: null }
    // Judged after the restore, because the failed attempt had changed the files.
    if (needsConsent(state, task))
      judged = { ...judged, consent: await (await lazy.consent()).findConsent(rooms, state, task) }
    const { restored, earlier } = back
    return {
      prepared: { ...judged, preimage: back.preimage },
      restored,
      ...(earlier.length === 0 ? {} : { earlier }),
    }
  }
  const captured = await rooms.workspace.capture(scopeOf(state.definition, task.definition) ?? [])
  if (!captured.ok) return { prepared: { failure: captured.failure }, restored: null }
  // Protected paths belong to no scope: the sandbox keeps them unchanged, and they are never restored.
  const left = captured.left.filter(({ reason }) => reason !== PROTECTED)
  const [first] = left
  if (first !== undefined) {
    const message = `${numberOf(left.length, 'path', 'paths')} of its write scope cannot be captured, first '${first.path}': ${first.reason}`
    return {
      prepared: {
        failure: {
          class: 'policy',
          message,
          hint: 'narrow `write` so that everything in it can be restored',
          retryable: false,
        },
      },
      restored: null,
    }
  }
  return { prepared: { ...judged, preimage: captured.manifest }, restored: null }
}
