// Which plan and task the words on the command line mean, found in operations/find-target.ts; what means nothing is told with the
// command that helps.

import { PLAN_ENDED } from '../domain/status.ts'
import type { Engine } from '../engine/engine.ts'
import {
  type Lookup,
  type LookupOptions,
  lookUpPlan,
  lookUpTaskWords,
  lookUpWords,
  type Missing,
  type PlanOrTask,
  type PlanTarget,
  suggestTargets,
  type TaskTarget,
} from '../operations/find-target.ts'
import { isSessionKnown } from '../operations/session-plans.ts'
import { type CliError, notFound, usage } from './exit.ts'

export async function findPlan(
  engine: Engine,
  word: string | undefined,
  options: LookupOptions = {},
): Promise<PlanTarget> {
  const { plan, name } = await demand(engine, await lookUpPlan(engine, word, options))
  return { plan, name }
}

/** `PLAN TASK`, `TASK` of the only open plan, or a task's UUID. */
export async function findTask(engine: Engine, first: string, second: string | undefined): Promise<TaskTarget> {
  return await demand(engine, await lookUpTaskWords(engine, first, second))
}

/** The same, where the task may be left out. */
export async function findPlanOrTask(
  engine: Engine,
  first: string | undefined,
  second: string | undefined,
  options: LookupOptions = {},
): Promise<PlanOrTask> {
  return await demand(engine, await lookUpWords(engine, first, second, options))
}

export async function demandSession(engine: Engine, session: string, word: string | undefined): Promise<void> {
  if (word !== undefined) throw usage(`'${word}' names a plan, and --session a session`, 'say one of them')
  if (await isSessionKnown(engine, session)) return
  throw notFound(`there is no session '${session}'`, 'a plan says its session in its document: `session: ID`')
}

async function demand<T>(engine: Engine, looked: Lookup<T>): Promise<T> {
  if (looked.ok) return looked.target
  throw await complaintOf(engine, looked.missing)
}

async function complaintOf(engine: Engine, missing: Missing): Promise<CliError> {
  const { near, removedBy } = await suggestTargets(engine, missing)
  const guess = near === null ? null : `did you mean '${near}'?`
  switch (missing.what) {
    case 'plan':
      return notFound(`there is no plan '${missing.reference}'`, guess ?? 'planfold list shows all plans')
    case 'only-plan':
      return whichPlan(missing)
    case 'task': {
      const { plan, reference } = missing
      if (plan === null) return notFound(`there is no task '${reference}'`, 'planfold list shows all plans')
      if (removedBy === null)
        return notFound(
          `plan '${plan.name}' has no task '${reference}'`,
          guess ?? `planfold show ${plan.name} lists its tasks`,
        )
      return notFound(
        `plan '${plan.name}' has no task '${reference}' any more: revision ${removedBy} removed it`,
        `planfold show ${plan.name} ${reference} tells how it stood`,
      )
    }
    case 'task-name':
      return usage(
        `which task of plan '${missing.plan.name}' is meant?`,
        `planfold show ${missing.plan.name} lists them`,
      )
    default:
      return missing satisfies never
  }
}

function whichPlan({ plans }: Extract<Missing, { readonly what: 'only-plan' }>): CliError {
  const [first] = plans
  if (first === undefined)
    return usage('no plan is open here', 'name a plan (`planfold list` shows them), or run one: planfold run plan.yaml')
  const names = plans
    .slice(0, 6)
    .map(row => row.name)
    .join(', ')
  const which = PLAN_ENDED.has(first.status)
    ? `no plan is open, and ${plans.length} have ended`
    : `${plans.length} plans are open`
  return usage(`${which}: ${names}${plans.length > 6 ? ', …' : ''}`, 'say which one is meant')
}
