// From a path to a place: the line and column where a key or value of the document was written.

import { type Complaint, type Diagnostic, type Path, printPath } from './diagnostic.ts'

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
export function place(source: string, locate: Locate, complaint: Complaint): Diagnostic {
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
    ...(hint === undefined ? {} : { hint }),
    ...positionAt(source, offset),
    ...(path.length === 0 ? {} : { path: printPath(path) }),
  }
}

/** Line and column of an offset, both counted from 1. */
export function positionAt(source: string, offset: number): { readonly line: number; readonly column: number } {
  let line = 1
  let start = 0
  for (let at = source.indexOf('\n'); at !== -1 && at < offset; at = source.indexOf('\n', at + 1)) {
    line++
    start = at + 1
  }
  return { line, column: offset - start + 1 }
}
