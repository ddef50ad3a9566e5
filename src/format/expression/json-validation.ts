// Validates JSON against a JSON Schema, for gates of the type `schema`. Supports the usual keywords of draft 2020-12 and refuses
// unknown ones by name, because ignoring a rule would accept what it forbids. `format` is an annotation, as the standard says.
// References cannot leave the schema, nothing is fetched, and the work is bounded.

import { isMap, orElse } from '../../domain/json.ts'
import { numberOf } from '../../domain/phrases.ts'
import { compilePattern, PatternError, Patterns } from './pattern.ts'

// The supported keywords: the form of their values, and the nested schemas.

type Schema = boolean | SchemaObject

interface SchemaObject {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly required?: readonly string[]
  readonly properties?: { readonly [key: string]: Schema }
  readonly patternProperties?: { readonly [pattern: string]: Schema }
  readonly additionalProperties?: Schema
  readonly propertyNames?: Schema
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly dependentRequired?: { readonly [key: string]: readonly string[] }
  readonly items?: Schema
  readonly prefixItems?: readonly Schema[]
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly contains?: Schema
  readonly minContains?: number
  readonly maxContains?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly not?: Schema
  readonly if?: Schema
  readonly then?: Schema
  readonly else?: Schema
}

type Check = (value: unknown) => string | null

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object']

const must =
  (holds: (value: unknown) => boolean, message: string): Check =>
  value =>
    holds(value) ? null : message

const any: Check = () => null
const count = must(value => Number.isInteger(value) && (value as number) >= 0, 'must be a whole number, 0 or more')
const amount = must(value => typeof value === 'number' && Number.isFinite(value), 'must be a number')
const flag = must(value => typeof value === 'boolean', 'must be true or false')
const list = must(value => Array.isArray(value) && value.length > 0, 'must be a list with something in it')
const texts = must(
  value => Array.isArray(value) && value.every(one => typeof one === 'string'),
  'must be a list of texts',
)
const map = must(isMap, 'must be an object')
const schema = must(value => typeof value === 'boolean' || isMap(value), 'must be a schema')

/** The check for each keyword's value. Nested schemas are checked when they are reached. */
const KNOWN = {
  $schema: any,
  $id: any,
  $comment: any,
  $defs: map,
  definitions: map,
  title: any,
  description: any,
  default: any,
  examples: any,
  deprecated: any,
  readOnly: any,
  writeOnly: any,
  format: any,
  $ref: must(
    value => typeof value === 'string' && /^#(?:\/|$)/.test(value),
    "must point into this schema: '#/$defs/name'",
  ),
  type: must(
    value => [value].flat().every(one => TYPES.includes(one as string)) && [value].flat().length > 0,
    `must be one of ${TYPES.join(', ')}, or a list of them`,
  ),
  enum: list,
  const: any,
  required: texts,
  properties: map,
  patternProperties: value =>
    map(value) ??
    Object.keys(value as object)
      .map(pattern)
      .find(fault => fault !== null) ??
    null,
  additionalProperties: schema,
  propertyNames: schema,
  minProperties: count,
  maxProperties: count,
  dependentRequired: must(
    value => isMap(value) && Object.values(value).every(one => texts(one) === null),
    'must be an object of lists of texts',
  ),
  items: schema,
  prefixItems: list,
  minItems: count,
  maxItems: count,
  uniqueItems: flag,
  contains: schema,
  minContains: count,
  maxContains: count,
  minLength: count,
  maxLength: count,
  pattern,
  minimum: amount,
  maximum: amount,
  exclusiveMinimum: amount,
  exclusiveMaximum: amount,
  multipleOf: must(value => typeof value === 'number' && value > 0, 'must be a number above 0'),
  allOf: list,
  anyOf: list,
  oneOf: list,
  not: schema,
  if: schema,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema; nobody awaits it.
  then: schema,
  else: schema,
} satisfies { readonly [keyword: string]: Check }

const ONE = ['additionalProperties', 'propertyNames', 'items', 'contains', 'not', 'if', 'then', 'else'] as const
const LISTS = ['prefixItems', 'allOf', 'anyOf', 'oneOf'] as const
const MAPS = ['$defs', 'definitions', 'properties', 'patternProperties'] as const

/** Only for a schema whose keywords have passed their checks. */
function children(
  object: { readonly [keyword: string]: unknown },
  at: string,
): readonly { readonly schema: unknown; readonly at: string }[] {
  const of = (keyword: string): object => (Object.hasOwn(object, keyword) ? (object[keyword] as object) : {})
  return [
    ...ONE.filter(keyword => Object.hasOwn(object, keyword)).map(keyword => ({
      schema: object[keyword],
      at: `${at}.${keyword}`,
    })),
    ...LISTS.flatMap(keyword =>
      Object.values(of(keyword)).map((one, index) => ({ schema: one, at: `${at}.${keyword}[${index}]` })),
    ),
    ...MAPS.flatMap(keyword =>
      Object.entries(of(keyword)).map(([key, one]) => ({ schema: one, at: `${at}.${keyword}.${key}` })),
    ),
  ]
}

/** Uses the patterns of expressions: linear time, no look-around, no back-references. */
function pattern(value: unknown): string | null {
  if (typeof value !== 'string') return 'must be a text'
  try {
    compilePattern(value)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** A violation and its place, such as `$.tasks[2].name`. For errors in the schema itself, the place begins with `schema`. */
export interface JsonFault {
  readonly at: string
  readonly message: string
}

const STEPS_MAX = 1_000_000
const DEPTH_MAX = 256
/** Units of the work of patterns that count as one step. */
const UNITS_PER_STEP = 4
/** For each character of a pattern that is compiled. */
const COMPILE_STEPS = 100
const FAULTS_MAX = 100

export function validateJson(
  document: unknown,
  schema: unknown,
  { stepsMax = STEPS_MAX }: { readonly stepsMax?: number } = {},
): readonly JsonFault[] {
  const wrong = faultsOfSchema(schema)
  if (wrong.length > 0) return wrong
  const validation = new Validation(schema as Schema, stepsMax)
  try {
    return validation.judge(document, schema as Schema, '$', 0).slice(0, FAULTS_MAX)
  } catch (error) {
    if (error instanceof Unbounded) return [{ at: '$', message: error.message }]
    throw error
  }
}

/** The limit on work or depth was hit: the result is unknown. */
class Unbounded extends Error {}

function faultsOfSchema(root: unknown): readonly JsonFault[] {
  const faults: JsonFault[] = []
  const open: { readonly schema: unknown; readonly at: string }[] = [{ schema: root, at: 'schema' }]
  for (let steps = 0; open.length > 0 && faults.length < FAULTS_MAX; steps++) {
    const { schema, at } = open.pop()!
    if (typeof schema === 'boolean') continue
    if (!isMap(schema)) {
      faults.push({ at, message: 'a schema is an object, true or false' })
      continue
    }
    steps += COMPILE_STEPS * patternLength(schema)
    if (steps > STEPS_MAX) return [{ at: 'schema', message: 'the schema is too large' }]
    for (const [keyword, value] of Object.entries(schema)) {
      const check = Object.hasOwn(KNOWN, keyword) ? KNOWN[keyword as keyof typeof KNOWN] : undefined
      if (check === undefined) faults.push({ at, message: `the keyword '${keyword}' is not known here` })
      else {
        const fault = check(value)
        if (fault !== null) faults.push({ at: `${at}.${keyword}`, message: fault })
      }
    }
    if (faults.length === 0) open.push(...children(schema, at))
  }
  return faults
}

function patternLength({ pattern, patternProperties }: { readonly [keyword: string]: unknown }): number {
  const keys = isMap(patternProperties) ? Object.keys(patternProperties) : []
  return keys.reduce((sum, key) => sum + key.length, typeof pattern === 'string' ? pattern.length : 0)
}

class Validation {
  readonly #root: Schema
  readonly #patterns = new Patterns(units => this.#spend(units / UNITS_PER_STEP))
  #left: number

  constructor(root: Schema, stepsMax: number) {
    this.#root = root
    this.#left = stepsMax
  }

  judge(value: unknown, schema: Schema, at: string, depth: number): readonly JsonFault[] {
    this.#spend(1)
    if (depth > DEPTH_MAX) throw new Unbounded(`document or schema are nested more than ${DEPTH_MAX} deep`)
    if (schema === true) return []
    if (schema === false) return [{ at, message: 'nothing may stand here' }]
    const own = [...this.#plain(value, schema, at), ...this.#combined(value, schema, at, depth)]
    if (typeof value === 'string') return [...own, ...this.#text(value, schema, at)]
    if (typeof value === 'number') return [...own, ...number(value, schema, at)]
    if (Array.isArray(value)) return [...own, ...this.#list(value, schema, at, depth)]
    return isMap(value) ? [...own, ...this.#object(value, schema, at, depth)] : own
  }

  #spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new Unbounded('there is too much to check')
  }

  *#plain(value: unknown, schema: SchemaObject, at: string): Generator<JsonFault> {
    const types = schema.type === undefined ? [] : [schema.type].flat()
    if (types.length > 0 && !types.some(type => isOfType(value, type)))
      yield { at, message: `is ${typeName(value)}, not ${types.join(' or ')}` }
    if (schema.enum !== undefined && !schema.enum.some(one => this.#isSame(one, value)))
      yield { at, message: `is none of ${shown(schema.enum)}` }
    if (Object.hasOwn(schema, 'const') && !this.#isSame(schema.const, value))
      yield { at, message: `is not ${shown(schema.const)}` }
  }

  *#combined(value: unknown, schema: SchemaObject, at: string, depth: number): Generator<JsonFault> {
    const holds = (one: Schema): boolean => this.judge(value, one, at, depth + 1).length === 0
    const { $ref, allOf = [], anyOf, oneOf, not, if: when, then: yes = true, else: no = true } = schema
    if ($ref !== undefined) {
      const target = resolve(this.#root, $ref)
      if (target === null) yield { at, message: `the schema has nothing at '${$ref}'` }
      else yield* this.judge(value, target, at, depth + 1)
    }
    for (const one of allOf) yield* this.judge(value, one, at, depth + 1)
    if (anyOf !== undefined && !anyOf.some(holds)) yield { at, message: `follows none of the ${anyOf.length} 'anyOf'` }
    if (oneOf !== undefined) {
      const count = oneOf.filter(holds).length
      if (count !== 1) yield { at, message: `follows ${count} of the ${oneOf.length} 'oneOf', not one` }
    }
    if (not !== undefined && holds(not)) yield { at, message: "follows what 'not' forbids" }
    if (when !== undefined) yield* this.judge(value, holds(when) ? yes : no, at, depth + 1)
  }

  *#text(value: string, { minLength, maxLength, pattern }: SchemaObject, at: string): Generator<JsonFault> {
    this.#spend(value.length / 16)
    const length = minLength === undefined && maxLength === undefined ? 0 : [...value].length
    if (minLength !== undefined && length < minLength)
      yield { at, message: `has ${numberOf(length, 'character')}, at least ${minLength} are needed` }
    if (maxLength !== undefined && length > maxLength)
      yield { at, message: `has ${numberOf(length, 'character')}, at most ${maxLength} are allowed` }
    if (pattern !== undefined && !this.#matches(pattern, value)) yield { at, message: `does not match '${pattern}'` }
  }

  *#list(value: readonly unknown[], schema: SchemaObject, at: string, depth: number): Generator<JsonFault> {
    const { items, prefixItems = [], minItems, maxItems, uniqueItems, contains, minContains = 1, maxContains } = schema
    if (minItems !== undefined && value.length < minItems)
      yield { at, message: `has ${numberOf(value.length, 'item')}, at least ${minItems} are needed` }
    if (maxItems !== undefined && value.length > maxItems)
      yield { at, message: `has ${numberOf(value.length, 'item')}, at most ${maxItems} are allowed` }
    for (const [index, item] of value.entries()) {
      const own = index < prefixItems.length ? prefixItems[index] : items
      if (own !== undefined) yield* this.judge(item, own, `${at}[${index}]`, depth + 1)
    }
    if (uniqueItems === true) {
      const seen = new Map<string, number>()
      for (const [index, item] of value.entries()) {
        const text = this.#canonical(item)
        const first = seen.get(text)
        if (first !== undefined) yield { at: `${at}[${index}]`, message: `is the same as item ${first}` }
        else seen.set(text, index)
      }
    }
    if (contains === undefined) return
    const count = value.filter(
      (item, index) => this.judge(item, contains, `${at}[${index}]`, depth + 1).length === 0,
    ).length
    if (count < minContains)
      yield { at, message: `has ${numberOf(count, 'item')} as 'contains' says, at least ${minContains} are needed` }
    if (maxContains !== undefined && count > maxContains)
      yield { at, message: `has ${numberOf(count, 'item')} as 'contains' says, at most ${maxContains} are allowed` }
  }

  *#object(
    value: { readonly [key: string]: unknown },
    schema: SchemaObject,
    at: string,
    depth: number,
  ): Generator<JsonFault> {
    const { required = [], properties = {}, patternProperties = {}, additionalProperties, propertyNames } = schema
    const { minProperties, maxProperties, dependentRequired = {} } = schema
    const keys = Object.keys(value)
    for (const key of required) if (!Object.hasOwn(value, key)) yield { at, message: `lacks '${key}'` }
    for (const [key, needed] of Object.entries(dependentRequired))
      if (Object.hasOwn(value, key))
        for (const other of needed)
          if (!Object.hasOwn(value, other)) yield { at, message: `has '${key}' and lacks '${other}'` }
    if (minProperties !== undefined && keys.length < minProperties)
      yield { at, message: `has ${numberOf(keys.length, 'key')}, at least ${minProperties} are needed` }
    if (maxProperties !== undefined && keys.length > maxProperties)
      yield { at, message: `has ${numberOf(keys.length, 'key')}, at most ${maxProperties} are allowed` }
    const patterns = Object.entries(patternProperties)
    for (const key of keys) {
      const place = /^[\w-]+$/.test(key) ? `${at}.${key}` : `${at}[${JSON.stringify(key)}]`
      if (propertyNames !== undefined) yield* this.judge(key, propertyNames, place, depth + 1)
      const rules = [
        ...(Object.hasOwn(properties, key) ? [properties[key]!] : []),
        ...patterns.filter(([pattern]) => this.#matches(pattern, key)).map(([, rule]) => rule),
      ]
      for (const rule of rules) yield* this.judge(value[key], rule, place, depth + 1)
      if (rules.length > 0 || additionalProperties === undefined) continue
      if (additionalProperties === false) yield { at: place, message: 'is not asked for' }
      else yield* this.judge(value[key], additionalProperties, place, depth + 1)
    }
  }

  #matches(source: string, text: string): boolean {
    try {
      return this.#patterns.isIn(text, source)
    } catch (error) {
      if (error instanceof PatternError)
        throw new Unbounded(`'${source}' cannot be used as a pattern: ${error.message}`)
      throw error
    }
  }

  #isSame(a: unknown, b: unknown): boolean {
    return typeof a !== 'object' && typeof b !== 'object' ? a === b : this.#canonical(a) === this.#canonical(b)
  }

  /** Serialises with sorted keys. */
  #canonical(value: unknown): string {
    return JSON.stringify(value, (_, one: unknown) => {
      this.#spend(1)
      return isMap(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))) : one
    })
  }
}

function* number(value: number, schema: SchemaObject, at: string): Generator<JsonFault> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (minimum !== undefined && value < minimum) yield { at, message: `is ${value}, less than ${minimum}` }
  if (maximum !== undefined && value > maximum) yield { at, message: `is ${value}, more than ${maximum}` }
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    yield { at, message: `is ${value}, not more than ${exclusiveMinimum}` }
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
    yield { at, message: `is ${value}, not less than ${exclusiveMaximum}` }
  // 0.3 is a multiple of 0.1, although their floating-point quotient is not an integer.
  const times = multipleOf === undefined ? 0 : value / multipleOf
  if (Math.abs(times - Math.round(times)) > Math.abs(times) * 1e-12)
    yield { at, message: `is ${value}, no multiple of ${multipleOf}` }
}

/** Resolves `#` or `#` with a JSON pointer. */
function resolve(root: Schema, ref: string): Schema | null {
  let at: unknown = root
  for (const step of ref.slice(1).split('/').slice(1)) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if ((!isMap(at) && !Array.isArray(at)) || !Object.hasOwn(at, key)) return null
    at = (at as { readonly [key: string]: unknown })[key]
  }
  return typeof at === 'boolean' || isMap(at) ? (at as Schema) : null
}

const decoded = (text: string): string => orElse(() => decodeURIComponent(text), text)

function isOfType(value: unknown, type: string): boolean {
  if (type === 'integer') return typeof value === 'number' && Number.isInteger(value)
  return typeName(value) === type
}

const typeName = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : (typeof value as string)

const SHOWN_MAX = 80

function shown(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text
}
