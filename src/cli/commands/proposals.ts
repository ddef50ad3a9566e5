// `planfold proposals [PLAN] [ID]`: the revisions that were proposed, what became of each, and what one of them would change.

import { fatesOf } from '../../domain/merge-fate.ts'
import { semanticDiff } from '../../domain/semantic-diff.ts'
import { summarise } from '../../domain/semantic-diff-kinds.ts'
import { fateWords, type ProposalCard } from '../../domain/views/proposals.ts'
import type { Engine } from '../../engine/engine.ts'
import { explainDiff } from '../../format/diff-text.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { ago } from '../elapsed.ts'
import { EXIT, notFound } from '../exit.ts'
import { type MeantPlan, meantPlan } from '../meant.ts'
import { standingsOf } from './revise.ts'

export async function proposals(context: Context, word: string | undefined, id: string | undefined): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const plan = await meantPlan(engine, word, { looking: true })
    if (id !== undefined) return await showProposal(context, engine, plan, id)
    const cards = (await engine.ask({ type: 'proposals', plan: plan.plan })) ?? []
    const items = cards.map(({ definition: _, source: __, ...card }) => card)
    answer(context, { plan: plan.plan, name: plan.name, items }, () =>
      cards.length === 0
        ? `nobody has proposed a revision of ${plan.name}`
        : cards.map(
            card =>
              `${card.id}  ${ago(card.since, context.now())}, by ${escapeForTerminal(card.by)}, for revision ${card.on}: ${escapeForTerminal(card.rationale)}\n  ${statusOf(context, card)}`,
          ),
    )
    return EXIT.done
  })
}

async function showProposal(context: Context, engine: Engine, plan: MeantPlan, id: string): Promise<number> {
  const card = await meantProposal(engine, plan, id)
  const base = await engine.ask({ type: 'definition', plan: plan.plan, revision: card.on })
  if (base === null) throw new Error(`revision ${card.on} of ${plan.plan} has gone`)
  const diff = semanticDiff(base.definition, card.definition)
  const summary = await engine.ask({ type: 'summary', plan: plan.plan })
  const standings = await standingsOf(engine, plan.plan, summary ?? { waiting: [], holder: null })
  const fates = card.fate.status === 'waiting' ? fatesOf(base.definition, card.definition, standings) : []
  const { definition: _, source: __, ...told } = card
  answer(context, { plan: plan.plan, name: plan.name, ...told, summary: summarise(diff), diff, fates }, () => [
    `${context.paint.bold(card.id)} for revision ${card.on} of ${plan.name}, by ${escapeForTerminal(card.by)} ${ago(card.since, context.now())}`,
    `  why      ${escapeForTerminal(card.rationale)}`,
    ...(card.cause === undefined ? [] : [`  because  ${escapeForTerminal(card.cause)}`]),
    `  hash     ${card.hash}`,
    `  ${statusOf(context, card)}`,
    '',
    escapeForTerminal(summarise(diff)),
    '',
    ...escapeForTerminal(explainDiff(diff), { keepLines: true }).split('\n'),
    ...fates.filter(({ fate }) => fate !== 'kept').map(({ task, why }) => `  ${task} ${escapeForTerminal(why)}`),
    ...(card.fate.status === 'waiting'
      ? ['', `planfold accept ${plan.name} ${card.id}   or: planfold decline ${plan.name} ${card.id} -m 'why'`]
      : []),
  ])
  return EXIT.done
}

/** By its id, or by the beginning of it when only one that waits begins so. */
export async function meantProposal(engine: Engine, { plan, name }: MeantPlan, word: string): Promise<ProposalCard> {
  const cards = (await engine.ask({ type: 'proposals', plan })) ?? []
  const exact = cards.findLast(({ id }) => id === word)
  const near = cards.filter(({ id, fate }) => id.startsWith(word) && fate.status === 'waiting')
  const found = exact ?? (near.length === 1 ? near[0] : undefined)
  if (found === undefined)
    throw notFound(`plan '${name}' has no proposal '${word}'`, `planfold proposals ${name} lists them`)
  return found
}

function statusOf({ paint }: Context, card: ProposalCard): string {
  const words = escapeForTerminal(fateWords(card))
  return card.fate.status === 'waiting' ? paint.yellow(words) : paint.dim(words)
}
