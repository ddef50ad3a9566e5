// A template document: `planfold-template: 2`, its parameters, and under `plan:` a plan in which `${{ params.x }}` stands for a value,
// and tasks and list items may stand under `if:` and `each:`. Reading one finds what can be wrong before any value is known.
// What is read is frozen: no two plans made of it can share anything that changes.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { compile } from '../../format/expression/expression.ts'
import { canonicalJson } from '../../format/plan/hash.ts'
import * as value from '../../format/plan/schema-values.ts'
import { type Diagnostic, type DocumentFault, tidy } from '../../format/text/diagnostic.ts'
import { type Document, readDocument } from '../../format/text/document.ts'
import { complaintsOf } from '../../format/text/schema-messages.ts'
import { readDuration } from '../../format/text/units.ts'
import { PARAMETER_TYPES, type Parameter, readValue, SCALAR_TYPES } from './parameters.ts'
import { checkTemplatePlan } from './plan-builder.ts'

export interface Template {
  readonly name: string
  readonly title: string | null
  readonly about: string | null
  readonly version: string | null
  readonly parameters: readonly Parameter[]
  /** What a plan is made of; frozen through and through. */
  readonly plan: JsonObject
  /** SHA-256 of the whole document, whatever the order of its keys. */
  readonly hash: string
  readonly text: string
  readonly document: Document
  readonly warnings: readonly Diagnostic[]
}

export type ReadTemplate =
  | { readonly ok: true; readonly template: Template }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?$/
const PARAMETER_NAME = /^[a-z_][a-z0-9_]{0,49}$/i

/** May a template be called so? Only then does it become part of a path. */
export const isTemplateName = (name: string): boolean => NAME.test(name)

const bound = z.union([z.number(), value.line])
const parameter = z.strictObject({
  type: z.enum(PARAMETER_TYPES).optional(),
  about: value.line,
  required: z.boolean().optional(),
  default: value.json.optional(),
  values: z
    .array(z.union([value.line, z.number()]))
    .min(1)
    .optional(),
  of: z.enum(SCALAR_TYPES).exclude(['enum']).optional(),
  min: bound.optional(),
  max: bound.optional(),
  example: value.json.optional(),
})

const template = z.strictObject({
  'planfold-template': z.literal(2),
  name: z.string().regex(NAME),
  title: value.line.optional(),
  about: value.text.optional(),
  version: z.union([value.line, z.number()]).optional(),
  parameters: z.record(z.string().regex(PARAMETER_NAME), parameter).optional(),
  plan: z.record(z.string(), z.unknown()),
})

/** Whatever the text holds, this answers with a value. */
export function readTemplate(text: string): ReadTemplate {
  const read = readDocument(text)
  if (!read.ok) return { ok: false, diagnostics: tidy(read.diagnostics) }
  const { document } = read
  const refuse = (complaints: readonly DocumentFault[]): ReadTemplate => ({
    ok: false,
    diagnostics: tidy(complaints.slice(0, 100).map(document.place)),
  })
  if (!isTemplateDocument(document.value)) return refuse([NO_TEMPLATE])
  if ((document.value as JsonObject)['planfold-template'] === 1) return refuse([FORMER])
  const shaped = template.safeParse(document.value)
  if (!shaped.success) return refuse(complaintsOf(template, shaped.error, document))
  const { data } = shaped
  const made = Object.entries(data.parameters ?? {}).map(([name, said]) => declare(name, said))
  const parameters = made.map(({ parameter }) => parameter)
  const plan = frozen((document.value as JsonObject).plan as JsonObject)
  const { faults, used } = checkTemplatePlan(
    plan,
    parameters.map(({ name }) => name),
  )
  const complaints = [...made.flatMap(({ faults }) => faults), ...faults]
  if (complaints.length > 0) return refuse(complaints)
  const unused = parameters
    .filter(({ name }) => !used.has(name))
    .map(
      ({ name }): DocumentFault => ({
        severity: 'warning',
        path: ['parameters', name],
        atKey: true,
        message: `the parameter '${name}' is never used`,
        hint: `write \${{ params.${name} }} where it belongs, or remove it`,
      }),
    )
  return {
    ok: true,
    template: {
      name: data.name,
      title: data.title ?? null,
      about: data.about ?? null,
      version: data.version === undefined ? null : String(data.version),
      parameters,
      plan,
      hash: createHash('sha256').update(canonicalJson(document.value)).digest('hex'),
      text,
      document,
      warnings: tidy(unused.map(document.place)),
    },
  }
}

/** Does it say of itself that it is a template? */
export function isTemplateDocument(value: Json | undefined): boolean {
  return value !== undefined && isMap(value) && Object.hasOwn(value, 'planfold-template')
}

const NO_TEMPLATE: DocumentFault = {
  path: [],
  message: 'this is not a template',
  hint: "begin with 'planfold-template: 2', a 'name', the 'parameters' and the 'plan'",
}

const FORMER: DocumentFault = {
  path: ['planfold-template'],
  message: 'this template is written in format 1, which is no longer read',
  hint: "write ${{ params.x }} instead of << params.x >>, 'items: [X]' instead of 'item: X', and planfold-template: 2",
}

type Said = z.output<typeof parameter>

function declare(
  name: string,
  said: Said,
): { readonly parameter: Parameter; readonly faults: readonly DocumentFault[] } {
  const faults: DocumentFault[] = []
  const wrong = (key: string | null, message: string, hint: string): void => {
    faults.push({ path: ['parameters', name, ...(key === null ? [] : [key])], atKey: key === null, message, hint })
  }
  const { type = 'string', required = false } = said
  const limit = (key: 'min' | 'max'): number | undefined => {
    const given = said[key]
    if (given === undefined) return undefined
    if (type === 'boolean' || type === 'enum' || type === 'path')
      wrong(key, `a parameter of type ${type} has no '${key}'`, 'remove it')
    if (typeof given === 'number') return given
    const read = type === 'duration' ? readDuration(given) : null
    if (read?.ok === true) return read.value
    wrong(key, `'${given}' is not a valid limit for a ${type}`, read?.hint ?? 'write a number')
    return undefined
  }
  const [min, max] = [limit('min'), limit('max')]
  if (min !== undefined && max !== undefined && min > max) wrong('min', `'min' is above 'max'`, 'swap them')
  if (!compile(`params.${name}`, ['params']).ok || name === 'constructor' || name === 'prototype')
    wrong(null, `'${name}' cannot be the name of a parameter`, 'choose another word')
  if ((type === 'enum') !== (said.values !== undefined))
    wrong(
      null,
      type === 'enum' ? "an enum needs 'values'" : `'values' belong to an enum, not to a ${type}`,
      'write type: enum and values: [a, b]',
    )
  if (said.of !== undefined && type !== 'list') wrong('of', "'of' belongs to a list", 'write type: list, or remove it')
  if (required && said.default !== undefined)
    wrong('default', 'a required parameter has no default', "remove 'required' or 'default'")
  const parameter: Parameter = {
    name,
    type,
    about: said.about,
    required,
    default: said.default === undefined ? null : frozen(said.default),
    values: said.values,
    of: said.of,
    min,
    max,
    example: said.example === undefined ? undefined : frozen(said.example),
  }
  for (const key of ['default', 'example'] as const) {
    const given = said[key]
    const read = given === undefined || faults.length > 0 ? null : readValue(parameter, given)
    if (read?.ok === false) wrong(key, `the ${key} cannot be: ${read.message}`, read.hint)
  }
  return { parameter, faults }
}

function frozen<T extends Json>(value: T): T {
  if (value !== null && typeof value === 'object') {
    for (const item of Object.values(value)) frozen(item as Json)
    Object.freeze(value)
  }
  return value
}
