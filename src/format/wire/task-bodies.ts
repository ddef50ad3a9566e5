// The bodies that make plans and tasks over HTTP, as definitions. The steps of a plan stay an outline until a plan without tasks is
// started. A task is external, ordered by sequence. Unknown keys are stored in `extra`. Also decides by shape whether a body is an
// outline or a plan document.

import { isPlanName, isTaskName, type PlanName, type TaskName } from '../../domain/id.ts'
import { isMap, type Json, type JsonObject, wordList } from '../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { asLiteral, fromLiteral } from '../expression/template.ts'
import { isUuid, slug } from '../text/slug.ts'
import { NOT_CHOSEN, type PlanOfStore } from './plans.ts'
import type { NewTask } from './tasks.ts'
import type { Fault } from './wire.ts'

/**
 * Is it a PlanStore body instead of a document? PlanStore clients name a goal or an agent and add tasks later. A list of steps
 * without these is a document, whose steps are its tasks.
 */
export function isStorePlan(body: Json): body is JsonObject {
  if (!isMap(body)) return false
  const has = (key: string): boolean => Object.hasOwn(body, key)
  if (has('planfold') || has('nodes') || has('tasks') || has('planfold-template')) return false
  if (has('goal_id') || has('agent_id') || has('current_step')) return true
  return Array.isArray(body.steps) ? !areSteps(body.steps) : has('plan_type')
}

/** Maps or sentences, as in the step list formats. */
const areSteps = (steps: readonly Json[]): boolean =>
  steps.length > 0 && steps.every(step => isMap(step) || (typeof step === 'string' && step !== ''))

/** A client's `id` becomes the name, and an invalid `name` the title. Null if the two are consistent. */
export function idFault({
  id,
  name,
}: {
  readonly id?: string | null | undefined
  readonly name?: string | null | undefined
}): Fault | null {
  if (id == null || name == null || id === name || !isTaskName(name)) return null
  return {
    path: 'id',
    message: `is '${id.slice(0, 60)}', but the name is '${name.slice(0, 60)}'`,
    hint: 'say one of them: ids are made by the service, and what you call it is its name',
  }
}

/** For documents in any format. Text is the name; a number or UUID cannot be one. */
export function documentIdFault(body: Json): Fault | null {
  if (!isMap(body)) return null
  const { id } = body
  if (id == null || (typeof id === 'string' && !isUuid(id))) return null
  const { message, params } = NOT_CHOSEN
  return { path: 'id', message, hint: params.hint }
}

/** A draft without tasks. `mark` makes a generated name unique. */
export function planFromStore(body: PlanOfStore, mark: string): PlanDefinition {
  const {
    goal_id: _,
    agent_id: __,
    session_id: ___,
    conversation_id: ____,
    status: _____,
    id,
    name,
    plan_name,
    title,
    description,
    owner,
    labels,
    ...rest
  } = body
  const { plan_type, steps, current_step, ...others } = rest
  const called = name ?? plan_name ?? null
  const written = called !== null && isPlanName(called) ? called : (id ?? called)
  const isName = written !== null && isPlanName(written)
  const heading = title ?? (called === written && isName ? null : called)
  const words = written ?? title ?? description ?? firstWords(steps ?? []) ?? 'plan'
  const made = `${slug(words) ?? 'plan'}-${mark}`
  return {
    name: (isName ? written : made) as PlanName,
    ...(heading === null ? {} : { title: heading }),
    ...(description == null ? {} : { goal: description }),
    ...(owner == null ? {} : { owner }),
    ...(labels == null ? {} : { labels }),
    tasks: [],
    extra: {
      plan_type: plan_type ?? 'sequential',
      steps: steps ?? [],
      ...(current_step == null ? {} : { current_step }),
      ...(called !== null && called !== heading && !(isName && called === written) ? { name: called } : {}),
      ...(plan_name != null && name != null && plan_name !== name ? { plan_name } : {}),
      ...(others as JsonObject),
    },
  }
}

type Making<T> = { -readonly [K in keyof T]: T[K] }

/** Keys with a meaning; all others are stored. */
const KNOWN_KEYS: ReadonlySet<string> = new Set([
  ...wordList('id plan_id status depends_on dependencies name title description task_type agent_id input_data'),
  ...wordList('sequence_order priority labels'),
] satisfies (keyof NewTask)[])

/** The name in the body; null if it must be generated. */
export const givenName = ({ name, id }: NewTask): TaskName | null => {
  if (typeof name === 'string' && isTaskName(name)) return name
  return typeof id === 'string' && isTaskName(id) ? id : null
}

/**
 * `needs`: names of the tasks it depends on, resolved by the caller. `nameOf` generates a missing name. Reads key by key: object
 * rest would dominate the cost, and tasks come by the thousand.
 */
export function taskFromStore(
  body: NewTask,
  needs: readonly TaskName[],
  nameOf: (stem: string) => string,
): TaskDefinition {
  const { name, title, description, task_type, agent_id, input_data, sequence_order, labels } = body
  // Earlier in the sequence means a higher priority.
  const priority = body.priority ?? (sequence_order == null ? 0 : -sequence_order)
  const chosen = givenName(body)
  const isTitle = typeof name === 'string' && chosen !== name
  const extra: Making<JsonObject> = {}
  if (sequence_order != null) extra.sequence_order = sequence_order
  if (isTitle && title != null) extra.name = name
  for (const key of Object.keys(body)) if (!KNOWN_KEYS.has(key)) extra[key] = body[key] as Json
  const id = chosen ?? nameOf(slug(name ?? title ?? description ?? task_type ?? '') ?? 'task')
  const made: Partial<Making<TaskDefinition>> = { id: id as TaskName }
  if (title != null) made.title = title
  else if (isTitle) made.title = name
  if (description != null) made.description = description
  if (task_type != null) made.kind = task_type
  made.action = { type: 'external' }
  if (needs.length > 0) made.needs = needs
  if (priority !== 0) made.priority = priority
  if (input_data != null) made.inputs = inputsOf(input_data as JsonObject)
  if (agent_id != null) made.assignee = agent_id
  if (labels != null) made.labels = labels
  if (Object.keys(extra).length > 0) made.extra = extra
  return made as TaskDefinition
}

/** Inputs are data, even if they look like expressions; the claim holder gets them as sent. */
const inputsOf = (data: JsonObject): JsonObject => asLiteral(data) as JsonObject

/** For changed inputs: text that is sent back as it was shown keeps its meaning, expression or data. */
export const changedInputs = (data: JsonObject, before: JsonObject): JsonObject =>
  changedValue(data, before) as JsonObject

function changedValue(value: Json, before: Json | undefined): Json {
  if (typeof value === 'string')
    return typeof before === 'string' && fromLiteral(before) === value ? before : asLiteral(value)
  if (value === null || typeof value !== 'object') return value
  const known = (before !== null && typeof before === 'object' ? before : {}) as JsonObject
  const at = (key: string): Json | undefined => (Object.hasOwn(known, key) ? known[key] : undefined)
  if (Array.isArray(value)) return (value as readonly Json[]).map((item, index) => changedValue(item, at(`${index}`)))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, changedValue(item, at(key))]))
}

function firstWords([first]: readonly Json[]): string | null {
  if (typeof first === 'string') return first
  if (first === null || typeof first !== 'object' || Array.isArray(first)) return null
  const { action, title, name, description } = first as JsonObject
  const words = [action, title, name, description].find(one => typeof one === 'string' && one !== '')
  return (words as string | undefined) ?? null
}
