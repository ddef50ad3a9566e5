// What a person demands of a plan is not loosened by whoever works on it: a check is not taken away, a scope not widened, a budget not
// raised. Who may not decide proposes such a change. A plan that they made and started themselves, and that nobody else has approved
// or revised since, is theirs to change.

import type { Command } from '../../domain/command.ts'
import { advise, next } from '../../domain/hint.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import { same } from '../../domain/json.ts'
import type { Budget, Criterion, PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { criterionText } from '../../domain/plan-rules/criterion-text.ts'
import { refuse } from '../../domain/refusal.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { ENDED } from '../../domain/status.ts'
import { entriesAfter } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import type { Objection } from '../write-order.ts'

/** Of a caller who may not decide. `told` is called when it stands against a command. */
export const loosenObjection =
  (told: () => void): Objection =>
  (state, command) => {
    const after = definitionOf(state, command)
    const found = after === null ? null : loosenedBy(state, after)
    if (found === null) return null
    told()
    return refuse(
      'not-allowed',
      `${found}; whoever works on a plan that others made does not loosen it`,
      advise`propose it (${next('propose', { plan: state.definition.name })}), or ask an approver`,
    )
  }

function definitionOf({ status, definition }: PlanState, command: Command): PlanDefinition | null {
  if (command.type === 'revise') return command.definition
  // Elsewhere somebody who may decide looks at it first.
  const takesEffect = status !== 'draft' && definition.policy?.replan === 'auto'
  return command.type === 'propose' && takesEffect ? command.definition : null
}

/** The version up to which nobody else has made, started, revised or approved the plan; null when somebody has. */
export async function ownUntil({ store }: Rooms, plan: PlanId, actor: Actor): Promise<number | null> {
  const entries = await entriesAfter(store, plan, 0)
  const isOthers = entries.some(entry => entry.actor !== actor && entry.events.some(({ type }) => SETTLES.has(type)))
  return isOthers ? null : (entries.at(-1)?.version ?? 0)
}

const SETTLES: ReadonlySet<string> = new Set(['plan.created', 'plan.started', 'plan.revised', 'gate.decided'])

/** The first of what is looser, in words; null when nothing is. */
export function loosenedBy({ definition: before, tasks }: PlanState, after: PlanDefinition): string | null {
  const missing = firstMissing(before.done, after.done)
  if (missing !== null) return `the plan would be done without '${missing}'`
  const written = new Map(allTasks(after).map(task => [task.id, task]))
  for (const task of allTasks(before)) {
    const now = written.get(task.id)
    const found = now === undefined ? null : looserTask(scoped(task, before), scoped(now, after))
    if (found !== null) return `'${task.id}' ${found}`
    const isOpen = !ENDED.has(tasks.get(task.id)?.status ?? 'pending')
    if (now === undefined && isOpen && criteriaIn(task).length > 0)
      return `'${task.id}' would be removed with its checks`
  }
  return looserPolicy(before, after)
}

function looserTask(was: TaskDefinition, is: TaskDefinition): string | null {
  for (const key of CRITERIA) {
    const missing = firstMissing(was[key], is[key])
    if (missing !== null) return `would lose its check '${missing}'`
  }
  if (was.expect !== undefined && was.expect !== is.expect) return `would lose its check '${was.expect}'`
  const path = firstWider(was.write, is.write)
  if (path !== null) return `could write more (${path})`
  const host = firstAdded(was.network, is.network)
  if (host !== null) return `could reach more of the network (${host})`
  if (isRaised(was.timeboxMs, is.timeboxMs) || isDearer(was.budget, is.budget)) return 'would have a larger budget'
  return null
}

/** What a task does not say is as the plan says. */
const scoped = (task: TaskDefinition, { policy }: PlanDefinition): TaskDefinition => ({
  ...task,
  write: task.write ?? policy?.write,
  network: task.network ?? policy?.network,
})

const CRITERIA = ['accept', 'preconditions', 'postconditions'] as const

const criteriaIn = (task: TaskDefinition): readonly Criterion[] => CRITERIA.flatMap(key => task[key] ?? [])

function looserPolicy({ policy: was = {} }: PlanDefinition, { policy: is = {} }: PlanDefinition): string | null {
  const path = firstWider(was.write, is.write)
  if (path !== null) return `the plan could write more (${path})`
  const host = firstAdded(was.network, is.network)
  if (host !== null) return `the plan could reach more of the network (${host})`
  const limits = (['attempts', 'loops', 'tasks'] as const).some(key => isRaised(was.limits?.[key], is.limits?.[key]))
  return limits || isDearer(was.budget, is.budget) ? 'the plan would have a larger budget' : null
}

function firstMissing(was: readonly Criterion[] = [], is: readonly Criterion[] = []): string | null {
  const missing = was.find(one => !is.some(other => same(one, other)))
  return missing === undefined ? null : criterionText(missing)
}

const ANYWHERE = 'anywhere'

/** Without patterns it is everything. */
function firstWider(was: readonly string[] | undefined, is: readonly string[] | undefined): string | null {
  if (was === undefined) return null
  if (is === undefined) return ANYWHERE
  return is.find(pattern => !was.some(outer => isWithin(pattern, outer))) ?? null
}

/** Surely within: the same, or below a folder of which everything is meant. */
function isWithin(pattern: string, outer: string): boolean {
  if (pattern === outer || outer === '**') return true
  const folder = /^([^*?]+\/)(?:\*\*)?$/.exec(outer)?.[1]
  return folder !== undefined && pattern.startsWith(folder)
}

function firstAdded(was: readonly string[] | undefined, is: readonly string[] | undefined): string | null {
  if (was === undefined) return null
  return is === undefined ? ANYWHERE : (is.find(one => !was.includes(one)) ?? null)
}

const isRaised = (was: number | undefined, is: number | undefined): boolean =>
  was !== undefined && (is === undefined || is > was)

const isDearer = (was: Budget = {}, is: Budget = {}): boolean =>
  isRaised(was.timeMs, is.timeMs) ||
  isRaised(was.attempts, is.attempts) ||
  isRaised(was.cost?.amount, is.cost?.amount) ||
  (was.cost !== undefined && was.cost.currency !== is.cost?.currency)
