// What a printed text no longer says. Nobody keeps a list of it: the text is read again, and whatever differs is named.

import type { PlanName, TaskName } from '../../domain/id.ts'
import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { raisePlan } from '../../format/plan/definition-to-document.ts'
import type { Dialect, Printed, StatusOf } from '../../format/plan/dialect.ts'
import { endedStatus } from '../../format/plan/dialect.ts'
import { plan as planSchema } from '../../format/plan/schema.ts'
import { isList, Source } from '../../format/text/source.ts'

/** The text together with what it does not say. */
export function printed(text: string, definition: PlanDefinition, status: StatusOf, read: Dialect['read']): Printed {
  const reading = read(new Source(text))
  if (!reading.ok) return { text, lost: [unreadable(reading.diagnostics[0]?.message)] }
  const shaped = planSchema.safeParse(reading.plan)
  if (!shaped.success) return { text, lost: [unreadable(shaped.error.issues[0]?.message)] }
  const { name = 'unnamed' as PlanName } = shaped.data
  const lost = [...planLoss(raisePlan(definition), raisePlan({ ...shaped.data, name }))]
  for (const name of namesOf(definition.tasks)) {
    const wanted = endedStatus(status(name))
    if (wanted !== (reading.ended.get(name) ?? null)) lost.push(`task '${name}': status ${status(name)}`)
  }
  return { text, lost }
}

function unreadable(why = 'it is not understood'): string {
  return `the text cannot be read again: ${why}`
}

function* planLoss(before: JsonObject, after: JsonObject): Generator<string> {
  const { tasks: wanted, ...rest } = before
  const { tasks: got, ...found } = after
  yield* keyLoss('plan', rest, found)
  yield* tasksLoss(wanted, got, '')
}

function* tasksLoss(wanted: Json | undefined, got: Json | undefined, prefix: string): Generator<string> {
  const before = maps(wanted)
  const after = new Map(maps(got).map(task => [task.id, task]))
  for (const task of before) {
    const name = `${prefix}${String(task.id)}`
    const twin = after.get(task.id)
    if (twin === undefined) {
      yield `task '${name}'`
      continue
    }
    const { subplan, ...rest } = task
    const { subplan: steps, ...found } = twin
    yield* keyLoss(`task '${name}'`, rest, found)
    if (subplan !== undefined || steps !== undefined) yield* tasksLoss(subplan, steps, `${name}/`)
  }
  const order = before.map(task => task.id).join('\n')
  const kept = new Set(before.map(task => task.id))
  const found = [...after.keys()]
  if (order !== found.filter(id => kept.has(id)).join('\n') && before.every(({ id }) => after.has(id as Json)))
    yield 'the order of the tasks'
  for (const id of found) if (!kept.has(id)) yield `task '${prefix}${String(id)}' is not in the plan, but in the text`
}

function* keyLoss(whose: string, before: JsonObject, after: JsonObject): Generator<string> {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
    if (!same(unmoving(key, before[key], after[key]), unmoving(key, after[key], before[key]))) yield `${whose}: ${key}`
}

/**
 * The word for a status that `extra` remembers moves with the status, which is compared by itself; so does a plan's word for its
 * state, when both texts have one. To need nothing is the same as not to say what is needed.
 */
function unmoving(key: string, value: Json | undefined, other: Json | undefined): Json | undefined {
  if (key === 'needs' && isList(value) && value.length === 0) return undefined
  if (key !== 'extra' || !isMap(value)) return value
  const { status: _, state, ...others } = value
  const moves = state === undefined || (isMap(other) && other.state !== undefined)
  const rest: JsonObject = moves ? others : { ...others, state }
  return Object.keys(rest).length === 0 ? undefined : rest
}

function same(a: Json | undefined, b: Json | undefined): boolean {
  if (isList(a) && isList(b)) return a.length === b.length && a.every((item, index) => same(item, b[index]))
  if (isMap(a) && isMap(b)) {
    const keys = Object.keys(a)
    return keys.length === Object.keys(b).length && keys.every(key => Object.hasOwn(b, key) && same(a[key], b[key]))
  }
  return a === b
}

/** Tasks and the tasks of their subplans, by their full names. */
function* namesOf(tasks: readonly TaskDefinition[], prefix = ''): Generator<TaskName> {
  for (const { id, action } of tasks) {
    if (action.type === 'verify') continue
    yield `${prefix}${id}` as TaskName
    if (action.type === 'subplan') yield* namesOf(action.tasks, `${prefix}${id}/`)
  }
}

function maps(value: Json | undefined): readonly JsonObject[] {
  return isList(value) ? value.filter(isMap) : []
}
