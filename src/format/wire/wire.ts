// Request schemas of the service. One value validates a body, reports errors with path and hint, and describes itself as JSON
// Schema for OpenAPI, so the three cannot disagree. Routes use the schema library only through this file. Answers are the types
// in answers/.

import { z } from 'zod'
import type { Hint } from '../../domain/hint.ts'
import type { JsonObject } from '../../domain/json.ts'
import { printPath } from '../text/diagnostic.ts'
import { complaintsOf } from '../text/schema-messages.ts'

export interface Schema<T> {
  /** A name makes it a component of the OpenAPI document. */
  readonly name: string | null
  read(value: unknown): SchemaRead<T>
  /** JSON Schema 2020-12 of the accepted input. */
  describe(): JsonObject
}

export type SchemaRead<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly Fault[] }

export interface Fault {
  /** For example `tasks[2].needs`; empty for the whole body. */
  readonly path: string
  readonly message: string
  readonly hint?: Hint
}

export type ReadBy<S> = S extends Schema<infer T> ? T : never

const FAULTS_MAX = 20

export function wire<S extends z.ZodType>(schema: S, name: string | null = null): Schema<z.output<S>> {
  return {
    name,
    read: value => {
      const read = schema.safeParse(value)
      if (read.success) return { ok: true, value: read.data }
      const complaints = complaintsOf(schema, read.error, { value, written: () => null })
      const faults = complaints.slice(0, FAULTS_MAX).map(complaint => {
        const { message, hint } = inJson(complaint)
        return { path: printPath(complaint.path), message, hint }
      })
      return { ok: false, faults }
    },
    describe: () => {
      const { $schema: _, ...described } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
      return described as JsonObject
    },
  }
}

/** An object with these keys and no others. */
export const wireObject = <S extends z.core.$ZodLooseShape>(shape: S) => wire(z.strictObject(shape))

export const namedObject = <S extends z.core.$ZodLooseShape>(name: string, shape: S) =>
  wire(z.strictObject(shape), name)

interface Forms {
  readonly description: string
  readonly examples: readonly JsonObject[]
  readonly named: { readonly [name: string]: JsonObject }
  readonly others: readonly JsonObject[]
}

/** A union of separately described forms; their own definitions are kept apart by name. */
export function anyOf({ named, others, ...about }: Forms): JsonObject {
  const defined: Record<string, JsonObject> = {}
  const own = (name: string, described: JsonObject): JsonObject => {
    const { $schema: _, $id: __, $defs = {}, ...rest } = described
    const parts = Object.entries($defs as { readonly [name: string]: JsonObject })
    const renamed = (part: JsonObject): JsonObject => {
      let text = JSON.stringify(part)
      for (const [at, [each]] of parts.entries())
        text = text.replaceAll(`"#/$defs/${each}"`, `"#/$defs/${name}Part${at + 1}"`)
      return JSON.parse(text) as JsonObject
    }
    for (const [at, [, part]] of parts.entries()) defined[`${name}Part${at + 1}`] = renamed(part)
    return renamed(rest)
  }
  for (const [name, described] of Object.entries(named)) defined[name] = own(name, described)
  const forms = [
    ...Object.keys(named).map(name => ({ $ref: `#/$defs/${name}` })),
    ...others.map((described, at) => own(`Other${at}`, described)),
  ]
  return { ...about, anyOf: forms, $defs: defined } as unknown as JsonObject
}

/** Adapts hints that are worded for YAML plans. */
function inJson({ message, hint }: Pick<Fault, 'message' | 'hint'>): Pick<Fault, 'message' | 'hint'> {
  if (hint === undefined) return { message }
  if (typeof hint !== 'string') return { message, hint }
  if (hint === "add '- id: …' to tasks") return { message: "'tasks' names none", hint: 'name at least one' }
  return { message, hint: hint.replace(/^add '(\w+):'$/, `add "$1"`) }
}
