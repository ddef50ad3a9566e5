// Claims over HTTP: claim, extend and report a task; advance one task by hand; let a coding agent work the tasks.

import type { PlanId, TaskName } from '../../domain/id.ts'
import { defined, type JsonObject } from '../../domain/json.ts'
import { haltedBy } from '../../domain/phrases.ts'
import { ENDED, SATISFIES, type TaskStatus } from '../../domain/status.ts'
import type { Card } from '../../domain/views/board.ts'
import type { Order, ScopeWait } from '../../engine/engine.ts'
import { asLiteral } from '../../format/expression/template.ts'
import * as wire from '../../format/wire/claims.ts'
import { runBody } from '../../format/wire/claims.ts'
import { claimable } from '../../operations/claim-task.ts'
import type { TaskTarget } from '../../operations/find-target.ts'
import { readyTasks } from '../../operations/next-step.ts'
import { type FailureReport, keepClaim, reportTask, type WorkReport } from '../../operations/report-task.ts'
import { findPlan } from '../find-plan.ts'
import { hintText } from '../hint-text.ts'
import { stale } from '../plans/patch.ts'
import { startPlan } from '../plans/set-plan-status.ts'
import { showTask, showTasks } from '../plans/show-task.ts'
import { invalidRequest, isProblem, type Problem, problem, refused } from '../problem.ts'
import { options } from '../request.ts'
import { type Answer, type AnyRoute, nothing, ok, type Route, route } from '../route.ts'
import {
  type Accepted,
  type Asking,
  answerOf,
  engineOf,
  gone,
  order,
  orderAlso,
  planRoute,
  withTask,
} from '../submit-order.ts'
import { iso, onWire } from '../wire-names.ts'

// The routes of agents at work: claim, heartbeat, report. At `/tasks/:task/…` and `/plans/:plan/tasks/:task/…`.

export function ofTask<Query, Body>(path: string, one: Omit<Route<Query, Body>, 'path'>): readonly AnyRoute[] {
  return ['/tasks/:task', '/plans/:plan/tasks/:task'].map(family => route({ ...one, path: `${family}${path}` }))
}

export const claimRoutes: readonly AnyRoute[] = [
  route({
    method: 'POST',
    path: '/tasks/claim',
    right: 'operate',
    about:
      'Claims the next task that is ready, of one plan or of all, the oldest plan first. The answer says what is to be done.',
    body: wire.claimNextBody,
    answers: { 200: { about: 'it is yours', body: 'Claim', tag: true }, 204: { about: 'nothing is ready' } },
    handle: async call => {
      const { plan_id: plan, session_id: session, agent_id: agent, kinds, lease_seconds: leaseSeconds } = call.body
      const claimed = await claimNext(call, { plan, session, agent, kinds, leaseSeconds })
      if (claimed === null) return nothing
      return isProblem(claimed) ? claimed : ok(claimed, claimed.version)
    },
  }),
  ...ofTask('/claim', {
    method: 'POST',
    right: 'operate',
    about: 'Claims this task.',
    body: wire.claimBody,
    answers: { 200: { about: 'it is yours', body: 'Claim', tag: true } },
    handle: async call =>
      await withTask(call, async ({ plan, task }) => {
        const { agent_id: agent, lease_seconds: leaseSeconds } = call.body
        const claimed = await claimTask(call, plan, task, { agent, leaseSeconds })
        return isProblem(claimed) ? claimed : ok(claimed, claimed.version)
      }),
  }),
  ...ofTask('/heartbeat', {
    method: 'POST',
    right: 'operate',
    about: 'Keeps a claim from lapsing.',
    body: wire.heartbeatBody,
    answers: { 200: { about: 'it stays yours', body: 'Heartbeat' } },
    handle: async call =>
      await withTask(call, async ({ plan, task }) => {
        const { token, lease_seconds: seconds } = call.body
        const claim = { token, leaseMs: seconds === undefined ? undefined : seconds * 1_000 }
        const kept = await keepClaim(engineOf(call), { plan, task }, claim, options(call))
        if (kept.status === 'refused') return refused(kept.refusal, { plan, task })
        const expires = (kept.expiresInMs ?? 0) / 1_000
        return ok({ task, token, expires_in_seconds: expires, ...(await answerOf(call, kept.accepted)) })
      }),
  }),
  ...ofTask('/report', {
    method: 'POST',
    right: 'operate',
    about: 'Reports how the work on a task went. What was not accepted is an error, though it is recorded.',
    body: wire.reportBody,
    answers: { 200: { about: 'it is recorded', body: 'TaskMoved', tag: true } },
    handle: async call =>
      await withTask(call, async found => {
        const { plan, task } = found
        const report = reportOf(call.body)
        if (isProblem(report)) return report
        const { token } = call.body
        const reported = await reportTask(engineOf(call), found, report, { token, submit: options(call) })
        if (reported.status === 'refused') return refused(reported.refusal, { plan, task })
        const { accepted: done, unaccepted } = reported
        const answer = await taskMoved(call, found, done)
        if (unaccepted === null || isProblem(answer)) return answer
        const { kept, failure, verdicts } = unaccepted
        const expiry = done.claim === undefined ? {} : { expires_in_seconds: done.claim.expiresInMs / 1_000 }
        return problem(422, 'not-accepted', `the report is recorded, but not accepted: ${failure.message}`, {
          hint: kept
            ? verdicts.length === 0 && failure.hint !== undefined
              ? failure.hint
              : 'the task is still yours: see `verdicts`, fix it, then report again with the same token'
            : 'see `verdicts`, fix it, then claim the task again if it is unfinished',
          more: {
            ...(answer.body as object),
            verdicts,
            claim_kept: kept,
            ...(kept && done.claim !== undefined ? { token: done.claim.token, ...expiry } : {}),
          },
        })
      }),
  }),
  ...ofTask('/skip', {
    method: 'POST',
    right: 'operate',
    about: 'Skips a task on purpose; the tasks that need it continue.',
    body: wire.skipBody,
    answers: { 200: { about: 'it is skipped', body: 'TaskMoved', tag: true } },
    handle: async call => await moving(call, task => ({ type: 'skip', task, reason: call.body.reason })),
  }),
  ...ofTask('/retry', {
    method: 'POST',
    right: 'operate',
    about: 'Tries an ended task again, with everything that needs it.',
    body: wire.retryBody,
    answers: { 200: { about: 'it is open again', body: 'TaskMoved', tag: true } },
    handle: async call => {
      const { reason, repeat } = call.body
      const details = { reason, ...(repeat === true ? { repeat } : {}) }
      return await moving(call, task => ({ type: 'retry', task, ...details }))
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/next',
    right: 'read',
    about: 'What can be worked on now, best first.',
    query: wire.nextQuery,
    answers: { 200: { about: 'the tasks that are ready', body: 'NextTasks', tag: true } },
    handle: async (call, { plan }) => {
      const ready = await readyTasks(call.engine, plan, {
        now: call.rooms.now(),
        explain: call.query.explain === true,
      })
      if (ready === null) return gone()
      const names = ready.records.map(({ card }) => card.name)
      const shown = await showTasks(call, plan, names)
      return shown === null
        ? gone()
        : ok(
            {
              items: shown.bodies,
              explained: ready.explained.map(({ task, why }) => ({ task, why: hintText(why, { plan }) })),
              held: ready.held.map(heldOnWire),
            },
            shown.version,
          )
    },
  }),
]

async function moving(call: Asking, what: (task: TaskName) => Order): Promise<Answer> {
  return await withTask(call, async found => {
    const done = await order(call, found.plan, what(found.task))
    return isProblem(done) ? done : await taskMoved(call, found, done)
  })
}

async function taskMoved(call: Asking, { plan, task }: TaskTarget, done: Parameters<typeof answerOf>[1]) {
  const shown = await showTask(call, plan, task)
  if (shown === null) return gone()
  const moved = await answerOf(call, done)
  return ok({ task: shown.body, ...moved }, moved.version)
}

function reportOf({
  status,
  outputs,
  output_data,
  outcome,
  not_mine: notMine,
  error,
  mode,
}: wire.ReportBody): WorkReport | Problem {
  const left = { outputs: (outputs ?? output_data) as JsonObject | undefined }
  if (status !== 'failed') {
    const strange = error !== undefined ? 'error' : mode !== undefined ? 'mode' : null
    if (strange !== null)
      return invalidRequest('body', [
        { path: strange, message: 'is said of what failed', hint: 'leave it out, or say status: failed' },
      ])
    return { status: 'done', ...left, outcome, notMine }
  }
  if (error === undefined || (typeof error === 'string' ? error : error.message).trim() === '')
    return invalidRequest('body', [{ path: 'error', message: 'says nothing', hint: 'say what went wrong' }])
  if (outcome !== undefined)
    return invalidRequest('body', [
      { path: 'outcome', message: 'is said of what was done', hint: 'a failure has a `mode`' },
    ])
  return { status: 'failed', why: whyFailed(error), ...left, mode }
}

function whyFailed(error: NonNullable<wire.ReportBody['error']>): FailureReport {
  if (typeof error === 'string') return { message: error }
  const { retry_after_seconds: seconds, ...detail } = error
  return { ...detail, retryAfterMs: seconds === undefined ? undefined : seconds * 1_000 }
}

const heldOnWire = ({ task, paths, by }: ScopeWait) => ({
  task,
  paths,
  by: by.map(({ visit: _, since, ...holder }) => ({ ...holder, since: iso(since) })),
})

// Advances one task by hand: starts the draft if needed, claims an external task for the caller, and leaves any other task to the
// service. If the task is not ready, the problem says what is missing.

export const runRoutes: readonly AnyRoute[] = ofTask('/run', {
  method: 'POST',
  right: 'operate',
  about: 'Advances one task by hand; starts the plan if need be.',
  body: runBody,
  answers: {
    200: { about: 'it is claimed for you', body: 'TaskRun', tag: true },
    202: { about: 'the service carries it out', body: 'TaskRun', tag: true },
  },
  handle: async call =>
    await withTask(call, async found => {
      const { inputs, agent_id: agent, lease_seconds: leaseSeconds } = call.body
      const refusal = await notReady(call, found)
      if (refusal !== null) return refusal
      const changed = inputs === undefined ? null : await withInputs(call, found, inputs as JsonObject)
      if (changed !== null && isProblem(changed)) return changed
      const started = await startedIfDraft(call, found)
      if (started !== null && isProblem(started)) return started
      const card = await call.engine.ask({ type: 'task', plan: found.plan, task: found.task })
      if (card === null) return gone()
      if (card.action === 'external') {
        // The expected version was checked before the first order.
        const claimed = await claimTask({ ...call, expectedVersion: undefined }, found.plan, found.task, {
          agent,
          leaseSeconds,
        })
        return isProblem(claimed) ? claimed : ok({ status: 'claimed', ...claimed }, claimed.version)
      }
      const shown = await showTask(call, found.plan, found.task)
      if (shown === null) return gone()
      const accepted: Accepted = started ??
        changed ?? { ok: true, plan: found.plan, name: found.name, version: shown.version, events: [] }
      const status = card.status === 'ready' ? 'queued' : 'running'
      return { status: 202, body: { status, task: shown.body, ...(await answerOf(call, accepted)) } }
    }),
})

/** Null if the task can start. Checked before any order, so that a refusal changes nothing. */
async function notReady(call: Asking, { plan, task }: TaskTarget): Promise<Problem | null> {
  const { engine } = call
  const [summary, board] = [await engine.ask({ type: 'summary', plan }), await engine.ask({ type: 'board', plan })]
  const card = board?.find(({ name }) => name === task)
  if (summary === null || board === null || board === undefined || card === undefined) return gone()
  const old = stale(call, summary, undefined)
  if (old !== null) return old
  const { name, status } = summary
  if (status !== 'draft' && status !== 'active' && status !== 'blocked')
    return problem(409, 'illegal-transition', `'${name}' is ${status}: no task of it can be run`, {
      hint: status === 'paused' ? `continue it: POST /plans/${name}/resume` : `it has ended: POST /plans/${name}/clone`,
      allowed: status === 'paused' ? ['resume', 'cancel'] : ['clone'],
    })
  const missing = missingOf(card, board)
  if (missing.length > 0)
    return problem(409, 'not-ready', `'${task}' still needs ${missing.map(one => `'${one.task}'`).join(', ')}`, {
      hint: firstStep(name, missing[0]!, board),
      more: { missing },
    })
  if (ENDED.has(card.status))
    return problem(409, 'not-ready', `'${task}' is ${card.status} already`, {
      hint: `to try it again: POST /plans/${name}/tasks/${task}/retry`,
      allowed: ['retry'],
    })
  if (card.status === 'waiting')
    return problem(409, 'not-ready', `'${task}' waits for a decision`, {
      hint: `see what it asks: GET /plans/${name}/gates`,
    })
  if (card.claimedBy !== null && call.once === undefined)
    return problem(409, 'conflict', `'${task}' is claimed by ${card.claimedBy}`, {
      hint: 'wait until it is reported or lapses',
    })
  return null
}

interface Missing {
  readonly task: TaskName
  readonly status: TaskStatus
}

const missingOf = ({ needs }: Card, board: readonly Card[]): readonly Missing[] =>
  needs.flatMap(need => {
    const status = board.find(({ name }) => name === need)?.status ?? 'pending'
    return SATISFIES.has(status) ? [] : [{ task: need, status }]
  })

/** The first thing the caller can do: the missing need, what that need is missing in turn, or an answer to its question. */
function firstStep(plan: string, missing: Missing, board: readonly Card[]): string {
  let first = missing
  for (let steps = 0; steps < board.length; steps++) {
    const card = board.find(({ name }) => name === first.task)
    const [below] = card === undefined ? [] : missingOf(card, board)
    if (below === undefined) break
    first = below
  }
  return first.status === 'waiting'
    ? `'${first.task}' waits for a decision; see what it asks: GET /plans/${plan}/gates`
    : `run what it needs first: POST /plans/${plan}/tasks/${encodeURIComponent(first.task)}/run`
}

async function startedIfDraft(call: Asking, { plan }: TaskTarget): Promise<Accepted | Problem | null> {
  const summary = await call.engine.ask({ type: 'summary', plan })
  if (summary === null) return gone()
  return summary.status === 'draft' ? await startPlan(call, plan) : null
}

async function withInputs(
  call: Asking,
  { plan, task }: TaskTarget,
  inputs: JsonObject,
): Promise<Accepted | Problem | null> {
  // Inputs are data, even if they look like expressions.
  const given = asLiteral(inputs) as JsonObject
  const record = await call.engine.ask({ type: 'records', plan, tasks: [task] })
  const known = record?.tasks[0]?.definition.inputs ?? {}
  const isSame = Object.entries(given).every(([key, value]) => JSON.stringify(known[key]) === JSON.stringify(value))
  if (isSame) return null
  const set = { inputs: { ...known, ...given } }
  return await orderAlso(
    call,
    plan,
    { type: 'change', task, set, rationale: `inputs of '${task}', given to run it` },
    'inputs',
  )
}

// Claims of external tasks over HTTP. The token identifies the actor; the agent a client names is recorded beside it without
// being trusted.

interface ClaimAsk {
  readonly agent?: string | undefined
  readonly leaseSeconds?: number | undefined
}

async function claimTask(call: Asking, plan: PlanId, task: TaskName, ask: ClaimAsk) {
  const claimed = await order(call, plan, {
    type: 'claim',
    task,
    leaseMs: ask.leaseSeconds === undefined ? undefined : ask.leaseSeconds * 1_000,
    ...((await isSequential(call, plan)) ? { alone: true } : {}),
  })
  return isProblem(claimed) ? claimed : await claimBody(call, claimed, ask)
}

/** Such a plan's steps run one after the other, regardless of their needs. */
async function isSequential({ engine }: Asking, plan: PlanId): Promise<boolean> {
  const current = await engine.ask({ type: 'definition', plan })
  return current?.definition.extra?.plan_type === 'sequential'
}

async function claimBody(call: Asking, claimed: Accepted, { agent }: ClaimAsk) {
  const { engine } = call
  const { plan, claim } = claimed
  if (claim === undefined) throw new Error('bug: a claim was accepted without a token')
  const { task, token, expiresInMs } = claim
  const kept = defined({ agent_id: agent, claim_key: call.once })
  if (Object.keys(kept).length > 0 && claimed.replayed === undefined) {
    const annotated = await orderAlso(call, plan, { type: 'annotate', task, set: kept }, 'agent')
    if (isProblem(annotated)) return annotated
  }
  const [shown, briefing] = [await showTask(call, plan, task), await engine.ask({ type: 'briefing', plan, task })]
  if (shown === null || briefing === null) return gone()
  return {
    token,
    expires_in_seconds: expiresInMs / 1_000,
    agent_id: agent ?? null,
    place: (await engine.ask({ type: 'summary', plan }))?.place ?? null,
    task: shown.body,
    briefing: onWire(briefing),
    ...(await answerOf(call, claimed)),
  }
}

interface NextAsk extends ClaimAsk {
  readonly plan?: string | undefined
  readonly session?: string | undefined
  readonly kinds?: readonly string[] | undefined
}

/** The next ready task, oldest plan first; null if there is none. If another caller was faster, tries the one after it. */
async function claimNext(call: Asking, ask: NextAsk) {
  const within = ask.plan === undefined ? null : await findPlan(call, ask.plan)
  if (within !== null && isProblem(within)) return within
  const halt = await call.engine.killSwitch.halted()
  if (halt !== null)
    return problem(409, 'not-ready', `everything was ${haltedBy(halt)}`, {
      hint: 'stop working; an authorised person will lift it, then you can continue',
    })
  const again = call.once === undefined ? null : await claimedBefore(call, call.once)
  if (again !== null) return await claimTask(call, again.plan, again.task, ask)
  let last: Problem | null = null
  const agents = [ask.agent, call.who.actor]
  const { session, kinds } = ask
  for await (const { plan, card } of claimable(call.engine, agents, call.rooms.now(), {
    plan: within?.plan,
    session,
    kinds,
  })) {
    const claimed = await claimTask(call, plan, card.name, ask)
    if (!isProblem(claimed)) return claimed
    last = claimed
    if (claimed.problem.status !== 409) return claimed
  }
  // The key belongs to an ended claim; another task must not be claimed under it.
  return last?.problem.detail.includes('Idempotency-Key') === true ? last : null
}

const PAGE = 500

async function claimedBefore(call: Asking, key: string): Promise<{ plan: PlanId; task: TaskName } | null> {
  const { engine } = call
  const { items } = await engine.ask({ type: 'tasks', status: 'running', assignee: call.who.actor, limit: PAGE })
  for (const { plan, name } of items) {
    const card = await engine.ask({ type: 'task', plan, task: name })
    if (card?.annotations.claim_key === key) return { plan, task: name }
  }
  return null
}
