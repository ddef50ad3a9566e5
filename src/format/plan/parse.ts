// Parses the text of a plan into a definition, or into all of its errors with their positions. Never throws.

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

// Removes the invalid parts of a document, so that the rest can be checked too and all errors are reported at once. The result is
// only checked, never run.

interface Salvaged {
  readonly document: PlanDocument
  readonly plan: z.output<typeof planSchema>
  /** A task lost its name, so an unknown name may refer to it. */
  readonly nameless: boolean
  /** A removed part affected dependencies or outputs, so those are not checked. */
  readonly unrelated: boolean
}

const TRIES_MAX = 5

/** `complaints`: the schema's errors. Null if too little is left to check. */
function salvage(document: Json, complaints: readonly SchemaComplaint[]): Salvaged | null {
  // The maximum number of errors is already reached.
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
  { path, absent, intended }: SchemaComplaint,
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
    const key = intended ?? path[2]
    if (!UNRELATED.has(String(key))) lost.unrelated = true
    if (path.includes('subplan')) lost.nameless = true
  }
  return remove(root, path)
}

/** Removes the innermost map key on the path. List items keep their positions, so a list is removed as a whole. */
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

/** Task keys that affect neither dependencies nor outputs. */
const UNRELATED: ReadonlySet<string> = new Set([
  ...WRITTEN.filter(({ relates }) => relates !== true).map(({ key }) => key),
  ...WRITTEN_ACTIONS.flatMap(({ names }) => names.slice(1)),
])

export type Parsed =
  | (ImportInfo & {
      readonly ok: true
      readonly definition: PlanDefinition
      readonly warnings: readonly Diagnostic[]
      /** Converts an error about the definition to one at its position in the text. */
      readonly locate: (fault: DefinitionFault) => Diagnostic
    })
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

export interface ImportInfo {
  /** The source format; null for the canonical one. */
  readonly dialect: string | null
  /** Why it is only a sketch, which can be shown but not run. Empty for a plan. */
  readonly sketch: readonly string[]
  /** Tasks that had ended in the source format. */
  readonly ended: ReadonlyMap<TaskName, EndedStatus>
  /** Tasks that were in progress in the source format. */
  readonly underWay: ReadonlySet<TaskName>
}

/** An error found by a rule about the whole plan, such as its graph. */
export interface DefinitionFault {
  /** The broken rule, if it has a name. */
  readonly code?: string
  readonly message: string
  readonly hint?: Hint
  readonly task?: TaskName
  /** The key of the task it concerns, e.g. `needs`, and the path below it. */
  readonly key?: string
  readonly at?: Path
}

export interface ParseOptions {
  readonly fileName?: string
  /** The plan's name if the document has none. Without it, the name is derived from the file name. */
  readonly fallbackName?: string
  /** The formats it may be written in beside our own; without them it is read as ours. */
  readonly dialects?: Dialects | null
  /** Read as this format, instead of detecting it. */
  readonly dialect?: Dialect
  /** Additional tasks that expressions may refer to: those of the plan it is merged into. */
  readonly known?: Iterable<string>
  /** The text was generated or translated: in prose, text that resembles an expression is not an error. */
  readonly lenient?: true
  /** Rules of the domain, reported at the position of their task. */
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
    // Unreadable parts are missing in the rest; that is not another error.
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
 * Recognises the canonical format by a line, so that no other format is tried. Excludes line breaks from the blanks: `\s` would
 * scan all following empty lines at every empty line, which took eleven seconds for 20 kB.
 */
const OURS = /^\uFEFF?[^\S\r\n\u2028\u2029]*(?:\{[^\S\r\n\u2028\u2029]*)?"?planfold"?\s*:/m

/** A guess by our first key, without parsing. A Markdown file may quote our plans and not be one. */
export const mayBeForeign = (text: string, fileName = ''): boolean =>
  !OURS.test(text) || /\.(?:md|markdown)$/i.test(fileName)

/** Characters that no definition may contain anywhere; plain-text formats would otherwise import them. */
function unkeepable(text: string): Diagnostic | null {
  const at = text.search(/\0|\p{Surrogate}/u)
  if (at === -1) return null
  const nul = text[at] === '\0'
  const message = nul ? 'the text contains a NUL character' : 'the text contains half a character (a lone surrogate)'
  return { severity: 'error', message, hint: 'remove it; is this a text file?', ...positionAt(text, at) }
}

interface ParsedSource extends ImportInfo {
  readonly warnings: readonly DocumentFault[]
}

const CANONICAL: ParsedSource = { dialect: null, sketch: [], ended: new Map(), underWay: new Set(), warnings: [] }

function parseDocument(document: Document, about: ParsedSource, options: ParseOptions): Parsed {
  const { warnings, ...info } = about
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
  const resolved = about.dialect === null ? unescaped(written) : written
  const read = resolved === written ? shaped : planSchema.safeParse(resolved)
  const definition = { ...(read.data ?? shaped.data), name: name ?? UNNAMED }
  const wrong = faults.some(fault => fault.severity !== 'warning')
  const checked = (options.check?.(definition) ?? []).slice(0, PLACED_MAX).map(fault => locateFault(definition, fault))
  if (wrong || checked.length > 0) return refuse(document, [...faults, ...checked])
  return {
    ok: true,
    definition,
    warnings: tidy(once(faults).slice(0, PLACED_MAX).map(document.place)),
    locate: fault => document.place(locateFault(definition, fault)),
    ...info,
  }
}

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

/** Errors that may be false if part of the plan is unknown. */
const RELATED: ReadonlySet<string> = new Set([
  'unknown-output',
  'output-too-early',
  'impossible-outcome',
  'gate-required',
])

/** Derives a plan name from a file name: `Partial Retries.plan.yaml` -> `partial-retries`. Null if nothing usable is left. */
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

/** Bounds the errors to locate, which takes a walk through the document each; some are duplicates. */
const PLACED_MAX = 2 * DIAGNOSTICS_MAX

/** Placeholder while only checking. */
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

/** The path of the task with this full name; all children of a `matrix` or `for_each` share one. */
function placeOf(tasks: readonly TaskDefinition[], name: string, fault?: DefinitionFault): Path | null {
  const last = tasks.findLastIndex(task => task.id === name)
  if (last !== -1) {
    const isOther = fault?.key !== undefined && fault.key !== 'id' && !hasFault(tasks[last]!, fault)
    const first = isOther ? tasks.findIndex(task => task.id === name && hasFault(task, fault)) : -1
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

/** If several tasks share a name: does this one contain the error? */
function hasFault(task: TaskDefinition, { key = '', at = [], message }: DefinitionFault): boolean {
  let value: unknown = task
  for (const step of [key, ...at]) value = (value as { readonly [key: string]: unknown } | undefined)?.[step]
  if (typeof value !== 'string') return value !== undefined
  return [value, at.at(-1)].some(word => message.includes(`'${word}'`))
}

/** Reports a warning once, at the first task, even if many tasks have it. */
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
