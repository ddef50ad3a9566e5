// How the planning playbook says by what a task is judged and where its outcomes lead: preconditions, checks, success criteria, failure
// modes, `next`.

import { isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { Path } from '../../../format/text/diagnostic.ts'
import { isList } from '../../../format/text/source.ts'
import { type DocumentBuilder, type Fields, listOf, type Names } from '../document-builder.ts'
import { type Known, readCriterion } from './criteria.ts'
import { type Call, readPipeline, resultsOf } from './pipeline.ts'

export const ACCEPT_KEYS: readonly string[] = ['success_criteria', 'acceptance_criteria', 'accept', 'postconditions']

/** What the plan around a node says about it. */
export interface Around {
  readonly names: Names
  /** Names of another level that a step of a subplan may need. */
  readonly outer?: Names
  /** The full name of the task a subplan belongs to, with its slash. */
  readonly prefix: string
  /** Artifacts of the plan, by the node they come from. */
  readonly artifacts: ReadonlyMap<string, readonly JsonObject[]>
  /** Checks of the plan's `gates`, by the node they guard: where they stand, and what else is said there. */
  readonly gates: ReadonlyMap<string, { readonly at: Path; readonly gate: JsonObject }>
  /** Values that other tasks produce. */
  readonly produced: ReadonlySet<string>
  /** Those that more than one task produces. */
  readonly shared?: ReadonlySet<string>
}

/** What the criteria of a task may look at, from its canonical document. */
export function knownOf(task: JsonObject, calls: readonly Call[], tasks: Iterable<string>): Known {
  return {
    outputs: isMap(task.outputs) ? Object.keys(task.outputs) : [],
    inputs: isMap(task.inputs) ? Object.keys(task.inputs) : [],
    results: resultsOf(calls),
    tasks,
    exit: false,
  }
}

export function callsOf(instruction: Json | undefined): readonly Call[] {
  const pipeline = typeof instruction === 'string' ? readPipeline(instruction) : { ok: false as const }
  return pipeline.ok ? pipeline.calls : []
}

/** Reads everything by which a task is judged; the checks of a gate come before the person who approves. */
export function readCriteria(
  draft: DocumentBuilder,
  fields: Fields,
  around: Around,
  calls: readonly Call[],
  gate: boolean,
): void {
  const known = knownOf({ outputs: fields.said('outputs') ?? {}, inputs: fields.said('inputs') ?? {} }, calls, [])
  const guarded = around.gates.get(String(fields.map.id))
  const before: readonly (readonly [Json, Path])[] = [
    ...items(fields, 'preconditions'),
    // A person approves what was checked, so the checks of a gate are judged before it opens.
    ...(gate ? items(fields, 'checks') : []),
    ...(gate && guarded !== undefined
      ? listOf(guarded.gate.checks ?? []).map((check, index) => [check, [...guarded.at, 'checks', index]] as const)
      : []),
  ]
  const after = [...ACCEPT_KEYS.flatMap(key => items(fields, key)), ...(gate ? [] : items(fields, 'checks'))]
  const put = (key: string, list: readonly (readonly [Json, Path])[], judged: 'before' | 'after', written: boolean) => {
    if (list.length === 0 && !written) return
    const documents = list.map(([criterion, from], index) => {
      const { document, unchecked } = readCriterion(criterion, { ...known, judged })
      draft.trace.mark([...fields.to, key, index], { path: from })
      if (unchecked !== undefined)
        draft.warn(
          [...fields.to, key, index],
          `only the number is checked, not that it is '${unchecked.slice(0, 80)}'`,
          'add the rest as a criterion of its own, for a critic or a person to judge',
        )
      return document
    })
    fields.put(key, documents)
  }
  const says = (keys: readonly string[]): boolean => keys.some(key => Object.hasOwn(fields.map, key))
  put('preconditions', before, 'before', says(['preconditions', ...(gate ? ['checks'] : [])]))
  put('accept', after, 'after', says([...ACCEPT_KEYS, ...(gate ? [] : ['checks'])]))
  if (guarded === undefined) return
  const { id: _, checks: __, ...rest } = guarded.gate
  for (const [key, value] of Object.entries(rest)) if (!Object.hasOwn(fields.map, key)) fields.remember(key, value)
}

/** The items of a list, each with where it stands. */
function items(fields: Fields, key: string): readonly (readonly [Json, Path])[] {
  const value = fields.take(key)
  if (value === undefined) return []
  if (!isList(value)) return [[value, [...fields.at, key]]]
  return value.map((item, index) => [item, [...fields.at, key, index]] as const)
}

export function readFailureModes(
  draft: DocumentBuilder,
  fields: Fields,
  { names }: Around,
  calls: readonly Call[],
): void {
  const modes = fields.take('failure_modes')
  if (modes === undefined) return
  const known = knownOf({ outputs: fields.said('outputs') ?? {}, inputs: fields.said('inputs') ?? {} }, calls, [])
  const documents = listOf(modes).map((mode, index) => {
    if (!isMap(mode)) return mode
    const { detect, recover, ...rest } = mode
    draft.trace.mark([...fields.to, 'failure_modes', index], { path: [...fields.at, 'failure_modes', index] })
    const targets = recover === undefined ? [] : listOf(recover)
    const routed = targets.length > 0 && targets.every(target => names.has(target))
    return {
      ...rest,
      ...(detect === undefined ? {} : { detect: readCriterion(detect, { ...known, judged: 'failed' }).document }),
      ...(recover === undefined
        ? {}
        : routed || isList(recover)
          ? { recover: targets.map(id => names.name(id)) }
          : { advice: recover }),
    }
  })
  fields.put('failure_modes', documents, 'failure_modes')
}

/** Reads `next: [{on, to}]` and `on: {outcome: [task]}`. A way that leads out of the plan makes it a sketch, and is kept. */
export function readRoutes(draft: DocumentBuilder, fields: Fields, { names }: Around): void {
  const routes = new Map<string, Json[]>()
  const outside: Json[] = []
  const written = fields.take('on')
  if (written !== undefined && !isMap(written)) return fields.put('on', written, 'on')
  const next = fields.take('next')
  const entries = (next === undefined ? [] : listOf(next)).map((entry, index) => {
    const place: Path = isList(next) ? ['next', index] : ['next']
    return isMap(entry)
      ? { outcome: String(entry.on ?? 'success'), to: listOf(entry.to ?? []), place }
      : { outcome: 'success', to: [entry], place }
  })
  for (const [outcome, to] of Object.entries(written ?? {}))
    routes.set(
      outcome,
      listOf(to as Json).map(id => names.name(id)),
    )
  for (const { outcome, to, place } of entries) {
    for (const id of to) {
      if (names.has(id)) routes.set(outcome, [...(routes.get(outcome) ?? []), names.name(id)])
      else {
        draft.sketched(
          [...fields.to, 'extra', 'next', outside.length],
          `'${outcome}' leads to ${JSON.stringify(id)}, which is not in this plan`,
          'a sketch can be looked at, not run: add that task',
        )
        fields.mark(['extra', 'next', outside.length], place)
        outside.push({ on: outcome, to: id })
      }
    }
  }
  if (routes.size > 0 || isMap(written))
    fields.put('on', Object.fromEntries(routes), next === undefined ? 'on' : 'next')
  if (outside.length > 0) fields.remember('next', outside)
}
