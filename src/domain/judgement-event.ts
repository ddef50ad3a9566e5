// What was judged and decided when things went wrong or somebody had to be asked: recovery, breakers, votes, questions,
// proposals, assessments, notices. Part of the union in event.ts.

import type { PlanSource } from './event.ts'
import type { Millis, Sha256, TaskName } from './id.ts'
import type { JsonObject } from './json.ts'
import type { Field, NoticeKind, PlanDefinition, Recovery } from './plan.ts'
import type { Verdict } from './result.ts'

export type JudgementEvent =
  /** What is done about a failure, and why this. `rule` is the index in `recover`; absent for what `retry` and edges say. */
  | {
      readonly type: 'recovery.chosen'
      readonly task: TaskName
      readonly visit: number
      readonly choice: RecoveryChoice
      readonly reason: string
      readonly rule?: number
      readonly to?: readonly TaskName[]
    }
  /** Another task has done its work instead, and left what it was to leave. */
  | { readonly type: 'task.substituted'; readonly task: TaskName; readonly by: TaskName }
  /** The plan ends as failed, now: what has not begun is cancelled, what runs is ended. */
  | {
      readonly type: 'plan.aborted'
      readonly reason: string
      readonly with: 'compensate' | 'keep' | 'rollback'
      readonly task?: TaskName
    }
  /** Nothing that needs the capability begins before then. */
  | {
      readonly type: 'breaker.opened'
      readonly capability: string
      readonly until: Millis
      readonly failures: number
    }
  | { readonly type: 'breaker.closed'; readonly capability: string }
  | {
      readonly type: 'task.escalated'
      readonly task: TaskName
      readonly why: 'waiting' | 'expired' | 'deadline' | 'timebox' | 'heartbeat'
      readonly to?: string
    }
  /** One of several who must approve has. */
  | {
      readonly type: 'gate.voted'
      readonly task: TaskName
      readonly by: string
      readonly rationale: string
      readonly hash?: Sha256
    }
  /** An approval that was given holds no more. */
  | { readonly type: 'consent.voided'; readonly task: TaskName; readonly reason: string }
  | ({ readonly type: 'question.asked' } & Question)
  | {
      readonly type: 'question.answered'
      readonly id: string
      readonly answers: JsonObject
      readonly by: string
    }
  | ({ readonly type: 'revision.proposed' } & Proposal)
  | {
      readonly type: 'revision.declined'
      readonly id: string
      readonly by: string
      readonly rationale: string
    }
  /** The definition of done, judged in between by `converge`. */
  | {
      readonly type: 'assessment.made'
      readonly round: number
      readonly verdicts: readonly Verdict[]
    }
  /** Somebody was told, or could not be. */
  | {
      readonly type: 'notice.sent'
      /** Of the event it tells of: entry and place in it, so that none is told twice. */
      readonly id: string
      readonly kind: NoticeKind
      readonly to: string
      readonly task?: TaskName
      readonly failure?: string
    }

/** `route`: an outcome edge or a failure mode led on. `block`: nothing else is left; what needs it waits. */
export type RecoveryChoice = Recovery['type'] | 'route' | 'block'

/** Asked by an agent or a person in the middle of their work. */
export interface Question {
  readonly id: string
  readonly text: string
  readonly form: readonly Field[]
  readonly task?: TaskName
  readonly by: string
}

/** A revision that has not taken effect. It counts only while `base` is the plan's hash. */
export interface Proposal {
  readonly id: string
  readonly definition: PlanDefinition
  readonly hash: Sha256
  /** The hash of the definition it was made for. */
  readonly base: Sha256
  readonly rationale: string
  readonly by: string
  /** What was observed that the plan had not expected. */
  readonly cause?: string
  /** The text it was written as. */
  readonly source?: PlanSource
  readonly task?: TaskName
}

/** Whoever approves something approves exactly this. */
export interface Vote {
  readonly by: string
  readonly rationale: string
}

/** A person's agreement to one visit of a task, as it was shown. */
export interface Consent {
  /** Of everything it is bound to. */
  readonly hash: Sha256
  readonly until: Millis
  readonly by: string
  /** The gate that asked; the task itself when it was asked before it began. */
  readonly gate: TaskName
}

/** What somebody said who sent it back. */
export interface Feedback {
  readonly from: TaskName
  readonly by: string
  readonly text: string
}
