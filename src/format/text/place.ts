// Converts a path in a document to line and column.

import { type Diagnostic, type DocumentFault, type Path, printPath } from './diagnostic.ts'

export interface Span {
  readonly start: number
  readonly end: number
}

/** The spans of the key and value; if the path does not exist, `exact` is false and the spans are the nearest enclosing ones. */
export interface Spans {
  readonly key: Span | null
  readonly value: Span | null
  readonly exact: boolean
}

export type Locate = (path: Path) => Spans

export function place(source: string, locate: Locate, lines: Lines, complaint: DocumentFault): Diagnostic {
  const { message, hint, path, within } = complaint
  const { key, value } = locate(path)
  const span = complaint.atKey === true ? (key ?? value) : (value ?? key)
  let offset = span?.start ?? 0
  if (within !== undefined && value !== null) {
    const found = source.slice(value.start, value.end).indexOf(within.text)
    if (found !== -1) offset = value.start + found + within.offset
  }
  return {
    severity: complaint.severity ?? 'error',
    message,
    hint,
    ...lines(offset),
    ...(path.length === 0 ? {} : { path: printPath(path) }),
  }
}

export interface Position {
  readonly line: number
  readonly column: number
}

export type Lines = (offset: number) => Position

/** For many offsets in one text: indexes the lines once. */
export function linesOf(source: string): Lines {
  let starts: number[] | null = null
  return offset => {
    if (starts === null) {
      starts = [0]
      for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1)) starts.push(at + 1)
    }
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - starts[low]! + 1 }
  }
}

/** Line and column, both starting at 1. */
export function positionAt(source: string, offset: number): Position {
  let line = 1
  let start = 0
  for (let at = source.indexOf('\n'); at !== -1 && at < offset; at = source.indexOf('\n', at + 1)) {
    line++
    start = at + 1
  }
  return { line, column: offset - start + 1 }
}
