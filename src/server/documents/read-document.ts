// Reads a plan document from a request; all errors, each with its position, become one problem.

import type { ImportedTask } from '../../domain/event.ts'
import type { PlanDefinition, PlanSource } from '../../domain/plan.ts'
import { hasExtra } from '../../extras.ts'
import type { Dialect } from '../../format/plan/dialect.ts'
import type { ImportInfo } from '../../format/plan/parse.ts'
import type { Diagnostic } from '../../format/text/diagnostic.ts'
import { readJson } from '../../format/text/json.ts'
import { type DocumentReading, findFormat, isOwnFormat } from '../../operations/read-document.ts'
import { importedTasks, sourceOf } from '../../operations/run-plan.ts'
import { notInBuild, type Problem, problem } from '../problem.ts'

export interface ReadDocument {
  readonly definition: PlanDefinition
  readonly source: PlanSource
  readonly imported: readonly ImportedTask[] | undefined
  readonly warnings: readonly Diagnostic[]
}

/** Formats other than plain JSON need a parser that is a hundred times slower and blocks other requests meanwhile. */
const SLOW_MAX = 400_000

export async function documentFrom(
  text: string,
  read: () => Promise<DocumentReading>,
): Promise<ReadDocument | Problem> {
  if (text.length > SLOW_MAX && readJson(text) === null) return TOO_SLOW
  const reading = await read()
  if (!reading.ok) return faulty(reading.diagnostics)
  const { definition, warnings, told: info } = reading.document
  const imported = importedTasks(reading.document)
  return (
    sketched(info) ?? {
      definition,
      source: sourceOf(reading.document),
      imported: imported.length === 0 ? undefined : imported,
      warnings,
    }
  )
}

const TOO_SLOW = problem(413, 'too-large', `a document of more than ${SLOW_MAX / 1_000} KB must be plain JSON`, {
  hint: 'send it as JSON (no key twice, numbers and text that JSON can hold), or run it where the service runs',
})

export function faulty(diagnostics: readonly Diagnostic[], about = ''): Problem {
  const [first] = diagnostics
  const more = diagnostics.length > 1 ? ` (and ${diagnostics.length - 1} more)` : ''
  const place = first === undefined ? '' : `line ${first.line}, column ${first.column}: `
  return problem(422, 'invalid-plan', `${about}${place}${first?.message ?? 'this is not a plan'}${more}`, {
    hint: first?.hint,
    faults: diagnostics.map(({ path = '', message, hint, line, column }) => ({
      path,
      message,
      line,
      column,
      hint,
    })),
  })
}

export async function formatCalled(name: string): Promise<Dialect | Problem> {
  if (!isOwnFormat(name) && !hasExtra('dialects')) return notInBuild('dialects')
  const found = await findFormat(name)
  if (found.ok) return found.format
  const { near, names } = found
  return problem(422, 'invalid', `there is no format '${name.slice(0, 60)}'`, {
    hint: near === null ? `there are ${names.join(', ')}` : `did you mean '${near}'?`,
  })
}

function sketched({ sketch }: ImportInfo): Problem | null {
  if (sketch.length === 0) return null
  return problem(422, 'sketch', `this is a sketch, not a plan: ${sketch[0]}`, {
    hint: 'put values in the place of what is left open',
    faults: sketch.map(message => ({ path: '', message })),
  })
}
