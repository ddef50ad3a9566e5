// A gate put to the person at the terminal: what is asked, which keys answer, and what a key press makes of it. Pure; the
// live view draws the lines and submits the answer.
//
//   choose ── a, h, t ──→ answered          choose ── r, g ──→ reason ── Enter ──→ answered
//      └──── s ────→ put off                               reason ── Esc ──→ choose

import type { GateVerdict } from '../../domain/event.ts'
import type { TaskName } from '../../domain/id.ts'
import type { Waiting } from '../../domain/views/summary.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import type { Paint } from '../paint.ts'
import { cut } from '../width.ts'

export interface Question {
  readonly waiting: Waiting
  readonly title: string | null
  /** What would happen next, as it would run; raw lines. */
  readonly details: readonly string[]
  /** A verdict that wants a reason, and what has been typed of it. */
  readonly reason: { readonly verdict: GateVerdict; readonly typed: string } | null
}

export type Pressed =
  | { readonly type: 'asking'; readonly question: Question }
  | { readonly type: 'answered'; readonly task: TaskName; readonly verdict: GateVerdict; readonly rationale: string }
  | { readonly type: 'put-off' }

const DETAILS_MAX = 8
const REASON_MAX = 500

export function press(question: Question, key: string): Pressed {
  const { waiting, reason } = question
  if (reason !== null) return typing(question, reason, key)
  const choice = choices(waiting).find(each => each.key === key.toLowerCase())
  if (choice === undefined) return { type: 'asking', question }
  if (choice.verdict === null) return { type: 'put-off' }
  if (choice.verdict === 'rejected')
    return { type: 'asking', question: { ...question, reason: { verdict: 'rejected', typed: '' } } }
  return { type: 'answered', task: waiting.task, verdict: choice.verdict, rationale: '' }
}

export function questionLines(question: Question, columns: number, paint: Paint): readonly string[] {
  const { waiting, title, details, reason } = question
  const say = (text: string): string => cut(escapeForTerminal(text), columns - 4)
  const lines = [paint.bold(say(`${waiting.task}: ${asked(waiting)}`))]
  if (title !== null) lines.push(say(title))
  for (const detail of particulars(waiting)) lines.push(say(detail))
  for (const detail of details.slice(0, DETAILS_MAX)) lines.push(paint.dim(say(detail)))
  if (details.length > DETAILS_MAX) lines.push(paint.dim(`… ${details.length - DETAILS_MAX} more lines: planfold show`))
  if (reason === null)
    lines.push(
      choices(waiting)
        .map(choice => paint.cyan(choice.label))
        .join('  '),
    )
  else
    lines.push(
      `why? ${say(reason.typed.slice(-(columns - 40)))}${paint.inverse(' ')} ${paint.dim('Enter sends, Esc goes back')}`,
    )
  return ['', ...lines.map(line => `${paint.yellow('┃')} ${line}`)]
}

interface Choice {
  readonly key: string
  readonly label: string
  /** Null puts the question off. */
  readonly verdict: GateVerdict | null
}

function choices({ asks }: Waiting): readonly Choice[] {
  const later: Choice = { key: 's', label: '[s]kip for now', verdict: null }
  if (asks.type === 'unknown-outcome') {
    return [
      { key: 'h', label: '[h] it happened', verdict: 'done' },
      { key: 't', label: '[t]ry again', verdict: 'again' },
      { key: 'g', label: '[g]ive up', verdict: 'rejected' },
      later,
    ]
  }
  return [
    { key: 'a', label: '[a]pprove', verdict: 'approved' },
    { key: 'r', label: '[r]eject', verdict: 'rejected' },
    later,
  ]
}

function asked({ asks }: Waiting): string {
  switch (asks.type) {
    case 'approval':
      return 'may the plan go on?'
    case 'verdict':
      return 'does this hold?'
    case 'unknown-outcome':
      return 'nobody knows whether it happened. Did it?'
    case 'consent':
      return 'may it begin?'
    case 'decision':
      return 'which of these?'
    case 'question':
      return asks.question
    case 'recovery':
    case 'replan':
      return 'it failed. What then?'
    default:
      return asks satisfies never
  }
}

function particulars({ asks }: Waiting): readonly string[] {
  if (asks.type === 'verdict') return asks.criteria.map(criterion => `- ${criterion}`)
  if (asks.type === 'unknown-outcome')
    return [`${asks.evidence.reason}; its effect is ${asks.evidence.effect}, so it is not run again by itself`]
  return []
}

function typing(question: Question, reason: NonNullable<Question['reason']>, key: string): Pressed {
  const { waiting } = question
  if (key === '\r' || key === '\n')
    return { type: 'answered', task: waiting.task, verdict: reason.verdict, rationale: reason.typed.trim() }
  if (key === '\u001b') return { type: 'asking', question: { ...question, reason: null } }
  if (key === '\u007f' || key === '\b') return typed(question, reason, [...reason.typed].slice(0, -1).join(''))
  // Arrow keys and the like arrive as escape sequences; they move nothing here.
  if (key.startsWith('\u001b')) return { type: 'asking', question }
  return typed(question, reason, (reason.typed + key.replace(/\p{Cc}/gu, ' ')).slice(0, REASON_MAX))
}

function typed(question: Question, reason: NonNullable<Question['reason']>, text: string): Pressed {
  return { type: 'asking', question: { ...question, reason: { ...reason, typed: text } } }
}
