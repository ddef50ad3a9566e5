// A task as the planning playbook writes one, alone or as a node of a plan, read into a canonical task. A command is an instruction for
// whoever claims the task; it is never given to a shell.

import { isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import type { Path } from '../../../format/text/diagnostic.ts'
import { isList } from '../../../format/text/source.ts'
import { statusWords } from '../../../format/text/status-words.ts'
import { budgetMap, durationText, priorityOf } from '../amounts.ts'
import {
  alternatives,
  type DocumentBuilder,
  type Fields,
  isPlaceholder,
  listOf,
  Names,
  NEEDS_KEYS,
  readStatus,
} from '../document-builder.ts'
import { type Call, emptyAxes, matrixOf, resultsOf, unproduced } from './pipeline.ts'
import { ACCEPT_KEYS, type Around, callsOf, readCriteria, readFailureModes, readRoutes } from './plan-nodes-criteria.ts'
import { readOutputs } from './plan-nodes-outputs.ts'

/** The playbook's words, then those of ours it has none for. */
export const NODE_STATUS = statusWords<TaskStatus>({
  pending: 'pending',
  running: 'running',
  blocked: 'blocked',
  completed: 'completed',
  failed: 'failed',
  abandoned: 'abandoned',
  ready: 'ready',
  waiting: 'waiting',
  skipped: 'skipped',
  cancelled: 'cancelled',
  done: 'completed',
  succeeded: 'completed',
  canceled: 'cancelled',
})

/** Keys that mean the same under the same name here and in the canonical document. */
export const SAME_KEYS: readonly string[] = [
  'title',
  'description',
  'rationale',
  'optional',
  'when',
  'timeout',
  'retry',
  'for_each',
  'inputs',
  'write',
  'read',
  'network',
  'env',
  'cwd',
  'effect',
  'visits',
  'assumptions',
  'risks',
  'rollback',
  'owner',
  'assignee',
  'labels',
  'milestone',
  'deadline',
  'capabilities',
]
const COMMAND_KEYS: readonly string[] = ['command', 'commands', 'run']
/** Every key that is read; what stands under another one is kept in `extra`. */
export const NODE_KEYS: readonly string[] = [
  ...SAME_KEYS,
  ...NEEDS_KEYS,
  ...COMMAND_KEYS,
  ...ACCEPT_KEYS,
  ...['id', 'kind', 'gate', 'show', 'subplan', 'checks', 'preconditions', 'failure_modes', 'artifacts', 'outputs'],
  ...['next', 'on', 'matrix', 'priority', 'estimate', 'estimated_duration', 'environment', 'budget', 'status', 'state'],
]

export function readNode(draft: DocumentBuilder, map: JsonObject, at: Path, to: Path, around: Around): JsonObject {
  const fields = draft.fields(map, at, to)
  const id = fields.take('id')
  const name = id === undefined ? undefined : around.names.name(id)
  fields.put('id', name, 'id')
  fields.remember('id', around.names.remember(id))
  if (isPlaceholder(id)) draft.sketched([...to, 'id'], `${JSON.stringify(id)} is a placeholder`)
  fields.copy(SAME_KEYS)
  readStatus(
    draft,
    fields,
    Object.hasOwn(map, 'status') ? 'status' : 'state',
    `${around.prefix}${String(name)}`,
    NODE_STATUS,
  )
  readAmounts(fields)
  readNeeds(draft, fields, around)
  const gate = readKind(draft, fields, around.gates.get(String(id)))
  readOutputs(fields, around.artifacts.get(String(id)) ?? [])
  const steps = readSubplan(draft, fields, around, String(name))
  const calls = readCommand(draft, fields, around, gate || steps)
  readCriteria(draft, fields, around, calls, gate)
  readFailureModes(draft, fields, around, calls)
  readRoutes(draft, fields, around)
  fields.keepRest(NODE_KEYS)
  return fields.document()
}

export function isGateKind(kind: Json | undefined): kind is string {
  return typeof kind === 'string' && (kind === 'gate' || kind.endsWith('-gate'))
}

function readAmounts(fields: Fields): void {
  const priority = fields.take('priority')
  const level = priority === undefined ? null : priorityOf(priority)
  fields.put('priority', level ?? priority, 'priority')
  if (level !== null) fields.remember('priority', priority)
  const estimate = fields.first(['estimate', 'estimated_duration'])
  if (estimate !== null) fields.put('estimate', durationText(estimate.value, 'min'), estimate.key)
  const budget = fields.take('budget')
  if (budget !== undefined) fields.put('budget', budgetMap(budget), 'budget')
  if (fields.said('env') === undefined) fields.rename('environment', 'env')
}

function readNeeds(draft: DocumentBuilder, fields: Fields, { names, outer }: Around): void {
  const keys = NEEDS_KEYS.filter(key => Object.hasOwn(fields.map, key))
  if (keys.length === 0) return
  const ids = keys.flatMap(key => listOf(fields.take(key) as Json))
  const blank = ids.filter(isPlaceholder)
  for (const id of blank) draft.sketched([...fields.to, 'needs'], `needs ${JSON.stringify(id)}, which is a placeholder`)
  if (blank.length > 0) fields.remember('needs', blank)
  const needs = ids
    .filter(id => !isPlaceholder(id))
    .map(id => (outer === undefined || names.has(id) ? names : outer).name(id))
  fields.put('needs', needs, keys[0] as string)
  if (keys.length === 1 && isList(fields.map[keys[0] as string]))
    for (const index of needs.keys()) fields.mark(['needs', index], [keys[0] as string, index])
}

/** True for a gate. */
function readKind(draft: DocumentBuilder, fields: Fields, guarded: { readonly gate: JsonObject } | undefined): boolean {
  const kind = fields.take('kind')
  const options = alternatives(kind)
  if (options !== null)
    draft.sketched(
      [...fields.to, 'kind'],
      `'kind' lists alternatives: ${options.join(', ').slice(0, 80)}`,
      'choose one of them',
    )
  // Whether a node is a gate is said by its kind; a kind of its own stays.
  if (kind !== 'gate') fields.put('kind', kind, 'kind')
  const written = fields.take('gate')
  const gate = isGateKind(kind) || written !== undefined || (guarded !== undefined && kind === undefined)
  if (!gate) return false
  fields.put('gate', written ?? 'approval', written === undefined ? 'kind' : 'gate')
  fields.copy(['show'])
  return true
}

/** True when there is one. */
function readSubplan(draft: DocumentBuilder, fields: Fields, around: Around, name: string): boolean {
  const written = fields.take('subplan')
  if (written === undefined) return false
  const nested = isMap(written) && isList(written.nodes) ? written : null
  const list = nested === null ? listOf(written) : (nested.nodes as readonly Json[])
  if (nested !== null && Object.keys(nested).length > 1) {
    const { nodes: _, ...rest } = nested
    fields.remember('subplan', rest)
  }
  const from: Path = nested === null ? ['subplan'] : ['subplan', 'nodes']
  const inner: Around = {
    ...around,
    names: new Names(list.map(step => (isMap(step) ? step.id : undefined))),
    outer: around.names,
    prefix: `${around.prefix}${name}/`,
    artifacts: new Map(),
    gates: new Map(),
  }
  const steps = list.map((step, index) => {
    const place = isList(written) || nested !== null ? [...from, index] : from
    const to = [...fields.to, 'subplan', index]
    if (isMap(step)) return readNode(draft, step, [...fields.at, ...place], to, inner)
    fields.mark(['subplan', index], place)
    return step
  })
  fields.put('subplan', steps, 'subplan')
  return true
}

/** `others` carry it out, so that nobody reads an instruction. */
function readCommand(draft: DocumentBuilder, fields: Fields, around: Around, others: boolean): readonly Call[] {
  const command = fields.first(COMMAND_KEYS)
  const matrix = fields.take('matrix')
  fields.put('matrix', matrix, 'matrix')
  if (command === null) return []
  const lines = isList(command.value) && command.value.every(line => typeof line === 'string')
  const text = lines ? (command.value as readonly string[]).join('\n') : command.value
  if (others) {
    fields.remember('command', command.value)
    draft.warn(
      fields.to,
      'a gate or a subplan has nobody to carry out its command',
      'it is kept; make it a task of its own',
    )
    return []
  }
  fields.put('instruction', text, command.key)
  if (lines) fields.remember('command', command.value)
  const calls = callsOf(text)
  const axes = matrixOf(calls)
  if (axes !== null && matrix === undefined && fields.said('for_each') === undefined)
    fields.put('matrix', axes, command.key)
  const inputs = fields.said('inputs')
  for (const { call, axis } of emptyAxes(calls))
    draft.warn(
      [...fields.to, 'instruction'],
      `run ${call}() has no values for '${axis}'`,
      'give the list at least one value, or take it away',
    )
  // What this very task produces is there only after the call that does, unless another one produces it, too.
  const own = new Set(resultsOf(calls))
  const isKnown = (name: string): boolean =>
    (isMap(inputs) && Object.hasOwn(inputs, name)) ||
    (around.produced.has(name) && (!own.has(name) || around.shared?.has(name) === true))
  for (const { name, call, later } of unproduced(calls, isKnown)) {
    const why = later === null ? 'which is neither an input nor a result' : `which only ${later}() produces, later`
    draft.warn(
      [...fields.to, 'instruction'],
      `${call}() uses '${name}', ${why}`,
      'add it to inputs, or produce it before',
    )
  }
  return calls
}
