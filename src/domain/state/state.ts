// The state of a plan: what the fold of its journal holds.

import type { Ledger } from '../budget/ledger.ts'
import type { Rollback } from '../command.ts'
import type { Claim, Consent, Evaluation, Feedback, GateQuestion, Proposal, Question, Vote } from '../event.ts'
import type { Millis, PlanId, Sha256, TaskName } from '../id.ts'
import type { JsonObject } from '../json.ts'
import type { NetworkPermit } from '../network-decision.ts'
import type { Authors, PlanDefinition, SandboxMode, TaskDefinition } from '../plan.ts'
import type { PolicyLayer } from '../policy/policy-layer.ts'
import type { LostOutput, Prepared, Result } from '../result.ts'
import type { Shortage } from '../shortage.ts'
import type { PlanStatus, TaskStatus } from '../status.ts'
import type { Heap } from './heap.ts'

// Is the definition of a plan whole and hashed? Tasks that are added one by one to a draft leave it unsealed; a revision with the
// same definition seals it.

export const isUnsealed = ({ hash }: Pick<PlanState, 'hash'>): boolean => hash === ''

// Where a task stands among the tasks of its plan: by the word of whoever wrote it (`sequence_order`), when that is a number that can
// be compared exactly; else in the order in which it came.

export function sequenceOf({ definition, ordinal }: TaskState): number {
  const said = definition.extra?.sequence_order
  return Number.isSafeInteger(said) ? (said as number) : ordinal
}

/** The task with another number. One that was offered by its number is offered by the new one. */
export function withSequence(task: TaskDefinition, sequence: number): TaskDefinition {
  const before = task.extra?.sequence_order
  const isOfferedByIt = typeof before === 'number' && (task.priority ?? 0) === -before
  return {
    ...task,
    ...(isOfferedByIt ? { priority: -sequence } : {}),
    extra: { ...task.extra, sequence_order: sequence },
  }
}

// What is true now: the fold of a plan's journal. Only `evolve` writes it; everyone else reads. Besides facts it keeps
// indexes (ready, running, timers, counters) so that no question costs more as the plan or its history grows (law L7).

export interface PlanState {
  id: PlanId
  status: Exclude<PlanStatus, 'blocked'>
  definition: PlanDefinition
  /** Counts definitions, from 1. */
  revision: number
  /** The content hash of the current definition; '' while tasks were added to a draft and nobody has sealed it. */
  hash: Sha256
  origin: PlanId | null
  session: string | null
  goal: string | null
  agent: string | null
  /** What clients keep beside it; never followed. */
  annotations: JsonObject
  /** The dialect the current definition was written in; null for the canonical format. Its text stands in the journal. */
  dialect: string | null
  /** Counts entries; the ETag of the plan. Kept by the store, not by events. */
  version: number
  createdAt: Millis
  updatedAt: Millis
  startedAt: Millis | null
  endedAt: Millis | null
  reason: string | null
  archived: boolean

  readonly tasks: Map<TaskName, TaskState>
  /** In the order they are shown; index 0 has ordinal 1. Removed ones leave a hole in ordinals, not here. */
  order: TaskState[]
  nextOrdinal: number
  /** Completed tasks with a `compensate`, in the order they completed. */
  completedOrder: TaskName[]
  /** While cancelling: what is still to be compensated, last first; null when not cancelling. */
  compensating: TaskName[] | null
  compensation: TaskName | null
  /** How often the compensation under way has failed, and when it is tried again. */
  compensationFailures: number
  compensationAt: Millis | null
  /** What the compensations lead to: the end of a plan that was cancelled or has failed, or a rollback. */
  ending: 'cancelled' | 'failed' | null
  /** Compensated since they completed; whoever takes the work up again does them again. */
  compensated: TaskName[]
  /** Nobody knows whether their compensation happened; it is never run again by itself. */
  unsureCompensated: TaskName[]
  rollback: RollbackUnderWay | null
  /** Done, and what they wrote is still to be committed on the plan's branch. */
  uncommitted: { readonly task: TaskName; readonly visit: number; readonly changes: Sha256 }[]
  /** Tasks completed since the last checkpoint of all files. */
  sinceCheckpoint: number
  /** Under which rules it was started, see rules-number.ts; those of this program while it is a draft. */
  rules: number
  /** Are all files looked at around tasks that declare no scope? */
  files: 'seen' | 'declared'
  /** How commands are shut in, as it was said at the start; null where nobody said. */
  sandbox: SandboxMode | 'by-task' | null
  /** Who wrote the commands of its tasks. */
  authors: Authors
  /** The policy around the plan, as it stood at the start; empty where nobody says anything. */
  layers: readonly PolicyLayer[]
  place: string | null
  /** Attempts begun, and how often visits were opened again, over the whole plan: what its caps count. */
  attempts: number
  loops: number
  /** Failures in a row of what needs a capability; `until` while nothing that needs it may begin. */
  breakers: readonly { readonly capability: string; readonly failures: number; readonly until: Millis | null }[]
  questions: readonly (Question & { readonly since: Millis })[]
  permits: readonly NetworkPermit[]
  proposals: readonly (Proposal & { readonly since: Millis })[]
  /** Paused by force: nothing goes on to its end. */
  halted: boolean
  /** Paused because everything was halted. */
  byHalt: boolean
  shortage: Shortage | null
  budget: Ledger | null
  overBudget: boolean
  /** How often `converge` has judged the definition of done. */
  rounds: number
  /** It was aborted, and all files are to be taken back when it has ended. */
  rollsBack: boolean
  /** Its files were taken back when it failed; whoever takes its work up again begins with what wrote them. */
  setBack: boolean
  /** What was set back before tasks were tried again; the last twenty times, ten paths each. */
  restored: readonly SetBack[]
  /** Declared outputs that were found missing or changed when the plan was taken up last. */
  lostOutputs: readonly LostOutput[]
  /** The entry in which it was started; before it, none of its tasks had begun. */
  startedEntry: number
  /** The entry in which its definition took effect. */
  stampedEntry: number

  /** Indexes: derived from the tasks above, rebuilt when a stored fold is opened. */
  readonly counts: Record<TaskStatus, number>
  readonly ready: Heap<TaskState>
  /** External tasks that may be claimed. */
  readonly claimable: Heap<TaskState>
  readonly running: Set<TaskState>
  /** Between two attempts of a visit: the next one sets their files back first, so nobody else may write these meanwhile. */
  readonly holding: Set<TaskState>
  readonly timers: Heap<Timer>
  /** Gates that are reached and must be made ready before they can ask; they take nobody's place in line. */
  readonly asking: Set<TaskState>
  /** When nobody has answered by then, or a deadline has passed, somebody is called or a gate is closed; soonest first. */
  readonly alarms: Heap<Alarm>
}

/** Files that were set back before a task was tried again, or that it wrote over although somebody had changed them. */
export interface SetBack {
  readonly how?: 'overwritten'
  readonly task: TaskName
  readonly at: Millis
  /** The manifest of what stood there. */
  readonly saved: Sha256
  readonly paths: readonly string[]
  readonly more: number
}

/** What was asked for, and how the plan stood when it was. */
export type RollbackUnderWay = Omit<Rollback, 'type'> & {
  readonly was: { readonly status: PlanState['status']; readonly reason: string | null }
  /** Attempts that ended by themselves meanwhile; what follows from that is decided when the rollback is over. */
  readonly ended: readonly TaskName[]
}

/** A question that waits for a person. */
export type OpenGate = Omit<GateQuestion, 'hash'> & {
  readonly since: Millis
  readonly hash: Sha256 | null
  readonly votes?: readonly Vote[]
  /** Of a failure that asks for a revision: the definition for which one was proposed last. */
  readonly proposed?: Sha256
}

/** A retry to come. It keeps its own time: a heap must not change its order behind its back. */
export interface Timer {
  readonly at: Millis
  readonly task: TaskState
}

/** What is to be done about a task when nothing happens. It keeps its own time, as a timer does. */
export interface Alarm extends Timer {
  readonly why: 'waiting' | 'expired' | 'deadline'
}

export interface TaskState {
  definition: TaskDefinition
  readonly ordinal: number
  readonly addedAt: Millis
  status: TaskStatus
  visit: number
  /** All files before the first claim whose changes outside the scope nobody has explained yet; absent when there is none. */
  around?: Sha256 | undefined
  /** Attempts started in this visit, lost ones included. */
  attempt: number
  /** Attempts of this visit that failed; what a retry policy counts. */
  failures: number
  /** Attempts of this visit whose outcome nobody knows. */
  lost: number
  /** Reports of this attempt that were not accepted. */
  refused: number
  readiedAt: Millis | null
  startedAt: Millis | null
  endedAt: Millis | null
  /** Not before this time; null when it may start now. */
  retryAt: Millis | null
  claim: Claim | null
  /** What was prepared for this visit. */
  prepared: Prepared | null
  result: Result | null
  /** Why it was skipped, abandoned, lost or reopened. */
  reason: string | null
  gate: OpenGate | null
  handled: boolean
  /** Reached only by outcome edges and not routed to yet. */
  dormant: boolean
  /** The tasks whose outcomes led here; a `needs` on one of them is waived until that task is open again. */
  routedBy: readonly TaskName[]

  /** Visits that a rollback opened; they count for no limit. */
  goneBack: number
  /** Somebody has agreed to this visit, as it was shown. */
  consent: Consent | null
  /** What was said by whoever sent it back; the last is about this visit. */
  feedback: readonly Feedback[]
  /** Which rule of `recover` is being followed, and by which task. */
  recovering: { readonly rule: number; readonly by: TaskName } | null
  recoveries: readonly number[]
  /** Of a task that waits or has been put off: when the first attempt began that nobody has judged. */
  waitsSince: Millis | null
  /** When the first attempt of this visit began; kept only where there is a timebox. */
  visitAt: Millis | null
  /** Why somebody was called about this visit; each reason once. */
  escalated: readonly string[]
  /** What clients keep beside it; never followed. */
  annotations: JsonObject
  /** What was said of its work, the last of it. */
  evaluations: readonly Evaluation[]

  /** Direct needs not yet satisfied, and those that block. */
  unmet: number
  blockers: number
  /** Who needs this task; grows by `linkNeed` only, because those who are needed by nobody share one list. */
  dependants: readonly TaskState[]
}

// How many visits of a task count. A rollback opens a visit of its own for every task it resets; that is no retry, and nobody
// counts it as one. Everything that tells how often a task was done asks here.

export const countedVisits = ({ visit, goneBack }: Pick<TaskState, 'visit' | 'goneBack'>): number => visit - goneBack

/** For events of an attempt, so that whoever reads only the event can count as well. */
export const goneBackIn = ({ goneBack }: TaskState): { readonly goneBack?: number } =>
  goneBack > 0 ? { goneBack } : {}
