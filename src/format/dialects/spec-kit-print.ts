// How a `tasks.md` is written: the kept text with the tasks in their places, each line as it was unless the task has changed.

import type { JsonObject } from '../../domain/json.ts'
import { sameNames } from './backlogs.ts'
import { parts } from './spec-kit-text.ts'

export const NAME = 'spec-kit'

/** What a line says of a task. */
export interface Row {
  readonly id: string
  readonly title?: string
  readonly description?: string
  readonly needs?: readonly string[]
  readonly labels?: readonly string[]
  readonly milestone?: string
}
export interface Placed extends Row {
  readonly checked: boolean
  readonly kept: JsonObject
}

/** The whole text. Without `between`, the usual one: a heading for every phase. */
export function render(title: string | undefined, rows: readonly Placed[], between: readonly string[] | null): string {
  const flags = sideBySide(rows)
  const text: string[] = []
  let block = 0
  let phase: string | undefined
  let phases = 0
  if (between === null) text.push(title === undefined ? '# Tasks\n\n' : `# Tasks: ${title}\n\n`)
  for (const [index, row] of rows.entries()) {
    const at = row.kept.at
    if (between !== null && typeof at === 'number')
      for (; block <= at && block < between.length - 1; block++) text.push(between[block]!)
    if (between === null && row.milestone !== phase && row.milestone !== undefined) {
      phase = row.milestone
      text.push(`${index === 0 ? '' : '\n'}## Phase ${++phases}: ${phase}\n\n`)
    }
    text.push(lineOf(row, flags[index]!), moreOf(row))
  }
  const whole = [...text, ...(between ?? []).slice(block)].join('')
  return title === undefined || between === null ? whole : entitled(whole, title)
}

function lineOf(row: Placed, usual: boolean): string {
  const { kept, checked } = row
  const id = typeof kept.id === 'string' ? kept.id : row.id
  const parallel = typeof kept.parallel === 'boolean' ? kept.parallel : usual
  const { line } = kept
  const [item] = typeof line === 'string' ? parts(line).items : []
  const same = item?.id === id && item.title === (row.title ?? '') && sameNames(item.stories, row.labels ?? [])
  if (item === undefined || !same) return taskLine(row, id, checked, parallel)
  return item.checked === checked ? item.text : item.text.replace(/\[[ xX]\]/, checked ? '[x]' : '[ ]')
}

export function taskLine(row: Row, id: string, checked: boolean, parallel: boolean): string {
  const tags = [...(parallel ? ['P'] : []), ...(row.labels ?? [])].map(tag => ` [${tag}]`).join('')
  const title = row.title === undefined ? '' : ` ${row.title}`
  return `- [${checked ? 'x' : ' '}] ${id}${tags}${title}\n`
}

function moreOf({ kept, description = '' }: Placed): string {
  const { more } = kept
  return typeof more === 'string' && dedent(more) === description ? more : indented(description)
}

/** Which tasks go side by side with a neighbour: those that wait for the same. */
export function sideBySide(rows: readonly Row[]): readonly boolean[] {
  const twins = rows.map((row, index) => {
    const next = rows[index + 1]
    return next !== undefined && next.milestone === row.milestone && sameNames(row.needs ?? [], next.needs ?? [])
  })
  return rows.map((_, index) => twins[index]! || (index > 0 && twins[index - 1]!))
}

export function dedent(more: string): string {
  const lines = more.replace(/\r?\n$/, '').split(/\r?\n/)
  const indent = lines.reduce((least, line) => Math.min(least, line.length - line.trimStart().length), more.length)
  return lines.map(line => line.slice(indent)).join('\n')
}

/** A line of its own would be read by itself, as a task or a phase. */
export function oneLine(text: string): string {
  return text.replace(/[\r\n\u2028\u2029]+/g, ' ')
}

/** The text without a line that would be read as a task, or that would hide the tasks below it. */
export function harmless(text: string): string {
  return text.replace(/^(\s*)(?=[-*] \[|```|~~~)/gm, '$1\\').replaceAll('<!--', '<\\!--')
}

export function indented(text: string): string {
  return text === '' ? '' : `${text.replace(/^/gm, '  ')}\n`
}

function entitled(text: string, title: string): string {
  return parts(text).title === title ? text : text.replace(/^# +Tasks: *.*$/m, () => `# Tasks: ${title}`)
}
