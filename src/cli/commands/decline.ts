// `planfold accept PLAN ID` and `planfold decline PLAN ID`: what becomes of a proposed revision. Whoever decides agrees to the hash
// they were shown; when the plan has become another one meanwhile, nothing happens.

import type { Engine } from '../../engine/engine.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT, notFound, usage } from '../exit.ts'
import { meantPlan } from '../meant.ts'
import { remarkHowToGoOn, submit } from '../order.ts'
import { meantProposal } from './proposals.ts'

export interface JudgeOptions {
  readonly message?: string
  /** Of what was looked at. */
  readonly hash?: string
}

export const accept = (context: Context, plan: string, id: string | undefined, options: JudgeOptions) =>
  decide(context, plan, id, 'accepted', options)

export const decline = (context: Context, plan: string, id: string | undefined, options: JudgeOptions) =>
  decide(context, plan, id, 'declined', options)

async function decide(
  context: Context,
  first: string,
  second: string | undefined,
  verdict: 'accepted' | 'declined',
  options: JudgeOptions,
): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { engine } = composed
    const { plan, card } = await meant(engine, first, second)
    if (options.hash !== undefined && !card.hash.startsWith(options.hash))
      throw usage(`proposal ${card.id} has the hash ${card.hash}`, 'look at it again, then decide')
    const { events, version } = await submit(composed, plan.plan, {
      type: 'judge',
      id: card.id,
      hash: card.hash,
      verdict,
      rationale: options.message ?? '',
    })
    const revised = events.find(event => event.type === 'plan.revised')
    const { id, hash } = card
    answer(context, { plan: plan.plan, name: plan.name, version, id, hash, verdict, events }, () =>
      revised === undefined
        ? `${id} is declined; ${plan.name} stays as it is`
        : `${plan.name} is now revision ${revised.revision}: ${escapeForTerminal(revised.rationale)}`,
    )
    if (revised !== undefined) await remarkHowToGoOn(context, composed, plan.plan)
    return EXIT.done
  })
}

/** `PLAN ID`, `ID` of the only open plan, or `PLAN` when one proposal for it waits. */
async function meant(engine: Engine, first: string, second: string | undefined) {
  const found = second === undefined ? await engine.ask({ type: 'find', reference: first }) : null
  if (found === null) {
    const plan = await meantPlan(engine, second === undefined ? undefined : first)
    return { plan, card: await meantProposal(engine, plan, second ?? first) }
  }
  const { plan, name } = found
  const cards = (await engine.ask({ type: 'proposals', plan })) ?? []
  const open = cards.filter(({ fate }) => fate.status === 'waiting')
  const [card, other] = open
  if (card === undefined)
    throw notFound(`no proposal for '${name}' waits for a decision`, `planfold proposals ${name} lists them all`)
  if (other !== undefined)
    throw usage(
      `${open.length} proposals for '${name}' wait: ${open.map(({ id }) => id).join(', ')}`,
      `say which: planfold proposals ${name} tells what each would change`,
    )
  return { plan: { plan, name }, card }
}
