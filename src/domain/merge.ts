// A whole plan rewritten by a person, an agent or a model, and what becomes of the plan there is. The run always knows better
// than the text: statuses come from the journal alone, and what the text says about them is only a note. With `merge`, what the
// text does not mention stays: tasks, keys of tasks, keys of the plan. With `replace`, the text is the plan.
//
// Pure, and before the command `revise`: its definition is what is handed to it, with the revision it was made from, so that of
// two writers one is told of a conflict.

import type { TaskName } from './id.ts'
import { keepItems } from './items.ts'
import { type Fate, fatesOf, type Standings } from './merge-fate.ts'
import { type Match, matchTasks } from './merge-match.ts'
import type { PlanDefinition, TaskDefinition } from './plan.ts'
import { same } from './same.ts'
import { SATISFIES, type TaskStatus } from './status.ts'

export type MergeMode = 'merge' | 'replace'

export interface Rewrite {
  readonly current: PlanDefinition
  readonly written: PlanDefinition
  readonly mode: MergeMode
  readonly standings: Standings
  /** What the text says has ended, by the names of the text. */
  readonly claimed?: ReadonlyMap<TaskName, TaskStatus>
}

/** Calls tasks by other names everywhere, expressions included; the format knows how. */
export type Rename = (plan: PlanDefinition, renames: ReadonlyMap<TaskName, TaskName>) => PlanDefinition

export interface Merged {
  readonly definition: PlanDefinition
  readonly notes: readonly MergeNote[]
  readonly fates: readonly Fate[]
}

/** Something the writer should know; nothing here stops the revision. */
export interface MergeNote {
  readonly code: 'matched' | 'status' | 'action' | 'name' | 'compensation'
  readonly task?: TaskName
  readonly message: string
}

export function mergeDefinitions({ current, written, mode, standings, claimed }: Rewrite, rename: Rename): Merged {
  const notes: MergeNote[] = []
  if (written.name !== current.name) {
    const message = `the text calls the plan '${written.name}'; it stays '${current.name}'`
    notes.push({ code: 'name', message })
  }
  const matches = matchTasks(current.tasks, written.tasks)
  const renames = new Map<TaskName, TaskName>()
  for (const match of matches.values()) {
    if (match.by === 'id') continue
    renames.set(match.written, match.current)
    notes.push(matched(match))
  }
  const read = keepItems(current, renames.size === 0 ? written : rename(written, renames))
  const known = new Map(current.tasks.map(task => [task.id, task]))
  const said = read.tasks.map(task => mergeTask(known.get(task.id), task, mode, notes))
  const tasks = mode === 'merge' ? withUnmentioned(current.tasks, said) : said
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
  // The very same object: a definition that only reads otherwise is no change, and resets nothing.
  return same(was, merged) ? was : merged
}

/** What is written wins, key by key; what is not said stays. */
function overlay(was: TaskDefinition, written: TaskDefinition, notes: MergeNote[]): TaskDefinition {
  const { id } = was
  const saysHow = written.action.type !== 'external' || written.instruction !== undefined
  if (!saysHow && was.action.type !== 'external') {
    const message = `the text does not say how '${id}' is carried out; it stays ${was.action.type}`
    notes.push({ code: 'action', task: id, message })
  }
  let kept = was
  // Two ways of saying one thing: the one that is written is meant.
  if (saysHow && written.action.type !== 'external') kept = without(kept, 'instruction')
  if (written.matrix !== undefined) kept = without(kept, 'forEach')
  if (written.forEach !== undefined) kept = without(kept, 'matrix')
  return { ...kept, ...written, action: saysHow ? mergeAction(was, written, notes) : was.action }
}

/** The steps of a subplan are merged like the tasks of a plan; they are known by their ids only. */
function mergeAction(was: TaskDefinition, written: TaskDefinition, notes: MergeNote[]): TaskDefinition['action'] {
  if (was.action.type !== 'subplan' || written.action.type !== 'subplan') return written.action
  const known = new Map(was.action.tasks.map(task => [task.id, task]))
  const said = written.action.tasks.map(task => mergeTask(known.get(task.id), task, 'merge', notes))
  return { type: 'subplan', tasks: withUnmentioned(was.action.tasks, said) }
}

/** The order that is written; a task it does not mention stands behind the one it stood behind. */
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

/** A removed task takes with it what would have undone it. */
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
