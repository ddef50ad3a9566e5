// A plan in a few lines: where it stands, what waits for whom. Every face shows the same, because every face asks here.

import { backFrom } from '../decisions/gates.ts'
import type { GateAsks } from '../event.ts'
import type { Millis, PlanId, Sha256, TaskName } from '../id.ts'
import type { JsonObject } from '../json.ts'
import type { Vote } from '../judgement-event.ts'
import type { Verdict } from '../result.ts'
import type { Shortage } from '../shortage.ts'
import type { OpenGate, PlanState, RollbackUnderWay, SetBack, TaskState } from '../state.ts'
import type { PlanStatus, TaskStatus } from '../status.ts'
import { isClaimable } from '../task-graph.ts'
import { recoveryLine } from './explain.ts'
import { type Progress, progress } from './progress.ts'
import { type Releases, releasesOf } from './releases.ts'
import { type Stopped, whatStopped } from './stopped.ts'

export interface Summary {
  readonly id: PlanId
  readonly name: string
  readonly title: string | null
  /** What it is for, in the words of its definition. */
  readonly goal: string | null
  /** The goal and the session it belongs to, and who is to carry it out. */
  readonly goalId: string | null
  readonly session: string | null
  readonly agent: string | null
  readonly status: PlanStatus
  readonly reason: string | null
  readonly revision: number
  readonly version: number
  /** The plan it was made from, when it is a clone or a fork. */
  readonly origin: PlanId | null
  /** The folder it works in, relative to the workspace; null for the workspace itself. */
  readonly place: string | null
  readonly archived: boolean
  readonly createdAt: Millis
  readonly updatedAt: Millis
  readonly startedAt: Millis | null
  readonly endedAt: Millis | null
  /** What clients keep beside it. */
  readonly annotations: JsonObject
  readonly progress: Progress
  readonly running: readonly TaskName[]
  readonly waiting: readonly Waiting[]
  readonly failed: readonly { readonly task: TaskName; readonly reason: string; readonly handled: boolean }[]
  /** How many open external tasks nobody has claimed. */
  readonly claimable: number
  /** Questions and proposed revisions that wait for an answer; absent when there are none. */
  readonly asked?: readonly Asked[]
  /** What is being done about failures; absent when nothing is. */
  readonly recovering?: readonly { readonly task: TaskName; readonly how: string }[]
  /** Capabilities nothing may begin with before then; absent when there are none. */
  readonly breakers?: readonly { readonly capability: string; readonly until: Millis; readonly failures: number }[]
  /** Of a plan that failed: why, and what to do next. */
  readonly stopped?: Stopped
  /** Files that were set back before tasks were tried again, oldest first; absent when there are none. */
  readonly restored?: readonly SetBack[]
  /** Of a plan that is paused because the engine lacks something: what. No task failed by it. */
  readonly shortage?: Shortage
  /** The rollback under way; whoever drives the plan next finishes it. */
  readonly rollback?: Pick<RollbackUnderWay, 'kind' | 'to' | 'checkpoint'>
}

/** Asked or proposed in the middle of somebody's work. */
export interface Asked {
  readonly id: string
  readonly what: 'question' | 'proposal'
  readonly by: string
  readonly text: string
  readonly task: TaskName | null
  readonly since: Millis
}

/** Something a person must decide. */
export interface Waiting {
  readonly task: TaskName
  readonly asks: GateAsks
  readonly since: Millis
  /** Of everything the answer will be bound to. */
  readonly hash?: Sha256
  /** The stored bytes from which it is shown. */
  readonly shown?: Sha256
  /** Its checks as they were judged. */
  readonly evidence?: readonly Verdict[]
  readonly expiresAt?: Millis
  /** What an answer at a gate sets going, and what waits for others as well. */
  readonly releases?: Releases
  /** Where it would be sent back to. */
  readonly back?: TaskName
  /** Those of several who have approved. */
  readonly votes?: readonly Vote[]
  /** Why somebody was called about it. */
  readonly escalated?: readonly string[]
}

export function summary(state: PlanState): Summary {
  const { definition } = state
  const running: TaskName[] = []
  const waiting: Waiting[] = []
  const failed: { task: TaskName; reason: string; handled: boolean }[] = []
  let claimable = 0
  for (const task of state.order) {
    const { id } = task.definition
    if (task.status === 'running') running.push(id)
    if (task.gate !== null) waiting.push(waitingOf(state, task, task.gate))
    if (task.status === 'failed') failed.push({ task: id, reason: task.reason ?? '', handled: task.handled })
    if (isClaimable(state, task)) claimable++
  }
  return {
    id: state.id,
    name: definition.name,
    title: definition.title ?? null,
    goal: definition.goal ?? null,
    goalId: state.goal,
    session: state.session,
    agent: state.agent,
    status: planStatus(state),
    reason: state.reason,
    revision: state.revision,
    version: state.version,
    origin: state.origin,
    place: state.place,
    archived: state.archived,
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    startedAt: state.startedAt,
    endedAt: state.endedAt,
    annotations: state.annotations,
    progress: progress(state),
    running,
    waiting,
    failed,
    claimable,
    ...askedIn(state),
    ...troubles(state),
    ...(state.restored.length === 0 ? {} : { restored: state.restored }),
    ...underWay(state),
  }
}

function waitingOf(state: PlanState, task: TaskState, { asks, since, hash, ...gate }: OpenGate): Waiting {
  const { definition, escalated } = task
  const { shown, evidence, expiresAt, votes } = gate
  const back = backFrom(state, task)
  const releases = releasesOf(state, task)
  return {
    task: definition.id,
    asks,
    since,
    ...(hash === null ? {} : { hash }),
    ...(shown === undefined ? {} : { shown }),
    ...(evidence === undefined ? {} : { evidence }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(votes === undefined ? {} : { votes }),
    ...(releases === null ? {} : { releases }),
    ...(back === null ? {} : { back }),
    ...(escalated.length === 0 ? {} : { escalated }),
  }
}

function askedIn({ questions, proposals, endedAt }: PlanState): Pick<Summary, 'asked'> {
  const asked: readonly Asked[] = [
    ...questions.map(({ id, by, text, task, since }) => ({ id, what: 'question' as const, by, text, task, since })),
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
  const recovering = state.order.flatMap(task => {
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
  return { rollback: { kind, to, ...(checkpoint === undefined ? {} : { checkpoint }) } }
}

/** `blocked` is derived, never stored: an active plan in which nothing can move until a person decides. */
export function planStatus(state: PlanState): PlanStatus {
  if (state.status !== 'active') return state.status
  const { counts } = state
  const moving: readonly TaskStatus[] = ['running', 'ready']
  return moving.every(status => counts[status] === 0) && counts.waiting > 0 ? 'blocked' : 'active'
}
