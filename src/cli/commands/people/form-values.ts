// The words NAME=VALUE of a command line as answers to a form: each value read as its field says, so that `1.0` stays a text where
// a text is asked for. Whether they fit is decided where they are recorded.

import type { Json, JsonObject } from '../../../domain/json.ts'
import { suggest } from '../../../domain/phrases.ts'
import type { Field } from '../../../domain/plan.ts'
import { listFrom } from '../../../domain/plan-rules/form.ts'
import { usage } from '../../exit.ts'

/** A form of one field may be answered with the bare value. */
export function valuesFor(form: readonly Field[], words: readonly string[]): JsonObject {
  const only = form.length === 1 ? form[0] : undefined
  const [first] = words
  if (only !== undefined && first !== undefined && words.length === 1 && isBare(only, first))
    return { [only.name]: valueFrom(only, first) }
  const values: Record<string, Json> = {}
  for (const word of words) {
    const at = word.indexOf('=')
    const name = at < 1 ? word : word.slice(0, at)
    const field = form.find(one => one.name === name)
    if (at < 1) throw usage(`'${word}' is not an answer`, `write NAME=VALUE, with ${names(form)}`)
    if (field === undefined) {
      const near = suggest(
        name,
        form.map(one => one.name),
      )
      const target = form.find(one => one.name === near)
      throw usage(
        `nobody asked for '${name}'`,
        target === undefined ? `asked for: ${names(form)}` : `did you mean '${target.name}'?${choicesText(target)}`,
      )
    }
    if (Object.hasOwn(values, name)) throw usage(`'${name}' is answered twice`, 'say it once')
    values[name] = valueFrom(field, word.slice(at + 1))
  }
  return values
}

/** Of a text and a list, `a=b` may be the value itself; of the other types it is a name and a value. */
const isBare = ({ name, type, choices = [] }: Field, word: string): boolean =>
  !word.startsWith(`${name}=`) &&
  (type === 'text' || type === 'list' || choices.includes(word) || !/^[A-Za-z_][\w-]*=/.test(word))

const choicesText = ({ choices = [] }: Field): string =>
  choices.length === 0 ? '' : ` Its answers: ${choices.join(', ')}`

export function valueFrom({ name, type }: Field, text: string): Json {
  switch (type) {
    case 'text':
    case 'choice':
      return text
    case 'number': {
      const value = text.trim() === '' ? Number.NaN : Number(text)
      if (!Number.isFinite(value)) throw usage(`'${name}' must be a number, not '${text}'`, `for instance ${name}=3`)
      return value
    }
    case 'boolean': {
      const value = BOOLEANS.get(text.toLowerCase())
      if (value === undefined) throw usage(`'${name}' must be true or false, not '${text}'`, `write ${name}=true`)
      return value
    }
    case 'list':
      return listOf(name, text)
    default:
      return type satisfies never
  }
}

function listOf(name: string, text: string): Json {
  const list = listFrom(text)
  if (list === null) throw usage(`'${name}' is not a list`, `write ${name}=a,b,c or ${name}='["a","b"]'`)
  return list
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['y', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['n', false],
  ['0', false],
])

const names = (form: readonly Field[]): string => form.map(({ name }) => name).join(', ')
