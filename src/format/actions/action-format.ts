// How a plan file writes a kind of action: one row for each kind, in a file of its own in this folder. Nobody else in `format` branches on
// kinds. Where expressions and `${{ … }}` stand in its fields is said in `domain/actions`.

import type { z } from 'zod'
import type { FieldContent } from '../../domain/actions/action-facts.ts'
import { ACTIONS } from '../../domain/actions/actions.ts'
import type { TaskName } from '../../domain/id.ts'
import type { Action, TaskDefinition } from '../../domain/plan.ts'
import type { DocumentFault, Path } from '../text/diagnostic.ts'

export interface ActionFormat<A extends Action = Action> {
  /** The keys of a task, each with its schema; the first says that a task has this action, the others only stand beside it. */
  readonly keys: Keys | ((task: z.ZodType<TaskDefinition>) => Keys)
  read(said: Said): A
  /** What stands under the keys, before their schemas print it. */
  print(action: A): Said
  /** Under which key stands what expressions and `${{ … }}` are looked for in; the first is named when one is wrong. */
  readonly contents: { readonly [key: string]: FieldContent }
  /** The same where it is not all that stands under a key. */
  places?(task: Raw, path: Path): Iterable<Place>
  /** Of its keys those that `compensate` may have. */
  readonly undo?: readonly string[]
  /** What no schema says well; `task` is as it was written. */
  rules?(task: Raw, path: Path, about: RuleContext): Iterable<DocumentFault>
  /** As people read it: `runs npm test`. Its type when absent. */
  words?(action: A, marked: Marked): string
}

export type Raw = { readonly [key: string]: unknown }
type Keys = { readonly [key: string]: z.ZodType }
export type Said = { readonly [key: string]: unknown }

/** A value of the document, and what stands in it. */
export interface Place {
  readonly value: unknown
  readonly content: FieldContent
  readonly path: Path
}

export interface RuleContext {
  /** How the scalar at a path was typed. */
  readonly written: (path: Path) => string | null
  /** It stands in `compensate`. */
  readonly isUndo: boolean
}

/** Texts of a plan as a page shows them. */
export interface Marked {
  text(value: string): string
  code(value: string): string
  codes(values: readonly (string | TaskName)[]): string
}

type FieldsOf<A extends Action> = Exclude<keyof A, 'type'>

/** Every field of the action under a key of its own. */
export function keyed<A extends Action>(
  type: A['type'],
  fields: { readonly [K in FieldsOf<A>]-?: readonly [key: string, schema: z.ZodType<NonNullable<A[K]>>] },
): Pick<ActionFormat<A>, 'keys' | 'read' | 'print' | 'contents'> {
  const rows = Object.entries(fields) as unknown as readonly (readonly [FieldsOf<A>, readonly [string, z.ZodType]])[]
  const contents = (ACTIONS[type].fields ?? {}) as { readonly [K in FieldsOf<A>]?: FieldContent }
  const given = (pairs: readonly (readonly [PropertyKey, unknown])[]): Said =>
    Object.fromEntries(pairs.filter(([, value]) => value !== undefined))
  return {
    keys: Object.fromEntries(rows.map(([, row]) => row)),
    contents: given(rows.map(([field, [key]]) => [key, contents[field]])) as ActionFormat['contents'],
    read: said => ({ type, ...given(rows.map(([field, [key]]) => [field, said[key]])) }) as A,
    print: action => given(rows.map(([field, [key]]) => [key, action[field]])),
  }
}

/** The instruction of a task is what is asked of whoever carries it out. */
export function* needsPrompt(task: Raw, path: Path, whose: string, hint: string): Generator<DocumentFault> {
  if (typeof task.instruction === 'string' && task.instruction.trim() !== '') return
  const key = /'(\w+)'/.exec(whose)![1]!
  yield { path: [...path, key], atKey: true, message: `${whose} needs an 'instruction'`, hint }
}

export const isComputed = (text: unknown): boolean => typeof text === 'string' && text.includes('${{')
