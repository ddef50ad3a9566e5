// `todo-plan`, the plans of the TODO planner: `{plan_name, steps: [{id, description, status: TODO, acceptance_criteria}]}`. Steps follow
// each other in their order. There are two statuses and no more.

import type { TaskName } from '../../../domain/id.ts'
import { defined, isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import type { Dialect, Reading, StatusOf } from '../../../format/plan/dialect.ts'
import { isList, type Source } from '../../../format/text/source.ts'
import { type StatusWords, statusWords } from '../../../format/text/status-words.ts'
import { type DocumentBuilder, readStatus } from '../document-builder.ts'
import { printed } from '../export-loss.ts'
import { idsToWrite } from '../names.ts'
import { readListed } from '../planstore/plan-steps.ts'
import { needsByRank } from '../planstore/plan-steps-order.ts'
import { planWords } from '../planstore/plan-steps-print.ts'
import {
  criteriaOf,
  isText,
  keepOthers,
  moveCriteria,
  moveText,
  putId,
  refuseTwins,
  stepIds,
  withOthers,
} from '../planstore/plan-steps-words.ts'

export const TODO_WORDS: StatusWords<TaskStatus> = statusWords({ TODO: 'pending', DONE: 'completed' })

export const todoPlan: Dialect = {
  name: 'todo-plan',
  about: 'steps that are TODO or DONE, with acceptance criteria (JSON or YAML)',
  recognises: ({ map }) => {
    if (map === null || Object.hasOwn(map, 'planfold')) return false
    const steps = map[listKey(map)]
    if (!isList(steps) || !steps.every(isMap)) return false
    const foreign = ['tool', 'action', 'step', 'actions']
    const own = (step: JsonObject) =>
      Object.hasOwn(step, 'acceptance_criteria') || TODO_WORDS.read(step.status ?? '').ok
    return steps.some(own) && !steps.some(step => foreign.some(key => Object.hasOwn(step, key)))
  },
  read,
  print: (definition, status) =>
    printed(`${JSON.stringify(write(definition, status), null, 2)}\n`, definition, status, read),
}

/** The agent's tool calls the list by what it does with it. */
function listKey(map: JsonObject): 'steps' | 'steps_to_add' {
  return isList(map.steps) ? 'steps' : 'steps_to_add'
}

function read(source: Source): Reading {
  const key = source.map === null ? 'steps' : listKey(source.map)
  const sample = '{"plan_name": "x", "steps": [{"id": "a", "description": "…", "status": "TODO"}]}'
  return readListed(source, key, sample, (draft, list) => readSteps(draft, list, key))
}

function readSteps(draft: DocumentBuilder, list: readonly Json[], key: string): readonly JsonObject[] {
  const steps = list.map((step, index) => {
    if (isMap(step)) return step
    draft.refuse({
      path: [key, index],
      message: 'a step must be a mapping (key: value)',
      hint: 'write {"id": "a", "description": "…", "status": "TODO"}',
    })
    return {}
  })
  refuseTwins(draft, steps, { noun: 'step', pathOf: index => [key, index] })
  const ids = stepIds(steps, step => [step.title, step.description].find(isText) ?? '')
  const needs = needsByRank(ids.map(id => [id]))
  return steps.map((step, index) => {
    const id = ids[index] as TaskName
    const fields = draft.fields(step, [key, index], ['tasks', index])
    putId(fields, id)
    moveText(fields, ['title'], 'title')
    moveText(fields, ['description'], 'description')
    moveCriteria(fields, ['acceptance_criteria'])
    readStatus(draft, fields, 'status', id, TODO_WORDS)
    fields.put('needs', needs.get(id))
    keepOthers(fields)
    return fields.document()
  })
}

function write(definition: PlanDefinition, status: StatusOf): JsonObject {
  const tasks = definition.tasks.filter(({ action }) => action.type !== 'verify')
  const { name, ...plan } = planWords(definition, status)
  const written = idsToWrite(tasks.map(task => ({ id: task.id, text: task.title ?? task.description ?? '' })))
  const steps = tasks.map(task => {
    const { extra } = task
    const said = {
      // Steps of this format always have an id, so it is written even where it could be made again.
      id: written.has(task.id) ? task.id : (extra?.id ?? task.id),
      title: task.title,
      description: task.description,
      status: TODO_WORDS.print(status(task.id), extra?.status) ?? 'TODO',
      acceptance_criteria: criteriaOf(task),
    }
    return withOthers(said, extra, ['status'])
  })
  return defined({ plan_name: name, ...plan, steps })
}
