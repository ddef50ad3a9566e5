// What is true now, after this event? Applies one event to a state the caller owns. No rule is decided here: `evolve`
// believes every event. The cost of an event depends on the tasks it names and their edges, never on history (law L7).

import type { Reset } from './command.ts'
import type { Event } from './event.ts'
import type { Millis, TaskName } from './id.ts'
import type { PlanDefinition } from './plan.ts'
import type { PlanState, TaskState } from './state.ts'
import { ENDED, type TaskStatus } from './status.ts'
import { allTasks, findDormant, index, NOBODY, newTask, relink, setStatus } from './task-graph.ts'

export function evolve(state: PlanState, event: Event, now: Millis): void {
  state.updatedAt = now
  switch (event.type) {
    case 'plan.created':
      state.id = event.plan
      state.createdAt = now
      state.origin = event.origin ?? null
      state.session = event.session ?? event.definition.session ?? null
      state.goal = event.goal ?? null
      state.hash = event.hash
      state.dialect = event.source?.dialect ?? null
      state.place = event.place ?? null
      state.revision = 1
      define(state, event.definition)
      return
    case 'plan.revised':
      state.revision = event.revision
      state.hash = event.hash
      if (event.source !== undefined) state.dialect = event.source.dialect
      define(state, event.definition)
      return
    case 'task.imported':
      // Ended, but not by us: there is nothing of ours to compensate.
      for (const { task, status, result } of event.tasks) {
        const imported = taskOf(state, task)
        if (result !== undefined) imported.result = result
        end(state, imported, status, now, 'imported')
      }
      return
    case 'plan.started':
      state.status = 'active'
      state.rules = event.rules ?? 1
      state.files = event.files ?? 'declared'
      state.startedAt ??= now
      return
    case 'plan.paused':
      state.status = 'paused'
      state.reason = event.reason
      return
    case 'plan.resumed':
      state.status = 'active'
      state.reason = null
      return
    case 'plan.cancelled':
      state.status = 'active'
      state.reason = event.reason
      state.ending = state.rules === 1 ? null : 'cancelled'
      state.compensating = event.force ? [] : toCompensate(state)
      for (const task of state.order) {
        if (!ENDED.has(task.status) && task.status !== 'running') end(state, task, 'cancelled', now)
      }
      return
    case 'plan.finished':
      state.status = event.status
      state.reason = event.reason
      state.endedAt = now
      state.compensating = null
      state.compensation = null
      state.ending = null
      state.rollback = null
      if (event.status === 'cancelled') {
        for (const task of state.order) if (!ENDED.has(task.status)) end(state, task, 'cancelled', now)
      }
      return
    case 'plan.compensating':
      state.reason = event.reason
      state.ending = 'failed'
      state.compensating = toCompensate(state)
      return
    case 'plan.reopened':
      state.status = 'active'
      state.reason = null
      state.endedAt = null
      return
    case 'plan.archived':
      state.archived = true
      return
    case 'task.readied':
      for (const name of event.tasks) {
        const task = taskOf(state, name)
        task.retryAt = null
        task.readiedAt = now
        if (task.status === 'ready') index(state, task)
        else setStatus(state, task, 'ready')
      }
      return
    case 'task.skipped':
      end(state, taskOf(state, event.task), 'skipped', now, event.reason)
      return
    case 'task.abandoned':
      end(state, taskOf(state, event.task), 'abandoned', now, event.reason)
      return
    case 'task.failed': {
      const task = taskOf(state, event.task)
      task.handled = false
      end(state, task, 'failed', now, event.reason)
      return
    }
    case 'task.blocked':
      for (const name of event.tasks) {
        const task = taskOf(state, name)
        task.reason = `blocked by ${event.by}`
        setStatus(state, task, 'blocked')
      }
      return
    case 'task.unblocked':
      for (const name of event.tasks) {
        const task = taskOf(state, name)
        task.reason = null
        setStatus(state, task, 'pending')
      }
      return
    case 'task.reopened':
      for (const name of event.tasks) reopen(state, taskOf(state, name), event.reason)
      if (state.compensated.length > 0) state.compensated = without(state.compensated, ...event.tasks)
      // Whoever was led on by an outcome that is open again needs its task as everybody does.
      for (const name of event.tasks) {
        for (const dependant of taskOf(state, name).dependants) {
          if (!dependant.routedBy.includes(name)) continue
          const others = dependant.routedBy.filter(other => other !== name)
          dependant.routedBy = others.length === 0 ? NOBODY : others
        }
      }
      return
    case 'task.routed': {
      const source = taskOf(state, event.task)
      if (source.status === 'failed') source.handled = true
      for (const name of event.to) {
        const target = taskOf(state, name)
        target.dormant = false
        if (!target.routedBy.includes(event.task)) target.routedBy = [...target.routedBy, event.task]
      }
      return
    }
    case 'attempt.started': {
      const task = taskOf(state, event.task)
      task.attempt = event.attempt
      task.startedAt = now
      task.claim = event.claim ?? null
      if (event.preimage !== undefined || event.before !== undefined || event.inputHash !== undefined) {
        task.prepared = {
          ...task.prepared,
          ...(event.preimage === undefined ? {} : { preimage: event.preimage }),
          ...(event.before === undefined ? {} : { before: event.before }),
          ...(event.inputHash === undefined ? {} : { inputHash: event.inputHash }),
        }
      }
      setStatus(state, task, 'running')
      return
    }
    case 'attempt.succeeded': {
      const task = taskOf(state, event.task)
      task.result = event.result
      task.claim = null
      // Prose that nobody has judged yet keeps the task open; the gate that follows asks for the verdict.
      if (event.result.verdicts?.some(verdict => verdict.holds === null) === true) setStatus(state, task, 'waiting')
      else complete(state, task, now)
      return
    }
    case 'attempt.failed': {
      const task = taskOf(state, event.task)
      task.result = event.result
      task.failures++
      task.handled = false
      end(state, task, 'failed', now, event.result.failure.message)
      return
    }
    case 'attempt.lost': {
      const task = taskOf(state, event.task)
      if (event.byUs !== true) task.lost++
      task.claim = null
      task.reason = event.reason
      setStatus(state, task, 'ready')
      return
    }
    case 'attempt.parked': {
      const task = taskOf(state, event.task)
      task.gate = { asks: { type: 'unknown-outcome', evidence: event.evidence }, since: now, hash: null }
      setStatus(state, task, 'waiting')
      return
    }
    case 'retry.scheduled': {
      const task = taskOf(state, event.task)
      task.retryAt = event.at
      task.endedAt = null
      setStatus(state, task, 'ready')
      return
    }
    case 'gate.opened': {
      const task = taskOf(state, event.task)
      task.gate = { asks: event.asks, since: now, hash: event.hash ?? null }
      setStatus(state, task, 'waiting')
      return
    }
    case 'gate.decided': {
      const task = taskOf(state, event.task)
      const before = isBefore(task.gate)
      task.gate = null
      if (before && event.verdict === 'approved') task.prepared = { ...task.prepared, approved: true }
      else if (event.verdict === 'approved' || event.verdict === 'done') complete(state, task, now)
      else if (event.verdict === 'rejected') end(state, task, 'failed', now, event.rationale)
      return
    }
    case 'criterion.judged': {
      const task = taskOf(state, event.task)
      task.prepared =
        event.stage === 'precondition' ? { ...task.prepared, cleared: true } : { ...task.prepared, when: event.holds }
      if (task.status === 'ready') index(state, task)
      return
    }
    case 'compensation.started':
      state.compensation = event.task
      state.compensating = state.compensating?.filter(name => name !== event.task) ?? null
      state.compensationAt = null
      return
    case 'compensation.retried':
      state.compensation = null
      state.compensating = [...(state.compensating ?? []), event.task]
      state.compensationFailures++
      state.compensationAt = event.at
      return
    case 'compensation.finished':
      state.compensation = null
      state.compensationFailures = 0
      if (event.result.status === 'failed') {
        const failed = `compensation of ${event.task} failed: ${event.result.failure.message}`
        state.reason = state.ending === 'failed' ? `${state.reason ?? ''}; ${failed}` : failed
      } else if (state.rules > 1) {
        state.completedOrder = state.completedOrder.filter(name => name !== event.task)
        if (state.tasks.has(event.task)) state.compensated = [...without(state.compensated, event.task), event.task]
      }
      return
    case 'checkpoint.taken':
      if (event.standing.snapshot !== undefined) state.sinceCheckpoint = 0
      return
    case 'git.committed':
      state.uncommitted = state.uncommitted.filter(one => one.task !== event.task || one.visit !== event.visit)
      return
    case 'rollback.started': {
      const { type: _, ...asked } = event
      state.rollback = { ...asked, was: { status: state.status, reason: state.reason } }
      state.compensating = event.compensate.toReversed()
      return
    }
    case 'rollback.finished': {
      const { resets = [] } = state.rollback ?? {}
      leaveRollback(state)
      for (const to of resets) reset(state, taskOf(state, to.task), to, now)
      return
    }
    case 'rollback.stopped':
      leaveRollback(state)
      return
    case 'workspace.restored':
    case 'note.added':
      return
    default:
      event satisfies never
  }
}

/** Does the gate ask about preconditions, before the task has begun? */
export const isBefore = (gate: TaskState['gate']): boolean => gate?.asks.type === 'verdict' && gate.asks.before === true

/** The task an event names. An event that names an unknown task contradicts the journal it stands in: a bug, loud. */
export function taskOf(state: PlanState, name: TaskName): TaskState {
  const task = state.tasks.get(name)
  if (task === undefined) throw new Error(`bug: the journal names task '${name}', which the plan does not have`)
  return task
}

/** A definition replaces the one before: tasks that stay keep what happened to them, new ones are pending. */
function define(state: PlanState, definition: PlanDefinition): void {
  state.definition = definition
  const order: TaskState[] = []
  for (const written of allTasks(definition)) {
    const known = state.tasks.get(written.id)
    const otherTask = (known?.definition.action.type === 'verify') !== (written.action.type === 'verify')
    if (known === undefined || otherTask) order.push(newTask(written, state.nextOrdinal++))
    else {
      known.definition = written
      order.push(known)
    }
  }
  state.tasks.clear()
  for (const task of order) state.tasks.set(task.definition.id, task)
  state.order = order
  state.completedOrder = state.completedOrder.filter(name => state.tasks.has(name))
  relink(state)
  const dormant = findDormant(state)
  for (const task of order) task.dormant = dormant.has(task.definition.id) && task.routedBy.length === 0
}

function complete(state: PlanState, task: TaskState, now: Millis): void {
  end(state, task, 'completed', now)
  if (state.rules > 1) {
    state.sinceCheckpoint++
    const changes = task.result?.wrote?.changes ?? null
    if (changes !== null && state.definition.git?.commits === 'task')
      state.uncommitted = [...state.uncommitted, { task: task.definition.id, visit: task.visit, changes }]
  }
  if (task.definition.compensate === undefined) return
  state.completedOrder = [...without(state.completedOrder, task.definition.id), task.definition.id]
  // It was still running when the plan was cancelled: what it did is undone too.
  state.compensating?.push(task.definition.id)
}

function end(state: PlanState, task: TaskState, status: TaskStatus, now: Millis, reason: string | null = null): void {
  task.endedAt = now
  task.reason = reason
  task.gate = null
  task.claim = null
  task.retryAt = null
  setStatus(state, task, status)
}

const without = (names: readonly TaskName[], ...gone: readonly TaskName[]): TaskName[] =>
  names.filter(name => !gone.includes(name))

const toCompensate = (state: PlanState): TaskName[] =>
  state.completedOrder.filter(name => taskOf(state, name).definition.compensate !== undefined)

function leaveRollback(state: PlanState): void {
  state.rollback = null
  state.compensating = null
  state.compensation = null
  state.compensationFailures = 0
  state.compensationAt = null
}

/** A visit of its own for how the task stands after a rollback: open, or ended as an earlier one had. */
function reset(state: PlanState, task: TaskState, to: Reset, now: Millis): void {
  reopen(state, task, to.reason ?? 'rolled back')
  task.goneBack++
  task.dormant = to.dormant === true
  task.routedBy = to.routedBy ?? NOBODY
  task.result = to.result ?? null
  state.uncommitted = state.uncommitted.filter(one => one.task !== to.task)
  state.compensated = without(state.compensated, to.task)
  if (to.status === 'pending') return
  task.handled = to.handled === true
  end(state, task, to.status, now, to.reason ?? null)
  if (to.status === 'completed' && task.definition.compensate !== undefined)
    state.completedOrder = [...without(state.completedOrder, to.task), to.task]
}

/** Opens the next visit: counters begin anew, what earlier visits did stays in the journal. */
function reopen(state: PlanState, task: TaskState, reason: string): void {
  task.visit++
  task.attempt = 0
  task.failures = 0
  task.lost = 0
  task.startedAt = null
  task.endedAt = null
  task.retryAt = null
  task.claim = null
  task.prepared = null
  task.gate = null
  task.handled = false
  // The task made from `done` waits again until everything else has ended. Any other keeps the way that led here.
  task.dormant = task.definition.action.type === 'verify'
  if (task.dormant) task.routedBy = NOBODY
  task.reason = reason
  // What an earlier visit did stays to be compensated, so `completedOrder` keeps it.
  setStatus(state, task, 'pending')
}
