// What to do next, as a value: text with steps in it. A step names an action and its object; each face words it as a command, a request or
// a button. A hint without a step is plain text.

import type { EditChoice } from './event.ts'

export type Hint = string | readonly HintPart[]
export type HintPart = string | Step | Allowed

/** `quoted`: part of a sentence, which a face that prints commands must delimit. */
export type Step = { [N in StepName]: { readonly next: N; readonly quoted?: true } & StepFields[N] }[StepName]
export type StepName = keyof StepFields
export type StepOf<N extends StepName> = Extract<Step, { readonly next: N }>

/** An allowed value in a refusal, worded as the face lists it. */
export interface Allowed {
  readonly may: string
  readonly plan?: string
}

export type Wording = (part: Step | Allowed) => string

type Nothing = Readonly<Record<never, never>>
/** The plan is omitted when it is obvious. */
interface OfPlan {
  readonly plan?: string
}
interface OfTask extends OfPlan {
  readonly task?: string
}
/** The step needs a reason; this text stands in for it. */
interface Because {
  readonly reason?: string
}

export interface StepFields {
  readonly list: Nothing
  readonly inbox: Nothing
  readonly formats: Nothing
  readonly validate: Nothing
  readonly prune: Nothing
  readonly doctor: Nothing
  readonly check: { readonly readData?: true }
  readonly import: { readonly start?: true }
  readonly 'new-from-template': Nothing
  readonly 'lift-halt': Nothing
  readonly 'list-tokens': Nothing
  readonly 'revoke-token': { readonly name: string }
  /** Allows an address for every plan of the user, not only for one. */
  readonly 'allow-network': { readonly address: string }
  readonly 'name-secret': { readonly name: string }

  readonly show: OfPlan
  readonly status: OfPlan
  readonly proposals: OfPlan
  readonly gates: OfPlan
  readonly checkpoints: OfPlan
  readonly budget: OfPlan
  readonly 'budget-add': OfTask & { readonly what?: string; readonly amount?: string }
  readonly handoff: OfPlan
  readonly digest: OfPlan
  readonly audit: OfPlan
  readonly log: OfTask & { readonly output?: true }
  readonly next: OfPlan & { readonly explain?: true }

  /** `file`: runs this document instead of an existing plan. */
  readonly run: OfPlan & { readonly file?: string; readonly again?: true }
  readonly resume: OfPlan
  readonly pause: OfPlan
  readonly cancel: OfPlan
  readonly revise: OfPlan
  readonly propose: OfPlan
  readonly converge: OfPlan
  readonly adopt: OfPlan
  readonly restore: OfPlan & { readonly file?: string }
  readonly note: OfPlan & Because
  readonly review: OfPlan & Because & { readonly verdict?: 'approve' | 'reject' }
  readonly rollback: OfPlan & RollbackFields & { readonly to?: number; readonly dryRun?: true }
  readonly undo: OfPlan & RollbackFields

  readonly claim: OfTask
  readonly done: OfTask
  /** Reported as done, with changes by others. */
  readonly 'not-mine': OfTask & { readonly paths: readonly string[] }
  readonly fail: OfTask & Because
  readonly retry: OfTask & { readonly repeat?: true }
  readonly skip: OfTask & Because
  readonly release: OfTask
  readonly approve: OfTask
  readonly reject: OfTask & Because
  readonly 'push-back': OfTask & Because
  readonly choose: OfTask & Because & { readonly option: string }
  readonly answer: OfTask & { readonly fields: readonly string[] }
  readonly accept: OfPlan & Because & { readonly proposal: string }
  readonly decline: OfPlan & Because & { readonly proposal: string }
  /** What happens to completed work that is unsafe to repeat; an option of the command. */
  readonly 'unsafe-work': { readonly choice: 'keep' | 'repeat' }
  /** The total budget of a planner run; an option when the request is repeated. */
  readonly 'drafting-budget': { readonly key: 'calls' | 'tokens' | 'cost'; readonly amount: number }
}

interface RollbackFields {
  readonly paths?: readonly string[]
  readonly tasks?: readonly string[]
  readonly filesOnly?: true
  readonly keepGit?: true
  readonly includeUnclaimed?: true
  readonly conflicts?: EditChoice
}

export function next<N extends StepName>(name: N, ...[fields]: FieldsFor<N>): StepOf<N> {
  return { next: name, ...fields } as unknown as StepOf<N>
}

export function quoted<N extends StepName>(name: N, ...[fields]: FieldsFor<N>): StepOf<N> {
  return { next: name, ...fields, quoted: true } as unknown as StepOf<N>
}

type FieldsFor<N extends StepName> = Nothing extends StepFields[N] ? [fields?: StepFields[N]] : [fields: StepFields[N]]

export function advise(texts: TemplateStringsArray, ...values: readonly (Hint | HintPart | number)[]): Hint {
  const parts = texts.flatMap((text, at): readonly HintPart[] => {
    const value = values[at]
    if (value === undefined) return [text]
    return isList(value) ? [text, ...value] : [text, typeof value === 'number' ? String(value) : value]
  })
  return tidy(parts)
}

/** A step to a log without a plan is about this task. */
export function aimHint(hint: Hint, target: { readonly plan: string; readonly task: string }): Hint {
  const isOpen = (part: HintPart): part is StepOf<'log'> =>
    typeof part !== 'string' && 'next' in part && part.next === 'log' && part.plan === undefined
  return tidy(partsOf(hint).map(part => (isOpen(part) ? { ...part, ...target } : part)))
}

export function joinHints(hints: readonly Hint[], separator: string): Hint {
  return tidy(hints.flatMap((hint, at) => [...(at === 0 ? [] : [separator]), ...partsOf(hint)]))
}

/** Limits the characters of text; steps are never cut. */
export function clipHint(hint: Hint, max: number): Hint {
  const kept: HintPart[] = []
  let room = max
  for (const part of partsOf(hint)) {
    if (typeof part === 'string' && part.length > room) return tidy([...kept, `${part.slice(0, room)}…`])
    if (typeof part === 'string') room -= part.length
    kept.push(part)
  }
  return tidy(kept)
}

export function wordHint(hint: Hint, word: Wording): string {
  return partsOf(hint)
    .map(part => (typeof part === 'string' ? part : word(part)))
    .join('')
}

/** For programs without a face of their own: a step is its name and its object. */
export const plainHint = (hint: Hint): string =>
  wordHint(hint, part => ('may' in part || part.quoted !== true ? plainStep(part) : `\`${plainStep(part)}\``))

export function plainStep(part: Step | Allowed): string {
  if ('may' in part) return part.may
  const { next: name, plan, task } = part as Step & { readonly plan?: string; readonly task?: string }
  return [name, plan, task].filter(word => word !== undefined).join(' ')
}

/** Is a parsed JSON value a hint with steps? */
export const isHintList = (value: unknown): value is readonly HintPart[] =>
  Array.isArray(value) && value.some(isHintPart) && value.every(part => typeof part === 'string' || isHintPart(part))

const isHintPart = (part: unknown): part is Step | Allowed =>
  typeof part === 'object' &&
  part !== null &&
  (('next' in part && typeof part.next === 'string') || ('may' in part && typeof part.may === 'string'))

export const stepsIn = (hint: Hint): readonly Step[] =>
  partsOf(hint).filter((part): part is Step => typeof part !== 'string' && 'next' in part)

export const partsOf = (hint: Hint): readonly HintPart[] => (typeof hint === 'string' ? [hint] : hint)

const isList = (value: Hint | HintPart | number): value is readonly HintPart[] => Array.isArray(value)

/** Joins neighbouring texts; a hint without steps is a text. */
function tidy(parts: readonly HintPart[]): Hint {
  const joined: HintPart[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (typeof part === 'string' && typeof last === 'string') joined[joined.length - 1] = last + part
    else if (part !== '') joined.push(part)
  }
  if (joined.length === 0) return ''
  return joined.length === 1 && typeof joined[0] === 'string' ? joined[0] : joined
}
