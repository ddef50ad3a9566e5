// What whoever takes a task in hand must know: what to do, with what, and what to report.

import type { TaskName } from '../id.ts'
import type { JsonObject } from '../json.ts'
import type { Feedback } from '../judgement-event.ts'
import type { Bound, Criterion, FailureMode, OutputSource, TaskDefinition } from '../plan.ts'
import type { TaskState } from '../state.ts'

export interface Briefing {
  readonly task: TaskName
  readonly title: string | null
  readonly description: string | null
  readonly instruction: string | null
  /** What an expanded task was made for: `item`, `index` (from 0), `matrix`. */
  readonly bound: Bound | null
  /** With every reference in them resolved against what was recorded. */
  readonly inputs: JsonObject
  /** Inputs that cannot be resolved as things stand; they are absent above. */
  readonly unresolved: readonly UnresolvedInput[]
  /** What was said by those who sent it back, the last one about this visit. */
  readonly feedback: readonly Feedback[]
  readonly preconditions: readonly Criterion[]
  readonly accept: readonly Criterion[]
  readonly postconditions: readonly Criterion[]
  /** What it may change, as patterns of paths; null when it does not say. */
  readonly effects: readonly string[] | null
  /** What is to be reported. */
  readonly outputs: { readonly [name: string]: OutputSource }
  readonly failureModes: readonly FailureMode[]
  /** The outcomes that can be reported, and where they lead. */
  readonly outcomes: { readonly [outcome: string]: readonly TaskName[] }
}

/** An input, or `title`, `description` or `instruction`. */
export interface UnresolvedInput {
  readonly input: string
  readonly message: string
  readonly hint: string | null
}

/** Of a task's words, those that look at something recorded, with it put in. */
export type Texts = Pick<TaskDefinition, 'title' | 'description' | 'instruction'>

export interface GivenInputs {
  readonly texts?: Texts
  readonly inputs: JsonObject
  readonly unresolved: readonly UnresolvedInput[]
}

export function briefing({ definition, feedback }: TaskState, given: GivenInputs): Briefing {
  const { inputs, unresolved } = given
  const texts = { ...definition, ...given.texts }
  return {
    task: definition.id,
    title: texts.title ?? null,
    description: texts.description ?? null,
    instruction: texts.instruction ?? null,
    bound: definition.bound ?? null,
    inputs,
    unresolved,
    feedback,
    preconditions: definition.preconditions ?? [],
    accept: definition.accept ?? [],
    postconditions: definition.postconditions ?? [],
    effects: definition.effects ?? null,
    outputs: definition.outputs ?? {},
    failureModes: definition.failureModes ?? [],
    outcomes: definition.on ?? {},
  }
}
