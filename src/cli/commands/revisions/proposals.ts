// Proposed revisions: `planfold revise --propose`, `planfold inbox proposals`, and what `approve` and `reject` do with one.

import type { Composed } from '../../../compose.ts'
import type { PlanId, TaskName } from '../../../domain/id.ts'
import { rewrittenTasks } from '../../../domain/plan-rules/authors.ts'
import { fatesOf, type MergeMode } from '../../../domain/revisions/merge.ts'
import { semanticDiff, summarise } from '../../../domain/revisions/semantic-diff.ts'
import { fateWords, type ProposalCard } from '../../../domain/views/proposals.ts'
import type { Engine, Order } from '../../../engine/engine.ts'
import { explainDiff } from '../../../format/plan/diff-text.ts'
import { lookUpTaskWords, openPlans, type PlanTarget } from '../../../operations/find-target.ts'
import { type CurrentPlan, type PreparedRevision, readCurrentPlan } from '../../../operations/revise-plan.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, declined, EXIT, notFound, printNote, usage, withState } from '../../command.ts'
import { findPlan, findTask } from '../../find-target.ts'
import { type GateOptions, remarkHowToGoOn, sendNotifications, submit } from '../../order.ts'
import { askYesNo } from '../../terminal/confirm.ts'
import { ago } from '../../terminal/elapsed-time.ts'
import { printDiagnostics } from '../../text/diagnostics.ts'
import { shownCommands } from '../../text/shown-commands.ts'
import { changeLines, currentOf, prepare, readRevisionFile, writtenAs } from './revise.ts'

export async function proposals(context: Context, word: string | undefined, id: string | undefined): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const plan = await findPlan(engine, word, { looking: true })
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

async function showProposal(context: Context, engine: Engine, plan: PlanTarget, id: string): Promise<number> {
  const card = await findProposal(engine, plan, id)
  const base = await engine.ask({ type: 'definition', plan: plan.plan, revision: card.on })
  if (base === null) throw new Error(`revision ${card.on} of ${plan.plan} has gone`)
  const diff = semanticDiff(base.definition, card.definition)
  const current = card.fate.status === 'waiting' ? await readCurrentPlan(engine, plan.plan) : null
  const fates = current === null ? [] : fatesOf(base.definition, card.definition, current.standings)
  const rewritten = rewrittenTasks(base.definition, card.definition)
  const runs = shownCommands(card.definition, task => rewritten.includes(task)).lines
  const { definition: _, source: __, ...shown } = card
  answer(context, { plan: plan.plan, name: plan.name, ...shown, summary: summarise(diff), diff, fates }, () => [
    `${context.paint.bold(card.id)} for revision ${card.on} of ${plan.name}, by ${escapeForTerminal(card.by)} ${ago(card.since, context.now())}`,
    `  why      ${escapeForTerminal(card.rationale)}`,
    ...(card.cause === undefined ? [] : [`  because  ${escapeForTerminal(card.cause)}`]),
    `  hash     ${card.hash}`,
    `  ${statusOf(context, card)}`,
    '',
    escapeForTerminal(summarise(diff)),
    '',
    ...escapeForTerminal(explainDiff(diff), { keepLines: true }).split('\n'),
    ...(runs.length === 0 ? [] : ['', 'it would run:', ...runs.map(line => `  ${escapeForTerminal(line)}`), '']),
    ...fates.filter(({ fate }) => fate !== 'kept').map(({ task, why }) => `  ${task} ${escapeForTerminal(why)}`),
    ...(card.fate.status === 'waiting'
      ? ['', `planfold approve ${plan.name} ${card.id}   or: planfold reject ${plan.name} ${card.id} -m 'why'`]
      : []),
  ])
  return EXIT.done
}

/** By its id, or by the beginning of it when only one that waits begins so. */
export async function findProposal(engine: Engine, { plan, name }: PlanTarget, word: string): Promise<ProposalCard> {
  const cards = (await engine.ask({ type: 'proposals', plan })) ?? []
  const exact = cards.findLast(({ id }) => id === word)
  const near = cards.filter(({ id, fate }) => id.startsWith(word) && fate.status === 'waiting')
  const found = exact ?? (near.length === 1 ? near[0] : undefined)
  if (found === undefined)
    throw notFound(`plan '${name}' has no proposal '${word}'`, `planfold inbox proposals ${name} lists them`)
  return found
}

function statusOf({ paint }: Context, card: ProposalCard): string {
  const words = escapeForTerminal(fateWords(card))
  return card.fate.status === 'waiting' ? paint.yellow(words) : paint.dim(words)
}

// `planfold approve PLAN ID` and `planfold reject PLAN ID`: the decision is bound to the hash of the proposal that was shown; if the
// plan has changed meanwhile, nothing happens.

/** Null if the words name no proposal. A task takes precedence over a proposal. */
export async function decideProposal(
  context: Context,
  first: string,
  second: string | undefined,
  verdict: 'accepted' | 'declined',
  options: GateOptions,
): Promise<number | null> {
  return await withState(context, { create: false }, async composed => {
    const { engine } = composed
    if ((await lookUpTaskWords(engine, first, second)).ok || !(await isProposal(engine, first, second))) return null
    if (verdict === 'declined' && options.message === undefined)
      throw usage('to decline a proposal, say why', "add -m 'why'")
    const { plan, card } = await resolveProposal(engine, first, second)
    if (options.hash !== undefined && !card.hash.startsWith(options.hash))
      throw usage(`proposal ${card.id} has the hash ${card.hash}`, 'look at it again, then decide')
    const shown = verdict === 'accepted' ? await showCommands(context, engine, plan.plan, card) : {}
    const { events, version } = await submit(composed, plan.plan, {
      type: 'judge',
      ...shown,
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

/** At a terminal the person is shown what the proposal would run before they agree: then it is their own. Elsewhere it stays in the sandbox. */
async function showCommands(
  context: Context,
  engine: Engine,
  plan: PlanId,
  { definition }: ProposalCard,
): Promise<{ readonly shown?: readonly TaskName[] }> {
  const current = await engine.ask({ type: 'definition', plan })
  if (context.terminal === null || context.settings.json || current === null) return {}
  const rewritten = rewrittenTasks(current.definition, definition)
  const { lines, tasks } = shownCommands(definition, task => rewritten.includes(task))
  if (lines.length === 0) return { shown: rewritten }
  printNote(context, 'it would run:')
  for (const line of lines) printNote(context, `  ${escapeForTerminal(line)}`)
  if (!(await askYesNo(context, 'Accept it, with these commands as your own?')))
    throw declined(`nothing was changed; to turn it down: planfold reject ${current.definition.name}`)
  return { shown: tasks }
}

/** A plan alone stands for its proposal only where nothing else in it waits for a person. */
async function isProposal(engine: Engine, first: string, second: string | undefined): Promise<boolean> {
  const found = await engine.ask({ type: 'find', reference: first })
  const plan = found?.plan ?? (await openPlans(engine)).at(0)?.id
  if (plan === undefined) return false
  const cards = (await engine.ask({ type: 'proposals', plan })) ?? []
  const word = second ?? (found === null ? first : null)
  if (word !== null) return cards.some(({ id }) => id.startsWith(word))
  const waiting = (await engine.ask({ type: 'summary', plan }))?.waiting ?? []
  return waiting.length === 0 && cards.some(({ fate }) => fate.status === 'waiting')
}

/** `PLAN ID`, `ID` of the only open plan, or `PLAN` when one proposal for it waits. */
async function resolveProposal(engine: Engine, first: string, second: string | undefined) {
  const found = second === undefined ? await engine.ask({ type: 'find', reference: first }) : null
  if (found === null) {
    const plan = await findPlan(engine, second === undefined ? undefined : first)
    return { plan, card: await findProposal(engine, plan, second ?? first) }
  }
  const { plan, name } = found
  const cards = (await engine.ask({ type: 'proposals', plan })) ?? []
  const open = cards.filter(({ fate }) => fate.status === 'waiting')
  const [card, other] = open
  if (card === undefined)
    throw notFound(`no proposal for '${name}' waits for a decision`, `planfold inbox proposals ${name} lists them all`)
  if (other !== undefined)
    throw usage(
      `${open.length} proposals for '${name}' wait: ${open.map(({ id }) => id).join(', ')}`,
      `say which: planfold inbox proposals ${name} ID shows what it would change`,
    )
  return { plan: { plan, name }, card }
}

export interface ProposeOptions {
  readonly merge?: boolean
  readonly message: string
  readonly cause?: string
  readonly task?: string
  readonly expectRevision?: number
  readonly dryRun?: boolean
}

export async function propose(context: Context, word: string, file: string, options: ProposeOptions): Promise<number> {
  const mode: MergeMode = options.merge === true ? 'merge' : 'replace'
  return await withState(context, { create: false }, async composed => {
    const { engine } = composed
    const plan = await findPlan(engine, word)
    const current = await currentOf(engine, plan, options)
    const written = await readRevisionFile(context, file, current.definition, mode)
    for (const line of printDiagnostics(context.paint, written.warnings)) printNote(context, line)
    const revision = prepare(current, writtenAs(written, mode))
    const { hash, diff, summary, fates } = revision
    const data = { plan: plan.plan, name: plan.name, on: current.revision, hash, summary, diff, fates }
    if (options.dryRun === true) {
      answer(context, { dryRun: true, ...data }, () => [
        ...changeLines(context, revision),
        context.paint.dim('nothing was written'),
      ])
      return EXIT.done
    }
    const task = options.task === undefined ? {} : { task: (await findTask(engine, plan.name, options.task)).task }
    return await submitProposal(
      context,
      composed,
      { plan, current, revision },
      {
        rationale: options.message,
        source: written.source,
        cause: options.cause,
        ...task,
      },
    )
  })
}

export interface Proposing {
  readonly plan: PlanTarget
  readonly current: CurrentPlan
  readonly revision: PreparedRevision
}

export async function submitProposal(
  context: Context,
  composed: Composed,
  { plan, current, revision }: Proposing,
  said: Pick<Extract<Order, { readonly type: 'propose' }>, 'rationale' | 'source' | 'cause' | 'task'>,
): Promise<number> {
  const { engine } = composed
  const { definition, hash, diff, summary, fates } = revision
  const data = { plan: plan.plan, name: plan.name, on: current.revision, hash, summary, diff, fates }
  const { events } = await submit(composed, plan.plan, {
    type: 'propose',
    definition,
    ...said,
    expectedRevision: current.revision,
  })
  const made = events.find(event => event.type === 'revision.proposed')
  const taken = events.find(event => event.type === 'plan.revised')
  const waiting = (await engine.ask({ type: 'proposals', plan: plan.plan })) ?? []
  const same = waiting.find(card => card.hash === hash && card.fate.status === 'waiting')
  const id = made?.id ?? same?.id ?? null
  answer(context, { ...data, id, revision: taken?.revision ?? null, accepted: taken !== undefined }, () => [
    taken !== undefined
      ? `${plan.name} is now revision ${taken.revision}: its policy takes proposals by itself`
      : made !== undefined
        ? `proposed as ${id}, for revision ${current.revision} of ${plan.name}: ${escapeForTerminal(summary)}`
        : `this very revision is proposed already, as ${id}`,
    ...changeLines(context, revision).slice(1),
    ...(taken === undefined
      ? ['', `decide with: planfold approve ${plan.name} ${id}   or: planfold reject ${plan.name} ${id} -m 'why'`]
      : []),
  ])
  // No process drives the plan, so this one has to send the notification.
  await sendNotifications(composed, plan.plan)
  return EXIT.done
}
