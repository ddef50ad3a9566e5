// How commands name a plan and a task, order something and tell what came of it; and the answer to a gate, given with one command.

import type { Composed } from '../compose.ts'
import type { PlanId } from '../domain/id.ts'
import { sentence, visibleEvents } from '../domain/views/timeline.ts'

import type { Order, Submitted } from '../engine/engine.ts'
import { decideGate, type GateAnswer } from '../operations/decide-gate.ts'
import type { TaskTarget } from '../operations/find-target.ts'
import { escapeForTerminal } from '../safety/text/terminal.ts'
import { answer, printNote } from './answer.ts'
import { type Context, withState } from './context.ts'
import { CliError, EXIT, refused } from './exit.ts'
import { findTask } from './find-target.ts'
import { wordsFor } from './text/hint-text.ts'
import { addBudgetOrCancel, retryCommand } from './text/run-summary.ts'

export type Accepted = Extract<Submitted, { readonly ok: true }>

export async function submit(composed: Composed, plan: string | null, order: Order): Promise<Accepted> {
  const submitted = await composed.engine.submit(plan, order)
  if (!submitted.ok) throw refused(submitted.refusal)
  return submitted
}

export async function orderAndTell(
  context: Context,
  composed: Composed,
  plan: string,
  order: Order,
): Promise<Accepted> {
  const accepted = await submit(composed, plan, order)
  printAccepted(context, accepted)
  await remarkHowToGoOn(context, composed, accepted.plan)
  return accepted
}

/** If no process drives the plan, this one sends its notifications, within a time limit. */
export async function sendNotifications({ worker }: Composed, plan: PlanId): Promise<void> {
  // The order is carried out; the next process that drives the plan sends what could not be sent now.
  await worker.tell(plan, { stop: AbortSignal.timeout(TELL_MAX_MS) }).catch(() => {})
}

const TELL_MAX_MS = 15_000

export function printAccepted(context: Context, accepted: Accepted, unchanged?: string): void {
  const { plan, name, version, events, claim } = accepted
  const data = { plan, name, version, events, claim }
  answer(context, data, () => (events.length === 0 && unchanged !== undefined ? unchanged : acceptedLines(accepted)))
}

export const acceptedLines = ({ name, events }: Accepted): string | readonly string[] =>
  events.length === 0
    ? 'no changes'
    : visibleEvents(events).map(event =>
        // An order starts no process: the plan continues when it is run.
        event.type === 'plan.resumed'
          ? 'the plan can be resumed now'
          : escapeForTerminal(sentence(event, wordsFor(name))),
      )

export async function remarkHowToGoOn(context: Context, composed: Composed, plan: PlanId): Promise<void> {
  await sendNotifications(composed, plan)
  if (context.settings.json || context.settings.quiet) return
  const summary = await composed.engine.ask({ type: 'summary', plan })
  if (summary === null || summary.holder?.alive === true) return
  const retry = summary.status === 'failed' ? retryCommand(summary) : null
  if (retry !== null) printNote(context, `Next: ${retry}, or fix the plan file and run it again`)
  const more = addBudgetOrCancel(summary)
  if (more !== null) printNote(context, `Next: ${more}`)
  if (summary.status !== 'active') return
  const { ready, running } = summary.progress.counts
  const isLeft = summary.claimable + running + summary.waiting.length === 0 && summary.asked === undefined
  if (ready + running > summary.claimable || summary.rollback !== undefined || isLeft)
    printNote(context, `Next: planfold resume ${summary.name}`)
  else if (summary.claimable > 0) printNote(context, `Next: planfold claim ${summary.name}`)
}

// An answer to what a task asks, given with one command. It is bound to what the gate asked when it was looked at: when it asks
// about something else by then, the answer is refused.

export interface GateOptions {
  readonly message?: string
  readonly hash?: string
}

export async function answerGate(
  context: Context,
  first: string,
  second: string | undefined,
  options: GateOptions,
  answer: (composed: Composed, target: TaskTarget) => Answering | Promise<Answering>,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const target = await findTask(composed.engine, first, second)
    const given = await answer(composed, target)
    // Without a hash we cannot know what the person looked at.
    const isUnseen = given.verdict === 'approved' && options.hash === undefined
    const said = { rationale: options.message ?? '', ...given, ...(isUnseen && { unseen: true as const }) }
    const done = await decideGate(composed.engine, target, said, { hash: options.hash, bind: true })
    if (done.status === 'refused') throw (await interrupted(composed, target)) ?? refused(done.refusal)
    if (done.status === 'other-hash') throw otherHash(done.on, options.hash ?? '')
    printAccepted(context, done.accepted)
    await remarkHowToGoOn(context, composed, target.plan)
    return EXIT.done
  })
}

/** Its process died unnoticed: what the task then asks is known after a resume. Null when that is not so. */
async function interrupted({ engine }: Composed, { plan, name, task }: TaskTarget): Promise<CliError | null> {
  const card = await engine.ask({ type: 'task', plan, task })
  const summary = await engine.ask({ type: 'summary', plan })
  if (card?.status !== 'running' || card.claimedBy !== null || summary?.holder?.alive === true) return null
  return new CliError(
    EXIT.refused,
    'not-ready',
    `'${task}' was running when the process died, and waits for no decision yet`,
    `planfold resume ${name}`,
  )
}

type Answering = Omit<GateAnswer, 'rationale'>

const otherHash = (on: string | null, seen: string): CliError =>
  new CliError(
    EXIT.refused,
    'conflict',
    on === null
      ? 'this request has no hash, so there is nothing to compare with --hash'
      : `the request has the hash ${on.slice(0, 12)}, not ${seen.slice(0, 12)}: it asks about something else`,
    on === null
      ? 'look at it with `planfold inbox`, then decide without --hash; nothing was changed'
      : 'look at it again with `planfold inbox`, then decide; nothing was changed',
  )
