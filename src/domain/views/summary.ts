// A plan in a few lines: its state, and what waits for whom. The same for every face.

import { firstLacking } from '../budget/budget-rules.ts'
import type { GateQuestion, Vote } from '../event.ts'
import { backFrom } from '../gates/gates.ts'
import { advise, aimHint, type Hint, next, quoted } from '../hint.ts'
import type { Millis, PlanId, TaskName } from '../id.ts'
import { pick } from '../json.ts'
import { nextActions } from '../next-actions.ts'
import { failedText, reasonBesides } from '../phrases.ts'
import type { Field } from '../plan.ts'
import { type PlanPeople, peopleIn } from '../policy/plan-roles.ts'
import type { Uncovered } from '../result.ts'
import { howToStartOver } from '../rules/start-over.ts'
import type { Shortage } from '../shortage.ts'
import type { OpenGate, PlanState, RollbackUnderWay, SetBack, TaskState } from '../state/state.ts'
import { claimableTasks, isClaimable, perVersion } from '../state/task-index.ts'
import { BLOCKS, type PlanStatus, TASK_STATUSES, type TaskStatus } from '../status.ts'
import { recoveryLine } from './board.ts'
import { type Releases, releasesOf } from './gate-releases.ts'
import { spokenAsks } from './gate-text.ts'
import { tickedChecks } from './ticked-checks.ts'

// The progress of a plan. Success rates are computed here only: over attempts for statistics, over tasks for the state of a plan.

export interface Progress {
  readonly total: number
  readonly done: number
  readonly ended: number
  /** 0 to 1; 0 without tasks. */
  readonly ratio: number
  /** Completed tasks of all that completed or failed; null before the first. */
  readonly successRate: number | null
  readonly counts: Readonly<Record<TaskStatus, number>>
}

/** Successful attempts of all that ended; a lost one counts as unsuccessful. Null before the first. */
export function successRate(ended: {
  readonly succeeded: number
  readonly failed: number
  readonly lost: number
}): number | null {
  const attempts = ended.succeeded + ended.failed + ended.lost
  return attempts === 0 ? null : ended.succeeded / attempts
}

export const ratioOf = (done: number, total: number): number => (total === 0 ? 0 : done / total)

export function progress(state: Pick<PlanState, 'counts'>): Progress {
  const counts = { ...state.counts }
  const total = TASK_STATUSES.reduce((sum, status) => sum + counts[status], 0)
  const done = counts.completed + counts.skipped
  const ended = done + counts.failed + counts.abandoned + counts.cancelled
  const judged = counts.completed + counts.failed
  return {
    total,
    done,
    ended,
    ratio: ratioOf(done, total),
    successRate: judged === 0 ? null : counts.completed / judged,
    counts,
  }
}

// What stops a plan, and what a person can do about it: one sentence and a few steps. Every incomplete plan that does not move has an
// answer here.

interface Stopped {
  readonly why: string
  readonly next: readonly Hint[]
  readonly task?: TaskName
}

function statusText({ status, reason }: PlanState): string {
  const why = reasonBesides(status, reason)
  return why === '' ? status : `${status}: ${why}`
}

/** Null when the plan is completed, or continues when it is driven. */
export function whatStopped(state: PlanState, now: Millis): Stopped | null {
  const { name } = state.definition
  switch (state.status) {
    case 'completed':
      return null
    case 'draft':
      return { why: 'not started', next: [[next('run', { plan: name })]] }
    case 'paused':
      return {
        why: statusText(state),
        next: [
          ...(state.shortage === null ? [] : [state.shortage.hint]),
          ...(state.overBudget && state.questions.some(({ budget }) => budget !== undefined)
            ? [[next('budget-add', { plan: name, ...firstLacking(state) })]]
            : []),
          [next('resume', { plan: name })],
        ],
      }
    case 'cancelled':
      return {
        why: statusText(state),
        next: [howToStartOver(state)],
      }
    case 'failed':
      return whyFailed(state)
    case 'active':
      return nextActions(state, now).rest === 'waiting' ? whatWaits(state, now) : null
    default:
      return state.status satisfies never
  }
}

export const RUNS_AGAIN =
  'completed tasks are kept; failed, undone and changed tasks, and the tasks after them, run again'

function whyFailed(state: PlanState): Stopped {
  const { name } = state.definition
  const why = state.reason ?? 'it failed'
  const cap = CAP.exec(why)?.[1]
  const task =
    state.order.find(one => one.status === 'failed' && why.includes(`'${one.definition.id}'`)) ??
    (cap === 'policy.limits.loops' ? wentRound(state) : undefined) ??
    culprit(state)
  const hint = task?.result?.status === 'failed' ? task.result.failure.hint : undefined
  const id = task?.definition.id
  const ways: readonly Hint[] = [
    ...(cap === undefined ? [] : [advise`see why it loops: ${next('log', { plan: name })}`]),
    ...(hint === undefined ? [] : [id === undefined ? hint : aimHint(hint, { plan: name, task: id })]),
    ...(id === undefined ? [[next('log', { plan: name })]] : waysOn(name, id, cap, failedTasks(state))),
  ]
  return { why, next: ways, task: id }
}

/** The limits of the whole plan. A limit of one command is a failure of its task, with its own hint. */
const CAP = /\((policy\.limits\.(?:attempts|loops))\)/

/** A limit ended it: a retry resets the limit, and the plan file can raise it. */
function waysOn(plan: string, task: TaskName, cap: string | undefined, failed: number): readonly Hint[] {
  const changed = advise`in the plan file, then ${quoted('run', { file: 'FILE' })}; ${RUNS_AGAIN}`
  if (cap !== undefined) return [[next('retry', { plan, task })], advise`raise ${cap} ${changed}`]
  return [
    ...(failed < 2 ? [] : [advise`${next('resume', { plan })} runs all ${failed} failed tasks again`]),
    [next('retry', { plan, task })],
    [next('skip', { plan, task, reason: 'why' })],
    advise`fix it ${changed}`,
  ]
}

const failedTasks = ({ order }: PlanState): number =>
  order.filter(({ status, handled }) => status === 'failed' && !handled).length

/** The last ended task with an edge, which would have looped once more. */
function wentRound({ order }: PlanState): TaskState | undefined {
  const ended = order.filter(
    ({ status, definition }) =>
      (status === 'completed' || status === 'failed') &&
      (definition.on !== undefined || definition.recover !== undefined || definition.action.type === 'decide'),
  )
  return ended.reduce<TaskState | undefined>(
    (last, one) => (last === undefined || (one.endedAt ?? 0) >= (last.endedAt ?? 0) ? one : last),
    undefined,
  )
}

/** The first task that failed by itself, else the first that did not complete. Tasks that were never activated stopped nothing. */
function culprit({ order }: PlanState): TaskState | undefined {
  const open = order.filter(
    ({ status, definition, dormant }) => BLOCKS.has(status) && definition.optional !== true && !dormant,
  )
  return open.find(({ status, handled }) => status === 'failed' && !handled) ?? open[0]
}

function whatWaits(state: PlanState, now: Millis): Stopped {
  const { name } = state.definition
  const asked = state.order.filter(({ gate }) => gate !== null)
  const claimed = state.order.filter(({ claim }) => claim !== null)
  const free = state.order.filter(task => isClaimable(state, task))
  const first = asked[0] ?? claimed[0] ?? free[0]
  const parts = [
    asked.length === 0 ? null : `${listed(asked)} ${asked.length === 1 ? 'needs' : 'need'} a decision of a person`,
    claimed.length === 0
      ? null
      : `${listed(claimed)} ${claimed.length === 1 ? 'is' : 'are'} claimed and not reported yet`,
    free.length === 0 ? null : `${listed(free)} ${free.length === 1 ? 'waits' : 'wait'} to be claimed`,
  ].filter(part => part !== null)
  const held = state.breakers.find(({ until }) => until !== null && until > now)
  if (held !== undefined)
    parts.push(`'${held.capability}' can be used again in ${Math.ceil((held.until! - now) / 1000)} s`)
  return {
    why: parts.length === 0 ? 'no task can start' : parts.join('; '),
    next: [
      ...(asked.length === 0 ? [] : [[next('inbox')]]),
      ...(free.length === 0 ? [] : [[next('claim', { plan: name })]]),
      ...(asked.length + free.length > 0 ? [] : [[next('next', { plan: name, explain: true })]]),
    ],
    task: first?.definition.id,
  }
}

const LISTED_MAX = 3

function listed(tasks: readonly TaskState[]): string {
  const names = tasks.slice(0, LISTED_MAX).map(({ definition }) => `'${definition.id}'`)
  return tasks.length > LISTED_MAX ? `${names.join(', ')} and ${tasks.length - LISTED_MAX} more` : names.join(', ')
}

export interface FailedTask {
  readonly task: TaskName
  readonly reason: string
  readonly handled: boolean
  readonly hint?: Hint
}

type StoredTimes = Readonly<Pick<PlanState, 'createdAt' | 'updatedAt' | 'startedAt' | 'endedAt'>>
type StoredFacts = Pick<PlanState, 'reason' | 'revision' | 'version' | 'origin' | 'place' | 'archived' | 'annotations'>

export interface Summary extends Readonly<StoredFacts>, StoredTimes {
  readonly id: PlanId
  readonly name: string
  readonly title: string | null
  readonly goal: string | null
  readonly goalId: string | null
  readonly session: string | null
  readonly agent: string | null
  readonly status: PlanStatus
  readonly progress: Progress
  readonly running: readonly TaskName[]
  readonly waiting: readonly Waiting[]
  readonly failed: readonly FailedTask[]
  readonly claimable: number
  readonly asked?: readonly Asked[]
  readonly recovering?: readonly { readonly task: TaskName; readonly how: string }[]
  readonly breakers?: readonly { readonly capability: string; readonly until: Millis; readonly failures: number }[]
  readonly stopped?: Stopped
  readonly restored?: readonly SetBack[]
  readonly uncovered?: readonly ({ readonly task: TaskName } & Uncovered)[]
  /** For a plan paused by a lack of resources. No task failed. */
  readonly shortage?: Shortage
  /** It is paused because everything was halted, and stays so when the halt is lifted. */
  readonly halted?: true
  readonly rollback?: Pick<RollbackUnderWay, 'kind' | 'to' | 'checkpoint'>
  readonly people?: PlanPeople
}

interface Asked {
  readonly id: string
  readonly what: 'question' | 'proposal'
  readonly by: string
  readonly text: string
  readonly task: TaskName | null
  readonly since: Millis
  readonly form?: readonly Field[]
  /** No task of the plan begins before the answer. */
  readonly pauses?: true
}

export interface Waiting extends Omit<GateQuestion, 'binds'> {
  readonly task: TaskName
  readonly since: Millis
  readonly releases?: Releases
  readonly back?: TaskName
  readonly votes?: readonly Vote[]
  readonly escalated?: readonly string[]
}

export const summary: (state: PlanState) => Summary = perVersion(summarize)

function summarize(state: PlanState): Summary {
  const { definition } = state
  const running: TaskName[] = []
  const waiting: Waiting[] = []
  const failed: FailedTask[] = []
  const uncovered: ({ readonly task: TaskName } & Uncovered)[] = []
  for (const task of state.order) {
    const { id } = task.definition
    if (task.status === 'running') running.push(id)
    if (task.gate !== null) waiting.push(waitingOf(state, task, task.gate))
    if (task.status === 'failed') failed.push(failedTask(definition.name, task))
    if (task.result?.uncovered !== undefined) uncovered.push({ task: id, ...task.result.uncovered })
  }
  const people = peopleIn(definition, null)
  return {
    id: state.id,
    name: definition.name,
    title: definition.title ?? null,
    goal: definition.goal ?? null,
    goalId: state.goal,
    session: state.session,
    agent: state.agent,
    status: planStatus(state),
    ...pick(state, 'reason', 'revision', 'version', 'origin', 'place', 'archived'),
    ...pick(state, 'createdAt', 'updatedAt', 'startedAt', 'endedAt', 'annotations'),
    progress: progress(state),
    running,
    waiting,
    failed,
    claimable: claimableTasks(state).length,
    ...askedIn(state),
    ...troubles(state),
    ...(state.restored.length === 0 ? {} : { restored: state.restored }),
    ...(uncovered.length === 0 ? {} : { uncovered }),
    ...underWay(state),
    ...(state.status === 'paused' && state.byHalt ? { halted: true } : {}),
    ...(people === null ? {} : { people }),
  }
}

function failedTask(plan: string, { definition: { id: task }, reason, handled, result }: TaskState): FailedTask {
  const hint = result?.status === 'failed' ? result.failure.hint : undefined
  return {
    task,
    reason: failedText(reason),
    handled,
    ...(hint === undefined ? {} : { hint: aimHint(hint, { plan, task }) }),
  }
}

function waitingOf(state: PlanState, task: TaskState, { asks, since, hash, ...gate }: OpenGate): Waiting {
  const { definition, escalated } = task
  const ticked = tickedChecks(task, asks)
  const { shown, evidence = ticked.length === 0 ? undefined : ticked, expiresAt, votes } = gate
  const back = backFrom(state, task)
  const releases = releasesOf(state, task)
  return {
    task: definition.id,
    asks: spokenAsks(definition, asks),
    since,
    ...(hash === null ? {} : { hash }),
    shown,
    evidence,
    expiresAt,
    votes,
    ...(releases === null ? {} : { releases }),
    ...(back === null ? {} : { back }),
    ...(escalated.length === 0 ? {} : { escalated }),
  }
}

function askedIn({ questions, proposals, endedAt }: PlanState): Pick<Summary, 'asked'> {
  const asked: readonly Asked[] = [
    ...questions.map(({ id, by, text, task, since, budget, sandbox, form }) => ({
      id,
      what: 'question' as const,
      by,
      text,
      task,
      since,
      form,
      ...(budget === undefined && sandbox !== true ? {} : { pauses: true as const }),
    })),
    ...proposals.map(({ id, by, rationale: text, task, since }) => ({
      id,
      what: 'proposal' as const,
      by,
      text,
      task,
      since,
    })),
  ].map(({ task, ...one }) => ({ ...one, task: task ?? null }))
  return asked.length === 0 || endedAt !== null ? {} : { asked }
}

function troubles(state: PlanState): Pick<Summary, 'recovering' | 'breakers' | 'stopped' | 'shortage'> {
  const recovering = state.order
    .filter(task => task.recovering !== null)
    .flatMap(task => {
      const how = recoveryLine(state, task)
      return how === null ? [] : [{ task: task.definition.id, how }]
    })
  const breakers = state.breakers.flatMap(({ capability, until, failures }) =>
    until === null || state.endedAt !== null ? [] : [{ capability, until, failures }],
  )
  const stopped = state.status === 'failed' ? whatStopped(state, state.updatedAt) : null
  return {
    ...(recovering.length === 0 ? {} : { recovering }),
    ...(breakers.length === 0 ? {} : { breakers }),
    ...(stopped === null ? {} : { stopped }),
    ...(state.status === 'paused' && state.shortage !== null ? { shortage: state.shortage } : {}),
  }
}

function underWay({ rollback }: PlanState): Pick<Summary, 'rollback'> {
  if (rollback === null) return {}
  const { kind, to, checkpoint } = rollback
  return { rollback: { kind, to, checkpoint } }
}

/** `blocked` is derived, never stored: an active plan in which nothing can move until a person decides. */
export function planStatus(state: PlanState): PlanStatus {
  if (state.status !== 'active') return state.status
  const { counts } = state
  const moving: readonly TaskStatus[] = ['running', 'ready']
  return moving.every(status => counts[status] === 0) && counts.waiting > 0 ? 'blocked' : 'active'
}
