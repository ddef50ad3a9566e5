// `plan-steps`, the plans of the plan store: `{goal_id, agent_id, plan_type, steps: [{step, action, description, …}]}`. Steps follow
// each other, unless `plan_type` is `parallel`; then only `depends_on` orders them. A step with `actions` is a subplan whose
// tasks run side by side. An `action` says what kind of work it is; nobody guesses a command from it.

import type { TaskName } from '../../../domain/id.ts'
import { isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import { asLiteral } from '../../../format/expression/template.ts'
import type { Dialect, Reading } from '../../../format/plan/dialect.ts'
import type { Path } from '../../../format/text/diagnostic.ts'
import { isReadableId } from '../../../format/text/slug.ts'
import { isList, type Source } from '../../../format/text/source.ts'
import { TASK_WORDS } from '../../../format/wire/status-words.ts'
import { durationText } from '../amounts.ts'
import { DataReferences } from '../data-references.ts'
import { DocumentBuilder, type Fields, readStatus } from '../document-builder.ts'
import { idsFor } from '../names.ts'
import { EDGES_MAX, edgesByRank, needsByRank, References, ranksOf } from './plan-steps-order.ts'
import { printPlanSteps } from './plan-steps-print.ts'
import {
  isText,
  isTexts,
  keepOthers,
  moveCriteria,
  moveIf,
  moveInputs,
  moveText,
  putId,
  readNeeds,
  readPlanName,
  readPlanStatus,
  stepIds,
} from './plan-steps-words.ts'

export const planSteps: Dialect = {
  name: 'plan-steps',
  about: 'steps with actions and parallel groups, as clients of the PlanStore HTTP API store them (JSON or YAML)',
  recognises: ({ map }) => map !== null && !Object.hasOwn(map, 'planfold') && isSteps(map.steps),
  read,
  print: (definition, status) => printPlanSteps(definition, status, read),
}

export function isSteps(value: Json | undefined): boolean {
  return isList(value) && value.length > 0 && value.every(step => isMap(step) || isText(step))
}

function read(source: Source): Reading {
  const sample = '{"steps": [{"step": 1, "action": "analyze"}]}'
  return readListed(source, 'steps', sample, (draft, list, fields) =>
    readSteps(draft, list, { at: ['steps'], to: ['tasks'], prefix: '', order: readOrder(fields) }),
  )
}

/** A plan of this family: a map with a list of steps under `key`. `sample` is how one is written. */
export function readListed(
  source: Source,
  key: string,
  sample: string,
  tasksOf: (draft: DocumentBuilder, list: readonly Json[], fields: Fields) => readonly JsonObject[],
): Reading {
  if (!source.read.ok) return source.read
  const draft = new DocumentBuilder(source)
  const { map } = source
  const list = map?.[key]
  if (map === null || !isList(list)) {
    draft.refuse({ path: [], message: "a plan of steps has a list 'steps'", hint: `write ${sample}` })
    return draft.reading({})
  }
  const fields = draft.fields(map, [], [])
  readPlanWords(draft, fields)
  fields.take(key)
  fields.put('tasks', tasksOf(draft, list, fields), key)
  keepOthers(fields)
  return draft.reading(fields.document())
}

/** `sequential` unless it says otherwise; a type nobody knows is kept. */
export function readOrder(fields: Fields): 'sequential' | 'parallel' {
  const type = fields.take('plan_type')
  if (type !== undefined && type !== 'sequential' && type !== 'parallel') fields.remember('plan_type', type)
  return type === 'parallel' ? 'parallel' : 'sequential'
}

/** What a plan of this family says about itself; `name`, `title` and the like only where they are text. */
export function readPlanWords(draft: DocumentBuilder, fields: Fields): void {
  fields.put('planfold', 1)
  moveText(fields, ['title'], 'title')
  readPlanName(fields, ['name', 'plan_name', 'id'])
  moveText(fields, ['goal'], 'goal')
  moveText(fields, ['owner'], 'owner')
  moveText(fields, ['session_id', 'conversation_id'], 'session')
  moveIf(fields, 'labels', 'labels', isTexts)
  readPlanStatus(draft, fields)
}

interface Level {
  readonly at: Path
  readonly to: Path
  /** What the names of the tasks around it add in front. */
  readonly prefix: string
  readonly order: 'sequential' | 'parallel'
}

export function readSteps(draft: DocumentBuilder, steps: readonly Json[], level: Level): readonly JsonObject[] {
  const raw = steps.map((step, index) => {
    if (isMap(step)) return step
    if (isText(step)) return { title: step }
    draft.refuse({
      path: [...level.at, index],
      message: 'a step must be a mapping (key: value) or a line of text',
      hint: 'write {"step": 1, "action": "analyze"}',
    })
    return {}
  })
  warnOfCommands(draft, steps, level)
  const ids = stepIds(raw, wordsOf)
  const references = referencesOf(draft, raw, ids, level)
  const ranks = ranksOf(raw.map((step, index) => ({ item: ids[index] as TaskName, mark: groupOf(step) })))
  if (level.order === 'sequential' && edgesByRank(ranks) > EDGES_MAX) {
    draft.refuse({
      path: level.at,
      message: 'its parallel groups are too large to wait for each other',
      hint: "make smaller groups, or say 'depends_on'",
    })
    return []
  }
  const unsaid = level.order === 'sequential' ? needsByRank(ranks) : new Map<TaskName, readonly TaskName[]>()
  const data = new DataReferences(references)
  const tasks = raw.map((step, index) => {
    const id = ids[index] as TaskName
    const fields = draft.fields(step, [...level.at, index], [...level.to, index])
    readStep(draft, fields, id, index, level, data)
    readNeeds(draft, fields, references, unsaid.get(id))
    keepOthers(fields)
    return fields.document()
  })
  return data.needed(tasks)
}

/** A program that is often called in a plan, with an argument; or a script. */
const COMMAND =
  /^(?:\.{1,2}\/\S|(?:npm|npx|pnpm|yarn|bun|node|deno|tsc|make|git|gh|python3?|pytest|pip3?|uv|ruff|cargo|go|mvn|gradle|docker|bash|sh|curl|rm|cp|mv|mkdir|echo|cd)\s+\S)/
const PROSE = /\b(?:the|a|an|all|it|that|sure|over|through)\b/i

/** Nobody guesses a command from a description; whoever expects that it runs is told. */
function warnOfCommands(draft: DocumentBuilder, steps: readonly Json[], { to }: Level): void {
  const index = steps.findIndex(step => isText(step) && COMMAND.test(step) && !PROSE.test(step))
  if (index === -1) return
  const step = String(steps[index]).slice(0, 200)
  const [id] = idsFor([{ id: undefined, text: step }])
  draft.warn(
    [...to, index],
    'steps are descriptions: somebody has to claim them, and no command in them is run',
    `to run them, write tasks: {planfold: 1, tasks: [{id: ${id}, run: ${JSON.stringify(step)}}]}`,
  )
}

function readStep(
  draft: DocumentBuilder,
  fields: Fields,
  id: TaskName,
  index: number,
  level: Level,
  references: DataReferences,
): void {
  // Inside a group, a word may mean a step of the group or one outside; nobody guesses.
  const data = level.prefix === '' ? { step: id, references } : null
  const { map } = fields
  putId(fields, id)
  const number = fields.take('step')
  if (number !== index + 1) fields.remember('step', number)
  moveText(fields, ['title', 'name'], 'title')
  moveText(fields, ['action'], 'kind')
  moveText(fields, ['description'], 'description')
  moveText(fields, ['agent', 'agent_id', 'assignee'], 'assignee')
  moveText(fields, ['owner'], 'owner')
  moveIf(fields, 'priority', 'priority', value => Number.isSafeInteger(value) && Math.abs(value as number) <= 1_000_000)
  moveIf(fields, 'labels', 'labels', isTexts)
  moveInputs(draft, fields, 'inputs', data)
  moveInputs(draft, fields, 'input_data', data)
  moveCriteria(fields, ['acceptance_criteria', 'success_criteria'])
  readDuration(fields)
  readStatus(draft, fields, 'status', `${level.prefix}${id}`, TASK_WORDS)
  const actions = fields.take('actions')
  // Whoever claims or approves the step must see its command. It is an instruction for them, and never given to a shell.
  if (actions === undefined && isText(map.command))
    fields.put('instruction', asLiteral(fields.take('command')!), 'command')
  if (actions === undefined) return
  if (!isSteps(actions)) {
    fields.remember('actions', actions)
    return
  }
  const inner = { at: [...fields.at, 'actions'], to: [...fields.to, 'subplan'], prefix: `${level.prefix}${id}/` }
  fields.put('subplan', readSteps(draft, actions as readonly Json[], { ...inner, order: 'parallel' }))
}

function readDuration(fields: Fields): void {
  const value = fields.map.estimated_duration
  if (!Object.hasOwn(fields.map, 'estimated_duration') || !isText(value)) return
  const text = durationText(value, 'min')
  if (text !== value || /^\d+(ms|s|m|h|d)$/.test(value)) {
    fields.take('estimated_duration')
    fields.put('estimate', text, 'estimated_duration')
  }
}

/** The words an id is made of when the step has none. */
function wordsOf(step: JsonObject): string {
  if (isSteps(step.actions) && isText(step.parallel_group)) return groupWords(step.parallel_group)
  return [step.action, step.title, step.name, step.description].find(isText) ?? ''
}

export function groupWords(group: string): string {
  return `group ${group}`
}

/** Neighbours of one group run side by side; a group that lists its actions is one step. */
function groupOf(step: JsonObject): Json | undefined {
  return isText(step.parallel_group) && !isSteps(step.actions) ? step.parallel_group : undefined
}

function referencesOf(
  draft: DocumentBuilder,
  steps: readonly JsonObject[],
  ids: readonly TaskName[],
  level: Level,
): References {
  const references = new References()
  const pairs = (word: (step: JsonObject, index: number) => Json | undefined) =>
    steps.map((step, index) => [word(step, index), ids[index] as TaskName] as const)
  references.add(pairs((_, index) => ids[index]))
  const numbers = pairs((step, index) => (Object.hasOwn(step, 'step') ? step.step : index + 1))
  const seen = new Set<string>()
  for (const [index, [number]] of numbers.entries()) {
    const key = typeof number === 'number' || isText(number) ? String(number) : null
    if (key === null) continue
    if (seen.has(key) && Object.hasOwn(steps[index]!, 'step')) {
      const hint = 'give every step a number of its own; what runs side by side goes into a parallel_group'
      draft.refuse({ path: [...level.at, index, 'step'], message: `there is another step ${key}`, hint })
    }
    seen.add(key)
  }
  const dup = new Set<string>()
  for (const [index, step] of steps.entries()) {
    if (!isReadableId(step.id)) continue
    if (dup.has(step.id))
      draft.refuse({
        path: [...level.at, index, 'id'],
        message: `there is another step '${step.id}'`,
        hint: 'give every step an id of its own',
      })
    dup.add(step.id)
  }
  references.add(numbers)
  references.add(pairs(step => step.id))
  references.add(pairs(step => step.action))
  references.add(pairs(step => step.parallel_group))
  references.add(pairs(step => step.title ?? step.name))
  return references
}
