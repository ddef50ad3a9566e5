// `planfold show PLAN [TASK]`: a plan with all its tasks, or one task with everything known about it.

import type { Composed } from '../../../compose.ts'
import { sandboxedCommand } from '../../../domain/actions/actions.ts'
import { keyText } from '../../../domain/budget/budget-text.ts'
import { ownBudget } from '../../../domain/budget/ledger.ts'
import type { Shown } from '../../../domain/gates/consent.ts'
import { aimHint } from '../../../domain/hint.ts'
import type { PlanId, TaskName } from '../../../domain/id.ts'
import { type CountedDecision, decisionWords } from '../../../domain/network-decision.ts'
import { failedText, numberOf } from '../../../domain/phrases.ts'
import type { Budget, Option, PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { peopleLines } from '../../../domain/policy/plan-roles.ts'
import type { TestRun } from '../../../domain/result.ts'
import { allTasks } from '../../../domain/state/task-index.ts'
import { ENDED } from '../../../domain/status.ts'
import type { Briefing, Card, Removed } from '../../../domain/views/board.ts'
import { formOf, gateAnswers } from '../../../domain/views/gate-answers.ts'
import { type AgentSpend, lastSpend, spendWords, stepLines } from '../../../domain/views/pages/agent-lines.ts'
import { spelled } from '../../../domain/views/pages/foreign-text.ts'
import type { Summary, Waiting } from '../../../domain/views/summary.ts'
import { testLines } from '../../../domain/views/test-changes.ts'
import { contextRows } from '../../../domain/views/timeline.ts'
import type { Engine } from '../../../engine/engine.ts'
import { printMoney } from '../../../format/text/units.ts'
import { escapeForTerminal, indentedLines, shellWord } from '../../../safety/text/terminal.ts'
import type { AttemptRow } from '../../../stores/store.ts'
import { answer, type Context, EXIT, usage, withState } from '../../command.ts'
import { findPlanOrTask } from '../../find-target.ts'
import { dateAndTime, elapsed } from '../../terminal/elapsed-time.ts'
import { brief, briefLines } from '../../terminal/one-line.ts'
import { type Paint, symbol, tint } from '../../terminal/paint.ts'
import { cut, table } from '../../terminal/table.ts'
import { briefingLines, judgedLines, leftLines } from '../../text/briefing-text.ts'
import { hintText } from '../../text/hint-text.ts'
import {
  asked,
  fieldWords,
  optionWords,
  shortCommand,
  shownLines,
  showQuestion,
  verdictLines,
  waitingLines,
} from '../../text/inbox-text.ts'
import { isInterrupted, liftedReason, shownState } from '../../text/plan-state.ts'
import { rollbackLine } from '../../text/rollback-result.ts'
import { noSandboxLine } from '../../text/run-mode-text.ts'
import { taskWord } from '../../text/run-summary.ts'
import type { ContractOptions } from '../records/contract.ts'
import type { AnalyzeCommandOptions } from './analyze.ts'

export interface ShowOptions extends AnalyzeCommandOptions, ContractOptions {
  readonly all?: boolean
  readonly checks?: boolean
  readonly compare?: string
  readonly steps?: boolean
  readonly analysis?: boolean
}

export async function show(
  context: Context,
  first: string | undefined,
  second: string | undefined,
  options: ShowOptions = {},
): Promise<number> {
  const other = viewOf(options)
  if (other !== null) {
    if (second !== undefined) throw usage(`${other} is about a whole plan, not a task`, 'name only the plan')
    if (other === '--analysis') return await (await import('./analyze.ts')).analyze(context, first, options)
    if (other === '--checks') return await (await import('../records/contract.ts')).contract(context, first, options)
    return await (await import('../undo/compare.ts')).compare(context, first, options.compare!, options)
  }
  return await withState(context, { create: false }, async composed => {
    if (first !== undefined && second !== undefined && (await showQuestion(context, composed.engine, first, second)))
      return EXIT.done
    const { plan, task } = await findPlanOrTask(composed.engine, first, second, { removed: true, looking: true })
    if (options.steps === true) {
      if (task === null) throw usage('--steps is about one task', 'name the task, too')
      await showSteps(context, composed.engine, plan, task)
    } else if (task === null) await showPlan(context, composed, plan, options)
    else await showTask(context, composed, plan, task, options)
    return EXIT.done
  })
}

/** The option that asks for another view than that of the tasks. */
function viewOf({ analysis, checks, compare, ...options }: ShowOptions): string | null {
  const views = [analysis && '--analysis', checks && '--checks', compare && '--compare'].filter(one => Boolean(one))
  if (views.length > 1) throw usage(`${views[0]} and ${views[1]} cannot be used together`, 'use one of them')
  if (options.open === true && checks !== true) throw usage('--open needs --checks', 'add --checks')
  const isAnalysis = options.strict === true || options.assume !== undefined || options.maxTasks !== undefined
  if (isAnalysis && analysis !== true)
    throw usage('--strict, --assume and --max-tasks need --analysis', 'add --analysis')
  return views[0] || null
}

async function showSteps(context: Context, engine: Engine, plan: PlanId, task: TaskName): Promise<void> {
  const steps = (await engine.ask({ type: 'agentSteps', plan, task })) ?? []
  answer(context, { items: steps }, () =>
    steps.length === 0
      ? [`${task}: no steps are on record; only agents that Planfold starts report them`]
      : steps.flatMap(step => [
          context.paint.dim(
            `${dateAndTime(step.at)}, attempt ${step.attempt}${step.visit > 1 ? ` of run ${step.visit}` : ''}`,
          ),
          ...stepLines(step).map(line => `  ${escapeForTerminal(line)}`),
        ]),
  )
}

const NARROW = 100

async function showPlan(
  context: Context,
  { engine, sandbox }: Composed,
  plan: PlanId,
  { all = false }: ShowOptions,
): Promise<void> {
  const summary = await engine.ask({ type: 'summary', plan })
  const cards = (await engine.ask({ type: 'board', plan })) ?? []
  const isHalted = (await engine.killSwitch.halted()) !== null
  const paused = summary === null ? null : liftedReason(summary, isHalted)
  const { paint, terminal } = context
  const unheld = await noSandboxLine(
    cards.filter(({ status }) => !ENDED.has(status)),
    () => sandbox.check(),
  )
  const made = await engine.ask({ type: 'entries', plan, limit: 1 })
  const based = made?.[0]?.events.flatMap(event => (event.type === 'plan.created' ? (event.context ?? []) : []))[0]
  answer(context, { summary, tasks: cards, ...(based === undefined ? {} : { context: based }) }, () => {
    if (summary === null) return []
    const columns = terminal?.columns() ?? null
    const isNarrow = columns !== null && columns < NARROW
    const isDriven = summary.holder?.alive === true
    const rows = cards.map(card => [
      { text: card.name, tint: paint.bold },
      statusCell(card, isDriven, paint),
      card.action,
      ...(isNarrow ? [] : [card.effect, card.runs ?? '']),
      card.attempt === 0 ? '' : card.visits > 1 ? `${card.attempt} (run ${card.visits})` : String(card.attempt),
      card.startedAt === null || card.endedAt === null ? '' : elapsed(card.endedAt - card.startedAt),
      brief(card.title ?? ''),
    ])
    const [head = '', ...lines] = table(
      paint,
      ['task', 'status', 'action', ...(isNarrow ? [] : ['effect', 'runs']), 'attempts', 'took', 'title'],
      rows,
      columns,
    )
    const { word, sign } = shownState({ summary, board: cards, isDriven })
    return [
      `${symbol(paint, sign)} ${paint.bold(summary.name)} ${tint(paint, sign)(word)}${summary.archived ? ', archived' : ''}, revision ${summary.revision}, ${summary.id}`,
      ...[rollbackLine(summary, paint)].filter(line => line !== null),
      ...(summary.status === 'paused' && paused !== null ? [`  ${escapeForTerminal(paused)}`] : []),
      ...[...new Set([summary.title, summary.goal])]
        .filter(text => text !== null)
        .map(text => `  ${briefLines(text, 4)}`),
      ...(based === undefined ? [] : contextRows(based)).map(({ name, text }) => {
        const shown = all ? indentedLines(text, 15) : briefLines(text, 2)
        return `  ${paint.dim(name.padEnd(12))} ${shown}`
      }),
      ...peopleLines(summary.people ?? {}).map(line => `  ${escapeForTerminal(line)}`),
      ...(summary.place === null ? [] : [`  works in ${escapeForTerminal(summary.place)}`]),
      '',
      head,
      ...lines.flatMap((line, at) => [line, ...reasonLines(cards[at]!, columns, paint)]),
      ...(unheld === null ? [] : ['', unheld]),
    ]
  })
}

function statusCell(
  card: Card,
  isDriven: boolean,
  paint: Paint,
): { readonly text: string; readonly tint: ReturnType<typeof tint> } {
  return isInterrupted(card, isDriven)
    ? { text: 'interrupted', tint: tint(paint, 'paused') }
    : { text: taskWord(card.status), tint: tint(paint, card.status) }
}

function reasonLines({ reason }: Card, columns: number | null, paint: Paint): readonly string[] {
  if (reason === null || reason === '') return []
  const text = brief(reason)
  return [paint.dim(`    ${columns === null ? text : cut(text, Math.max(8, columns - 5))}`)]
}

interface ShownTask {
  readonly name: string
  readonly isDriven: boolean
  readonly card: Card
  readonly definition: TaskDefinition | null
  readonly attempts: readonly AttemptRow[]
  readonly beside: readonly string[]
  readonly tests: readonly TestRun[]
  readonly network: readonly (CountedDecision & { readonly visit: number; readonly attempt: number })[]
  readonly preview: string | null
  readonly briefing: Briefing | null
  readonly removed: Removed | null
  readonly asks: readonly string[]
  /** It is a command that nothing holds to what it says it writes. */
  readonly isFree: boolean
  readonly spent: AgentSpend | null
  readonly programs: readonly string[]
}

async function showTask(
  context: Context,
  { engine, sandbox }: Composed,
  plan: PlanId,
  task: TaskName,
  options: ShowOptions,
): Promise<void> {
  const removed = await engine.ask({ type: 'removed', plan, task })
  const card = removed?.card ?? (await engine.ask({ type: 'task', plan, task }))
  const current = await engine.ask({ type: 'definition', plan })
  const definition = removed?.definition ?? (current === null ? null : definitionOf(current.definition, task))
  const attempts = (await engine.ask({ type: 'attempts', plan, task })).items
  const preview = removed === null ? await engine.ask({ type: 'preview', plan, task }).catch(() => null) : null
  const briefing = removed === null ? await engine.ask({ type: 'briefing', plan, task }) : null
  const summary = await engine.ask({ type: 'summary', plan })
  const waiting = summary?.waiting.find(each => each.task === task) ?? null
  const asks = waiting === null ? [] : await askedLines(context, engine, summary!, waiting, options)
  const work = waiting === null ? null : await engine.ask({ type: 'judgedWork', plan, task })
  const inWork = (summary?.asked ?? []).filter(each => each.task === task)
  const questions = inWork.length === 0 ? [] : askedInWork(summary!.name, inWork, context.paint)
  const page = removed === null ? await engine.ask({ type: 'taskPage', plan, task }) : null
  const network = (page?.attempts ?? []).flatMap(one =>
    one.network.map(decision => ({ visit: one.visit, attempt: one.attempt, ...decision })),
  )
  const tests = (page?.criteria ?? []).flatMap(({ judged }) => judged?.tests ?? [])
  const says = card?.action === 'run' && (briefing?.write ?? null) !== null
  const isFree = says && (card.runs !== 'held' || !(await sandbox.check()).ok)
  const beside = page?.attempts.at(-1)?.beside ?? []
  const programs = page?.attempts.findLast(({ status }) => status !== 'running')?.programs ?? []
  const spent = card?.action === 'agent' ? await spentSoFar(engine, plan, task) : null
  const data = {
    task: card,
    asks: waiting,
    ...(spent === null ? {} : { spent }),
    shown: await shownTo(engine, waiting),
    definition,
    attempts,
    ...(beside.length === 0 ? {} : { beside }),
    ...(tests.length === 0 ? {} : { tests }),
    ...(programs.length === 0 ? {} : { programs }),
    network,
    preview: preview?.text ?? null,
    ...(work === null ? {} : { work }),
    briefing,
    removed: whenGone(removed),
  }
  answer(context, data, () =>
    card === null
      ? []
      : taskLines(context, {
          name: summary?.name ?? plan,
          isDriven: removed !== null || summary?.holder?.alive === true,
          card,
          definition,
          attempts,
          beside,
          tests,
          network,
          preview: data.preview,
          briefing,
          removed,
          asks: [...judgedLines(work, context.paint), ...asks, ...questions],
          isFree,
          spent,
          programs,
        }),
  )
}

const askedInWork = (name: string, inWork: NonNullable<Summary['asked']>, paint: Paint): readonly string[] => [
  '',
  ...waitingLines({ name, waiting: [], claimable: 0, asked: inWork }, paint),
]

function definitionOf(definition: PlanDefinition, task: TaskName): TaskDefinition | null {
  const written = definition.tasks.find(each => each.id === task)
  return written ?? allTasks(definition).find(each => each.id === task) ?? null
}

function whenGone(removed: Removed | null): Omit<Removed, 'card' | 'definition'> | null {
  if (removed === null) return null
  const { card: _card, definition: _definition, ...gone } = removed
  return gone
}

/** The stored bytes of what an approval agrees to; null when it is bound to none. */
async function shownTo(engine: Engine, waiting: Waiting | null): Promise<Shown | null> {
  const { boundTo } = await import('../../text/consent-text.ts')
  const sha256 = waiting === null ? null : boundTo(waiting)
  const bytes = sha256 === null ? null : await engine.ask({ type: 'blob', sha256 })
  return bytes === null ? null : (JSON.parse(Buffer.from(bytes).toString('utf8')) as Shown)
}

async function askedLines(
  context: Context,
  engine: Engine,
  { name: plan, people = {} }: Summary,
  waiting: Waiting,
  { all = false }: ShowOptions,
): Promise<readonly string[]> {
  const { paint } = context
  const { consentLines } = await import('../../text/consent-text.ts')
  const lines = await consentLines(context, engine, waiting, { all })
  const { task, asks, hash, back } = waiting
  const [first, ...others] = gateAnswers(asks.type, {
    plan,
    task,
    mayGoBack: back !== undefined,
    form: formOf(asks),
  })
  const { step } = first!
  const isSeen = step.next === 'approve' && hash !== undefined && lines.length > 0
  const seen = isSeen ? ` --hash ${hash.slice(0, 12)}` : ''
  return [
    '',
    paint.yellow(asked(waiting)),
    ...peopleLines(people).map(line => `  ${escapeForTerminal(line)}`),
    ...(formOf(asks) ?? []).map(field => `  ${fieldWords(field)}`),
    ...('show' in asks ? (asks.show ?? []) : []).flatMap(shownLines).map(line => `  ${line}`),
    ...verdictLines(waiting.evidence ?? []).map(line => `  ${line}`),
    ...lines.map(line => `  ${line}`),
    paint.dim(`Next: ${shortCommand(step)}${seen}`),
    ...others.map(other => paint.dim(`  or: ${shortCommand(other.step)}`)),
  ]
}

const optionsOf = (definition: TaskDefinition | null): readonly Option[] =>
  definition?.action.type === 'gate' ? (definition.action.options ?? []) : []

function budgetWords(budget: Budget = {}): string | null {
  const { timeMs, cost, attempts, tokens, calls, outputBytes, exceeded } = budget
  const words = [
    ...(timeMs === undefined ? [] : [elapsed(timeMs)]),
    ...(cost === undefined ? [] : [printMoney(cost)]),
    ...(tokens === undefined ? [] : [keyText('tokens', tokens)]),
    ...(calls === undefined ? [] : [keyText('calls', calls)]),
    ...(attempts === undefined ? [] : [numberOf(attempts, 'attempt')]),
    ...(outputBytes === undefined ? [] : [`${keyText('outputBytes', outputBytes)} of output`]),
  ]
  return words.length === 0 ? null : `at most ${words.join(', ')}${exceeded === 'fail' ? ', else it fails' : ''}`
}

const ATTEMPTS: { readonly [status: string]: string } = { succeeded: 'completed', lost: 'interrupted' }

function taskLines(
  context: Context,
  {
    name: plan,
    isDriven,
    card,
    definition,
    attempts,
    beside,
    tests,
    network,
    preview,
    briefing,
    removed,
    asks,
    isFree,
    spent,
    programs,
  }: ShownTask,
): readonly string[] {
  const { paint, terminal } = context
  const gone =
    removed === null
      ? null
      : `in revision ${removed.revision} by ${removed.by}: ${removed.rationale}; it was ${removed.was}`
  const fields: readonly (readonly [string, string | null])[] = [
    ['title', card.title],
    ['removed', gone],
    ['what', removed?.definition.description ?? null],
    ['why', definition?.rationale ?? null],
    ...optionsOf(definition).map(option => ['option', optionWords(option)] as const),
    ['kind', card.kind],
    [
      'action',
      `${card.action}, effect ${card.effect}${card.runs === null ? '' : `, runs ${card.runs}${card.author === 'others' ? ' (written by others)' : ''}`}${card.optional ? ', optional' : ''}`,
    ],
    ['needs', card.needs.length === 0 ? null : card.needs.join(', ')],
    ['estimate', definition?.estimateMs === undefined ? null : elapsed(definition.estimateMs)],
    ['budget', budgetWords(definition === null ? undefined : ownBudget(definition))],
    ...(definition?.risks ?? []).map(risk => ['risk', risk] as const),
    ...(definition?.assumptions ?? []).map(assumption => ['assumes', assumption] as const),
    ['reason', card.status === 'failed' ? failedText(card.reason) : card.reason],
    ['hint', card.hint === null ? null : hintText(aimHint(card.hint, { plan, task: card.name }))],
    ...beside.map(line => ['note', line] as const),
    ...tests.flatMap(testLines).map(line => ['tests', line] as const),
    ['recovery', card.recovery ?? null],
    ['claimed', card.claimedBy],
    ['exit', card.exit === null ? null : String(card.exit)],
    ['spent', spent === null ? null : `${spendWords(spent)}${attempts.length > 1 ? ' in the last attempt' : ''}`],
    ['ran with', programs.length === 0 ? null : programs.join(', ')],
    ['outputs', card.outputs === null ? null : JSON.stringify(card.outputs)],
    ['id', card.id],
  ]
  const state = statusCell(card, isDriven, paint)
  const sign = isInterrupted(card, isDriven) ? 'paused' : card.status
  const lines = [`${symbol(paint, sign)} ${paint.bold(card.name)} ${state.tint(state.text)}`]
  for (const [name, text] of fields)
    if (text !== null && text !== '') lines.push(`  ${paint.dim(name.padEnd(8))} ${indentedLines(text, 11)}`)
  const briefed = briefing !== null && ENDED.has(card.status) ? { ...briefing, earlier: [] } : briefing
  if (briefed !== null) lines.push(...briefingLines(briefed, paint, isFree))
  if (briefed !== null && card.status === 'ready') lines.push(...leftLines(briefed, { plan, visit: card.visit }, paint))
  if (attempts.length > 0) {
    const rows = attempts.map(each => [
      String(each.visit),
      String(each.attempt),
      each.status === 'running' ? state.text : (ATTEMPTS[each.status] ?? each.status),
      dateAndTime(each.startedAt),
      each.durationMs === null ? '' : elapsed(each.durationMs),
      each.exit === null ? '' : String(each.exit),
    ])
    lines.push(
      '',
      ...table(paint, ['run', 'attempt', 'status', 'started', 'took', 'exit'], rows, terminal?.columns() ?? null),
    )
  }
  const last = network.filter(({ visit, attempt }) => visit === card.visit && attempt === card.attempt)
  if (last.length > 0) lines.push('', ...last.map(decision => `  ${escapeForTerminal(decisionWords(decision))}`))
  lines.push(...asks)
  const [written, would] = [commandOf(definition), asks.length === 0 ? (preview ?? '').trimEnd() : '']
  for (const [head, text] of [
    ['it runs, as it is written:', would.startsWith(written) ? '' : written],
    ['it would run:', would],
  ] as const) {
    const shown = escapeForTerminal(spelled(text), { keepLines: true }).split('\n')
    if (text.trim() !== '') lines.push('', paint.dim(head), ...shown.map(line => `  ${line}`))
  }
  return lines
}

function commandOf(definition: TaskDefinition | null): string {
  const command = definition === null ? null : sandboxedCommand(definition.action)
  if (command === null) return ''
  return 'argv' in command ? command.argv.map(shellWord).join(' ') : command.script.trimEnd()
}

/** How many chunks of the log to search; an agent calls its model far more often than that. */
const PIECES = 200

/** The spending of a task's agent in its last attempt, while it works and afterwards: from the last line of its log that reports it. */
async function spentSoFar(engine: Engine, plan: string, task: string): Promise<AgentSpend | null> {
  const pieces = (await engine.ask({ type: 'logs', plan, task, before: Number.MAX_SAFE_INTEGER, limit: PIECES })) ?? []
  const last = pieces.at(-1)
  const lines = pieces.flatMap(({ stream, visit, attempt, text }) =>
    stream === 'engine' && visit === last?.visit && attempt === last.attempt ? [text] : [],
  )
  return lastSpend(lines.join(''))
}
