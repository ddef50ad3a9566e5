// The accounts of a plan with a budget: one for the plan, and one for each group and task that has spent something. Part of the
// state, so it is a fold of the journal. Before anything is used, the event that begins it reserves the maximum; the event that ends
// it replaces the reservation by the real use. So for every account and every key, at every event: spent + held <= cap.
//
//   attempt.started ─► attempts, output held ──────────────► attempt.succeeded / failed ─► spent as measured
//                                                 └────────► attempt.lost ──────────────► spent as far as known, at most as held
//   budget.reserved ─► money, tokens, calls held ──────────► budget.settled ────────────► spent as counted
//                                                 └────────► the attempt ended first ───► the whole reservation is spent
//
// Time is not reserved but shared: it runs while at least one task of the account runs. engine/budget/time-limit.ts ends an attempt
// when the time of one of its accounts is used up, so no more can be spent than there is.

import { actionFacts } from '../actions/actions.ts'
import { modelRequest } from '../actions/model-action.ts'
import type { EventOf } from '../event.ts'
import type { Millis, TaskName } from '../id.ts'
import type { Json } from '../json.ts'
import { TASK_OUTPUT_MAX_BYTES } from '../limits.ts'
import type { Budget, PlanDefinition, TaskDefinition } from '../plan.ts'
import { policyOf } from '../policy/policy-in-state.ts'
import { effectivePolicy, type PolicyLayer } from '../policy/policy-layer.ts'
import { type Amounts, addAmounts, NO_AMOUNTS, PRICE_CURRENCY, takeAmounts } from './amounts.ts'

/** '' is the plan; a group or task has its name. */
export type Level = TaskName | ''

export interface Account {
  readonly spent: Amounts
  readonly held: Amounts
  /** What people added to the caps. */
  readonly raised: Amounts
  /** Calls of unknown price. */
  readonly unpriced: number
  /** Running tasks, since when at least one runs, and the total time of those that ended meanwhile. */
  readonly running: number
  readonly since: Millis
  readonly known: number
}

export interface Hold {
  readonly task: TaskName
  readonly visit: number
  readonly attempt: number
  readonly amount: Amounts
  /** The start of an attempt that uses time; absent for calls and claims. */
  readonly since?: Millis
  /** A call of unknown price. */
  readonly unpriced?: true
}

export interface Ledger {
  readonly accounts: Map<Level, Account>
  /** By reservation id; that of an attempt is `task/visit/attempt`. */
  readonly holds: Map<string, Hold>
  asked: number
  unpriced: boolean
  readonly large: Map<TaskName, number>
  readonly denied: Set<string>
  /** The latest visit of each revisited task, and what had been spent and added to its caps when that visit began. */
  readonly visits: Map<TaskName, { readonly visit: number; readonly spent: Amounts; readonly raised: Amounts }>
}

export const newLedger = (): Ledger => ({
  accounts: new Map(),
  holds: new Map(),
  asked: 0,
  unpriced: false,
  large: new Map(),
  denied: new Set(),
  visits: new Map(),
})

export const EMPTY_ACCOUNT: Account = {
  spent: NO_AMOUNTS,
  held: NO_AMOUNTS,
  raised: NO_AMOUNTS,
  unpriced: 0,
  running: 0,
  since: 0,
  known: 0,
}

export const accountOf = ({ accounts }: Ledger, level: Level): Account => accounts.get(level) ?? EMPTY_ACCOUNT

/** The task, the groups around it, the plan. */
export function levelsOf(task: TaskName): readonly Level[] {
  const levels: Level[] = [task]
  for (let at = task.lastIndexOf('/'); at > 0; at = task.lastIndexOf('/', at - 1))
    levels.push(task.slice(0, at) as TaskName)
  levels.push('')
  return levels
}

export interface Budgeted {
  readonly definition: PlanDefinition
  readonly layers: readonly PolicyLayer[]
  readonly tasks: ReadonlyMap<TaskName, { readonly definition: TaskDefinition }>
}

/** The budget of a level, that of the plan limited by the policy layers around it; null for none. */
export function budgetAt(state: Budgeted, level: Level): Budget | null {
  const { definition, layers, tasks } = state
  if (level !== '') {
    const task = tasks.get(level)?.definition
    return task === undefined ? null : (ownBudget(task) ?? null)
  }
  if (!hasLayerBudget(layers)) return definition.policy?.budget ?? null
  return policyOf(state).budget
}

/** The most that the policy layers allow the plan, whatever people add to its caps; null for no limit. */
export const ceilingOf = ({ layers }: Pick<Budgeted, 'layers'>, level: Level): Budget | null =>
  level === '' && hasLayerBudget(layers) ? effectivePolicy(layers).budget : null

export const hasLayerBudget = (layers: readonly PolicyLayer[]): boolean =>
  layers.some(({ policy }) => policy.budget !== undefined)

export const hasBudget = ({ policy, tasks }: PlanDefinition): boolean =>
  policy?.budget !== undefined || tasks.some(hasOwnBudget)

export const hasOwnBudget = (task: TaskDefinition): boolean =>
  ownBudget(task) !== undefined || (task.action.type === 'subplan' && task.action.tasks.some(hasOwnBudget))

/** The budget of a task: for a model task, of each amount the lower in its `budget` and its `caps`. */
export function ownBudget(task: TaskDefinition): Budget | undefined {
  if (actionFacts(task.action).sends !== 'models') return task.budget
  if (!owned.has(task)) owned.set(task, withCaps(task))
  return owned.get(task)
}

/** Definitions are immutable, so this is cached. */
const owned = new WeakMap<TaskDefinition, Budget | undefined>()

function withCaps({ budget, action }: TaskDefinition): Budget | undefined {
  const { calls, tokens, usd } = modelRequest(action)?.caps ?? {}
  if (calls === undefined && tokens === undefined && usd === undefined) return budget
  const { cost } = budget ?? {}
  const lower = (one: number | undefined, other: number | undefined) =>
    one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
  // Another currency cannot be compared; a person is asked anyway.
  const isForeign = cost !== undefined && cost.currency !== PRICE_CURRENCY
  const most = {
    calls: lower(budget?.calls, calls),
    tokens: lower(budget?.tokens, tokens),
    usd: isForeign ? undefined : lower(cost?.amount, usd),
  }
  return {
    ...budget,
    ...(most.calls === undefined ? {} : { calls: most.calls }),
    ...(most.tokens === undefined ? {} : { tokens: most.tokens }),
    ...(most.usd === undefined ? {} : { cost: { amount: most.usd, currency: PRICE_CURRENCY } }),
  }
}

export const isFree = ({ action }: TaskDefinition): boolean => actionFacts(action).isFree === true

/** Does the engine run it, so that it takes time and may have output? */
const isRun = (definition: TaskDefinition): boolean => !isFree(definition) && definition.action.type !== 'external'

/** What must be left before an attempt begins: of output and time, anything. Then the attempt and a share of the output are reserved. */
export const startNeed = (definition: TaskDefinition): Amounts =>
  isFree(definition) ? NO_AMOUNTS : isRun(definition) ? { attempts: 1, outputBytes: 1, timeMs: 1 } : { attempts: 1 }

/** How much output of an attempt is stored when `left` is left for so many at once: its share, or `OUTPUT_MIN_BYTES` if that is more. */
export const outputShare = (left: number, concurrency: number): number =>
  Math.min(TASK_OUTPUT_MAX_BYTES, Math.max(Math.ceil(left / concurrency), Math.min(left, OUTPUT_MIN_BYTES)))

const OUTPUT_MIN_BYTES = 64 * 1024

/** Including running tasks. */
export const timeSpent = ({ spent, running, since }: Account, now: Millis): number =>
  (spent.timeMs ?? 0) + (running > 0 ? Math.max(0, now - since) : 0)

export const attemptKey = ({ task, visit, attempt }: Pick<Hold, 'task' | 'visit' | 'attempt'>): string =>
  `${task}/${visit}/${attempt}`

// State transitions. Only `evolve` calls these.

export function attemptStarted(
  ledger: Ledger,
  definition: TaskDefinition,
  event: EventOf<'attempt.started'>,
  now: Millis,
): void {
  visitBegan(ledger, event)
  if (event.begun === false || event.holds === undefined) return
  const { task: name, visit, attempt, holds: amount } = event
  const isTimed = event.claim === undefined && isRun(definition)
  hold(ledger, attemptKey(event), { task: name, visit, attempt, amount, ...(isTimed ? { since: now } : {}) })
  if (!isTimed) return
  for (const level of levelsOf(name))
    change(ledger, level, account => ({
      ...account,
      running: account.running + 1,
      ...(account.running === 0 ? { since: now, known: 0 } : {}),
    }))
}

function visitBegan({ accounts, visits }: Ledger, { task, visit }: EventOf<'attempt.started'>): void {
  const account = accounts.get(task)
  if (visit < 2 || account === undefined || visits.get(task)?.visit === visit) return
  visits.set(task, { visit, spent: account.spent, raised: account.raised })
}

/** `outputBytes` and `ms` are null when nobody measured them; `isIdle`: it certainly did nothing. */
interface AttemptEnd {
  readonly outputBytes: number | null
  readonly ms: number | null
  readonly isIdle: boolean
}

export function attemptEnded(
  ledger: Ledger,
  event: Pick<Hold, 'task' | 'visit' | 'attempt'>,
  { outputBytes, ms, isIdle }: AttemptEnd,
  now: Millis,
): void {
  const key = attemptKey(event)
  const held = ledger.holds.get(key)
  ledger.denied.delete(key)
  // The attempt is over, so its open calls will never be settled.
  for (const [id, one] of ledger.holds) if (id !== key && attemptKey(one) === key) settle(ledger, id, one.amount)
  if (held === undefined) return
  const { attempts = 0, outputBytes: most = 0 } = held.amount
  const used = isIdle ? NO_AMOUNTS : { attempts, outputBytes: Math.min(most, outputBytes ?? most) }
  settle(ledger, key, used)
  if (held.since === undefined) return
  const took = ms ?? Math.max(0, now - held.since)
  for (const level of levelsOf(event.task))
    change(ledger, level, account => {
      const running = Math.max(0, account.running - 1)
      const known = account.known + took
      if (running > 0) return { ...account, running, known }
      // The clock also moves while the machine sleeps, so the measured duration is the upper limit.
      const timeMs = Math.min(Math.max(0, now - account.since), known)
      return { ...account, running, known: 0, since: 0, spent: addAmounts(account.spent, { timeMs }) }
    })
}

export function hold(ledger: Ledger, id: string, one: Hold): void {
  ledger.holds.set(id, one)
  for (const level of levelsOf(one.task))
    change(ledger, level, account => ({ ...account, held: addAmounts(account.held, one.amount) }))
}

/** Releases the reservation and spends `actual`, even when that is more. */
export function settle(ledger: Ledger, id: string, actual: Amounts): void {
  const held = ledger.holds.get(id)
  if (held === undefined) return
  ledger.holds.delete(id)
  for (const level of levelsOf(held.task))
    change(ledger, level, account => ({
      ...account,
      held: takeAmounts(account.held, held.amount),
      spent: addAmounts(account.spent, actual),
      unpriced: account.unpriced + (held.unpriced === true ? (actual.calls ?? 0) : 0),
    }))
}

export function raise(ledger: Ledger, event: EventOf<'budget.raised'>): void {
  const { task = '', add, unpriced, large } = event
  if (unpriced === true) ledger.unpriced = true
  if (large !== undefined && task !== '') ledger.large.set(task, Math.max(ledger.large.get(task) ?? 0, large))
  if (add !== undefined) change(ledger, task, account => ({ ...account, raised: addAmounts(account.raised, add) }))
}

function change(ledger: Ledger, level: Level, how: (account: Account) => Account): void {
  ledger.accounts.set(level, how(accountOf(ledger, level)))
}

// Serialisation for stored folds.

export function packLedger({ accounts, holds, large, denied, visits, ...rest }: Ledger): Json {
  return {
    ...rest,
    accounts: [...accounts],
    holds: [...holds],
    large: [...large],
    denied: [...denied],
    ...(visits.size === 0 ? {} : { visits: [...visits] }),
  } as unknown as Json
}

export function unpackLedger(packed: Json): Ledger {
  const {
    accounts,
    holds,
    large,
    denied,
    visits = [],
    ...rest
  } = packed as unknown as Pick<Ledger, 'asked' | 'unpriced'> & {
    readonly accounts: [Level, Account][]
    readonly holds: [string, Hold][]
    readonly large: [TaskName, number][]
    readonly denied: string[]
    readonly visits?: [TaskName, { readonly visit: number; readonly spent: Amounts; readonly raised: Amounts }][]
  }
  return {
    ...rest,
    accounts: new Map(accounts),
    holds: new Map(holds),
    large: new Map(large),
    denied: new Set(denied),
    visits: new Map(visits),
  }
}
