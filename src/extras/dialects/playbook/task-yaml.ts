// The planning playbook's task, alone in its file: a plan of one task. Where `next` leads is usually another file, and then it is a sketch.

import type { PlanDefinition } from '../../../domain/plan.ts'
import type { Dialect, Printed, Reading, StatusOf } from '../../../format/plan/dialect.ts'
import type { Source } from '../../../format/text/source.ts'
import { yamlText } from '../../../format/text/yaml-text.ts'
import { DocumentBuilder, Names, planSlug, writtenIds } from '../document-builder.ts'
import { printed } from '../export-loss.ts'
import { misspeltList } from '../unknown-format.ts'
import { around, printNode } from './plan-nodes-print.ts'
import { readNode } from './plan-nodes-task.ts'

/** A map with an id and one of these is a task of this kind, not a row of somebody's backlog. */
const TELLING: readonly string[] = ['command', 'success_criteria', 'failure_modes', 'preconditions', 'next']
const OTHERS: readonly string[] = ['planfold', 'plan_id', 'nodes', 'tasks', 'steps']

export const taskYaml: Dialect = {
  name: 'task-yaml',
  about: 'one task: id, command, success_criteria, failure_modes, next',
  recognises: ({ map }) =>
    map !== null &&
    typeof map.id === 'string' &&
    TELLING.some(key => Object.hasOwn(map, key)) &&
    !OTHERS.some(key => Object.hasOwn(map, key)) &&
    misspeltList(map) === null,
  read,
  print,
}

function read(source: Source): Reading {
  const draft = new DocumentBuilder(source)
  const map = source.map ?? {}
  const names = new Names([map.id])
  const alone = { names, prefix: '', artifacts: new Map(), gates: new Map(), produced: new Set<string>() }
  const task = readNode(draft, map, [], ['tasks', 0], alone)
  draft.trace.mark([], { path: [] })
  const name = typeof map.id === 'string' ? planSlug(map.id) : null
  return draft.reading({ planfold: 1, ...(name === null ? {} : { name }), tasks: [task] })
}

function print(definition: PlanDefinition, status: StatusOf): Printed {
  const [task] = definition.tasks
  const ids = writtenIds(definition.tasks.slice(0, 1))
  const node = task === undefined ? {} : printNode(task, { ...around(ids), status })
  const text = printed(yamlText(node), definition, status, read)
  const count = definition.tasks.filter(({ action }) => action.type !== 'verify').length
  if (count < 2) return text
  const message = `task-yaml files have one task, and this plan has ${count}`
  return { ...text, refused: { message, hint: 'plan-nodes writes the same tasks as a plan: --to plan-nodes' } }
}
