// The messages between the live hub and the tabs. Plain data, because it crosses threads.

import type { ActionType } from '../../src/domain/actions/actions.ts'
import type { Json, JsonObject } from '../../src/domain/json.ts'
import type { TaskDefinition } from '../../src/domain/plan.ts'
import type { Failure, Verdict } from '../../src/domain/result.ts'
import type { PlanStatus, TaskStatus } from '../../src/domain/status.ts'
import type { Race } from '../../src/domain/tries/race.ts'

/** State of the event stream. `lastSeen`: time of the last message. */
export type Connection =
  | { readonly is: 'connecting' }
  | { readonly is: 'live' }
  | { readonly is: 'away'; readonly lastSeen: number }
  /** The session cookie is no longer valid. */
  | { readonly is: 'signed-out' }

export type FromTab =
  | { readonly say: 'follow'; readonly plan: string }
  | { readonly say: 'leave'; readonly plan: string }
  | { readonly say: 'follow-task'; readonly plan: string; readonly task: string | null }
  /** The log that the tab shows. */
  | { readonly say: 'follow-log'; readonly plan: string; readonly task: string }
  | { readonly say: 'leave-log' }
  /** Sent after signing in, or to retry now. */
  | { readonly say: 'reconnect' }
  | { readonly say: 'bye' }

export type ToTab =
  | { readonly say: 'connection'; readonly connection: Connection }
  | { readonly say: 'plan'; readonly plan: string; readonly frame: PlanFrame }
  | { readonly say: 'missing'; readonly plan: string }
  | { readonly say: 'task'; readonly plan: string; readonly task: string; readonly detail: TaskDetail | null }
  /** The task whose log the tab shows has printed something. */
  | { readonly say: 'printed' }
  | { readonly say: 'changed'; readonly plans: readonly string[] }

/** The changes of a plan since the last frame. If `whole`, `tasks` contains all of them, in order. */
export interface PlanFrame {
  readonly head: PlanHead
  readonly tasks: readonly TaskView[]
  readonly whole: boolean
}

export interface PlanHead {
  readonly id: string
  readonly name: string
  readonly title: string | null
  readonly goal: string | null
  readonly status: PlanStatus
  readonly revision: number
  readonly version: number
  readonly createdAt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly updatedAt: number
  readonly reason: string | null
  readonly archived: boolean
  readonly rollingBack: boolean
  readonly counts: Readonly<Record<TaskStatus, number>>
  /** The cost of all model calls that tasks reported. */
  readonly cost: number | null
  readonly tokens: number
  /** Its reviewers and those whom it affects, and what it claims about an approval. */
  readonly people: readonly string[]
  /** Shown until the plan is started; null afterwards. */
  readonly draft: DraftWords | null
}

export interface DraftWords {
  readonly why: string | null
  readonly done: readonly string[]
  /** Per task with an action: what runs, what it may write, how it is checked. */
  readonly tasks: readonly string[]
  readonly irreversible: readonly string[]
  /** All commands of the plan, including checks and compensations, with their task. */
  readonly runs: readonly string[]
  readonly questions: readonly string[]
  readonly assumptions: readonly string[]
  readonly risks: readonly string[]
  /** Comments on earlier drafts; `task` is null for a comment on the whole draft. */
  readonly comments: readonly { readonly task: string | null; readonly text: string }[]
}

/** The status as drawn: three states more than in the journal, because people need to tell them apart. */
export type Look = TaskStatus | 'retrying' | 'lost' | 'interrupted'

export interface TaskView {
  readonly name: string
  readonly title: string | null
  readonly kind: string | null
  readonly assignee: string | null
  readonly action: ActionType
  readonly look: Look
  readonly status: TaskStatus
  readonly needs: readonly string[]
  readonly on: { readonly [outcome: string]: readonly string[] }
  readonly optional: boolean
  readonly visit: number
  readonly attempt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly retryAt: number | null
  /** Postponed to a set time. */
  readonly isLater: boolean
  readonly asks: string | null
  readonly since: number | null
  readonly reason: string | null
  readonly by: string | null
  readonly estimateMs: number | null
  readonly children: readonly string[] | null
  readonly childrenDone: number
}

export interface TaskDetail {
  readonly view: TaskView
  readonly definition: TaskDefinition
  readonly effect: string
  readonly attemptsMax: number
  readonly why: string
  readonly claimable: boolean
  readonly dependants: readonly string[]
  readonly outputs: JsonObject | null
  readonly outcome: string | null
  readonly exit: number | null
  readonly failure: Failure | null
  readonly verdicts: readonly Verdict[]
  readonly feedback: readonly { readonly by: string; readonly text: string }[]
  readonly cost: number | null
  readonly model: Json
  readonly wrotePaths: number | null
  /** The tries of its last attempt with `tries`. */
  readonly race: Race | null
}
