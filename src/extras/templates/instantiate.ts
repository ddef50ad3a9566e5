// A plan made of a template: a pure function of the template and the values. Conditions are evaluated, loops are unrolled,
// substitutions land as data; what comes out is a canonical document, read by the same reader as any other, with its faults
// told at their places in the template.

import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { DOCUMENT_MAX_BYTES } from '../../domain/limits.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { ACTION_KEYS } from '../../format/actions/actions.ts'
import { asText } from '../../format/expression/template.ts'
import type { Dialect } from '../../format/plan/dialect.ts'
import { type ParseOptions, parsePlan } from '../../format/plan/parse.ts'
import { type Diagnostic, type DocumentFault, type Path, tidy } from '../../format/text/diagnostic.ts'
import { Trace } from '../../format/text/source-map.ts'
import { type Control, controlOf, isControlled } from './control.ts'
import type { Template } from './document.ts'
import { escapeExpressions, type Filled, insertInExpression, insertInLive, insertInText } from './insert-value.ts'
import { bindParameters, type Problem, type Values } from './parameters.ts'
import { type Removed, repairNeeds } from './removed-tasks.ts'
import { OPEN, type Piece, split } from './substitution.ts'
import { PARAMS, type Scope, Words } from './template-expressions.ts'
import { asString, inside, itemPlaces, type TextKind } from './text-kind.ts'

// Walks the plan of a template and makes a fresh document of it. Nothing of the template is handed on: every map and list is
// new, so a plan can be changed without anybody noticing. The work is bounded, whatever the loops say.

/** Nothing stands here: a parameter that was not given. */
const ABSENT = Symbol('absent')
type Made = Json | typeof ABSENT

const NODES_MAX = 200_000
const FAULTS_MAX = 100

/** Where something was written, and where it goes. */
interface Spot {
  readonly from: Path
  readonly to: Path
  readonly place: TextKind
  readonly scope: Scope
}

interface Occurrence {
  readonly value: Json
  readonly from: Path
  readonly scope: Scope
  readonly keep: boolean
}

class Builder {
  readonly faults: DocumentFault[] = []
  /** Things left out that somebody should know of. Paths are those of the plan. */
  readonly notes: DocumentFault[] = []
  readonly #words: Words
  readonly #values: Values
  readonly #trace: Trace
  #nodes = 0
  #characters = 0
  #halted = false

  constructor(values: Values, trace: Trace) {
    this.#values = values
    this.#words = new Words(Object.keys(values))
    this.#trace = trace
  }

  /** The document; null when there are faults. */
  plan(plan: JsonObject): JsonObject | null {
    const made = this.#map(plan, { from: ['plan'], to: [], place: 'plan', scope: { [PARAMS]: this.#values } })
    return this.faults.length > 0 ? null : made
  }

  #make(value: Json, spot: Spot): Made {
    if (!this.#spend(1, 0, spot)) return ABSENT
    this.#trace.mark(spot.to, { path: spot.from })
    if (typeof value === 'string') return this.#string(value, spot)
    if (Array.isArray(value)) return this.#list(value, spot)
    return isMap(value) ? this.#map(value, spot) : value
  }

  #map(map: JsonObject, spot: Spot): JsonObject {
    const entries: [string, Json][] = []
    for (const [key, value] of Object.entries(map)) {
      const made = this.#make(value, {
        from: [...spot.from, key],
        to: [...spot.to, key],
        place: inside(spot.place, key),
        scope: spot.scope,
      })
      if (made !== ABSENT) entries.push([key, made])
      else if (spot.place === 'task' && ACTION_KEYS.includes(key)) this.#noAction(key, spot)
    }
    return Object.fromEntries(entries)
  }

  /** Without its action a task would be something else: one that waits for an agent. */
  #noAction(key: string, { from }: Spot): void {
    if (this.faults.length > 0) return
    const hint = "put the task under 'if: params.x != null', or make the parameter required"
    this.#complain({
      path: [...from, key],
      message: `'${key}' has no value, and the task would wait for an agent`,
      hint,
    })
  }

  #list(list: readonly Json[], spot: Spot): Json {
    const made: Json[] = []
    const removed: Removed[] = []
    const placeOf = itemPlaces(spot.place, list)
    for (const [index, item] of list.entries()) {
      const at = { ...spot, from: [...spot.from, index], place: placeOf(index) }
      for (const { value, from, scope, keep } of this.#occurrences(item, at)) {
        if (this.#halted) return made
        if (keep) {
          const one = this.#make(value, { ...at, from, scope, to: [...spot.to, made.length] })
          if (one !== ABSENT) made.push(one)
        } else if (at.place === 'task' && isMap(value)) removed.push(...this.#removed(value, { ...at, from, scope }))
      }
    }
    if (removed.length === 0) return made
    const mended = repairNeeds(made, removed, spot.to)
    this.notes.push(...mended.notes)
    for (const fault of mended.faults) this.#complain({ ...fault, path: this.#origin(fault.path) })
    return mended.tasks
  }

  /** A list item as often as its loop says, each time with whether its condition holds. */
  *#occurrences(item: Json, spot: Spot, held = true): Generator<Occurrence> {
    const { from, scope } = spot
    if (!isControlled(item)) {
      yield { value: item, from, scope, keep: held }
      return
    }
    const control = controlOf(item)
    for (const within of this.#rounds(control, spot)) {
      const keep = this.#holds(control.if, from, within) && held
      for (const { value, path, inList } of control.values) {
        const at = { ...spot, from: [...from, ...path], scope: within }
        if (inList) yield* this.#occurrences(value, at, keep)
        else yield { value, from: at.from, scope: within, keep }
      }
    }
  }

  /** The names of each round of a loop; without a loop there is one round. */
  *#rounds(control: Control, spot: Spot): Generator<Scope> {
    const { from, scope } = spot
    if (control.each === undefined) {
      yield scope
      return
    }
    const source = String(control.each)
    const path = [...from, 'each']
    const items = this.#value(source, path, scope)
    if (items === ABSENT) return
    if (!Array.isArray(items)) {
      this.#complain({ path, message: `'${source}' is not a list`, hint: 'loop over a parameter of type list' })
      return
    }
    const name = String(control.as)
    for (const [index, each] of (items as readonly Json[]).entries()) {
      if (!this.#spend(1, 0, spot)) return
      yield { ...scope, [name]: each, [`${name}_number`]: index + 1 }
    }
  }

  /** A condition is true or false; anything else is a fault, never a guess. */
  #holds(condition: Json | undefined, from: Path, scope: Scope): boolean {
    if (condition === undefined) return true
    if (typeof condition === 'boolean') return condition
    const path = [...from, 'if']
    const value = this.#value(String(condition), path, scope)
    if (typeof value === 'boolean') return value
    if (value !== ABSENT)
      this.#complain({
        path,
        message: `the condition '${String(condition)}' is ${JSON.stringify(value)?.slice(0, 60)}, not true or false`,
        hint: 'compare it with something, for instance params.x != null or size(params.x) > 0',
      })
    return false
  }

  /** What others may still call a task that is left out, and what it would have waited for. */
  #removed(task: JsonObject, spot: Spot): readonly Removed[] {
    const pick = (key: string): Made =>
      Object.hasOwn(task, key)
        ? this.#make(task[key]!, { ...spot, from: [...spot.from, key], to: ['removed'], place: 'text' })
        : ABSENT
    const id = pick('id')
    const needs = pick('needs')
    if (typeof id !== 'string') return []
    const list = Array.isArray(needs) ? needs : typeof needs === 'string' ? [needs] : []
    return [{ id, needs: list.filter(one => typeof one === 'string') }]
  }

  #string(text: string, spot: Spot): Made {
    if (!this.#spend(0, text.length, spot)) return ABSENT
    const as = asString(spot.place)
    if (!text.includes(OPEN)) return text
    const whole = split(text)
    // A script keeps its text: whatever in it could have been a substitution was refused when the template was read.
    if (as === 'script')
      return whole.ok && whole.pieces.length === 1 && whole.pieces[0]!.type === 'value'
        ? this.#argv(whole.pieces[0]!.source, spot)
        : text
    if (!whole.ok) {
      this.#complain({ path: spot.from, message: whole.message, hint: whole.hint })
      return ABSENT
    }
    const pieces = this.#fill(whole.pieces, spot)
    if (pieces === null) return ABSENT
    const [only] = pieces
    if (pieces.length === 1 && only!.type === 'value') {
      if (only!.value === null && as !== 'expression') return ABSENT
      if (as === 'text') return only!.value
      if (as === 'live') return escapeExpressions(only!.value)
      if (as === 'argument') return escapeExpressions(asText(only!.value))
    }
    if (as === 'text') return insertInText(pieces)
    const landed = as === 'expression' ? insertInExpression(pieces) : insertInLive(pieces)
    if (landed.ok) return landed.text
    this.#complain({ path: spot.from, message: landed.message, hint: landed.hint })
    return ABSENT
  }

  #fill(pieces: readonly Piece[], spot: Spot): readonly Filled[] | null {
    const filled: Filled[] = []
    for (const piece of pieces) {
      if (piece.type === 'text') {
        filled.push(piece)
        continue
      }
      const value = this.#value(piece.source, spot.from, spot.scope)
      if (value === ABSENT || !this.#spend(0, sizeOf(value), spot)) return null
      filled.push({ type: 'value', value })
    }
    return filled
  }

  /** A command that is a parameter as a whole. */
  #argv(source: string, spot: Spot): Made {
    const value = this.#value(source, spot.from, spot.scope)
    if (value === ABSENT || value === null) return ABSENT
    if (Array.isArray(value) && value.length > 0) return value.map(word => escapeExpressions(asText(word as Json)))
    this.#complain({
      path: spot.from,
      message: `'${source}' is not a command`,
      hint: 'a command is a list of words, the program first: ["npm", "test"]',
    })
    return ABSENT
  }

  #value(source: string, path: Path, scope: Scope): Made {
    const evaluated = this.#words.evaluate(source, scope)
    if (evaluated.ok) return evaluated.value
    const { message, hint } = evaluated
    this.#complain({ path, message, hint, within: { text: source, offset: 0 } })
    if (this.#words.exhausted) this.#halted = true
    return ABSENT
  }

  #origin(path: Path): Path {
    const where = this.#trace.find(path)
    return where !== null && 'path' in where ? where.path : ['plan']
  }

  #spend(nodes: number, characters: number, { from }: Spot): boolean {
    if (this.#halted) return false
    this.#nodes += nodes
    this.#characters += characters
    if (this.#nodes <= NODES_MAX && this.#characters <= DOCUMENT_MAX_BYTES) return true
    this.#complain({
      path: from,
      message: 'the plan grows too large here',
      hint: 'give shorter lists, or make several plans',
    })
    this.#halted = true
    return false
  }

  #complain(complaint: DocumentFault): void {
    this.faults.push(complaint)
    if (this.faults.length >= FAULTS_MAX) this.#halted = true
  }
}

function sizeOf(value: Json): number {
  return typeof value === 'string' ? value.length : JSON.stringify(value).length
}

export interface InstantiateOptions {
  /** The plan's name, instead of the one the template says, or its own. */
  readonly name?: string
  readonly check?: NonNullable<ParseOptions['check']>
}

export type Instantiated =
  | {
      readonly ok: true
      readonly definition: PlanDefinition
      readonly values: Values
      /** What was left out and why, and what the plan's own reader warns of. */
      readonly warnings: readonly Diagnostic[]
    }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly diagnostics: readonly Diagnostic[] }

export function instantiate(template: Template, given: JsonObject, options: InstantiateOptions = {}): Instantiated {
  const bound = bindParameters(template.parameters, given)
  if (!bound.ok) return { ok: false, problems: bound.problems, diagnostics: [] }
  const { values } = bound
  const trace = new Trace()
  const builder = new Builder(values, trace)
  const built = builder.plan(template.plan)
  if (built === null) {
    const diagnostics = tidy(builder.faults.map(template.document.place))
    return { ok: false, problems: [], diagnostics }
  }
  const plan = withProvenance(template, values, {
    planfold: 1,
    ...built,
    ...(options.name === undefined ? {} : { name: options.name }),
  })
  const parsed = parsePlan(template.text, {
    dialect: alreadyRead(plan, trace, builder.notes),
    fallbackName: template.name,
    check: options.check,
  })
  if (!parsed.ok) return { ok: false, problems: [], diagnostics: parsed.diagnostics }
  return { ok: true, definition: parsed.definition, values, warnings: parsed.warnings }
}

/** Where the plan comes from, for whoever asks later. */
function withProvenance(template: Template, values: Values, plan: JsonObject): JsonObject {
  const { name, version, hash } = template
  const extra = plan.extra
  const before = extra !== null && typeof extra === 'object' && !Array.isArray(extra) ? extra : {}
  const origin = { name, ...(version === null ? {} : { version }), hash, parameters: structuredClone(values) as Json }
  return { ...plan, extra: { ...before, template: origin } }
}

/** The door through which documents derived from another text are read. */
function alreadyRead(plan: JsonObject, trace: Trace, warnings: readonly DocumentFault[]): Dialect {
  return {
    name: 'template',
    about: 'a plan made of a template',
    recognises: () => false,
    read: () => ({ ok: true, plan, trace, warnings, sketch: [], ended: new Map(), underWay: new Set() }),
  }
}
