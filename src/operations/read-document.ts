// Parses a plan document in any known format and checks it like every plan, with each fault at its place; and prints a plan in a format. No
// files are read or written here.

import type { Hint } from '../domain/hint.ts'
import { suggest } from '../domain/phrases.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { TaskStatus } from '../domain/status.ts'
import { findExtra, needsExtra, openExtra } from '../extras.ts'
import { canonical } from '../format/plan/canonical.ts'
import type { Dialect, Dialects } from '../format/plan/dialect.ts'
import {
  type DefinitionFault,
  type ImportInfo,
  mayBeForeign,
  type ParseOptions,
  parsePlan,
} from '../format/plan/parse.ts'
import { printYaml } from '../format/plan/print.ts'
import type { Diagnostic } from '../format/text/diagnostic.ts'
import { checkPlan } from './check-plan.ts'

export interface PlanDocument {
  readonly text: string
  readonly definition: PlanDefinition
  readonly warnings: readonly Diagnostic[]
  readonly told: ImportInfo
  /** A diagnostic at the place of the fault in the text. */
  readonly locate: (fault: DefinitionFault) => Diagnostic
}

export type DocumentReading =
  | { readonly ok: true; readonly document: PlanDocument }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

export interface DocumentOptions extends Pick<ParseOptions, 'dialect' | 'fileName' | 'fallbackName' | 'known'> {
  /** Which checks the plan must pass; all by default. With null, a plan with errors is read too. */
  readonly check?: ParseOptions['check'] | null
}

/** Other formats are loaded where the text may be written in one. */
export async function readDocument(text: string, options: DocumentOptions = {}): Promise<DocumentReading> {
  const isForeign = options.dialect === undefined && mayBeForeign(text, options.fileName)
  const dialects = isForeign ? await findExtra('dialects') : null
  const read = readOwn(text, options, dialects)
  if (read.ok || !isForeign || dialects !== null) return read
  const [first, ...more] = read.diagnostics
  const message = `${first!.message}; other formats ${needsExtra('dialects', 'need')}`
  return { ok: false, diagnostics: [{ ...first!, message }, ...more] }
}

/** The same for a text that is known to be in our own format. */
export function readOwn(
  text: string,
  { check, ...options }: DocumentOptions = {},
  dialects: Dialects | null = null,
): DocumentReading {
  const checked = check === null ? {} : { check: check ?? checkPlan }
  const parsed = parsePlan(text, { ...checked, ...options, dialects })
  if (!parsed.ok) return parsed
  const { definition, warnings, locate, dialect, sketch, ended, underWay } = parsed
  return { ok: true, document: { text, definition, warnings, locate, told: { dialect, sketch, ended, underWay } } }
}

export type FormatLookup =
  | { readonly ok: true; readonly format: Dialect }
  | { readonly ok: false; readonly names: readonly string[]; readonly near: string | null }

/** Finds a format by name; `planfold` is the canonical one, written as YAML or JSON. */
export async function findFormat(name: string): Promise<FormatLookup> {
  if (isOwnFormat(name)) return { ok: true, format: canonical }
  const { DIALECTS } = await openExtra('dialects')
  const format = DIALECTS.find(dialect => dialect.name === name)
  if (format !== undefined) return { ok: true, format }
  const names = ['planfold', ...DIALECTS.map(dialect => dialect.name)]
  return { ok: false, names, near: suggest(name.slice(0, 60), names) }
}

export const isOwnFormat = (name: string): boolean => ['planfold', 'yaml', 'json'].includes(name)

export type Printing =
  | { readonly status: 'printed'; readonly text: string; readonly lost: readonly string[] }
  | { readonly status: 'read-only' }
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
