// Tasks that spend money, put into a drawn plan: up to twenty of them at once, each with a few calls that overlap, under budgets of the
// plan, of a group and of single tasks that are too small for them. And the books kept beside the journal, by other code than the
// engine's: what is spent and reserved never passes a cap, at any event; and what was really used is never more than the books say.

import type { Event } from '../src/domain/event.ts'
import type { TaskName } from '../src/domain/id.ts'
import type { Budget, TaskDefinition } from '../src/domain/plan.ts'
import type { PlanState } from '../src/domain/state/state.ts'
import type { Random } from './random.ts'
import type { Script, Workload } from './workload.ts'

/** What one task asks for: so many calls, some at the same time, each of which may use so much. */
export interface Spending {
  readonly calls: number
  readonly atOnce: number
  readonly cost: number
  readonly tokens: number
}

const GROUP = 'pay' as TaskName

export function drawSpending(workload: Workload, luck: Random): Workload {
  const scripts = new Map<TaskName, Script>(workload.scripts)
  const spending = new Map<TaskName, Spending>()
  const count = luck.between(1, 20)
  const inside: TaskDefinition[] = []
  const outside: TaskDefinition[] = []
  let [cost, calls] = [0, 0]
  for (let at = 1; at <= count; at++) {
    const isInside = luck.chance(0.5)
    const id = `s${at}` as TaskName
    const name = (isInside ? `${GROUP}/${id}` : id) as TaskName
    const one = {
      calls: luck.between(1, 4),
      atOnce: luck.between(1, 3),
      cost: luck.between(1, 40) / 100,
      tokens: luck.between(10, 1_000),
    }
    spending.set(name, one)
    cost += one.calls * one.cost
    calls += one.calls
    scripts.set(name, { leastMs: 0, mostMs: luck.pick([50, 2_000]), failRate: luck.pick([0, 0, 0.2]) })
    const task: TaskDefinition = {
      id,
      action: { type: 'run', command: { argv: ['work', id] } },
      effect: 'model',
      retry: { attempts: 3, backoffMs: { min: 100, max: 1_000 } },
      ...(luck.chance(0.2)
        ? { budget: { calls: luck.between(1, 4), exceeded: luck.pick(['ask', 'fail'] as const) } }
        : {}),
    }
    if (isInside) inside.push(task)
    else outside.push(task)
  }
  const part = (most: number) => Math.max(0.5, Math.round(most * luck.pick([0.2, 0.5, 1.5]) * 100) / 100)
  const budget: Budget = {
    cost: { amount: part(cost), currency: 'USD' },
    ...(luck.chance(0.5) ? { calls: Math.ceil(part(calls)) } : {}),
    ...(luck.chance(0.5) ? { tokens: luck.between(1_000, 20_000) } : {}),
    ...(luck.chance(0.4) ? { attempts: luck.between(3, 40) } : {}),
    ...(luck.chance(0.3) ? { timeMs: luck.between(5_000, 60_000) } : {}),
    ...(luck.chance(0.2) ? { outputBytes: luck.between(100_000, 30_000_000) } : {}),
    ...(luck.chance(0.15) ? { exceeded: 'fail' as const } : {}),
    ...(luck.chance(0.2) ? { large: { amount: 0.2, currency: 'USD' } } : {}),
  }
  const group: TaskDefinition[] =
    inside.length === 0
      ? []
      : [
          {
            id: GROUP,
            action: { type: 'subplan', tasks: inside },
            ...(luck.chance(0.7) ? { budget: { cost: { amount: part(cost / 2), currency: 'USD' } } } : {}),
          },
        ]
  // A few of the drawn tasks are enough beside them; nobody needs or leads to the others.
  const { definition } = workload
  const few = definition.tasks.filter(({ on, when }) => on === undefined && when === undefined).slice(0, 3)
  const names = new Set(few.map(({ id }) => id))
  const others = few.map(({ needs = [], ...task }) => ({ ...task, needs: needs.filter(need => names.has(need)) }))
  return {
    ...workload,
    scripts,
    spending,
    definition: {
      ...definition,
      policy: { ...definition.policy, budget },
      concurrency: luck.pick([1, 4, 20, 20]),
      tasks: [...others, ...group, ...outside],
    },
  }
}

type Key = 'cost' | 'tokens' | 'calls' | 'attempts' | 'outputBytes'
const KEYS: readonly Key[] = ['cost', 'tokens', 'calls', 'attempts', 'outputBytes']
type Sums = Record<Key, number>
const nothing = (): Sums => ({ cost: 0, tokens: 0, calls: 0, attempts: 0, outputBytes: 0 })

interface Held {
  readonly task: string
  readonly owner: string
  readonly amount: Partial<Sums>
}

/** The books, from the events alone. */
export class Books {
  readonly #held = new Map<string, Held>()
  readonly #spent = new Map<string, Sums>()
  readonly #raised = new Map<string, Sums>()
  /** What calls really used, by level: told by the world, which is never asked. */
  readonly #used = new Map<string, Sums>()
  #limited: { readonly of: unknown; readonly levels: readonly string[] } = { of: null, levels: [] }
  readonly #fail: (what: string) => void
  questions = 0
  raises = 0

  constructor(fail: (what: string) => void) {
    this.#fail = fail
  }

  /** A call was sent and has used this. */
  used(task: TaskName, amount: Partial<Sums>): void {
    add(this.#used, task, amount)
  }

  event(event: Event, state: PlanState): void {
    switch (event.type) {
      case 'attempt.started':
        if (event.holds !== undefined && event.begun !== false) {
          const { timeMs: _, ...amount } = event.holds
          const owner = `${event.task}/${event.visit}/${event.attempt}`
          this.#held.set(owner, { task: event.task, owner, amount })
        }
        break
      case 'budget.reserved': {
        const owner = `${event.task}/${event.visit}/${event.attempt}`
        if (this.#held.has(event.id)) this.#fail(`${event.id} is reserved twice`)
        this.#held.set(event.id, { task: event.task, owner, amount: event.amount })
        break
      }
      case 'budget.settled': {
        const held = this.#held.get(event.id)
        if (held === undefined) this.#fail(`${event.id} is settled and was not reserved`)
        this.#held.delete(event.id)
        add(this.#spent, event.task, event.amount)
        break
      }
      case 'budget.raised':
        this.raises++
        if (event.add !== undefined) addTo(this.#raised, event.task ?? '', event.add)
        break
      case 'question.asked':
        if (event.budget !== undefined) this.questions++
        break
      case 'attempt.succeeded':
      case 'attempt.failed':
      case 'attempt.lost': {
        const owner = `${event.task}/${event.visit}/${event.attempt}`
        for (const [id, held] of this.#held) {
          if (held.owner !== owner) continue
          this.#held.delete(id)
          if (id !== owner) add(this.#spent, held.task, held.amount)
          else if (event.type !== 'attempt.lost') add(this.#spent, held.task, { ...held.amount, outputBytes: 0 })
          else if (event.begun !== false) add(this.#spent, held.task, held.amount)
        }
        break
      }
      default:
        return
    }
    this.#check(state)
  }

  #check(state: PlanState): void {
    const held = new Map<string, Sums>()
    for (const { task, amount } of this.#held.values()) add(held, task, amount)
    if (this.#limited.of !== state.definition)
      this.#limited = {
        of: state.definition,
        levels: ['', ...state.tasks.keys()].filter(level => budgetOf(state, level)),
      }
    for (const level of this.#limited.levels) {
      const budget = budgetOf(state, level)!
      const caps = { ...budget, cost: budget.cost?.amount }
      for (const key of KEYS) {
        const cap = caps[key]
        if (cap === undefined) continue
        const most = cap + (this.#raised.get(level)?.[key] ?? 0)
        const sum = (this.#spent.get(level)?.[key] ?? 0) + (held.get(level)?.[key] ?? 0)
        if (sum > most + 1e-6) this.#fail(`${key} of '${level}': ${sum} are spent and reserved, ${most} is the cap`)
        const used = this.#used.get(level)?.[key] ?? 0
        if (used > sum + 1e-6) this.#fail(`${key} of '${level}': ${used} were really used, the books say ${sum}`)
      }
    }
  }

  /** At the end the engine's own accounts say the same. */
  compare(state: PlanState): void {
    for (const [level, sums] of this.#spent) {
      const mine = state.budget?.accounts.get(level as TaskName)?.spent ?? {}
      for (const key of KEYS)
        if (Math.abs((mine[key] ?? 0) - sums[key]) > 1e-6)
          this.#fail(`${key} of '${level}': the state says ${mine[key] ?? 0}, the journal ${sums[key]}`)
    }
    if (this.#held.size > 0 && state.counts.running === 0)
      this.#fail(`nothing runs, and ${[...this.#held.keys()].join(' ')} is still reserved`)
  }
}

const budgetOf = (state: PlanState, level: string): Budget | undefined =>
  level === '' ? state.definition.policy?.budget : state.tasks.get(level as TaskName)?.definition.budget

/** To the task, the groups around it and the plan. */
function add(sums: Map<string, Sums>, task: string, amount: Partial<Sums>): void {
  const parts = task.split('/')
  for (let length = parts.length; length >= 0; length--) addTo(sums, parts.slice(0, length).join('/'), amount)
}

function addTo(sums: Map<string, Sums>, level: string, amount: Partial<Sums>): void {
  const sum = sums.get(level) ?? nothing()
  sums.set(level, sum)
  for (const key of KEYS) sum[key] += amount[key] ?? 0
}
