// `planfold status [PLAN]`: where a plan stands and what waits for whom; without a name, all that are open.

import { reasonBesides } from '../../../domain/phrases.ts'
import type { PlanStatus } from '../../../domain/status.ts'
import type { Card } from '../../../domain/views/board.ts'
import type { Summary } from '../../../domain/views/summary.ts'
import type { Engine, Halt, ScopeWait } from '../../../engine/engine.ts'
import { openPlans } from '../../../operations/find-target.ts'
import { activePlan } from '../../../operations/session-plans.ts'
import { shellWord } from '../../../safety/text/terminal.ts'
import type { Holder } from '../../../stores/store.ts'
import { answer, type Context, EXIT, notFound, usage, withState } from '../../command.ts'
import { demandSession, findPlan } from '../../find-target.ts'
import { ago, elapsed } from '../../terminal/elapsed-time.ts'
import { brief } from '../../terminal/one-line.ts'
import { symbol, tint } from '../../terminal/paint.ts'
import { halfMadeLines } from '../../text/briefing-text.ts'
import { troubleLines, waitingLines } from '../../text/inbox-text.ts'
import { isInterrupted, liftedReason, shownState } from '../../text/plan-state.ts'
import { rollbackLine, stoppedRollback } from '../../text/rollback-result.ts'
import { addBudgetOrCancel, claimNext, counted, doneWords, failedLines, isPausedToAsk } from '../../text/run-summary.ts'
import { scopeWaitLines, setBackLines, shortageLines } from '../../text/wait-text.ts'

import { planTable } from './list.ts'

type Held = Summary & { readonly holder: Holder | null }

export async function status(
  context: Context,
  asked: string | undefined,
  { session, drift, all }: { readonly session?: string; readonly drift?: boolean; readonly all?: boolean } = {},
): Promise<number> {
  if (drift === true) {
    if (session !== undefined) throw usage('--drift and --session cannot be used together', 'name the plan')
    return await (await import('../revisions/drift.ts')).drift(context, asked, { all })
  }
  if (all === true) throw usage('--all needs --drift', 'all plans: planfold list')
  return await withState(context, { create: false }, async ({ engine }) => {
    const word = session === undefined ? asked : await activeOf(engine, session, asked)
    const open = word === undefined ? await openPlans(engine, 50, 'overview') : []
    const halted = await engine.killSwitch.halted()
    const halting = halted === null ? [] : [haltedLine(halted, context)]
    if (word === undefined && open.length !== 1) {
      const lines = open.length === 0 ? await lastEnded(engine, context) : planTable(context, open)
      answer(context, { items: open, halted }, () => [...halting, ...lines])
      return EXIT.done
    }
    const { plan } = word === undefined ? { plan: open[0]!.id } : await findPlan(engine, word)
    // Asked first: claims that have run out are given back by it.
    const held = (await engine.ask({ type: 'next', plan }))?.held ?? []
    const summary = await engine.ask({ type: 'summary', plan })
    const moved = summary === null || context.settings.json ? null : await movedLine(engine, summary)
    const stopped = summary === null || context.settings.json ? null : await rollbackStopped(engine, summary, context)
    const more = [...scopeWaitLines(held, context.paint), ...[stopped, moved].filter(line => line !== null)]
    const board = (await engine.ask({ type: 'board', plan })) ?? []
    const left = summary === null || context.settings.json ? [] : await halfMade(engine, summary, board, context)
    const shown = summary === null ? null : { ...summary, held }
    const data = word === undefined ? { items: [shown], halted } : shown === null ? null : { ...shown, halted }
    answer(context, data, () =>
      summary === null
        ? []
        : [...halting, ...statusLines(context, { summary, board, held, left }, halted !== null), ...more],
    )
    return EXIT.done
  })
}

async function activeOf(engine: Engine, session: string, word: string | undefined): Promise<string> {
  await demandSession(engine, session, word)
  const active = await activePlan(engine, session)
  if (active !== null) return active.name
  throw notFound(
    `session '${session}' has no unfinished plan`,
    `all of its plans: planfold list --session ${shellWord(session)}`,
  )
}

function haltedLine({ by, at, reason }: Halt, { paint, now }: Context): string {
  return `${paint.red('‖ all plans are halted')} by ${brief(by)} ${ago(at, now())}${reason === null ? '' : `: ${brief(reason)}`}; nothing starts until a person lifts the halt`
}

/** Where no plan is unfinished: how the latest finished, and what to do when it failed. */
async function lastEnded(engine: Engine, context: Context): Promise<readonly string[]> {
  const { items } = await engine.ask({ type: 'plans', archived: false, limit: 50 })
  const [last] = items.filter(({ endedAt }) => endedAt !== null).toSorted((a, b) => b.endedAt! - a.endedAt!)
  if (last === undefined) return ['no plans yet. Next: planfold run plan.yaml']
  const summary = await engine.ask({ type: 'summary', plan: last.id })
  const board = (await engine.ask({ type: 'board', plan: last.id })) ?? []
  return [
    `no unfinished plan; the last one finished ${ago(last.endedAt!, context.now())}:`,
    ...(summary === null ? [] : statusLines(context, { summary, board, held: [], left: [] }, false)),
  ]
}

interface ShownPlan {
  readonly summary: Held
  readonly board: readonly Card[]
  readonly held: readonly ScopeWait[]
  readonly left: readonly string[]
}

function statusLines(
  context: Context,
  { summary, board, held, left }: ShownPlan,
  isHalted: boolean,
): readonly string[] {
  const { paint } = context
  const now = context.now()
  const { holder } = summary
  const { words, sign, word } = shownState({ summary, board, isDriven: holder?.alive === true, held })
  const lines = [
    `${symbol(paint, sign)} ${paint.bold(summary.name)} ${tint(paint, sign)(words)}${reasonOf(summary, isHalted)}`,
  ]
  const underWay = rollbackLine(summary, paint)
  if (underWay !== null) lines.push(underWay)
  if (summary.title !== null) lines.push(`  ${brief(summary.title)}`)
  if (summary.place !== null) lines.push(`  works in ${brief(summary.place)}`)
  const interrupted = board.filter(card => isInterrupted(card, holder?.alive === true))
  lines.push(`  tasks    ${doneWords(summary)}: ${counted(summary, interrupted.length)}`)
  lines.push(`  revision ${summary.revision}, created ${ago(summary.createdAt, now)}${tookOf(summary, now)}`)
  const claimed = board.filter(({ claimedBy }) => claimedBy !== null)
  const running = summary.running.filter(name => claimed.every(card => card.name !== name))
  if (running.length > 0 && word !== 'interrupted')
    lines.push(`  running  ${running.slice(0, 8).join(', ')}${running.length > 8 ? ', …' : ''}`)
  for (const card of claimed.slice(0, 5)) lines.push(`  claimed  ${card.name} by ${brief(card.claimedBy ?? '')}`)
  lines.push(...left, ...failedLines(summary, board, paint))
  lines.push(...setBackLines(summary, paint))
  lines.push(...shortageLines(summary, paint))
  lines.push(...troubleLines(summary, now, paint))
  lines.push(...waitingLines(summary, paint))
  const claim = claimNext(summary, board, { isDriven: holder?.alive === true, held })
  const more = addBudgetOrCancel(summary)
  if (holder?.alive === true) lines.push(`  process  pid ${holder.pid} on ${brief(holder.host)}`)
  else if (!isHalted && claim !== null) lines.push(`  Next: ${claim}`)
  else if (!isHalted && more !== null) lines.push(`  Next: ${more}`)
  else if (!isHalted && (canMove(summary.status) || summary.rollback !== undefined))
    lines.push(
      summary.status === 'draft'
        ? `  Next: planfold run ${summary.name}`
        : `  Next: ${summary.waiting.length > 0 || isPausedToAsk(summary) ? 'answer it, then ' : ''}planfold resume ${summary.name}`,
    )
  return lines
}

const HALF_MADE_MAX = 5

async function halfMade(
  engine: Engine,
  { id, name }: Held,
  board: readonly Card[],
  { paint }: Context,
): Promise<readonly string[]> {
  const open = board.filter(({ status, action, attempt }) => status === 'ready' && action === 'external' && attempt > 0)
  const lines: string[] = []
  for (const card of open.slice(0, HALF_MADE_MAX)) {
    const briefing = await engine.ask({ type: 'briefing', plan: id, task: card.name })
    if (briefing !== null) lines.push(...halfMadeLines(briefing, { plan: name, visit: card.visit }, paint))
  }
  return lines
}

async function rollbackStopped(engine: Engine, { id, endedAt }: Held, { paint }: Context): Promise<string | null> {
  const why = endedAt === null ? null : await stoppedRollback(engine, id)
  return why === null
    ? null
    : `  ${paint.yellow('rollback')} stopped: ${brief(why).replace(/\.$/, '')}. Next: planfold inbox`
}

async function movedLine(engine: Engine, { id, name, status, startedAt }: Held): Promise<string | null> {
  if (startedAt === null || status === 'completed' || status === 'cancelled') return null
  const drift = await engine.ask({ type: 'drift', plan: id, files: false })
  if (drift?.commit?.by === 'somebody')
    return `  changed  the repository has new commits; see: planfold status ${name} --drift`
  return (drift?.unmet.length ?? 0) > 0 ? `  failed   a check did not pass; see: planfold show ${name} --checks` : null
}

const canMove = (status: PlanStatus): boolean => status === 'active' || status === 'paused' || status === 'draft'
const reasonOf = (summary: Held, isHalted: boolean): string => {
  const { status } = summary
  const text = reasonBesides(status, liftedReason(summary, isHalted))
  return text === '' || status === 'completed' ? '' : ` (${brief(text)})`
}
const tookOf = ({ startedAt, endedAt }: Held, now: number): string =>
  startedAt === null
    ? ''
    : `, ${endedAt === null ? `started ${ago(startedAt, now)}` : `took ${elapsed(endedAt - startedAt)}`}`
