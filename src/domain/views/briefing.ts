// What whoever takes a task in hand must know: what to do, with what, and what to report.

import { scopeOf } from '../effect.ts'
import type { Event } from '../event.ts'
import type { Sha256, TaskName } from '../id.ts'
import type { JsonObject } from '../json.ts'
import type { Feedback } from '../judgement-event.ts'
import type { Bound, Criterion, FailureMode, OutputSource, PlanDefinition, TaskDefinition } from '../plan.ts'
import type { Failure, Verdict } from '../result.ts'
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
  /** Where it may write, by its own word or that of the plan; null when neither says. */
  readonly write: readonly string[] | null
  /** How earlier attempts ended, and which reports of this one were refused; the last ones, oldest first. */
  readonly earlier: readonly EarlierAttempt[]
  /** What is to be reported. */
  readonly outputs: { readonly [name: string]: OutputSource }
  readonly failureModes: readonly FailureMode[]
  /** The outcomes that can be reported, and where they lead. */
  readonly outcomes: { readonly [outcome: string]: readonly TaskName[] }
}

export interface EarlierAttempt {
  readonly visit: number
  readonly attempt: number
  /** Who had claimed it; null when the engine carried it out. */
  readonly by: string | null
  /** `refused`: it was reported as done, was not accepted, and went on. */
  readonly how: 'failed' | 'lost' | 'refused'
  readonly why: string
  /** Each criterion that did not hold, and what was seen. */
  readonly unmet: readonly { readonly criterion: string; readonly evidence: string | null }[]
  /** What it reported. */
  readonly outputs: JsonObject | null
  /** The files it left changed, at most twenty, and how many more; null when nobody looked. */
  readonly left: { readonly paths: readonly string[]; readonly more: number } | null
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

export function briefing(
  plan: PlanDefinition,
  { definition, feedback }: TaskState,
  given: GivenInputs,
  earlier: readonly EarlierAttempt[],
): Briefing {
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
    write: scopeOf(plan, definition),
    earlier,
    outputs: definition.outputs ?? {},
    failureModes: definition.failureModes ?? [],
    outcomes: definition.on ?? {},
  }
}

/** An attempt that came to nothing, with the change set of what it wrote. */
export interface Trial extends Omit<EarlierAttempt, 'left'> {
  readonly changes: Sha256 | null
  readonly paths: number | null
}

/** What the journal says of the attempts of a task that came to nothing; the last few, oldest first. */
export function trialsIn(events: Iterable<Event>, task: TaskName): readonly Trial[] {
  const found: Trial[] = []
  let by: string | null = null
  for (const event of events) {
    if (!('task' in event) || event.task !== task) continue
    if (event.type === 'attempt.started') by = event.claim?.by ?? null
    else if (event.type === 'attempt.failed') {
      const { failure, verdicts, outputs = null, wrote } = event.result
      const seen = { changes: wrote?.changes ?? null, paths: wrote?.paths ?? null }
      found.push({ ...of(event, by), how: 'failed', why: failure.message, unmet: unmetIn(verdicts), outputs, ...seen })
    } else if (event.type === 'report.refused') {
      const { failure, verdicts } = event
      const none = { outputs: null, changes: null, paths: null }
      found.push({ ...of(event, by), how: 'refused', why: failure.message, unmet: unmetIn(verdicts), ...none })
    } else if (event.type === 'attempt.lost' && event.begun !== false) {
      const none = { unmet: [], outputs: null, changes: null, paths: null }
      found.push({ ...of(event, by), how: 'lost', why: event.reason, ...none })
    }
  }
  return found.slice(-TRIALS_MAX)
}

const TRIALS_MAX = 5

const of = ({ visit, attempt }: { readonly visit: number; readonly attempt: number }, by: string | null) => ({
  visit,
  attempt,
  by,
})

const unmetIn = (verdicts: readonly Verdict[] = []): EarlierAttempt['unmet'] =>
  verdicts.flatMap(({ criterion, holds, evidence = null }) => (holds === false ? [{ criterion, evidence }] : []))

/** A report that said `done` and was not accepted. */
export interface Unaccepted {
  /** The claim stays, and so does the attempt. */
  readonly kept: boolean
  readonly failure: Failure
  readonly verdicts: readonly Verdict[]
}

/** Null when what was reported is accepted. */
export function unacceptedIn(events: readonly Event[]): Unaccepted | null {
  for (const event of events) {
    if (event.type === 'report.refused') return { kept: true, failure: event.failure, verdicts: event.verdicts }
    if (event.type === 'attempt.failed')
      return { kept: false, failure: event.result.failure, verdicts: event.result.verdicts ?? [] }
  }
  return null
}
