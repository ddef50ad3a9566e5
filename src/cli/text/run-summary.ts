// What is said when a drive is over: where the plan stands, what was run, retried and lost, what waits for whom, and the
// exact command to continue.

import type { Composed } from '../../compose.ts'
import { actionFacts } from '../../domain/actions/actions.ts'
import { USED_UP } from '../../domain/budget/budget-text.ts'
import { type Hint, next, stepsIn } from '../../domain/hint.ts'
import type { PlanId } from '../../domain/id.ts'
import { numberOf, reasonBesides } from '../../domain/phrases.ts'
import { uncoveredNames } from '../../domain/result.ts'
import type { PlanStatus } from '../../domain/status.ts'
import type { Card } from '../../domain/views/board.ts'
import { RUNS_AGAIN, type Summary } from '../../domain/views/summary.ts'

import type { Driven, ScopeWait } from '../../engine/engine.ts'
import type { Models } from '../../runners/models.ts'
import type { Holder } from '../../stores/store.ts'
import { envelope, print, withDir } from '../answer.ts'
import type { Context, StopSignal } from '../context.ts'
import { elapsed } from '../terminal/elapsed-time.ts'
import { brief } from '../terminal/one-line.ts'
import { type Paint, symbol, tint } from '../terminal/paint.ts'
import { commandText, hintText } from './hint-text.ts'
import { waitingLines } from './inbox-text.ts'
import { type PlanFacts, shownState } from './plan-state.ts'
import { scopeWaitLines, setBackLines, shortageLines } from './wait-text.ts'

export interface EndingOf {
  readonly interrupted: StopSignal | null
  readonly left: Holder | null
  readonly held?: readonly ScopeWait[]
  readonly elsewhere?: Elsewhere | null
  readonly rollback?: string | null
  readonly models?: ModelsAsked
  readonly halted?: boolean
  readonly continuedBy?: string | undefined
}

/** Only another worker can drive it. */
type Elsewhere = Extract<Driven, { readonly status: 'elsewhere' }>

/** Who can drive the plan, and how. */
export function workerFor({ labels, secret }: Elsewhere): string {
  const worker = ['planfold worker', ...labels.map(label => `--label ${label}`)].join(' ')
  if (secret === undefined) return `start \`${worker}\` where that is`
  return `configure it here: planfold secrets set ${secret} --env ${secret}; or start \`${worker}\` where it is`
}

type ModelsAsked = Awaited<ReturnType<Models['usageOf']>>

const modelText = ({ model, calls, assumedTokens }: ModelsAsked[number]): string =>
  `${brief(model)} (${numberOf(calls, 'call')}${assumedTokens === 0 ? '' : `, ${assumedTokens} of its tokens assumed`})`

export async function tellEnd(
  context: Context,
  composed: Composed,
  plan: PlanId,
  driven: Omit<EndingOf, 'halted'>,
): Promise<PlanStatus> {
  const summary = await composed.engine.ask({ type: 'summary', plan })
  if (summary === null) throw new Error(`the plan ${plan} has gone`)
  // A plan that is paused because we lack file handles cannot look at a file.
  const mayBeHalted = summary.status === 'paused' && summary.shortage === undefined
  const isWithOther = driven.elsewhere != null && summary.holder?.alive === true
  const left = driven.left ?? (isWithOther ? summary.holder : null)
  const how = { ...driven, left, halted: mayBeHalted && (await composed.engine.killSwitch.halted()) !== null }
  const board = (await composed.engine.ask({ type: 'board', plan })) ?? []
  const asksModels = board.some(({ action: type }) => actionFacts({ type }).prompts === true)
  const models = asksModels ? await composed.models.usageOf(plan) : []
  if (context.settings.json) {
    const retried = board
      .filter(isRetried)
      .map(card => ({ task: card.name, attempts: card.attempt, visits: card.visits }))
    const next = nextCommand(summary, board, how)
    context.stdout.write(
      envelope({
        data: {
          type: 'summary',
          summary,
          retried,
          held: how.held ?? [],
          ...(how.elsewhere == null ? {} : { elsewhere: how.elsewhere }),
          models,
          next: next === null ? null : withDir(context, next),
        },
      }),
    )
  } else print(context, endingLines(summary, board, { ...how, models }, context.now(), context.paint))
  return summary.status
}

export function endingLines(
  summary: Summary,
  board: readonly Card[],
  how: EndingOf,
  now: number,
  paint: Paint,
): readonly string[] {
  const took =
    summary.startedAt === null
      ? ''
      : ` ${summary.endedAt === null ? 'after' : 'in'} ${elapsed((summary.endedAt ?? now) - summary.startedAt)}`
  const why = summary.status === 'completed' ? '' : reasonBesides(summary.status, summary.reason)
  const reason = why === '' ? '' : paint.dim(` (${brief(why)})`)
  const elsewhere = how.elsewhere ?? null
  const state = shownState({ summary, board, isDriven: how.left !== null, held: how.held ?? [] })
  const { words, sign } = elsewhere === null || state.word !== 'not running' ? state : FOR_WORKER
  const lines = [`${symbol(paint, sign)} ${paint.bold(summary.name)} ${tint(paint, sign)(words)}${took}${reason}`]
  lines.push(`  tasks    ${counted(summary)}`)
  const retried = board.filter(isRetried)
  if (retried.length > 0) lines.push(`  retried  ${few(retried.map(card => `${card.name} (${times(card)})`))}`)
  const longest = slowest(board)
  if (longest.length > 0)
    lines.push(
      `  longest  ${longest.map(card => `${card.name} ${elapsed(card.endedAt! - card.startedAt!)}`).join(', ')}`,
    )
  if (how.models !== undefined && how.models.length > 0) lines.push(`  models   ${few(how.models.map(modelText))}`)
  lines.push(...failedLines(summary, board, paint))
  lines.push(...setBackLines(summary, paint))
  for (const { task, ...unsaved } of summary.uncovered ?? [])
    lines.push(
      `  ${paint.yellow('unsaved')}  ${task}: not saved, so a rollback leaves it: ${brief(uncoveredNames(unsaved))}`,
    )
  const rollback = stoppedIn(summary, how)
  if (rollback !== null) lines.push(`  ${paint.red('rollback')} stopped: ${brief(rollback)}`)
  lines.push(...shortageLines(summary, paint))
  if (summary.status === 'failed') lines.push(`  output   ${outputCommand(summary)}`)
  if (summary.endedAt === null) lines.push(...waitingLines(summary, paint), ...scopeWaitLines(how.held ?? [], paint))
  else lines.push(`  handoff  planfold summary ${summary.name} --form handoff`)
  if (elsewhere !== null)
    lines.push(`  ${paint.yellow('waits')}    ${elsewhere.reason}`, `           ${workerFor(elsewhere)}`)
  const next = nextCommand(summary, board, how)
  if (how.left !== null)
    lines.push(
      `  still running in pid ${how.left.pid} on ${how.left.host}. Next: planfold log ${summary.name} --follow`,
    )
  else if (next !== null)
    lines.push(
      `  Next: ${summary.waiting.length > 0 && how.halted !== true ? 'answer it, then ' : ''}${paint.bold(next)}`,
    )
  if (
    summary.status === 'failed' &&
    how.continuedBy === undefined &&
    how.left === null &&
    stoppedIn(summary, how) === null
  )
    lines.push(`  or fix the plan file and run it again; ${RUNS_AGAIN}`)
  return lines
}

const FOR_WORKER = { words: 'waiting for another worker', sign: 'waiting' } as const
const FAILED_MAX = 5

export function failedLines(
  { name, failed }: Summary,
  board: readonly Pick<Card, 'name' | 'optional'>[],
  paint: Paint,
): readonly string[] {
  const optional = new Set(board.filter(card => card.optional).map(card => card.name))
  const more = failed.length - FAILED_MAX
  return [
    ...failed
      .slice(0, FAILED_MAX)
      .flatMap(({ task, reason, handled, hint }) => [
        `  ${paint.red('failed')}   ${task}${optional.has(task) ? ' (optional)' : ''}: ${brief(reason)}${handled ? paint.dim(' (handled)') : ''}`,
        ...(hint === undefined || handled || isOnlyOutput(hint) ? [] : [`           ${brief(hintText(hint))}`]),
      ]),
    ...(more > 0 ? [paint.dim(`           … and ${more} more: planfold show ${name}`)] : []),
  ]
}

const isOnlyOutput = (hint: Hint): boolean => /^see `planfold log \S+ \S+ --output`$/.test(hintText(hint))

function outputCommand({ name, failed, stopped }: Summary): string {
  const task = failed[0]?.task ?? stopped?.task
  return `planfold log ${name} ${task === undefined ? '' : `${task} `}--output`
}

/** Only of an ended plan: any other is paused, and `resume` continues its rollback. */
const stoppedIn = ({ endedAt }: Summary, { rollback = null }: EndingOf): string | null =>
  endedAt === null ? null : rollback

/** Paused until a person has answered: whether more may be spent, or whether commands may run without a sandbox. */
export const isPausedToAsk = ({ status, asked = [] }: Pick<Summary, 'status' | 'asked'>): boolean =>
  status === 'paused' && asked.some(({ pauses }) => pauses === true)

/** Paused because the budget is used up, and more was refused: `resume` would only ask again. Null otherwise. */
export function addBudgetOrCancel({
  name,
  status,
  reason,
  asked = [],
}: Pick<Summary, 'name' | 'status' | 'reason' | 'asked'>): string | null {
  if (status !== 'paused' || asked.some(({ pauses }) => pauses === true)) return null
  // Caps of the user's settings are raised there, and the reason says so.
  if (reason?.startsWith(`${USED_UP}:`) !== true || reason.includes('`caps`')) return null
  return `planfold budget add ${name} …, or planfold cancel ${name}`
}

export function nextCommand(summary: Summary, board: readonly Card[], how: EndingOf): string | null {
  if (how.left !== null) return null
  if (stoppedIn(summary, how) !== null) return 'planfold inbox'
  if (summary.status === 'failed') {
    return retryCommand(summary, how.continuedBy)
  }
  if (how.halted === true && summary.endedAt === null) return commandText(next('lift-halt'))
  if (how.elsewhere != null && summary.waiting.length === 0) return `planfold log ${summary.name} --follow`
  const claim = claimNext(summary, board, { isDriven: false, held: how.held ?? [] })
  if (claim !== null) return claim
  const more = addBudgetOrCancel(summary)
  if (more !== null) return more
  const first = isPausedToAsk(summary) ? 'answer it, then ' : ''
  return summary.endedAt === null ? `${first}${how.continuedBy ?? `planfold resume ${summary.name}`}` : null
}

/** Where only work of others is waited for, `resume` would change nothing. Null where something else is waited for, or nothing. */
export function claimNext(
  summary: Pick<Summary, 'name' | 'status' | 'waiting' | 'claimable' | 'progress' | 'asked' | 'rollback'>,
  board: readonly Card[],
  { isDriven, held }: Required<Pick<PlanFacts, 'isDriven' | 'held'>>,
): string | null {
  const { name, claimable, waiting, rollback } = summary
  if (waiting.length > 0 || held.length > 0 || rollback !== undefined) return null
  if (shownState({ summary, board, isDriven, held }).word !== 'waiting') return null
  if (claimable > 0) return `planfold claim ${name}`
  const claimed = board.find(({ claimedBy }) => claimedBy !== null)
  return claimed === undefined
    ? null
    : `wait for the report; if ${brief(claimed.claimedBy ?? '')} is gone: planfold claim ${name} ${claimed.name} --release`
}

/** Where a budget was too small, trying again alone would fail again. What failed in several places is tried again by `resume`. */
export function retryCommand({ name, failed, stopped }: Summary, again?: string): string | null {
  const task = failed[0]?.task ?? stopped?.task
  if (task === undefined) return null
  const more = stepsIn(failed.find(one => one.task === task)?.hint ?? '').find(step => step.next === 'budget-add')
  const isOne = failed.filter(({ handled }) => !handled).length < 2
  return `${more === undefined ? '' : `${commandText(more)}, then `}${again ?? (isOne ? `planfold retry ${name} ${task}` : `planfold resume ${name}`)}`
}

export const doneWords = ({ progress: { done, total, counts } }: Pick<Summary, 'progress'>): string =>
  `${done}/${total} ${counts.skipped > 0 ? 'done or skipped' : 'done'}`

/** `12 completed · 1 skipped`; those that ran when the process died are not called running. */
export function counted({ progress }: Pick<Summary, 'progress'>, interrupted = 0): string {
  if (progress.total === 0) return 'none yet'
  return Object.entries({ ...progress.counts, running: progress.counts.running - interrupted, interrupted })
    .filter(([, count]) => count > 0)
    .map(([status, count]) => `${count} ${taskWord(status)}`)
    .join(' · ')
}

export const taskWord = (status: string): string => (status === 'abandoned' ? 'cancelled' : status)

/** What waits begins again when its time has come. */
const isRetried = ({ action: type, attempt, visits }: Card): boolean =>
  visits > 1 || (attempt > 1 && actionFacts({ type }).waits !== true)

function times(card: Card): string {
  return [card.attempt > 1 ? `${card.attempt} attempts` : '', card.visits > 1 ? `${card.visits} runs` : '']
    .filter(Boolean)
    .join(', ')
}

function slowest(board: readonly Card[]): readonly Card[] {
  const ended = board.filter(
    card => card.startedAt !== null && card.endedAt !== null && card.endedAt - card.startedAt >= 1_000,
  )
  return ended.sort((a, b) => b.endedAt! - b.startedAt! - (a.endedAt! - a.startedAt!)).slice(0, 3)
}

const few = (items: readonly string[]): string =>
  items.length <= 5 ? items.join(', ') : `${items.slice(0, 5).join(', ')} and ${items.length - 5} more`
