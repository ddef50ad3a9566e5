// Actions on a plan over HTTP: run, pause, resume, cancel, inspect, fork, roll back.

import type { UnsafeWork } from '../../domain/command.ts'
import { isPlanName, type PlanId, type TaskName } from '../../domain/id.ts'
import type { FilePreview, Order, RollbackAsk, RollbackPreview } from '../../engine/engine.ts'
import { showSessionPlan } from '../../extras/compat/compat.ts'
import {
  cancelBody,
  cloneBody,
  executeBody,
  newCheckpoint,
  pauseBody,
  type RollbackBody,
  rollbackBody,
} from '../../format/wire/plans.ts'
import { waitForEvent } from '../../operations/archive-plan.ts'
import { cloneOrder } from '../../operations/create-plan.ts'
import {
  isRollbackEnd,
  orderRollback,
  previewRollback,
  type RollbackWanted,
  undecidedFiles,
} from '../../operations/rollback-plan.ts'
import { continuationText, type WentOn } from '../../operations/run-plan.ts'
import { type Summary, setGoing } from '../../operations/start-plan.ts'
import { stale } from '../plans/patch.ts'
import { checker, notStarted } from '../plans/set-plan-status.ts'
import { checkpointsOf, gitTracesOf } from '../plans/show-executions.ts'
import { invalidRequest, isProblem, type Problem, problem, refused } from '../problem.ts'
import { options } from '../request.ts'
import { type Answer, type AnyRoute, created, ok, route } from '../route.ts'
import {
  type Accepted,
  type Asking,
  answerOf,
  clientSignal,
  engineOf,
  gone,
  order,
  planRoute,
  withPlan,
} from '../submit-order.ts'
import { iso, onWire } from '../wire-names.ts'

// Rollback over the wire: the preview, the choices a person must make first, and the order itself.

type PossibleRollback = Extract<RollbackPreview, { readonly ok: true }>

const CHOICES = ['keep', 'take', 'merge'] as const

function askOf(body: RollbackBody): RollbackAsk | Problem {
  const { checkpoint_id, to, undo, files, tasks, files_only, keep_git, include_unclaimed, force, choices, every } = body
  if ([checkpoint_id, to, undo === true ? true : undefined].filter(one => one !== undefined).length > 1)
    return invalidRequest('body', [
      { path: 'to', message: 'where to is said twice', hint: 'say one of checkpoint_id, to and undo' },
    ])
  if (undo === true && (files !== undefined || tasks !== undefined || files_only === true))
    return invalidRequest('body', [
      { path: 'undo', message: 'takes back all of the last rollback', hint: 'leave the rest out' },
    ])
  const place = checkpoint_id ?? (to === undefined ? undefined : String(to))
  return {
    to: place,
    files,
    tasks: tasks === undefined ? undefined : (tasks as readonly string[] as readonly TaskName[]),
    ...(files_only === true ? { filesOnly: true } : {}),
    ...(keep_git === true ? { keepGit: true } : {}),
    ...(include_unclaimed === true ? { includeUnclaimed: true } : {}),
    ...(force === true ? { force: true } : {}),
    choices,
    every,
  }
}

async function previewOf(call: Asking, wanted: RollbackWanted): Promise<PossibleRollback | Problem> {
  const preview = await previewRollback(call.engine, wanted)
  if (preview === null) return gone()
  return preview.ok ? preview : refused(preview.refusal, { plan: wanted.plan })
}

function showPreview({ plan, name }: { plan: string; name: string }, preview: PossibleRollback, ask: RollbackAsk) {
  const { to, checkpoint, files, resets, compensate, stays, decisionsLost, git, kept } = preview
  return {
    status: 'dry_run' as const,
    plan_id: plan,
    name,
    checkpoint_id: checkpoint?.name ?? null,
    to,
    files: onWire(files),
    conflicts: onWire(undecidedFiles(files, ask)),
    choices: CHOICES,
    tasks: onWire(resets),
    compensate,
    stays: onWire(stays),
    decisions_lost: onWire(decisionsLost),
    git: onWire(git),
    kept: onWire(kept),
  }
}

function conflicting(conflicts: readonly FilePreview[]): Problem {
  const many = conflicts.length === 1 ? 'one path' : `${conflicts.length} paths`
  return problem(409, 'conflict', `nothing was changed: somebody has worked on ${many} since`, {
    hint: 'choose with "choices": {path: "keep" | "take" | "merge"}, or for all of them with "every"',
    more: { conflicts: onWire(conflicts), choices: CHOICES },
  })
}

async function goBack(
  call: Asking & { readonly signal: () => AbortSignal },
  wanted: RollbackWanted,
  preview: PossibleRollback,
  seconds: number,
) {
  const wait = { ms: seconds * 1_000, signal: clientSignal(call) }
  const done = await orderRollback(
    engineOf(call),
    wanted,
    accepted => waitForEvent(call.engine, accepted, event => (isRollbackEnd(event) ? event : null), wait),
    { submit: options(call) },
  )
  if (done.status === 'refused') return refused(done.refusal, { plan: wanted.plan })
  const { accepted, carried: ended } = done
  const status =
    ended === null ? 'rollback_started' : ended.type === 'rollback.finished' ? 'rollback_completed' : 'rollback_stopped'
  // After its end, the plan is further than the order that began it.
  const now = ended === null ? null : await call.engine.ask({ type: 'summary', plan: wanted.plan })
  return {
    status,
    checkpoint_id: preview.checkpoint?.name ?? null,
    to: preview.to,
    outcome: ended === null ? null : onWire({ ...ended, type: undefined }),
    ...(await answerOf(call, now === null ? accepted : { ...accepted, version: now.version })),
  } as const
}

export const planVerbRoutes: readonly AnyRoute[] = [
  planRoute({
    path: '/plans/:plan/execute',
    method: 'POST',
    right: 'operate',
    about:
      'Starts the plan, continues it, or attaches to it if it is running. A failed plan continues with its failed tasks; completed tasks are kept. The server runs it; gates stop it.',
    body: executeBody,
    answers: {
      200: { about: 'it was already running', body: 'PlanExecuted', tag: true },
      202: { about: 'it is running now', body: 'PlanExecuted', tag: true },
    },
    handle: async (call, { plan }) => {
      const done = await execute(call, plan, call.body.unsafe)
      return isProblem(done) ? done : { status: done.attached ? 200 : 202, body: done, version: done.version }
    },
  }),
  route({
    path: '/plans/:plan/pause',
    method: 'POST',
    right: 'operate',
    about: 'Pauses the plan: no task starts, and running tasks that are safe to repeat are stopped.',
    body: pauseBody,
    answers: { 200: { about: 'it is paused', body: 'PlanOrderDone', tag: true } },
    handle: async call => {
      const { reason, force } = call.body
      const details = { reason, ...(force === true ? { force } : {}) } as const
      return await verb(call, { type: 'pause', ...details }, 'paused')
    },
  }),
  route({
    path: '/plans/:plan/resume',
    method: 'POST',
    right: 'operate',
    about: 'Continues a paused plan.',
    answers: { 200: { about: 'it continues', body: 'PlanOrderDone', tag: true } },
    handle: async call => await verb(call, { type: 'resume' }, 'resumed'),
  }),
  route({
    path: '/plans/:plan/cancel',
    method: 'POST',
    right: 'operate',
    about: 'Ends the plan for good; what declares how is undone.',
    body: cancelBody,
    answers: { 200: { about: 'it is being cancelled, or is', body: 'PlanOrderDone', tag: true } },
    handle: async call => {
      const { reason, force } = call.body
      const details = { reason, ...(force === true ? { force } : {}) } as const
      return await verb(call, { type: 'cancel', ...details }, 'cancelled')
    },
  }),
  planRoute({
    path: '/plans/:plan/clone',
    method: 'POST',
    right: 'operate',
    about: 'Makes a draft of the same definition, linked to the plan it comes from.',
    body: cloneBody,
    answers: { 201: { about: 'the new plan', body: 'SessionPlan', tag: true } },
    handle: async (call, { plan }) => {
      const { engine } = call
      const { name, description: goal, session_id: session } = call.body
      if (name !== undefined && !isPlanName(name))
        return invalidRequest('body', [
          { path: 'name', message: 'cannot be a name', hint: 'use letters, digits and dashes' },
        ])
      const clone = await cloneOrder(engine, plan, { name, goal, session })
      if (clone === null) return gone()
      const made = await order(call, null, clone)
      if (isProblem(made)) return made
      const shown = await showSessionPlan(engine, made.plan)
      return shown === null ? gone() : created(shown, `/plans/${made.plan}`, shown.version)
    },
  }),
]

async function verb(call: Asking, what: Order, status: 'paused' | 'resumed' | 'cancelled'): Promise<Answer> {
  return await withPlan(call, async ({ plan }) => {
    const done = await order(call, plan, what)
    if (isProblem(done)) return done
    const moved = await answerOf(call, done)
    // Running work is ended and undone first.
    const isUnderWay = status === 'cancelled' && moved.state !== 'cancelled'
    return { status: 200, body: { status: isUnderWay ? 'cancelling' : status, ...moved }, version: moved.version }
  })
}

export const lookingRoutes: readonly AnyRoute[] = [
  planRoute({
    path: '/plans/:plan/analyze',
    method: 'GET',
    right: 'read',
    about: 'What can be known without running it: waves, critical path, speed-up, and what is wrong or risky.',
    answers: { 200: { about: 'the analysis', body: 'Analysis' } },
    handle: async (call, { plan }) => {
      const current = await call.engine.ask({ type: 'definition', plan })
      if (current === null) return gone()
      const { documents, now, root, stateDir, environment } = call.rooms
      const { definition } = current
      const found = await documents.runOn('analyze', { plan, definition, root, stateDir, environment, now: now() })
      return isProblem(found) ? found : { status: 200, raw: { type: found.type, data: found.text } }
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/git-operations',
    right: 'read',
    about: 'What the plan did to the repository, in order.',
    answers: { 200: { about: 'the operations', body: 'GitOperationPage' } },
    handle: async (call, { plan }) => ok({ items: await gitTracesOf(call.engine, plan), next: null }),
  }),
]

export const goingBackRoutes: readonly AnyRoute[] = [
  planRoute({
    path: '/plans/:plan/rollback',
    method: 'POST',
    right: 'operate',
    about:
      'Files, refs and tasks stand as they did at a checkpoint. Where somebody has worked since, nothing is changed until they choose.',
    body: rollbackBody,
    answers: {
      200: { about: 'what would happen, or what happened', body: 'RolledBack', tag: true },
      202: { about: 'it has begun; the process that runs the plan carries it out', body: 'RolledBack', tag: true },
    },
    handle: async (call, found) => {
      const { undo = false, dry_run, wait_seconds: seconds = 0 } = call.body
      const ask = askOf(call.body)
      if (isProblem(ask)) return ask
      const summary = await call.engine.ask({ type: 'summary', plan: found.plan })
      const old = summary === null ? gone() : stale(call, summary, undefined)
      if (old !== null) return old
      const wanted = { plan: found.plan, kind: undo ? 'undo' : 'rollback', ask } as const
      const preview = await previewOf(call, wanted)
      if (isProblem(preview)) return preview
      if (dry_run === true) return ok(showPreview(found, preview, ask))
      const conflicts = undecidedFiles(preview.files, ask)
      if (conflicts.length > 0) return conflicting(conflicts)
      const done = await goBack(call, wanted, preview, seconds)
      if (isProblem(done)) return done
      if (done.status === 'rollback_stopped')
        return problem(409, 'conflict', 'the rollback was stopped; no file was changed', {
          hint: 'see what stands in its way, choose, and ask again',
          more: { outcome: done.outcome, plan_id: found.plan },
        })
      return { status: done.status === 'rollback_started' ? 202 : 200, body: done, version: done.version }
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/checkpoints',
    right: 'read',
    about: 'The places the plan can go back to, oldest first.',
    answers: { 200: { about: 'the checkpoints', body: 'CheckpointPage' } },
    handle: async (call, { plan }) => {
      const items = await checkpointsOf(call.engine, plan)
      return items === null ? gone() : ok({ items, next: null })
    },
  }),
  planRoute({
    path: '/plans/:plan/checkpoints',
    method: 'POST',
    right: 'operate',
    about: 'Takes a checkpoint: all files are stored, and it has a name from then on.',
    body: newCheckpoint,
    answers: { 201: { about: 'the checkpoint', body: 'CheckpointMade', tag: true } },
    handle: async (call, { plan }) => {
      const { name } = call.body
      const done = await order(call, plan, { type: 'checkpoint', name })
      if (isProblem(done)) return done
      const taken = done.events.find(event => event.type === 'checkpoint.taken')
      if (taken === undefined) throw new Error('bug: a checkpoint was accepted and not taken')
      const [entry] = (await call.engine.ask({ type: 'entries', plan, after: done.version - 1, limit: 1 })) ?? []
      const at = iso(entry?.now ?? call.rooms.now())
      const moved = await answerOf(call, done)
      return created({ id: taken.name, at, ...moved }, `/plans/${plan}/checkpoints`, moved.version)
    },
  }),
]

// Starts, continues or attaches to the execution of a plan (operations/start-plan.ts) and words the result for clients.

/** `unsafe`: what to do, in a failed plan, about completed unsafe work that would run again. */
async function execute(call: Asking, plan: PlanId, unsafe: UnsafeWork = 'refuse') {
  const { check, problem: found } = checker(call)
  const { once, expectedVersion } = call
  const goOn = { rationale: 'executed again after it failed', unsafe }
  const going = await setGoing(engineOf(call), plan, { check, once, expectedVersion, goOn })
  switch (going.status) {
    case 'started':
    case 'resumed':
    case 'attached':
      return await executionBody(call, going.accepted, going.status === 'attached')
    case 'went-on':
      return { ...(await executionBody(call, going.went.submitted, false)), ...wentOn(going.plan.name, going.went) }
    case 'ended':
      return over(going.plan)
    case 'moved':
      return stale(call, going.plan, undefined) ?? gone()
    default:
      return found() ?? (await notStarted(call, plan, going))
  }
}

const wentOn = (name: string, { counts: { stay, again, added, open } }: WentOn) => ({
  message: `plan ${name} failed; continuing: ${continuationText({ stay, again, added, open })}`,
  went_on: { stay_done: stay, run_again: [...again], added: [...added], not_run_yet: open },
})

async function executionBody(call: Asking, accepted: Accepted, attached: boolean) {
  return { status: 'execution_started', attached, ...(await answerOf(call, accepted)) } as const
}

function over({ name, status, archived }: Summary): Problem {
  const allowed = archived ? ['clone'] : ['clone', 'rollback']
  return problem(409, 'illegal-transition', archived ? `'${name}' is archived` : `'${name}' has ended: ${status}`, {
    hint: `run it again as a plan of its own: POST /plans/${name}/clone`,
    allowed,
  })
}
