// How commands name a plan and a task, order something and tell what came of it; and the answer to a gate, given with one command.

import type { Composed } from '../compose.ts'
import { isTaskName, type PlanId, type Sha256, type TaskName } from '../domain/id.ts'
import { suggest } from '../domain/phrases.ts'
import { PLAN_ENDED, type PlanStatus } from '../domain/status.ts'
import type { Waiting } from '../domain/views/summary.ts'
import { sentence, toldOf } from '../domain/views/timeline.ts'
import type { Engine, Order, Submitted } from '../engine/engine.ts'
import { escapeForTerminal } from '../safety/text/terminal.ts'
import type { PlanRow } from '../stores/store.ts'
import { answer, remark } from './answer.ts'
import { type Context, withState } from './context.ts'
import { Complaint, EXIT, notFound, refused, usage } from './exit.ts'
import { wordsFor } from './text/hint-text.ts'

// Which plan and which task are meant. Words on the command line are a plan's UUID or name and a task's name, or one task's
// UUID; a plan may be left out where only one is open, and for looking also where only one is there at all.

export interface MeantPlan {
  readonly plan: PlanId
  readonly name: string
}
interface MeantTask extends MeantPlan {
  readonly task: TaskName
}

interface MeantOptions {
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

// Hands an order to the engine and tells what then happened; a refusal becomes a complaint.

export type Accepted = Extract<Submitted, { readonly ok: true }>

export async function submit(composed: Composed, plan: string | null, order: Order): Promise<Accepted> {
  const submitted = await composed.engine.submit(plan, order)
  if (!submitted.ok) throw refused(submitted.refusal)
  return submitted
}

/** Submits and answers with the events as sentences, then says how to go on when nobody drives the plan. */
export async function orderAndTell(
  context: Context,
  composed: Composed,
  plan: string,
  order: Order,
): Promise<Accepted> {
  const accepted = await submit(composed, plan, order)
  toldAs(context, accepted)
  await remarkHowToGoOn(context, composed, accepted.plan)
  return accepted
}

/** Where nobody drives the plan, whoever changed it tells whom the plan says, as long as that does not take too long. */
export async function tellPeople({ worker }: Composed, plan: PlanId): Promise<void> {
  // What was ordered has happened; whoever drives the plan next tells what could not be told now.
  await worker.tell(plan, { stop: AbortSignal.timeout(TELL_MAX_MS) }).catch(() => {})
}

const TELL_MAX_MS = 15_000

/** What happened, as sentences. */
export function toldAs(context: Context, { plan, name, version, events, claim }: Accepted): void {
  answer(context, { plan, name, version, events, ...(claim === undefined ? {} : { claim }) }, () =>
    events.length === 0
      ? 'nothing changed: it is so already'
      : toldOf(events).map(event => escapeForTerminal(sentence(event, wordsFor(name)))),
  )
}

export async function remarkHowToGoOn(context: Context, composed: Composed, plan: PlanId): Promise<void> {
  await tellPeople(composed, plan)
  if (context.settings.json || context.settings.quiet) return
  const summary = await composed.engine.ask({ type: 'summary', plan })
  if (summary === null || summary.status !== 'active' || summary.holder?.alive === true) return
  const { ready, running } = summary.progress.counts
  if (ready + running > summary.claimable || summary.rollback !== undefined)
    remark(context, `nobody drives the plan now; go on with: planfold resume ${summary.name}`)
}

// An answer to what a task asks, given with one command. It is bound to what the gate asked when it was looked at: when it asks
// about something else by then, the answer is refused.

export interface GateOptions {
  readonly message?: string
  /** Of what was looked at; its first eight digits will do. */
  readonly hash?: string
}

type Answering = Omit<Extract<Order, { readonly type: 'decide' }>, 'type' | 'task' | 'rationale' | 'hash'>

/** `answer` says what is answered, knowing what is asked; null when the task asks nothing, which is then refused. */
export async function answerGate(
  context: Context,
  first: string,
  second: string | undefined,
  options: GateOptions,
  answer: (waiting: Waiting | null, composed: Composed, meant: MeantTask) => Answering | Promise<Answering>,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const meant = await meantTask(composed.engine, first, second)
    const { plan, task } = meant
    const summary = await composed.engine.ask({ type: 'summary', plan })
    const waiting = summary?.waiting.find(each => each.task === task) ?? null
    const hash = hashOf(waiting, options.hash)
    await orderAndTell(context, composed, plan, {
      type: 'decide',
      task,
      rationale: options.message ?? '',
      ...(hash === undefined ? {} : { hash }),
      ...(await answer(waiting, composed, meant)),
    })
    return EXIT.done
  })
}

const HASH_MIN = 8

function hashOf(waiting: Waiting | null, seen: string | undefined): Sha256 | undefined {
  const hash = waiting?.hash
  if (seen === undefined || (seen.length >= HASH_MIN && hash?.startsWith(seen.toLowerCase()) === true)) return hash
  throw new Complaint(
    EXIT.refused,
    'conflict',
    hash === undefined
      ? 'it is bound to no hash'
      : `it asks about ${hash.slice(0, 12)}, not about ${seen.slice(0, 12)}`,
    'look at it again with `planfold inbox`, then decide; nothing was changed',
  )
}
