// The planning playbook's minimal JSON: `id`, `version`, `tasks` with `dependsOn`, `status`, `outputs` and `budget`, and `policies`. Of
// these `requireGateForProd` is followed: whatever goes to production waits for a person. All others are kept and told.

import { defined, isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { raisePlan } from '../../../format/plan/definition-to-document.ts'
import type { Dialect, Printed, Reading, StatusOf } from '../../../format/plan/dialect.ts'
import { isList, type Source } from '../../../format/text/source.ts'
import { budgetInMinutes } from '../amounts.ts'
import { DocumentBuilder, type Fields, Names, writtenIds } from '../document-builder.ts'
import { printed } from '../export-loss.ts'
import { PEOPLE_KEYS, PEOPLE_WORDS, readPeople } from '../plan-people.ts'
import { readName, writtenName } from './plan-nodes.ts'
import { around, printNode } from './plan-nodes-print.ts'
import { readNode } from './plan-nodes-task.ts'

const SAME: readonly string[] = ['title', 'goal', 'owner', 'stakeholders', 'labels', 'concurrency']
const PLAN_KEYS: readonly string[] = [...SAME, ...PEOPLE_WORDS, 'id', 'version', 'policies', 'tasks']

export const planSketch: Dialect = {
  name: 'plan-sketch',
  about: 'minimal JSON: id, version, tasks with dependsOn and budget, policies',
  recognises: ({ map }) => {
    if (map === null || map.planfold !== undefined || !isList(map.tasks) || typeof map.id !== 'string') return false
    const telling = ['version', 'policies'].some(key => Object.hasOwn(map, key))
    return telling || map.tasks.some(task => isMap(task) && Object.hasOwn(task, 'dependsOn'))
  },
  read,
  print,
}

function read(source: Source): Reading {
  const draft = new DocumentBuilder(source)
  const map = source.map ?? {}
  const fields = draft.fields(map, [], [])
  fields.put('planfold', 1)
  readName(fields, 'id')
  fields.copy(SAME)
  readPeople(fields)
  fields.keep(['version', 'policies'])
  fields.mark(['extra', 'policies'], ['policies'])
  readPolicies(draft, fields, map.policies)
  const tasks = fields.take('tasks')
  const list = isList(tasks) ? tasks : []
  const level = {
    names: new Names(list.map(task => (isMap(task) ? task.id : undefined))),
    prefix: '',
    artifacts: new Map(),
    gates: new Map(),
    produced: new Set<string>(),
  }
  const read = list.map((task, index) => {
    if (isMap(task)) return readNode(draft, task, ['tasks', index], ['tasks', index], level)
    draft.trace.mark(['tasks', index], { path: ['tasks', index] })
    return task
  })
  fields.put('tasks', isList(tasks) ? read : tasks, 'tasks')
  fields.keepRest(PLAN_KEYS)
  return draft.reading(fields.document())
}

/** The demand itself stays where it was said, and gates every deployment, whatever the policy is made to say later. */
function readPolicies(draft: DocumentBuilder, fields: Fields, policies: Json | undefined): void {
  if (policies === undefined) return
  const demanded = isMap(policies) && policies.requireGateForProd === true
  if (demanded) {
    fields.put('policy', { gates: 'default' }, 'policies')
    fields.mark(['policy', 'gates'], ['policies', 'requireGateForProd'])
  }
  const others = isMap(policies)
    ? Object.keys(policies).filter(key => !(demanded && key === 'requireGateForProd'))
    : ['']
  if (others.length === 0) return
  draft.warn(
    ['extra', 'policies'],
    demanded
      ? `of 'policies' only 'requireGateForProd' is followed; ${others.map(key => `'${key}'`).join(', ')} is kept`
      : "'policies' are kept, not yet enforced",
    'nothing stops a task that goes beyond them',
  )
}

function print(definition: PlanDefinition, status: StatusOf): Printed {
  const { extra = {}, tasks } = definition
  const document = raisePlan(definition)
  const printing = { ...around(writtenIds(tasks)), status }
  const printTask = (task: PlanDefinition['tasks'][number]): JsonObject => {
    const { id, title, depends_on, status: word, budget: _, ...rest } = printNode(task, printing)
    const budget = task.budget && budgetInMinutes(task.budget)
    return defined({ id, title, dependsOn: depends_on, status: word ?? 'pending', ...rest, budget })
  }
  const value = defined({
    id: writtenName(definition, 'id'),
    version: extra.version,
    ...Object.fromEntries([...SAME, ...PEOPLE_KEYS].map(key => [key, document[key]])),
    tasks: tasks.filter(task => task.action.type !== 'verify').map(printTask),
    policies: extra.policies,
    ...Object.fromEntries(Object.entries(extra).filter(([key]) => !PLAN_KEYS.includes(key))),
  })
  return printed(`${JSON.stringify(value, null, 2)}\n`, definition, status, read)
}
