// The state of a plan: the fold of its journal.

import type { Ledger } from '../budget/ledger.ts'
import type { Rollback } from '../command.ts'
import type { Claim, Consent, Evaluation, Feedback, GateQuestion, Proposal, Question, Upload, Vote } from '../event.ts'
import type { Millis, PlanId, Sha256, TaskName } from '../id.ts'
import type { JsonObject } from '../json.ts'
import type { ReadMemory } from '../memory/memory-items.ts'
import type { NetworkPermit } from '../network-decision.ts'
import type { Authors, PlanDefinition, SandboxMode, TaskDefinition } from '../plan.ts'
import type { PolicyLayer } from '../policy/policy-layer.ts'
import type { LostOutput, Prepared, Programs, Result } from '../result.ts'
import type { Shortage } from '../shortage.ts'
import type { PlanStatus, TaskStatus } from '../status.ts'
import type { Race } from '../tries/race.ts'
import type { Heap } from './heap.ts'

// A definition is sealed when it is complete and hashed. Appending tasks to a draft unseals it; a revision with the same definition seals
// it.

export const isUnsealed = ({ hash }: Pick<PlanState, 'hash'>): boolean => hash === ''

// The position of a task in its plan: its `sequence_order`, if that is a safe integer, else its ordinal.

export function sequenceOf({ definition, ordinal }: TaskState): number {
  const sequence = definition.extra?.sequence_order
  return Number.isSafeInteger(sequence) ? (sequence as number) : ordinal
}

/** Changes the sequence of a task, and its priority if that was derived from the sequence. */
export function withSequence(task: TaskDefinition, sequence: number): TaskDefinition {
  const before = task.extra?.sequence_order
  const isOfferedByIt = typeof before === 'number' && (task.priority ?? 0) === -before
  return {
    ...task,
    ...(isOfferedByIt ? { priority: -sequence } : {}),
    extra: { ...task.extra, sequence_order: sequence },
  }
}

// The fold of a plan's journal. Only `evolve` writes it. Besides facts it has indexes (ready, running, timers, counters), so that no
// question costs more as the plan or its history grows (law L7).

export interface PlanState {
  id: PlanId
  status: Exclude<PlanStatus, 'blocked'>
  definition: PlanDefinition
  /** Counts definitions, from 1. */
  revision: number
  /** The content hash of the definition; '' while the definition of a draft is unsealed. */
  hash: Sha256
  origin: PlanId | null
  session: string | null
  goal: string | null
  agent: string | null
  /** Data of clients, as in tasks; nothing here depends on it. */
  annotations: JsonObject
  /** The dialect of the current definition; null for the canonical format. The journal has its text. */
  dialect: string | null
  /** Counts entries; the ETag of the plan. Set by the store, not by events. */
  version: number
  createdAt: Millis
  updatedAt: Millis
  startedAt: Millis | null
  endedAt: Millis | null
  reason: string | null
  archived: boolean

  readonly tasks: Map<TaskName, TaskState>
  /** In display order. Ordinals begin with 1 and are never reused, so a removed task leaves a gap in them. */
  order: TaskState[]
  nextOrdinal: number
  /** Completed tasks with a `compensate`, in order of completion. */
  completedOrder: TaskName[]
  /** Still to be compensated, taken from the end; null when the plan is neither ending nor rolling back. */
  compensating: TaskName[] | null
  compensation: TaskName | null
  compensationFailures: number
  compensationAt: Millis | null
  /** What follows the compensations: the end of a cancelled or failed plan; null for a rollback. */
  ending: 'cancelled' | 'failed' | null
  /** Compensated since they completed; reopening the plan repeats them. */
  compensated: TaskName[]
  /** Their compensation has an unknown outcome and is never repeated automatically. */
  unsureCompensated: TaskName[]
  rollback: RollbackUnderWay | null
  /** Completed visits whose changes are still to be committed on the plan's branch. */
  uncommitted: { readonly task: TaskName; readonly visit: number; readonly changes: Sha256 }[]
  /** Completed tasks since the last checkpoint of all files. */
  sinceCheckpoint: number
  /** The version of its rules, see rules-version.ts; the current one for a draft. */
  rules: number
  /** Are all files compared around tasks without a scope? */
  files: 'seen' | 'declared'
  /** The sandbox mode recorded at the start; null for none. */
  sandbox: SandboxMode | 'by-task' | null
  authors: Authors
  /** The policy layers around the plan, as read when it was started, or last resumed or reopened. */
  layers: readonly PolicyLayer[]
  /** What expressions read: recorded when it was started, or last resumed, reopened or revised. */
  memory: ReadMemory
  place: string | null
  /** Attempts begun, and how often tasks were reopened, all tasks of one event counting once; both since the plan was last reopened. */
  attempts: number
  loops: number
  /** Failures in a row of tasks that need a capability; until `until`, no such task may begin. */
  breakers: readonly { readonly capability: string; readonly failures: number; readonly until: Millis | null }[]
  questions: readonly (Question & { readonly since: Millis })[]
  permits: readonly NetworkPermit[]
  proposals: readonly (Proposal & { readonly since: Millis })[]
  /** Paused by force: running attempts were stopped. */
  halted: boolean
  /** Paused because everything was halted. */
  byHalt: boolean
  shortage: Shortage | null
  budget: Ledger | null
  overBudget: boolean
  /** How often `converge` has judged the definition of done. */
  rounds: number
  /** It fails, and all its files are reverted when its compensations have ended. */
  rollsBack: boolean
  /** Its files were reverted when it failed, so reopening it begins with the tasks that wrote them. */
  setBack: boolean
  /** Files reverted before retries, and edits overwritten; the last twenty times, ten paths each. */
  restored: readonly SetBack[]
  /** Declared outputs found missing or changed when the plan was last taken over. */
  lostOutputs: readonly LostOutput[]
  /** The programs with which attempts ran, as last recorded. */
  programs: Programs | null
  /** The entry in which it was started; before it, none of its tasks had begun. */
  startedEntry: number
  /** The entry in which its definition took effect. */
  stampedEntry: number

  /** Indexes: derived from the tasks, rebuilt when a stored fold is opened. */
  readonly counts: Record<TaskStatus, number>
  readonly ready: Heap<TaskState>
  readonly claimable: Heap<TaskState>
  readonly running: Set<TaskState>
  /** Tasks whose next attempt in the same visit restores their files, and claimed tasks: no other task may write in their scopes. */
  readonly holding: Set<TaskState>
  readonly timers: Heap<Timer>
  /** Gates, and external tasks that need an approval, to prepare before they can ask; they occupy no slot. */
  readonly asking: Set<TaskState>
  /** Timeouts of gates and deadlines, soonest first. */
  readonly alarms: Heap<Alarm>
}

/** Files that were reverted before a retry, or edits that a task overwrote. */
export interface SetBack {
  readonly how?: 'overwritten'
  readonly task: TaskName
  readonly at: Millis
  /** The manifest of the replaced files. */
  readonly saved: Sha256
  readonly paths: readonly string[]
  readonly more: number
}

/** The command, and `was`: the state of the plan before it. */
export type RollbackUnderWay = Omit<Rollback, 'type'> & {
  readonly was: { readonly status: PlanState['status']; readonly reason: string | null }
  /** Attempts that ended meanwhile; their consequences follow after the rollback. */
  readonly ended: readonly TaskName[]
}

export type OpenGate = Omit<GateQuestion, 'hash'> & {
  readonly since: Millis
  readonly hash: Sha256 | null
  readonly votes?: readonly Vote[]
  /** For a failure that asks for a revision: the definition of the last proposal. */
  readonly proposed?: Sha256
}

/** A retry to come. It has its own copy of the time, because heap keys must not change. */
export interface Timer {
  readonly at: Millis
  readonly task: TaskState
}

/** A timeout to handle. It has its own copy of the time, like a timer. */
export interface Alarm extends Timer {
  readonly why: 'waiting' | 'expired' | 'deadline'
}

export interface TaskState {
  definition: TaskDefinition
  readonly ordinal: number
  readonly addedAt: Millis
  status: TaskStatus
  visit: number
  /** A snapshot of all files before the first claim with unexplained changes outside the scope; absent for none. */
  around?: Sha256 | undefined
  /** The tries of its last attempt with `tries`; absent for none. */
  race?: Race
  /** What the claimant of this attempt uploads; absent for nothing. */
  uploads?: readonly Upload[] | undefined
  /** The run whose conversation this one continues; absent for its own. */
  conversation?: number | undefined
  /** Attempts started in this visit, lost ones included. */
  attempt: number
  /** Failed attempts of this visit, which a retry policy counts. */
  failures: number
  /** Attempts of this visit whose outcome is unknown, without those that we stopped. */
  lost: number
  /** Reports of this attempt that its checks refused. */
  refused: number
  readiedAt: Millis | null
  startedAt: Millis | null
  endedAt: Millis | null
  /** Not to be started before; null when it may start now. */
  retryAt: Millis | null
  claim: Claim | null
  prepared: Prepared | null
  result: Result | null
  reason: string | null
  gate: OpenGate | null
  handled: boolean
  /** Activated only by outcome edges, and not activated yet. */
  dormant: boolean
  /** The tasks whose outcomes activated it; a `needs` on one of them is waived until that task is reopened. */
  routedBy: readonly TaskName[]

  /** Visits that rollbacks opened, which count for no limit. */
  goneBack: number
  consent: Consent | null
  feedback: readonly Feedback[]
  /** The recovery rule being followed, and the task that follows it: a remedy, or the task itself. */
  recovering: { readonly rule: number; readonly by: TaskName } | null
  recoveries: readonly number[]
  /** For a task that waits or was postponed: the start of its first unsettled attempt. */
  waitsSince: Millis | null
  /** The start of the first attempt of this visit; kept only for a timebox. */
  visitAt: Millis | null
  /** The reasons for which people were notified in this visit, each once. */
  escalated: readonly string[]
  annotations: JsonObject
  evaluations: readonly Evaluation[]

  /** Unsatisfied direct needs, and those that block. */
  unmet: number
  blockers: number
  /** The direct dependants. Only `linkNeed` adds to it, because tasks without dependants share one list. */
  dependants: readonly TaskState[]
}

// The number of visits that count. A rollback opens a visit for every task it resets, which is no retry and is not counted.

export const countedVisits = ({ visit, goneBack }: Pick<TaskState, 'visit' | 'goneBack'>): number => visit - goneBack

/** For events of an attempt, so that a reader of the event alone can count as well. */
export const goneBackIn = ({ goneBack }: TaskState): { readonly goneBack?: number } =>
  goneBack > 0 ? { goneBack } : {}
