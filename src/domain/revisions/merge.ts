// Changes of definitions: of single tasks, three-way merges, and their effect on each task.

import { advise, next } from '../hint.ts'
import type { TaskName } from '../id.ts'
import { type Json, type JsonObject, same } from '../json.ts'
import { suggest } from '../phrases.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { keepItems } from '../plan-rules/for-each.ts'
import type { WrittenField } from '../plan-rules/task-fields.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { allTasks } from '../state/task-index.ts'
import { SATISFIES, type TaskStatus } from '../status.ts'

// A preview of a revision: what it will do to each task, by the same rules as `revise`.

export interface RunStatus {
  readonly status: TaskStatus
  readonly ran: boolean
  /** Its process ended during the task, and the plan has no driver: may it be repeated? */
  readonly left?: 'again' | 'asked'
}
export type Standings = ReadonlyMap<TaskName, RunStatus>

export interface Fate {
  readonly task: TaskName
  readonly status: TaskStatus | null
  /** `again`: a new visit. `abandoned`: removed after it ran. `gone`: removed, and never ran. `refused`: the revision is. */
  readonly fate: 'new' | 'kept' | 'changed' | 'again' | 'abandoned' | 'gone' | 'refused'
  readonly why: string
}

export function fatesOf(current: PlanDefinition, next: PlanDefinition, standings: Standings): readonly Fate[] {
  const [old, now] = [carriedOut(current), carriedOut(next)]
  const before = new Map(old.map(task => [task.id, task]))
  const after = new Set(now.map(({ id }) => id))
  return [
    ...now.map(task => fateOf(before.get(task.id), task, standings)),
    ...old.filter(({ id }) => !after.has(id)).map(({ id }) => removed(id, standings.get(id))),
  ]
}

/** Expanded, without the task made from `done`. */
const carriedOut = (plan: PlanDefinition): readonly TaskDefinition[] =>
  allTasks(plan).filter(({ action }) => action.type !== 'verify')

function fateOf(was: TaskDefinition | undefined, task: TaskDefinition, standings: Standings): Fate {
  const { id } = task
  if (was === undefined) return { task: id, status: null, fate: 'new', why: 'is new and waits for its turn' }
  const status = standings.get(id)?.status ?? 'pending'
  if (same(was, task)) return { task: id, status, fate: 'kept', why: `stays ${status}` }
  if (status === 'failed') return { task: id, status, fate: 'again', why: 'had failed, is changed, and is tried again' }
  if (isUnderWay(status)) return underWay(was, task, status, standings)
  const why =
    status === 'completed' || status === 'skipped'
      ? `stays ${status}; the change matters only if it is tried again`
      : `is changed, and stays ${status}`
  return { task: id, status, fate: 'changed', why }
}

const isUnderWay = (status: TaskStatus): boolean => status === 'running' || status === 'waiting'

function underWay(was: TaskDefinition, task: TaskDefinition, status: TaskStatus, standings: Standings): Fate {
  const { id } = task
  if (was.action.type !== task.action.type) {
    const why = `is ${status} and cannot become a task of type ${task.action.type} meanwhile`
    return { task: id, status, fate: 'refused', why }
  }
  const late = task.needs?.find(
    name => was.needs?.includes(name) !== true && !SATISFIES.has(standings.get(name)?.status ?? 'pending'),
  )
  if (late !== undefined)
    return { task: id, status, fate: 'refused', why: `is ${status} and cannot need '${late}', which is not done` }
  const left = standings.get(id)?.left
  const why = left === undefined ? `is ${status} and goes on as it was started` : LEFT[left]
  return { task: id, status, fate: 'changed', why }
}

const LEFT = {
  again: 'was running when its process ended; it is tried again as it is written now',
  asked:
    'was running when its process ended; a person says whether it happened, else it is tried again as it is written now',
} as const

function removed(task: TaskName, current: RunStatus | undefined): Fate {
  const status = current?.status ?? 'pending'
  if (isUnderWay(status)) return { task, status, fate: 'refused', why: `is ${status} and cannot be removed meanwhile` }
  return current?.ran === true
    ? { task, status, fate: 'abandoned', why: `is removed after it ran; it was ${status}, and its history stays` }
    : { task, status, fate: 'gone', why: 'is removed; it never ran' }
}

// Small edits by name: remove or reorder tasks. An unknown name is refused without any change.

export type Edited =
  | { readonly ok: true; readonly definition: PlanDefinition }
  | { readonly ok: false; readonly refusal: Refusal }

/** References to the removed tasks are found by the graph rules. */
export function removeTasks(plan: PlanDefinition, names: readonly string[]): Edited {
  const refusal = unknownAmong(plan, names)
  if (refusal !== null) return { ok: false, refusal }
  const removed = new Set(names)
  return { ok: true, definition: { ...plan, tasks: plan.tasks.filter(({ id }) => !removed.has(id)) } }
}

/** The named tasks first, in the given order; then the others, in theirs. */
export function orderTasks(plan: PlanDefinition, names: readonly string[]): Edited {
  const refusal = unknownAmong(plan, names) ?? twiceAmong(names)
  if (refusal !== null) return { ok: false, refusal }
  const byName = new Map<string, TaskDefinition>(plan.tasks.map(task => [task.id, task]))
  const first = names.map(name => byName.get(name)!)
  const named = new Set(names)
  return { ok: true, definition: { ...plan, tasks: [...first, ...plan.tasks.filter(({ id }) => !named.has(id))] } }
}

function unknownAmong({ name, tasks }: PlanDefinition, names: readonly string[]): Refusal | null {
  const known = new Set<string>(tasks.map(({ id }) => id))
  const unknown = [...new Set(names)].filter(one => !known.has(one))
  if (unknown.length === 0) return null
  const near = suggest(unknown[0]!, known)
  return refuse(
    'unknown-reference',
    `plan '${name}' has no task ${unknown.map(one => `'${one}'`).join(', ')}; nothing was changed`,
    near === null ? advise`${next('show', { plan: name })} lists its tasks` : `did you mean '${near}'?`,
  )
}

function twiceAmong(names: readonly string[]): Refusal | null {
  const seen = new Set<string>()
  const twice = names.find(name => seen.size === seen.add(name).size)
  return twice === undefined ? null : refuse('duplicate', `'${twice}' is named twice`, 'name each task once')
}

export const namesIn = (list: string): readonly TaskName[] =>
  list
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '') as TaskName[]

// Matches the tasks of a rewritten text to those of the plan: by id, by id regardless of case, or by title. Never by position, because a
// reordered list would get wrong statuses. Ambiguous matches are none.

interface Match {
  readonly written: TaskName
  readonly current: TaskName
  readonly by: 'id' | 'case' | 'title'
}

function matchTasks(
  current: readonly TaskDefinition[],
  written: readonly TaskDefinition[],
): ReadonlyMap<TaskName, Match> {
  const matches = new Map<TaskName, Match>()
  const taken = new Set<TaskName>()
  const known = new Set(current.map(({ id }) => id))
  const take = (match: Match): void => {
    matches.set(match.written, match)
    taken.add(match.current)
  }
  for (const { id } of written) if (known.has(id)) take({ written: id, current: id, by: 'id' })
  for (const [by, keyOf] of [
    ['case', ({ id }: TaskDefinition) => id.toLowerCase()],
    ['title', ({ title }: TaskDefinition) => (title === undefined || title.trim() === '' ? null : title.trim())],
  ] as const) {
    const ours = unique(
      current.filter(({ id }) => !taken.has(id)),
      keyOf,
    )
    const theirs = unique(
      written.filter(({ id }) => !matches.has(id)),
      keyOf,
    )
    for (const [key, task] of theirs) {
      const found = ours.get(key)
      if (found !== undefined) take({ written: task.id, current: found.id, by })
    }
  }
  return matches
}

/** By key; without tasks that share one. */
function unique(
  tasks: readonly TaskDefinition[],
  keyOf: (task: TaskDefinition) => string | null,
): ReadonlyMap<string, TaskDefinition> {
  const found = new Map<string, TaskDefinition>()
  const twice = new Set<string>()
  for (const task of tasks) {
    const key = keyOf(task)
    if (key === null) continue
    if (found.has(key)) twice.add(key)
    found.set(key, task)
  }
  for (const key of twice) found.delete(key)
  return found
}

// Merges a plan rewritten by a person, an agent or a model into the current one. Statuses come from the journal only; those in the
// text become notes. With `merge`, unmentioned tasks, task keys and plan keys stay. With `replace`, the text is the plan.
//
// Pure, and runs before the command `revise`, which receives the result with its base revision, so that of two concurrent writers one
// gets a conflict.

export type MergeMode = 'merge' | 'replace'

interface Rewrite {
  readonly current: PlanDefinition
  readonly written: PlanDefinition
  readonly mode: MergeMode
  readonly standings: Standings
  /** `id`: match by the exact id only, not by case or title. */
  readonly by?: 'id' | undefined
  /** Tasks that have ended according to the text, by their names there. */
  readonly claimed?: ReadonlyMap<TaskName, TaskStatus>
}

/** Renames tasks everywhere, also in expressions; the format knows how. */
type Rename = (plan: PlanDefinition, renames: ReadonlyMap<TaskName, TaskName>) => PlanDefinition

interface Merged {
  readonly definition: PlanDefinition
  readonly notes: readonly MergeNote[]
  readonly fates: readonly Fate[]
}

/** A remark for the writer; it does not prevent the revision. */
export interface MergeNote {
  readonly code: 'matched' | 'status' | 'action' | 'name' | 'compensation'
  readonly task?: TaskName
  readonly message: string
}

export function mergeDefinitions({ current, written, mode, standings, by, claimed }: Rewrite, rename: Rename): Merged {
  const notes: MergeNote[] = []
  if (written.name !== current.name) {
    const message = `the text calls the plan '${written.name}'; it stays '${current.name}'`
    notes.push({ code: 'name', message })
  }
  const matches = matchTasks(current.tasks, written.tasks)
  const renames = new Map<TaskName, TaskName>()
  for (const match of matches.values()) {
    if (match.by === 'id' || by === 'id') continue
    renames.set(match.written, match.current)
    notes.push(matched(match))
  }
  const read = keepItems(current, renames.size === 0 ? written : rename(written, renames))
  const known = new Map(current.tasks.map(task => [task.id, task]))
  const merged = read.tasks.map(task => mergeTask(known.get(task.id), task, mode, notes))
  const tasks = mode === 'merge' ? withUnmentioned(current.tasks, merged) : merged
  const { name } = current
  const definition: PlanDefinition = mode === 'merge' ? { ...current, ...read, name, tasks } : { ...read, name, tasks }
  const fates = fatesOf(current, definition, standings)
  notes.push(...forgotten(current, fates), ...claims(claimed, renames, standings))
  return { definition, notes, fates }
}

function mergeTask(
  was: TaskDefinition | undefined,
  written: TaskDefinition,
  mode: MergeMode,
  notes: MergeNote[],
): TaskDefinition {
  if (was === undefined) return written
  const merged = mode === 'merge' ? overlay(was, written, notes) : written
  // An equal definition that is only written otherwise is the very same object, so that nothing is reset.
  return same(was, merged) ? was : merged
}

/** Written keys replace the old ones; the rest stays. */
function overlay(was: TaskDefinition, written: TaskDefinition, notes: MergeNote[]): TaskDefinition {
  const { id } = was
  const saysHow = written.action.type !== 'external' || written.instruction !== undefined
  if (!saysHow && was.action.type !== 'external') {
    const message = `the text does not say how '${id}' is carried out; it stays ${was.action.type}`
    notes.push({ code: 'action', task: id, message })
  }
  let kept = was
  // Two keys for the same thing: the written one applies.
  if (saysHow && written.action.type !== 'external') kept = without(kept, 'instruction')
  if (written.matrix !== undefined) kept = without(kept, 'forEach')
  if (written.forEach !== undefined) kept = without(kept, 'matrix')
  return { ...kept, ...written, action: saysHow ? mergeAction(was, written, notes) : was.action }
}

/** The steps of a subplan are merged like the tasks of a plan, but match by id only. */
function mergeAction(was: TaskDefinition, written: TaskDefinition, notes: MergeNote[]): TaskDefinition['action'] {
  if (was.action.type !== 'subplan' || written.action.type !== 'subplan') return written.action
  const known = new Map(was.action.tasks.map(task => [task.id, task]))
  const tasks = written.action.tasks.map(task => mergeTask(known.get(task.id), task, 'merge', notes))
  return { type: 'subplan', tasks: withUnmentioned(was.action.tasks, tasks) }
}

/** The written order; an unmentioned task stays behind its predecessor. */
function withUnmentioned(
  current: readonly TaskDefinition[],
  said: readonly TaskDefinition[],
): readonly TaskDefinition[] {
  const mentioned = new Set(said.map(({ id }) => id))
  const behind = new Map<TaskName | null, TaskDefinition[]>()
  let before: TaskName | null = null
  for (const task of current) {
    if (mentioned.has(task.id)) before = task.id
    else {
      const list = behind.get(before)
      if (list === undefined) behind.set(before, [task])
      else list.push(task)
    }
  }
  return [...(behind.get(null) ?? []), ...said.flatMap(task => [task, ...(behind.get(task.id) ?? [])])]
}

function matched({ written, current, by }: Match): MergeNote {
  const why = by === 'title' ? 'it has the same title' : 'only upper and lower case differ'
  return { code: 'matched', task: current, message: `'${written}' is taken to be '${current}': ${why}` }
}

/** Removing a task also removes the declaration of how to undo it. */
function forgotten(current: PlanDefinition, fates: readonly Fate[]): readonly MergeNote[] {
  const undoable = new Set(current.tasks.filter(task => task.compensate !== undefined).map(({ id }) => id))
  return fates
    .filter(({ task, fate, status }) => fate === 'abandoned' && status === 'completed' && undoable.has(task))
    .map(({ task }) => ({
      code: 'compensation',
      task,
      message: `'${task}' was completed and only its 'compensate' can undo it: the plan will refuse to remove it`,
    }))
}

/** A text can neither make progress nor undo it. */
function claims(
  claimed: Rewrite['claimed'],
  renames: ReadonlyMap<TaskName, TaskName>,
  standings: Standings,
): readonly MergeNote[] {
  const notes: MergeNote[] = []
  for (const [name, status] of claimed ?? []) {
    const task = renames.get(name) ?? name
    const here = standings.get(task)?.status ?? 'pending'
    if (here === status || (SATISFIES.has(here) && SATISFIES.has(status))) continue
    notes.push({
      code: 'status',
      task,
      message: `the text says '${task}' is ${status}; here it is ${here}, and stays so`,
    })
  }
  return notes
}

function without<K extends keyof TaskDefinition>(task: TaskDefinition, key: K): TaskDefinition {
  const { [key]: _, ...rest } = task
  return rest as unknown as TaskDefinition
}

/** New values; null removes a field. */
export type TaskChanges = {
  readonly [K in Exclude<WrittenField, 'id'>]?: TaskDefinition[K] | null
}

/** Null for a task that is not written. That includes expanded ones: they can only be changed where their list or matrix is written. */
export function changedIn(
  tasks: readonly TaskDefinition[],
  name: string,
  set: TaskChanges,
  extra?: JsonObject,
): readonly TaskDefinition[] | null {
  const at = tasks.findIndex(
    ({ id, action }) => id === name || (action.type === 'subplan' && name.startsWith(`${id}/`)),
  )
  const task = tasks[at]
  if (task === undefined) return null
  if (task.id === name) return tasks.with(at, withChanges(task, set, extra))
  const inner =
    task.action.type === 'subplan' ? changedIn(task.action.tasks, name.slice(task.id.length + 1), set, extra) : null
  if (inner === null || task.action.type !== 'subplan') return null
  return tasks.with(at, { ...task, action: { ...task.action, tasks: inner } })
}

function withChanges(task: TaskDefinition, set: TaskChanges, extra: JsonObject | undefined): TaskDefinition {
  const fields = changed({ ...task }, set)
  // A task without an action is external.
  return { action: { type: 'external' }, ...withExtra(fields, extra), id: task.id } as TaskDefinition
}

/** New values; null removes a field. */
export type PlanChanges = {
  readonly [K in 'title' | 'goal' | 'owner' | 'labels']?: PlanDefinition[K] | null
}

export function outlinedBy(
  definition: PlanDefinition,
  { set, extra }: { readonly set: PlanChanges; readonly extra?: JsonObject },
): PlanDefinition {
  return withExtra(changed({ ...definition }, set), extra) as unknown as PlanDefinition
}

/** Keeps the order of the keys; new ones go to the end. */
function changed(before: object, set: object): { readonly [key: string]: unknown } {
  const fields = new Map<string, unknown>(Object.entries(before))
  for (const [key, value] of Object.entries(set)) {
    if (value === undefined) continue
    if (value === null) fields.delete(key)
    else fields.set(key, value)
  }
  return Object.fromEntries(fields)
}

/** Merges `extra` key by key, and removes it when it is empty. */
function withExtra(fields: { readonly [key: string]: unknown }, extra: JsonObject | undefined) {
  if (extra === undefined) return fields
  const merged = changed((fields.extra ?? {}) as JsonObject, extra) as { readonly [key: string]: Json }
  return changed(fields, { extra: Object.keys(merged).length === 0 ? null : merged })
}
