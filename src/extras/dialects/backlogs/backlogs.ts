// What the backlogs have in common: foreign ids become task names and come back as they were, a word for a status survives as
// long as it is true, and of a foreign record only that is kept which the task itself would not print.

import type { TaskName } from '../../../domain/id.ts'
import { isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { ENDED, type TaskStatus } from '../../../domain/status.ts'
import type { Dialect, Printed, StatusOf } from '../../../format/plan/dialect.ts'
import { isList } from '../../../format/text/source.ts'
import type { StatusWords } from '../../../format/text/status-words.ts'
import { printed as lossOf } from '../export-loss.ts'

/** A task of a backlog with what it waits for: `hard` was said, `soft` only follows from how tasks stand together. */
export interface Standing {
  readonly name: TaskName
  readonly hard: readonly TaskName[]
  readonly soft: readonly TaskName[]
}

/** What each task needs. A soft need that would close a circle is left out; a circle of hard ones is told by the graph's rules. */
export function settleNeeds(standings: readonly Standing[]): ReadonlyMap<TaskName, readonly TaskName[]> {
  const rings = ringsOf(new Map(standings.map(({ name, hard, soft }) => [name, [...hard, ...soft]])))
  return new Map(
    standings.map(({ name, hard, soft }) => {
      const kept = soft.filter(need => need !== name && rings.get(need) !== rings.get(name))
      return [name, [...new Set([...hard, ...kept])]]
    }),
  )
}

/** The strongly connected component of each task (Tarjan's, without recursion). */
function ringsOf(graph: ReadonlyMap<TaskName, readonly TaskName[]>): ReadonlyMap<TaskName, number> {
  const index = new Map<TaskName, number>()
  const low = new Map<TaskName, number>()
  const ring = new Map<TaskName, number>()
  const open: TaskName[] = []
  let count = 0
  for (const root of graph.keys()) {
    if (index.has(root)) continue
    const walk: { readonly name: TaskName; at: number }[] = [{ name: root, at: 0 }]
    while (walk.length > 0) {
      const step = walk.at(-1)!
      const { name } = step
      if (step.at === 0) {
        index.set(name, count)
        low.set(name, count++)
        open.push(name)
      }
      const next = graph.get(name)?.[step.at++]
      if (next !== undefined) {
        if (!graph.has(next)) continue
        if (!index.has(next)) walk.push({ name: next, at: 0 })
        else if (!ring.has(next)) low.set(name, Math.min(low.get(name)!, index.get(next)!))
        continue
      }
      walk.pop()
      const above = walk.at(-1)
      if (above !== undefined) low.set(above.name, Math.min(low.get(above.name)!, low.get(name)!))
      if (low.get(name) !== index.get(name)) continue
      for (let member = open.pop(); member !== undefined; member = open.pop()) {
        ring.set(member, index.get(name)!)
        if (member === name) break
      }
    }
  }
  return ring
}

/** What is written for a status that a backlog has no word for. */
export type Nearest = { readonly [status in TaskStatus]?: TaskStatus }

/** The word that was there stays while it is true: nothing moved since, or the task ended just so. */
export function statusWord(
  words: StatusWords<TaskStatus>,
  nearest: Nearest,
  status: TaskStatus,
  before?: Json | undefined,
): string {
  const then = before === undefined ? null : words.read(before)
  if (then?.ok === true && (then.status === status || (!ENDED.has(then.status) && UNMOVED.has(status))))
    return before as string
  return words.print(nearest[status] ?? status) ?? words.words[0]!
}

/** Nobody has taken it up yet. */
export const UNMOVED: ReadonlySet<TaskStatus> = new Set(['pending', 'ready', 'blocked'])

/** What each task says that it needs, so that reading gives its needs again; and which say something else than remembered. */
export interface WrittenNeeds {
  readonly hard: ReadonlyMap<TaskName, readonly TaskName[]>
  readonly moved: ReadonlySet<TaskName>
}

/** `softOf` tells what follows for a task from how it stands, given what the others say. */
export function writtenNeeds(
  tasks: readonly Pick<TaskDefinition, 'id' | 'needs'>[],
  remembered: ReadonlyMap<TaskName, readonly TaskName[] | null>,
  softOf: (name: TaskName, hard: ReadonlyMap<TaskName, readonly TaskName[]>) => readonly TaskName[],
): WrittenNeeds {
  const hard = new Map<TaskName, readonly TaskName[]>()
  const moved = new Set<TaskName>()
  const unsaid = ({ id, needs = [] }: (typeof tasks)[number]): readonly TaskName[] => {
    const soft = new Set(softOf(id, hard))
    return needs.filter(need => !soft.has(need))
  }
  // Twice: what a task says by itself depends on what the task around it says.
  for (let round = 0; round < 2; round++)
    for (const task of tasks) hard.set(task.id, remembered.get(task.id) ?? unsaid(task))
  // A change of one may have to be said by those inside it; they stand a few levels deep at most.
  for (let round = 0; round < 5; round++) {
    const settled = settleNeeds(tasks.map(({ id }) => ({ name: id, hard: hard.get(id)!, soft: softOf(id, hard) })))
    const wrong = tasks.filter(({ id, needs = [] }) => !sameNames(settled.get(id)!, needs))
    if (wrong.length === 0) break
    for (const task of wrong) {
      moved.add(task.id)
      hard.set(task.id, unsaid(task))
    }
  }
  return { hard, moved }
}

const KEYS = '@keys'

/** How a dialect writes its records. */
export interface Layout {
  /** The usual order of keys. */
  readonly order: readonly string[]
  /** Values that need not be written where they were not. */
  readonly spare: JsonObject
}

/** Of a record, what `values` (the same record as the task alone would print it) does not say; and its keys, when they stand unusually. */
export function keepsake(raw: JsonObject, values: JsonObject, layout: Layout): JsonObject | undefined {
  const kept: { [key: string]: Json } = {}
  for (const [key, value] of Object.entries(raw)) if (!same(value, values[key])) kept[key] = value
  const keys = Object.keys(raw)
  if (!same(keys, Object.keys(assemble(values, kept, layout)))) kept[KEYS] = keys
  return Object.keys(kept).length === 0 ? undefined : kept
}

/** The record again. */
export function assemble(values: JsonObject, kept: JsonObject, layout: Layout): JsonObject {
  const { [KEYS]: remembered, ...rest } = kept
  const all: JsonObject = { ...values, ...rest }
  const order = isList(remembered) ? remembered : layout.order
  const record: { [key: string]: Json } = {}
  for (const key of order) if (typeof key === 'string' && Object.hasOwn(all, key)) record[key] = all[key]!
  for (const [key, value] of Object.entries(all)) {
    const spare = isList(remembered) && Object.hasOwn(layout.spare, key) && same(layout.spare[key], value)
    if (!Object.hasOwn(record, key) && !spare) record[key] = value
  }
  return record
}

/** What a dialect kept with a task or a plan. */
export function keptBy(dialect: string, holder: { readonly extra?: JsonObject }): JsonObject {
  const kept = holder.extra?.[dialect]
  return isMap(kept) ? kept : {}
}

export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (isList(a)) return isList(b) && a.length === b.length && a.every((item, index) => same(item, b[index]))
  if (!isMap(a) || !isMap(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every(key => Object.hasOwn(b, key) && same(a[key], b[key]))
}

export function sameNames(a: readonly string[], b: readonly string[]): boolean {
  const names = new Set(a)
  return names.size === new Set(b).size && b.every(name => names.has(name))
}

/** Text that can be said; what is empty or no text at all is only kept. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** What is printed, and what of the plan it does not say. The dialect's own keepsakes are no loss: they are only for printing. */
export function printed(
  dialect: Pick<Dialect, 'name' | 'read'>,
  text: string,
  definition: PlanDefinition,
  status: StatusOf,
): Printed {
  const own = <T extends { readonly extra?: JsonObject }>(holder: T): T => {
    const { extra, ...rest } = holder
    const { [dialect.name]: _, ...others } = extra ?? {}
    return (Object.keys(others).length === 0 ? rest : { ...rest, extra: others }) as T
  }
  const bare = { ...own(definition), tasks: definition.tasks.map(own) }
  return lossOf(text, bare, status, source => {
    const reading = dialect.read(source)
    if (!reading.ok) return reading
    const tasks = (reading.plan.tasks as readonly JsonObject[]).map(own)
    // No backlog names its plan: the file does.
    return { ...reading, plan: { name: definition.name, ...own(reading.plan), tasks } }
  })
}

export function nonEmpty<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list === undefined || list.length === 0 ? undefined : list
}

export function grouped<K, T>(items: readonly T[], by: (item: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const group = groups.get(by(item))
    if (group === undefined) groups.set(by(item), [item])
    else group.push(item)
  }
  return groups
}
