// Definitions on the wire: canonical documents, validated like a plan file, so that nothing unchecked reaches the domain. A
// definition from `planfold/client` is converted to a document first. One difference to plan files: a draft without tasks is
// allowed.

import { z } from 'zod'
import type { Hint } from '../../domain/hint.ts'
import { isMap, type JsonObject, orElse } from '../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { ACTION_KEYS } from '../actions/actions.ts'
import { raisePlan, raiseTask } from '../plan/definition-to-document.ts'
import { escaped } from '../plan/expression-checks.ts'
import { parsePlan } from '../plan/parse.ts'

export type DefinitionRead<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly DefinitionFault[] }

export interface DefinitionFault {
  readonly path: string
  readonly message: string
  readonly hint?: Hint
}

const FAULTS_MAX = 20
/** Placeholder for a draft without tasks. */
const NONE = { id: 'none' }

export const writeTask: (task: TaskDefinition) => JsonObject = raiseTask

/** `known`: additional tasks that expressions may refer to. */
export function readDefinition(document: JsonObject, known: readonly string[] = []): DefinitionRead<PlanDefinition> {
  const isEmpty = Array.isArray(document.tasks) && document.tasks.length === 0
  const text = JSON.stringify(escaped({ planfold: 1, ...document, ...(isEmpty ? { tasks: [NONE] } : {}) }))
  const parsed = parsePlan(text, { known, lenient: true })
  if (parsed.ok) return { ok: true, value: isEmpty ? { ...parsed.definition, tasks: [] } : parsed.definition }
  const faults = parsed.diagnostics.slice(0, FAULTS_MAX).map(({ path = '', message, hint }) => ({
    path,
    message,
    hint,
  }))
  return { ok: false, faults }
}

export function readTasks(
  documents: readonly JsonObject[],
  known: readonly string[] = [],
): DefinitionRead<readonly TaskDefinition[]> {
  if (documents.length === 0) return { ok: true, value: [] }
  const read = readDefinition({ name: 'tasks', tasks: documents }, known)
  return read.ok ? { ok: true, value: read.value.tasks } : read
}

export const hasAction = (document: JsonObject): boolean => ACTION_KEYS.some(key => Object.hasOwn(document, key))

/** A value that cannot be printed is read unchanged, so that its errors are reported. */
const printed = (value: JsonObject, print: (definition: never) => JsonObject): JsonObject =>
  orElse(() => print(value as never), value)

/** `from: engine`: a definition in the engine's form. */
const documentOf = (value: JsonObject): JsonObject => (value.from === 'engine' ? printed(value, raisePlan) : value)

export const planDocument = z
  .looseObject({ planfold: z.literal(1), tasks: z.array(z.looseObject({ id: z.string() })) })
  .meta({
    description: 'A plan document in the canonical format; its JSON Schema names all of its keys.',
    examples: [{ planfold: 1, name: 'one-thing', tasks: [{ id: 'do-it', title: 'Do it' }] }],
  })
  .transform((document, context): PlanDefinition => {
    const read = readDefinition(documentOf(document as JsonObject))
    if (read.ok) return read.value
    for (const { path, message, hint } of read.faults)
      context.issues.push({
        code: 'custom',
        input: document,
        message: path === '' ? message : `${path}: ${message}`,
        params: hint === undefined ? undefined : { hint },
      })
    return z.NEVER
  })

export const taskDocument = z
  .record(z.string(), z.unknown())
  // Only the engine's form has a key `action`.
  .transform(value => (isMap(value.action) ? printed(value as JsonObject, raiseTask) : (value as JsonObject)))
  .describe('A task as it is written in a plan document.')
