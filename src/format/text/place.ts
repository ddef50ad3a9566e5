// From a path to a place: the line and column where a key or value of the document was written.

import { type Diagnostic, type DocumentFault, type Path, printPath } from './diagnostic.ts'

/** A stretch of the text, as offsets. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Where something was written; when it was not, `exact` is false and the spans are those of the nearest thing around it. */
export interface Spans {
  readonly key: Span | null
  readonly value: Span | null
  readonly exact: boolean
}

export type Locate = (path: Path) => Spans

/** Turns a complaint about a path into a diagnostic with line and column. */
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

/** Line and column of an offset. */
export type Lines = (offset: number) => Position

/** For many offsets of one text: its lines are looked for once. */
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

/** Line and column of one offset, both counted from 1. */
export function positionAt(source: string, offset: number): Position {
  let line = 1
  let start = 0
  for (let at = source.indexOf('\n'); at !== -1 && at < offset; at = source.indexOf('\n', at + 1)) {
    line++
    start = at + 1
  }
  return { line, column: offset - start + 1 }
}
