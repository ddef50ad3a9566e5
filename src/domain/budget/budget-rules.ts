// The rules of budgets: an attempt begins only when enough is left, who is asked for more, and what the answer changes.

import type { CommandOf } from '../command.ts'
import type { Question } from '../event.ts'
import { advise, next, quoted } from '../hint.ts'
import type { TaskName } from '../id.ts'
import type { Field } from '../plan.ts'
import type { PolicyAgain } from '../policy/policy-layer.ts'
import { type Refusal, refuse } from '../refusal.ts'
import type { Failure } from '../result.ts'
import { type DecisionDraft, emit, unknownTask } from '../rules/decision.ts'
import { howToStartOver } from '../rules/start-over.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { isClaimable } from '../state/task-index.ts'
import { PLAN_ENDED } from '../status.ts'
import {
  type Amounts,
  type AskedBudget,
  BUDGET_KEYS,
  type BudgetKey,
  type BudgetReason,
  NO_AMOUNTS,
  type SettingsCaps,
  type Shortfall,
} from './amounts.ts'
import { keyText, reasonText, shortfallText } from './budget-text.ts'
import { amountLeft, budgetsOf, capOf, capOfLayers, type Judged, judgeAmounts, judgeSpend } from './judge-spend.ts'
import { accountOf, attemptKey, budgetAt, type Level, newLedger, outputShare, startNeed, timeSpent } from './ledger.ts'
import { CALLS_DEFAULT, hasDefault, visitCaps } from './visit-caps.ts'

export const BUDGET_CODE = 'budget'

export type Begin =
  | { readonly holds?: Amounts | undefined; readonly failure?: Failure }
  /** Other attempts have reserved the rest, or a question is open. */
  | 'later'

const FREELY: Begin = {}

/** May an attempt of the task begin? If a person has to be asked, the question is opened here and the plan pauses. */
export function beginWithin(draft: DecisionDraft, task: TaskState, concurrency: number): Begin {
  const judged = judgeStart(draft.state, task, draft.now)
  if (judged === null) return FREELY
  if (judged.type === 'wait') return 'later'
  if (judged.type === 'granted') return { holds: holdsOf(draft.state, task, concurrency) }
  if (judged.exceeded === 'fail') return { failure: overBudget(draft.state.definition.name, judged.reason) }
  askForMore(draft, task, judged.reason, {})
  return 'later'
}

/** Null when nothing is counted. */
function judgeStart(state: PlanState, { definition }: TaskState, now: number): Judged | null {
  if (state.budget === null) return null
  const need = startNeed(definition)
  return need === NO_AMOUNTS ? null : judgeAmounts(state, state.budget, definition.id, need, now)
}

/** The rest is reserved by other attempts; the queue passes the task over until they settle. */
export const waitsForBudget = (state: PlanState, task: TaskState, now: number): boolean =>
  judgeStart(state, task, now)?.type === 'wait'

/** The next claimable task without enough budget. The question is opened, or the task fails, before an agent comes for it. */
export function shortForClaim(state: PlanState, now: number): TaskState | null {
  if (state.budget === null || state.status !== 'active' || state.compensating !== null) return null
  const task = state.claimable.peek(one => isClaimable(state, one))
  return task !== undefined && judgeStart(state, task, now)?.type === 'refused' ? task : null
}

export function claimObjection(state: PlanState, task: TaskState, now: number): Refusal | null {
  const judged = judgeStart(state, task, now)
  if (judged === null || judged.type === 'granted') return null
  const why = judged.type === 'wait' ? 'running tasks hold what is left of its budget' : reasonText(judged.reason)
  return refuse('limit', why, advise`see ${quoted('budget', { plan: state.definition.name })}`)
}

export function holdsOf(state: PlanState, { definition }: TaskState, concurrency: number): Amounts | undefined {
  if (state.budget === null) return undefined
  const { attempts, outputBytes } = startNeed(definition)
  if (attempts === undefined) return undefined
  if (outputBytes === undefined) return { attempts }
  const left = amountLeft(state, state.budget, definition.id, 'outputBytes')
  return left === null ? { attempts } : { attempts, outputBytes: outputShare(left, concurrency) }
}

const overBudget = (plan: string, reason: BudgetReason): Failure => ({
  class: 'policy',
  code: BUDGET_CODE,
  message: reasonText(reason),
  hint:
    reason.type === 'caps' && reason.short.some(({ byPolicy }) => byPolicy === true)
      ? 'ask whoever keeps the policy around the plan'
      : advise`add to the budget, then try again: ${quoted('budget-add', { plan, ...lackingIn(reason) })}; or write \`exceeded: ask\` in the plan file and be asked`,
  retryable: false,
})

/**
 * Reserves the most that a call can use. If a call that is counted (`isCounted`) gets no reservation, the rest is reserved by others, or
 * the plan is paused for an answer or a higher cap: try again after the next change.
 */
export function reserve(draft: DecisionDraft, command: CommandOf<'reserve'>): Refusal | undefined {
  const { state } = draft
  const { id, task: name, visit, attempt, spend, settings } = command
  const task = state.tasks.get(name)
  if (task?.status !== 'running' || task.visit !== visit || task.attempt !== attempt)
    return refuse('conflict', `the attempt of '${name}' is over`)
  if (state.compensating !== null) return refuse('conflict', 'the plan is ending, or is rolled back')
  if (state.budget?.holds.has(id) === true) return undefined
  const ledger = state.budget ?? newLedger()
  if (ledger.denied.has(attemptKey(command)))
    return refuse('limit', 'a person did not agree to spend more', advise`see ${quoted('budget')}`)
  const judged = judgeSpend(state, ledger, { task: name, visit, settings }, spend, draft.now)
  if (judged.type === 'refused') {
    if (judged.exceeded === 'fail') return refuse('limit', reasonText(judged.reason), advise`see ${quoted('budget')}`)
    const ceiling = settingsReason(judged.reason)
    if (ceiling !== null) pauseForSettings(draft, ceiling)
    else askForMore(draft, task, judged.reason, { visit, attempt })
    return undefined
  }
  if (judged.type === 'wait' || !isCounted(state, name, settings)) return undefined
  const { cost, ...rest } = spend
  const amount = typeof cost === 'number' ? { ...rest, cost } : rest
  emit(draft, {
    type: 'budget.reserved',
    id,
    task: name,
    visit,
    attempt,
    amount,
    ...(cost === null ? { unpriced: true } : {}),
  })
  return undefined
}

/** Without limits nothing is counted and nothing is written. */
export const isCounted = (state: PlanState, task: TaskName, settings: SettingsCaps | undefined): boolean =>
  state.budget !== null || settings !== undefined || hasDefault(state, task) || budgetsOf(state, task).length > 0

/** A call has ended. Idempotent, and without effect after the end of the attempt. */
export function settleSpend(draft: DecisionDraft, { id, actual }: CommandOf<'settle'>): undefined {
  const held = draft.state.budget?.holds.get(id)
  if (held === undefined) return undefined
  const { cost, ...rest } = actual
  const { task, visit, attempt } = held
  // With an unknown price, all of the reserved cost is spent.
  const known = cost === null ? held.amount.cost : cost
  emit(draft, {
    type: 'budget.settled',
    id,
    task,
    visit,
    attempt,
    amount: { ...rest, ...(known === undefined ? {} : { cost: known }) },
  })
  return undefined
}

/** A shortfall of a cap in the user's settings, which an answer cannot raise. */
function settingsReason(reason: BudgetReason): BudgetReason | null {
  const short = reason.type === 'caps' ? reason.short.filter(({ settings }) => settings !== undefined) : []
  return short.length === 0 ? null : { type: 'caps', short }
}

/** No question: the user raises the cap in the settings and resumes the plan, and the call is made. */
function pauseForSettings(draft: DecisionDraft, reason: BudgetReason): void {
  if (draft.state.status !== 'active') return
  const text = `${reasonText(reason)}. Raise \`caps\` in your settings, then resume the plan`
  emit(draft, { type: 'plan.paused', reason: text, budget: true })
}

/** Opens one question at a time and pauses the plan; running attempts continue. */
function askForMore(
  draft: DecisionDraft,
  task: TaskState,
  reason: BudgetReason,
  waiting: Pick<AskedBudget, 'visit' | 'attempt'>,
): void {
  const { state } = draft
  const text = reasonText(reason)
  const isAsked = state.questions.some(({ budget }) => budget !== undefined)
  if (!isAsked) ask(draft, task, reason, waiting)
  // Also if the question was open already and the plan was resumed otherwise.
  if (state.status === 'active') emit(draft, { type: 'plan.paused', reason: text, budget: true })
}

function ask(
  draft: DecisionDraft,
  task: TaskState,
  reason: BudgetReason,
  waiting: Pick<AskedBudget, 'visit' | 'attempt'>,
): void {
  emit(draft, {
    type: 'question.asked',
    id: questionId(draft.state),
    text: `${reasonText(reason)}. ${offerText(reason)}`,
    form: formFor(reason),
    task: task.definition.id,
    by: 'planfold',
    budget: { reason, ...waiting },
  })
}

/** Short, and distinct between plans. The ids of plans end in zeros; the part before that differs. */
const questionId = ({ id, budget }: PlanState): string =>
  `more-${id.slice(19, 23)}${id.slice(24, 28)}-${(budget?.asked ?? 0) + 1}`

const formFor = (reason: BudgetReason): readonly Field[] => [
  { name: 'more', label: offerText(reason), type: 'choice', choices: ['yes', 'no'] },
]

function offerText(reason: BudgetReason): string {
  switch (reason.type) {
    case 'caps':
      return `Add ${reason.short.map(one => `${keyText(one.key, offerOf(one))}${one.task === undefined ? '' : ` to '${one.task}'`}`).join(' and ')}?`
    case 'price':
      return reason.uncounted === true ? 'Start it anyway?' : 'Use it although its cost cannot be counted?'
    case 'large':
      return 'Spend it?'
    default:
      return reason satisfies never
  }
}

/** What a plain yes adds: what is lacking, but at least half of the cap. */
function offerOf({ key, cap, spent, needed }: Shortfall): number {
  const lacking = spent + needed - cap
  const half = cap / 2
  const offer = Math.max(lacking, half)
  return key === 'cost' ? Math.ceil(offer * 1e6) / 1e6 : Math.ceil(offer)
}

export function answerBudget(draft: DecisionDraft, question: Question, more: boolean, by: string): void {
  const { budget, task } = question
  if (budget === undefined || !more) return
  const { reason } = budget
  switch (reason.type) {
    case 'caps':
      for (const short of reason.short) {
        const level = short.task === undefined ? {} : { task: short.task }
        emit(draft, { type: 'budget.raised', ...level, add: { [short.key]: offerOf(short) }, by })
      }
      break
    case 'price':
      emit(draft, { type: 'budget.raised', unpriced: true, by })
      break
    case 'large':
      if (task !== undefined) emit(draft, { type: 'budget.raised', task, large: reason.cost, by })
      break
    default:
      reason satisfies never
  }
  goOnWithin(draft, by)
}

export function raiseBudget(draft: DecisionDraft, { add, task, by }: CommandOf<'raise'>): Refusal | undefined {
  const { state } = draft
  // A plan that failed because of its budget can get more before its task is retried.
  if (PLAN_ENDED.has(state.status) && state.status !== 'failed')
    return refuse('illegal-transition', 'the plan has ended', howToStartOver(state))
  if (task !== undefined && !state.tasks.has(task)) return unknownTask(draft, task)
  const level: Level = task ?? ''
  const budget = budgetAt(state, level)
  const owner = task === undefined ? 'the plan' : `task '${task}'`
  const keys = BUDGET_KEYS.filter(key => add[key] !== undefined)
  if (keys.length === 0)
    return refuse('invalid', 'nothing is added', 'name an amount: cost, tokens, calls, attempts, time or output')
  for (const key of keys) {
    const amount = add[key]!
    if (!Number.isFinite(amount) || amount <= 0 || amount > AMOUNT_MAX)
      return refuse('invalid', `${amount} cannot be added to a budget`, 'add an amount greater than zero')
    const account = state.budget === null ? null : accountOf(state.budget, level)
    const cap = account === null || budget === null ? null : capOf(state, level, account, key)
    const most = capOfLayers(state, level, key)
    if (cap !== null && most !== null && cap + amount > most)
      return refuse(
        'not-allowed',
        `the policy around the plan allows no more than ${keyText(key, most)}`,
        'ask whoever keeps that policy',
      )
    const isOurs = task !== undefined && hasDefault(state, task) && key in CALLS_DEFAULT
    if (cap === null && !isOurs)
      return refuse(
        'invalid',
        `${owner} has no limit of ${KEY_NAMES[key]}, so nothing can be added to it`,
        advise`see ${quoted('budget')}`,
      )
  }
  emit(draft, { type: 'budget.raised', ...(task === undefined ? {} : { task }), add, by })
  goOnWithin(draft, by)
  return undefined
}

const AMOUNT_MAX = 1e15

const KEY_NAMES: { readonly [K in keyof Required<Amounts>]: string } = {
  cost: 'cost',
  tokens: 'tokens',
  calls: 'calls',
  attempts: 'attempts',
  timeMs: 'time',
  outputBytes: 'output',
}

function stillShort(state: PlanState, now: number): readonly Shortfall[] {
  return state.questions.flatMap(({ budget }) =>
    budget?.reason.type === 'caps' ? budget.reason.short.filter(one => isShort(state, one, now)) : [],
  )
}

function isShort(state: PlanState, { task, visit, key, needed }: Shortfall, now: number): boolean {
  if (task !== undefined && visit !== undefined && state.budget !== null) {
    const ours = visitCaps(state, state.budget, { task, visit }).find(one => one.key === key)
    return ours !== undefined && ours.spent + needed > ours.cap
  }
  const level: Level = task ?? ''
  const budget = budgetAt(state, level)
  if (budget === null || state.budget === null) return false
  const account = accountOf(state.budget, level)
  const cap = capOf(state, level, account, key)
  const spent = key === 'timeMs' ? timeSpent(account, now) : (account.spent[key] ?? 0)
  return cap !== null && spent + needed > cap
}

/** Closes the question when nothing is short any more, and resumes the plan. */
export function goOnWithin(draft: DecisionDraft, by: string, anew: PolicyAgain = {}): void {
  const { state } = draft
  const isOpen = ({ budget }: Question) => budget !== undefined
  if (stillShort(state, draft.now).length === 0)
    for (const { id, budget } of state.questions)
      if (budget?.reason.type === 'caps') emit(draft, { type: 'question.answered', id, answers: { more: 'yes' }, by })
  if (state.status === 'paused' && state.overBudget && !state.questions.some(isOpen))
    emit(draft, { type: 'plan.resumed', ...anew })
}

/** Closes the question of an attempt that succeeded without the increase. */
export function withdrawQuestion(draft: DecisionDraft, { definition, visit, attempt }: TaskState): void {
  const asked = draft.state.questions.find(
    ({ task, budget }) => task === definition.id && budget?.visit === visit && budget.attempt === attempt,
  )
  if (asked === undefined) return
  emit(draft, { type: 'question.answered', id: asked.id, answers: { more: 'no' }, by: 'planfold' })
  goOnWithin(draft, 'planfold')
}

/** Closes the question of tasks that were skipped. Other tasks with a shortfall ask in their turn. */
export function withdrawQuestionsOf(draft: DecisionDraft, tasks: readonly TaskState[]): void {
  const names = new Set<TaskName | undefined>(tasks.map(({ definition }) => definition.id))
  const asked = draft.state.questions.filter(({ task, budget }) => budget !== undefined && names.has(task))
  if (asked.length === 0) return
  for (const { id } of asked) emit(draft, { type: 'question.answered', id, answers: { more: 'no' }, by: 'planfold' })
  goOnWithin(draft, 'planfold')
}

/** Why a plan that is paused for its budget cannot resume; null when it can. */
export function resumeObjection(state: PlanState, now: number): Refusal | null {
  const open = state.questions.find(({ budget }) => budget !== undefined)
  if (open?.budget === undefined) return null
  const plan = state.definition.name
  const answer = next('answer', { plan, task: open.id, fields: ['more=yes'] })
  if (open.budget.reason.type !== 'caps')
    return refuse('conflict', `a person must answer first: ${open.text}`, advise`${answer}`)
  const short = stillShort(state, now)
  if (short.length === 0) return null
  const more = quoted('budget-add', { plan, ...firstLacking(state) })
  return refuse(
    'conflict',
    `the budget is used up: ${short.map(shortfallText).join('; ')}`,
    advise`add to it: ${more}, or agree to what is offered: ${answer}`,
  )
}

/** The offer for the first shortfall, in the syntax of a plan file. */
export function firstLacking({ questions }: Pick<PlanState, 'questions'>): Lacking {
  const reason = questions.find(({ budget }) => budget !== undefined)?.budget?.reason
  return reason === undefined ? {} : lackingIn(reason)
}

interface Lacking {
  readonly task?: string
  readonly what?: string
  readonly amount?: string
}

function lackingIn(reason: BudgetReason): Lacking {
  const short = reason.type === 'caps' ? reason.short[0] : undefined
  if (short === undefined) return {}
  const offer = offerOf(short)
  const units: { readonly [K in BudgetKey]?: string } = { cost: ' USD', timeMs: 'ms', outputBytes: 'B' }
  const task = short.task === undefined ? {} : { task: short.task }
  return { ...task, what: KEY_NAMES[short.key], amount: `${offer}${units[short.key] ?? ''}` }
}
