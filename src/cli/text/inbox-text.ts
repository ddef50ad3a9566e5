// Sentences about what waits for a person: gates, questions, troubles, verdicts, and the commands that answer them.

import { next, type Step } from '../../domain/hint.ts'
import type { Millis, PlanId } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import { numberOf } from '../../domain/phrases.ts'
import type { Field, Option, PlanDefinition } from '../../domain/plan.ts'
import { gatedImpact, IMPACT_WORDS, impactOf, isAskedAbout } from '../../domain/plan-rules/impact.ts'
import { peopleLines } from '../../domain/policy/plan-roles.ts'
import type { Verdict } from '../../domain/result.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { PLAN_ENDED } from '../../domain/status.ts'
import { breakerLine } from '../../domain/views/board.ts'
import {
  formOf,
  gateAnswers,
  type InboxAnswer,
  proposalAnswers,
  questionAnswers,
} from '../../domain/views/gate-answers.ts'
import {
  askedSentence,
  editedLines,
  isOutOfTime,
  proposalSentence,
  questionSentence,
  votesSentence,
  whyNotAgain,
} from '../../domain/views/gate-text.ts'
import type { InboxItem, Left } from '../../domain/views/inbox.ts'
import type { Summary, Waiting } from '../../domain/views/summary.ts'
import type { AskedQuestion, Engine, InboxEntry } from '../../engine/engine.ts'
import { printDiff } from '../../format/plan/diff-text.ts'
import { escapeForTerminal, indentedLines, visible } from '../../safety/text/terminal.ts'
import { answer } from '../answer.ts'
import type { Context } from '../context.ts'
import { CliError, EXIT } from '../exit.ts'
import { ago, elapsed } from '../terminal/elapsed-time.ts'
import { brief, briefLine, brief as say } from '../terminal/one-line.ts'
import type { Paint } from '../terminal/paint.ts'
import { commandText, hintText, withoutReason } from './hint-text.ts'

// What was judged before a person is asked: what holds, what does not and what it printed; and what is theirs to judge.

const VERDICT_MAX = 20

export function verdictLines(verdicts: readonly Verdict[]): readonly string[] {
  if (verdicts.length <= VERDICT_MAX) return verdicts.flatMap(verdictWords)
  // What speaks against it is not among what is left out.
  const shown = [...verdicts].sort((a, b) => Number(a.holds === true) - Number(b.holds === true)).slice(0, VERDICT_MAX)
  return [...shown.flatMap(verdictWords), `… and ${verdicts.length - VERDICT_MAX} more checks`]
}

function verdictWords({ criterion, holds, evidence, said }: Verdict): readonly string[] {
  const seen = evidence === undefined ? '' : ` (${brief(evidence)})`
  if (holds === null) return [`? ${brief(criterion)}${seen}: for you to check`]
  const printed = holds || said === undefined ? [] : said.split('\n').map(line => `  │ ${brief(line)}`)
  return [`${holds ? '✔' : '✘'} ${brief(criterion)}${seen}`, ...printed]
}

// A question whose plan has ended: it can no longer be answered, and the asking side must know.

interface AskedIn {
  readonly plan: PlanId
  readonly name: string
  readonly question: AskedQuestion
}

/** The error for a question whose plan ended before the answer; null if it was answered or still can be. */
export async function endedUnanswered(engine: Engine, { plan, name, question }: AskedIn): Promise<CliError | null> {
  const status = (await engine.ask({ type: 'summary', plan }))?.status
  if (status === undefined || !PLAN_ENDED.has(status) || question.answer !== null) return null
  const { id } = question
  return new CliError(
    EXIT.refused,
    'ended',
    `plan '${name}' is ${status}; question '${id}' was not answered`,
    `see planfold summary ${name} --form handoff`,
    [],
    { question },
  )
}

// What waits for a person, in words: the question, what there is to look at, and what answers it. All of it was written by others,
// so characters that move, hide or turn text are made visible.

const INBOX_MAX = 6
const CHANGES_MAX = 20

export const askedWords = (item: Pick<InboxItem, 'task' | 'asks'>): string => briefLine(askedSentence(item, say))

export function inboxLines(
  item: InboxEntry,
  now: number,
  paint: Paint,
  more: readonly string[] = [],
): readonly string[] {
  const { id, name, title, since, answers, checks, evidence } = item
  const indent = ' '.repeat(id.length + 2)
  const ways = answers.map(({ means, ...one }) => ({ ...one, means: hintText(means) }))
  const wordWidth = Math.max(...ways.map(({ answer }) => answer.length))
  const meansWidth = Math.max(...ways.map(({ means }) => means.length))
  return [
    `${paint.yellow(id)}  ${paint.bold(say(name))}  ${askedWords(item)} ${paint.dim(`(${[ago(since, now), ...assignees(item)].join(', ')})`)}`,
    ...standing(item, now).map(line => `${indent}${paint.yellow(line)}`),
    ...(title === null || (item.asks.type === 'question' && item.asks.question === title)
      ? []
      : [`${indent}${say(title)}`]),
    ...inboxParticulars(item).map(line => `${indent}${briefLine(line)}`),
    ...verdictLines(checks).map(line => `${indent}${line}`),
    ...evidence.slice(0, INBOX_MAX).map(left => paint.dim(`${indent}${briefLine(leftWords(left))}`)),
    ...(evidence.length > INBOX_MAX
      ? [paint.dim(`${indent}… and ${evidence.length - INBOX_MAX} more tasks before it`)]
      : []),
    ...more.map(line => `${indent}${line}`),
    ...ways.map(
      ({ answer, means, step }) =>
        `${indent}${paint.cyan(answer.padEnd(wordWidth))}  ${means.padEnd(meansWidth)}  ${paint.dim(escapeForTerminal(commandText(step)))}`,
    ),
  ]
}

export function assignees({ who, role, asks }: Pick<InboxItem, 'who' | 'role' | 'asks'>): readonly string[] {
  const word = 'approvers' in asks ? 'needs role' : 'for'
  return [...(who === null ? [] : [`for ${say(who)}`]), ...(role === null ? [] : [`${word} ${roleWords(role)}`])]
}

const roleWords = ({ name, people }: NonNullable<InboxItem['role']>): string =>
  `${say(name)}${people.length === 0 ? '' : ` (${people.map(say).join(', ')})`}`

function standing({ called, votes, expiresAt }: InboxItem, now: number): readonly string[] {
  return [
    ...(called === null ? [] : [`not answered in time: escalated to ${roleWords(called)}`]),
    ...(votes === null ? [] : [votesSentence(votes.given, votes.wanted, say)]),
    ...(expiresAt === null
      ? []
      : [expiresAt <= now ? 'the time to answer is over' : `answer within ${elapsed(expiresAt - now)}`]),
  ]
}

function proposalWords(asks: Extract<InboxItem['asks'], { readonly type: 'proposal' }>): readonly string[] {
  const changes = printDiff(asks.changes).split('\n')
  return [
    ...(asks.cause === undefined ? [] : [`because: ${say(asks.cause)}`]),
    ...(asks.stale ? ['the plan has changed since: it can only be declined'] : []),
    ...changes.slice(0, CHANGES_MAX).map(say),
    ...(changes.length > CHANGES_MAX ? [`… and ${numberOf(changes.length - CHANGES_MAX, 'more change')}`] : []),
    `hash ${asks.hash.slice(0, 12)}`,
  ]
}

function inboxParticulars({ asks, name }: InboxItem): readonly string[] {
  switch (asks.type) {
    case 'approval':
      return asks.show.slice(0, INBOX_MAX).flatMap(shownLines)
    case 'unknown-outcome':
      return [whyNotAgain(asks), ...(isOutOfTime(asks) ? [`allow more time: ${commandText(moreTime(name))}`] : [])]
    case 'work':
      return [
        ...(asks.instruction === null ? [] : [say(asks.instruction)]),
        ...(asks.outputs.length === 0 ? [] : [`outputs to report: ${asks.outputs.map(say).join(', ')}`]),
      ]
    case 'rollback':
      return asks.conflicts.slice(0, INBOX_MAX).map(path => `edited since: ${say(path)}`)
    case 'edits':
      return editedLines(asks).map(say)
    case 'verdict':
    case 'consent':
      return []
    case 'recovery':
    case 'replan':
      return asks.failure.hint === undefined ? [] : [say(hintText(asks.failure.hint))]
    case 'decision':
      return asks.options.map(option => optionWords(option))
    case 'question':
    case 'agent-question':
      return asks.form.map(field => fieldWords(field))
    case 'proposal':
      return proposalWords(asks)
    default:
      return asks satisfies never
  }
}

const SHOWN_LINES_MAX = 60

export function shownLines(shown: string): readonly string[] {
  const lines = shown.trimEnd().split('\n')
  if (lines.length === 1) return [`see ${say(shown)}`]
  const more = lines.length - SHOWN_LINES_MAX
  return [...lines.slice(0, SHOWN_LINES_MAX).map(say), ...(more > 0 ? [`… and ${numberOf(more, 'more line')}`] : [])]
}

function leftWords({ task, status, exit, paths, outputs, message }: Left): string {
  return [
    `${task} ${status}`,
    ...(exit === null ? [] : [`exit ${exit}`]),
    ...(paths === null ? [] : [`${numberOf(paths, 'path')} written`]),
    ...(outputs.length === 0 ? [] : [`outputs ${outputs.map(say).join(', ')}`]),
    ...(message === null ? [] : [say(message)]),
  ].join(', ')
}

export function optionWords({ id, title, pros = [], cons = [], cost }: Option): string {
  const parts = [
    ...(title === undefined ? [] : [say(title)]),
    ...pros.map(pro => `+ ${say(pro)}`),
    ...cons.map(con => `- ${say(con)}`),
    ...(cost === undefined ? [] : [`costs ${say(cost)}`]),
  ]
  return `${say(id)}${parts.length === 0 ? '' : `: ${parts.join('; ')}`}`
}

export function fieldWords({ name, label, type, choices = [], optional, default: usual }: Field): string {
  const takes = type === 'choice' ? choices.map(say).join(' | ') : type
  const more = [
    ...(usual === undefined ? [] : [`${say(JSON.stringify(usual))} by default`]),
    ...(optional === true ? ['optional'] : []),
  ]
  return `${say(name)} (${[takes, ...more].join(', ')})${label === undefined ? '' : `: ${say(label)}`}`
}

export function answerLines(answers: JsonObject): readonly string[] {
  return Object.entries(answers).map(
    ([name, value]) => `${say(name)}=${say(typeof value === 'string' ? value : JSON.stringify(value))}`,
  )
}

// `planfold show PLAN ID`: a question that was asked in the middle of work, and its answer when there is one.

const ID = /^[0-9a-hj-km-np-tv-z]{8}$/

/** False if `id` is not the id of a question. */
export async function showQuestion(context: Context, engine: Engine, plan: string, id: string): Promise<boolean> {
  if (!ID.test(id) || (await engine.ask({ type: 'task', plan, task: id })) !== null) return false
  const [question] = (await engine.ask({ type: 'questions', plan, id })) ?? []
  if (question === undefined) return false
  const { text, form, by, task, since, answer: given } = question
  const now = context.now()
  const found = await engine.ask({ type: 'find', reference: plan })
  const over = found === null ? null : await endedUnanswered(engine, { ...found, question })
  answer(context, { question }, () => [
    `${context.paint.bold(id)} ${escapeForTerminal(by)}${task === undefined ? '' : `, at ${task},`} asks: ${indentedLines(text, 4)} ${context.paint.dim(`(${ago(since, now)})`)}`,
    ...(given === null
      ? [
          over === null ? '  waits for an answer:' : '  was not answered before the plan finished:',
          ...form.map(field => `  ${fieldWords(field)}`),
        ]
      : [
          `  answered by ${escapeForTerminal(given.by)} ${ago(given.at, now)}:`,
          ...answerLines(given.answers).map(line => `  ${line}`),
        ]),
  ])
  return true
}

const WAITING_MAX = 5

export function waitingLines(
  summary: Pick<Summary, 'name' | 'waiting' | 'claimable' | 'asked' | 'people'>,
  paint: Paint,
): readonly string[] {
  const { name, waiting, claimable, asked: questions = [], people = {} } = summary
  const lines = waiting.length === 0 ? [] : peopleLines(people).map(line => `  ${paint.dim(briefLine(line))}`)
  const gates = waiting
    .slice(0, WAITING_MAX)
    .flatMap(each => [
      `  ${paint.yellow('answer')}   ${asked(each)}`,
      ...[...(formOf(each.asks) ?? []).map(field => briefLine(fieldWords(field))), ...detailLines(each)].map(
        line => `           ${paint.dim(line)}`,
      ),
      ...answerCommands(name, each).map(line => `           ${line}`),
      ...(isOutOfTime(each.asks) ? [`           before a retry, allow more time: ${commandText(moreTime(name))}`] : []),
    ])
  lines.push(...gates)
  if (waiting.length > WAITING_MAX)
    lines.push(paint.dim(`           … and ${waiting.length - WAITING_MAX} more: planfold inbox`))
  for (const { id, what, by, text, form = [], pauses } of questions.slice(0, WAITING_MAX)) {
    const [sentence, ways] =
      what === 'question'
        ? [questionSentence({ by, text, task: null }, brief), formCommands(name, id, form)]
        : [
            proposalSentence({ by, rationale: text }, brief),
            proposalAnswers(name, id).map(({ step }) => shortCommand(step)),
          ]
    lines.push(`  ${paint.yellow('answer')}   ${sentence}`, ...ways.map(line => `           ${line}`))
    if (pauses === true && form[0]?.name === 'more')
      lines.push(`           or add another amount: planfold budget add ${name} --cost, --tokens or --calls N`)
  }
  if (questions.length > WAITING_MAX)
    lines.push(paint.dim(`           … and ${questions.length - WAITING_MAX} more: planfold inbox`))
  if (claimable > 0)
    lines.push(
      `  ${paint.yellow('claim')}    ${claimable} ${claimable === 1 ? 'task is' : 'tasks are'} ready to claim: planfold claim ${name}`,
    )
  return lines
}

export function formCommands(plan: string, id: string, form: readonly Field[]): readonly string[] {
  const others = form.length === 1 ? (form[0]!.choices ?? []).slice(1) : []
  const or = others.length === 0 ? '' : `   (or: ${others.map(choice => brief(choice)).join(', ')})`
  return questionAnswers(plan, id, form).map(({ step }) => `${shortCommand(step)}${or}`)
}

const moreTime = (plan: string): Step => next('budget-add', { plan, what: 'time', amount: '10m' })

export function detailLines({ asks, evidence = [], votes, expiresAt, escalated = [] }: Waiting): readonly string[] {
  const approvers = 'approvers' in asks ? asks.approvers : undefined
  const show = 'show' in asks ? (asks.show ?? []) : []
  return [
    ...(show.length === 0 ? [] : [`see: ${show.map(text => brief(text.split('\n', 1)[0]!)).join(', ')}`]),
    ...verdictLines(evidence),
    ...(approvers?.role === undefined ? [] : [`needs role: ${brief(approvers.role)}`]),
    ...(approvers?.count === undefined || approvers.count < 2
      ? []
      : [votesSentence(votes ?? [], approvers.count, brief)]),
    ...(expiresAt === undefined ? [] : [`answer before ${new Date(expiresAt).toISOString()}`]),
    ...(escalated.length === 0 ? [] : [`escalated: ${escalated.join(', ')}`]),
  ]
}

export const asked = ({ task, asks }: Pick<Waiting, 'task' | 'asks'>): string =>
  briefLine(askedSentence({ task, asks: { ...asks, on: null } }, brief))

function answerCommands(plan: string, { task, asks, back }: Waiting): readonly string[] {
  const ways = gateAnswers(asks.type, { plan, task, mayGoBack: back !== undefined, form: formOf(asks) })
  switch (asks.type) {
    case 'unknown-outcome':
      return meantCommands(ways)
    case 'edits':
      return [
        ...meantCommands(ways.filter(({ step }) => step.next === 'choose')),
        ...ways
          .filter(({ answer }) => answer === 'take')
          .map(({ step }) => `for a single file: ${shortCommand(step)} --keep PATH   (or: --merge PATH)`),
      ]
    default:
      return ways.map(({ step }) => shortCommand(step))
  }
}

function meantCommands(ways: readonly InboxAnswer[]): readonly string[] {
  const commands = ways.map(({ step }) => commandText(withoutReason(step)))
  const width = Math.max(...commands.map(({ length }) => length))
  return ways.map(({ means }, at) => `${commands[at]!.padEnd(width)}   ${hintText(means)}`)
}

export const shortCommand = (step: Step): string =>
  commandText(step.next === 'choose' || step.next === 'accept' ? withoutReason(step) : step)

// Irreversible effects of a plan that its policy allows without asking, shown before it starts.

const TOLD_MAX = 5

export function unaskedLines(definition: PlanDefinition): readonly string[] {
  // By default a person is asked.
  if (definition.policy?.gates?.before === undefined) return []
  const unasked = allTasks(definition).flatMap(task => {
    const impact = isAskedAbout(task) ? impactOf(definition, task) : null
    return impact === null || impact === 'unknown' || gatedImpact(definition, task) !== null
      ? []
      : [
          `'${visible(task.id)}' ${IMPACT_WORDS[impact]}, and no approval is asked for: policy.gates.before leaves it out`,
        ]
  })
  const more = unasked.length - TOLD_MAX
  return more > 0 ? [...unasked.slice(0, TOLD_MAX), `… and ${more} more tasks of this kind`] : unasked
}

const TROUBLE_MAX = 5

export function troubleLines(
  { recovering = [], breakers = [], stopped }: Pick<Summary, 'recovering' | 'breakers' | 'stopped'>,
  now: Millis,
  paint: Paint,
): readonly string[] {
  return [
    ...recovering.slice(0, TROUBLE_MAX).map(({ task, how }) => `  ${paint.yellow('recovers')} ${task}: ${brief(how)}`),
    ...breakers
      .slice(0, TROUBLE_MAX)
      .map(breaker => `  ${paint.yellow('held')}     ${brief(breakerLine(breaker, now))}`),
    ...(stopped?.next ?? []).map((line, at) => `  ${at === 0 ? 'Next:   ' : '        '} ${brief(hintText(line))}`),
  ]
}
