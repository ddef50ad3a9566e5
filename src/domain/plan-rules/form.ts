// Forms and their answers, checked by type.

import { type Json, type JsonObject, orElse } from '../json.ts'
import { suggest } from '../phrases.ts'
import type { Field } from '../plan.ts'
import { type Refusal, refuse } from '../refusal.ts'

export type Filled =
  | { readonly ok: true; readonly answers: JsonObject }
  | { readonly ok: false; readonly refusal: Refusal }

/** Missing answers get their default. */
export function fillIn(form: readonly Field[], answers: JsonObject): Filled {
  const no = (message: string, hint: string): Filled => ({ ok: false, refusal: refuse('invalid', message, hint) })
  const strange = Object.keys(answers).find(name => !form.some(field => field.name === name))
  if (strange !== undefined) {
    const near = suggest(
      strange,
      form.map(({ name }) => name),
    )
    const known = `fields: ${form.map(({ name }) => name).join(', ')}`
    return no(`unknown field '${strange}'`, near === null ? known : `did you mean '${near}'?`)
  }
  const filled: Record<string, Json> = {}
  for (const field of form) {
    const given = Object.hasOwn(answers, field.name) ? answers[field.name] : field.default
    if (given === undefined || given === null || given === '') {
      if (field.optional === true) continue
      return no(`'${field.name}' is not answered`, hintOf(field))
    }
    const fault = faultOf(field, given)
    if (fault !== null) return no(`'${field.name}' ${fault}`, hintOf(field))
    filled[field.name] = given
  }
  return { ok: true, answers: filled }
}

function faultOf(field: Field, given: Json): string | null {
  switch (field.type) {
    case 'boolean':
      return typeof given === 'boolean' ? null : 'must be true or false'
    case 'number':
      if (typeof given !== 'number' || !Number.isFinite(given)) return 'must be a number'
      if (field.min !== undefined && given < field.min) return `must be at least ${field.min}`
      return field.max !== undefined && given > field.max ? `must be at most ${field.max}` : null
    case 'choice':
      return typeof given === 'string' && field.choices?.includes(given) === true ? null : 'is not one of the choices'
    case 'list':
      return Array.isArray(given) && given.every(item => typeof item === 'string') ? null : 'must be a list of texts'
    case 'text':
      if (typeof given !== 'string') return 'must be a text'
      if (given.length > TEXT_MAX) return `is longer than ${TEXT_MAX} characters`
      if (field.pattern === undefined) return null
      if (given.length > MATCHED_MAX) return `is longer than ${MATCHED_MAX} characters`
      return matches(field.pattern, given) ? null : `does not match ${field.pattern}`
    default:
      return field.type satisfies never
  }
}

/** Parses a list typed as text: JSON if it begins like it, else one per line or separated by commas. Null for none. */
export function listFrom(text: string): readonly string[] | null {
  const trimmed = text.trim()
  if (!trimmed.startsWith('['))
    return trimmed === '' ? [] : trimmed.split(trimmed.includes('\n') ? '\n' : ',').map(item => item.trim())
  const read = orElse(() => JSON.parse(trimmed) as Json, null)
  return Array.isArray(read) && read.every(item => typeof item === 'string') ? (read as readonly string[]) : null
}

export function formFault(form: readonly Field[]): string | null {
  if (form.length === 0) return 'a form needs a field'
  for (const [at, { name, type, choices = [], pattern, default: usual }] of form.entries()) {
    if (!isFieldName(name)) return `'${name}' is not a valid field name`
    if (form.findIndex(field => field.name === name) < at) return `two fields are called '${name}'`
    if (type === 'choice' && choices.length === 0) return `'${name}' has nothing to choose from`
    if (pattern !== undefined && !isPattern(pattern)) return `the pattern of '${name}' cannot be used`
    if (usual === undefined) continue
    const fault = faultOf(form[at]!, usual)
    if (fault !== null) return `the default of '${name}' ${fault}`
  }
  return null
}

export const isFieldName = (name: string): boolean => /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name)

/** A pattern that matches any text quickly, without nested repetition or backreferences: it runs while the store is locked. */
export function isPattern(pattern: string): boolean {
  if (pattern.length > PATTERN_MAX || /\\[1-9k]|\(\?(?!:)/.test(pattern)) return false
  const bare = pattern.replace(/\\./gs, 'x').replace(/\[[^\]]*\]/g, 'x')
  if (/[()|]/.test(bare) && /\)[*+?{]/.test(bare)) return false
  if ((bare.match(/[*+{]/g) ?? []).length > REPEATS_MAX) return false
  return orElse(() => new RegExp(pattern, 'u'), null) !== null
}

/** Anchored at both ends. */
const matches = (pattern: string, text: string): boolean =>
  isPattern(pattern) && new RegExp(`^(?:${pattern})$`, 'u').test(text)

const TEXT_MAX = 10_000
const MATCHED_MAX = 200
const PATTERN_MAX = 200
const REPEATS_MAX = 3

function hintOf({ type, choices, label }: Field): string {
  const what = type === 'choice' ? `one of ${(choices ?? []).join(', ')}` : `a ${type}`
  return label === undefined ? `give ${what}` : `${label}: give ${what}`
}
