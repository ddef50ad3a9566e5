// What a handoff tells of judgement: what was asked in the middle of work and answered, what was done about failures, who was called,
// which revisions were proposed.

import type { Event, EventOf } from '../event.ts'
import type { Millis, TaskName } from '../id.ts'
import type { JsonObject } from '../json.ts'
import type { RecoveryChoice } from '../judgement-event.ts'

export interface Judged {
  readonly questions: readonly {
    readonly id: string
    readonly at: Millis
    readonly by: string
    readonly task: TaskName | null
    readonly text: string
    readonly answer: { readonly by: string; readonly at: Millis; readonly answers: JsonObject } | null
  }[]
  readonly recoveries: readonly {
    readonly at: Millis
    readonly task: TaskName
    readonly choice: RecoveryChoice
    readonly reason: string
  }[]
  readonly escalations: readonly {
    readonly at: Millis
    readonly task: TaskName
    readonly why: EventOf<'task.escalated'>['why']
    readonly to: string | null
  }[]
  readonly proposals: readonly {
    readonly id: string
    readonly at: Millis
    readonly by: string
    readonly rationale: string
    /** Null while nobody has decided; void: the plan became another one first. */
    readonly fate: {
      readonly by: string
      readonly how: 'accepted' | 'declined' | 'void'
      readonly rationale: string
    } | null
  }[]
  /** Why the plan was given up. */
  readonly aborted: string | null
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] }
export type JudgedStory = Mutable<Judged>

export const newJudged = (): JudgedStory => ({
  questions: [],
  recoveries: [],
  escalations: [],
  proposals: [],
  aborted: null,
})

/** One event of an entry, in order. */
export function tellJudged(story: JudgedStory, event: Event, at: Millis, actor: string): void {
  switch (event.type) {
    case 'question.asked': {
      const { id, by, task = null, text } = event
      story.questions.push({ id, at, by, task, text, answer: null })
      return
    }
    case 'question.answered': {
      const { id, by, answers } = event
      story.questions = story.questions.map(one => (one.id === id ? { ...one, answer: { by, at, answers } } : one))
      return
    }
    case 'recovery.chosen':
      story.recoveries.push({ at, task: event.task, choice: event.choice, reason: event.reason })
      return
    case 'task.escalated':
      story.escalations.push({ at, task: event.task, why: event.why, to: event.to ?? null })
      return
    case 'revision.proposed':
      story.proposals.push({ id: event.id, at, by: event.by, rationale: event.rationale, fate: null })
      return
    case 'revision.declined':
      decide(story, event.id, { by: event.by, how: 'declined', rationale: event.rationale })
      return
    case 'plan.revised':
      if (event.proposal !== undefined)
        decide(story, event.proposal, { by: actor, how: 'accepted', rationale: event.rationale })
      for (const { id } of story.proposals)
        decide(story, id, { by: actor, how: 'void', rationale: `revision ${event.revision} came first` })
      return
    case 'plan.aborted':
      story.aborted = event.reason
      return
    default:
      return
  }
}

function decide(story: JudgedStory, id: string, fate: NonNullable<Judged['proposals'][number]['fate']>): void {
  story.proposals = story.proposals.map(one => (one.id === id && one.fate === null ? { ...one, fate } : one))
}
