import { plainHint } from '../../domain/hint.ts'
import type { Diagnostic } from './diagnostic.ts'

/** One diagnostic as people read it: `plan.yaml:3:5: error: …`. */
export function printDiagnostic(diagnostic: Diagnostic, fileName = 'plan'): string {
  const { line, column, severity, message, hint } = diagnostic
  const first = `${fileName}:${line}:${column}: ${severity}: ${message}`
  return hint === undefined ? first : `${first}\n  hint: ${plainHint(hint)}`
}
