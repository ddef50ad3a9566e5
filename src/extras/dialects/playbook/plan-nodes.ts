// The planning playbook's plan: `plan_id`, `nodes` with `depends_on`, `artifacts` from nodes, `gates` with checks, `memory`, `hypotheses`. A
// node whose id ends in `*` is one task for each item its dependency finds (C22).

import type { TaskName } from '../../../domain/id.ts'
import { defined, isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { ENDED, type PlanStatus } from '../../../domain/status.ts'
import { raisePlan } from '../../../format/plan/definition-to-document.ts'
import type { Dialect, Printed, Reading, StatusOf } from '../../../format/plan/dialect.ts'
import type { Path } from '../../../format/text/diagnostic.ts'
import { isList, type Source } from '../../../format/text/source.ts'
import { statusWords } from '../../../format/text/status-words.ts'
import { spaceItems, yamlText } from '../../../format/text/yaml-text.ts'
import {
  alternatives,
  DocumentBuilder,
  type Fields,
  listOf,
  Names,
  NEEDS_KEYS,
  planSlug,
  writtenIds,
} from '../document-builder.ts'
import { printed } from '../export-loss.ts'
import { PEOPLE_KEYS, PEOPLE_WORDS, readPeople } from '../plan-people.ts'
import { isText } from '../planstore/plan-steps-words.ts'
import { listFault } from '../unknown-format.ts'
import { printCriterion, readCriterion } from './criteria.ts'
import { resultsOf } from './pipeline.ts'
import { callsOf } from './plan-nodes-criteria.ts'
import { isArtifact } from './plan-nodes-outputs.ts'
import { around, type PrintAround, printNode } from './plan-nodes-print.ts'
import { readNode } from './plan-nodes-task.ts'
import { expandWildcards, impliedList } from './plan-nodes-wildcards.ts'

export const planNodes: Dialect = {
  name: 'plan-nodes',
  about: 'a plan of nodes: plan_id, nodes with depends_on, artifacts, gates',
  recognises: ({ map }) => map !== null && isList(map.nodes) && map.planfold === undefined,
  read,
  print,
}

export const PLAN_STATE = statusWords<PlanStatus>({
  pending: 'draft',
  running: 'active',
  paused: 'paused',
  blocked: 'blocked',
  completed: 'completed',
  failed: 'failed',
  draft: 'draft',
  active: 'active',
  cancelled: 'cancelled',
})

/** Keys that mean the same under the same name here and in the canonical document. */
const SAME: readonly string[] = [
  'title',
  'goal',
  'policy',
  'concurrency',
  'defaults',
  'session',
  'owner',
  'stakeholders',
  'hypotheses',
  'memory',
  'artifacts',
  'labels',
]
/** Printed behind the nodes. */
const LAST: readonly string[] = ['artifacts', 'memory']
const KEPT: readonly string[] = ['created_at', 'updated_at', 'description']
const PLAN_KEYS: readonly string[] = [
  ...SAME,
  ...PEOPLE_WORDS,
  ...KEPT,
  'plan_id',
  'state',
  'done',
  'success_criteria',
  'nodes',
  'gates',
]

function read(source: Source): Reading {
  const draft = new DocumentBuilder(source)
  const map = source.map ?? {}
  if (!isList(map.nodes)) {
    const none = { path: [], message: 'a plan of this kind has a list of nodes', hint: "add 'nodes:' with '- id: …'" }
    draft.refuse(listFault(map) ?? none)
    return draft.reading({})
  }
  const fields = draft.fields(map, [], [])
  fields.put('planfold', 1)
  readName(fields, 'plan_id')
  fields.copy(SAME)
  readPeople(fields)
  fields.keep(KEPT)
  readState(draft, fields)
  const done = fields.first(['done', 'success_criteria'])
  if (done !== null)
    fields.put(
      'done',
      listOf(done.value).map(one => readCriterion(one, { exit: false, judged: 'after' }).document),
      done.key,
    )
  const written = fields.take('nodes') as readonly Json[]
  const gates = namedGates(written, listOf(map.gates ?? []))
  const last = lastGates(written, gates)
  const nodes = [...written, ...last.map(({ node }) => node)]
  const names = new Names(nodes.map(node => (isMap(node) ? node.id : undefined)))
  const made = nodes.flatMap(node => [...new Set(produces(node))])
  const around = {
    names,
    prefix: '',
    artifacts: artifactsFrom(fields.said('artifacts'), id => String(id)),
    gates: readGates(draft, fields, gates, names),
    produced: new Set([...made, ...artifactNames(fields.said('artifacts'))]),
    shared: repeated(made),
  }
  for (const id of around.artifacts.keys())
    if (!names.has(id))
      draft.warn(['artifacts'], `an artifact comes from '${id.slice(0, 60)}', which is not a node`, 'name a node')
  const tasks = nodes.map((node, index) => {
    const at = last[index - written.length]?.at ?? ['nodes', index]
    if (isMap(node)) return readNode(draft, node, at, ['tasks', index], around)
    draft.trace.mark(['tasks', index], { path: ['nodes', index] })
    return node
  })
  fields.put(
    'tasks',
    expandWildcards(
      draft,
      tasks,
      artifactsFrom(fields.said('artifacts'), id => String(names.name(id))),
    ),
    'nodes',
  )
  fields.keepRest(PLAN_KEYS)
  return draft.reading(fields.document())
}

/** The plan's name; one that cannot be a name is remembered. */
export function readName(fields: Fields, key: string): void {
  const id = fields.take(key)
  if (id === undefined) return
  const name = typeof id === 'string' || typeof id === 'number' ? planSlug(String(id)) : null
  fields.put('name', name ?? id, key)
  if (name !== null && name !== id) fields.remember(key, id)
}

/** What the plan was called when it was read, while that still gives its name. */
export function writtenName({ name, extra }: PlanDefinition, key: string): Json {
  const remembered = extra?.[key]
  return remembered !== undefined && planSlug(String(remembered)) === name ? remembered : name
}

function readState(draft: DocumentBuilder, fields: Fields): void {
  const state = fields.take('state')
  if (state === undefined) return
  fields.remember('state', state)
  fields.mark(['extra', 'state'], ['state'])
  const options = alternatives(state)
  if (options !== null) {
    draft.sketched(
      ['extra', 'state'],
      `'state' lists alternatives: ${options.join(', ').slice(0, 80)}`,
      'choose one of them',
    )
    return
  }
  const word = PLAN_STATE.read(state)
  if (!word.ok) draft.refuse({ path: ['state'], message: word.message, hint: word.hint })
}

/** A gate without an id names no node; it gets an id of its own. */
function namedGates(nodes: readonly Json[], gates: readonly Json[]): readonly Json[] {
  const taken = new Set([...nodes, ...gates].filter(isMap).map(({ id }) => String(id)))
  return gates.map(gate => {
    if (!isMap(gate) || gate.id !== undefined) return gate
    let [id, number] = ['gate', 1]
    while (taken.has(id)) id = `gate-${++number}`
    taken.add(id)
    return { id, ...gate }
  })
}

/** Gates of the plan that are no node: each comes after every node that no other one waits for or leads to. */
function lastGates(nodes: readonly Json[], gates: readonly Json[]) {
  const maps = nodes.filter(isMap)
  const ids = new Set(maps.map(({ id }) => String(id)))
  const targets = maps.flatMap(node => [
    ...NEEDS_KEYS.flatMap(key => listOf(node[key] ?? [])),
    ...listOf(node.next ?? []).flatMap(way => (isMap(way) ? listOf(way.to ?? []) : [])),
    ...(isMap(node.on) ? Object.values(node.on).flatMap(to => listOf(to as Json)) : []),
  ])
  const inner = new Set(targets.map(String))
  const ends = [...ids].filter(id => !inner.has(id))
  return gates.flatMap((gate, index) => {
    if (!isMap(gate) || !isText(gate.id) || ids.has(gate.id)) return []
    ids.add(gate.id)
    return [{ node: { id: gate.id, kind: 'gate', needs: ends }, at: ['gates', index] }]
  })
}

/** The plan's `gates` by the node they guard. One that cannot be asked at is refused: nobody would see that it was passed over. */
function readGates(draft: DocumentBuilder, fields: Fields, list: readonly Json[], names: Names) {
  const gates = new Map<string, { readonly at: Path; readonly gate: JsonObject }>()
  const written = fields.take('gates')
  for (const [index, gate] of list.entries()) {
    if (isMap(gate) && gate.id !== undefined && names.has(gate.id) && !gates.has(String(gate.id)))
      gates.set(String(gate.id), { at: ['gates', index], gate })
    else
      draft.refuse({
        path: isList(written) ? ['gates', index] : ['gates'],
        message: 'this gate has the id of another one, or none that can be read, so no one would be asked at it',
        hint: "give it the 'id' of a node, or a new one, or none: then it is asked at the end",
      })
  }
  return gates
}

/** The plan's artifacts by the task they come from. */
function artifactsFrom(
  artifacts: Json | undefined,
  nameOf: (id: Json) => string,
): ReadonlyMap<string, readonly JsonObject[]> {
  const from = new Map<string, JsonObject[]>()
  for (const artifact of isList(artifacts) ? artifacts : []) {
    if (
      !isArtifact(artifact) ||
      artifact.from === undefined ||
      !/^[A-Za-z_][\w.-]{0,99}$/.test(artifact.name as string)
    )
      continue
    const key = nameOf(artifact.from)
    from.set(key, [...(from.get(key) ?? []), artifact])
  }
  return from
}

function artifactNames(artifacts: Json | undefined): readonly string[] {
  return (isList(artifacts) ? artifacts : []).filter(isArtifact).map(({ name }) => name as string)
}

/** Names of values a node leaves for others. */
function produces(node: Json): readonly string[] {
  if (!isMap(node)) return []
  const outputs = isMap(node.outputs) ? Object.keys(node.outputs) : []
  return [...outputs, ...resultsOf(callsOf(node.command))]
}

function repeated(names: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>()
  const found = new Set<string>()
  for (const name of names) (seen.has(name) ? found : seen).add(name)
  return found
}

function print(definition: PlanDefinition, status: StatusOf): Printed {
  const { extra = {}, tasks } = definition
  const document = raisePlan(definition)
  const ids = writtenIds(tasks)
  const idByName = new Map<string, TaskName>([...ids].map(([name, id]) => [String(id), name]))
  const artifacts = artifactsFrom(definition.artifacts, id => idByName.get(String(id)) ?? String(id))
  const printing: PrintAround = {
    ...around(ids),
    status,
    artifacts,
    implied: task => impliedList(task, tasks, artifacts),
  }
  const text = yamlText(
    defined({
      plan_id: writtenName(definition, 'plan_id'),
      ...pick(document, [...SAME.filter(key => !LAST.includes(key)), ...PEOPLE_KEYS]),
      ...pick(extra, KEPT),
      state: stateWord(definition, status),
      done: definition.done?.map(one => printCriterion(one, { exit: false, judged: 'after' })),
      nodes: tasks.filter(task => task.action.type !== 'verify').map(task => printNode(task, printing)),
      ...pick(document, LAST),
      ...Object.fromEntries(Object.entries(extra).filter(([key]) => !PLAN_KEYS.includes(key))),
    }),
    written => spaceItems(written.get('nodes')),
  )
  return printed(text, definition, status, read)
}

function pick(map: JsonObject, keys: readonly string[]): { readonly [key: string]: Json | undefined } {
  return Object.fromEntries(keys.map(key => [key, map[key]]))
}

/** The word for the plan's state, if one was said; what happened since then has the last word. */
function stateWord({ extra, tasks }: PlanDefinition, status: StatusOf): Json | undefined {
  const remembered = extra?.state
  if (remembered === undefined || (!PLAN_STATE.read(remembered).ok && alternatives(remembered) === null))
    return undefined
  const now = tasks.map(({ id }) => status(id))
  if (now.every(one => one === 'pending')) return remembered
  const state: PlanStatus = !now.every(one => ENDED.has(one))
    ? 'active'
    : now.includes('failed')
      ? 'failed'
      : 'completed'
  return PLAN_STATE.print(state, remembered) ?? remembered
}
