// Finds the plan and task that the words on the command line name (operations/find-target.ts). An error names the command that helps.

import { PLAN_ENDED } from '../domain/status.ts'
import type { Engine } from '../engine/engine.ts'
import {
  type Lookup,
  type LookupOptions,
  lookUpPlan,
  lookUpTaskWords,
  lookUpWords,
  type Missing,
  openPlans,
  openTasksNamed,
  type PlanOrTask,
  type PlanTarget,
  suggestTargets,
  type TaskTarget,
} from '../operations/find-target.ts'
import { isSessionKnown } from '../operations/session-plans.ts'
import type { PlanRow } from '../stores/store.ts'
import { type CliError, notFound, usage } from './exit.ts'

/** `all`: the command for all unfinished plans; part of the hint if there are several and none is named. */
export async function findPlan(
  engine: Engine,
  word: string | undefined,
  { all, ...options }: LookupOptions & { readonly all?: string } = {},
): Promise<PlanTarget> {
  const looked = await lookUpPlan(engine, word, options)
  if (!looked.ok && looked.missing.what === 'only-plan') throw await whichPlan(engine, looked.missing, all)
  const { plan, name } = await demandTarget(engine, looked)
  return { plan, name }
}

/** `PLAN TASK`, `TASK` of the only open plan, or a task's UUID. `noun` is what an error calls it. */
export async function findTask(
  engine: Engine,
  first: string,
  second: string | undefined,
  noun = 'task',
): Promise<TaskTarget> {
  const looked = await lookUpTaskWords(engine, first, second)
  if (second === undefined) await demandPlanOfTask(engine, looked)
  return await demandTarget(engine, looked, noun)
}

export async function findPlanOrTask(
  engine: Engine,
  first: string | undefined,
  second: string | undefined,
  options: LookupOptions = {},
): Promise<PlanOrTask> {
  const looked = await lookUpWords(engine, first, second, options)
  if (second === undefined) await demandPlanOfTask(engine, looked)
  return await demandTarget(engine, looked)
}

/** One word that is no plan, but a task of unfinished ones: with several of them, the plan must be written too. */
async function demandPlanOfTask(engine: Engine, looked: Lookup<unknown>): Promise<void> {
  if (looked.ok || looked.missing.what !== 'plan') return
  const { reference } = looked.missing
  const tasks = await openTasksNamed(engine, reference)
  const [first] = tasks
  if (first === undefined) return
  const names = tasks.slice(0, 6).map(({ name }) => name)
  const unfinished = (await openPlans(engine)).length
  throw usage(
    `${unfinished} plans are unfinished, and '${reference}' is a task of ${names.join(', ')}${tasks.length > 6 ? ', …' : ''}`,
    `write the plan before the task: ${first.name} ${reference}`,
  )
}

export async function demandSession(engine: Engine, session: string, word: string | undefined): Promise<void> {
  if (word !== undefined) throw usage(`a plan ('${word}') and --session cannot be used together`, 'use one of them')
  if (await isSessionKnown(engine, session)) return
  throw notFound(`there is no session '${session}'`, 'a plan names its session in its file: `session: ID`')
}

export async function demandTarget<T>(engine: Engine, looked: Lookup<T>, noun = 'task'): Promise<T> {
  if (looked.ok) return looked.target
  throw await complaintOf(engine, looked.missing, noun)
}

async function complaintOf(engine: Engine, missing: Missing, noun: string): Promise<CliError> {
  const { near, removedBy } = await suggestTargets(engine, missing)
  const guess = near === null ? null : `did you mean '${near}'?`
  switch (missing.what) {
    case 'plan':
      return notFound(`there is no plan '${missing.reference}'`, guess ?? 'planfold list shows all plans')
    case 'only-plan':
      return await whichPlan(engine, missing)
    case 'task': {
      const { plan, reference } = missing
      if (plan === null) return notFound(`there is no task '${reference}'`, 'planfold list shows all plans')
      if (removedBy === null)
        return notFound(
          `plan '${plan.name}' has no ${noun} '${reference}'`,
          noun === 'task'
            ? (guess ?? `planfold show ${plan.name} lists its tasks`)
            : 'planfold inbox lists all questions',
        )
      return notFound(
        `plan '${plan.name}' has no task '${reference}' any more: revision ${removedBy} removed it`,
        `planfold show ${plan.name} ${reference} shows its last state`,
      )
    }
    case 'task-name':
      return usage(
        `no task named; '${missing.plan.name}' is a plan`,
        `name one of its tasks: planfold show ${missing.plan.name}`,
      )
    default:
      return missing satisfies never
  }
}

async function whichPlan(
  engine: Engine,
  { plans }: Extract<Missing, { readonly what: 'only-plan' }>,
  all?: string,
): Promise<CliError> {
  const [first] = plans
  if (first === undefined) {
    const last = await lastFinished(engine)
    return usage(
      'no unfinished plan here',
      last?.status === 'failed'
        ? `the last one failed. Next: planfold run ${last.name}`
        : 'name a plan (`planfold list` shows them), or run one: planfold run plan.yaml',
    )
  }
  const names = plans
    .slice(0, 6)
    .map(row => row.name)
    .join(', ')
  const which = PLAN_ENDED.has(first.status)
    ? `no unfinished plan, and ${plans.length} finished ones`
    : `${plans.length} unfinished plans`
  return usage(
    `${which}: ${names}${plans.length > 6 ? ', …' : ''}`,
    `name one, for example '${first.name}'${all === undefined ? '' : `, or take all: ${all}`}`,
  )
}

async function lastFinished(engine: Engine): Promise<PlanRow | null> {
  const { items } = await engine.ask({ type: 'plans', archived: false, limit: 50 })
  const finished = items.filter(({ endedAt }) => endedAt !== null).toSorted((a, b) => b.endedAt! - a.endedAt!)
  return finished[0] ?? null
}
