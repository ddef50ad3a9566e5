// Which plan and which task are meant. Words on the command line are a plan's UUID or name and a task's name, or one task's
// UUID; a plan may be left out where only one is open, and for looking also where only one is there at all.

import type { PlanId, TaskName } from '../domain/id.ts'
import { isTaskName } from '../domain/id.ts'
import { PLAN_ENDED, type PlanStatus } from '../domain/status.ts'
import { suggest } from '../domain/suggest.ts'
import type { Engine } from '../engine/engine.ts'
import type { PlanRow } from '../stores/store.ts'
import { notFound, usage } from './exit.ts'

export interface MeantPlan {
  readonly plan: PlanId
  readonly name: string
}
export interface MeantTask extends MeantPlan {
  readonly task: TaskName
}

export interface MeantOptions {
  /** Only looked at: where no plan is open, the only one there is may have ended. */
  readonly looking?: boolean
  /** The task may be one that a revision took away. */
  readonly removed?: boolean
}

export async function meantPlan(
  engine: Engine,
  word: string | undefined,
  options: MeantOptions = {},
): Promise<MeantPlan> {
  if (word === undefined) return await onlyPlan(engine, options)
  const found = await engine.ask({ type: 'find', reference: word })
  if (found === null) throw await unknownPlan(engine, word)
  return { plan: found.plan, name: found.name }
}

/** A session is there when somebody opened it, or a plan names it. */
export async function meantSession(engine: Engine, session: string, word: string | undefined): Promise<void> {
  if (word !== undefined) throw usage(`'${word}' names a plan, and --session a session`, 'say one of them')
  if ((await engine.sessions.get(session)) !== null) return
  if ((await engine.ask({ type: 'plans', session, limit: 1 })).items.length > 0) return
  throw notFound(`there is no session '${session}'`, 'a plan says its session in its document: `session: ID`')
}

/** `PLAN TASK`, `TASK` of the only open plan, or a task's UUID. */
export async function meantTask(engine: Engine, first: string, second: string | undefined): Promise<MeantTask> {
  const meant = await meantPlanAndTask(engine, first, second)
  if (meant.task === null)
    throw usage(`which task of plan '${meant.name}' is meant?`, `planfold show ${meant.name} lists them`)
  return { ...meant, task: meant.task }
}

/** The same, where the task may be left out. */
export async function meantPlanAndTask(
  engine: Engine,
  first: string | undefined,
  second: string | undefined,
  options: MeantOptions = {},
): Promise<MeantPlan & { readonly task: TaskName | null }> {
  if (first === undefined) return { ...(await onlyPlan(engine, options)), task: null }
  const found = await engine.ask({ type: 'find', reference: first })
  if (second !== undefined) {
    if (found === null) throw await unknownPlan(engine, first)
    return { plan: found.plan, name: found.name, task: await taskOf(engine, found, second, options) }
  }
  if (found !== null) return found
  const some = await plansFor(engine, options)
  const only = some.length === 1 ? some[0] : undefined
  if (only === undefined || !isTaskName(first)) throw await unknownPlan(engine, first)
  const card = await engine.ask({ type: 'task', plan: only.id, task: first })
  if (card === null) throw await unknownPlan(engine, first)
  return { plan: only.id, name: only.name, task: card.name }
}

async function taskOf(engine: Engine, plan: MeantPlan, word: string, options: MeantOptions): Promise<TaskName> {
  const card = await engine.ask({ type: 'task', plan: plan.plan, task: word })
  if (card !== null) return card.name
  const removed = await engine.ask({ type: 'removed', plan: plan.plan, task: word })
  if (removed !== null && options.removed === true) return removed.card.name
  if (removed !== null)
    throw notFound(
      `plan '${plan.name}' has no task '${word}' any more: revision ${removed.revision} removed it`,
      `planfold show ${plan.name} ${word} tells how it stood`,
    )
  const board = (await engine.ask({ type: 'board', plan: plan.plan })) ?? []
  const near = suggest(
    word,
    board.map(each => each.name),
  )
  throw notFound(
    `plan '${plan.name}' has no task '${word}'`,
    near === null ? `planfold show ${plan.name} lists its tasks` : `did you mean '${near}'?`,
  )
}

const OPEN: readonly PlanStatus[] = ['active', 'blocked', 'paused']

/** Plans that are under way, the latest first; drafts count only when nothing else is open. */
export async function openPlans(engine: Engine, limit = 50): Promise<readonly PlanRow[]> {
  const underWay = await plansIn(engine, OPEN, limit)
  return underWay.length > 0 ? underWay : await plansIn(engine, ['draft'], limit)
}

async function plansIn(engine: Engine, statuses: readonly PlanStatus[], limit: number): Promise<readonly PlanRow[]> {
  const pages = await Promise.all(statuses.map(status => engine.ask({ type: 'plans', status, limit })))
  const rows = new Map(pages.flatMap(page => page.items).map(row => [row.id, row]))
  return [...rows.values()].sort((a, b) => b.updatedAt - a.updatedAt)
}

/** Those that are open; for looking, where none is, all that are not archived. */
async function plansFor(engine: Engine, { looking = false }: MeantOptions): Promise<readonly PlanRow[]> {
  const open = await openPlans(engine)
  if (open.length > 0 || !looking) return open
  return (await engine.ask({ type: 'plans', archived: false, limit: 50 })).items
}

async function onlyPlan(engine: Engine, options: MeantOptions): Promise<MeantPlan> {
  const some = await plansFor(engine, options)
  const [first, second] = some
  if (first === undefined)
    throw usage('no plan is open here', 'name a plan (`planfold list` shows them), or run one: planfold run plan.yaml')
  if (second === undefined) return { plan: first.id, name: first.name }
  const names = some
    .slice(0, 6)
    .map(row => row.name)
    .join(', ')
  const which = PLAN_ENDED.has(first.status)
    ? `no plan is open, and ${some.length} have ended`
    : `${some.length} plans are open`
  throw usage(`${which}: ${names}${some.length > 6 ? ', …' : ''}`, 'say which one is meant')
}

async function unknownPlan(engine: Engine, word: string): Promise<Error> {
  const page = await engine.ask({ type: 'plans', limit: 100 })
  const near = suggest(
    word,
    page.items.map(row => row.name),
  )
  return notFound(
    `there is no plan '${word}'`,
    near === null ? 'planfold list shows all plans' : `did you mean '${near}'?`,
  )
}
