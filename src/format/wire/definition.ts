// Definitions as they travel: canonical documents, read like those of people, so that nothing unchecked reaches the domain. What
// `planfold/client` sends as the engine has it is made a document first. The one difference: a draft without tasks may be ordered, though
// nobody would write one.

import { z } from 'zod'
import type { Hint } from '../../domain/hint.ts'
import { isMap, type JsonObject } from '../../domain/json.ts'
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
/** Stands where a draft has no tasks yet. */
const NONE = { id: 'none' }

export const writeTask: (task: TaskDefinition) => JsonObject = raiseTask

/** `known`: tasks that expressions may name although the document does not have them. */
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

/** Does it say how the task is carried out? */
export const hasAction = (document: JsonObject): boolean => ACTION_KEYS.some(key => Object.hasOwn(document, key))

/** What cannot be printed is no definition, and is read as it stands: then it is said what is wrong with it. */
function printed(value: JsonObject, print: (definition: never) => JsonObject): JsonObject {
  try {
    return print(value as never)
  } catch {
    return value
  }
}

/** `from: engine`: a definition as the engine has it. */
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
  // Only as the engine has it a task says its action under a key of its own.
  .transform(value => (isMap(value.action) ? printed(value as JsonObject, raiseTask) : (value as JsonObject)))
  .meta({ description: 'A task as it is written in a plan document.' })
