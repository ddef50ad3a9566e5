// A table for the terminal: columns as wide as their content, the last one cut to what is left. Cells are plain text,
// escaped here; colour is laid on after measuring.

import { escapeForTerminal } from '../../safety/text/terminal.ts'
import type { Paint } from './paint.ts'

// How many columns a text takes on a terminal, and how to cut it to fit. Wide East Asian characters and emoji take two,
// combining marks none. The text must be escaped and unpainted.

const NONE = /\p{M}/u
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
// biome-ignore lint/suspicious/noControlCharactersInRegex: everything printable in ASCII takes one column.
const PLAIN = /^[\x00-\x7f]*$/

export function width(text: string): number {
  if (PLAIN.test(text)) return text.length
  let columns = 0
  for (const character of text) columns += columnsOf(character)
  return columns
}

/** The text, or as much of it as fits, with an ellipsis in the last column. */
export function cut(text: string, columns: number): string {
  if (columns <= 0) return ''
  if (width(text) <= columns) return text
  let taken = 0
  let kept = ''
  for (const character of text) {
    const more = columnsOf(character)
    if (taken + more > columns - 1) break
    taken += more
    kept += character
  }
  return `${kept}…`
}

/** The text in lines that fit, broken between words where there is a word's end, with nothing left out. */
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

/** As many characters from the beginning as fit. */
export function fitting(text: string, columns: number): string {
  let taken = 0
  let end = 0
  for (const character of text) {
    taken += columnsOf(character)
    if (taken > columns) break
    end += character.length
  }
  return text.slice(0, end)
}

/** Cut or filled with spaces to exactly this many columns. */
export function padded(text: string, columns: number): string {
  const kept = cut(text, columns)
  return kept + ' '.repeat(Math.max(0, columns - width(kept)))
}

function columnsOf(character: string): number {
  if (NONE.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}

export type Cell = string | { readonly text: string; readonly tint: (text: string) => string }

const CELL_MAX = 60

export function table(
  paint: Paint,
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns: number | null,
): readonly string[] {
  const texts = rows.map(row => row.map(cell => escapeForTerminal(typeof cell === 'string' ? cell : cell.text)))
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
