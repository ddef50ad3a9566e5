// `planfold review [PLAN]`: everything that asks for approval in the open window, looked at together and decided together, in one entry:
// all of it, or none.

import type { Composed } from '../../compose.ts'
import type { PlanId } from '../../domain/id.ts'
import type { OpenReview } from '../../engine/engine.ts'
import { answer, remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { elapsed } from '../elapsed.ts'
import { Complaint, EXIT, refused, usage } from '../exit.ts'
import { inboxLines } from '../inbox-words.ts'
import { meantPlan } from '../meant.ts'
import { remarkHowToGoOn, toldAs } from '../order.ts'

export interface ReviewOptions {
  readonly approve?: boolean
  readonly reject?: boolean
  readonly message?: string
  /** Of the review as it was seen. */
  readonly hash?: string
}

export async function review(context: Context, word: string | undefined, options: ReviewOptions): Promise<number> {
  if (options.approve === true && options.reject === true)
    throw usage('--approve and --reject contradict each other', 'say one of them')
  if (options.reject === true && (options.message ?? '').trim() === '')
    throw usage('to reject it, say why', "add -m 'why'")
  return await withState(context, { create: false }, async composed => {
    const { plan, name } = await meantPlan(composed.engine, word)
    const [open, ...later] = (await composed.engine.ask({ type: 'reviews', plan })) ?? []
    if (options.approve !== true && options.reject !== true) {
      await show(context, composed, name, open, later.length)
      return EXIT.done
    }
    if (open === undefined)
      throw new Complaint(EXIT.refused, 'not-ready', `nothing of '${name}' asks for approval`, 'see `planfold inbox`')
    if (options.hash !== undefined && (options.hash.length < HASH_MIN || !open.hash.startsWith(options.hash)))
      throw new Complaint(
        EXIT.refused,
        'conflict',
        'the review is not the one that was seen',
        `look at it again: planfold review ${name}`,
      )
    return await decide(context, composed, plan, open, options)
  })
}

const HASH_MIN = 8

async function show(
  context: Context,
  { engine }: Composed,
  name: string,
  open: OpenReview | undefined,
  later: number,
): Promise<void> {
  const now = context.now()
  const { consentLines } = await import('../consent-lines.ts')
  const shown = await Promise.all(
    (open?.items ?? []).map(async item => await consentLines(context, engine, item, { all: true, short: true })),
  )
  answer(context, { review: open ?? null, later }, () =>
    open === undefined
      ? ['nothing asks for approval']
      : [
          ...open.items.flatMap((item, at) => [...inboxLines(item, now, context.paint, shown[at]), '']),
          `${open.items.length} in this review ${open.hash.slice(0, 12)}${windowWords(open, now)}`,
          ...(later === 0 ? [] : [`${later} more after it`]),
        ],
  )
  if (open !== undefined)
    remark(
      context,
      `decide about all of it: planfold review ${name} --approve -m 'why' --hash ${open.hash.slice(0, 12)}, or --reject`,
    )
}

function windowWords({ closesAt, closed }: OpenReview, now: number): string {
  if (closesAt === null || closed) return ''
  return `; more may join for ${elapsed(closesAt - now)}`
}

async function decide(
  context: Context,
  composed: Composed,
  plan: PlanId,
  { items }: OpenReview,
  { approve, message = '' }: ReviewOptions,
): Promise<number> {
  const verdict = approve === true ? ('approved' as const) : ('rejected' as const)
  const decisions = items.map(({ task, asks }) => {
    const on = 'on' in asks ? asks.on : null
    return { task: task!, verdict, rationale: message, ...(on === null ? {} : { hash: on }) }
  })
  const submitted = await composed.engine.submit(plan, { type: 'review', decisions }, composed.actor, {
    expectedVersion: items[0]!.version,
  })
  if (!submitted.ok && submitted.refusal.code === 'conflict')
    throw new Complaint(EXIT.refused, 'conflict', 'the plan has moved meanwhile; nothing was decided', 'look again')
  if (!submitted.ok) throw refused(submitted.refusal)
  toldAs(context, submitted)
  await remarkHowToGoOn(context, composed, plan)
  return EXIT.done
}
