// What a rollback to an entry means: compares the state at that entry with the current state, and the effects in between. Pure; the result
// is part of the command, so that `decide` needs no history.

import type { Reset, Rollback } from '../command.ts'
import type { Event, PlanEntry } from '../event.ts'
import type { TaskName } from '../id.ts'
import { same } from '../json.ts'
import { DONE_TASK } from '../plan-rules/graph-rules.ts'
import { evolve } from '../state/evolve.ts'
import { isBefore } from '../state/evolve-gate.ts'
import { newState } from '../state/fold.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { findDormant, groupOf, transitiveDependants, worksOf } from '../state/task-index.ts'
import { ENDED } from '../status.ts'

export type Meaning = Pick<Rollback, 'resets' | 'compensate' | 'ends'>

type Entry = Pick<PlanEntry, 'version' | 'now' | 'events'>

/** The state of each task after entry `to`. `entries` is the whole journal, and `now` its fold. */
export function meaningOf(entries: Iterable<Entry>, now: PlanState, to: number): Meaning {
  const { then, effects } = lookBack(entries, to)
  const undone = undoneSince(then, now, effects)
  const resets = resetsTo(then, now, undone)
  const isReset = new Set(resets.map(({ task }) => task))
  const { status, reason } = then
  return {
    resets,
    compensate: effects.effective.filter(
      name => isReset.has(name) && effects.completed.has(name) && isUndoable(now, name),
    ),
    ...(status === 'completed' || status === 'failed' || status === 'cancelled'
      ? { ends: { status, reason: reason ?? '' } }
      : {}),
  }
}

/** Reopens only these tasks and those after them, as far as they have begun, however long ago; and the definition of done. */
export function meaningFor(entries: Iterable<Entry>, now: PlanState, names: readonly TaskName[]): Meaning {
  const { effects } = lookBack(entries, 0)
  const roots = names.flatMap(name => {
    const task = now.tasks.get(name)
    return task === undefined ? [] : [task, ...worksOf(now, task)]
  })
  const all = new Set([...roots, ...transitiveDependants(roots)])
  const reopened = new Set(Array.from(all, ({ definition }) => definition.id))
  const judged = isJudged(now) && [...all].some(hasMoved) ? (now.tasks.get(DONE_TASK) ?? null) : null
  const resets = now.order.flatMap((task): readonly Reset[] => {
    if (task === judged) return [open(DONE_TASK, { dormant: true }, now)]
    if (!all.has(task) || !hasMoved(task)) return []
    const led = task.routedBy.filter(name => !reopened.has(name))
    return [open(task.definition.id, { ...task, routedBy: led }, now)]
  })
  const isReset = new Set(resets.map(({ task }) => task))
  return { resets, compensate: effects.effective.filter(name => isReset.has(name) && isUndoable(now, name)) }
}

/** `completed`, `compensated`: since the entry. */
interface Effects {
  readonly completed: ReadonlySet<TaskName>
  readonly compensated: ReadonlySet<TaskName>
  /** Completed at any time and not compensated since, last completed first. */
  readonly effective: readonly TaskName[]
}

function lookBack(entries: Iterable<Entry>, to: number): { readonly then: PlanState; readonly effects: Effects } {
  const then = newState()
  const asked = new Map<TaskName, TaskState['gate']>()
  const effective = new Set<TaskName>()
  const completed = new Set<TaskName>()
  const compensated = new Set<TaskName>()
  for (const { version, now, events } of entries) {
    for (const event of events) {
      if (version <= to) evolve(then, event, now)
      if (event.type === 'gate.opened') asked.set(event.task, { asks: event.asks, since: now, hash: null })
      if (event.type === 'compensation.finished' && event.result.status === 'succeeded') {
        effective.delete(event.task)
        if (version > to) compensated.add(event.task)
      }
      const done = completedBy(event, asked)
      if (done === null) continue
      effective.delete(done)
      effective.add(done)
      if (version > to) completed.add(done)
    }
    if (version <= to) then.version = version
  }
  return { then, effects: { completed, compensated, effective: [...effective].reverse() } }
}

/** The task that an event completes, as in `evolve`. */
function completedBy(event: Event, asked: ReadonlyMap<TaskName, TaskState['gate']>): TaskName | null {
  if (event.type === 'attempt.succeeded')
    return event.result.verdicts?.some(({ holds }) => holds === null) === true ? null : event.task
  if (event.type !== 'gate.decided') return null
  const isYes = event.verdict === 'done' || event.verdict === 'approved'
  return isYes && !isBefore(asked.get(event.task) ?? null) ? event.task : null
}

/** Effects of that time that are undone: compensated since, or repeated; undoing the repetition undoes them as well. */
function undoneSince(
  then: PlanState,
  now: PlanState,
  { completed, compensated, effective: stand }: Effects,
): Set<TaskName> {
  const undone = new Set<TaskName>()
  const again = stand.filter(name => completed.has(name) && isUndoable(now, name))
  // An effect that was compensated before the entry and repeated since did not exist at the entry.
  for (const name of [...compensated, ...then.compensated, ...again]) {
    const was = then.tasks.get(name)
    let task = now.tasks.get(name) ?? null
    if (was?.status !== 'completed' || (was.visit === task?.visit && !compensated.has(name))) continue
    for (; task !== null; task = groupOf(now, task)) undone.add(task.definition.id)
  }
  // Where work is reopened, the definition of done is judged again.
  if (undone.size > 0 && isJudged(then)) undone.add(DONE_TASK)
  return undone
}

export function resetsTo(then: PlanState, now: PlanState, undone: ReadonlySet<TaskName> = new Set()): readonly Reset[] {
  const dormant = findDormant(now)
  const slept = then.revision === now.revision ? dormant : findDormant(then)
  const resets = now.order.flatMap((task): readonly Reset[] => {
    const { id } = task.definition
    const was = then.tasks.get(id)
    if (was === undefined) return hasMoved(task) ? [{ ...open(id, { dormant: dormant.has(id) }, now), visits: 1 }] : []
    // A person has decided about its unknown outcome since; they are not asked twice.
    if (isParked(was) && ENDED.has(task.status) && !undone.has(id)) return []
    if (isSame(was, task) && task.status !== 'running' && !undone.has(id)) return []
    const visits = was.visit - was.goneBack
    if (ENDED.has(was.status) && !undone.has(id)) return [{ ...open(id, was, now), ...ended(was), visits }]
    if (undone.has(id) && task.definition.action.type === 'verify')
      return [{ ...open(id, { dormant: true }, now), visits }]
    // A revision since may have changed whether it is dormant.
    const sleeps = dormant.has(id) === slept.has(id) ? was.dormant : dormant.has(id) && was.routedBy.length === 0
    return [{ ...open(id, { ...was, dormant: sleeps }, now), visits }]
  })
  // Restores the order of completion for tasks with a compensation, so that the last is undone first.
  const place = new Map(then.completedOrder.map((name, at) => [name, at]))
  const placeOf = ({ task, status }: Reset): number => (status === 'completed' ? (place.get(task) ?? -1) : -1)
  return resets.toSorted((a, b) => placeOf(a) - placeOf(b))
}

/** Unchanged since. Visits and attempts only grow, so equal numbers mean the same attempt. */
const isSame = (a: TaskState, b: TaskState): boolean =>
  a.visit === b.visit &&
  a.status === b.status &&
  a.attempt === b.attempt &&
  a.handled === b.handled &&
  same(a.recovering, b.recovering) &&
  a.dormant === b.dormant &&
  same(a.routedBy, b.routedBy) &&
  (a.gate === b.gate || (a.gate?.since === b.gate?.since && same(a.gate?.asks, b.gate?.asks))) &&
  same(a.prepared, b.prepared)

const isParked = (task: TaskState): boolean => task.gate?.asks.type === 'unknown-outcome'

const hasMoved = (task: TaskState): boolean =>
  task.visit > 1 || task.attempt > 0 || (task.status !== 'pending' && task.status !== 'blocked')

function isJudged({ tasks }: PlanState): boolean {
  const done = tasks.get(DONE_TASK)
  return done?.definition.action.type === 'verify' && hasMoved(done) && !(done.status === 'pending' && done.dormant)
}

const isUndoable = (state: PlanState, name: TaskName): boolean =>
  state.tasks.get(name)?.definition.compensate !== undefined

function open(
  task: TaskName,
  was: { readonly dormant: boolean } & Partial<
    Pick<TaskState, 'routedBy' | 'result' | 'recoveries' | 'recovering' | 'status'>
  >,
  now: PlanState,
): Reset {
  const led = (was.routedBy ?? []).filter(name => now.tasks.has(name))
  return {
    task,
    status: 'pending',
    ...(was.result == null ? {} : { result: was.result }),
    ...(was.dormant ? { dormant: true as const } : {}),
    ...(led.length === 0 ? {} : { routedBy: led }),
    ...usesOf(was),
  }
}

/** How often each rule had been used. Reopening a task does not use up the rule it was following. */
function usesOf({
  recoveries = [],
  recovering = null,
  status = 'pending',
}: Partial<Pick<TaskState, 'recoveries' | 'recovering' | 'status'>>): Pick<Reset, 'recoveries'> {
  const isOver = recovering === null || status === 'failed'
  const uses = isOver ? recoveries : recoveries.map((uses, at) => (at === recovering.rule ? uses - 1 : uses))
  return uses.some(each => each > 0) ? { recoveries: uses } : {}
}

function ended({
  status,
  reason,
  handled,
  recovering,
}: TaskState): Pick<Reset, 'status' | 'reason' | 'handled' | 'recovering'> {
  return {
    status: status as Reset['status'],
    ...(reason === null ? {} : { reason }),
    ...(handled ? { handled } : {}),
    ...(recovering === null ? {} : { recovering }),
  }
}
