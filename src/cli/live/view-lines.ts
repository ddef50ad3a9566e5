// The live view as a pure function: what is known, the size of the window and the time make the lines to draw. Never more
// lines than the window has rows, never wider than its columns.

import type { Millis } from '../../domain/id.ts'
import type { SetBack } from '../../domain/state/state.ts'
import { ENDED, type PlanStatus } from '../../domain/status.ts'
import type { Card } from '../../domain/views/board.ts'
import { failedOptional } from '../../domain/views/pages/plan-state.ts'
import type { Progress } from '../../domain/views/summary.ts'
import { escapeForTerminal } from '../../safety/text/terminal.ts'
import { elapsed } from '../terminal/elapsed-time.ts'
import { type Paint, planSymbol, SPINNER, symbol, tint } from '../terminal/paint.ts'
import { cut, padded, width } from '../terminal/table.ts'
import { setBackLines } from '../text/wait-text.ts'

// Which tasks the live view shows when there are more than rows: what needs a person first, then what moves, then what
// failed, then what comes next and what ended last. Shown in the order of the document; the rest is counted.

interface Chosen {
  readonly before: string | null
  readonly shown: readonly Card[]
  readonly after: string | null
}

const RANKS = 7

function choose(cards: readonly Card[], rows: number): Chosen {
  if (cards.length <= rows) return { before: null, shown: cards, after: null }
  const room = rows < 4 ? Math.max(1, rows) : rows - 2
  const ranked: Card[][] = Array.from({ length: RANKS }, () => [])
  for (const card of cards) ranked[rank(card)]!.push(card)
  ranked[4]!.sort((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0))
  const taken = new Set<Card>()
  for (const group of ranked) {
    for (const card of group) {
      if (taken.size >= room) break
      taken.add(card)
    }
  }
  let done = 0
  let left = 0
  const shown: Card[] = []
  for (const card of cards) {
    if (taken.has(card)) shown.push(card)
    else if (ENDED.has(card.status)) done++
    else left++
  }
  if (rows < 4) return { before: null, shown, after: null }
  return { before: done === 0 ? null : `${done} finished`, shown, after: left === 0 ? null : `${left} to come` }
}

function rank(card: Card): number {
  switch (card.status) {
    case 'waiting':
      return 0
    case 'running':
      return 1
    case 'failed':
      return 2
    case 'ready':
      return card.retryAt !== null || card.action === 'external' ? 3 : 5
    case 'completed':
      return 4
    case 'blocked':
    case 'pending':
      return 5
    case 'skipped':
    case 'abandoned':
    case 'cancelled':
      return 6
    default:
      return card.status satisfies never
  }
}

export interface Sight {
  readonly name: string
  readonly title: string | null
  readonly status: PlanStatus
  readonly startedAt: Millis | null
  readonly progress: Progress
  readonly cards: readonly Card[]
  readonly lastLine: ReadonlyMap<string, string>
  readonly spent?: ReadonlyMap<string, string>
  /** What a gate asks, ready to draw; empty when nothing is asked. */
  readonly question: readonly string[]
  readonly notice: string | null
  readonly restored?: readonly SetBack[]
  /** Makes commands that are named fit to be pasted. */
  readonly pasted?: (text: string) => string
  readonly isLast?: boolean
}

export interface Window {
  readonly columns: number
  readonly rows: number
  readonly now: Millis
  readonly frame: number
}

const NAME_COLUMNS_MAX = 32
const SET_BACK_ROWS = 2

export function view(sight: Sight, window: Window, paint: Paint): readonly string[] {
  const columns = Math.max(20, window.columns - 1)
  const setBack = (sight.isLast === true ? [] : setBackLines(sight, paint))
    .slice(-SET_BACK_ROWS)
    .map(line => cut(sight.pasted?.(line) ?? line, columns))
  const rows = window.rows - 3 - setBack.length
  const foot = [
    ...(rows > 6 ? setBack : []),
    ...squeezed(sight.question, rows > 6 ? rows : window.rows - 3),
    ...(sight.isLast === true ? [] : [footer(sight, columns, paint)]),
  ]
  const room = Math.max(1, window.rows - 1 - foot.length)
  const { before, shown, after } = choose(sight.cards, room)
  const nameColumns = Math.min(
    NAME_COLUMNS_MAX,
    Math.floor(columns / 2),
    Math.max(4, ...shown.map(card => width(card.name))),
  )
  return [
    header(sight, columns, window.now, paint),
    ...(before === null ? [] : [paint.dim(cut(`  … ${before}`, columns))]),
    ...shown.map(card => row(card, sight, { ...window, columns }, nameColumns, paint)),
    ...(after === null ? [] : [paint.dim(cut(`  … ${after}`, columns))]),
    ...foot,
  ].slice(0, Math.max(1, window.rows))
}

function squeezed(question: readonly string[], rows: number): readonly string[] {
  if (question.length <= rows) return question
  return rows < 2 ? question.slice(-Math.max(0, rows)) : [...question.slice(0, rows - 1), question.at(-1)!]
}

function header(
  { name, title, status, startedAt, progress, cards }: Sight,
  columns: number,
  now: Millis,
  paint: Paint,
): string {
  const time = startedAt === null ? '' : `  ${elapsed(now - startedAt)}`
  const right = cut(
    `${columns < 50 ? '' : ` ${bar(progress.ratio)}`} ${progress.done}/${progress.total}${time}`,
    columns - 2,
  )
  const room = columns - width(right) - 2
  const left = cut(escapeForTerminal(title === null ? name : `${name}  ${title}`), room)
  const painted = left.startsWith(name) ? paint.bold(name) + paint.dim(left.slice(name.length)) : paint.bold(left)
  const sign = status === 'completed' && failedOptional(cards) > 0 ? 'partly' : status
  return `${planSymbol(paint, sign)} ${painted}${' '.repeat(Math.max(0, room - width(left)))}${tint(paint, sign)(right)}`
}

const REMARK_COLUMNS_MIN = 24

const BAR_COLUMNS = 12
function bar(ratio: number): string {
  const full = Math.floor(ratio * BAR_COLUMNS)
  return '█'.repeat(full) + '░'.repeat(BAR_COLUMNS - full)
}

function row(card: Card, sight: Sight, window: Window, nameColumns: number, paint: Paint): string {
  const { status } = card
  const sign =
    status === 'running'
      ? paint.cyan(SPINNER[window.frame % SPINNER.length]!)
      : retrying(card)
        ? paint.yellow('↻')
        : symbol(paint, status)
  const name = padded(escapeForTerminal(card.name), nameColumns)
  const time = timeOf(card, window.now).padStart(7)
  const whole = window.columns - 2 - nameColumns - 1 - 7 - 2
  const spent = sight.spent?.get(card.name) ?? ''
  const isSpentShown = spent !== '' && whole - width(spent) >= REMARK_COLUMNS_MIN
  const room = isSpentShown ? whole - width(spent) - 2 : whole
  const { text, colour } = remarkOn(card, sight, window.now, paint)
  const quiet = status === 'pending' || status === 'skipped' || status === 'cancelled' || status === 'abandoned'
  const title = titleOf(card, text, room)
  const remark = cut(escapeForTerminal(sight.pasted?.(text) ?? text), room - width(title))
  const behind = isSpentShown
    ? `${' '.repeat(Math.max(0, room - width(title) - width(remark)))}  ${paint.dim(spent)}`
    : ''
  return `${sign} ${quiet ? paint.dim(name) : name} ${paint.dim(time)}  ${paint.dim(title)}${colour(remark)}${behind}`.trimEnd()
}

function titleOf({ title }: Card, remark: string, room: number): string {
  if (title === null || remark.startsWith(title) || (remark !== '' && room < REMARK_COLUMNS_MIN)) return ''
  return remark === ''
    ? cut(escapeForTerminal(title), room)
    : `${cut(escapeForTerminal(title), Math.floor(room / 2))} · `
}

function timeOf(card: Card, now: Millis): string {
  if (card.startedAt === null || card.status === 'waiting') return ''
  if (card.status === 'running') return elapsed(now - card.startedAt)
  return card.endedAt === null ? '' : elapsed(card.endedAt - card.startedAt)
}

function remarkOn(
  card: Card,
  sight: Sight,
  now: Millis,
  paint: Paint,
): { readonly text: string; readonly colour: (text: string) => string } {
  if (retrying(card)) {
    if (card.isLater === true) return { text: card.reason ?? '', colour: paint.dim }
    return {
      text: `retry in ${Math.max(0, Math.ceil((card.retryAt! - now) / 1000))}s: ${card.reason ?? `attempt ${card.attempt} failed`}`,
      colour: paint.yellow,
    }
  }
  switch (card.status) {
    case 'running': {
      const said = card.claimedBy === null ? (sight.lastLine.get(card.name) ?? '') : `claimed by ${card.claimedBy}`
      return { text: card.attempt > 1 ? `(attempt ${card.attempt}) ${said}` : said, colour: paint.dim }
    }
    case 'waiting':
      return { text: card.reason ?? 'needs your decision', colour: paint.yellow }
    case 'failed':
      return { text: card.reason ?? 'failed', colour: paint.red }
    case 'completed':
      return { text: card.attempt > 1 ? `after ${card.attempt} attempts` : '', colour: paint.dim }
    case 'ready':
      return {
        text: card.action === 'external' ? `ready to claim: planfold claim ${sight.name} ${card.name}` : '',
        colour: card.action === 'external' ? paint.yellow : paint.dim,
      }
    case 'pending':
      return { text: '', colour: paint.dim }
    case 'blocked':
    case 'skipped':
    case 'abandoned':
    case 'cancelled':
      return { text: card.reason ?? card.status, colour: paint.dim }
    default:
      return card.status satisfies never
  }
}

const retrying = (card: Card): boolean => card.status === 'ready' && card.retryAt !== null

function footer({ notice, progress }: Sight, columns: number, paint: Paint): string {
  if (notice !== null) return paint.yellow(cut(escapeForTerminal(notice), columns))
  const { counts } = progress
  const parts = [
    counts.running > 0 ? `${counts.running} running` : '',
    counts.waiting > 0 ? `${counts.waiting} waiting` : '',
    counts.failed > 0 ? `${counts.failed} failed` : '',
    'Ctrl-C: pause',
  ]
  return paint.dim(cut(parts.filter(Boolean).join(' · '), columns))
}
