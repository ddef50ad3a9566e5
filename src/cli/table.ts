// A table for the terminal: columns as wide as their content, the last one cut to what is left. Cells are plain text,
// escaped here; colour is laid on after measuring.

import { escapeForTerminal } from '../safety/terminal.ts'
import type { Paint } from './paint.ts'
import { cut, padded, width } from './width.ts'

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
