// Outputs of an agent task: values declared as `reported`, and the fields of its `answer`, are read from the agent's last message.

import { answerSchema } from '../../domain/actions/model-action.ts'
import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { validateJson } from '../../format/expression/json-validation.ts'

type Declaring = Pick<TaskDefinition, 'outputs'>

const reportedNames = ({ outputs = {} }: Declaring): readonly string[] =>
  Object.entries(outputs).flatMap(([name, { from }]) => (from === 'report' ? [name] : []))

/** The instruction for the final message; empty if no output is reported. */
export function reportText(definition: Declaring): readonly string[] {
  const [first, ...others] = reportedNames(definition)
  if (first === undefined) return []
  if (others.length === 0)
    return [`Your last message is kept as '${first}', and is all that later tasks see of what you found.`]
  const names = [first, ...others].map(name => JSON.stringify(name)).join(', ')
  return [
    `End with a message that is one JSON object with the keys ${names}. Later tasks see nothing else of what you found.`,
  ]
}

/** The instruction for an answer of this shape. */
export const answerText = (shape: JsonObject): string =>
  `End with a message that is one JSON object and nothing else. Its fields and types: ${JSON.stringify(shape)}. \`?\` after a name: it may be left out; \`a | b\`: one of these words.`

/** The answer in the last message, or what is wrong with it. */
export function answerIn(
  shape: JsonObject,
  lastMessage: string,
): { readonly ok: true; readonly value: JsonObject } | { readonly ok: false; readonly why: string } {
  const value = lastObject(lastMessage)
  const [fault] = validateJson(value, answerSchema(shape))
  if (fault === undefined) return { ok: true, value }
  const what = Object.keys(value).length === 0 ? 'there is no JSON object in it' : `${fault.at}: ${fault.message}`
  return { ok: false, why: what.slice(0, FAULT_MAX) }
}

const FAULT_MAX = 500

/**
 * A single output is the whole message. Several are read as keys of its last JSON object; one that is not there is the whole message.
 */
export function reportedOutputs(definition: Declaring, lastMessage: string): JsonObject {
  const names = reportedNames(definition)
  const object = names.length > 1 ? lastObject(lastMessage) : {}
  return Object.fromEntries(names.map((name): [string, Json] => [name, object[name] ?? lastMessage]))
}

function lastObject(message: string): JsonObject {
  const fenced = [...message.matchAll(/```(?:json)?\s*\n([\s\S]*?)```/g)].at(-1)?.[1]
  const braces = message.slice(message.indexOf('{'), message.lastIndexOf('}') + 1)
  for (const text of [fenced, braces]) {
    try {
      const value: unknown = JSON.parse(text ?? '')
      if (isMap(value as Json)) return value as JsonObject
    } catch {
      // Not JSON: try the next candidate.
    }
  }
  return {}
}
