// A plan document that came over the wire, in any format, with everything that is wrong with it told at its place. Nothing is
// written when something is.

import type { ImportedTask, PlanSource } from '../domain/event.ts'
import { checkGraph } from '../domain/graph.ts'
import type { TaskName } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { TaskStatus } from '../domain/status.ts'
import type { Diagnostic } from '../format/diagnostic.ts'
import { type ParseOptions, parsePlan } from '../format/parse.ts'
import { type Problem, problem } from './problem.ts'

export interface PlanText {
  readonly definition: PlanDefinition
  readonly source: PlanSource
  readonly imported: readonly ImportedTask[]
  /** What the text says has ended. */
  readonly claimed: ReadonlyMap<TaskName, TaskStatus>
  readonly warnings: readonly Diagnostic[]
}

/** An object is written out as it would be in a file. */
export function readPlanText(
  document: Json,
  options: Pick<ParseOptions, 'fallbackName' | 'dialect' | 'known' | 'check'> = {},
): PlanText | Problem {
  const text = typeof document === 'string' ? document : `${JSON.stringify(document, null, 2)}\n`
  const parsed = parsePlan(text, { check: checkGraph, ...options })
  if (!parsed.ok) return faulty(parsed.diagnostics)
  const { definition, dialect, ended, warnings, sketch } = parsed
  if (sketch.length > 0)
    return problem(422, 'sketch', `this is a sketch, not a plan: ${sketch[0]}`, {
      hint: 'put values in the place of what is left open',
      faults: sketch.map(message => ({ path: '', message })),
    })
  return {
    definition,
    source: { dialect: dialect ?? 'planfold', text },
    imported: [...ended].map(([task, status]) => ({ task, status })),
    claimed: ended,
    warnings,
  }
}

/** Everything that is wrong with a document, as one problem. */
export function faulty(diagnostics: readonly Diagnostic[]): Problem {
  const [first] = diagnostics
  const more = diagnostics.length > 1 ? ` (and ${diagnostics.length - 1} more)` : ''
  const place = first === undefined ? '' : `line ${first.line}, column ${first.column}: `
  return problem(422, 'invalid-plan', `${place}${first?.message ?? 'this is no plan'}${more}`, {
    hint: first?.hint,
    faults: diagnostics.map(({ path = '', message, hint, line, column }) => ({
      path,
      message,
      ...(hint === undefined ? {} : { hint }),
      line,
      column,
    })),
  })
}
