// Words the schema's errors for people: the probably intended word, and what to write instead. For a union, the error is that of
// the closest variant.

import { z } from 'zod'
import { choiceHint, suggest } from '../../domain/phrases.ts'
import { DIAGNOSTICS_MAX, type DocumentFault, type Path, printPath } from './diagnostic.ts'

// The known keys and words at a path of the document, as candidates for "did you mean".

/** The known keys at a path, over all variants. */
function keysAt(schema: z.ZodType, path: Path): readonly string[] {
  const objects = formsAt(schema, path)
    .flatMap(flatten)
    .filter(one => one instanceof z.ZodObject)
  return [...new Set(objects.flatMap(one => Object.keys(one.shape)))]
}

function wordsAt(schema: z.ZodType, path: Path): readonly string[] {
  return [...new Set(formsAt(schema, path).flatMap(wordsOf))]
}

/** The words that select a variant at a path. */
function kindsAt(schema: z.ZodType, path: Path): readonly string[] {
  const literals = formsAt(schema, path).filter(one => one instanceof z.ZodLiteral)
  return [...new Set(literals.flatMap(({ values }) => [...values].map(String)))]
}

function formsAt(schema: z.ZodType, path: Path): readonly z.ZodType[] {
  let here: readonly z.ZodType[] = [schema]
  for (const step of path) here = here.flatMap(flatten).flatMap(one => inside(one, step))
  return here
}

function wordsOf(schema: z.ZodType): readonly string[] {
  const words = schema.meta()?.enum
  return Array.isArray(words) ? words.map(String) : within(schema).flatMap(wordsOf)
}

/** What to write instead of a value of the wrong type, for text with a form of its own such as units. */
export const FORM_HINTS = z.registry<{ readonly hint: string }>()

function formHints(schema: z.ZodType, path: Path): readonly string[] {
  return formsAt(schema, path).flatMap(hintsOf)
}

function hintsOf(schema: z.ZodType): readonly string[] {
  const own = FORM_HINTS.get(schema)?.hint
  return own === undefined ? within(schema).flatMap(hintsOf) : [own]
}

/** The inner schemas of wrappers. */
function within(schema: z.ZodType): readonly z.ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodLazy) return [schema.unwrap() as z.ZodType]
  if (schema instanceof z.ZodUnion) return schema.options as readonly z.ZodType[]
  if (!(schema instanceof z.ZodPipe)) return []
  return [(schema.in instanceof z.ZodTransform ? schema.out : schema.in) as z.ZodType]
}

function flatten(schema: z.ZodType): readonly z.ZodType[] {
  const forms = within(schema)
  return forms.length === 0 ? [schema] : forms.flatMap(flatten)
}

function inside(schema: z.ZodType, step: string | number): readonly z.ZodType[] {
  if (schema instanceof z.ZodObject) {
    const member = typeof step === 'string' && Object.hasOwn(schema.shape, step) ? schema.shape[step] : undefined
    return member === undefined ? [] : [member as z.ZodType]
  }
  if (schema instanceof z.ZodArray) return [schema.element as z.ZodType]
  return schema instanceof z.ZodRecord ? [schema.valueType as z.ZodType] : []
}

type Issue = z.core.$ZodIssue
type Forms = readonly (readonly Issue[])[]

/** The document: its value, and how the scalar at a path was typed. */
interface Source {
  readonly value: unknown
  readonly written: (path: Path) => string | null
}

export function complaintsOf(schema: z.ZodType, error: z.ZodError, source: Source): readonly SchemaComplaint[] {
  const complaints: SchemaComplaint[] = []
  for (const issue of error.issues) {
    if (complaints.length >= COMPLAINTS_MAX) break
    complaints.push(...explain(schema, issue, [], source))
  }
  // A misspelt key is reported once, not also as a missing one.
  const renamed = new Set(
    complaints.flatMap(({ intended, path }) =>
      intended === undefined ? [] : [printPath([...path.slice(0, -1), intended])],
    ),
  )
  return complaints.filter(({ absent }) => absent === undefined || !renamed.has(absent))
}

/** Suggestions are expensive: a body with 90,000 unknown keys must not take seconds. */
const COMPLAINTS_MAX = 2 * DIAGNOSTICS_MAX

/** `intended`: the key that was probably intended. `absent`: the printed path of a missing key. */
export type SchemaComplaint = DocumentFault & { readonly intended?: string; readonly absent?: string }

function explain(schema: z.ZodType, issue: Issue, base: Path, source: Source): readonly SchemaComplaint[] {
  const path = [...base, ...(issue.path as (string | number)[])]
  const given = at(source.value, path)
  switch (issue.code) {
    case 'unrecognized_keys':
      return unknownKeys(schema, path, issue.keys)
    case 'invalid_union': {
      if (given === undefined) return [missing(path)]
      // The word that selects the variant is unknown.
      if (issue.errors.length === 0 && typeof given === 'string')
        return [unknownWord(path, given, kindsAt(schema, path))]
      const nearest = nearestForms(issue.errors)
      if (nearest.length === 0) return [wrongType(schema, path, given, formsOf(issue), source)]
      if (nearest.length > 1) return undecided(schema, path, nearest, issue.errors)
      return nearest.flat().flatMap(inner => explain(schema, inner, path, source))
    }
    case 'invalid_type':
      if (given === undefined) return [missing(path)]
      return [wrongType(schema, path, given, EXPECTED[issue.expected] ?? issue.expected, source)]
    case 'invalid_value': {
      const values = issue.values.map(String)
      if (given === undefined) return [missing(path)]
      if (path.length === 1 && path[0] === 'planfold') return [version(path, given)]
      return [unknownWord(path, given, values)]
    }
    case 'invalid_key':
      return [{ path, atKey: true, message: `'${String(path.at(-1))}' cannot be a name here`, hint: keyHint(path) }]
    // The only patterns are those of names.
    case 'invalid_format':
      return [{ path, message: `${show(given)} cannot be a name here`, hint: nameHint(issue, given) }]
    case 'too_small':
      return [tooSmall(path, issue, given)]
    case 'too_big':
      return [
        {
          path,
          message: `${name(path)} is more than the limit of ${issue.maximum}`,
          hint: `write at most ${issue.maximum}`,
        },
      ]
    case 'custom': {
      const { hint, words } = issue.params ?? {}
      if (given === null) return [wrongType(schema, path, given, 'a value', source)]
      if (Array.isArray(words)) return [unknownWord(path, given, words)]
      return [{ path, message: issue.message, ...(typeof hint === 'string' ? { hint } : {}) }]
    }
    default:
      return [{ path, message: issue.message }]
  }
}

/** Several variants are equally close: report unknown keys, or the keys that would select one. */
function undecided(schema: z.ZodType, path: Path, forms: Forms, all: Forms): readonly SchemaComplaint[] {
  const unknown = new Set(forms.flat().flatMap(issue => (issue.code === 'unrecognized_keys' ? issue.keys : [])))
  const known = keysAt(schema, path)
  const strange = [...unknown].filter(key => !known.includes(key))
  if (strange.length > 0) return unknownKeys(schema, path, strange)
  const deciding = new Set(all.flat().flatMap(issue => (issue.path.length === 1 ? [String(issue.path[0])] : [])))
  if (unknown.size > 0)
    return [
      {
        path,
        message: `${name(path)} mixes ${[...unknown].map(key => `'${key}'`).join(' and ')}`,
        hint: 'keep one of them',
      },
    ]
  return [
    { path, message: `${name(path)} does not say what to do`, hint: `give it one of ${[...deciding].join(', ')}` },
  ]
}

function unknownWord(path: Path, given: unknown, words: readonly string[]): SchemaComplaint {
  const key = path.findLast(step => typeof step === 'string')
  const message = `unknown value ${show(given)}${key === undefined ? '' : ` for '${key}'`}`
  return { path, message, hint: choiceHint(typeof given === 'string' ? given : '', words) }
}

function unknownKeys(schema: z.ZodType, path: Path, keys: readonly string[]): readonly SchemaComplaint[] {
  const known = keysAt(schema, path)
  return keys.slice(0, COMPLAINTS_MAX).map(key => unknownKey(known, path, key))
}

function unknownKey(known: readonly string[], path: Path, key: string): SchemaComplaint {
  const near = ALIASES[key] ?? suggest(key.slice(0, 60), known)
  const fault = { path: [...path, key], atKey: true, message: `unknown key '${key.slice(0, 60)}'` }
  // A known key, but of another variant.
  if (known.includes(key)) return { ...fault, hint: 'it does not go with the rest: leave it out' }
  if (typeof near === 'string' && known.includes(near))
    return { ...fault, hint: `did you mean '${near}'?`, intended: near }
  const some = known.slice(0, 12).join(', ')
  return { ...fault, hint: `known here: ${some}${known.length > 12 ? ', …' : ''}` }
}

/** Words of other plan formats, which are not typing errors. */
const ALIASES: { readonly [key: string]: string } = {
  __proto__: null as never,
  depends_on: 'needs',
  dependsOn: 'needs',
  dependencies: 'needs',
  steps: 'tasks',
  command: 'run',
  cmd: 'run',
  script: 'run',
  environment: 'env',
  if: 'when',
  name: 'id',
  retries: 'retry',
  objective: 'goal',
  options: 'choices',
  version: 'planfold',
}

function missing(path: Path): SchemaComplaint {
  const key = String(path.at(-1))
  const absent = printPath(path)
  if (key === 'planfold')
    return { absent, path: [], message: "'planfold' is missing", hint: "begin the document with 'planfold: 1'" }
  if (key === 'tasks')
    return { absent, path: [], message: 'a plan needs at least one task', hint: "add a list 'tasks:' with '- id: …'" }
  if (key === 'id' && path.at(-3) !== 'options')
    return {
      absent,
      path: path.slice(0, -1),
      message: 'the task has no id',
      hint: 'add a short name that is unique in the plan, for instance id: build',
    }
  return { absent, path: path.slice(0, -1), message: `'${key}' is missing`, hint: `add '${key}:'` }
}

function version(path: Path, given: unknown): DocumentFault {
  if (given === '1')
    return { path, message: 'the version is written as text', hint: 'write it without quotes: planfold: 1' }
  return {
    path,
    message: `version ${show(given)} of the format is not known`,
    hint: 'this release reads planfold: 1; a newer one may read more',
  }
}

function wrongType(schema: z.ZodType, path: Path, given: unknown, wanted: string, source: Source): DocumentFault {
  if (given === null) {
    if (path.length === 1 && path[0] === 'tasks')
      return { path, atKey: true, message: 'a plan needs at least one task', hint: "add '- id: …' to tasks" }
    return { path, atKey: true, message: `${name(path)} has no value`, hint: 'give it a value, or remove the key' }
  }
  // Only scalars are quoted; other values could print anything.
  const typed = source.written(path) ?? (typeof given === 'object' ? '' : String(given))
  const words = wordsAt(schema, path)
  const hint =
    formHints(schema, path)[0] ??
    (words.length > 0 ? choiceHint('', words) : betterType(schema, path, given, wanted, typed))
  const message =
    typeof given === 'number' && hint.includes('a number and a unit')
      ? `${name(path)} has no unit: ${typed}`
      : `${name(path)} must be ${wanted}, not ${kind(given, typed)}`
  return { path, message, hint }
}

function betterType(schema: z.ZodType, path: Path, given: unknown, wanted: string, typed: string): string {
  const scalar = typeof given === 'number' || typeof given === 'boolean'
  const chosen = typeof given === 'boolean' && wanted.includes('true')
  if (scalar && wanted.includes('text') && !chosen) return `put it in quotes: "${typed}"`
  // One of several lists, written as a line of words.
  if (wanted === 'a list' && typeof given === 'string' && typeof path.at(-1) === 'number' && PLAIN_WORDS.test(given))
    return `write its words as a list: ${flow(given.split(' '))}`
  const [example] = formsAt(schema, path).flatMap(examplesOf)
  if (example !== undefined) return `for example: ${keyed(path, flow(example))}`
  if (wanted === 'a list') return `for example: ${keyed(path, '[a, b]')}`
  if (wanted === 'text') return `for example: ${keyed(path, 'some text')}`
  if (wanted.endsWith('number')) return `for example: ${keyed(path, '3')}`
  const keys = wanted.includes('a map') ? keysAt(schema, path) : []
  return keys.length === 0 ? `write ${wanted}` : `write a map with some of: ${keys.slice(0, 12).join(', ')}`
}

const PLAIN_WORDS = /^[\w./*-]+(?: [\w./*-]+){0,9}$/

/** `examples` of the schema, which editors show as well. */
function examplesOf(schema: z.ZodType): readonly unknown[] {
  const own = schema.meta()?.examples
  if (Array.isArray(own)) return own
  return schema instanceof z.ZodOptional ? examplesOf(schema.unwrap() as z.ZodType) : []
}

const keyed = (path: Path, value: string): string =>
  typeof path.at(-1) === 'string' ? `${path.at(-1)}: ${value}` : value

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (typeof value === 'string') return /^[A-Za-z][\w ./-]*$/.test(value) ? value : JSON.stringify(value)
  if (value === null || typeof value !== 'object') return String(value)
  return `{ ${Object.entries(value)
    .map(([key, one]) => `${key}: ${flow(one)}`)
    .join(', ')} }`
}

function tooSmall(path: Path, issue: Issue & { code: 'too_small' }, given: unknown): DocumentFault {
  if (path.length === 1 && path[0] === 'tasks')
    return { path, message: 'a plan needs at least one task', hint: "add '- id: …' to tasks" }
  if (typeof given === 'string')
    return { path, message: `${name(path)} is empty`, hint: 'write something, or remove the key' }
  if (Array.isArray(given) && given.length > 0)
    return {
      path,
      message: `${name(path)} has ${given.length} item${given.length === 1 ? '' : 's'}, and needs ${issue.minimum}`,
      hint: `name at least ${issue.minimum}`,
    }
  if (Array.isArray(given)) return { path, message: `${name(path)} is empty`, hint: 'name at least one' }
  return {
    path,
    message: `${name(path)} must be at least ${issue.minimum}, not ${show(given)}`,
    hint: `write ${issue.minimum} or more`,
  }
}

function nameHint(issue: Issue & { code: 'invalid_format' }, given: unknown): string {
  const rest = /\{0,(\d+)\}/.exec(issue.pattern ?? '')?.[1]
  const max = rest === undefined ? Number.POSITIVE_INFINITY : Number(rest) + 1
  return typeof given === 'string' && given.length > max
    ? `use at most ${max} characters`
    : keyHint(issue.pattern?.includes('-') === false ? ['env'] : [])
}

function keyHint(path: Path): string {
  if (path.includes('env')) return 'use letters, digits and _; PLANFOLD_VALUE_… is taken'
  return 'use letters, digits, _ and -, beginning with a letter'
}

/** The variants with the fewest errors; none if not even the type matches. */
function nearestForms(forms: Forms): Forms {
  const weights = forms.map(weigh)
  const least = Math.min(...weights)
  return least >= FOREIGN ? [] : forms.filter((_, index) => weights[index] === least)
}

/** Outweighs any number of smaller errors. */
const FOREIGN = 1_000_000

function weigh(issues: readonly Issue[]): number {
  return issues.reduce((sum, issue) => {
    const whole = issue.path.length === 0
    if (whole && (issue.code === 'invalid_type' || issue.code === 'invalid_value')) return sum + FOREIGN
    if (whole && issue.code === 'invalid_union') return sum + Math.min(...issue.errors.map(weigh))
    return sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1)
  }, 0)
}

function formsOf(issue: Issue & { code: 'invalid_union' }): string {
  const words = issue.errors.flat().map(inner => {
    if (inner.code === 'invalid_union') return formsOf(inner)
    if (inner.code === 'invalid_type') return EXPECTED[inner.expected] ?? inner.expected
    return inner.code === 'invalid_value'
      ? inner.values.map(value => (typeof value === 'string' ? `'${value}'` : String(value))).join(' or ')
      : null
  })
  return [...new Set(words.filter(word => word !== null))].join(' or ')
}

const EXPECTED: { readonly [type: string]: string } = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a map',
  record: 'a map',
  array: 'a list',
}

function kind(given: unknown, typed: string): string {
  if (Array.isArray(given)) return 'a list'
  if (typeof given === 'object') return 'a map'
  return typeof given === 'string' ? 'text' : typed
}

function show(given: unknown): string {
  const text = JSON.stringify(given) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

function name(path: Path): string {
  const last = path.at(-1)
  if (last === undefined) return 'the document'
  return typeof last === 'number'
    ? `item ${last + 1} of '${String(path.findLast(step => typeof step === 'string') ?? 'the list')}'`
    : `'${last}'`
}

function at(root: unknown, path: Path): unknown {
  let value = root
  for (const step of path) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return undefined
    value = (value as { [key: string | number]: unknown })[step]
  }
  return value
}
