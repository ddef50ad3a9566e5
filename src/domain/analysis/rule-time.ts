// Lint rules about time and money: impossible deadlines, budgets below the estimates, very long tasks, and urgent tasks that depend on less
// urgent ones.

import { sandboxedCommand } from '../actions/actions.ts'
import { dueAt } from '../instant.ts'
import { spoken } from '../phrases.ts'
import type { Finding } from './finding.ts'
import type { Look } from './lint-input.ts'

const LONG_MS = 8 * 3_600_000

export function* deadlines({ graph, path, options: { now } }: Look): Iterable<Finding> {
  const at = graph.tasks.map(task => (task.deadline === undefined ? null : dueAt(task.deadline)))
  for (const [index, task] of graph.tasks.entries()) {
    const deadline = at[index]
    if (deadline === null || deadline === undefined) continue
    const about = { task: task.id, key: 'deadline' } as const
    const later = graph.needs[index]!.find(need => (at[need] ?? 0) > deadline)
    if (later !== undefined) {
      yield {
        ...about,
        code: 'deadline-order',
        severity: 'warning',
        message: `'${task.id}' is due ${task.deadline}, before '${graph.tasks[later]!.id}', which it needs and which is due ${graph.tasks[later]!.deadline}`,
        hint: 'a task cannot be due before what it needs',
      }
    }
    if (now === undefined) continue
    const ends = path.endsMs[index]!
    if (deadline < now) {
      yield {
        ...about,
        code: 'deadline-past',
        severity: 'warning',
        message: `'${task.id}' was due ${task.deadline}`,
        hint: 'move the deadline, or leave it out',
      }
    } else if (ends !== -1 && now + ends > deadline) {
      yield {
        ...about,
        code: 'deadline-missed',
        severity: 'warning',
        message: `'${task.id}' is due ${task.deadline}, but started now it would end ${spoken(now + ends - deadline)} too late`,
        hint: 'start earlier, shorten the tasks before it, or move the deadline',
      }
    }
  }
}

export function* budgets({ graph, costs, schedule }: Look): Iterable<Finding> {
  const budget = graph.definition.policy?.budget
  if (budget === undefined) return
  const about = { code: 'over-budget', severity: 'warning', key: 'policy' } as const
  const cost = costs.tasks.find(({ currency }) => currency === budget.cost?.currency)
  if (cost !== undefined && cost.amount > budget.cost!.amount) {
    yield {
      ...about,
      message: `the tasks may cost ${cost.amount} ${cost.currency} together, the plan only ${budget.cost!.amount}`,
      hint: 'raise the budget of the plan, or lower those of the tasks',
    }
  }
  if (budget.timeMs !== undefined && schedule.elapsedMs > budget.timeMs) {
    yield {
      ...about,
      message: `the plan is estimated to take ${spoken(schedule.elapsedMs)}, and may take ${spoken(budget.timeMs)}`,
      hint: 'raise the budget of time, or do less',
    }
  }
  const sure = graph.tasks.filter((_, task) => !graph.dormant[task]).length
  if (budget.attempts !== undefined && sure > budget.attempts) {
    yield {
      ...about,
      message: `${sure} tasks cannot be done in ${budget.attempts} attempts`,
      hint: 'raise the budget of attempts',
    }
  }
}

export function* lengths({ graph }: Look): Iterable<Finding> {
  for (const task of graph.tasks) {
    const estimate = task.estimateMs
    if (estimate === undefined) continue
    const timeout = task.timeoutMs ?? graph.definition.defaults?.timeoutMs
    if (timeout !== undefined && timeout < estimate && sandboxedCommand(task.action) !== null) {
      yield {
        code: 'timeout-short',
        severity: 'warning',
        task: task.id,
        key: 'estimate',
        message: `'${task.id}' is estimated at ${spoken(estimate)}, but ended after ${spoken(timeout)}`,
        hint: "raise its 'timeout', or correct the estimate",
      }
    }
    if (estimate <= LONG_MS || task.action.type === 'gate') continue
    yield {
      code: 'long-task',
      severity: 'info',
      task: task.id,
      key: 'estimate',
      message: `'${task.id}' is estimated at ${spoken(estimate)}; until it ends nobody sees how far it is`,
      hint: 'split it, or give it a subplan',
    }
  }
}

export function* priorities({ graph }: Look): Iterable<Finding> {
  for (const [at, task] of graph.tasks.entries()) {
    const urgency = task.priority ?? 0
    const slow = graph.needs[at]!.find(need => (graph.tasks[need]!.priority ?? 0) < urgency)
    if (urgency <= 0 || slow === undefined) continue
    const other = graph.tasks[slow]!
    yield {
      code: 'priority-inversion',
      severity: 'info',
      task: task.id,
      key: 'priority',
      message: `'${task.id}' has priority ${urgency} but needs '${other.id}', which has ${other.priority ?? 0}`,
      hint: `give '${other.id}' the same priority, or it may be kept waiting by others`,
    }
  }
}
