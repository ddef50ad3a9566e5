// The parameters of a template: what may be given, of which type, within which bounds. A value is checked before anything is
// made of it, so whatever reaches the plan is a scalar or a list of scalars, never a structure of its own.

import type { Json, JsonObject } from '../../domain/json.ts'
import { choiceHint, numberOf, suggest } from '../../domain/phrases.ts'
import { clip } from '../../format/text/diagnostic.ts'

import { printDuration, type Read, readDuration } from '../../format/text/units.ts'

export const SCALAR_TYPES = ['string', 'text', 'number', 'integer', 'boolean', 'enum', 'path', 'duration'] as const
export type ScalarType = (typeof SCALAR_TYPES)[number]
export const PARAMETER_TYPES = [...SCALAR_TYPES, 'list'] as const
export type ParameterType = (typeof PARAMETER_TYPES)[number]

export interface Parameter {
  readonly name: string
  readonly type: ParameterType
  readonly about: string
  readonly required: boolean
  /** What stands for it when it is not given; null is "nothing". */
  readonly default: Json
  /** The words of an enum. */
  readonly values?: readonly Json[]
  /** What each item of a list is. */
  readonly of?: Exclude<ScalarType, 'enum'>
  /** Bounds of a number or a duration, of the length of a text, of the number of items. */
  readonly min?: number
  readonly max?: number
  readonly example?: Json
}

/** Values by parameter; every declared one is there. */
export type Values = JsonObject

/** Why the values cannot be used, one for each parameter that is missing, wrong or unknown. */
export interface Problem {
  readonly type: 'missing' | 'wrong' | 'unknown'
  readonly parameter: string
  readonly message: string
  readonly hint: string
}

export type Bound =
  | { readonly ok: true; readonly values: Values }
  | { readonly ok: false; readonly problems: readonly Problem[] }

const STRING_MAX = 1_000
const TEXT_MAX = 100_000
const ITEMS_MAX = 1_000

/** All values, given or by default; or everything that is wrong with them, at once. */
export function bindParameters(parameters: readonly Parameter[], given: JsonObject): Bound {
  const problems: Problem[] = []
  const values: [string, Json][] = []
  const known = parameters.map(({ name }) => name)
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue
    const near = suggest(name, known)
    const hint = near === null ? `there is ${known.join(', ') || 'no parameter at all'}` : `did you mean '${near}'?`
    problems.push({ type: 'unknown', parameter: name, message: `there is no parameter '${clip(name)}'`, hint })
  }
  for (const parameter of parameters) {
    const { name } = parameter
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (value === undefined || value === null) {
      if (parameter.required)
        problems.push({
          type: 'missing',
          parameter: name,
          message: `'${name}' is missing (${describeType(parameter)}): ${parameter.about}`,
          hint: `for instance ${JSON.stringify(exampleOf(parameter))}`,
        })
      values.push([name, copy(parameter.default)])
      continue
    }
    const read = readValue(parameter, value)
    if (read.ok) values.push([name, read.value])
    else problems.push({ type: 'wrong', parameter: name, message: `'${name}': ${read.message}`, hint: read.hint })
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, values: Object.fromEntries(values) }
}

/** The value when it is one this parameter may have; a copy, so that nobody else holds it. */
export function readValue(
  parameter: Omit<Parameter, 'about' | 'required' | 'default' | 'name'>,
  value: Json,
): Read<Json> {
  if (parameter.type !== 'list') return readScalar(parameter.type, parameter, value)
  const { of = 'string', min = 0, max = ITEMS_MAX } = parameter
  if (!Array.isArray(value)) return no(`${show(value)} is not a list`, 'give a list, for instance ["a", "b"]')
  const items = value as readonly Json[]
  if (items.length < min || items.length > max)
    return no(`a list of ${numberOf(items.length, 'item')}`, `give ${between(min, max, 'items')}`)
  const read: Json[] = []
  for (const [index, item] of items.entries()) {
    const one = readScalar(of, {}, item)
    if (!one.ok) return no(`item ${index + 1}: ${one.message}`, one.hint)
    read.push(one.value)
  }
  return { ok: true, value: read }
}

function readScalar(
  type: ScalarType,
  { min, max, values }: Pick<Parameter, 'min' | 'max' | 'values'>,
  value: Json,
): Read<Json> {
  switch (type) {
    case 'string':
    case 'text': {
      if (typeof value !== 'string') return no(`${show(value)} is not text`, 'put it in quotes')
      const odd = oddText(value)
      if (odd !== null) return odd
      if (type === 'string' && /[\n\r\u2028\u2029]/.test(value))
        return no(`${show(value)} has several lines`, 'give one line; a parameter of type text takes more')
      const [least, most] = [min ?? 1, max ?? (type === 'string' ? STRING_MAX : TEXT_MAX)]
      if (value.length < least || value.length > most)
        return no(`a text of ${numberOf(value.length, 'character')}`, `give ${between(least, most, 'characters')}`)
      return { ok: true, value }
    }
    case 'number':
    case 'integer': {
      const fits =
        typeof value === 'number' && Number.isFinite(value) && (type === 'number' || Number.isSafeInteger(value))
      if (!fits)
        return no(
          `${show(value)} is not ${type === 'number' ? 'a number' : 'a whole number'}`,
          'give one, for instance 3',
        )
      if (value < (min ?? -Infinity) || value > (max ?? Infinity))
        return no(`${value} is out of bounds`, `give ${between(min, max, '')}`)
      return { ok: true, value: value === 0 ? 0 : value }
    }
    case 'boolean':
      return typeof value === 'boolean'
        ? { ok: true, value }
        : no(`${show(value)} is not true or false`, 'give true or false')
    case 'enum': {
      const words = values ?? []
      if (words.includes(value)) return { ok: true, value }
      return no(`unknown value ${show(value)}`, choiceHint(String(value), words.map(String)))
    }
    case 'path':
      return readPath(value)
    case 'duration': {
      if (typeof value !== 'string')
        return no(`${show(value)} is not a duration`, 'give a number and a unit: 250ms, 5s, 30m, 2h or 1d')
      const read = readDuration(value)
      if (!read.ok) return read
      if (read.value < (min ?? 0) || read.value > (max ?? Infinity))
        return no(`${show(value)} is out of bounds`, `give ${between(min, max, 'ms')}`)
      return { ok: true, value }
    }
    default:
      return type satisfies never
  }
}

/** A place inside the workspace and nothing else: no pattern that widens a scope, no option of a command. */
function readPath(value: Json): Read<Json> {
  const hint = 'give a path relative to the workspace, with forward slashes and without * ? [ ] { } or ..'
  if (typeof value !== 'string' || value === '') return no(`${show(value)} is not a path`, hint)
  const odd = oddText(value)
  if (odd !== null) return odd
  const parts = value.split('/')
  if (
    value.length > STRING_MAX ||
    /^[/~!-]|^[a-z][a-z0-9+.-]*:|[\\*?[\]{}\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/iu.test(value) ||
    parts.some(part => part === '' || part === '..')
  )
    return no(`${show(value)} is not a path inside the workspace`, hint)
  return { ok: true, value }
}

/** No document can hold these. */
function oddText(text: string): (Read<never> & { ok: false }) | null {
  if (text.includes('\0')) return no('the text contains a NUL character', 'remove it')
  if (/\p{Surrogate}/u.test(text)) return no('the text contains half a character (a lone surrogate)', 'remove it')
  return null
}

/** `list of path`, `one of fast, slow`. */
export function describeType({ type, of, values, min, max }: Parameter): string {
  const name =
    type === 'list' ? `list of ${of ?? 'string'}` : type === 'enum' ? `one of ${(values ?? []).join(', ')}` : type
  if (min === undefined && max === undefined) return name
  return `${name}, ${between(min, max, type === 'list' ? 'items' : type === 'string' || type === 'text' ? 'characters' : type === 'duration' ? 'ms' : '')}`
}

/** A value it may have, for examples. */
export function exampleOf(parameter: Parameter): Json {
  if (parameter.example !== undefined) return parameter.example
  if (parameter.default !== null) return parameter.default
  return sample(parameter.type, parameter)
}

function sample(type: ParameterType, { values, of, min }: Parameter): Json {
  const samples: { readonly [type in ParameterType]: Json } = {
    string: 'some words',
    text: 'some words',
    number: min ?? 1,
    integer: min ?? 1,
    boolean: true,
    enum: values?.[0] ?? 'word',
    path: 'src',
    duration: '30m',
    list: [],
  }
  if (type !== 'list') return samples[type]
  return Array.from({ length: Math.max(1, min ?? 1) }, (_, at) => {
    const item = samples[of ?? 'string']
    return typeof item === 'string' && of !== 'duration' && at > 0 ? `${item} ${at + 1}` : item
  })
}

function between(min: number | undefined, max: number | undefined, unit: string): string {
  const show = (bound: number): string => (unit === 'ms' ? printDuration(bound) : String(bound))
  const words = unit === '' || unit === 'ms' ? '' : ` ${unit}`
  if (min === undefined) return `at most ${show(max ?? 0)}${words}`
  if (max === undefined) return `at least ${show(min)}${words}`
  return min === max ? `${show(min)}${words}` : `${show(min)} to ${show(max)}${words}`
}

function no(message: string, hint: string): { readonly ok: false; readonly message: string; readonly hint: string } {
  return { ok: false, message, hint }
}

function show(value: Json): string {
  return clip(JSON.stringify(value))
}

function copy(value: Json): Json {
  return value === null ? null : (structuredClone(value) as Json)
}
