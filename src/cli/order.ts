// Hands an order to the engine and tells what then happened; a refusal becomes a complaint.

import type { Composed } from '../compose.ts'
import type { PlanId } from '../domain/id.ts'
import { sentence, toldOf } from '../domain/views/timeline.ts'
import type { Order, Submitted } from '../engine/engine.ts'
import { escapeForTerminal } from '../safety/terminal.ts'
import { answer, remark } from './answer.ts'
import type { Context } from './context.ts'
import { refused } from './exit.ts'

export type Accepted = Extract<Submitted, { readonly ok: true }>

export async function submit(composed: Composed, plan: string | null, order: Order): Promise<Accepted> {
  const submitted = await composed.engine.submit(plan, order, composed.actor)
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
      : toldOf(events).map(event => escapeForTerminal(sentence(event, name))),
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
