// Resolves a reference to a place in a plan's history, for rollback, fork and checkpoints: the name of a checkpoint or an unambiguous
// prefix of it, the number of an entry, a task (where it last ended), or `before:TASK` (where the last visit that started began).

import type { Event } from '../../domain/event.ts'
import { tasksOf } from '../../domain/events/event-row.ts'
import { advise, quoted } from '../../domain/hint.ts'
import type { TaskName } from '../../domain/id.ts'
import { suggest } from '../../domain/phrases.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { evolve } from '../../domain/state/evolve.ts'
import { newState } from '../../domain/state/fold.ts'
import { ENDED } from '../../domain/status.ts'
import { type Checkpoint, checkpointsOf, findCheckpoint } from '../../domain/views/checkpoints.ts'
import type { Entry } from '../../stores/store.ts'

export interface EntryReference {
  readonly version: number
  readonly checkpoint: Checkpoint | null
  /** For people, if a task was named: `after build`, `before pack`. */
  readonly label?: string
}

const BEFORE = 'before:'
const NAMED_MAX = 5
const SEE = advise`see ${quoted('checkpoints')} and ${quoted('log')}`

export function resolveEntry(entries: readonly Entry[], word: string): EntryReference | Refusal {
  const all = checkpointsOf(entries)
  const at = (version: number, task?: string): Checkpoint | null =>
    all.findLast(one => one.version === version && one.task === task) ??
    all.findLast(one => one.version === version) ??
    null
  const named = findCheckpoint(all, word)
  if (named !== null) return { version: named.version, checkpoint: named }
  const last = entries.at(-1)?.version ?? 0
  if (/^\d{1,15}$/.test(word)) {
    const version = Number(word)
    if (version >= 1 && version <= last) return { version, checkpoint: at(version) }
    return refuse(
      'not-found',
      `the plan has no entry ${version}`,
      advise`its entries are 1 to ${last}; see ${quoted('log')}`,
    )
  }
  const isBefore = word.startsWith(BEFORE)
  const task = isBefore ? word.slice(BEFORE.length) : word
  const moved = movesOf(entries, task)
  if (moved.isKnown) {
    const version = isBefore ? moved.begun : moved.ended
    if (version !== null)
      return { version, checkpoint: at(version, task), label: `${isBefore ? 'before' : 'after'} ${task}` }
    return refuse(
      'not-ready',
      isBefore ? `the task '${task}' has not begun` : `the task '${task}' has not ended`,
      advise`name a task that has ${isBefore ? 'begun' : 'ended'}, a checkpoint, or an entry: ${SEE}`,
    )
  }
  const begins = isBefore ? [] : [...new Set(all.map(({ name }) => name))].filter(name => name.startsWith(word))
  const only = begins.length === 1 ? findCheckpoint(all, begins[0]!) : null
  if (only !== null) return { version: only.version, checkpoint: only }
  if (begins.length > 1 && word !== '') {
    const more = begins.length > NAMED_MAX ? ` and ${begins.length - NAMED_MAX} more` : ''
    const names = `${begins.slice(0, NAMED_MAX).join(', ')}${more}`
    return refuse('invalid', `'${word}' is the beginning of ${begins.length} checkpoints: ${names}`, 'write more of it')
  }
  const near = suggest(task, [...moved.tasks, ...(isBefore ? [] : all.map(({ name }) => name))])
  const hint = near === null ? SEE : `did you mean '${isBefore ? BEFORE : ''}${near}'?`
  return refuse(
    'not-found',
    isBefore ? `the plan has no task '${task}'` : `the plan has no task, checkpoint or entry '${word}'`,
    hint,
  )
}

/** The entry in which a task, or the first task of a group, last started, and the entry in which it last ended. */
function movesOf(entries: readonly Entry[], name: string) {
  const state = newState()
  let [begun, ended]: [number | null, number | null] = [null, null]
  let hadEnded = false
  let visit = 0
  for (const { version, now, events } of entries) {
    for (const event of events) evolve(state, event, now)
    const task = state.tasks.get(name as TaskName)
    if (events.some(event => begins(event, name))) {
      // All attempts of a visit, and all tasks of a group, count from the first start.
      if (task === undefined || task.visit !== visit || begun === null) begun = version
      visit = task?.visit ?? 0
    }
    const isOwn = events.some(event => tasksOf(event).includes(name as TaskName))
    if (!isOwn && !events.some(event => event.type === 'rollback.finished')) continue
    const hasEnded = task !== undefined && ENDED.has(task.status)
    // An undo restores the ended state, but the task ended where its own work did.
    if (hasEnded && !hadEnded && (isOwn || ended === null)) ended = version
    hadEnded = hasEnded
  }
  return { begun, ended, isKnown: state.tasks.has(name as TaskName), tasks: [...state.tasks.keys()] }
}

const begins = (event: Event, name: string): boolean =>
  (event.type === 'attempt.started' || event.type === 'gate.opened') &&
  (event.task === name || event.task.startsWith(`${name}/`))
