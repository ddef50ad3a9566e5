// What is wrong or doubtful in a document, where, and what to do about it. Lines and columns are counted from 1.

import type { Hint } from '../../domain/hint.ts'

export interface Diagnostic {
  readonly severity: 'error' | 'warning'
  readonly message: string
  /** What to do next. */
  readonly hint?: Hint
  readonly line: number
  readonly column: number
  /** The place in the document as keys and positions, e.g. `tasks[2].needs`. */
  readonly path?: string
}

export type Path = readonly (string | number)[]

/** A complaint whose place is known as a path; the document turns the path into a line and a column. */
export interface DocumentFault {
  readonly severity?: 'error' | 'warning'
  readonly message: string
  readonly hint?: Hint
  readonly path: Path
  /** Point at the key instead of its value. */
  readonly atKey?: boolean
  /** Point at this text inside the value, `offset` characters into it. */
  readonly within?: { readonly text: string; readonly offset: number }
}

/** A key that does not belong where it stands. */
export const stray = (path: Path, message: string, hint: string): DocumentFault => ({
  path,
  atKey: true,
  message,
  hint,
})

/** Of one document. The format tells people the number: docs/formats/plan.md. */
export const DIAGNOSTICS_MAX = 100

/** In the order of the text, one thing said about one value, and not more than anyone reads. */
export function tidy(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const seen = new Set<string>()
  const unique = diagnostics.filter(diagnostic => {
    const key = `${diagnostic.line}:${diagnostic.column}:${diagnostic.path ?? diagnostic.message}`
    return !seen.has(key) && seen.add(key)
  })
  unique.sort((a, b) => a.line - b.line || a.column - b.column)
  return unique.slice(0, DIAGNOSTICS_MAX)
}

export function printPath(path: Path): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('')
}

/** As much of a text as a message quotes. */
export const clip = (text: string, max = 60): string => (text.length > max ? `${text.slice(0, max)}…` : text)
