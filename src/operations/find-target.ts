// Resolves references to plans and tasks. A plan is named by its UUID or name; a task by its UUID, as `plan:task`, or by its name in a
// plan. Without a plan, the only open one is meant; for reading, also the only plan there is. Permissions are not checked here: the engine
// shows a caller only plans in scope.

import { isTaskName, type PlanId, type TaskName } from '../domain/id.ts'
import { suggest } from '../domain/phrases.ts'
import type { PlanStatus } from '../domain/status.ts'
import type { AnswerOf, Engine } from '../engine/engine.ts'
import type { PlanRow } from '../stores/store.ts'

type Asked = Pick<Engine, 'ask'>

export interface PlanTarget {
  readonly plan: PlanId
  readonly name: string
}
export interface TaskTarget extends PlanTarget {
  readonly task: TaskName
}
/** The task is null if the reference named only a plan. */
export interface PlanOrTask extends PlanTarget {
  readonly task: TaskName | null
}

export type Lookup<T> = { readonly ok: true; readonly target: T } | { readonly ok: false; readonly missing: Missing }

export type Missing =
  | { readonly what: 'plan'; readonly reference: string }
  /** No plan was named, and none or several are open, the latest first; ended ones are included only with `looking`. */
  | { readonly what: 'only-plan'; readonly plans: readonly PlanRow[] }
  /** `plan` is null if none was named. */
  | { readonly what: 'task'; readonly reference: string; readonly plan: PlanTarget | null }
  /** Only a plan was named, and a task is needed. */
  | { readonly what: 'task-name'; readonly plan: PlanTarget }

export interface LookupOptions {
  /** For reading only: if no plan is open, the only one that is not archived is meant. */
  readonly looking?: boolean
  /** The task may be one that a revision removed. */
  readonly removed?: boolean
}

/** The UUID of a task means its plan, and names the task. */
export async function lookUpPlan(
  engine: Asked,
  reference: string | undefined,
  options: LookupOptions = {},
): Promise<Lookup<PlanOrTask>> {
  if (reference === undefined) return await onlyPlan(engine, options)
  const found = await engine.ask({ type: 'find', reference })
  if (found === null) return missing({ what: 'plan', reference })
  return { ok: true, target: { plan: found.plan, name: found.name, task: found.task } }
}

/** A task by name or UUID in a given plan, or else by UUID or as `plan:task`. */
export async function lookUpTask(
  engine: Asked,
  reference: string,
  within: string | undefined,
  options: LookupOptions = {},
): Promise<Lookup<TaskTarget>> {
  if (within !== undefined) {
    const plan = await lookUpPlan(engine, within)
    return plan.ok ? await taskIn(engine, plan.target, reference, options) : plan
  }
  const found = await engine.ask({ type: 'find', reference })
  if (found !== null && found.task !== null) return { ok: true, target: { ...planOf(found), task: found.task } }
  const colon = reference.indexOf(':')
  const named = colon === -1 ? null : await lookUpPlan(engine, reference.slice(0, colon))
  if (named === null || !named.ok) return missing({ what: 'task', reference, plan: null })
  return await taskIn(engine, named.target, reference.slice(colon + 1), options)
}

/** Candidates when no plan is named: by UUID or as `plan:task` at most one, by name one of each open plan that has it. */
export async function openTasksNamed(engine: Asked, reference: string): Promise<readonly TaskTarget[]> {
  const exact = await lookUpTask(engine, reference, undefined)
  if (exact.ok) return [exact.target]
  const looked = await Promise.all(
    (await openPlans(engine)).map(async ({ id, name }) => await taskIn(engine, { plan: id, name }, reference, {})),
  )
  return looked.flatMap(one => (one.ok ? [one.target] : []))
}

/** Arguments of a command: `PLAN`, `PLAN TASK`, `TASK` of the only open plan, a task's UUID, or nothing. */
export async function lookUpWords(
  engine: Asked,
  first: string | undefined,
  second: string | undefined,
  options: LookupOptions = {},
): Promise<Lookup<PlanOrTask>> {
  if (first !== undefined && second !== undefined) return await lookUpTask(engine, second, first, options)
  const named = await lookUpPlan(engine, first, options)
  if (named.ok || first === undefined) return named
  const [only, other] = await plansFor(engine, options)
  if (only === undefined || other !== undefined || !isTaskName(first)) return named
  const card = await engine.ask({ type: 'task', plan: only.id, task: first })
  return card === null ? named : { ok: true, target: { plan: only.id, name: only.name, task: card.name } }
}

export async function lookUpTaskWords(
  engine: Asked,
  first: string,
  second: string | undefined,
): Promise<Lookup<TaskTarget>> {
  const found = await lookUpWords(engine, first, second)
  if (!found.ok) return found
  const { task, ...plan } = found.target
  return task === null ? missing({ what: 'task-name', plan }) : { ok: true, target: { ...plan, task } }
}

/** The name that was probably meant, or the revision that removed the task. */
export interface MissingHelp {
  readonly near: string | null
  readonly removedBy: number | null
}

export async function suggestTargets(engine: Asked, gone: Missing): Promise<MissingHelp> {
  if (gone.what === 'plan') {
    const { items } = await engine.ask({ type: 'plans', limit: 100 })
    return near(gone.reference, items)
  }
  if (gone.what !== 'task' || gone.plan === null) return { near: null, removedBy: null }
  const { plan } = gone.plan
  const removed = await engine.ask({ type: 'removed', plan, task: gone.reference })
  if (removed !== null) return { near: null, removedBy: removed.revision }
  return near(gone.reference, (await engine.ask({ type: 'board', plan })) ?? [])
}

function near(reference: string, items: readonly { readonly name: string }[]): MissingHelp {
  const names = items.map(({ name }) => name)
  return { near: suggest(reference, names), removedBy: null }
}

const OPEN: readonly PlanStatus[] = ['active', 'blocked', 'paused']

/** Active, blocked and paused plans, the latest first; drafts only if there are none, and empty drafts only if all are empty. */
export async function openPlans<T extends PlanList = 'plans'>(
  engine: Asked,
  limit = 50,
  as: T = 'plans' as T,
): Promise<AnswerOf<T>['items']> {
  const underWay = await plansIn(engine, OPEN, limit, as)
  if (underWay.length > 0) return underWay
  const drafts = await plansIn(engine, ['draft'], limit, as)
  const filled = drafts.filter(({ tasks }) => tasks > 0)
  return filled.length > 0 ? filled : drafts
}

/** `overview`: with all columns of a list of plans. */
type PlanList = 'plans' | 'overview'

async function plansIn<T extends PlanList>(
  engine: Asked,
  statuses: readonly PlanStatus[],
  limit: number,
  as: T,
): Promise<AnswerOf<T>['items']> {
  const pages = await Promise.all(statuses.map(status => engine.ask({ type: as as 'plans', status, limit })))
  const rows = new Map((pages.flatMap(page => page.items) as PlanRow[]).map(row => [row.id, row]))
  return [...rows.values()].sort((a, b) => b.updatedAt - a.updatedAt) as AnswerOf<T>['items']
}

/** Open plans; for reading, if there are none, all that are not archived. */
async function plansFor(engine: Asked, { looking = false }: LookupOptions): Promise<readonly PlanRow[]> {
  const open = await openPlans(engine)
  if (open.length > 0 || !looking) return open
  return (await engine.ask({ type: 'plans', archived: false, limit: 50 })).items
}

async function onlyPlan(engine: Asked, options: LookupOptions): Promise<Lookup<PlanOrTask>> {
  const plans = await plansFor(engine, options)
  const [only, other] = plans
  if (only === undefined || other !== undefined) return missing({ what: 'only-plan', plans })
  return { ok: true, target: { plan: only.id, name: only.name, task: null } }
}

async function taskIn(
  engine: Asked,
  found: PlanTarget,
  reference: string,
  options: LookupOptions,
): Promise<Lookup<TaskTarget>> {
  const plan = planOf(found)
  const card = await engine.ask({ type: 'task', plan: plan.plan, task: reference })
  if (card !== null) return { ok: true, target: { ...plan, task: card.name } }
  const removed =
    options.removed === true ? await engine.ask({ type: 'removed', plan: plan.plan, task: reference }) : null
  if (removed === null) return missing({ what: 'task', reference, plan })
  return { ok: true, target: { ...plan, task: removed.card.name } }
}

const planOf = ({ plan, name }: PlanTarget): PlanTarget => ({ plan, name })
const missing = (gone: Missing): { readonly ok: false; readonly missing: Missing } => ({ ok: false, missing: gone })
