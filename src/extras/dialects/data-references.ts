// How step lists say that a value comes from another step: `{{step.key}}`, one output of it, anywhere in a text, and `${step_output}`,
// all of its outputs, as a whole value. Both become expressions of ours, and the step that is looked at is needed. `${name}` of a plan
// with variables is the value itself. What names no step stays text, with a warning; a shell's `${HOME}` inside a command does, too.

import { isTaskName, type TaskName } from '../../domain/id.ts'
import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import { asLiteral, fromLiteral } from '../../format/expression/template.ts'
import { isList } from '../../format/text/source.ts'
import type { DocumentBuilder, Fields } from './document-builder.ts'
import type { References } from './planstore/plan-steps-order.ts'

interface Known {
  readonly variables?: Json | undefined
  /** The steps whose one output is `output`, the text they print. */
  readonly printing?: ReadonlySet<TaskName>
}

/** What the values of a plan's steps may refer to, and which steps each of them turned out to look at. */
export class DataReferences {
  readonly #references: References
  readonly #variables: JsonObject
  readonly #printing: ReadonlySet<TaskName>
  readonly #producers = new Map<TaskName, Set<TaskName>>()

  constructor(references: References, { variables, printing = new Set() }: Known = {}) {
    this.#references = references
    this.#variables = isMap(variables) ? variables : {}
    this.#printing = printing
  }

  /** Data, in which nothing is an expression yet, with expressions in it. What cannot be followed is told, once for each text. */
  read(draft: DocumentBuilder, fields: Fields, step: TaskName, value: Json): Json {
    if (typeof value === 'string') return this.#readText(draft, fields, step, value)
    if (isList(value)) return value.map(item => this.read(draft, fields, step, item))
    if (!isMap(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.read(draft, fields, step, item)]))
  }

  #readText(draft: DocumentBuilder, fields: Fields, step: TaskName, text: string): Json {
    const variable = /^\$\{([\w./-]{1,120})\}$/.exec(text)?.[1]
    if (variable !== undefined) {
      if (Object.hasOwn(this.#variables, variable)) return asLiteral(this.#variables[variable] as Json)
      const from = variable.endsWith(OUTPUT) ? this.#find(step, variable.slice(0, -OUTPUT.length)) : null
      if (from === null) return this.#unknown(draft, fields, text, text)
      return `\${{ ${outputText(from, this.#printing)} }}`
    }
    return text.replace(
      /(?<!\$)\{\{\s*([\w./-]{1,100})\.([A-Za-z_]\w{0,99})\s*\}\}/g,
      (written, word: string, key: string) => {
        const from = this.#find(step, word)
        return from === null
          ? this.#unknown(draft, fields, written, written)
          : `\${{ ${taskPath(from)}.outputs.${key} }}`
      },
    )
  }

  /** Null when no step, or more than one, or only the step itself is called so. */
  #find(step: TaskName, word: string): TaskName | null {
    const found = this.#references.find(word)
    if (found === undefined || found === null || found === step || !isTaskName(found)) return null
    this.#producers.set(step, (this.#producers.get(step) ?? new Set()).add(found))
    return found
  }

  #unknown(draft: DocumentBuilder, fields: Fields, written: string, stays: string): string {
    draft.warn([...fields.to, 'inputs'], `'${written.slice(0, 60)}' names no other step`, 'it stays text')
    return stays
  }

  /** The tasks, each needing what it looks at, unless that comes before it anyway. */
  needed(tasks: readonly JsonObject[]): readonly JsonObject[] {
    if (this.#producers.size === 0) return tasks
    const needs = new Map(tasks.map(task => [task.id as TaskName, (task.needs ?? []) as readonly TaskName[]]))
    return tasks.map(task => {
      const looked = this.#producers.get(task.id as TaskName)
      if (looked === undefined) return task
      const before = above(task.id as TaskName, needs)
      const missing = [...looked].filter(name => !before.has(name))
      return missing.length === 0 ? task : { ...task, needs: [...((task.needs ?? []) as Json[]), ...missing] }
    })
  }
}

/** Everything a task needs, near and far. */
function above(task: TaskName, needs: ReadonlyMap<TaskName, readonly TaskName[]>): ReadonlySet<TaskName> {
  const found = new Set<TaskName>()
  const open = [...(needs.get(task) ?? [])]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue
    found.add(next)
    open.push(...(needs.get(next) ?? []))
  }
  return found
}

const OUTPUT = '_output'
const taskPath = (name: TaskName): string => (/^[A-Za-z_]\w*$/.test(name) ? `tasks.${name}` : `tasks['${name}']`)

/** What a step printed or reported as `output`; all of its outputs where it has none of that name. */
function outputText(step: TaskName, printing: ReadonlySet<TaskName>): string {
  const outputs = `${taskPath(step)}.outputs`
  return printing.has(step) ? `${outputs}.output` : `has(${outputs}.output) ? ${outputs}.output : ${outputs}`
}

const PATH = String.raw`tasks(?:\.([A-Za-z_]\w*)|\['([\w./-]+)'\])\.outputs`
const EITHER = String.raw`has\(${PATH}\.output\) \? ${PATH}\.output : ${PATH}`
const WHOLE = new RegExp(String.raw`^\$\{\{ (?:${PATH}|${EITHER}) \}\}$`)
const PART = new RegExp(String.raw`(?<!\$)\$\{\{ ${PATH}\.([A-Za-z_]\w*) \}\}`, 'g')

/** Inputs as these formats write them: what `read` would make an expression again. Other expressions stay as they are. */
export const printReferences = (value: Json | undefined): Json | undefined =>
  value === undefined ? undefined : fromLiteral(withReferences(value))

function withReferences(value: Json): Json {
  if (typeof value === 'string') {
    const whole = WHOLE.exec(value)
    if (whole !== null) return `\${${whole.slice(1).find(name => name !== undefined)}${OUTPUT}}`
    return value.replace(PART, (_, bare, quoted, key) => `{{${bare ?? quoted}.${key}}}`)
  }
  if (isList(value)) return value.map(withReferences)
  if (!isMap(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withReferences(item)]))
}
