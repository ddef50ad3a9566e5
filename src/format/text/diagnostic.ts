// Errors and warnings about a document, with position and hint. Lines and columns start at 1.

import type { Hint } from '../../domain/hint.ts'

export interface Diagnostic {
  readonly severity: 'error' | 'warning'
  readonly message: string
  readonly hint?: Hint
  readonly line: number
  readonly column: number
  /** The path in the document, e.g. `tasks[2].needs`. */
  readonly path?: string
}

export type Path = readonly (string | number)[]

/** An error at a path; the document converts the path to line and column. */
export interface DocumentFault {
  readonly severity?: 'error' | 'warning'
  readonly message: string
  readonly hint?: Hint
  readonly path: Path
  /** Point at the key instead of its value. */
  readonly atKey?: boolean
  /** Point at this text inside the value, at this offset. */
  readonly within?: { readonly text: string; readonly offset: number }
}

export const stray = (path: Path, message: string, hint: string): DocumentFault => ({
  path,
  atKey: true,
  message,
  hint,
})

/** Per document. Documented in docs/formats/plan.md. */
export const DIAGNOSTICS_MAX = 100

/** Sorts by position, keeps one error per value, and limits the number. */
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
