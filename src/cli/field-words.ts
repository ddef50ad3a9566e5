// A field of a form as it is typed: `name:type[=default]`, with `name?` for one that may be left out and the choices behind a second
// colon: `env:choice:staging,prod=staging`. What needs a label or bounds comes from a file.

import { isFieldName } from '../domain/form.ts'
import type { Json } from '../domain/json.ts'
import type { Field } from '../domain/plan.ts'
import { suggest } from '../domain/suggest.ts'
import type { Context } from './context.ts'
import { usage } from './exit.ts'
import { valuesFor } from './form-values.ts'

const TYPES: readonly Field['type'][] = ['text', 'number', 'boolean', 'choice', 'list']
const KEYS = ['name', 'label', 'type', 'choices', 'optional', 'default', 'min', 'max', 'pattern']
const HOW = "write name:type[=default], e.g. 'count:number=3' or 'env:choice:staging,prod'"
const FIELDS_MAX = 50

export function fieldOf(word: string): Field {
  const parts = /^([^:=?]*)(\?)?(?::([^:=]*))?(?::([^=]*))?(?:=(.*))?$/s.exec(word)
  const [, name = '', optional, type = 'text', choices, usual] = parts ?? []
  if (parts === null || !isFieldName(name)) throw usage(`'${word}' is no field`, HOW)
  if (!isType(type)) {
    const near = suggest(type, TYPES)
    throw usage(
      `'${type}' is no type of a field`,
      near === null ? `one of ${TYPES.join(', ')}` : `did you mean '${near}'?`,
    )
  }
  const options = choices?.split(',').map(choice => choice.trim()) ?? []
  if (type === 'choice' && options.length === 0)
    throw usage(`'${name}' has nothing to choose from`, `write ${name}:choice:a,b,c`)
  if (type !== 'choice' && choices !== undefined) throw usage(`only a choice has choices, not '${word}'`, HOW)
  const field: Field = {
    name,
    type,
    ...(type === 'choice' ? { choices: options } : {}),
    ...(optional === undefined ? {} : { optional: true }),
  }
  if (usual === undefined) return field
  const value = valuesFor([field], [`${name}=${usual}`])[name] as Json
  if (type === 'choice' && !options.includes(usual))
    throw usage(`the default '${usual}' of '${name}' is none of its choices`, `one of ${options.join(', ')}`)
  return { ...field, default: value }
}

/** A JSON or YAML list of fields, or an object with `fields`. */
export async function formFrom(context: Context, path: string): Promise<readonly Field[]> {
  const { readText } = await import('./plan-file.ts')
  const { readDocument } = await import('../format/document.ts')
  const read = readDocument(await readText(context, path))
  if (!read.ok) {
    const first = read.diagnostics[0]
    throw usage(`${path}:${first?.line ?? 1}:${first?.column ?? 1}: ${first?.message ?? 'not JSON'}`, first?.hint)
  }
  const { value } = read.document
  if (!Array.isArray(value) || value.length === 0 || value.length > FIELDS_MAX)
    throw usage(
      `${path} holds no form`,
      `write a list of 1 to ${FIELDS_MAX} fields: [{"name": "count", "type": "number"}]`,
    )
  return value.map((field, at) => checked(field, `${path}: field ${at + 1}`))
}

function checked(value: unknown, where: string): Field {
  const no = (what: string): Error => usage(`${where}: ${what}`, `keys of a field: ${KEYS.join(', ')}`)
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw no('is no object')
  const field = value as Readonly<Record<string, unknown>>
  const strange = Object.keys(field).find(key => !KEYS.includes(key))
  if (strange !== undefined) throw no(`'${strange}' is no key of a field`)
  const { name, type, label, choices, optional, min, max, pattern } = field
  if (typeof name !== 'string' || !isFieldName(name)) throw no('has no name')
  if (typeof type !== 'string' || !isType(type)) throw no(`'type' must be one of ${TYPES.join(', ')}`)
  if (label !== undefined && typeof label !== 'string') throw no("'label' must be a text")
  if (pattern !== undefined && typeof pattern !== 'string') throw no("'pattern' must be a text")
  if (optional !== undefined && optional !== true) throw no("'optional' is true or left out")
  for (const bound of [min, max]) if (bound !== undefined && typeof bound !== 'number') throw no('bounds are numbers')
  const hasChoices = Array.isArray(choices) && choices.length > 0 && choices.every(one => typeof one === 'string')
  if (type === 'choice' ? !hasChoices : choices !== undefined) throw no("'choices' belong to a choice, and only there")
  return field as unknown as Field
}

const isType = (text: string): text is Field['type'] => (TYPES as readonly string[]).includes(text)
