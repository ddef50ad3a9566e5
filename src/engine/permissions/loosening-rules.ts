// Prevents callers without the right to decide from loosening what a person demanded of a plan: removing a check, widening a scope, raising
// a budget, declaring unsafe work safe, making required work optional. They may propose such a change. They may change a plan that they
// created and started themselves and that no other actor has approved or revised since.

import { ownBudget } from '../../domain/budget/ledger.ts'
import type { Command } from '../../domain/command.ts'
import { advise, next } from '../../domain/hint.ts'
import type { Actor, PlanId, TaskName } from '../../domain/id.ts'
import { same } from '../../domain/json.ts'
import type {
  Budget,
  Criterion,
  EffectClass,
  PlanDefinition,
  RecoveryRule,
  SandboxMode,
  TaskDefinition,
} from '../../domain/plan.ts'
import { agentRequest } from '../../domain/plan-rules/agent-request.ts'
import { criterionText } from '../../domain/plan-rules/criterion-text.ts'
import { effectOf } from '../../domain/plan-rules/effect.ts'
import { networkOf, reachedBeyond } from '../../domain/plan-rules/network.ts'
import { refuse } from '../../domain/refusal.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { ENDED } from '../../domain/status.ts'
import { entriesAfter } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import type { Objection } from '../write-order.ts'

/** For a caller without the right to decide. `onRefusal` is called when it objects. */
export const loosenObjection =
  (onRefusal: () => void): Objection =>
  (state, command) => {
    const after = definitionOf(state, command)
    const found = after === null ? null : loosenedBy(state, after)
    if (found === null) return null
    onRefusal()
    return refuse(
      'not-allowed',
      `${found}; loosening a plan that others made needs the right to decide`,
      advise`propose it (${next('propose', { plan: state.definition.name })}), or ask an approver`,
    )
  }

function definitionOf({ status, definition }: PlanState, command: Command): PlanDefinition | null {
  if (command.type === 'revise') return command.definition
  // Otherwise a person with the right to decide reviews it first.
  const takesEffect = status !== 'draft' && definition.policy?.replan === 'auto'
  return command.type === 'propose' && takesEffect ? command.definition : null
}

/** The version up to which no other actor has created, started, revised or approved the plan; null if one has. */
export async function ownUntil({ store }: Rooms, plan: PlanId, actor: Actor): Promise<number | null> {
  const entries = await entriesAfter(store, plan, 0)
  const isOthers = entries.some(entry => entry.actor !== actor && entry.events.some(({ type }) => SETTLES.has(type)))
  return isOthers ? null : (entries.at(-1)?.version ?? 0)
}

const SETTLES: ReadonlySet<string> = new Set(['plan.created', 'plan.started', 'plan.revised', 'gate.decided'])

export function loosenedBy({ definition: before, tasks }: PlanState, after: PlanDefinition): string | null {
  const missing = firstMissing(before.done, after.done)
  if (missing !== null) return `the plan would be done without '${missing}'`
  const [old, written] = [byName(before), byName(after)]
  const isGuard = (task: TaskDefinition | undefined): boolean =>
    task !== undefined && hasChecks(task) && !ENDED.has(tasks.get(task.id)?.status ?? 'pending')
  for (const task of old.values()) {
    const now = written.get(task.id)
    if (now === undefined) {
      if (isGuard(task)) return `'${task.id}' would be removed with its checks`
      continue
    }
    const found =
      looserTask(filled(task, before), filled(now, after)) ?? looserEffect(before, task, after, now) ?? freed(task, now)
    if (found !== null) return `'${task.id}' ${found}`
    const need = (task.needs ?? []).find(one => isGuard(old.get(one)) && !waitsFor(written, now, one))
    if (need !== undefined) return `'${task.id}' would not wait for '${need}'`
  }
  return looserPolicy(before, after)
}

const byName = (definition: PlanDefinition): ReadonlyMap<TaskName, TaskDefinition> =>
  new Map(allTasks(definition).map(task => [task.id, task]))

function looserTask(was: TaskDefinition, is: TaskDefinition): string | null {
  for (const key of CRITERIA) {
    const missing = firstMissing(was[key], is[key])
    if (missing !== null) return `would lose its check '${missing}'`
  }
  if (was.expect !== undefined && was.expect !== is.expect) return `would lose its check '${was.expect}'`
  const path = firstWider(was.write, is.write)
  if (path !== null) return `could write more (${path})`
  const changed = firstWider(was.effects, is.effects)
  if (changed !== null) return `could change more without being noticed (${changed})`
  const seen = firstWider(was.read, is.read)
  if (seen !== null) return `could read more (${seen})`
  const host = reachedBeyond(networkOf({}, was), networkOf({}, is))
  if (host !== null) return `could reach more of the network (${host})`
  const [before, after] = [modelsOf(was), modelsOf(is)]
  if (is.action.type === 'agent' && before !== null && after?.every(one => before.includes(one)) !== true)
    return 'could ask other models'
  const isLonger = TIMES.some(key => isRaised(was[key], is[key])) || isRaised(was.retry?.attempts, is.retry?.attempts)
  if (isLonger || isDearer(ownBudget(was), ownBudget(is))) return 'would have a larger budget'
  return null
}

function modelsOf({ action }: TaskDefinition): readonly string[] | null {
  const { models = null, model = null } = agentRequest(action) ?? {}
  return models === null ? null : [...models, ...(model === null ? [] : [model])]
}

const TIMES = ['timeboxMs', 'timeoutMs', 'visits'] as const

/** How careful the engine is after an unknown outcome: ask a person, run the probe, restore the files first. */
const CARE: { readonly [effect in EffectClass]: number } = {
  unsafe: 3,
  probed: 2,
  workspace: 1,
  idempotent: 0,
  model: 0,
  pure: 0,
}

function looserEffect(
  before: PlanDefinition,
  was: TaskDefinition,
  after: PlanDefinition,
  is: TaskDefinition,
): string | null {
  const [old, now] = [effectOf(before, was), effectOf(after, is)]
  if (CARE[now] < CARE[old]) return `would count as ${now}, not as ${old}`
  if (was.probe !== undefined && !same(was.probe, is.probe)) return 'would be probed otherwise'
  if (was.compensate !== undefined && !same(was.compensate, is.compensate)) return 'would be undone otherwise'
  const tries = (task: TaskDefinition, { defaults }: PlanDefinition): number =>
    (task.retry ?? defaults?.retry)?.attempts ?? 1
  return now === 'unsafe' && tries(is, after) > tries(was, before)
    ? 'would be tried more often, and is unsafe to repeat'
    : null
}

/** It became optional, or may be done by others. */
function freed(was: TaskDefinition, is: TaskDefinition): string | null {
  if (is.optional === true && was.optional !== true) return 'would be optional'
  if (was.when !== is.when) return 'would be done under another condition'
  if (was.assignee !== undefined && was.assignee !== is.assignee) return `would not be for ${was.assignee} any more`
  const isPassing = ({ do: what }: RecoveryRule): boolean => what.type === 'alternate'
  const rules = (is.recover ?? []).filter(isPassing)
  return rules.every(rule => (was.recover ?? []).some(other => same(rule, other)))
    ? null
    : 'could be replaced by another task when it fails'
}

function waitsFor(tasks: ReadonlyMap<TaskName, TaskDefinition>, task: TaskDefinition, need: TaskName): boolean {
  const queue = [...(task.needs ?? [])]
  const seen = new Set(queue)
  for (const name of queue) {
    if (name === need) return true
    for (const next of tasks.get(name)?.needs ?? [])
      if (!seen.has(next)) {
        seen.add(next)
        queue.push(next)
      }
  }
  return false
}

const filled = (task: TaskDefinition, { policy, defaults }: PlanDefinition): TaskDefinition => ({
  ...task,
  write: task.write ?? policy?.write,
  network: task.network ?? policy?.network,
  timeoutMs: task.timeoutMs ?? defaults?.timeoutMs,
  retry: task.retry ?? defaults?.retry,
})

const CRITERIA = ['accept', 'preconditions', 'postconditions'] as const

const hasChecks = (task: TaskDefinition): boolean =>
  task.expect !== undefined || CRITERIA.some(key => (task[key] ?? []).length > 0)

function looserPolicy(before: PlanDefinition, after: PlanDefinition): string | null {
  const { policy: was = {} } = before
  const { policy: is = {} } = after
  const path = firstWider(was.write, is.write)
  if (path !== null) return `the plan could write more (${path})`
  const seen = firstWider(was.read, is.read)
  if (seen !== null) return `the plan could read more (${seen})`
  const host = reachedBeyond(networkOf(before, {}), networkOf(after, {}))
  if (host !== null) return `the plan could reach more of the network (${host})`
  if (STRICT[is.sandbox ?? 'preferred'] < STRICT[was.sandbox ?? 'preferred'])
    return 'commands would be sandboxed less strictly (policy.sandbox)'
  const limits = (['attempts', 'loops', 'tasks'] as const).some(key => isRaised(was.limits?.[key], is.limits?.[key]))
  const room = (['memoryBytes', 'processes'] as const).find(key => !isKept(was.limits?.[key], is.limits?.[key]))
  if (room !== undefined) return `commands could use more ${room === 'processes' ? room : 'memory'} (policy.limits)`
  if (limits || isDearer(was.budget, is.budget)) return 'the plan would have a larger budget'
  const rule = (['commands', 'data', 'checkpoints', 'onFailure', 'escalate', 'breaker', 'retention'] as const).find(
    key => !same(was[key], is[key]),
  )
  if (rule !== undefined) return `policy.${RULE_KEYS[rule] ?? rule} would change`
  const part = (['recovery', 'git', 'notify'] as const).find(key => !same(before[key], after[key]))
  return part === undefined ? null : `${part} of the plan would change`
}

const STRICT: { readonly [mode in SandboxMode]: number } = { required: 2, preferred: 1, off: 0 }

const RULE_KEYS: { readonly [key: string]: string } = { onFailure: 'on_failure' }

function firstMissing(was: readonly Criterion[] = [], is: readonly Criterion[] = []): string | null {
  const missing = was.find(one => !is.some(other => same(one, other)))
  return missing === undefined ? null : criterionText(missing)
}

const ANYWHERE = 'anywhere'

/** No patterns means everything. */
function firstWider(was: readonly string[] | undefined, is: readonly string[] | undefined): string | null {
  if (was === undefined) return null
  if (is === undefined) return ANYWHERE
  return is.find(pattern => !was.some(outer => isWithin(pattern, outer))) ?? null
}

/** Certainly within: equal, or below a folder with `/**`. */
function isWithin(pattern: string, outer: string): boolean {
  if (pattern === outer || outer === '**') return true
  const folder = /^([^*?]+\/)(?:\*\*)?$/.exec(outer)?.[1]
  return folder !== undefined && pattern.startsWith(folder)
}

const isRaised = (was: number | undefined, is: number | undefined): boolean =>
  was !== undefined && (is === undefined || is > was)

/** Equal or less. Without a value the machine's default applies, which may be less than a new value. */
const isKept = (was: number | undefined, is: number | undefined): boolean =>
  was === is || (was !== undefined && is !== undefined && is < was)

const isDearer = (was: Budget = {}, is: Budget = {}): boolean =>
  isRaised(was.timeMs, is.timeMs) ||
  isRaised(was.tokens, is.tokens) ||
  isRaised(was.calls, is.calls) ||
  isRaised(was.outputBytes, is.outputBytes) ||
  isRaised(was.large?.amount, is.large?.amount) ||
  (was.large !== undefined && was.large.currency !== is.large?.currency) ||
  isRaised(was.attempts, is.attempts) ||
  isRaised(was.cost?.amount, is.cost?.amount) ||
  (was.cost !== undefined && was.cost.currency !== is.cost?.currency)
