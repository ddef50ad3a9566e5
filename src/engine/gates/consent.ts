// Checks approvals against the real world: what a task would do is computed when a gate asks, before the task starts, and again immediately
// before its runner is called. Between that last check and the runner's first system call nothing of ours runs, except that files are
// searched for the secrets of a task that has some.

import { join } from 'node:path'
import { actionFacts } from '../../domain/actions/actions.ts'
import type { Consent, GateQuestion } from '../../domain/event.ts'
import { CONSENT, type ShownChange, type ShownGate, type ShownTask } from '../../domain/gates/consent.ts'
import {
  approvedTargets,
  approversAt,
  faultIn,
  gatesBefore,
  impactIn,
  isReview,
  isShownWhole,
  isStepReview,
  needsConsent,
  UNAGREED,
} from '../../domain/gates/consent-rules.ts'
import { advise, next } from '../../domain/hint.ts'
import type { Sha256, TaskName } from '../../domain/id.ts'
import type { Action, Approvers } from '../../domain/plan.ts'
import { heldScope, usesTaskWorktrees } from '../../domain/plan-rules/effect.ts'
import { approversBy } from '../../domain/policy/policy-in-state.ts'
import { besideSentences, type Failure, type Found } from '../../domain/result.ts'
import { wouldReopen } from '../../domain/rules/routing.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { transitiveDependants } from '../../domain/state/task-index.ts'
import { ENDED } from '../../domain/status.ts'
import type { Attempt } from '../../runners/runner.ts'
import { inScope } from '../../safety/scope.ts'
import { resolveAttempt } from '../attempts/resolve.ts'
import { lazy } from '../lazy-imports.ts'
import { readChanges } from '../rollback/attempt-changes.ts'
import { changesOf, entriesAfter } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import { contentAt } from './command-files.ts'
import {
  AS_WRITTEN,
  type Binding,
  bindTask,
  changedFiles,
  differenceOf,
  isProgramFilledIn,
  policyHash,
  type Resolution,
  sealed,
  shownTexts,
  writtenHash,
} from './consent-binding.ts'

/**
 * Why an attempt must not run, asked immediately before its side effects: it would edit paths outside the policy, or it needs an approval
 * that does not cover what it would do now. Null if it may run. `action`: a compensation, which needs no approval of its own.
 */
export function consentObjection(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  attempt: Attempt,
  { action }: { readonly action?: Action },
): Failure | null | Promise<Failure | null> {
  const outside = beyondPolicy(state, attempt)
  if (outside !== null || action !== undefined || !needsConsent(state, task)) return outside
  return askConsent(rooms, state, task, attempt)
}

const askConsent = async (...asked: [Rooms, PlanState, TaskState, Attempt]): Promise<Failure | null> =>
  await (await lazy.consent()).objection(...asked)

/** A task may narrow the plan's `policy.write`, not widen it. For commands this is trusted unless a sandbox enforces it. */
function beyondPolicy(state: PlanState, attempt: Pick<Attempt, 'action' | 'definition'>): Failure | null {
  const allowed = state.definition.policy?.write
  if (allowed === undefined) return null
  const file = writtenBy(attempt).find(path => !inScope(allowed, path))
  if (file === undefined) return null
  return {
    class: 'policy',
    message: `'${file}' is outside the plan's policy.write`,
    hint: 'widen policy.write in a revision, or edit another file',
    retryable: false,
  }
}

/** Files that the engine itself writes for a task or its compensation: edits, a download, a database. */
function writtenBy({ action, definition }: Pick<Attempt, 'action' | 'definition'>): readonly string[] {
  // Declared outputs belong to the task's own action, not to its compensation.
  const { outputs } = action.type === definition.action.type ? definition : {}
  return actionFacts(action).files?.({ action, outputs }) ?? []
}

/** Computes and stores what the task would do now. Part of preparing it. */
export async function findConsent(rooms: Rooms, state: PlanState, task: TaskState): Promise<Found> {
  const { hash: from } = state
  if (!usesTaskWorktrees(state.definition)) return await found(rooms, state, task, from)
  // With task worktrees, the command sees the plan's branch, not the workspace.
  const { reading } = await lazy.taskWorktrees()
  const seen = await reading(rooms, state, `${task.definition.id}~asked`, at => found(at, state, task, from))
  if (!seen.ok) throw new Error(seen.failure.message)
  return seen.value
}

async function found(rooms: Rooms, state: PlanState, task: TaskState, from: Sha256): Promise<Found> {
  const { consent } = task
  const approved = consent === null ? null : await approvedBy(rooms, consent)
  const now = await look(rooms, state, task, await resolution(state, task), approved)
  await keep(rooms, now)
  if (consent === null || consent.hash === now.hash) return { from, hash: now.hash }
  const written = approved?.open == null ? null : await look(rooms, state, task, asWritten(approved.open), approved)
  return {
    from,
    hash: now.hash,
    ...(written === null ? {} : { written: written.hash }),
    ...(approved === null ? {} : { changed: differenceOf(approved, (written ?? now).shown) }),
  }
}

/** Does an approval cover what was found? If not, `prepare` stops and the task asks. */
export function isCovered(task: TaskState, found: Found, now: number): boolean {
  return task.consent !== null && faultIn(task.consent, found, now) === null
}

/** Why the task must not run; null if it may. Asked right before the runner is called, of exactly the resolved attempt. */
export async function objection(
  rooms: Rooms,
  { id }: PlanState,
  { definition, visit }: TaskState,
  attempt: Attempt,
): Promise<Failure | null> {
  const state = await rooms.store.state(id)
  const task = state?.tasks.get(definition.id)
  if (state === null || task === undefined || task.visit !== visit) return notApproved('the plan has moved on')
  const { consent } = task
  if (consent === null) return notApproved('nobody has approved it')
  const approved = await approvedBy(rooms, consent)
  const now = await look(rooms, state, task, { attempt, open: null }, approved)
  const exact = { from: state.hash, hash: now.hash, ...changedIn(approved, now.shown) }
  const fault = faultIn(consent, exact, rooms.clock.now())
  return fault === null ? null : notApproved(fault)
}

const changedIn = (approved: ShownTask | null, now: ShownTask): Pick<Found, 'changed'> =>
  approved === null ? {} : { changed: differenceOf(approved, now) }

function notApproved(fault: string): Failure {
  return {
    class: 'policy',
    code: CONSENT,
    message: `${UNAGREED}${fault}`,
    hint: advise`nothing was done; look at what it asks now: ${next('inbox')}`,
    retryable: false,
  }
}

/**
 * What an approval of a gate releases: every task directly behind it, and tasks of known high impact further on; for a task that asks
 * before it starts, itself.
 */
export async function bindGate(rooms: Rooms, state: PlanState, task: TaskState): Promise<Bound> {
  const { id, action } = task.definition
  const bind = action.type === 'gate' ? boundAt : boundItself
  if (!usesTaskWorktrees(state.definition)) return await bind(rooms, state, task)
  const { reading } = await lazy.taskWorktrees()
  const seen = await reading(rooms, state, `${id}~asked`, at => bind(at, state, task))
  if (!seen.ok) throw new Error(seen.failure.message)
  return seen.value
}

async function boundItself(rooms: Rooms, state: PlanState, task: TaskState): Promise<Bound> {
  const now = await look(rooms, state, task, await resolution(state, task), null)
  await keep(rooms, now)
  return { hash: now.hash, shown: now.hash, binds: { [task.definition.id]: now.hash } }
}

async function boundAt(rooms: Rooms, state: PlanState, gate: TaskState): Promise<Bound> {
  const { definition, visit } = gate
  if (definition.action.type !== 'gate') throw new Error(`bug: '${definition.id}' is no gate`)
  const { show = [], gate: type } = definition.action
  const approvers = approversAt(definition)
  const reviewed = isReview(definition) ? await review(rooms, state) : null
  const beside = reviewed === null ? [] : state.order.flatMap(besideWork)
  const bound: Binding<ShownTask>[] = []
  const later: TaskName[] = []
  const next = nextOf(state, gate)
  for (const task of type === 'question' ? [] : releasedBy(state, gate, next)) {
    const demanded = demandedBy(state, task)
    // A review of steps needs exact knowledge only of tasks that need approval for their impact, and of the programs that run.
    const isExact = impactIn(state, task) !== null || isProgramFilledIn(task.definition)
    const isWritten = isStepReview(definition) && next.has(task) && !isExact
    const resolved = isWritten ? AS_WRITTEN : await resolution(state, task)
    // Tasks for which the policy names other approvers ask in their own turn; so do tasks with an impact whose action is not known yet.
    const isOther = demanded !== null && JSON.stringify(demanded) !== JSON.stringify(approvers)
    // An outcome that routes back to it starts a new visit, which this approval cannot cover.
    const isBack = !needsGate(task, gate) && wouldReopen(task)
    if (isBack || isOther || (resolved.open !== null && impactIn(state, task) !== null)) later.push(task.definition.id)
    else
      bound.push(
        await bindTask(rooms, state, task, resolved, {
          approvers: demanded ?? approvers,
          reviewed: next.has(task) ? reviewed : null,
        }),
      )
  }
  const plan = state.definition
  const shown: ShownGate = {
    type: 'gate',
    plan: state.id,
    name: plan.name,
    definition: writtenHash(plan),
    policy: policyHash(state),
    approvers,
    gate: type,
    task: definition.id,
    visit,
    show,
    tasks: bound.map(one => one.shown),
    ...(type === 'decision' ? { leads: approvedTargets(definition) } : {}),
    later,
    reviewed,
    ...(beside.length === 0 ? {} : { beside }),
    words: shownTexts(definition),
  }
  for (const one of bound) await keep(rooms, one)
  const { bytes, hash } = sealed(shown)
  await rooms.store.blobs.put(bytes)
  return { hash, shown: hash, binds: Object.fromEntries(bound.map(one => [one.shown.task, one.hash])) }
}

type Bound = Pick<GateQuestion, 'hash' | 'shown' | 'binds'>

/** Tasks directly behind the gate, and those of high impact anywhere behind it. For a decision: behind each option. */
function releasedBy(state: PlanState, gate: TaskState, next: ReadonlySet<TaskState>): readonly TaskState[] {
  if (isDecision(gate)) return [...next].filter(task => isShownWhole(state, task))
  const led = [...next].filter(task => !needsGate(task, gate))
  const after = transitiveDependants([gate, ...led.filter(task => !wouldReopen(task))])
  const behind = after.filter(task => !ENDED.has(task.status) && (next.has(task) || impactIn(state, task) !== null))
  return [...new Set([...led, ...behind])].filter(task => isShownWhole(state, task))
}

function nextOf(state: PlanState, gate: TaskState): ReadonlySet<TaskState> {
  const led = approvedTargets(gate.definition).flatMap(({ to }) => to.flatMap(name => state.tasks.get(name) ?? []))
  return new Set([...(isDecision(gate) ? [] : gate.dependants), ...led])
}

const isDecision = ({ definition: { action } }: TaskState): boolean =>
  action.type === 'gate' && action.gate === 'decision'

const needsGate = (task: TaskState, { definition: { id } }: TaskState): boolean =>
  task.definition.needs?.includes(id) === true

const demandedBy = (state: PlanState, task: TaskState): Approvers | null =>
  impactIn(state, task) === null ? null : (approversBy(state) ?? null)

async function resolution(state: PlanState, task: TaskState): Promise<Resolution> {
  const resolved = await resolveAttempt(state, task)
  return resolved.ok ? { attempt: resolved.value, open: null } : asWritten(resolved.message)
}

const asWritten = (open: string): Resolution => ({ attempt: null, open })

async function look(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  resolution: Resolution,
  approved: ShownTask | null,
): Promise<Binding<ShownTask>> {
  const demanded = demandedBy(state, task)
  const approvers = demanded === null && approved !== null ? { approvers: approved.approvers } : {}
  const isWritten = approved?.filledLater !== undefined
  const now = await bindTask(rooms, state, task, isWritten ? AS_WRITTEN : resolution, {
    ...approvers,
    reviewed: await reviewedFor(rooms, state, task, approved),
  })
  if (!isWritten || task.consent === null) return now
  // A file written by an earlier task of the same approval is as approved. For files that are only read, any approved task may have written
  // them; files that may be executed must be declared by the task that wrote them.
  const { action } = task.definition
  const isRead = action.type === 'run' && action.links === 'refuse'
  const excused = await leftByApproved(rooms, state, task, task.consent, isRead ? 'seen' : 'declared')
  const isExcused = changedFiles(approved, now.shown).every(path => excused(join(now.shown.cwd, path)))
  return isExcused ? { ...sealed({ ...now.shown, files: approved.files }), contents: now.contents } : now
}

async function keep(rooms: Rooms, { bytes, contents }: Binding<unknown>): Promise<void> {
  for (const content of contents) await rooms.store.blobs.put(content)
  await rooms.store.blobs.put(bytes)
}

/** The approved binding; null if its blob is gone, and then nothing matches it. */
async function approvedBy(rooms: Rooms, { hash }: Consent): Promise<ShownTask | null> {
  const bytes = await rooms.store.blobs.get(hash)
  if (bytes === null) return null
  const shown = JSON.parse(Buffer.from(bytes).toString('utf8')) as ShownTask
  return shown.type === 'task' ? shown : null
}

const besideWork = ({ definition: { id }, result }: TaskState): readonly string[] =>
  result?.beside === undefined ? [] : besideSentences(id, result.beside)

async function review(rooms: Rooms, state: PlanState): Promise<readonly ShownChange[]> {
  const before = new Map<string, Sha256 | null>()
  for (const { events } of await entriesAfter(rooms.store, state.id, 0)) {
    for (const event of events) {
      const changes = changesOf(event)
      if (changes === null) continue
      for (const { path, before: was } of await readChanges(rooms, changes))
        if (!before.has(path)) before.set(path, was?.type === 'file' ? was.sha256 : null)
    }
  }
  const paths = [...before.keys()].sort()
  return await Promise.all(paths.map(async path => await currentContent(rooms, path, before.get(path) ?? null)))
}

async function currentContent(rooms: Rooms, path: string, before: Sha256 | null): Promise<ShownChange> {
  const { is, bytes } = contentAt(rooms.root, path)
  if (bytes !== null) await rooms.store.blobs.put(bytes)
  return { path, before, now: is }
}

/**
 * The reviewed changes, if the files still match them or approved tasks changed them; else all changes as they are now, which nobody has
 * approved.
 */
async function reviewedFor(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  approved: ShownTask | null,
): Promise<readonly ShownChange[] | null> {
  if (!gatesBefore(state, task).some(gate => isReview(gate.definition))) return null
  const reviewed = approved?.reviewed ?? null
  if (reviewed === null || task.consent === null) return await review(rooms, state)
  const changed = reviewed.filter(({ path, now }) => contentAt(rooms.root, path).is !== now)
  if (changed.length === 0) return reviewed
  const excused = await leftByApproved(rooms, state, task, task.consent)
  return changed.every(({ path }) => excused(path)) ? reviewed : await review(rooms, state)
}

/**
 * Was the path left as it is by a task approved at the same gate, or is one writing it now? `declared`: without what was found by comparing
 * all files, since only declared files are certainly a task's work.
 */
async function leftByApproved(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  { gate }: Consent,
  how: 'seen' | 'declared' = 'seen',
): Promise<(path: string) => boolean> {
  const others = state.order.filter(other => other !== task && other.consent?.gate === gate)
  const left = new Map<string, Set<string | null>>()
  for (const { result } of others) {
    const { changes = null, snapshot } = result?.wrote ?? {}
    if (changes === null || (how === 'declared' && snapshot !== undefined)) continue
    for (const { path, after } of await readChanges(rooms, changes)) {
      const states = left.get(path) ?? new Set()
      states.add(after === null ? null : after.type === 'file' ? after.sha256 : 'a folder')
      left.set(path, states)
    }
  }
  const writing = others.filter(({ status }) => status === 'running')
  return path =>
    left.get(path)?.has(contentAt(rooms.root, path).is) === true ||
    writing.some(({ definition }) => inScope(heldScope(state.definition, definition), path))
}
