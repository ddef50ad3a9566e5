// A plan document, read by whichever format knows it and checked as every plan is, with each fault at its place; and the plan printed
// in a format again. Nothing here reads or writes a file: a face brings the text and takes it.

import type { Hint } from '../domain/hint.ts'
import { suggest } from '../domain/phrases.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { TaskStatus } from '../domain/status.ts'
import { canonical } from '../extras/dialects/canonical.ts'
import type { Dialect } from '../extras/dialects/dialect.ts'
import { DIALECTS, dialectNamed } from '../extras/dialects/dialect-list.ts'
import { type DefinitionFault, type ParseOptions, parsePlan, type ImportInfo } from '../format/plan/parse.ts'
import { printYaml } from '../format/plan/print.ts'
import type { Diagnostic } from '../format/text/diagnostic.ts'
import { checkPlan } from './check-plan.ts'

export interface PlanDocument {
  readonly text: string
  readonly definition: PlanDefinition
  readonly warnings: readonly Diagnostic[]
  readonly told: ImportInfo
  /** What is said about the definition, at its place in the text. */
  readonly locate: (fault: DefinitionFault) => Diagnostic
}

export type DocumentReading =
  | { readonly ok: true; readonly document: PlanDocument }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

export interface DocumentOptions extends Pick<ParseOptions, 'dialect' | 'fileName' | 'fallbackName' | 'known'> {
  /** What must hold for the plan. Everything that can be known when it is not said; with null, a plan that cannot work is read too. */
  readonly check?: ParseOptions['check'] | null
}

export function readDocument(text: string, { check, ...options }: DocumentOptions = {}): DocumentReading {
  const checked = check === null ? {} : { check: check ?? checkPlan }
  const parsed = parsePlan(text, { ...checked, ...options })
  if (!parsed.ok) return parsed
  const { definition, warnings, locate, dialect, sketch, ended, underWay } = parsed
  return { ok: true, document: { text, definition, warnings, locate, told: { dialect, sketch, ended, underWay } } }
}

export type FormatLookup =
  | { readonly ok: true; readonly format: Dialect }
  | { readonly ok: false; readonly names: readonly string[]; readonly near: string | null }

/** The format a name means; `planfold` is the canonical one, written as YAML or JSON. */
export function findFormat(name: string): FormatLookup {
  const format = ['planfold', 'yaml', 'json'].includes(name) ? canonical : dialectNamed(name)
  if (format !== null) return { ok: true, format }
  const names = ['planfold', ...DIALECTS.map(dialect => dialect.name)]
  return { ok: false, names, near: suggest(name.slice(0, 60), names) }
}

export type Printing =
  | { readonly status: 'printed'; readonly text: string; readonly lost: readonly string[] }
  /** It can be read here, but not written. */
  | { readonly status: 'read-only' }
  /** The format has no words for this plan. */
  | { readonly status: 'refused'; readonly message: string; readonly hint: Hint }

export function printDocument(
  definition: PlanDefinition,
  format: Dialect,
  statusOf: (task: string) => TaskStatus,
): Printing {
  if (format.name === canonical.name) return { status: 'printed', text: printYaml(definition), lost: [] }
  if (format.print === undefined) return { status: 'read-only' }
  const { text, lost, refused } = format.print(definition, statusOf)
  return refused === undefined ? { status: 'printed', text, lost } : { status: 'refused', ...refused }
}
