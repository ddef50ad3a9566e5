// How commands name a plan and a task, order something and tell what came of it; and the answer to a gate, given with one command.

import type { Composed } from '../compose.ts'
import type { PlanId, Sha256 } from '../domain/id.ts'
import type { Waiting } from '../domain/views/summary.ts'
import { sentence, toldOf } from '../domain/views/timeline.ts'
import type { Order, Submitted } from '../engine/engine.ts'
import type { TaskTarget } from '../operations/find-target.ts'
import { escapeForTerminal } from '../safety/text/terminal.ts'
import { answer, remark } from './answer.ts'
import { type Context, withState } from './context.ts'
import { Complaint, EXIT, refused } from './exit.ts'
import { findTask } from './find-target.ts'
import { wordsFor } from './text/hint-text.ts'

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
  answer: (waiting: Waiting | null, composed: Composed, meant: TaskTarget) => Answering | Promise<Answering>,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const meant = await findTask(composed.engine, first, second)
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
