// A template document: `planfold-template: 1`, its parameters, and under `plan:` a plan in which strings may hold
// `<< params.x >>` and tasks and list items may stand under `if:` and `each:`. Reading one finds everything that can be wrong
// before any value is known. What is read is frozen: no two plans made of it can share anything that changes.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { compile, VARIABLES } from '../../format/expression/expression.ts'
import { canonicalJson } from '../../format/plan/hash.ts'
import * as value from '../../format/plan/schema-values.ts'
import { type Diagnostic, type DocumentFault, type Path, tidy } from '../../format/text/diagnostic.ts'
import { type Document, readDocument } from '../../format/text/document.ts'
import { complaintsOf } from '../../format/text/schema-messages.ts'
import { readDuration } from '../../format/text/units.ts'
import { controlOf, isControlled } from './control.ts'
import { PARAMETER_TYPES, type Parameter, readValue, SCALAR_TYPES } from './parameters.ts'
import { OPEN, split, substitutionIn } from './substitution.ts'
import { compileWords, PARAMS, parametersOf } from './template-expressions.ts'
import { asString, inside, itemPlaces, type TextKind } from './text-kind.ts'

// What can be wrong with the plan of a template before any value is known: substitutions that cannot be read, names nobody
// declared, conditions and loops in the wrong form, and parameters where they would become code.

const LOOP_NAME = /^[a-z_][a-z0-9_]{0,49}$/i
const FAULTS_MAX = 100

interface Reviewed {
  readonly faults: readonly DocumentFault[]
  /** The parameters that are named somewhere. */
  readonly used: ReadonlySet<string>
}

function reviewPlan(plan: JsonObject, parameters: readonly Parameter[]): Reviewed {
  const reviewer = new Reviewer(parameters)
  reviewer.review(plan, ['plan'], 'plan', [])
  return reviewer
}

class Reviewer implements Reviewed {
  readonly faults: DocumentFault[] = []
  readonly used = new Set<string>()
  readonly #parameters: readonly Parameter[]
  readonly #known: readonly string[]

  constructor(parameters: readonly Parameter[]) {
    this.#parameters = parameters
    this.#known = parameters.map(({ name }) => name)
  }

  /** `names` are those of the loops around. */
  review(value: Json, path: Path, place: TextKind, names: readonly string[]): void {
    if (this.faults.length >= FAULTS_MAX) return
    if (typeof value === 'string') this.#string(value, path, place, names)
    else if (Array.isArray(value)) this.#list(value, path, place, names)
    else if (isMap(value)) this.#map(value, path, place, names)
  }

  #map(map: JsonObject, path: Path, place: TextKind, names: readonly string[]): void {
    for (const [key, value] of Object.entries(map)) {
      if (split(key).ok && key.includes(OPEN))
        this.#fault(
          [...path, key],
          `the key '${key}' holds a substitution`,
          'a parameter is a value, never a key',
          true,
        )
      this.review(value, [...path, key], inside(place, key), names)
    }
  }

  #list(list: readonly Json[], path: Path, place: TextKind, names: readonly string[]): void {
    const placeOf = itemPlaces(place, list)
    for (const [index, item] of list.entries()) this.#item(item, [...path, index], placeOf(index), names)
  }

  #item(item: Json, path: Path, place: TextKind, names: readonly string[]): void {
    if (isControlled(item)) this.#controlled(item, path, place, names)
    else this.review(item, path, place, names)
  }

  #controlled(item: JsonObject, path: Path, place: TextKind, names: readonly string[]): void {
    const control = controlOf(item)
    let within = names
    if (control.each !== undefined) {
      this.#expression(control.each, [...path, 'each'], names)
      const name = control.as
      const taken = [PARAMS, ...VARIABLES, ...names]
      if (typeof name !== 'string' || !LOOP_NAME.test(name) || !compileWords(name, [name], this.#known).ok)
        this.#fault(
          [...path, 'as'],
          "'each' needs a name for its items",
          'write one word beside it, for instance as: file',
        )
      else if (taken.includes(name) || taken.includes(`${name}_number`))
        this.#fault([...path, 'as'], `'${name}' already means something here`, 'choose another word')
      else within = [...names, name, `${name}_number`]
    } else if (Object.hasOwn(item, 'as'))
      this.#fault([...path, 'as'], "'as' only makes sense beside 'each'", "add 'each:', or remove 'as:'", true)
    if (control.if !== undefined && typeof control.if !== 'boolean')
      this.#expression(control.if, [...path, 'if'], within)
    for (const { value, path: inner, inList } of control.values) {
      if (inList) this.#item(value, [...path, ...inner], place, within)
      else this.review(value, [...path, ...inner], place, within)
    }
  }

  /** The bare expression of an `if` or an `each`. */
  #expression(source: Json, path: Path, names: readonly string[]): void {
    const key = String(path.at(-1))
    if (typeof source !== 'string') {
      this.#fault(
        path,
        `'${key}' wants an expression`,
        `write it as text, for instance ${key}: params.${key === 'if' ? 'with_tests' : 'files'}`,
      )
      return
    }
    if (source.includes(OPEN)) {
      this.#fault(path, `'${key}' is an expression already`, 'write it without << >>')
      return
    }
    this.#compile(source, source, 0, path, names)
  }

  #string(text: string, path: Path, place: TextKind, names: readonly string[]): void {
    if (!text.includes(OPEN)) return
    const as = asString(place)
    if (as === 'script' && !this.#isCommand(text)) {
      const found = substitutionIn(text, [PARAMS, ...names])
      if (found !== null)
        this.faults.push({
          path,
          message: `${found} would be spliced into a script`,
          hint: ENVIRONMENT,
          within: { text: found, offset: 0 },
        })
      return
    }
    const pieces = split(text)
    if (!pieces.ok) {
      const { message, hint, position } = pieces
      this.faults.push({ path, message, hint, within: { text: text.slice(position).split('\n')[0]!, offset: 0 } })
      return
    }
    for (const piece of pieces.pieces)
      if (piece.type === 'value') this.#compile(piece.source, piece.source, 0, path, names)
  }

  /** A command may be a parameter as a whole, when that is a list: then it is argv, and no shell reads it. */
  #isCommand(text: string): boolean {
    const name = /^<<\s*params\.(\w+)\s*>>$/.exec(text)?.[1]
    return this.#parameters.some(parameter => parameter.name === name && parameter.type === 'list')
  }

  #compile(source: string, within: string, offset: number, path: Path, names: readonly string[]): void {
    const compilation = compileWords(source, names, this.#known)
    if (compilation.ok) {
      for (const { name } of parametersOf(compilation.compiled.ast)) this.used.add(name)
      return
    }
    const { message, hint, position } = compilation
    this.faults.push({
      path,
      message,
      hint,
      within: { text: within, offset: offset + position },
    })
  }

  #fault(path: Path, message: string, hint: string, atKey = false): void {
    this.faults.push({ path, message, hint, atKey })
  }
}

const ENVIRONMENT =
  'hand it over beside the script: env: { VALUE: << params.x >> } and "$VALUE" in the script, or write the command as a list'

export interface Template {
  readonly name: string
  readonly title: string | null
  readonly about: string | null
  readonly version: string | null
  readonly parameters: readonly Parameter[]
  /** What a plan is made of; frozen through and through. */
  readonly plan: JsonObject
  /** SHA-256 of the whole document, whatever the order of its keys. */
  readonly hash: string
  readonly text: string
  readonly document: Document
  readonly warnings: readonly Diagnostic[]
}

export type ReadTemplate =
  | { readonly ok: true; readonly template: Template }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?$/
const PARAMETER_NAME = /^[a-z_][a-z0-9_]{0,49}$/i

/** May a template be called so? Only then does it become part of a path. */
export const isTemplateName = (name: string): boolean => NAME.test(name)

const bound = z.union([z.number(), value.line])
const parameter = z.strictObject({
  type: z.enum(PARAMETER_TYPES).optional(),
  about: value.line,
  required: z.boolean().optional(),
  default: value.json.optional(),
  values: z
    .array(z.union([value.line, z.number()]))
    .min(1)
    .optional(),
  of: z.enum(SCALAR_TYPES).exclude(['enum']).optional(),
  min: bound.optional(),
  max: bound.optional(),
  example: value.json.optional(),
})

const template = z.strictObject({
  'planfold-template': z.literal(1),
  name: z.string().regex(NAME),
  title: value.line.optional(),
  about: value.text.optional(),
  version: z.union([value.line, z.number()]).optional(),
  parameters: z.record(z.string().regex(PARAMETER_NAME), parameter).optional(),
  plan: z.record(z.string(), z.unknown()),
})

/** Whatever the text holds, this answers with a value. */
export function readTemplate(text: string): ReadTemplate {
  const read = readDocument(text)
  if (!read.ok) return { ok: false, diagnostics: tidy(read.diagnostics) }
  const { document } = read
  const refuse = (complaints: readonly DocumentFault[]): ReadTemplate => ({
    ok: false,
    diagnostics: tidy(complaints.slice(0, 100).map(document.place)),
  })
  if (!isTemplateDocument(document.value)) return refuse([NO_TEMPLATE])
  const shaped = template.safeParse(document.value)
  if (!shaped.success) return refuse(complaintsOf(template, shaped.error, document))
  const { data } = shaped
  const made = Object.entries(data.parameters ?? {}).map(([name, said]) => declare(name, said))
  const parameters = made.map(({ parameter }) => parameter)
  const plan = frozen((document.value as JsonObject).plan as JsonObject)
  const { faults, used } = reviewPlan(plan, parameters)
  const complaints = [...made.flatMap(({ faults }) => faults), ...faults]
  if (complaints.length > 0) return refuse(complaints)
  const unused = parameters
    .filter(({ name }) => !used.has(name))
    .map(
      ({ name }): DocumentFault => ({
        severity: 'warning',
        path: ['parameters', name],
        atKey: true,
        message: `the parameter '${name}' is never used`,
        hint: `write << params.${name} >> where it belongs, or remove it`,
      }),
    )
  return {
    ok: true,
    template: {
      name: data.name,
      title: data.title ?? null,
      about: data.about ?? null,
      version: data.version === undefined ? null : String(data.version),
      parameters,
      plan,
      hash: createHash('sha256').update(canonicalJson(document.value)).digest('hex'),
      text,
      document,
      warnings: tidy(unused.map(document.place)),
    },
  }
}

/** Does it say of itself that it is a template? */
export function isTemplateDocument(value: Json | undefined): boolean {
  return (
    value !== null && typeof value === 'object' && !Array.isArray(value) && Object.hasOwn(value, 'planfold-template')
  )
}

const NO_TEMPLATE: DocumentFault = {
  path: [],
  message: 'this is not a template',
  hint: "begin with 'planfold-template: 1', a 'name', the 'parameters' and the 'plan'",
}

type Said = z.output<typeof parameter>

function declare(
  name: string,
  said: Said,
): { readonly parameter: Parameter; readonly faults: readonly DocumentFault[] } {
  const faults: DocumentFault[] = []
  const wrong = (key: string | null, message: string, hint: string): void => {
    faults.push({ path: ['parameters', name, ...(key === null ? [] : [key])], atKey: key === null, message, hint })
  }
  const { type = 'string', required = false } = said
  const limit = (key: 'min' | 'max'): number | undefined => {
    const given = said[key]
    if (given === undefined) return undefined
    if (type === 'boolean' || type === 'enum' || type === 'path')
      wrong(key, `a parameter of type ${type} has no '${key}'`, 'remove it')
    if (typeof given === 'number') return given
    const read = type === 'duration' ? readDuration(given) : null
    if (read?.ok === true) return read.value
    wrong(key, `'${given}' is not a valid limit for a ${type}`, read?.hint ?? 'write a number')
    return undefined
  }
  const [min, max] = [limit('min'), limit('max')]
  if (min !== undefined && max !== undefined && min > max) wrong('min', `'min' is above 'max'`, 'swap them')
  if (!compile(`params.${name}`, ['params']).ok || name === 'constructor' || name === 'prototype')
    wrong(null, `'${name}' cannot be the name of a parameter`, 'choose another word')
  if ((type === 'enum') !== (said.values !== undefined))
    wrong(
      null,
      type === 'enum' ? "an enum needs 'values'" : `'values' belong to an enum, not to a ${type}`,
      'write type: enum and values: [a, b]',
    )
  if (said.of !== undefined && type !== 'list') wrong('of', "'of' belongs to a list", 'write type: list, or remove it')
  if (required && said.default !== undefined)
    wrong('default', 'a required parameter has no default', "remove 'required' or 'default'")
  const parameter: Parameter = {
    name,
    type,
    about: said.about,
    required,
    default: said.default === undefined ? null : frozen(said.default),
    values: said.values,
    of: said.of,
    min,
    max,
    example: said.example === undefined ? undefined : frozen(said.example),
  }
  for (const key of ['default', 'example'] as const) {
    const given = said[key]
    const read = given === undefined || faults.length > 0 ? null : readValue(parameter, given)
    if (read?.ok === false) wrong(key, `the ${key} cannot be: ${read.message}`, read.hint)
  }
  return { parameter, faults }
}

function frozen<T extends Json>(value: T): T {
  if (value !== null && typeof value === 'object') {
    for (const item of Object.values(value)) frozen(item as Json)
    Object.freeze(value)
  }
  return value
}
