// How a plan file writes one kind of action: a row per kind, each in a file of this folder. No other code in `format` branches on
// kinds. Which fields contain expressions and `${{ … }}` is defined in `domain/actions`.

import type { z } from 'zod'
import type { FieldContent } from '../../domain/actions/action-facts.ts'
import { ACTIONS } from '../../domain/actions/actions.ts'
import type { TaskName } from '../../domain/id.ts'
import type { Action, TaskDefinition } from '../../domain/plan.ts'
import type { DocumentFault, Path } from '../text/diagnostic.ts'

export interface ActionFormat<A extends Action = Action> {
  /** The keys of a task with their schemas. The first one identifies the action; the others only accompany it. */
  readonly keys: Keys | ((task: z.ZodType<TaskDefinition>) => Keys)
  read(keys: TaskKeys): A
  /** The values of the keys, before their schemas print them. */
  print(action: A): TaskKeys
  /** The key of each field that may contain expressions or `${{ … }}`; the first key is named in errors. */
  readonly contents: { readonly [key: string]: FieldContent }
  /** Overrides `contents` where a field is only part of a key's value. */
  places?(task: Raw, path: Path): Iterable<Place>
  /** The subset of its keys that `compensate` allows. */
  readonly undo?: readonly string[]
  /** Rules that the schema cannot express; `task` is the unparsed document. */
  rules?(task: Raw, path: Path, about: RuleContext): Iterable<DocumentFault>
  /** A description for people, such as `runs npm test`; by default the type. */
  words?(action: A, marked: Marked): string
}

export type Raw = { readonly [key: string]: unknown }
type Keys = { readonly [key: string]: z.ZodType }
export type TaskKeys = { readonly [key: string]: unknown }

export interface Place {
  readonly value: unknown
  readonly content: FieldContent
  readonly path: Path
}

export interface RuleContext {
  /** How the scalar at a path was typed. */
  readonly written: (path: Path) => string | null
  /** True inside `compensate`. */
  readonly isUndo: boolean
}

export interface Marked {
  text(value: string): string
  code(value: string): string
  codes(values: readonly (string | TaskName)[]): string
}

type FieldsOf<A extends Action> = Exclude<keyof A, 'type'>

/** Writes each field of the action under the key of the same name. */
export function keyed<A extends Action>(
  type: A['type'],
  fields: { readonly [K in FieldsOf<A>]-?: readonly [key: string, schema: z.ZodType<NonNullable<A[K]>>] },
): Pick<ActionFormat<A>, 'keys' | 'read' | 'print' | 'contents'> {
  const rows = Object.entries(fields) as unknown as readonly (readonly [FieldsOf<A>, readonly [string, z.ZodType]])[]
  const contents = (ACTIONS[type].fields ?? {}) as { readonly [K in FieldsOf<A>]?: FieldContent }
  const given = (pairs: readonly (readonly [PropertyKey, unknown])[]): TaskKeys =>
    Object.fromEntries(pairs.filter(([, value]) => value !== undefined))
  return {
    keys: Object.fromEntries(rows.map(([, row]) => row)),
    contents: given(rows.map(([field, [key]]) => [key, contents[field]])) as ActionFormat['contents'],
    read: taskKeys => ({ type, ...given(rows.map(([field, [key]]) => [field, taskKeys[key]])) }) as A,
    print: action => given(rows.map(([field, [key]]) => [key, action[field]])),
  }
}

/** An agent or a model needs an `instruction`: it is the prompt. `whose` quotes the key of the action. */
export function* needsPrompt(task: Raw, path: Path, whose: string, hint: string): Generator<DocumentFault> {
  if (typeof task.instruction === 'string' && task.instruction.trim() !== '') return
  const key = /'(\w+)'/.exec(whose)![1]!
  yield { path: [...path, key], atKey: true, message: `${whose} needs an 'instruction'`, hint }
}

export const isComputed = (text: unknown): boolean => typeof text === 'string' && text.includes('${{')
