// Rules for when things go wrong, put into a drawn plan: alternates, repairs, questions and aborts, breakers and caps. Drawn apart
// from the plan itself, so that a seed which once found a bug still draws the plan that showed it.

import type { TaskName } from '../src/domain/id.ts'
import type { EffectClass, Policy, Recovery, RecoveryRule, TaskDefinition } from '../src/domain/plan.ts'
import type { Random } from './random.ts'
import type { Script, Workload } from './workload.ts'

const HELPERS: readonly TaskName[] = ['help1', 'help2'] as TaskName[]

export function drawRecovery(workload: Workload, luck: Random): Workload {
  if (!luck.chance(0.45)) return workload
  const scripts = new Map<TaskName, Script>(workload.scripts)
  const tasks = workload.definition.tasks.map((task): TaskDefinition => {
    if (task.action.type === 'decide' || !luck.chance(0.5)) return task
    const script = scripts.get(task.id)
    if (script !== undefined && luck.chance(0.6)) scripts.set(task.id, { ...script, failRate: luck.pick([0.2, 0.5]) })
    return {
      ...task,
      recover: Array.from({ length: luck.between(1, 2) }, () => drawRule(luck)),
      ...(luck.chance(0.4) ? { capabilities: ['net'] } : {}),
      ...(luck.chance(0.2) ? { timeboxMs: luck.pick([5_000, 60_000]) } : {}),
    }
  })
  const helpers = HELPERS.map((id): TaskDefinition => {
    scripts.set(id, { leastMs: 10, mostMs: 2_000, failRate: luck.pick([0, 0.3]) })
    return {
      id,
      action: { type: 'run', command: { argv: ['work', id] } },
      effect: luck.pick<EffectClass>(['pure', 'idempotent', 'unsafe']),
    }
  })
  const policy: Policy = {
    ...workload.definition.policy,
    ...(luck.chance(0.5) ? { breaker: { failures: 2, cooldownMs: luck.pick([2_000, 30_000]) } } : {}),
    ...(luck.chance(0.2) ? { limits: { attempts: luck.between(5, 60), loops: luck.between(1, 6) } } : {}),
  }
  return { ...workload, scripts, definition: { ...workload.definition, policy, tasks: [...tasks, ...helpers] } }
}

function drawRule(luck: Random): RecoveryRule {
  const helper = luck.pick(HELPERS)
  const way = luck.pick<Recovery>([
    { type: 'alternate', task: helper },
    { type: 'alternate', task: helper },
    { type: 'repair', task: helper },
    { type: 'repair', task: helper },
    { type: 'retry', retry: { attempts: luck.between(2, 4), backoffMs: { min: 100, max: 1_000 } } },
    { type: 'ask' },
    { type: 'replan' },
    { type: 'abort' },
  ])
  return {
    do: way,
    ...(luck.chance(0.4) ? { on: [luck.pick(['transient', 'logic'])] } : {}),
    ...(luck.chance(0.3) ? { times: 2 } : {}),
  }
}
