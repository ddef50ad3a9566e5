// Outputs of an agent task: values declared as `reported` are read from the agent's last message.

import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import type { TaskDefinition } from '../../domain/plan.ts'

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
