// The keywords of a JSON Schema that are known here: what each of them must look like, and where schemas stand in a schema.

import { compilePattern } from './expression/pattern-reader.ts'

export type Schema = boolean | SchemaObject

export interface SchemaObject {
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

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
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
const map = must(isObject, 'must be an object')
const schema = must(value => typeof value === 'boolean' || isObject(value), 'must be a schema')

/** Every keyword with what it must look like. Schemas inside are looked at when their turn comes. */
export const KNOWN = {
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
    value => isObject(value) && Object.values(value).every(one => texts(one) === null),
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

/** The schemas that stand in a schema whose keywords were found to be well-formed. */
export function children(
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

/** Patterns are those of expressions: matched in linear time, without look-around and back-references. */
function pattern(value: unknown): string | null {
  if (typeof value !== 'string') return 'must be a text'
  try {
    compilePattern(value)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
