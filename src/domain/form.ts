// A form and the answers to it: every answer of the type that was asked for, nothing that was not.

import type { Json, JsonObject } from './json.ts'
import type { Field } from './plan.ts'
import { type Refusal, refuse } from './refusal.ts'

export type Filled =
  | { readonly ok: true; readonly answers: JsonObject }
  | { readonly ok: false; readonly refusal: Refusal }

/** The answers a form asks for, each of its type; what is not said takes its default. */
export function fillIn(form: readonly Field[], answers: JsonObject): Filled {
  const no = (message: string, hint: string): Filled => ({ ok: false, refusal: refuse('invalid', message, hint) })
  const strange = Object.keys(answers).find(name => !form.some(field => field.name === name))
  if (strange !== undefined)
    return no(`nobody asked for '${strange}'`, `asked for: ${form.map(({ name }) => name).join(', ')}`)
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
      return typeof given === 'string' && field.choices?.includes(given) === true ? null : 'is none of the choices'
    case 'list':
      return Array.isArray(given) && given.every(item => typeof item === 'string') ? null : 'must be a list of texts'
    case 'text':
      return typeof given === 'string' ? null : 'must be a text'
    default:
      return field.type satisfies never
  }
}

function hintOf({ type, choices, label }: Field): string {
  const what = type === 'choice' ? `one of ${(choices ?? []).join(', ')}` : `a ${type}`
  return label === undefined ? `give ${what}` : `${label}: give ${what}`
}
