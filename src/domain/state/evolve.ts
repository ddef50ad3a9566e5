// The state after an event. Applies one event to a state that the caller owns. It decides no rule and validates nothing. The cost depends
// on the tasks in the event and their edges, never on the history (law L7).

import { hasBudget, hasLayerBudget, hold, newLedger, raise, settle } from '../budget/ledger.ts'
import type { BudgetEvent, ClientEvent, Event } from '../event.ts'
import type { Millis, TaskName } from '../id.ts'
import type { JsonObject } from '../json.ts'
import { EVALUATIONS_KEPT } from '../limits.ts'
import { NO_MEMORY } from '../memory/memory-items.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { authorsAfter, authorsApproved, authorsOfNew, authorsWith } from '../plan-rules/authors.ts'
import type { PolicyAgain } from '../policy/policy-layer.ts'
import { ENDED } from '../status.ts'
import { evolveRace } from '../tries/evolve-race.ts'
import { indexAlarms } from './alarms.ts'
import { end, evolveAttempt, rememberSetBack, reopen, reset, without } from './evolve-attempt.ts'
import { closeGate, evolveJudgement, openGate } from './evolve-gate.ts'
import { isUnsealed, type PlanState, type TaskState } from './state.ts'
import {
  allTasks,
  findDormant,
  index,
  linkNeed,
  NO_TASKS,
  NOTHING,
  newTask,
  relink,
  setStatus,
  UNANNOTATED,
} from './task-index.ts'

// The state after client data: tasks appended to a draft, annotations, evaluations. Part of `evolve`.

type Find = (state: PlanState, name: TaskState['definition']['id']) => TaskState

function evolveClient(state: PlanState, event: ClientEvent, now: Millis, find: Find): void {
  switch (event.type) {
    case 'task.added':
      append(state, event.tasks, now)
      state.authors = authorsWith(state.authors, event.tasks, event.writer)
      return
    case 'plan.annotated':
      state.annotations = annotated(state.annotations, event.set)
      return
    case 'task.annotated': {
      const task = find(state, event.task)
      task.annotations = annotated(task.annotations, event.set)
      return
    }
    case 'task.evaluated': {
      const { type: _, task: name, ...said } = event
      const task = find(state, name)
      task.evaluations = [...task.evaluations, { ...said, at: now }].slice(-EVALUATIONS_KEPT)
      return
    }
    default:
      event satisfies never
  }
}

/** Merges key by key; null removes. `fromEntries` treats any key as data, `__proto__` included. */
export function annotated(before: JsonObject, set: JsonObject): JsonObject {
  const after = new Map(Object.entries(before))
  for (const [key, value] of Object.entries(set)) {
    if (value === null) after.delete(key)
    else after.set(key, value)
  }
  return after.size === 0 ? UNANNOTATED : Object.fromEntries(after)
}

/** Visits only the new tasks, which have no dependants yet. The list of a draft grows in place, because copying is slow. */
function append(state: PlanState, tasks: readonly TaskDefinition[], now: Millis): void {
  if (!isUnsealed(state)) {
    state.definition = { ...state.definition, tasks: [...state.definition.tasks] }
    state.hash = '' as PlanState['hash']
  }
  const list = state.definition.tasks as TaskDefinition[]
  for (const written of tasks) {
    list.push(written)
    const task = newTask(written, state.nextOrdinal++, now)
    state.order.push(task)
    state.tasks.set(written.id, task)
    state.counts[task.status]++
    for (const name of new Set(written.needs ?? [])) linkNeed(state, task, name)
    index(state, task)
  }
}

export function evolve(state: PlanState, event: Event, now: Millis): void {
  state.updatedAt = now
  switch (event.type) {
    case 'plan.created':
      state.id = event.plan
      state.createdAt = now
      state.origin = event.origin ?? null
      state.session = event.session ?? event.definition.session ?? null
      state.goal = event.goal ?? null
      state.agent = event.agent ?? null
      state.hash = event.hash
      state.dialect = event.source?.dialect ?? null
      state.place = event.place ?? null
      state.revision = 1
      state.authors = authorsOfNew(event.writer, event.others)
      define(state, event.definition, now)
      return
    case 'plan.revised':
      state.revision = event.revision
      state.hash = event.hash
      if (event.source !== undefined) state.dialect = event.source.dialect
      // Proposals were made for the definition before this one.
      if (state.proposals.length > 0) state.proposals = []
      state.stampedEntry = state.version + 1
      state.authors = authorsAfter(state.authors, state.definition, event.definition, event.writer, event.others)
      define(state, event.definition, now)
      state.memory = event.memory ?? state.memory
      if (state.startedAt !== null && hasBudget(event.definition)) state.budget ??= newLedger()
      return
    case 'task.imported':
      // Ended elsewhere, so there is nothing of ours to compensate.
      for (const { task, status, result, handled, routedBy } of event.tasks) {
        const imported = taskOf(state, task)
        if (result !== undefined) imported.result = result
        if (handled === true) imported.handled = true
        if (routedBy !== undefined) {
          imported.routedBy = routedBy
          imported.dormant = false
        }
        if (status !== 'pending') end(state, imported, status, now, 'imported')
      }
      return
    case 'plan.started':
      state.status = 'active'
      state.rules = event.rules
      state.files = event.files ?? 'declared'
      state.sandbox = event.sandbox ?? null
      if (event.approves !== undefined) state.authors = authorsApproved(state.authors, event.approves)
      if (event.budget === 'kept') state.budget ??= newLedger()
      state.layers = event.policy ?? []
      state.memory = event.memory ?? NO_MEMORY
      state.startedAt ??= now
      // The version counts the entries before this one.
      state.startedEntry = state.stampedEntry = state.version + 1
      for (const task of state.order) indexAlarms(state, task)
      return
    case 'plan.paused':
      state.status = 'paused'
      state.reason = event.reason
      state.halted = event.force === true
      // Older journals have only the text of the reason.
      state.byHalt = event.halt ?? (state.halted && event.reason.startsWith('halted by '))
      state.shortage = event.cause ?? null
      state.overBudget = event.budget === true
      return
    case 'plan.resumed':
      takeUpPolicy(state, event)
      state.status = 'active'
      state.reason = null
      state.halted = state.byHalt = false
      state.shortage = null
      state.overBudget = false
      return
    case 'plan.cancelled':
      state.status = 'active'
      state.reason = event.reason
      state.ending = 'cancelled'
      state.compensating = event.force ? [] : toCompensate(state)
      for (const task of state.order) {
        if (!ENDED.has(task.status) && task.status !== 'running') end(state, task, 'cancelled', now)
      }
      return
    case 'plan.finished':
      state.status = event.status
      state.reason = event.reason
      state.endedAt = now
      leaveRollback(state)
      state.ending = null
      state.rollsBack = false
      state.uncommitted = []
      // An attempt that was lost while the plan was ending left its task `ready`; it will not be retried.
      for (const task of state.order) {
        task.recovering = null
        if (event.status === 'failed' && task.status === 'ready') end(state, task, 'cancelled', now, event.reason)
      }
      if (event.status === 'cancelled') {
        for (const task of state.order) if (!ENDED.has(task.status)) end(state, task, 'cancelled', now)
      }
      return
    case 'plan.compensating':
      state.reason = event.reason
      state.ending = 'failed'
      state.rollsBack = state.definition.policy?.onFailure === 'rollback'
      state.compensating = toCompensate(state)
      return
    case 'plan.reopened':
      takeUpPolicy(state, event)
      state.status = 'active'
      state.reason = null
      state.endedAt = null
      // A reopened plan has its full limits again.
      state.attempts = 0
      state.loops = 0
      for (const task of state.order) task.recoveries = NOTHING
      return
    case 'plan.archived':
      state.archived = true
      return
    case 'network.decided':
      return
    case 'task.readied':
      for (const name of event.tasks) {
        const task = taskOf(state, name)
        task.retryAt = null
        task.gate = null
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
    case 'task.reopened': {
      const before = event.tasks[0] === undefined ? undefined : taskOf(state, event.tasks[0]).conversation
      for (const name of event.tasks) reopen(state, taskOf(state, name), event.reason)
      state.loops++
      state.setBack = false
      if (event.feedback !== undefined && event.tasks[0] !== undefined) {
        const sentBack = taskOf(state, event.tasks[0])
        sentBack.feedback = [...sentBack.feedback, event.feedback]
        if (event.feedback.review === true) sentBack.conversation = before ?? sentBack.visit - 1
      }
      if (state.compensated.length > 0) state.compensated = without(state.compensated, ...event.tasks)
      // A dependant that the outcome of a reopened task had activated waits for that task again.
      for (const name of event.tasks) {
        for (const dependant of taskOf(state, name).dependants) {
          if (!dependant.routedBy.includes(name)) continue
          const others = dependant.routedBy.filter(other => other !== name)
          dependant.routedBy = others.length === 0 ? NO_TASKS : others
        }
      }
      return
    }
    case 'task.routed': {
      const source = taskOf(state, event.task)
      // While a remedy runs, it is open whether the failure is handled.
      if (source.status === 'failed') source.handled = source.recovering === null
      for (const name of event.to) {
        const target = taskOf(state, name)
        target.dormant = false
        if (!target.routedBy.includes(event.task)) target.routedBy = [...target.routedBy, event.task]
        if (event.feedback !== undefined) target.feedback = [...target.feedback, event.feedback]
      }
      return
    }
    case 'attempt.started':
    case 'attempt.succeeded':
    case 'attempt.failed':
    case 'attempt.lost':
    case 'attempt.parked':
    case 'retry.scheduled':
    case 'report.refused':
    case 'artifact.uploaded':
      evolveAttempt(state, taskOf(state, event.task), event, now)
      return
    case 'race.began':
    case 'race.tried':
    case 'race.judged':
    case 'race.applied':
      evolveRace(state, taskOf(state, event.task), event, now)
      return
    case 'gate.opened':
      openGate(state, taskOf(state, event.task), event, now)
      return
    case 'gate.decided':
      closeGate(state, taskOf(state, event.task), event, now, taskOf)
      return
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
      if (event.result.failure.shortage === undefined) state.compensationFailures++
      state.compensationAt = event.at
      return
    case 'compensation.finished':
      state.compensation = null
      state.compensationFailures = 0
      if (event.result.status === 'failed') {
        const failed = `undo step of ${event.task} failed: ${event.result.failure.message}`
        if (event.result.failure.class === 'unknown')
          state.unsureCompensated = [...without(state.unsureCompensated, event.task), event.task]
        state.reason = state.ending === 'failed' ? `${state.reason ?? ''}; ${failed}` : failed
      } else {
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
    case 'place.made':
    case 'fork.adopted':
      return
    case 'rollback.started': {
      const { type: _, ...asked } = event
      state.rollback = { ...asked, was: { status: state.status, reason: state.reason }, ended: [] }
      state.compensating = event.compensate.toReversed()
      // A paused or ended plan is active during a rollback.
      state.status = 'active'
      state.reason = null
      state.endedAt = null
      return
    }
    case 'rollback.finished': {
      const { resets = [], because, kind } = state.rollback ?? {}
      leaveRollback(state)
      if (kind !== 'adopt') state.setBack = because === 'failure'
      for (const to of resets) {
        // A person has answered for it, otherwise the rollback would not have come this far.
        if (state.unsureCompensated.includes(to.task)) state.completedOrder = without(state.completedOrder, to.task)
        state.unsureCompensated = without(state.unsureCompensated, to.task)
        reset(state, taskOf(state, to.task), to, now)
      }
      return
    }
    case 'rollback.stopped':
      leaveRollback(state)
      return
    case 'workspace.restored':
      if ((event.files?.length ?? 0) > 0) rememberSetBack(state, event, now)
      return
    case 'files.restored':
      state.restored = state.restored.flatMap(one => {
        const paths = one.paths.filter(path => !event.files.includes(path))
        return paths.length + one.more === 0 ? [] : [{ ...one, paths }]
      })
      return
    case 'outputs.checked':
      state.lostOutputs = event.lost
      return
    case 'note.added':
      return
    case 'budget.reserved':
    case 'budget.settled':
    case 'budget.raised':
      evolveBudget(state, event)
      return
    case 'task.added':
    case 'plan.annotated':
    case 'task.annotated':
    case 'task.evaluated':
      evolveClient(state, event, now, taskOf)
      return
    default:
      evolveJudgement(state, event, now, taskOf)
  }
}

function evolveBudget(state: PlanState, event: BudgetEvent): void {
  state.budget ??= newLedger()
  switch (event.type) {
    case 'budget.reserved': {
      const { type: _, id, ...held } = event
      hold(state.budget, id, held)
      return
    }
    case 'budget.settled':
      settle(state.budget, event.id, event.amount)
      return
    case 'budget.raised':
      raise(state.budget, event)
      return
    default:
      event satisfies never
  }
}

/** An unknown name contradicts the journal, which is a bug. */
export function taskOf(state: PlanState, name: TaskName): TaskState {
  const task = state.tasks.get(name)
  if (task === undefined) throw new Error(`bug: the journal names task '${name}', which the plan does not have`)
  return task
}

/** Tasks that stay keep what happened to them; new ones are pending. */
function define(state: PlanState, definition: PlanDefinition, now: Millis): void {
  state.definition = definition
  const order: TaskState[] = []
  for (const written of allTasks(definition)) {
    const known = state.tasks.get(written.id)
    const otherTask = (known?.definition.action.type === 'verify') !== (written.action.type === 'verify')
    if (known === undefined || otherTask) order.push(newTask(written, state.nextOrdinal++, now))
    else {
      known.definition = written
      // The condition of a wait may have changed, so check it at once.
      if (known.waitsSince !== null) known.retryAt = null
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

const toCompensate = (state: PlanState): TaskName[] =>
  state.completedOrder.filter(name => taskOf(state, name).definition.compensate !== undefined)

/** Ends compensations too: nothing is being undone any more. */
function leaveRollback(state: PlanState): void {
  state.rollback = null
  state.compensating = null
  state.compensation = null
  state.compensationFailures = 0
  state.compensationAt = null
}

/** A budget in a layer counts from now on. */
function takeUpPolicy(state: PlanState, { policy: layers = state.layers, memory }: PolicyAgain): void {
  state.layers = layers
  state.memory = memory ?? state.memory
  if (hasLayerBudget(layers)) state.budget ??= newLedger()
}
