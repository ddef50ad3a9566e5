// The probable use of the rest of a plan, from the samples of similar tasks: the same task or title, else the same kind with the same
// runner, else the same runner. The number of samples is reported with the mean; tasks without any sample count as unknown, not as zero.

import type { Event } from '../event.ts'
import type { TaskName } from '../id.ts'
import { tokensOf } from '../model-use.ts'
import type { TaskDefinition } from '../plan.ts'
import type { PlanState } from '../state/state.ts'
import { allTasks } from '../state/task-index.ts'
import { ENDED } from '../status.ts'
import { type Amounts, addAmounts, BUDGET_KEYS, NO_AMOUNTS } from './amounts.ts'
import { isFree } from './ledger.ts'

/** What one task used until it completed, with all of its attempts. */
export interface Sample {
  readonly definition: TaskDefinition
  readonly used: Amounts
}

export interface Forecast {
  readonly tasks: number
  /** How many of them are similar to no sample; these are not in `rest`. */
  readonly unknown: number
  readonly samples: number
  /** Null when all are unknown. Time is the sum over all tasks, as if they ran one after another. */
  readonly rest: Amounts | null
}

/** Reads samples from the events of a journal, which must come in order. */
export class SampleReader {
  readonly samples: Sample[] = []
  readonly #definitions = new Map<TaskName, TaskDefinition>()
  readonly #open = new Map<TaskName, Amounts>()
  /** Calls that were settled one by one are not counted again in the result. */
  readonly #settled = new Set<string>()

  read(event: Event): void {
    switch (event.type) {
      case 'plan.created':
      case 'plan.revised':
        for (const task of allTasks(event.definition)) this.#definitions.set(task.id, task)
        return
      case 'task.added':
        for (const task of event.tasks) this.#definitions.set(task.id, task)
        return
      case 'attempt.started':
        if (event.begun !== false) this.#add(event.task, { attempts: 1 })
        return
      case 'budget.settled':
        this.#settled.add(`${event.task}/${event.visit}/${event.attempt}`)
        this.#add(event.task, event.amount)
        return
      case 'attempt.succeeded':
      case 'attempt.failed': {
        const { durationMs, log, model } = event.result
        this.#add(event.task, { timeMs: durationMs ?? 0, outputBytes: log?.bytes ?? 0 })
        if (model !== undefined && !this.#settled.has(`${event.task}/${event.visit}/${event.attempt}`))
          this.#add(event.task, {
            calls: model.calls,
            tokens: tokensOf(model.usage),
            ...(model.cost.known ? { cost: model.cost.usd } : {}),
          })
        if (event.type === 'attempt.succeeded') this.#close(event.task)
        return
      }
      default:
        return
    }
  }

  #add(task: TaskName, amount: Amounts): void {
    this.#open.set(task, addAmounts(this.#open.get(task) ?? NO_AMOUNTS, amount))
  }

  #close(task: TaskName): void {
    const definition = this.#definitions.get(task)
    const used = this.#open.get(task)
    this.#open.delete(task)
    if (definition !== undefined && used !== undefined && !isFree(definition)) this.samples.push({ definition, used })
  }
}

export function forecast(state: PlanState, samples: readonly Sample[]): Forecast {
  const groups = new Map<string, Sample[]>()
  for (const sample of samples)
    for (const key of similarityKeys(sample.definition)) {
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [sample])
      else group.push(sample)
    }
  const open = state.order.filter(
    ({ status, definition, dormant }) => !ENDED.has(status) && !dormant && !isFree(definition),
  )
  const from = new Set<Sample>()
  let rest: Amounts = NO_AMOUNTS
  let unknown = 0
  for (const { definition } of open) {
    const like = similarityKeys(definition)
      .map(key => groups.get(key))
      .find(group => group !== undefined)
    if (like === undefined) unknown++
    else {
      for (const sample of like) from.add(sample)
      rest = addAmounts(rest, mean(like))
    }
  }
  return {
    tasks: open.length,
    unknown,
    samples: from.size,
    rest: open.length === unknown && open.length > 0 ? null : rest,
  }
}

/** The closest similarity first. */
function similarityKeys({ id, title, kind, action }: TaskDefinition): readonly string[] {
  const runner = action.type
  return [
    ...(title === undefined ? [] : [`title ${runner} ${title}`]),
    `name ${runner} ${id}`,
    ...(kind === undefined ? [] : [`kind ${runner} ${kind}`]),
    `runner ${runner}`,
  ]
}

function mean(samples: readonly Sample[]): Amounts {
  const sum = samples.reduce<Amounts>((all, { used }) => addAmounts(all, used), NO_AMOUNTS)
  const part: { -readonly [K in keyof Amounts]?: number } = {}
  for (const key of BUDGET_KEYS) if (sum[key] !== undefined) part[key] = sum[key] / samples.length
  return part
}
