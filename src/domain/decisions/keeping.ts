// What clients keep beside plans and tasks: annotations, which nothing follows, and evaluations of what a task did.

import type { CommandOf } from '../command.ts'
import { annotated } from '../evolve-client.ts'
import type { JsonObject } from '../json.ts'
import { jsonBytes } from '../json-size.ts'
import { ANNOTATIONS_MAX_BYTES, EVALUATION_MAX_BYTES } from '../limits.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { same } from '../same.ts'
import { type Draft, emit } from './draft.ts'
import { unknownTask } from './unknown.ts'

export function annotate(draft: Draft, { task: name, set, by }: CommandOf<'annotate'>): Refusal | undefined {
  const task = name === undefined ? undefined : draft.state.tasks.get(name)
  if (name !== undefined && task === undefined) return unknownTask(draft, name)
  // Whoever copies it by assignment would change what the copy is made of.
  if (Object.hasOwn(set, '__proto__'))
    return refuse('invalid', "an annotation cannot be called '__proto__'", 'choose another name')
  const refusal = tooLarge(set, 'an annotation', ANNOTATIONS_MAX_BYTES)
  if (refusal !== undefined) return refusal
  const before = (task ?? draft.state).annotations
  const after = annotated(before, set)
  if (same(before, after)) return undefined
  if (jsonBytes(after) > ANNOTATIONS_MAX_BYTES)
    return refuse(
      'limit',
      `${name === undefined ? 'the plan' : `'${name}'`} would keep more than ${ANNOTATIONS_MAX_BYTES} bytes of annotations`,
      'take some away by setting them to null, or keep them as an output of a task',
    )
  if (name === undefined) emit(draft, { type: 'plan.annotated', set, by })
  else emit(draft, { type: 'task.annotated', task: name, set, by })
  return undefined
}

export function evaluate(draft: Draft, command: CommandOf<'evaluate'>): Refusal | undefined {
  const { task: name, id, by, score, passed, data } = command
  const task = draft.state.tasks.get(name)
  if (task === undefined) return unknownTask(draft, name)
  if (task.evaluations.some(one => one.id === id)) return undefined
  if (score !== undefined && !Number.isFinite(score))
    return refuse('invalid', 'a score must be a number', 'leave it out when there is none')
  const refusal = data === undefined ? undefined : tooLarge({ data }, 'the data of an evaluation', EVALUATION_MAX_BYTES)
  if (refusal !== undefined) return refusal
  emit(draft, {
    type: 'task.evaluated',
    task: name,
    id,
    by,
    visit: task.visit,
    ...(score === undefined ? {} : { score }),
    ...(passed === undefined ? {} : { passed }),
    ...(data === undefined ? {} : { data }),
  })
  return undefined
}

function tooLarge(value: JsonObject, what: string, max: number): Refusal | undefined {
  const bytes = jsonBytes(value)
  if (bytes <= max) return undefined
  if (bytes === Number.POSITIVE_INFINITY) return refuse('limit', `${what} is nested too deep`, 'flatten it')
  return refuse('limit', `${what} has ${bytes} bytes, more than ${max}`, 'keep it as an output of a task')
}
