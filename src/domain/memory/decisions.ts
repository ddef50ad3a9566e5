// What people decided in a plan: at gates, by answering questions, and about proposals. What the engine decided by itself is left out.

import type { Event, EventOf, PlanEntry } from '../event.ts'
import type { Millis, TaskName } from '../id.ts'
import type { JsonObject } from '../json.ts'
import type { TaskDefinition } from '../plan.ts'
import { allTasks } from '../state/task-index.ts'

export interface Decision {
  readonly task: TaskName | null
  /** What was asked; a task without a title or a question is named. */
  readonly asked: string
  readonly answer: string
  /** The reason given; empty if none. */
  readonly why: string
  readonly by: string
  readonly at: Millis
  readonly entry: number
}

type Entry = Pick<PlanEntry, 'version' | 'now' | 'actor' | 'events'>
type Words = Pick<Decision, 'task' | 'asked' | 'answer' | 'why' | 'by'>

/** Reads entries in order, from the first. */
export class DecisionReader {
  #tasks = new Map<TaskName, TaskDefinition>()
  readonly #gates = new Map<TaskName, string>()
  readonly #questions = new Map<string, EventOf<'question.asked'>>()
  readonly #proposals = new Map<string, string>()

  read({ version: entry, now: at, actor, events }: Entry): readonly Decision[] {
    return events.flatMap(event => {
      const words = this.#decided(event, actor)
      this.#follow(event)
      return words === null ? [] : [{ ...words, at, entry }]
    })
  }

  #follow(event: Event): void {
    if ('definition' in event && event.type !== 'revision.proposed')
      this.#tasks = new Map(allTasks(event.definition).map(task => [task.id, task]))
    if (event.type === 'task.added') for (const task of event.tasks) this.#tasks.set(task.id, task)
    if (event.type === 'gate.opened') this.#gates.set(event.task, this.#askedAt(event))
    if (event.type === 'question.asked') this.#questions.set(event.id, event)
    if (event.type === 'revision.proposed') this.#proposals.set(event.id, event.rationale)
  }

  #askedAt({ task, asks }: EventOf<'gate.opened'>): string {
    if (asks.type === 'question') return asks.question
    const about = this.#tasks.get(task)?.title ?? task
    return asks.type === 'recovery' || asks.type === 'replan' ? `${about} failed: ${asks.failure.message}` : about
  }

  #decided(event: Event, actor: string): Words | null {
    switch (event.type) {
      case 'gate.decided': {
        const by = event.by ?? actor
        if (by === 'engine') return null
        const { task, rationale: why } = event
        return { task, asked: this.#gates.get(task) ?? task, answer: answerAt(event), why, by }
      }
      case 'task.skipped': {
        // Others are skipped as a consequence; this one waited for a person.
        const asked = this.#gates.get(event.task)
        if (asked === undefined || (event.by ?? actor) === 'engine') return null
        return { task: event.task, asked, answer: 'skipped', why: event.reason, by: event.by ?? actor }
      }
      case 'question.answered': {
        const asked = this.#questions.get(event.id)
        if (Object.keys(event.answers).length === 0) return null
        const answer = valuesIn(event.answers)
        return { task: asked?.task ?? null, asked: asked?.text ?? event.id, answer, why: '', by: event.by }
      }
      case 'revision.declined':
        return this.#judged(event.id, 'declined', event.rationale, event.by)
      case 'plan.revised':
        return event.proposal === undefined ? null : this.#judged(event.proposal, 'accepted', event.rationale, actor)
      default:
        return null
    }
  }

  #judged(id: string, answer: string, why: string, by: string): Words {
    const proposed = this.#proposals.get(id) ?? ''
    const asked = proposed === '' ? `proposal ${id}` : `proposal: ${proposed}`
    return { task: null, asked, answer, why: why === proposed ? '' : why, by }
  }
}

function answerAt({ verdict, option, answers, to }: EventOf<'gate.decided'>): string {
  switch (verdict) {
    case 'chosen':
      return option ?? 'chosen'
    case 'answered':
      return valuesIn(answers ?? {})
    case 'pushed-back':
      return `back to ${to}`
    default:
      return verdict
  }
}

/** The value alone where there is only one. */
function valuesIn(answers: JsonObject): string {
  const written = Object.entries(answers).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return written.length === 1 ? written[0]![1]! : written.map(([name, value]) => `${name}: ${value}`).join(', ')
}
