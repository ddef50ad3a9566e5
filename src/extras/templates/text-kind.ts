// What a string at a place of a plan document is read as later on: plain text, text with `${{ }}`, an expression, a script, a
// name. A parameter's value lands differently in each, and is data in all of them.

import type { FieldContent } from '../../domain/actions/action-facts.ts'
import { isMap, type Json } from '../../domain/json.ts'
import type { ValueKind } from '../../domain/plan.ts'
import { WRITTEN } from '../../domain/plan-rules/task-fields.ts'
import { WRITTEN_ACTIONS } from '../../format/actions/actions.ts'

export type TextKind =
  /** Nobody reads more into it. */
  | 'text'
  /** `${{ }}` is resolved in it; a value keeps its type. */
  | 'live'
  /** `${{ }}` is resolved in it; whatever stands here is text. */
  | 'argument'
  /** An expression: a value arrives as a literal. */
  | 'expression'
  /** A list is argv, a string is a script. */
  | 'command'
  | 'plan'
  | 'tasks'
  | 'task'
  | 'undo'
  | 'gate'
  | 'criteria'
  | 'criterion'
  | 'modes'
  | 'mode'
  | 'detect'
  | 'each'

type Step = { readonly items?: TextKind; readonly keys?: { readonly [key: string]: TextKind } }

/** The fields of a task by the kind of their value. */
const VALUES: { readonly [K in ValueKind]?: TextKind } = {
  prose: 'argument',
  template: 'argument',
  environment: 'argument',
  inputs: 'live',
  expression: 'expression',
  command: 'command',
  criteria: 'criteria',
  modes: 'modes',
  items: 'each',
  undo: 'undo',
}

const CONTENTS: { readonly [C in FieldContent]: TextKind } = {
  command: 'command',
  text: 'argument',
  texts: 'live',
  values: 'live',
  request: 'live',
  expression: 'expression',
  criteria: 'criteria',
}

const ACTIONS = Object.fromEntries(
  WRITTEN_ACTIONS.flatMap(({ contents }) => Object.entries(contents).map(([key, content]) => [key, CONTENTS[content]])),
)

const STEPS: { readonly [place in TextKind]: Step } = {
  text: {},
  live: {},
  argument: {},
  expression: {},
  command: { items: 'argument' },
  plan: { keys: { done: 'criteria', tasks: 'tasks' } },
  gate: { keys: { question: 'argument', checks: 'criteria' } },
  tasks: { items: 'task' },
  task: {
    keys: {
      ...Object.fromEntries(WRITTEN.flatMap(({ key, value }) => (VALUES[value] ? [[key, VALUES[value]]] : []))),
      ...ACTIONS,
      // A tag and a message are text, whatever stands there.
      git: 'argument',
      gate: 'gate',
      subplan: 'tasks',
    },
  },
  undo: { keys: ACTIONS },
  criteria: { items: 'criterion' },
  criterion: { keys: { check: 'command', expect: 'expression' } },
  modes: { items: 'mode' },
  mode: { keys: { detect: 'detect' } },
  detect: { keys: { expect: 'expression' } },
  each: { keys: { in: 'expression' } },
}

const INHERITED: ReadonlySet<TextKind> = new Set(['live', 'argument'])

/** The place of each item of a list. */
export function itemPlaces(place: TextKind, list: readonly Json[]): (index: number) => TextKind {
  const code = place === 'command' ? codeArguments(list) : null
  return index => (code?.has(index) === true ? 'command' : inside(place, index))
}

/** The place of what stands under this key, or in this list, of something at `place`. */
export function inside(place: TextKind, key: string | number): TextKind {
  if (INHERITED.has(place)) return place
  const { items, keys } = STEPS[place]
  if (typeof key === 'number') return items ?? 'text'
  return keys !== undefined && Object.hasOwn(keys, key) ? keys[key]! : 'text'
}

/** What a string at this place is: only a `command` and an `each` mean something else as a string. */
export function asString(place: TextKind): 'text' | 'live' | 'argument' | 'expression' | 'script' {
  switch (place) {
    case 'live':
    case 'argument':
    case 'expression':
      return place
    case 'command':
      return 'script'
    case 'each':
      return 'expression'
    default:
      return 'text'
  }
}

const SHELL = /(^|\/)((ba|da|z|k|a|c|tc|fi)?sh|pwsh|powershell)$/i
const SHELL_CODE = /^(-\w*c|-command|--command)$/i
const LANGUAGE = /(^|\/)(node|deno|bun|tsx|python[\d.]*|perl|ruby|php|lua|osascript)$/i
const LANGUAGE_CODE = /^(-\w*[ceEpr]|--eval|--print|--run)$/

/** The arguments that an interpreter called by this argv would read as code: they are scripts, whatever list they stand in. */
function codeArguments(argv: readonly Json[]): ReadonlySet<number> {
  const words = argv.map(word => (isMap(word) ? word.item : word)).map(word => (typeof word === 'string' ? word : ''))
  const shell = words.findIndex(word => SHELL.test(word))
  const language = words.findIndex(word => LANGUAGE.test(word))
  // Behind the name of a program, options are that program's own.
  const program = words.findIndex((word, index) => index > language && !word.startsWith('-'))
  const isCode = (word: string, index: number): boolean =>
    (shell !== -1 && index > shell && SHELL_CODE.test(word)) ||
    (language !== -1 && index > language && (program === -1 || index < program) && LANGUAGE_CODE.test(word))
  return new Set(words.flatMap((word, index) => (isCode(word, index) ? [index + 1] : [])))
}
