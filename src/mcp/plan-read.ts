// The tool `plan_read`: reads plans without changing them. Every answer is text within a token budget.

import { keyText } from '../domain/budget/budget-text.ts'
import type { PlanId, TaskName } from '../domain/id.ts'
import { numberOf } from '../domain/phrases.ts'
import { askedSentence } from '../domain/views/gate-text.ts'
import { stepLines } from '../domain/views/pages/agent-lines.ts'
import { fileAndLine, whyLines } from '../domain/views/pages/why-lines.ts'
import type { Summary } from '../domain/views/summary.ts'
import { testLines } from '../domain/views/test-changes.ts'
import { tickedIn } from '../domain/views/ticked-checks.ts'
import { sentence, visibleEvents } from '../domain/views/timeline.ts'
import type { PlanReadInput } from '../format/wire/agent-tools.ts'
import { linesWithin } from '../operations/agents/token-budget.ts'
import { hintText, refusalText } from './hint-text.ts'
import {
  briefingLines,
  clean,
  DATA_NOTE,
  headLines,
  quote,
  TOKENS_DEFAULT,
  taskLine,
  withinBudget,
} from './plan-text.ts'
import {
  claimedAmong,
  findOpenTask,
  findPlan,
  findPlanInHand,
  findTask,
  type Room,
  ToolError,
  whyStopped,
} from './room.ts'

const LIST_PAGE = 20
const CHANGES_PAGE = 200
const READY_MAX = 5
const EXPLAINED_MAX = 10
const SHORT_MAX = 30
/** Lower bound for a task line: `- [ ] a (ready)`. */
const LINE_MIN = 15

export async function planRead(room: Room, input: PlanReadInput): Promise<string> {
  switch (input.what ?? 'next') {
    case 'list':
      return await list(room, input)
    case 'search':
      return await search(room, input)
    case 'inbox':
      return await inbox(room, input)
    case 'task':
      return await taskText(room, input)
    case 'steps':
      return await stepsText(room, input)
    case 'answer':
      return await answerText(room, input)
    case 'why':
      return await whyText(room, input)
    case 'memory':
      return await (await import('./memory.ts')).memoryText(room, input)
    case 'changes':
      return await changes(room, input)
    default: {
      const { plan } = await findPlanInHand(room, input.plan)
      if (input.what === 'plan') return await planText(room, plan, input)
      if (input.what === 'completed') return await completed(room, plan)
      if (input.what === 'blocked') return await blocked(room, plan, input)
      return await nextText(room, plan, input)
    }
  }
}

interface Budget {
  readonly max_tokens?: number | undefined
  readonly page?: string | undefined
}

/** The compact view, also part of `plan_write` answers: the head, then what matters now. */
export async function planText(room: Room, plan: PlanId, budget: Budget = {}): Promise<string> {
  const { engine } = room
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary === null) throw new ToolError('error: there is no such plan')
  const me = engine.caller.actor
  const from = pageNumber(budget.page)
  const head = from === 0 ? headLines(summary) : [`# ${clean(summary.name)}, tasks from ${from + 1}`]
  // In plan order if it fits; otherwise what matters now comes first, and only that much is read.
  const { total } = summary.progress
  const tokens = budget.max_tokens ?? TOKENS_DEFAULT
  const cards =
    total <= SHORT_MAX
      ? (await engine.ask({ type: 'board', plan }))?.slice(from)
      : await engine.ask({
          type: 'board',
          plan,
          urgent: { by: me, from, limit: Math.ceil((tokens * 4) / LINE_MIN) + 1 },
        })
  const lines = (cards ?? []).map(card => taskLine(card, me))
  const rest = (left: number, page: number): string =>
    `… ${numberOf(left, 'more task')}: plan_read {"what":"plan","plan":"${summary.name}","page":"${page}"}`
  const ours = (cards ?? []).filter(({ status, action }) => status === 'ready' && isRunHere(action))
  const state = [...runLines(ours), ...(await budgetLines(room, plan)), ...(await stateLines(room, summary))]
  const besides = [...head, ...state, rest(total, total)].join('\n')
  const shown = linesWithin(lines, tokens, besides)
  const left = Math.max(0, total - from) - shown
  const more = left === 0 ? [] : [rest(left, from + shown)]
  return [...head, ...lines.slice(0, shown), ...more, ...state].join('\n')
}

/** The remaining budget, if the plan has one. Only a person can raise it. */
async function budgetLines({ engine }: Room, plan: PlanId): Promise<readonly string[]> {
  const report = await engine.ask({ type: 'budget', plan, earlier: false })
  const own = report?.blocks.find(({ task }) => task === null)
  if (report == null || own === undefined || own.lines.length === 0) return []
  const left = own.lines.map(({ key, cap, left }) => `${keyText(key, left)} of ${keyText(key, cap)}`)
  const asked = report.asked === null ? '' : '; it is used up, and a person is asked for more'
  return [`Budget left: ${left.join(', ')}${asked}`]
}

function pageNumber(page = '0'): number {
  if (/^\d{1,9}$/.test(page)) return Number(page)
  throw new ToolError(
    `error: '${clean(page)}' is not a page of this plan\nhint: take \`page\` from the previous answer`,
  )
}

async function stateLines(room: Room, summary: Summary): Promise<readonly string[]> {
  const { status, name, claimable, progress } = summary
  const stopped = await whyStopped(room, summary)
  if (stopped !== null) return [stopped]
  if (status === 'draft' && progress.total === 0)
    return [`Next: plan_write {"action":"edit","plan":"${name}","tasks":[…]}`]
  if (status === 'draft') return [`Next: plan_write {"action":"start","plan":"${name}"}`]
  return claimable > 0 && (status === 'active' || status === 'blocked') ? [claimLine(name)] : []
}

export const claimLine = (plan: string): string => `Next: plan_write {"action":"claim","plan":"${plan}"}`

async function nextText(room: Room, plan: PlanId, { max_tokens }: Budget): Promise<string> {
  const { engine } = room
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary === null) throw new ToolError('error: there is no such plan')
  const head = headLines(summary)
  const stopped = await whyStopped(room, summary)
  const [mine, ...more] = await claimedAmong(room, plan, summary.running)
  if (mine !== undefined)
    return withinBudget(
      [
        ...(stopped === null ? [] : [stopped]),
        'Your task:',
        ...(await aboutTask(room, plan, mine)),
        ...more.map(
          one => `Also yours: ${clean(one)}; plan_read {"what":"task","plan":"${summary.name}","task":"${one}"}`,
        ),
        '',
        ...head,
      ],
      max_tokens,
      'ask with more max_tokens',
    )
  if (summary.progress.total > 0 && summary.status === 'completed') return [...head, 'All tasks are done.'].join('\n')
  const next = await engine.ask({ type: 'next', plan, limit: READY_MAX })
  if (next === null) throw new ToolError('error: there is no such plan')
  const { ready, held, claimable: count } = next
  const isOpen = stopped === null && summary.status !== 'draft'
  const claimable = isOpen ? ready.filter(({ action }) => action === 'external') : []
  const why = count > 0 ? null : await engine.ask({ type: 'next', plan, explain: true, limit: EXPLAINED_MAX })
  const ours = ready.filter(({ action }) => isRunHere(action))
  const lines = [
    ...head,
    ...(claimable.length === 0
      ? [stopped ?? 'Nothing can be claimed now.']
      : ['Ready to claim:', ...claimable.map(card => taskLine(card, engine.caller.actor))]),
    ...(isOpen && count > READY_MAX ? [`… and ${count - READY_MAX} more`] : []),
    ...runLines(ours),
    ...held.map(({ task }) => `${clean(task)} waits for files that another plan holds`),
    ...(why?.explained ?? []).map(one => `- ${clean(hintText(one.why))}`),
    ...(summary.status === 'draft' ? await stateLines(room, summary) : []),
    ...(claimable.length > 0 ? [claimLine(summary.name)] : []),
  ]
  return withinBudget(lines, max_tokens, `plan_read {"what":"plan","plan":"${summary.name}"}`)
}

const isRunHere = (action: string): boolean => action !== 'external' && action !== 'gate'

function runLines(ours: readonly { readonly name: TaskName }[]): readonly string[] {
  if (ours.length === 0) return []
  const names = ours.slice(0, READY_MAX).map(({ name }) => clean(name))
  return [`For Planfold to run: ${names.join(', ')}${ours.length > READY_MAX ? ' and more' : ''}. ${RUNS}`]
}

const RUNS =
  'They run while `planfold run`, `planfold serve` or `planfold mcp --run` does; ask the person if none does.'

async function aboutTask({ engine }: Room, plan: PlanId, task: TaskName): Promise<readonly string[]> {
  const briefing = await engine.ask({ type: 'briefing', plan, task })
  const card = await engine.ask({ type: 'task', plan, task })
  if (briefing === null || card === null) throw new ToolError('error: there is no such task')
  const isTested = [...briefing.accept, ...briefing.postconditions].some(({ type }) => type === 'tests')
  const page = isTested ? await engine.ask({ type: 'taskPage', plan, task }) : null
  const mayInspect = engine.caller.rights.has('inspect')
  const work = (mayInspect ? await engine.ask({ type: 'judgedWork', plan, task }) : null) ?? []
  const tests = (page?.criteria ?? []).flatMap(({ judged }) => (judged?.tests == null ? [] : testLines(judged.tests)))
  return [
    ...briefingLines(briefing, Object.keys(tickedIn(card))),
    ...tests.map(line => `Tests: ${clean(line)}`),
    ...work.flatMap(({ title, text }) => [title, ...text.split('\n').map(clean)]),
    taskLine(card, engine.caller.actor),
  ]
}

async function taskText(room: Room, input: PlanReadInput): Promise<string> {
  const { plan, task } =
    input.plan === undefined && input.task !== undefined
      ? await findOpenTask(room, input.task)
      : await findTask(room, input.plan, input.task)
  const lines = [DATA_NOTE, ...(await aboutTask(room, plan, task))]
  return withinBudget(lines, input.max_tokens, 'ask with more max_tokens')
}

/** The last step first: it explains the result. */
async function stepsText(room: Room, input: PlanReadInput): Promise<string> {
  const { plan, task } = await findTask(room, input.plan, input.task)
  const steps = (await room.engine.ask({ type: 'agentSteps', plan, task })) ?? []
  const lines = steps
    .toReversed()
    .flatMap(step => [`Attempt ${step.attempt}:`, ...stepLines(step).map(line => `| ${clean(line)}`)])
  const head = lines.length === 0 ? `No steps of '${clean(task)}' are on record.` : 'Newest step first:'
  return withinBudget([DATA_NOTE, head, ...lines], input.max_tokens, 'ask with more max_tokens')
}

async function completed({ engine }: Room, plan: PlanId): Promise<string> {
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary === null) throw new ToolError('error: there is no such plan')
  const { done, total } = summary.progress
  const isDone = summary.status === 'completed' && total > 0
  return `${isDone ? 'yes' : 'no'}: '${clean(summary.name)}' is ${summary.status}, ${done} of ${total} tasks are done`
}

async function blocked({ engine }: Room, plan: PlanId, { max_tokens }: Budget): Promise<string> {
  const next = await engine.ask({ type: 'next', plan, explain: true })
  const lines = (next?.explained ?? []).map(({ why }) => `- ${clean(hintText(why))}`)
  return withinBudget(lines.length === 0 ? ['Nothing is blocked.'] : lines, max_tokens, 'ask with more max_tokens')
}

async function changes(room: Room, input: PlanReadInput): Promise<string> {
  const { engine } = room
  const { plan, name } = await findPlanInHand(room, input.plan)
  const after = input.since ?? 0
  const entries = (await engine.ask({ type: 'entries', plan, after, limit: CHANGES_PAGE })) ?? []
  const summary = await engine.ask({ type: 'summary', plan })
  const lines = entries.flatMap(({ version, actor, events }) =>
    visibleEvents(events).map(event => `- ${version} ${clean(actor)}: ${clean(sentence(event))}`),
  )
  const last = entries.at(-1)?.version ?? after
  const head = [`${clean(name)}: revision ${summary?.revision}, version ${summary?.version}; changes after ${after}:`]
  const rest =
    summary !== null && last < summary.version
      ? [`… more: plan_read {"what":"changes","plan":"${name}","since":${last}}`]
      : []
  return withinBudget(
    [...head, ...(lines.length === 0 ? ['nothing'] : lines), ...rest],
    input.max_tokens,
    'ask with a later `since`',
  )
}

async function list({ engine }: Room, { page, max_tokens }: Budget): Promise<string> {
  const found = await engine.ask({ type: 'plans', archived: false, limit: LIST_PAGE, cursor: page })
  const lines = found.items.map(
    ({ name, title, status, done, tasks }) =>
      `- ${clean(name)}: ${status}, ${done} of ${tasks} done${title === null ? '' : `, ${quote(title)}`}`,
  )
  const note = found.items.some(({ title }) => title !== null) ? [DATA_NOTE] : []
  const more = found.next === null ? [] : [`… more: plan_read {"what":"list","page":"${found.next}"}`]
  return withinBudget(
    [...note, ...(lines.length === 0 ? ['There are no plans.'] : lines), ...more],
    max_tokens,
    'ask with more max_tokens',
  )
}

async function inbox(room: Room, input: PlanReadInput): Promise<string> {
  const only = input.plan === undefined ? null : (await findPlan(room, input.plan)).plan
  const { items } = await room.engine.ask({ type: 'inbox' })
  const lines = items
    .filter(({ plan }) => only === null || plan === only)
    .map(item => `- ${clean(item.name)}: ${askedSentence(item, text => clean(text))}`)
  const head = lines.length === 0 ? 'Nothing waits for a person.' : 'Waiting for a person (you cannot decide these):'
  return withinBudget([head, ...lines], input.max_tokens, 'ask with more max_tokens')
}

async function answerText(room: Room, input: PlanReadInput): Promise<string> {
  if (input.id === undefined) throw new ToolError('error: `id` is missing\nhint: it was in the answer to "ask"')
  const { plan } = await findPlan(room, input.plan)
  const [question] = (await room.engine.ask({ type: 'questions', plan, id: input.id })) ?? []
  if (question === undefined) throw new ToolError(`error: there is no question '${clean(input.id)}' in this plan`)
  if (question.answer === null) return `not answered yet: ${clean(question.text)}`
  return `${clean(question.answer.by)} answered: ${clean(JSON.stringify(question.answer.answers), 4_000)}`
}

async function whyText({ engine }: Room, { query, plan, max_tokens }: PlanReadInput): Promise<string> {
  if (query === undefined) throw new ToolError('error: `query` is missing\nhint: name a file, or FILE:LINE')
  const answer = await engine.ask({ type: 'why', ...fileAndLine(query), ...(plan === undefined ? {} : { plan }) })
  if (answer === null) throw new ToolError('error: there is no such plan')
  if (!answer.ok) throw new ToolError(refusalText(answer.refusal))
  const time = (at: number): string => new Date(at).toISOString()
  const lines = whyLines(answer.why, { text: text => quote(text), time, hint: hint => clean(hintText(hint)) })
  return withinBudget([DATA_NOTE, ...lines], max_tokens, 'ask for one line: FILE:LINE')
}

async function search({ engine }: Room, input: PlanReadInput): Promise<string> {
  if (input.query === undefined) throw new ToolError('error: `query` is missing')
  const found = await engine.ask({ type: 'search', text: input.query, cursor: input.page, limit: LIST_PAGE })
  const lines = found.items.map(
    ({ kind, name, task, snippet }) =>
      `- ${clean(name)}${task === null ? '' : `:${clean(task)}`} (${kind === 'log' ? 'output' : kind}): ${clean(snippet)}`,
  )
  const more =
    found.next === null ? [] : [`… more: plan_read {"what":"search","page":"${found.next}"} with the same query`]
  return withinBudget(
    [...(lines.length === 0 ? ['Nothing was found.'] : lines), ...more],
    input.max_tokens,
    'ask with more max_tokens',
  )
}
