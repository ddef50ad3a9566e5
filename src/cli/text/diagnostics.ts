// Faults of a document as people read them: where, what, the line itself with a caret, and what to do. Of many errors the first few
// are shown so, the others in a line each; warnings, which come with every run, take one screen at most.

import { escapeForTerminal } from '../../safety/text/terminal.ts'
import type { FileDiagnostic } from '../exit.ts'
import type { Paint } from '../terminal/paint.ts'
import { width } from '../terminal/table.ts'
import { hintText } from './hint-text.ts'

const WHOLE_MAX = 5
const ERRORS_MAX = 30
const SOURCE_COLUMNS_MAX = 100

export function printDiagnostics(
  paint: Paint,
  diagnostics: readonly FileDiagnostic[],
  how = howToSeeAll(diagnostics),
): readonly string[] {
  const shown = diagnostics.some(({ severity }) => severity === 'error') ? ERRORS_MAX : WHOLE_MAX
  const lines = diagnostics
    .slice(0, shown)
    .flatMap((diagnostic, at) => (at < WHOLE_MAX ? printOne(paint, diagnostic) : [headOf(paint, diagnostic)]))
  const left = diagnostics.length - shown
  if (left > 0) return [...lines, paint.dim(`… and ${left} more; ${how}`)]
  return diagnostics.length > WHOLE_MAX && diagnostics.some(({ hint }, at) => at >= WHOLE_MAX && hint !== undefined)
    ? [...lines, paint.dim(`hints are only shown for the first ${WHOLE_MAX}; ${how}`)]
    : lines
}

function howToSeeAll([first]: readonly FileDiagnostic[]): string {
  if (first?.severity !== 'warning') return '--json shows all'
  return `planfold validate ${escapeForTerminal(first.file)} --json shows all`
}

function printOne(paint: Paint, diagnostic: FileDiagnostic): readonly string[] {
  const { hint } = diagnostic
  return [
    headOf(paint, diagnostic),
    ...pointer(paint, diagnostic),
    ...(hint === undefined ? [] : [`  ${paint.cyan('hint')}: ${escapeForTerminal(hintText(hint))}`]),
  ]
}

function headOf(paint: Paint, { file, line, column, severity, message }: FileDiagnostic): string {
  const tint = severity === 'error' ? paint.red : paint.yellow
  const place = `${escapeForTerminal(file)}:${line}:${column}`
  return `${paint.bold(place)}: ${tint(severity)}: ${escapeForTerminal(message)}`
}

function pointer(paint: Paint, { source, line, column }: FileDiagnostic): readonly string[] {
  if (source.trim() === '') return []
  const from = column - 1 > SOURCE_COLUMNS_MAX - 20 ? column - 41 : 0
  const before = tabless(source.slice(from, column - 1))
  const after = tabless(source.slice(column - 1, from + SOURCE_COLUMNS_MAX))
  const lead = from > 0 ? '…' : ''
  const tail = source.length > from + SOURCE_COLUMNS_MAX ? '…' : ''
  const number = String(line).padStart(4)
  return [
    `${paint.dim(`${number} │`)} ${lead}${before}${after}${tail}`,
    `${paint.dim('     │')} ${' '.repeat(width(lead + before))}${paint.red('^')}`,
  ]
}

/** A tab is shown as an arrow: in YAML it is most often the very thing that is wrong. */
const tabless = (text: string): string => escapeForTerminal(text.replaceAll('\t', '→   '))
