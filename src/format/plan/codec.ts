// Codecs for the plan document: schemas that convert a document to the domain's types and back. Reading validates. Printing does
// not: a definition may come from an earlier release that accepted more, and must still be printable.

import { z } from 'zod'
import type { Json } from '../../domain/json.ts'

export function codec<D, V>(schema: z.ZodType<D>, read: (written: D) => V, print: (value: V) => unknown): z.ZodType<V> {
  return z.codec(schema, z.any(), { decode: read, encode: print as (value: unknown) => D }) as z.ZodType<V>
}

/**
 * A map in the document that becomes `V`. `names`: keys that differ from the field name. `always`: fields that the document does
 * not contain. `last`: keys that are printed after the others.
 */
export const record =
  <V extends object>() =>
  <const N extends Names<V>, const A extends Partial<V> = object>(
    names: N,
    keys: Keys<Omit<V, keyof A>, N>,
    { always, last = [] }: { readonly always?: A; readonly last?: readonly string[] } = {},
  ): z.ZodType<V> => {
    const fields = new Map(Object.entries(names).map(([field, key]) => [key as string, field]))
    const unsaid = Object.keys(always ?? {})
    return codec(
      printedLast(z.strictObject(keys as unknown as { readonly [key: string]: z.ZodType }), last),
      written => ({ ...always, ...renamed(written, key => fields.get(key) ?? key) }) as V,
      value =>
        renamed(value, field =>
          unsaid.includes(field) ? null : ((names as { readonly [field: string]: string | undefined })[field] ?? field),
        ),
    )
  }

type Names<V> = { readonly [K in keyof V]?: string }
type Keys<V, N> = {
  readonly [K in keyof V as K extends keyof N ? N[K] & string : K]-?: z.ZodType<V[K] | undefined>
}

function renamed(map: object, nameOf: (key: string) => string | null): object {
  const made: { [key: string]: unknown } = {}
  for (const [key, value] of Object.entries(map)) {
    const name = value === undefined ? null : nameOf(key)
    if (name !== null) made[name] = value
  }
  return made
}

/** A union that the domain discriminates by the field `by`. `short`: abbreviated forms in the document. */
export function variants<V extends { readonly [K in B]: string }, B extends string>(
  by: B,
  forms: { readonly [T in V[B]]: z.ZodType<Extract<V, { readonly [K in B]: T }>> },
  ...short: readonly z.ZodType<V>[]
): z.ZodType<V> {
  const union = z.union([...short, ...Object.values<z.ZodType>(forms)]) as z.ZodType<V>
  const formOf = (value: V): z.ZodType | undefined => forms[value[by] as V[B]]
  known.set(union._zod.def, (value: never) => {
    const form = formOf(value)
    return form === undefined ? value : printerOf(form)(value)
  })
  return union
}

/** A value stored as written; `domain/actions` interprets it when needed. */
export function asWritten(schema: z.ZodType): z.ZodType<NonNullable<Json>> {
  known.set(schema._zod.def, AS_IS)
  return schema as z.ZodType<NonNullable<Json>>
}

/** A map printed in the key order that its codec returns. */
export function asOrdered<S extends z.ZodObject>(schema: S): S {
  orders.set(schema._zod.def, null)
  return schema
}

export function printedLast<S extends z.ZodObject>(schema: S, last: readonly string[]): S {
  if (last.length > 0)
    orders.set(schema._zod.def, [...Object.keys(schema.shape).filter(key => !last.includes(key)), ...last])
  return schema
}

/** An optional key. `about`: description and examples for editors and hints. */
export function optional<T>(
  schema: z.ZodType<T>,
  about: string | { readonly description?: string; readonly examples?: unknown[] },
): z.ZodOptional<z.ZodType<T>> {
  return schema.optional().meta(typeof about === 'string' ? { description: about } : about)
}

/** True or absent. */
export const flag = z.boolean().transform(written => written || undefined) as z.ZodType<true | undefined>

/** Drops undefined keys. */
export function sparse<T>(value: Unsparse<T>): T {
  return renamed(value as object, key => key) as T
}

/** The same type with `undefined` allowed for optional keys. */
type Unsparse<T> = T extends unknown
  ? { [K in keyof T as object extends Pick<T, K> ? never : K]: T[K] } & {
      [K in keyof T as object extends Pick<T, K> ? K : never]?: T[K] | undefined
    }
  : never

// Prints a value by the codecs of its schema, from the outside in. One-way transforms leave a value that can be written as it is.

type Print = (value: never) => Json
const AS_IS: Print = value => value
/** Keyed by schema definition, because copies with other descriptions share it. */
const known = new WeakMap<object, Print>()
/** Key orders that differ from the schema's; null: the order of the value. */
const orders = new WeakMap<object, readonly string[] | null>()

export const printer =
  <V>(schema: z.ZodType<V>): ((value: V) => Json) =>
  value =>
    printerOf(schema)(value as never)

function printerOf(schema: z.core.$ZodType): Print {
  const { def } = schema._zod
  const found = known.get(def)
  if (found !== undefined) return found
  const made = make(schema)
  known.set(def, made)
  return made
}

function make(schema: z.core.$ZodType): Print {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'optional':
      return printerOf(def.innerType)
    // Recursive schemas are resolved on use.
    case 'lazy':
      return (value: never) => printerOf(def.getter())(value)
    case 'pipe': {
      const inner = printerOf(def.in)
      const back = backOf(def)
      return back === undefined ? inner : value => inner(back(value))
    }
    case 'array':
      return each(def.element, print => (list: readonly never[]) => list.map(print))
    case 'record':
      return each(
        def.valueType,
        print => (map: Values) =>
          mapped(
            Object.keys(map).map(key => [key, print]),
            map,
          ),
      )
    case 'object': {
      const order = orders.get(def)
      const prints = (order ?? Object.keys(def.shape)).map(key => [key, printerOf(def.shape[key]!)] as const)
      if (order === undefined && prints.every(([, print]) => print === AS_IS)) return (map: Values) => sparse(map)
      if (order !== null) return (map: Values) => mapped(prints, map)
      const known = new Map(prints)
      return (map: Values) =>
        mapped(
          Object.keys(map).map(key => [key, known.get(key)!]),
          map,
        )
    }
    case 'union': {
      const forms = def.options.map(form => [form, printerOf(form)] as const)
      if (forms.every(([, print]) => print === AS_IS)) return AS_IS
      return value => (forms.find(([form]) => fits(form, value))?.[1] ?? AS_IS)(value)
    }
    default:
      return AS_IS
  }
}

const backOf = (def: z.core.$ZodPipeDef): ((value: unknown) => never) | undefined =>
  (def as z.core.$ZodCodecDef).reverseTransform as ((value: unknown) => never) | undefined

const each = (inner: z.core.$ZodType, print: (one: Print) => Print): Print => {
  const one = printerOf(inner)
  return one === AS_IS ? AS_IS : print(one)
}

type Values = { readonly [key: string]: never }

function mapped(prints: readonly (readonly [key: string, print: Print])[], map: Values): Json {
  const made: { [key: string]: Json } = {}
  for (const [key, print] of prints) {
    const value = map[key]
    if (value !== undefined) made[key] = print(value)
  }
  return made
}

/** Does this variant fit the value? A shallow check. */
function fits(schema: z.core.$ZodType, value: unknown): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === def.type
    case 'literal':
      return (def.values as readonly unknown[]).includes(value)
    case 'array':
      return Array.isArray(value)
    case 'union':
      return def.options.some(form => fits(form, value))
    case 'pipe':
      return fits(def.in, backOf(def)?.(value) ?? value)
    case 'object':
      if (value === null || typeof value !== 'object' || Array.isArray(value)) return false
      return (
        Object.keys(value).every(key => Object.hasOwn(def.shape, key)) &&
        Object.entries(def.shape).every(
          ([key, member]) => member._zod.def.type === 'optional' || Object.hasOwn(value, key),
        )
      )
    default:
      return true
  }
}
