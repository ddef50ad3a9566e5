// What a string at a place of a plan document is read as later on: plain text, text with `${{ }}`, an expression, a script.
// A parameter's value lands differently in each, and is data in all of them.

import type { FieldContent } from '../../domain/actions/action-facts.ts'
import { isMap, type Json } from '../../domain/json.ts'
import type { ValueKind } from '../../domain/plan.ts'
import { WRITTEN } from '../../domain/plan-rules/task-fields.ts'
import { WRITTEN_ACTIONS } from '../../format/actions/actions.ts'

export type TextKind =
  /** Nobody reads more into it, nor into what is inside it. */
  | 'text'
  /** `${{ }}` is resolved in it and inside it; a value keeps its type. */
  | 'live'
  /** The same, but whatever stands here is text. */
  | 'argument'
  | 'expression'
  /** A list is argv, a string is a script. */
  | 'command'
  /** A program's argument that an interpreter reads as code. */
  | 'code'
  | 'plan'
  /** Tasks and their parts: what is inside goes by its key, a string is plain text. */
  | 'parts'

const VALUES: { readonly [K in ValueKind]?: TextKind } = {
  prose: 'argument',
  template: 'argument',
  environment: 'argument',
  inputs: 'live',
  expression: 'expression',
  command: 'command',
  criteria: 'parts',
  modes: 'parts',
  items: 'expression',
  undo: 'parts',
}

const CONTENTS: { readonly [C in FieldContent]: TextKind } = {
  command: 'command',
  text: 'argument',
  texts: 'live',
  values: 'live',
  request: 'live',
  expression: 'expression',
  criteria: 'parts',
}

const PARTS: { readonly [key: string]: TextKind } = {
  ...Object.fromEntries(WRITTEN.flatMap(({ key, value }) => (VALUES[value] ? [[key, VALUES[value]]] : []))),
  ...Object.fromEntries(
    WRITTEN_ACTIONS.flatMap(({ contents }) =>
      Object.entries(contents).map(([key, content]) => [key, CONTENTS[content]]),
    ),
  ),
  // A tag and a message are text, whatever stands there.
  git: 'argument',
  gate: 'parts',
  subplan: 'parts',
  question: 'argument',
  show: 'argument',
  checks: 'parts',
  check: 'command',
  detect: 'parts',
}

/** The kind of each item of a list. */
export function kindOfItems(kind: TextKind, list: readonly Json[]): (index: number) => TextKind {
  if (kind !== 'command') return () => kind
  const code = codeArguments(list)
  return index => (code.has(index) ? 'code' : 'argument')
}

/** The kind of what stands under this key. */
export function kindUnder(kind: TextKind, key: string): TextKind {
  if (kind === 'plan') return key === 'done' || key === 'tasks' ? 'parts' : 'text'
  // A `for_each` may also be written as a map, with its expression under `in`.
  if (kind === 'expression') return key === 'in' ? 'expression' : 'text'
  if (kind === 'parts') return Object.hasOwn(PARTS, key) ? PARTS[key]! : 'text'
  return kind
}

const SHELL = /(^|\/)((ba|da|z|k|a|c|tc|fi)?sh|pwsh|powershell)$/i
const SHELL_CODE = /^(-\w*c|-command|--command)$/i
const LANGUAGE = /(^|\/)(node|deno|bun|tsx|python[\d.]*|perl|ruby|php|lua|osascript)$/i
const LANGUAGE_CODE = /^(-\w*[ceEpr]|--eval|--print|--run)$/

/** The arguments that an interpreter called by this argv would read as code: they are scripts, whatever list they stand in. */
function codeArguments(argv: readonly Json[]): ReadonlySet<number> {
  const words = argv.map(word => (isMap(word) && Array.isArray(word.items) ? word.items[0] : word)).map(String)
  const shell = words.findIndex(word => SHELL.test(word))
  const language = words.findIndex(word => LANGUAGE.test(word))
  // Behind the name of a program, options are that program's own.
  const program = words.findIndex((word, index) => index > language && !word.startsWith('-'))
  const isCode = (word: string, index: number): boolean =>
    (shell !== -1 && index > shell && SHELL_CODE.test(word)) ||
    (language !== -1 && index > language && (program === -1 || index < program) && LANGUAGE_CODE.test(word))
  return new Set(words.flatMap((word, index) => (isCode(word, index) ? [index + 1] : [])))
}
