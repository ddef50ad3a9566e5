// A gate put to the person at the terminal: what is asked, which keys answer, and what a key press makes of it. Pure; the
// live view draws the lines and submits the answer.
//
//   choose ── a, h, t, 1 … 9 ──→ answered       choose ── r, b, g ──→ reason ── Enter ──→ answered
//      └──── s ────→ put off                                    reason ── Esc ──→ choose
//   choose ── f ──→ filling in, field by field ── Enter at the last ──→ answered     filling in ── Esc ──→ choose
//
// What an approval covers is shown page by page (m), and cannot be approved before the last page was seen.

import type { GateVerdict } from '../../domain/event.ts'
import type { TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { Field, Option } from '../../domain/plan.ts'
import { fillIn } from '../../domain/plan-rules/form.ts'
import { directQuestion, editedLines, whyNotAgain } from '../../domain/views/gate-text.ts'
import type { Waiting } from '../../domain/views/summary.ts'
import { escapeForTerminal } from '../../safety/text/terminal.ts'
import { valueFrom } from '../commands/people/form-values.ts'
import { CliError } from '../exit.ts'
import type { Paint } from '../terminal/paint.ts'
import { cut, fittingEnd, wrap } from '../terminal/table.ts'
import { hintText } from '../text/hint-text.ts'
import { answerLines, detailLines as beside, fieldWords, shownLines } from '../text/inbox-text.ts'

export interface Question {
  readonly waiting: Waiting
  readonly title: string | null
  /** What would happen next, as it would run; raw lines. */
  readonly details: readonly string[]
  /** The details are what an approval agrees to: the page of them that is shown, and whether the last one was. */
  readonly pages?: { readonly at: number; readonly size: number; readonly seen: boolean }
  readonly reason: { readonly verdict: GateVerdict; readonly typed: string } | null
  /** A form that is being filled in: the answers so far, the field, what has been typed of it, and what was wrong with it. */
  readonly filling?: Filling
}

interface Filling {
  readonly answers: JsonObject
  readonly at: number
  readonly typed: string
  readonly fault: string | null
}

export type Pressed =
  | { readonly type: 'asking'; readonly question: Question }
  | {
      readonly type: 'answered'
      readonly task: TaskName
      readonly verdict: GateVerdict
      readonly rationale: string
      readonly option?: string
      readonly answers?: JsonObject
    }
  | { readonly type: 'put-off' }

const DETAILS_MAX = 8
const REASON_MAX = 500
const ANSWER_MAX = 10_000

export function pressKey(question: Question, key: string): Pressed {
  const { waiting, reason, filling } = question
  if (reason !== null) return typing(question, reason, key)
  if (filling !== undefined) return fillingIn(question, filling, key)
  const choice = offered(question).find(each => each.key === key.toLowerCase())
  if (choice === undefined) return { type: 'asking', question }
  if (choice === MORE) return { type: 'asking', question: turned(question) }
  if (choice === FILL_IN) return { type: 'asking', question: { ...question, filling: EMPTY } }
  if (choice.verdict === null) return { type: 'put-off' }
  if (REASONED.has(choice.verdict))
    return { type: 'asking', question: { ...question, reason: { verdict: choice.verdict, typed: '' } } }
  const { verdict, option } = choice
  return { type: 'answered', task: waiting.task, verdict, rationale: '', option }
}

export function questionLines(question: Question, columns: number, paint: Paint): readonly string[] {
  const { waiting, title, details, reason, filling } = question
  const say = (text: string): string => cut(escapeForTerminal(text), columns - 4)
  const whole = (text: string): readonly string[] => wrap(escapeForTerminal(text), columns - 4)
  // The title of an approval is the question that the author of the plan asks.
  const isTitled = waiting.asks.type === 'approval' && title !== null
  const head = isTitled ? title : directQuestion(waiting.asks)
  const lines = whole(`${waiting.task}: ${head}`).map(line => paint.bold(line))
  if (filling !== undefined) return framed([...lines, ...fillingLines(waiting, filling, columns - 4, paint)], paint)
  if (title !== null && !isTitled) lines.push(...whole(title))
  for (const detail of particulars(waiting)) lines.push(...whole(detail))
  const { at, size } = question.pages ?? { at: 0, size: DETAILS_MAX }
  for (const detail of details.slice(at * size, (at + 1) * size)) lines.push(paint.dim(say(detail)))
  const left = details.length - (at + 1) * size
  if (left > 0)
    lines.push(paint.dim(`… ${numberOf(left, 'more line')}: ${question.pages === undefined ? 'planfold show' : 'm'}`))
  if (reason === null)
    lines.push(
      offered(question)
        .map(choice => paint.cyan(choice.label))
        .join('  '),
    )
  else
    lines.push(
      `${reason.verdict === 'pushed-back' ? 'what should change?' : 'why?'} ${say(reason.typed.slice(-(columns - 40)))}${paint.inverse(' ')} ${paint.dim('Enter sends, Esc goes back')}`,
    )
  return framed(lines, paint)
}

const framed = (lines: readonly string[], paint: Paint): readonly string[] => [
  '',
  ...lines.map(line => `${paint.yellow('┃')} ${line}`),
]

function fillingLines({ asks }: Waiting, filling: Filling, columns: number, paint: Paint): readonly string[] {
  if (asks.type !== 'question') return []
  const { answers, at, typed: text, fault } = filling
  const keys = at === asks.form.length - 1 ? 'Enter sends, Esc goes back' : 'Enter continues, Esc goes back'
  return [
    ...answerLines(answers).map(line => paint.dim(cut(line, columns))),
    ...wrap(fieldWords(asks.form[at]!), columns),
    ...(fault === null ? [] : [paint.red(cut(escapeForTerminal(fault), columns))]),
    `> ${fittingEnd(escapeForTerminal(text), Math.max(8, columns - keys.length - 4))}${paint.inverse(' ')} ${paint.dim(keys)}`,
  ]
}

interface Choice {
  readonly key: string
  readonly label: string
  readonly verdict: GateVerdict | null
  readonly option?: string
}

const REASONED: ReadonlySet<GateVerdict> = new Set(['rejected', 'pushed-back', 'skipped'])
const KEYS_MAX = 9

const LATER: Choice = { key: 's', label: '[s]kip for now', verdict: null }
const REJECT: Choice = { key: 'r', label: '[r]eject', verdict: 'rejected' }
const GIVE_UP: Choice = { key: 'g', label: '[g]ive up', verdict: 'rejected' }
const AGAIN: Choice = { key: 't', label: '[t]ry again', verdict: 'again' }
const APPROVE: Choice = { key: 'a', label: '[a]pprove', verdict: 'approved' }

const FILL_IN: Choice = { key: 'f', label: '[f]ill in', verdict: null }
const EMPTY: Filling = { answers: {}, at: 0, typed: '', fault: null }

const MORE: Choice = { key: 'm', label: '[m]ore', verdict: null }

function offered({ waiting, details, pages }: Question): readonly Choice[] {
  const all = choices(waiting)
  if (pages === undefined || details.length <= pages.size) return all
  return [MORE, ...(pages.seen ? all : all.filter(({ verdict }) => verdict !== 'approved'))]
}

function turned(question: Question): Question {
  const { details, pages } = question
  if (pages === undefined) return question
  const count = Math.ceil(details.length / pages.size)
  const at = (pages.at + 1) % count
  return { ...question, pages: { ...pages, at, seen: pages.seen || at === count - 1 } }
}

function choices({ asks, back }: Waiting): readonly Choice[] {
  switch (asks.type) {
    case 'unknown-outcome':
      return [{ key: 'h', label: '[h] it happened', verdict: 'done' }, AGAIN, GIVE_UP, LATER]
    case 'recovery':
    case 'replan':
      return [AGAIN, { key: 'p', label: '[p]ass over it', verdict: 'skipped' }, GIVE_UP, LATER]
    case 'decision':
      return [
        ...asks.options.slice(0, KEYS_MAX).map(
          ({ id }, at): Choice => ({
            key: String(at + 1),
            label: `[${at + 1}] ${escapeForTerminal(id)}`,
            verdict: 'chosen',
            option: id,
          }),
        ),
        REJECT,
        LATER,
      ]
    case 'edits':
      return [
        { key: 'k', label: '[k]eep the edits', verdict: 'chosen', option: 'keep' },
        { key: 't', label: '[t]ake the version before the task', verdict: 'chosen', option: 'take' },
        { key: 'm', label: '[m]erge', verdict: 'chosen', option: 'merge' },
        GIVE_UP,
        LATER,
      ]
    case 'question':
      return [FILL_IN, REJECT, LATER]
    case 'verdict':
      return [APPROVE, REJECT, LATER]
    case 'approval':
    case 'consent':
      return back === undefined
        ? [APPROVE, REJECT, LATER]
        : [APPROVE, REJECT, { key: 'b', label: `send [b]ack to ${back}`, verdict: 'pushed-back' }, LATER]
    default:
      return asks satisfies never
  }
}

function particulars(waiting: Waiting): readonly string[] {
  const { asks } = waiting
  switch (asks.type) {
    case 'verdict':
      return asks.criteria.map(criterion => `- ${criterion}`)
    case 'unknown-outcome':
      return [`${asks.evidence.reason}; ${whyNotAgain(asks)}`]
    case 'edits':
      return editedLines(asks)
    case 'consent':
      return [asks.why, ...beside(waiting)]
    case 'decision':
      return [...asks.options.map(optionLine), ...beside(waiting)]
    case 'question':
      return [...asks.form.map(fieldWords), ...beside(waiting)]
    case 'recovery':
    case 'replan':
      return [asks.failure.message, ...(asks.failure.hint === undefined ? [] : [hintText(asks.failure.hint)])]
    case 'approval':
      return [...asks.show.filter(text => text.includes('\n')).flatMap(shownLines), ...beside(waiting)]
    default:
      return asks satisfies never
  }
}

function optionLine({ id, title, pros = [], cons = [], cost }: Option): string {
  const parts = [...pros.map(pro => `+ ${pro}`), ...cons.map(con => `− ${con}`), ...(cost === undefined ? [] : [cost])]
  return `${id}${title === undefined ? '' : `: ${title}`}${parts.length === 0 ? '' : ` (${parts.join(', ')})`}`
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

/** A field is left out by typing nothing, where that may be; otherwise it must fit before the next one is asked for. */
function fillingIn(question: Question, filling: Filling, key: string): Pressed {
  const { waiting } = question
  const { asks, task } = waiting
  const { filling: _, ...chosen } = question
  if (key === '\u001b' || asks.type !== 'question') return { type: 'asking', question: chosen }
  const go = (next: Partial<Filling>): Pressed => ({
    type: 'asking',
    question: { ...question, filling: { ...filling, fault: null, ...next } },
  })
  const { answers, at, typed: text } = filling
  if (key === '\u007f' || key === '\b') return go({ typed: [...text].slice(0, -1).join('') })
  if (key !== '\r' && key !== '\n')
    return key.startsWith('\u001b') ? go({}) : go({ typed: (text + key.replace(/\p{Cc}/gu, ' ')).slice(0, ANSWER_MAX) })
  const read = readField(asks.form[at]!, text.trim())
  if ('fault' in read) return go(read)
  const filled = { ...answers, ...read.answers }
  if (at + 1 < asks.form.length) return go({ answers: filled, at: at + 1, typed: '' })
  return { type: 'answered', task, verdict: 'answered', rationale: '', answers: filled }
}

function readField(field: Field, text: string): { readonly answers: JsonObject } | { readonly fault: string } {
  try {
    const answers = text === '' ? {} : { [field.name]: valueFrom(field, text) }
    const filled = fillIn([field], answers)
    return filled.ok ? { answers } : { fault: `${filled.refusal.message}: ${hintText(filled.refusal.hint ?? '')}` }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return { fault: error.message }
  }
}

function typed(question: Question, reason: NonNullable<Question['reason']>, text: string): Pressed {
  return { type: 'asking', question: { ...question, reason: { ...reason, typed: text } } }
}
