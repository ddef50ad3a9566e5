// The inbox, gates and proposals, and the results of answers.

import type { GateAsks } from '../../../domain/event.ts'
import type { JsonObject } from '../../../domain/json.ts'
import type { Int, Loose, Moved, PageOf, Time } from './fields.ts'

export interface Gate extends Loose {
  /** The task that asks. */
  readonly gate: string
  readonly plan_id: string
  readonly task_id: string
  readonly title: string | null
  readonly asks: GateAsks['type']
  /** All of what is asked: what to show, the options, the form, the criteria. */
  readonly asked: Loose
  /** The last words of the addresses that answer it. */
  readonly answers: readonly string[]
  readonly since: Time
  /** Of everything the answer will be bound to. */
  readonly hash: string | null
  /** Of a gate: what its answer sets going, as the plan stands now. */
  readonly releases?: {
    /** What begins, or can be claimed: it waits for nothing else. */
    readonly begins: readonly string[]
    /** What waits for other gates or tasks as well. */
    readonly waits: readonly { readonly task: string; readonly for: readonly string[] }[]
    /**
     * So many stand behind it that are not named.
     * @minimum 0
     */
    readonly more: Int
  }
}

export type GateList = PageOf<Gate>

export interface Decided extends Moved {
  readonly gate: string
  readonly verdict: string
  readonly by: string
  /** False when others must approve as well. */
  readonly counts: boolean
  /** How the task stands now. */
  readonly task_state: string
  /** What it asks next: after its checks hold, perhaps for approval. */
  readonly asks: string | null
}

interface InboxItem extends Loose {
  readonly id: string
  readonly plan_id: string
  /** Of the plan. */
  readonly name: string
  readonly task: string | null
  readonly title: string | null
  readonly since: Time
  /** What kind of answer it wants. */
  readonly asks: string
  readonly asked: Loose
  readonly hash: string | null
  readonly answers: readonly { readonly answer: string; readonly means: string }[]
}

export interface Inbox {
  readonly items: readonly InboxItem[]
  readonly next: null
  /** Plans whose journal is damaged: what waits there is not known. */
  readonly unreadable: readonly { readonly plan_id: string; readonly name: string; readonly why: string }[]
}

export interface InboxAnswered extends Moved {
  readonly id: string
  readonly answer: string
  /** What then happened, in sentences. */
  readonly told: readonly string[]
  readonly claim?: { readonly task: string; readonly token: string; readonly expires_in_seconds: number }
}

export interface Question {
  readonly id: string
  readonly plan_id: string
  readonly text: string
  readonly form: readonly { readonly name: string; readonly type: string; readonly [key: string]: unknown }[]
  readonly task: string | null
  readonly by: string
  readonly since: Time
  readonly answer: { readonly answers: JsonObject; readonly by: string; readonly at: Time } | null
}

export type QuestionPage = PageOf<Question>

interface ProposalFields {
  readonly id: string
  readonly plan_id: string
  /** The revision it was made for. */
  readonly on: Int
  readonly hash: string
  readonly rationale: string
  readonly cause: string | null
  readonly task: string | null
  readonly by: string
  readonly since: Time
  readonly fate: {
    readonly status: 'waiting' | 'accepted' | 'declined' | 'void'
    readonly [key: string]: unknown
  }
}

export type ProposalPage = PageOf<ProposalFields>

interface Changes {
  readonly summary: string
  /** What it means, task by task and key by key. */
  readonly diff: Loose
}

export type Proposal = ProposalFields & Changes & { readonly document: Loose }

interface ProposedFields extends Changes, Moved {
  /** Null when it changes nothing. */
  readonly id: string | null
  /** The policy of the plan took it by itself. */
  readonly accepted: boolean
  readonly revision: Int | null
}

export type Proposed = ProposedFields

export interface Replanned extends ProposedFields {
  readonly rationale: string
  /** Comments that were not applied. */
  readonly unfollowed: readonly { readonly task: string | null; readonly text: string; readonly why: string }[]
}

export type Judged = Moved & { readonly id: string; readonly verdict: 'accepted' | 'declined'; readonly by: string }

export type ReviewPage = PageOf<{
  /** Of exactly these questions. */
  readonly hash: string
  readonly since: Time
  readonly closes_at: Time | null
  readonly closed: boolean
  readonly items: readonly InboxItem[]
}>

export interface Reviewed extends Moved {
  readonly verdict: 'approved' | 'rejected'
  readonly gates: readonly string[]
  readonly by: string
}
