// JSON values: their type, equality, and size as text. And values in general: some fields of one, a list of words, a look that may fail.

import { DEPTH_MAX } from './limits.ts'

// Equality regardless of the order of keys; undefined keys count as absent. So a rewritten but equal definition is no change.

export function same(a: unknown, b: unknown): boolean {
  // Most values have the same key order, which is quick to compare.
  return a === b || JSON.stringify(a) === JSON.stringify(b) || stableText(a) === stableText(b)
}

/** Equal values have equal text. Not the canonical form for hashes, which belongs to the format. */
export function stableText(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(stableText).join(',')}]`
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${stableText(item)}`)
  return `{${members.join(',')}}`
}

// Plain JSON: the only values that are stored, sent or hashed.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }

export const isMap = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

export const mapOf = (value: unknown): JsonObject => (isMap(value) ? value : {})

/** Without the keys that are undefined. */
export function defined<T extends object>(record: T): { readonly [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as never
}

/** Only these fields. */
export const pick = <T, K extends keyof T>(from: T, ...keys: readonly K[]): { readonly [key in K]: T[key] } =>
  Object.fromEntries(keys.map(key => [key, from[key]])) as never

export function mapValues<T, U>(record: { readonly [key: string]: T }, change: (value: T) => U): { [key: string]: U } {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}

// The size of a value as JSON in UTF-8, without recursion beyond a safe depth.

/** Infinity for values nested deeper than `DEPTH_MAX`. */
export function jsonBytes(value: Json): number {
  return isTooDeep(value) ? Number.POSITIVE_INFINITY : utf8Bytes(JSON.stringify(value))
}

function isTooDeep(value: Json): boolean {
  let level: readonly Json[] = [value]
  for (let depth = 0; depth <= DEPTH_MAX; depth++) {
    level = level.flatMap(one => (one !== null && typeof one === 'object' ? (Object.values(one) as Json[]) : []))
    if (level.length === 0) return false
  }
  return true
}

function utf8Bytes(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    // A surrogate pair takes four bytes, two for each half; other units above these bounds take three or two.
    if (unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff)) bytes += 2
    else if (unit >= 0x80) bytes += 1
  }
  return bytes
}

type WordsIn<T extends string> = T extends `${infer First} ${infer Rest}` ? First | WordsIn<Rest> : T

/** A list of plain words, each of which the compiler knows: `wordList('a b')` is a list of `'a' | 'b'`. */
export const wordList = <T extends string>(text: T): readonly WordsIn<T>[] => text.split(' ') as never

/** For a look at a path, another process, foreign text: why it failed is of no interest. What is not expected is thrown. */
export function orElse<T, F>(look: () => T, otherwise: F, isExpected: (error: unknown) => boolean = () => true): T | F {
  try {
    return look()
  } catch (error) {
    if (isExpected(error)) return otherwise
    throw error
  }
}

export const isA =
  (kind: abstract new (...given: never[]) => Error) =>
  (error: unknown): boolean =>
    error instanceof kind
