// `--set key=value` and `--set-file key=path`: words of the command line become values of the declared types. What cannot be
// one is left as text, so that the check of the parameters says what is wrong with it.

import type { Json, JsonObject } from '../../domain/json.ts'
import { exampleOf, type Parameter } from '../../format/templates/parameters.ts'
import type { Context } from '../context.ts'
import { usage } from '../exit.ts'
import { readText } from '../plan-file.ts'

export interface SetOptions {
  readonly set?: readonly string[]
  readonly setFile?: readonly string[]
}

/** A list may be given as JSON, or item by item by repeating its name. */
export async function readSettings(
  context: Context,
  parameters: readonly Parameter[],
  { set = [], setFile = [] }: SetOptions,
): Promise<JsonObject> {
  const given = new Map<string, Json>()
  const take = (name: string, read: (parameter: Parameter | undefined) => Json): void => {
    const parameter = parameters.find(one => one.name === name)
    const value = read(parameter)
    const before = given.get(name)
    if (before === undefined) given.set(name, value)
    else if (parameter?.type === 'list') given.set(name, [listed(before), listed(value)].flat())
    else throw usage(`'${name}' is given twice`, 'give it once; only a list may be given item by item')
  }
  for (const word of set) {
    const [name, text] = halves(word, '--set')
    take(name, parameter => fromWord(parameter, text))
  }
  for (const word of setFile) {
    const [name, path] = halves(word, '--set-file')
    const text = (await readText(context, path)).replace(/^\uFEFF|\r?\n$/g, '')
    take(name, parameter => (parameter?.type === 'list' ? fromLines(text) : fromWord(parameter, text)))
  }
  return Object.fromEntries(given)
}

/** `key=value`; the value may hold further `=`. */
export function halves(word: string, option: string): readonly [name: string, value: string] {
  const at = word.indexOf('=')
  if (at < 1) throw usage(`'${word}' says no value`, `write ${option} name=value`)
  return [word.slice(0, at), word.slice(at + 1)]
}

/** The least that makes a plan, as a command to type. */
export function exampleCommand(name: string, parameters: readonly Parameter[], command?: string): string {
  const words = parameters
    .filter(({ required }) => required)
    .map(parameter => {
      const example = exampleOf(parameter)
      return `--set ${shellWord(`${parameter.name}=${typeof example === 'string' ? example : JSON.stringify(example)}`)}`
    })
  if (command !== undefined) return [command, ...words].join(' ')
  return ['planfold template new', name, ...words, '--out plan.yaml'].join(' ')
}

function fromWord(parameter: Parameter | undefined, text: string): Json {
  switch (parameter?.type) {
    case 'number':
    case 'integer':
      return /^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : text
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'enum':
      return parameter.values?.find(value => String(value) === text) ?? text
    case 'list':
      return fromList(parameter, text)
    default:
      return text
  }
}

function fromList(parameter: Parameter, text: string): Json {
  if (/^\s*\[/.test(text)) {
    try {
      return JSON.parse(text) as Json
    } catch {
      throw usage(`'${parameter.name}' looks like a list, but is no JSON`, `write --set '${parameter.name}=["a", "b"]'`)
    }
  }
  const of = { ...parameter, type: parameter.of ?? 'string' } as Parameter
  return [fromWord(of, text)]
}

function fromLines(text: string): Json {
  if (/^\s*\[/.test(text)) return fromList({ name: 'the file', type: 'list' } as Parameter, text)
  return text.split(/\r?\n/).filter(line => line.trim() !== '')
}

function listed(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [value]
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
