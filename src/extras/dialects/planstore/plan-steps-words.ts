// The words that step lists have in common: statuses, names, references to other steps, inputs, criteria. Used by
// `plan-steps`, `plan-record`, `step-list` and `todo-plan`.

import { isPlanName, type TaskName } from '../../../domain/id.ts'
import { defined, isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { Criterion, PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { criterionText } from '../../../domain/plan-rules/criterion-text.ts'
import { ENDED, SATISFIES, type TaskStatus } from '../../../domain/status.ts'
import { asLiteral } from '../../../format/expression/template.ts'
import type { StatusOf } from '../../../format/plan/dialect.ts'
import type { Path } from '../../../format/text/diagnostic.ts'
import { isReadableId, isUuid, slug } from '../../../format/text/slug.ts'
import { isList } from '../../../format/text/source.ts'
import type { StatusWords } from '../../../format/text/status-words.ts'
import { PLAN_WORDS } from '../../../format/wire/status-words.ts'
import type { DataReferences } from '../data-references.ts'
import { type DocumentBuilder, type Fields, NEEDS_KEYS } from '../document-builder.ts'
import { idsFor } from '../names.ts'
import { type Known, printCriterion, readCriterion } from '../playbook/criteria.ts'
import { type References, resolve } from './plan-steps-order.ts'

export function isText(value: Json | undefined): value is string {
  return typeof value === 'string' && value !== ''
}

/** Moves the first of several keys that holds text; anything else stays for `extra`. Prose may be empty. */
export function moveText(fields: Fields, keys: readonly string[], to: string): void {
  if (fields.said(to) !== undefined) return
  const fits = PROSE.has(to) ? (value: Json | undefined) => typeof value === 'string' : isText
  const key = keys.find(one => Object.hasOwn(fields.map, one) && fits(fields.map[one]))
  if (key !== undefined) fields.rename(key, to)
}

const PROSE: ReadonlySet<string> = new Set(['description', 'goal', 'instruction'])

/** Moves a key whose value has the right shape. */
export function moveIf(fields: Fields, from: string, to: string, fits: (value: Json) => boolean): void {
  const value = Object.hasOwn(fields.map, from) ? fields.map[from] : undefined
  if (value !== undefined && fits(value)) fields.rename(from, to)
}

export const isTexts = (value: Json): boolean => isList(value) && value.every(isText)

/** The name a plan goes by: a readable name or id; a title when it is more than a name. */
export function readPlanName(fields: Fields, keys: readonly string[]): void {
  for (const key of keys) {
    const value = fields.map[key]
    if (!Object.hasOwn(fields.map, key) || !isText(value) || isUuid(value)) continue
    if (isPlanName(value)) {
      fields.rename(key, 'name')
      return
    }
    const short = slug(value)
    if (key === 'id' || short === null || fields.said('title') !== undefined) continue
    fields.rename(key, 'title')
    fields.put('name', short, key)
    return
  }
  const title = fields.said('title')
  if (isText(title)) fields.put('name', slug(title) ?? undefined, 'title')
}

/** What the text says the plan has come to. It is checked and kept, never followed. */
export function readPlanStatus(draft: DocumentBuilder, fields: Fields): void {
  const word = fields.take('status')
  if (word === undefined || word === null) return
  const read = PLAN_WORDS.read(word)
  if (read.ok) fields.remember('status', word)
  else draft.refuse({ path: [...fields.at, 'status'], message: read.message, hint: read.hint })
}

/** The word for the whole plan, as long as its tasks do not say otherwise. */
export function planStatusWord(definition: PlanDefinition, status: StatusOf): string | null {
  const remembered = definition.extra?.status
  if (!isText(remembered)) return null
  const all = definition.tasks.filter(({ action }) => action.type !== 'verify').map(({ id }) => status(id))
  if (all.every(one => one === 'pending')) return remembered
  const now = !all.every(one => ENDED.has(one))
    ? 'active'
    : all.every(one => SATISFIES.has(one))
      ? 'completed'
      : 'failed'
  return PLAN_WORDS.print(now, remembered)
}

/** The word for a task; null when nothing needs to be said, or nothing can be. */
export function taskStatusWord(
  words: StatusWords<TaskStatus>,
  task: TaskDefinition,
  status: TaskStatus,
): string | null {
  const open = status === 'ready' ? 'pending' : status === 'waiting' ? 'running' : status
  const before = task.extra?.status
  // Nobody has touched it here: whoever has it in hand elsewhere still has.
  if (open === 'pending' && isText(before)) {
    const then = words.read(before)
    if (then.ok && then.status === 'running') return before
  }
  const word = words.print(open, before)
  return open === 'pending' && word === words.print('pending') ? null : word
}

/**
 * Inputs are data, whatever they look like: nothing in them is an expression of ours, except references to other steps. Without
 * `data`, nothing in them refers to anything.
 */
export function moveInputs(
  draft: DocumentBuilder,
  fields: Fields,
  from: string,
  data: { readonly step: TaskName; readonly references: DataReferences } | null = null,
): void {
  const value = fields.map[from]
  if (!Object.hasOwn(fields.map, from) || !isMap(value) || fields.said('inputs') !== undefined) return
  const literal = asLiteral(fields.take(from) as Json)
  fields.put('inputs', data === null ? literal : data.references.read(draft, fields, data.step, literal), from)
}

/** A list of criteria; anything stranger than sentences and maps stays for `extra`. Read the inputs first. */
export function moveCriteria(fields: Fields, keys: readonly string[]): void {
  const key = keys.find(one => Object.hasOwn(fields.map, one) && isCriteria(fields.map[one]))
  if (key === undefined || fields.said('accept') !== undefined) return
  const list = fields.take(key) as readonly Json[]
  const known = knownOf(fields.said('inputs'))
  fields.put(
    'accept',
    list.map(one => readCriterion(one, known).document),
    key,
  )
  for (const index of list.keys()) fields.mark(['accept', index], [key, index])
}

function isCriteria(value: Json | undefined): boolean {
  return isList(value) && value.every(one => isText(one) || isMap(one))
}

/** The criteria of a task as these formats write them: sentences where a sentence says it, else maps. */
export function criteriaOf(task: TaskDefinition): Json | undefined {
  return task.accept?.map(one => printCriterion(one, knownOf(task.inputs)))
}

/** What a criterion may look at: these tasks have no outputs, and nobody runs them to an exit code. */
function knownOf(inputs: Json | undefined): Known {
  return { outputs: [], inputs: isMap(inputs) ? Object.keys(inputs) : [], tasks: [], exit: false, judged: 'after' }
}

/** A criterion that stands on a line of its own. */
export function readCriterionLine(text: string): Json {
  return readCriterion(text, knownOf(undefined)).document
}

/** The line for a criterion; one that is more than a sentence is told as well as a sentence can. */
export function criterionLine(criterion: Criterion): string {
  const document = printCriterion(criterion, knownOf(undefined))
  if (typeof document === 'string') return document
  if (criterion.text !== undefined) return criterion.text
  return criterionText(criterion)
}

/** Keeps every key that nobody took. These formats are free in what they hold, so there is nothing to warn about. */
export function keepOthers(fields: Fields): void {
  fields.keep(fields.rest)
}

/** A printed record with what `extra` keeps beside it. `moving` are keys that are printed only while they are true. */
export function withOthers(
  record: { readonly [key: string]: Json | undefined },
  extra: JsonObject | undefined,
  moving: readonly string[],
): JsonObject {
  const said = defined(record)
  const kept = Object.entries(extra ?? {}).filter(([key]) => !Object.hasOwn(said, key) && !moving.includes(key))
  return { ...said, ...Object.fromEntries(kept) }
}

/** The names of the tasks: readable ids, and names made of their words. */
export const stepIds = (steps: readonly JsonObject[], wordsOf: (step: JsonObject) => string): readonly TaskName[] =>
  idsFor(steps.map(step => ({ id: isReadableId(step.id) ? step.id : undefined, text: wordsOf(step) })))

/** Another id than that of the task is kept. */
export function putId(fields: Fields, id: TaskName): void {
  fields.put('id', id)
  if (fields.map.id !== id) fields.keep(['id'])
  else fields.take('id')
}

/** `unsaid`: what a step needs that says nothing about it. */
export function readNeeds(
  draft: DocumentBuilder,
  fields: Fields,
  references: References,
  unsaid: readonly TaskName[] | undefined,
): void {
  const said = fields.first(NEEDS_KEYS)
  if (said === null || said.value === null) return fields.put('needs', unsaid)
  const found = resolve(references, said.value)
  if ('wrong' in found) draft.refuse({ path: [...fields.at, said.key], message: found.wrong, hint: found.hint })
  else fields.put('needs', found.needs, said.key)
}

export function refuseTwins(
  draft: DocumentBuilder,
  steps: readonly JsonObject[],
  { noun, pathOf }: { readonly noun: 'step' | 'task'; readonly pathOf: (index: number) => Path },
): void {
  const seen = new Set<string>()
  for (const [index, { id }] of steps.entries()) {
    if (typeof id !== 'string' && typeof id !== 'number') continue
    if (seen.has(String(id)))
      draft.refuse({
        path: [...pathOf(index), 'id'],
        message: `there is another ${noun} ${JSON.stringify(id).slice(0, 60)}`,
        hint: `give every ${noun} an id of its own`,
      })
    seen.add(String(id))
  }
}
