// A table for the terminal: columns as wide as their content, the last one cut to what is left. Cells are plain text,
// escaped here; colour is laid on after measuring.

import stringWidth from 'fast-string-width'
import { escapeForTerminal } from '../../safety/text/terminal.ts'
import type { Paint } from './paint.ts'

// How many columns a text takes on a terminal, and how to cut it to fit. The text must be escaped; colours take no column. It is cut
// between clusters: a letter with its accents, an emoji made of several characters.

// Made when the first text is cut: making it takes longer than printing most tables.
let segmenter: Intl.Segmenter | undefined
const clusters = (text: string): Intl.Segments => {
  segmenter ??= new Intl.Segmenter()
  return segmenter.segment(text)
}

export const width = (text: string): number => stringWidth(text)

export function cut(text: string, columns: number): string {
  if (columns <= 0) return ''
  return width(text) <= columns ? text : `${fitting(text, columns - 1)}…`
}

export function wrap(text: string, columns: number): readonly string[] {
  const room = Math.max(8, columns)
  const lines: string[] = []
  let rest = text
  while (width(rest) > room) {
    const most = fitting(rest, room + 1)
    const space = most.lastIndexOf(' ')
    const at = space > 0 ? space : fitting(rest, room).length
    lines.push(rest.slice(0, at))
    rest = rest.slice(space > 0 ? at + 1 : at)
  }
  return [...lines, rest]
}

/** The same as one text, the lines below the first indented. What stands in backticks, a command, is kept together. */
export function hanging(text: string, indent: number, columns: number | undefined): string {
  if (columns === undefined || indent + width(text) <= columns) return text
  const bound = text.replace(/`[^`]*`/g, command => command.replaceAll(' ', '\u00a0'))
  return wrap(bound, columns - indent)
    .join(`\n${' '.repeat(indent)}`)
    .replaceAll('\u00a0', ' ')
}

/** As much from the beginning as fits. With room for two columns it is never nothing, so that cutting off piece by piece ends. */
export function fitting(text: string, columns: number): string {
  if (width(text) <= columns) return text
  let taken = 0
  for (const { segment, index } of clusters(text)) {
    taken += width(segment)
    if (taken <= columns) continue
    // Marks upon marks make a cluster as wide as one likes. No character takes more than two columns.
    return index > 0 ? text.slice(0, index) : [...segment].slice(0, columns / 2).join('')
  }
  return text
}

export function fittingEnd(text: string, columns: number): string {
  let taken = 0
  let from = text.length
  for (const { segment, index } of [...clusters(text)].reverse()) {
    taken += width(segment)
    if (taken > columns) break
    from = index
  }
  return text.slice(from)
}

export function padded(text: string, columns: number): string {
  const kept = cut(text, columns)
  return kept + ' '.repeat(Math.max(0, columns - width(kept)))
}

export type Cell = string | { readonly text: string; readonly tint: (text: string) => string }

const CELL_MAX = 60

export function table(
  paint: Paint,
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns: number | null,
): readonly string[] {
  const texts = rows.map(row =>
    row.map(cell => escapeForTerminal(typeof cell === 'string' ? cell : cell.text).replaceAll('\t', ' ')),
  )
  const widths = heads.map((head, at) =>
    Math.min(CELL_MAX, Math.max(width(head), ...texts.map(row => width(row[at] ?? '')))),
  )
  const last = heads.length - 1
  const before = widths.slice(0, last).reduce((sum, each) => sum + each + 2, 0)
  const lastWidth = columns === null ? Number.MAX_SAFE_INTEGER : Math.max(8, columns - before - 1)

  const line = (cells: readonly string[], tints: readonly ((text: string) => string)[]): string =>
    cells
      .map((cell, at) => {
        const shown = at === last ? cut(cell, lastWidth) : padded(cell, widths[at]!)
        return (tints[at] ?? same)(shown)
      })
      .join('  ')
      .trimEnd()

  return [
    line(
      heads,
      heads.map(() => paint.dim),
    ),
    ...rows.map((row, at) =>
      line(
        texts[at]!,
        row.map(cell => (typeof cell === 'string' ? same : cell.tint)),
      ),
    ),
  ]
}

const same = (text: string): string => text
