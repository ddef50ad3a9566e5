// Markdown seen line by line: headings, list items with their boxes, rules, code, text. Only what plans are written with; a
// line inside a code fence is code, whatever it looks like. Every line is looked at once, so a long text takes no longer than
// its length.

import type { Source } from '../../../format/text/source.ts'

export interface Line {
  /** Counted from 1. */
  readonly at: number
  readonly raw: string
  /** Columns of blanks in front; a tab goes on to the next multiple of four. */
  readonly indent: number
  readonly form: Form
}

export type Form =
  | { readonly type: 'blank' | 'text' | 'code' | 'rule' }
  | { readonly type: 'heading'; readonly level: number; readonly text: string }
  | Item

export interface Item {
  readonly type: 'item'
  /** `1` of `1.`; null for a bullet. */
  readonly number: string | null
  /** What stands in `[ ]`; null without a box. */
  readonly box: string | null
  /** The column at which what belongs to the item begins. */
  readonly content: number
  readonly text: string
}

const cache = new WeakMap<Source, readonly Line[]>()

export function markdownLines(source: Source): readonly Line[] {
  let lines = cache.get(source)
  if (lines === undefined) {
    lines = readLines(source.lines)
    cache.set(source, lines)
  }
  return lines
}

/** Markdown is what is neither JSON nor a document of our own. */
export function mayBeMarkdown(source: Source): boolean {
  return !/^\s*\{/.test(source.text) && !source.lines.some(line => /^["']?planfold["']?[ \t]*:/.test(line))
}

function readLines(lines: readonly string[]): readonly Line[] {
  let fence: string | null = null
  return lines.map((raw, index) => {
    const start = /^[ \t]*/.exec(raw)![0]
    const indent = columns(start)
    const rest = raw.slice(start.length)
    const line = (form: Form): Line => ({ at: index + 1, raw, indent, form })
    const mark = /^(`{3,}|~{3,})/.exec(rest)?.[1]
    if (fence !== null) {
      const closes = mark !== undefined && mark[0] === fence[0] && mark.length >= fence.length
      if (closes && /^[`~]+[ \t]*$/.test(rest)) fence = null
      return line({ type: 'code' })
    }
    if (mark !== undefined && !(mark[0] === '`' && rest.slice(mark.length).includes('`'))) {
      fence = mark
      return line({ type: 'code' })
    }
    return line(formOf(rest, indent))
  })
}

function formOf(rest: string, indent: number): Form {
  if (rest === '') return { type: 'blank' }
  const heading = /^(#{1,6})(?:[ \t]+(.*))?$/s.exec(rest)
  if (heading !== null && indent < 4)
    return { type: 'heading', level: heading[1]!.length, text: trimmed(heading[2] ?? '') }
  if (/^(?:-{3,}|\*{3,}|_{3,})[ \t]*$/.test(rest)) return { type: 'rule' }
  const item = /^(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+(.*))?$/s.exec(rest)
  if (item === null) return { type: 'text' }
  const text = item[2] ?? ''
  const marker = item[1] === undefined ? 1 : item[1].length + 1
  const box = /^\[([^\]])\](?:[ \t]+(.*))?$/s.exec(text)
  return {
    type: 'item',
    number: item[1] ?? null,
    box: box === null ? null : box[1]!,
    content: indent + marker + 1,
    text: trimmed(box === null ? text : (box[2] ?? '')),
  }
}

function columns(blanks: string): number {
  let column = 0
  for (const blank of blanks) column = blank === '\t' ? column + 4 - (column % 4) : column + 1
  return column
}

/** A line without the blanks up to a column. */
export function dedent(raw: string, column: number): string {
  let at = 0
  let seen = 0
  while (seen < column && (raw[at] === ' ' || raw[at] === '\t')) {
    seen = raw[at] === '\t' ? seen + 4 - (seen % 4) : seen + 1
    at++
  }
  return raw.slice(at)
}

/** Without blanks at both ends; other kinds of white space are text. */
export function trimmed(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && (text[start] === ' ' || text[start] === '\t')) start++
  while (end > start && (text[end - 1] === ' ' || text[end - 1] === '\t')) end--
  return text.slice(start, end)
}
