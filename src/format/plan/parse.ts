// From the text of a plan to its definition, or to everything that is wrong with it, told at once and in place.
// Whatever the text holds, this answers with a value; it does not throw.

import type { z } from 'zod'
import { advise, type Hint, next } from '../../domain/hint.ts'
import { isPlanName, NAME_MAX, type PlanName, type TaskName } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { WRITTEN } from '../../domain/plan-rules/task-fields.ts'
import { WRITTEN_ACTIONS } from '../actions/actions.ts'
import { DIAGNOSTICS_MAX, type Diagnostic, type DocumentFault, type Path, tidy } from '../text/diagnostic.ts'
import type { Document } from '../text/document.ts'
import { positionAt } from '../text/place.ts'
import { complaintsOf, type SchemaComplaint } from '../text/schema-messages.ts'
import { Source } from '../text/source.ts'
import { derived } from '../text/source-map.ts'
import type { Dialect, Dialects, EndedStatus } from './dialect.ts'
import { expressionFaults, type PlanDocument, unescaped } from './expression-checks.ts'
import { rulesBroken } from './rules.ts'
import { plan as planSchema } from './schema.ts'

// What is left of a document when the parts that are wrong are taken out, so that the rest is checked as well and everything that is
// wrong is told at once. Only ever looked at: nobody makes a plan of it.

interface Salvaged {
  readonly document: PlanDocument
  readonly plan: z.output<typeof planSchema>
  /** Some task has lost its name, so a name that is not known may be that one's. */
  readonly nameless: boolean
  /** Something was taken out that says who comes before whom, or what a task makes; nothing can be said about that then. */
  readonly unrelated: boolean
}

const TRIES_MAX = 5

/** `complaints`: what the schema says about the document. Null when too little is left to look at. */
function salvage(document: Json, complaints: readonly SchemaComplaint[]): Salvaged | null {
  // As many are told already as ever are.
  if (complaints.length >= DIAGNOSTICS_MAX) return null
  const value = structuredClone(document) as Tree
  const lost = { nameless: false, unrelated: false }
  let wrong = complaints
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (wrong.length >= DIAGNOSTICS_MAX || !wrong.every(one => takeOut(value, one, lost))) return null
    const shaped = planSchema.safeParse(value)
    if (shaped.success) return { document: value as unknown as PlanDocument, plan: shaped.data, ...lost }
    wrong = complaintsOf(planSchema, shaped.error, { value, written: () => null })
  }
  return null
}

type Tree = { [key: string | number]: unknown }

function takeOut(
  root: Tree,
  { path, absent, meant }: SchemaComplaint,
  lost: { nameless: boolean; unrelated: boolean },
): boolean {
  if (absent === 'planfold' || path[0] === 'planfold') {
    root.planfold = 1
    return true
  }
  if (path[0] === 'tasks' && typeof path[1] === 'number') {
    const isItself = path.length === 2 || (path.length === 3 && path[2] === 'id')
    if (isItself) {
      lost.nameless = true
      const tasks = root.tasks as Tree
      const task = tasks[path[1]]
      tasks[path[1]] = { ...(isTree(task) ? task : {}), id: `unnamed-${path[1]}` }
      return true
    }
    const key = meant ?? path[2]
    if (!UNRELATED.has(String(key))) lost.unrelated = true
    if (path.includes('subplan')) lost.nameless = true
  }
  return remove(root, path)
}

/** The innermost key of a map on this path; items of a list keep their numbers, so the list goes as a whole. */
function remove(root: Tree, path: Path): boolean {
  let parent: Tree | null = null
  let key: string | null = null
  let here: unknown = root
  for (const step of path) {
    if (!isTree(here) || !Object.hasOwn(here, step)) break
    if (typeof step === 'string') {
      parent = here
      key = step
    }
    here = here[step]
  }
  if (parent === null || key === null || (parent === root && key === 'tasks')) return false
  delete parent[key]
  return true
}

const isTree = (value: unknown): value is Tree => value !== null && typeof value === 'object'

/** Keys of a task that say neither who comes before whom nor what it makes. */
const UNRELATED: ReadonlySet<string> = new Set([
  ...WRITTEN.filter(({ relates }) => relates !== true).map(({ key }) => key),
  ...WRITTEN_ACTIONS.flatMap(({ names }) => names.slice(1)),
])

export type Parsed =
  | (Told & {
      readonly ok: true
      readonly definition: PlanDefinition
      readonly warnings: readonly Diagnostic[]
      /** What somebody has to say about the definition, at its place in the text. */
      readonly locate: (fault: DefinitionFault) => Diagnostic
    })
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

export interface Told {
  /** The name of the dialect it was written in; null for the canonical format. */
  readonly dialect: string | null
  /** Why it is only a sketch: it can be looked at, but not run. Empty for a plan. */
  readonly sketch: readonly string[]
  /** Tasks that had ended when it was written. */
  readonly ended: ReadonlyMap<TaskName, EndedStatus>
  /** Tasks that somebody was working on when it was written. */
  readonly underWay: ReadonlySet<TaskName>
}

/** What a rule about the whole plan, such as the graph's, finds wrong. */
export interface DefinitionFault {
  /** Which rule it breaks, where rules have names. */
  readonly code?: string
  readonly message: string
  readonly hint?: Hint
  readonly task?: TaskName
  /** The key of the task it is about, e.g. `needs`, and the place below it. */
  readonly key?: string
  readonly at?: Path
}

export interface ParseOptions {
  readonly fileName?: string
  /** The name of a plan that does not say one; else it is made from the file's name. */
  readonly fallbackName?: string
  /** The formats it may be written in beside our own; without them it is read as ours. */
  readonly dialects?: Dialects | null
  /** Read it as this dialect, whatever it looks like. */
  readonly dialect?: Dialect
  /** Tasks that expressions may name although the text does not: those of the plan it is merged into. */
  readonly known?: Iterable<string>
  /** The text was made by a program, or translated: what only looks like an expression in its prose is no fault. */
  readonly lenient?: true
  /** Rules of the domain, told at the place of the task they are about. */
  readonly check?: (definition: PlanDefinition) => readonly DefinitionFault[]
}

export function parsePlan(text: string, options: ParseOptions = {}): Parsed {
  const source = new Source(text, options.fileName)
  const { dialects } = options
  const dialect =
    options.dialect ?? (OURS.test(text) ? null : dialects?.DIALECTS.find(one => one.recognises(source))) ?? null
  if (dialect === null) {
    const { read } = source
    const isOurs = OURS.test(text) && dialects?.isOnlyQuoted(source, OURS) !== true
    const why = isOurs ? null : (dialects?.whyUnrecognised(source) ?? null)
    if (why !== null) return { ok: false, diagnostics: [why] }
    if (read.ok) return parseDocument(read.document, CANONICAL, options)
    const rest = read.rest === undefined ? null : parseDocument(read.rest, CANONICAL, options)
    // What could not be read is missing in the rest; that is no fault of its own.
    const lines = new Set(read.diagnostics.map(({ line }) => line))
    const more = rest === null || rest.ok ? [] : rest.diagnostics.filter(({ line }) => !lines.has(line))
    return { ok: false, diagnostics: tidy([...read.diagnostics, ...more]) }
  }
  const unkept = unkeepable(text)
  if (unkept !== null) return { ok: false, diagnostics: [unkept] }
  const reading = dialect.read(source)
  if (!reading.ok) return { ok: false, diagnostics: tidy(reading.diagnostics) }
  const { plan, trace, warnings, sketch, ended, underWay } = reading
  const also = [...warnings, ...sketch].map(complaint => ({ ...complaint, severity: 'warning' as const }))
  return parseDocument(
    derived(plan, trace, source),
    { dialect: dialect.name, sketch: sketch.map(({ message }) => message), ended, underWay, warnings: also },
    { ...options, lenient: true },
  )
}

/**
 * A line that begins like our own format: nobody else need be asked. Blanks are those of one line: `\s` would read on through all the
 * empty lines behind every empty line, and 20 kB of them took eleven seconds.
 */
const OURS = /^\uFEFF?[^\S\r\n\u2028\u2029]*(?:\{[^\S\r\n\u2028\u2029]*)?"?planfold"?\s*:/m

/** Only its first words were read; a Markdown file may show plans of ours and be none. */
export const mayBeForeign = (text: string, fileName = ''): boolean =>
  !OURS.test(text) || /\.(?:md|markdown)$/i.test(fileName)

/** Characters that no definition can hold, wherever they stand: readers of plain text would take them over. */
function unkeepable(text: string): Diagnostic | null {
  const at = text.search(/\0|\p{Surrogate}/u)
  if (at === -1) return null
  const nul = text[at] === '\0'
  const message = nul ? 'the text contains a NUL character' : 'the text contains half a character (a lone surrogate)'
  return { severity: 'error', message, hint: 'remove it; is this a text file?', ...positionAt(text, at) }
}

/** What is known about a document beside what it says. */
interface About extends Told {
  readonly warnings: readonly DocumentFault[]
}

const CANONICAL: About = { dialect: null, sketch: [], ended: new Map(), underWay: new Set(), warnings: [] }

function parseDocument(document: Document, about: About, options: ParseOptions): Parsed {
  const { warnings, ...told } = about
  if (document.value === null || typeof document.value !== 'object' || Array.isArray(document.value)) {
    return refuse(document, [
      {
        path: [],
        message: 'a plan file must be a mapping (key: value)',
        hint: "begin with 'planfold: 1' and a list of 'tasks'",
      },
    ])
  }
  if (Object.hasOwn(document.value, 'planfold-template')) {
    return refuse(document, [
      {
        path: ['planfold-template'],
        atKey: true,
        message: 'this is a template, not a plan',
        hint: advise`put it into .planfold/templates, then make a plan of it: ${next('new-from-template')}`,
      },
    ])
  }
  const rules = rulesBroken(document.value, document.written)
  const shaped = planSchema.safeParse(document.value)
  if (!shaped.success) {
    const misshapen = complaintsOf(planSchema, shaped.error, document)
    return refuse(document, [...rules, ...misshapen, ...faultsInRest(document, misshapen, options)])
  }

  const written = document.value as unknown as PlanDocument
  const name = shaped.data.name ?? nameFrom(options)
  const faults = [
    ...warnings,
    ...rules,
    ...expressionFaults(written, options.known, options),
    ...(name === null ? [NAMELESS] : []),
  ]
  const meant = about.dialect === null ? unescaped(written) : written
  const read = meant === written ? shaped : planSchema.safeParse(meant)
  const definition = { ...(read.data ?? shaped.data), name: name ?? UNNAMED }
  const wrong = faults.some(fault => fault.severity !== 'warning')
  const checked = (options.check?.(definition) ?? []).slice(0, PLACED_MAX).map(fault => locateFault(definition, fault))
  if (wrong || checked.length > 0) return refuse(document, [...faults, ...checked])
  return {
    ok: true,
    definition,
    warnings: tidy(once(faults).slice(0, PLACED_MAX).map(document.place)),
    locate: fault => document.place(locateFault(definition, fault)),
    ...told,
  }
}

/** What is wrong in a document beside what the schema does not take. */
function faultsInRest(
  { value }: Document,
  misshapen: readonly SchemaComplaint[],
  options: ParseOptions,
): readonly DocumentFault[] {
  const left = salvage(value, misshapen)
  if (left === null) return []
  const name = left.plan.name ?? nameFrom(options)
  const definition = { ...left.plan, name: name ?? UNNAMED }
  const unsure = (fault: DefinitionFault): boolean =>
    (left.nameless && fault.code === 'unknown-reference') || (left.unrelated && RELATED.has(fault.code ?? ''))
  const checked = (options.check?.(definition) ?? []).filter(fault => !unsure(fault)).slice(0, PLACED_MAX)
  return [
    ...expressionFaults(left.document, left.nameless ? null : options.known, options),
    ...(name === null ? [NAMELESS] : []),
    ...checked.map(fault => locateFault(definition, fault)),
  ]
}

/** Faults that may be none when part of the plan is not known. */
const RELATED: ReadonlySet<string> = new Set([
  'unknown-output',
  'output-too-early',
  'impossible-outcome',
  'gate-required',
])

/** A plan's name from a file's: `Partial Retries.plan.yaml` -> `partial-retries`. Null when nothing usable is left. */
export function planNameFrom(fileName: string): PlanName | null {
  const base = fileName.split(/[\\/]/).at(-1) ?? ''
  const slug = base
    .replace(/\.(ya?ml|json)$/i, '')
    .replace(/\.plan(fold)?$/i, '')
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, NAME_MAX)
    .replace(/^-+|-+$/g, '')
  return isPlanName(slug) ? slug : null
}

/** Finding a place costs a walk through the document; some of these are one thing said twice. */
const PLACED_MAX = 2 * DIAGNOSTICS_MAX

/** Of what is only looked at. */
const UNNAMED = 'unnamed' as PlanName

const NAMELESS: DocumentFault = {
  path: [],
  message: 'the plan has no name',
  hint: "add 'name:' with a short name, for instance name: partial-retries",
}

function nameFrom({ fallbackName, fileName }: ParseOptions): PlanName | null {
  if (fallbackName !== undefined) return isPlanName(fallbackName) ? fallbackName : planNameFrom(fallbackName)
  return fileName === undefined ? null : planNameFrom(fileName)
}

function locateFault(definition: PlanDefinition, fault: DefinitionFault): DocumentFault {
  const { message, hint, key, at = [] } = fault
  const place = fault.task === undefined ? null : placeOf(definition.tasks, fault.task, fault)
  const ofPlan = fault.task === undefined && key !== undefined ? [key, ...at] : []
  const path = place === null ? ofPlan : ['tasks', ...place, ...(key === undefined ? ['id'] : [key, ...at])]
  return { path, message, hint }
}

/** Where the task with this full name is written; the children of a `matrix` or a `for_each` are written as one. */
function placeOf(tasks: readonly TaskDefinition[], name: string, fault?: DefinitionFault): Path | null {
  const last = tasks.findLastIndex(task => task.id === name)
  if (last !== -1) {
    const isOther = fault?.key !== undefined && fault.key !== 'id' && !isMeant(tasks[last]!, fault)
    const first = isOther ? tasks.findIndex(task => task.id === name && isMeant(task, fault)) : -1
    return [first === -1 ? last : first]
  }
  for (const [at, { id, action, forEach, matrix }] of tasks.entries()) {
    if (!name.startsWith(`${id}/`)) continue
    const rest = name.slice(id.length + 1)
    const many = forEach !== undefined || matrix !== undefined
    if (many && /^(?:\d+|items)$/.test(rest)) return [at]
    const inner = action.type === 'subplan' ? placeOf(action.tasks, many ? rest.replace(/^\d+\//, '') : rest) : null
    if (inner !== null) return [at, 'subplan', ...inner]
  }
  return null
}

/** Of several tasks with one name: does this one hold what the fault is about? */
function isMeant(task: TaskDefinition, { key = '', at = [], message }: DefinitionFault): boolean {
  let value: unknown = task
  for (const step of [key, ...at]) value = (value as { readonly [key: string]: unknown } | undefined)?.[step]
  if (typeof value !== 'string') return value !== undefined
  return [value, at.at(-1)].some(word => message.includes(`'${word}'`))
}

/** The same warning at many tasks is one warning, at the first of them. */
function once(warnings: readonly DocumentFault[]): readonly DocumentFault[] {
  const places = new Map<string, number>()
  for (const { message } of warnings) places.set(message, (places.get(message) ?? 0) + 1)
  return warnings.flatMap(warning => {
    const count = places.get(warning.message) ?? 0
    places.delete(warning.message)
    if (count === 0) return []
    return [count === 1 ? warning : { ...warning, message: `${warning.message} (here and in ${count - 1} more)` }]
  })
}

function refuse(document: Document, complaints: readonly DocumentFault[]): Parsed {
  const errors = complaints.filter(complaint => complaint.severity !== 'warning')
  return { ok: false, diagnostics: tidy(errors.slice(0, PLACED_MAX).map(document.place)) }
}
