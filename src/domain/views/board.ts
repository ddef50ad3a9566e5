// A plan as cards, one for each task; why a task waits; the work order for a claimant; tasks that a revision removed.

import type { ActionType } from '../actions/actions.ts'
import type { Event, Feedback, PlanEntry } from '../event.ts'
import { UNAGREED } from '../gates/consent-rules.ts'
import { advise, type Hint, next } from '../hint.ts'
import { type Millis, type Sha256, type TaskId, type TaskName, taskId } from '../id.ts'
import { type Json, type JsonObject, pick, wordList } from '../json.ts'
import { failedText, numberOf } from '../phrases.ts'
import type {
  Author,
  Bound,
  Criterion,
  EffectClass,
  FailureMode,
  OutputSource,
  PlanDefinition,
  RunMode,
  TaskDefinition,
} from '../plan.ts'
import { authorOf } from '../plan-rules/authors.ts'
import { CONFIDENTIAL, isConfidential } from '../plan-rules/confidential.ts'
import { effectOf, scopeOf } from '../plan-rules/effect.ts'
import { plannedRun } from '../policy/run-mode.ts'
import { blockingBreaker, isTriedIn } from '../recovery/breaker.ts'
import { nextRule, wordsOf } from '../recovery/choose-recovery.ts'
import type { Failure, Verdict } from '../result.ts'
import { concurrencyOf, inLine } from '../rules/scheduling.ts'
import { evolve } from '../state/evolve.ts'
import { newState } from '../state/fold.ts'
import { countedVisits, type PlanState, sequenceOf, type TaskState } from '../state/state.ts'
import { isClaimable } from '../state/task-index.ts'
import { BLOCKS, ENDED, SATISFIES, type TaskStatus } from '../status.ts'

// The work order of a task: what to do, with what, and what to report.

export interface Briefing {
  readonly task: TaskName
  readonly title: string | null
  readonly description: string | null
  readonly instruction: string | null
  readonly bound: Bound | null
  readonly inputs: JsonObject
  /** Inputs that cannot be resolved now; absent above. */
  readonly unresolved: readonly UnresolvedInput[]
  readonly feedback: readonly Feedback[]
  /** What was said about work on its files in earlier plans, marked as data. */
  readonly learnt?: readonly string[]
  readonly preconditions: readonly Criterion[]
  readonly accept: readonly Criterion[]
  readonly postconditions: readonly Criterion[]
  /** Patterns of the paths it may change; null when undeclared. */
  readonly effects: readonly string[] | null
  readonly write: readonly string[] | null
  /** How earlier attempts ended, and the refused reports of this one; the last ones, oldest first. */
  readonly earlier: readonly EarlierAttempt[]
  readonly outputs: { readonly [name: string]: OutputSource }
  readonly failureModes: readonly FailureMode[]
  readonly outcomes: { readonly [outcome: string]: readonly TaskName[] }
}

export interface EarlierAttempt {
  readonly visit: number
  readonly attempt: number
  readonly by: string | null
  /** `refused`: it was reported as done, refused, and continued. */
  readonly how: 'failed' | 'lost' | 'refused'
  readonly why: string
  readonly unmet: readonly { readonly criterion: string; readonly evidence: string | null }[]
  readonly outputs: JsonObject | null
  /** The files it left changed, at most twenty, and the number of others; null when not measured. */
  readonly left: { readonly paths: readonly string[]; readonly more: number } | null
}

export interface UnresolvedInput {
  readonly input: string
  readonly message: string
  readonly hint: Hint | null
}

export type Texts = Pick<TaskDefinition, 'title' | 'description' | 'instruction'>

export interface GivenInputs {
  readonly texts?: Texts
  readonly inputs: JsonObject
  readonly unresolved: readonly UnresolvedInput[]
}

export function briefing(
  plan: PlanDefinition,
  { definition, feedback }: TaskState,
  given: GivenInputs,
  earlier: readonly EarlierAttempt[],
): Briefing {
  const isKept = isConfidential(plan, definition)
  const { inputs, unresolved } = isKept ? withheld(definition) : given
  const texts = { ...definition, ...(isKept ? {} : given.texts) }
  return {
    task: definition.id,
    title: texts.title ?? null,
    description: texts.description ?? null,
    instruction: texts.instruction ?? null,
    bound: definition.bound ?? null,
    inputs,
    unresolved,
    feedback,
    preconditions: definition.preconditions ?? [],
    accept: definition.accept ?? [],
    postconditions: definition.postconditions ?? [],
    effects: definition.effects ?? null,
    write: scopeOf(plan, definition),
    earlier: isKept ? earlier.map(withoutWords) : earlier,
    outputs: definition.outputs ?? {},
    failureModes: definition.failureModes ?? [],
    outcomes: definition.on ?? {},
  }
}

/** The claimant may be a model, so the inputs of a confidential task are withheld. */
const withheld = ({ inputs = {} }: TaskDefinition): GivenInputs => ({
  inputs: {},
  unresolved: Object.keys(inputs).map(input => ({
    input,
    message: 'the task is labelled confidential, so its inputs are not told',
    hint: null,
  })),
})

const withoutWords = (one: EarlierAttempt): EarlierAttempt => ({
  ...one,
  why: CONFIDENTIAL,
  unmet: one.unmet.map(({ criterion }) => ({ criterion, evidence: null })),
  outputs: null,
})

/** An unsuccessful attempt or report, with the change set of what it wrote. */
interface Trial extends Omit<EarlierAttempt, 'left'> {
  readonly changes: Sha256 | null
  readonly paths: number | null
}

/** The failed and lost attempts of a task, and its refused reports, in the journal; the last few, oldest first. */
export function trialsIn(events: Iterable<Event>, task: TaskName): readonly Trial[] {
  const found: Trial[] = []
  let by: string | null = null
  for (const event of events) {
    if (!('task' in event) || event.task !== task) continue
    if (event.type === 'attempt.started') by = event.claim?.by ?? null
    else if (event.type === 'attempt.failed') {
      const { failure, verdicts, outputs = null, wrote } = event.result
      const seen = { changes: wrote?.changes ?? null, paths: wrote?.paths ?? null }
      found.push({ ...of(event, by), how: 'failed', why: failure.message, unmet: unmetIn(verdicts), outputs, ...seen })
    } else if (event.type === 'report.refused') {
      const { failure, verdicts } = event
      const none = { outputs: null, changes: null, paths: null }
      found.push({ ...of(event, by), how: 'refused', why: failure.message, unmet: unmetIn(verdicts), ...none })
    } else if (event.type === 'attempt.lost' && event.begun !== false) {
      const seen = { changes: event.wrote?.changes ?? null, paths: event.wrote?.paths ?? null }
      found.push({ ...of(event, by), how: 'lost', why: event.reason, unmet: [], outputs: null, ...seen })
    }
  }
  return found.slice(-TRIALS_MAX)
}

const TRIALS_MAX = 5

const of = ({ visit, attempt }: { readonly visit: number; readonly attempt: number }, by: string | null) => ({
  visit,
  attempt,
  by,
})

const unmetIn = (verdicts: readonly Verdict[] = []): EarlierAttempt['unmet'] =>
  verdicts.flatMap(({ criterion, holds, evidence = null }) => (holds === false ? [{ criterion, evidence }] : []))

/** A report of `done` that was refused. */
export interface Unaccepted {
  /** The claim and the attempt continue. */
  readonly kept: boolean
  readonly failure: Failure
  readonly verdicts: readonly Verdict[]
}

/** Null for an accepted report. */
export function unacceptedIn(events: readonly Event[]): Unaccepted | null {
  for (const event of events) {
    if (event.type === 'report.refused') return { kept: true, failure: event.failure, verdicts: event.verdicts }
    if (event.type === 'attempt.failed')
      return { kept: false, failure: event.result.failure, verdicts: event.result.verdicts ?? [] }
  }
  return null
}

// Why a task is ready or not, in sentences that name the tasks, people and limits it waits for.

export function explain(state: PlanState, task: TaskState, now: Millis): Hint {
  const { id } = task.definition
  if (state.status === 'draft' && !ENDED.has(task.status)) return `'${id}' waits: the plan is not started`
  switch (task.status) {
    case 'completed':
    case 'cancelled':
      return `'${id}' is ${task.status}`
    case 'failed': {
      const recovery = recoveryLine(state, task)
      return `'${id}' failed: ${failedText(task.reason)}${recovery === null ? '' : `; ${recovery}`}`
    }
    case 'skipped':
    case 'abandoned':
      return `'${id}' was ${task.status === 'abandoned' ? 'cancelled' : task.status}: ${task.reason ?? ''}`
    case 'running':
      return task.claim === null ? `'${id}' is running` : `'${id}' is claimed by ${task.claim.by}`
    case 'waiting':
      return advise`'${id}' ${asks(task)}${howToAgree(state, task)}`
    case 'blocked':
      return `'${id}' is blocked: ${needsThat(state, task, need => BLOCKS.has(need.status)) || (task.reason ?? '')}`
    case 'pending':
      if (task.definition.action.type === 'verify')
        return `'${id}' (the final checks) runs when all other tasks have finished`
      if (task.dormant) return `'${id}' runs only if ${leadingTo(state, id)} leads to it`
      return `'${id}' needs ${needsThat(state, task, need => !SATISFIES.has(need.status))}`
    case 'ready':
      return whyNotStarted(state, task, now)
    default:
      return task.status satisfies never
  }
}

function leadingTo({ order }: PlanState, id: TaskName): string {
  const names = order.flatMap(({ definition }) =>
    Object.values(definition.on ?? {}).some(to => to.includes(id)) ? [`'${definition.id}'`] : [],
  )
  return names.length === 0 || names.length > LEADING_MAX ? 'another task' : names.join(' or ')
}

const LEADING_MAX = 3

function whyNotStarted(state: PlanState, task: TaskState, now: Millis): Hint {
  const { id } = task.definition
  if (task.retryAt !== null && task.retryAt <= now && task.definition.action.type === 'external')
    return `'${id}' is ready to claim`
  if (isLater(task)) return `'${id}' ${task.reason}`
  if (task.retryAt !== null) {
    const then = nextRule(task)
    const after = then === null ? '' : `; if that fails too: ${then}`
    return `'${id}' will be retried in ${secondsTo(task.retryAt, now)} s: ${task.reason ?? 'its last attempt failed'}${after}`
  }
  if (state.status === 'paused') return `'${id}' is ready, but the plan is paused`
  const breaker = blockingBreaker(state, task, now, one => isTriedIn(state.running, one))
  if (breaker !== null) return `'${id}' is ready, but ${breakerLine(breaker, now)}`
  if (isClaimable(state, task)) return `'${id}' is ready to claim`
  if (state.asking.has(task) && task.definition.action.type === 'external')
    return `'${id}' is ready; it needs approval before it can be claimed`
  if (inLine(state, now).includes(task)) return `'${id}' is ready and starts as soon as the plan runs`
  const limit = concurrencyOf(state.definition)
  if (state.running.size >= limit)
    return `'${id}' is ready; ${state.running.size} of at most ${numberOf(limit, 'task')} ${state.running.size === 1 ? 'is' : 'are'} running`
  return `'${id}' is ready, but other tasks come first or write the same files`
}

/** Tells an agent who can approve the claim, and how. */
function howToAgree({ definition: { name } }: PlanState, { gate, definition }: TaskState): Hint {
  if (gate?.asks.type !== 'consent' || definition.action.type !== 'external') return ''
  return advise`; then it can be claimed (${next('approve', { plan: name, task: definition.id })})`
}

function asks(task: TaskState): string {
  switch (task.gate?.asks.type) {
    case 'unknown-outcome':
      return `needs your decision: outcome unknown (${task.gate.asks.evidence.reason})`
    case 'recovery':
    case 'replan': {
      const { failure, type } = task.gate.asks
      const how = type === 'replan' ? 'revise the plan, or ' : ''
      return `failed (${failure.message}) and needs your decision: ${how}retry, skip or reject it`
    }
    case 'consent':
      return `waits for approval before it starts: ${task.gate.asks.why}`
    case 'decision':
      return `waits for a decision: ${task.gate.asks.options.map(option => `'${option.id}'`).join(' or ')}`
    case 'question':
      return `waits for an answer: '${task.gate.asks.question}'`
    case 'verdict':
      return `waits for a person to confirm: ${task.gate.asks.criteria.map(text => `'${text}'`).join(', ')}`
    case 'edits':
      return 'needs your decision: keep, take or merge the edits'
    default:
      return 'waits for approval'
  }
}

export function recoveryLine(state: PlanState, task: TaskState): string | null {
  const { recovering, definition } = task
  const way = recovering === null ? undefined : definition.recover?.[recovering.rule]?.do
  if (recovering === null || way === undefined) return null
  const helper = recovering.by === definition.id ? undefined : state.tasks.get(recovering.by)
  const what = helper === undefined ? wordsOf(way) : `${wordsOf(way)} (${helper.status})`
  const then = nextRule(task)
  return `recovery rule ${recovering.rule + 1}: ${what}; ${then === null ? 'the last rule' : `then ${then}`}`
}

export function breakerLine(
  { capability, until }: { readonly capability: string; readonly until: Millis },
  now: Millis,
): string {
  return until > now
    ? `'${capability}' failed too often in a row: tasks that need it wait for ${secondsTo(until, now)} s`
    : `'${capability}' failed too often in a row; another task tries it first`
}

const secondsTo = (at: Millis, now: Millis): number => Math.max(0, Math.ceil((at - now) / 1000))

function needsThat(state: PlanState, task: TaskState, test: (need: TaskState) => boolean): string {
  const needs = (task.definition.needs ?? [])
    .map(name => state.tasks.get(name))
    .filter(need => need !== undefined && test(need))
    .map(need => `'${need!.definition.id}' (${need!.status})`)
  const more = needs.length - NEEDS_SHOWN_MAX
  return `${needs.slice(0, NEEDS_SHOWN_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

const NEEDS_SHOWN_MAX = 5

// Every task with the details that people want to see, in document order.

type StoredFacts = 'status' | 'visit' | 'attempt' | 'startedAt' | 'endedAt' | 'retryAt' | 'addedAt' | 'annotations'

export interface Card extends Readonly<Pick<TaskState, StoredFacts>> {
  readonly id: TaskId
  readonly name: TaskName
  readonly title: string | null
  readonly kind: string | null
  readonly action: ActionType
  readonly effect: EffectClass
  readonly runs: RunMode | null
  readonly author: Author
  readonly optional: boolean
  readonly needs: readonly TaskName[]
  /** Without the visits that a rollback opened. */
  readonly visits: number
  /** Postponed, and `reason` says until when; absent for a retry. */
  readonly isLater?: true
  /** Its `sequence_order`, else its ordinal. */
  readonly sequence: number
  readonly assignee: string | null
  readonly claimedBy: string | null
  readonly reason: string | null
  readonly hint: Hint | null
  readonly recovery?: string
  readonly outputs: Json
  readonly confidential?: true
  readonly exit: number | null
}

export function board(state: PlanState): readonly Card[] {
  return state.order.map(task => card(state, task))
}

/** A page of the most urgent tasks: running (those of `by` first), waiting, failed, blocked, ready, pending, completed. */
export function urgentTasks(
  { order, counts }: PlanState,
  { by, from, limit }: { readonly by: string; readonly from: number; readonly limit: number },
): readonly TaskState[] {
  const found: TaskState[] = []
  let passed = 0
  for (const status of URGENCY) {
    const isBehind = passed >= from + limit
    if (counts[status] === 0 || isBehind || passed + counts[status] <= from) {
      passed += counts[status]
      continue
    }
    let tasks = order.filter(task => task.status === status)
    if (status === 'running') tasks = tasks.toSorted((a, b) => Number(b.claim?.by === by) - Number(a.claim?.by === by))
    found.push(...tasks.slice(Math.max(0, from - passed), from + limit - passed))
    passed += tasks.length
  }
  return found
}

const URGENCY: readonly TaskStatus[] = wordList(
  'running waiting failed blocked ready pending completed skipped abandoned cancelled',
)

/** The reason of its current status; null when the stored reason is of an earlier status. */
export function reasonNow({ status, reason, gate, refused, attempt, retryAt, readiedAt, startedAt }: TaskState) {
  if (reason === null) return null
  switch (status) {
    case 'running':
      // The claimant's report was refused.
      return refused > 0 ? reason : null
    case 'waiting':
      return isAboutFailure(gate, reason) ? reason : null
    case 'ready':
      // A retry was decided since.
      return attempt > 0 && retryAt === null && (readiedAt ?? 0) > (startedAt ?? 0) ? null : reason
    default:
      return reason
  }
}

/** Is the question about an earlier failure? */
function isAboutFailure(gate: TaskState['gate'], reason: string): boolean {
  const type = gate?.asks.type
  return (
    type === 'unknown-outcome' ||
    type === 'recovery' ||
    type === 'replan' ||
    (type === 'consent' && reason.startsWith(UNAGREED))
  )
}

/** Postponed. A failed task waits for its retry only. */
const isLater = ({ status, retryAt, waitsSince }: TaskState): boolean =>
  status === 'ready' && retryAt !== null && waitsSince !== null

export function card(state: PlanState, task: TaskState): Card {
  const { definition, result } = task
  const recovery = recoveryLine(state, task)
  const reason = reasonNow(task)
  return {
    id: taskId(state.id, task.ordinal),
    name: definition.id,
    title: definition.title ?? null,
    kind: definition.kind ?? null,
    action: definition.action.type,
    effect: effectOf(state.definition, definition),
    runs: result?.unheld === true ? 'as you' : plannedRun(state, definition),
    author: authorOf(state, definition.id),
    status: task.status,
    optional: definition.optional ?? false,
    needs: definition.needs ?? [],
    visit: task.visit,
    visits: countedVisits(task),
    ...pick(task, 'attempt', 'startedAt', 'endedAt', 'retryAt'),
    ...(isLater(task) ? { isLater: true } : {}),
    addedAt: task.addedAt,
    sequence: sequenceOf(task),
    assignee: definition.assignee ?? null,
    claimedBy: task.claim?.by ?? null,
    reason,
    hint:
      result?.status === 'failed' && (reason !== null || task.reason === null) ? (result.failure.hint ?? null) : null,
    ...(recovery === null ? {} : { recovery }),
    outputs: result?.outputs ?? null,
    ...(isConfidential(state.definition, definition) ? { confidential: true } : {}),
    annotations: task.annotations,
    exit: result?.exit ?? null,
  }
}

// A task that a revision removed: when, and its status then. Found by folding the journal, and only for a name that the plan no longer has.

export interface Removed {
  readonly revision: number
  readonly at: Millis
  readonly by: string
  readonly rationale: string
  /** Its status before that revision, which abandons a running task. */
  readonly was: TaskStatus
  readonly card: Card
  readonly definition: TaskDefinition
}

type Entry = Pick<PlanEntry, 'now' | 'actor' | 'events'>

export class RemovedFinder {
  readonly #task: TaskName
  readonly #state: PlanState = newState()
  #found: Removed | null = null

  constructor(task: TaskName) {
    this.#task = task
  }

  read({ now, actor, events }: Entry): void {
    const was = this.#state.tasks.get(this.#task)?.status ?? 'pending'
    for (const event of events) {
      const before = event.type === 'plan.revised' ? this.#lastCard() : null
      evolve(this.#state, event, now)
      if (this.#state.tasks.has(this.#task)) this.#found = null
      else if (before !== null && event.type === 'plan.revised')
        this.#found = { revision: event.revision, at: now, by: actor, rationale: event.rationale, was, ...before }
    }
  }

  get found(): Removed | null {
    return this.#found
  }

  #lastCard(): Pick<Removed, 'card' | 'definition'> | null {
    const task = this.#state.tasks.get(this.#task)
    return task === undefined ? null : { card: card(this.#state, task), definition: task.definition }
  }
}
