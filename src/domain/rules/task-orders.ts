// Commands about one task, by people and agents: claims and reports of external tasks, gates, retry, skip.

import { claimObjection, holdsOf, withdrawQuestionsOf } from '../budget/budget-rules.ts'
import type { CommandOf } from '../command.ts'
import type { GateAsks } from '../event.ts'
import { mayNotSkip } from '../gates/approvers.ts'
import { consumeConsent, faultIn, impactIn } from '../gates/consent-rules.ts'
import { escalate } from '../gates/gate-timeouts.ts'
import { decideGate } from '../gates/gates.ts'
import { advise, type Hint, next, quoted } from '../hint.ts'
import type { Millis } from '../id.ts'
import { REPORTS_MAX } from '../limits.ts'
import { suggest } from '../phrases.ts'
import { effectOf } from '../plan-rules/effect.ts'
import { IMPACT_WORDS } from '../plan-rules/impact.ts'
import { attemptsUsedUp, blockingBreaker } from '../recovery/breaker.ts'
import { type Refusal, refuse } from '../refusal.ts'
import type { Found, Result } from '../result.ts'
import { goneBackIn, type PlanState, type TaskState } from '../state/state.ts'
import {
  asksBeforeClaim,
  hasUncheckedPreconditions,
  isClaimable,
  isUnjudged,
  transitiveDependants,
  worksOf,
} from '../state/task-index.ts'
import { ENDED, PLAN_ENDED, SATISFIES } from '../status.ts'
import { conclude } from './conclude.ts'
import { type DecisionDraft, emit, unknownTask } from './decision.ts'
import { illegal, policyAgain } from './lifecycle.ts'
import { lose } from './lost-attempt.ts'
import { refuseOutside, withdrawOutside } from './outside-scope.ts'
import { propagate } from './readiness.ts'
import { redoDone, withCompensated } from './reopen.ts'
import { reopen } from './routing.ts'
import { settle } from './settle.ts'
import { refuseRepeat } from './unsafe-repeat.ts'

export function claim(draft: DecisionDraft, command: CommandOf<'claim'>): Refusal | undefined {
  if (draft.state.status !== 'active')
    return illegal(draft.state, 'claim', 'only tasks of a running plan can be claimed')
  const task =
    command.task === undefined
      ? (nextClaimable(draft, command) ?? draft.state.order.find(one => isDueExternal(draft, one, command)))
      : draft.state.tasks.get(command.task)
  if (task === undefined)
    return command.task === undefined
      ? (unapprovedTask(draft.state) ??
          refuse('not-ready', 'no task to claim', advise`see ${quoted('next', { explain: true })}`))
      : unknownTask(draft, command.task)
  const { id } = task.definition
  if (task.definition.action.type !== 'external')
    return refuse(
      'illegal-transition',
      `task '${id}' runs automatically; only external tasks can be claimed`,
      advise`see ${quoted('next')}`,
    )
  if (task.claim !== null)
    return refuse(
      'conflict',
      `task '${id}' is claimed by ${task.claim.by}${task.claim.by === command.by ? ', which is you' : ''}`,
      advise`wait until it is reported or the claim expires, or claim another task; ${releaseHint(draft.state, task)}`,
    )
  if (command.alone === true && draft.state.counts.running > 0) {
    const other = draft.state.order.find(({ status }) => status === 'running')
    return refuse(
      'not-ready',
      `'${other?.definition.id ?? ''}' is running, and this plan runs one task at a time`,
      'report it first, or wait until it has finished',
    )
  }
  const unapproved = mayNotClaim(draft, task, command.consent)
  if (unapproved !== null) return unapproved
  // A plan of external tasks needs no driver, so a claim also notices that a delay is over.
  const due = isDueExternal(draft, task, command)
  if (!due && !isClaimable(draft.state, task))
    return refuse(
      'not-ready',
      task.retryAt === null
        ? `task '${id}' is ${task.status}, not ready to claim`
        : `task '${id}' will be retried in ${Math.ceil((task.retryAt - draft.now) / 1000)} s`,
      advise`see ${quoted('next', { explain: true })}`,
    )
  const worn = attemptsUsedUp(draft.state)
  if (worn !== null)
    return refuse('limit', worn, 'raise it in the plan file; otherwise the plan will be aborted when it runs next')
  const breaker = command.clockBack === true ? null : blockingBreaker(draft.state, task, draft.now, () => false)
  if (breaker !== null)
    return refuse(
      'not-ready',
      `task '${id}' needs '${breaker.capability}', which failed too often; it can be used again in ${Math.ceil((breaker.until - draft.now) / 1000)} s`,
      advise`claim another task meanwhile: ${quoted('next', { explain: true })}`,
    )
  const short = claimObjection(draft.state, task, draft.now)
  if (short !== null) return short
  if (due) emit(draft, { type: 'task.readied', tasks: [id] })
  const holds = holdsOf(draft.state, task, 1)
  emit(draft, {
    type: 'attempt.started',
    task: id,
    visit: task.visit,
    attempt: task.attempt + 1,
    ...goneBackIn(task),
    ...command.prepared,
    claim: { token: command.token, by: command.by },
    ...(holds === undefined ? {} : { holds }),
  })
  return undefined
}

/** Why it must be approved first; null when no approval stands in the way of a claim. */
function mayNotClaim({ state, now }: DecisionDraft, task: TaskState, found: Found | undefined): Refusal | null {
  if (task.status === 'waiting' && task.gate?.asks.type === 'consent')
    return unapproved(state, task, task.gate.asks.why)
  if (task.status !== 'ready' || isUnjudged(task) || hasUncheckedPreconditions(task) || !asksBeforeClaim(state, task))
    return null
  const { consent } = task
  if (consent === null) return unapproved(state, task, `it ${IMPACT_WORDS[impactIn(state, task) ?? 'unknown']}`)
  const fault = found === undefined ? 'what it would do now was not checked' : faultIn(consent, found, now)
  return fault === null ? null : unapproved(state, task, `the approval is no longer valid: ${fault}`)
}

function unapproved({ definition: { name } }: PlanState, task: TaskState, why: string): Refusal {
  const { id } = task.definition
  return refuse(
    'not-ready',
    `'${id}' must be approved before it can be claimed: ${why}`,
    advise`${quoted('inbox')} shows what it would do; ${quoted('approve', { plan: name, task: id })} approves it`,
  )
}

/** When nothing can be claimed: the first task that could be if a person approved it. */
function unapprovedTask(state: PlanState): Refusal | null {
  const task = state.order.find(
    one => one.definition.action.type === 'external' && one.status === 'waiting' && one.gate?.asks.type === 'consent',
  )
  return task?.gate?.asks.type === 'consent' ? unapproved(state, task, task.gate.asks.why) : null
}

/** The first claimable task; if a breaker delays it, the first that no breaker delays. */
function nextClaimable({ state, now }: DecisionDraft, { clockBack }: CommandOf<'claim'>): TaskState | undefined {
  const first = state.claimable.peek(task => isClaimable(state, task))
  const isHeld = (task: TaskState) => blockingBreaker(state, task, now, () => false) !== null
  if (first === undefined || clockBack === true || !isHeld(first)) return first
  return state.order.find(task => isClaimable(state, task) && !isHeld(task)) ?? first
}

const isDueExternal = (draft: DecisionDraft, task: TaskState, { clockBack }: CommandOf<'claim'>): boolean =>
  task.status === 'ready' &&
  task.definition.action.type === 'external' &&
  task.retryAt !== null &&
  (task.retryAt <= draft.now || clockBack === true) &&
  !isUnjudged(task) &&
  !hasUncheckedPreconditions(task)

export function report(draft: DecisionDraft, command: CommandOf<'report'>): Refusal | undefined {
  const task = draft.state.tasks.get(command.task)
  if (task === undefined) return unknownTask(draft, command.task)
  const { id } = task.definition
  if (task.definition.action.type !== 'external')
    return refuse(
      'illegal-transition',
      `task '${id}' ${task.definition.action.type === 'gate' ? 'is a gate' : 'runs automatically'}; only external tasks can be reported`,
      task.definition.action.type === 'gate'
        ? advise`to approve it: ${quoted('approve', { plan: draft.state.definition.name, task: id })}`
        : advise`to continue without it: ${quoted('skip')}`,
    )
  const wanting = lacks(task, command.result)
  if (wanting !== undefined) return wanting
  if (task.claim === null) {
    if (draft.state.status !== 'active')
      return illegal(draft.state, 'report', 'only tasks of a running plan can be reported')
    if (command.held === true) return claimNotHeld(id)
    const { by, token = '', consent } = command
    const found = consent === undefined ? {} : { consent }
    const refusal = claim(draft, { type: 'claim', task: command.task, token, by, ...found })
    if (refusal !== undefined) return refusal
  } else if (command.token === undefined ? task.claim.by !== command.by : task.claim.token !== command.token) {
    return refuse(
      'conflict',
      command.token === undefined
        ? `task '${id}' is claimed by ${task.claim.by}`
        : `this is not the token of the claim on '${id}', which ${task.claim.by} holds`,
      advise`report with the token of the claim, or under that name; ${releaseHint(draft.state, task)}`,
    )
  }
  const { result, outside = [] } = command
  if (outside.length > 0 && result.status === 'succeeded') {
    refuseOutside(draft, task, outside)
    return undefined
  }
  if (command.unaccepted === true && result.status === 'failed' && mayGoOn(draft, task)) {
    const { failure, verdicts = [] } = result
    emit(draft, { type: 'report.refused', task: id, visit: task.visit, attempt: task.attempt, failure, verdicts })
    return undefined
  }
  withdrawOutside(draft, [task])
  settle(draft, task, result)
  conclude(draft)
  return undefined
}

/** A premature report may be corrected in the same attempt, while reports and time are left, unless an edge says what follows a failure. */
function mayGoOn({ now }: DecisionDraft, { definition, refused, startedAt, visitAt }: TaskState): boolean {
  const { timeoutMs, timeboxMs, on = {} } = definition
  if (Object.hasOwn(on, 'failure')) return false
  const isOver = (since: Millis | null, ms: number | undefined) => ms !== undefined && now >= (since ?? now) + ms
  return refused + 1 < REPORTS_MAX && !isOver(startedAt, timeoutMs) && !isOver(visitAt, timeboxMs)
}

/** The claimant may be gone. */
const releaseHint = ({ definition: { name } }: PlanState, task: TaskState): Hint =>
  advise`if whoever claimed it is gone: ${quoted('release', { plan: name, task: task.definition.id })}`

/** A pause stops running attempts, not claims. */
function refuseRunning(state: PlanState, task: TaskState): Refusal {
  const { id } = task.definition
  return task.claim === null
    ? refuse('not-ready', `task '${id}' is running`, 'wait for it, or pause the plan first')
    : refuse(
        'not-ready',
        `task '${id}' is claimed by ${task.claim.by}`,
        advise`wait for it; ${releaseHint(state, task)}`,
      )
}

export const claimNotHeld = (id: string): Refusal =>
  refuse('conflict', `the claim on '${id}' is not held by this token`, 'it may have expired; claim it again')

/** The missing parts of a report: declared outputs, and a known outcome or failure mode. */
function lacks({ definition }: TaskState, result: Result): Refusal | undefined {
  if (result.status === 'succeeded') {
    const missing = Object.entries(definition.outputs ?? {})
      .filter(([name, { from }]) => from === 'report' && !Object.hasOwn(result.outputs ?? {}, name))
      .map(([name]) => name)
    if (missing.length === 0) return strange(definition, result.outcome)
    return refuse(
      'invalid',
      `the report of '${definition.id}' is missing ${missing.map(name => `'${name}'`).join(', ')}`,
      'report every declared output, or report a failure',
    )
  }
  const names = (definition.failureModes ?? []).map(mode => mode.name)
  if (result.mode === undefined || names.includes(result.mode)) return undefined
  const near = suggest(result.mode, names)
  const known = names.length === 0 ? 'it has none; leave it out' : `known: ${names.join(', ')}`
  return refuse(
    'unknown-reference',
    `task '${definition.id}' has no failure mode '${result.mode}'`,
    near === null ? known : `did you mean '${near}'?`,
    names,
  )
}

/** The lease of a claim expired, or the claim was released. A stale expiry changes nothing; releasing a lost claim is refused. */
export function lapse(draft: DecisionDraft, command: CommandOf<'lapse'>): Refusal | undefined {
  const task = draft.state.tasks.get(command.task)
  const { released } = command
  if (task?.status === 'running' && task.claim?.token === command.token) {
    // It may have been partly done, so repeating it needs a new approval.
    if (asksBeforeClaim(draft.state, task)) consumeConsent(draft, task)
    lose(draft, task, command.reason, 'by the world', { wrote: command.wrote })
    if (released !== true) escalate(draft, task, 'heartbeat')
    return undefined
  }
  if (released !== true) return undefined
  if (task === undefined) return unknownTask(draft, command.task)
  return refuse(
    'not-ready',
    `nobody has claimed '${command.task}', so there is nothing to release`,
    advise`see ${quoted('next', { explain: true })}`,
  )
}

export function retry(draft: DecisionDraft, command: CommandOf<'retry'>): Refusal | undefined {
  const { state } = draft
  const task = state.tasks.get(command.task)
  if (task === undefined) return unknownTask(draft, command.task)
  const { id } = task.definition
  if (state.status === 'draft' || state.status === 'cancelled')
    return illegal(state, 'retry', 'there is nothing to retry')
  if (state.compensating !== null) return undoingFirst(state, 'retry')
  if (task.status === 'ready' && task.retryAt !== null) {
    emit(draft, { type: 'task.readied', tasks: [id] })
    return undefined
  }
  if (task.gate !== null && AGAIN.has(task.gate.asks.type)) {
    return decideGate(draft, {
      type: 'decide',
      task: command.task,
      verdict: 'again',
      rationale: command.reason ?? '',
      by: command.by,
    })
  }
  const blocker = task.status === 'blocked' ? blockerOf(state, task) : undefined
  if (!ENDED.has(task.status))
    return refuse(
      'not-ready',
      `task '${id}' is ${blocker === undefined ? task.status : `blocked by '${blocker.definition.id}'`}; only a finished task can be retried`,
      blocker === undefined
        ? advise`see ${quoted('next', { explain: true })}`
        : advise`retry that one: ${quoted('retry', { plan: state.definition.name, task: blocker.definition.id })}`,
    )
  const unled = nothingLedTo(state, task)
  if (unled !== null) return unled
  const ended = worksOf(state, task).filter(other => ENDED.has(other.status))
  const works = ended.length === 0 ? [task] : ended
  const unsafe = [...works, ...transitiveDependants(works)].find(
    other => other.status === 'running' && effectOf(state.definition, other.definition) === 'unsafe',
  )
  if (unsafe !== undefined)
    return refuse(
      'not-ready',
      `'${unsafe.definition.id}' comes after '${id}' and is running`,
      'wait for it, or pause the plan first',
    )
  const again = withCompensated(draft, works)
  const unsure = command.repeat === true ? null : refuseRepeat(state, again)
  if (unsure !== null) return unsure
  if (PLAN_ENDED.has(state.status))
    emit(draft, { type: 'plan.reopened', reason: `retry of '${id}'`, ...policyAgain(command) })
  reopen(draft, again, command.reason ?? 'manual retry')
  redoDone(draft)
  conclude(draft)
  return undefined
}

function blockerOf(state: PlanState, task: TaskState): TaskState | undefined {
  const seen = new Set<TaskState>([task])
  for (const one of seen)
    for (const need of one.definition.needs ?? []) {
      const other = state.tasks.get(need)
      if (other?.status === 'failed') return other
      if (other?.status === 'blocked') seen.add(other)
    }
  return undefined
}

/** In an aborted plan, a branch that no outcome activated has nothing to do with the failure: a retry or a skip of it repairs nothing. */
function nothingLedTo({ status }: PlanState, task: TaskState): Refusal | null {
  if (status !== 'failed' || task.status !== 'cancelled' || !task.dormant) return null
  return refuse(
    'illegal-transition',
    `no outcome led to '${task.definition.id}' before the plan was aborted`,
    advise`retry the task that leads to it; see ${quoted('status')}`,
  )
}

export function skip(draft: DecisionDraft, command: CommandOf<'skip'>): Refusal | undefined {
  const { state } = draft
  const task = state.tasks.get(command.task)
  if (task === undefined) return unknownTask(draft, command.task)
  const { id } = task.definition
  if (state.status === 'cancelled') return illegal(state, 'skip', 'the plan is finished')
  if (state.compensating !== null) return undoingFirst(state, 'skip')
  if (task.status === 'running') return refuseRunning(state, task)
  if (task.status === 'completed' || task.status === 'skipped')
    return refuse('not-ready', `task '${id}' is ${task.status} already`)
  const unled = nothingLedTo(state, task)
  if (unled !== null) return unled
  const open = worksOf(state, task).filter(other => other !== task && !SATISFIES.has(other.status))
  const busy = open.find(other => other.status === 'running')
  if (busy !== undefined) return refuseRunning(state, busy)
  const { by } = command
  if (by !== undefined) {
    const refusals = [task, ...open].map(other => mayNotSkip(state, other, by))
    const refusal = refusals.find(each => each !== null)
    if (refusal != null) return refusal
  }
  if (PLAN_ENDED.has(state.status)) emit(draft, { type: 'plan.reopened', reason: `'${id}' was skipped` })
  const skipped = { type: 'task.skipped', reason: command.reason, by } as const
  for (const other of [...open, task]) emit(draft, { ...skipped, task: other.definition.id })
  if (state.status !== 'draft') {
    for (const other of [...open, task]) propagate(draft, other)
    withdrawQuestionsOf(draft, [...open, task])
    reopen(draft, withCompensated(draft, []), `'${id}' was skipped`)
    if (task.definition.action.type !== 'verify') redoDone(draft)
    conclude(draft)
  }
  return undefined
}

/** Compensations come first; they run while a process drives the plan. */
function undoingFirst(state: PlanState, verb: string): Refusal {
  const why = state.ending === 'failed' ? 'the plan failed' : 'the plan is being cancelled'
  const plan = state.definition.name
  const { hint: _, ...refusal } = illegal(state, verb, `${why} and its undo steps have not ended`)
  return { ...refusal, hint: advise`run the undo steps first: ${next('resume', { plan })}` }
}

/** Questions about a failure, which a retry answers. */
const AGAIN: ReadonlySet<GateAsks['type']> = new Set(['unknown-outcome', 'recovery', 'replan'])

/** An outcome without an edge, in a task with edges, is probably a typo, and would be ignored. */
function strange({ id, on }: TaskState['definition'], outcome: string | undefined): Refusal | undefined {
  const known = Object.keys(on ?? {})
  if (outcome === undefined || known.length === 0 || known.includes(outcome) || outcome === 'success') return undefined
  const near = suggest(outcome, known)
  return refuse(
    'unknown-reference',
    `task '${id}' has no outcome '${outcome}'`,
    near === null ? `known: ${known.join(', ')}` : `did you mean '${near}'?`,
    known,
  )
}
