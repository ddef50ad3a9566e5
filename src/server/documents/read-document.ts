// A plan document that came with a request: read by whichever format knows it, with every fault at its place. Nothing is written
// when something is wrong with it.

import type { ImportedTask, PlanSource } from '../../domain/event.ts'
import { suggest } from '../../domain/phrases.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { canonical } from '../../format/dialects/canonical.ts'
import type { Dialect } from '../../format/dialects/dialect.ts'
import { DIALECTS, dialectNamed } from '../../format/dialects/dialect-list.ts'
import { type Parsed, type ParseOptions, parsePlan } from '../../format/plan/parse.ts'
import type { Diagnostic } from '../../format/text/diagnostic.ts'
import { readJson } from '../../format/text/json.ts'
import { checkPlan } from '../../operations/check-plan.ts'
import { isProblem, type Problem, problem } from '../problem.ts'

export interface ReadDocument {
  readonly definition: PlanDefinition
  readonly source: PlanSource
  /** Tasks that had ended when it was written. */
  readonly imported: readonly ImportedTask[] | undefined
  readonly warnings: readonly Diagnostic[]
}

interface ReadOptions extends Pick<ParseOptions, 'known' | 'check'> {
  /** Of a plan that does not say one. */
  readonly name: string
  /** The format it is read as, whatever it looks like. */
  readonly from?: string | undefined
}

/** What is not plain JSON is read by a reader a hundred times slower, and meanwhile nobody else is answered. */
const SLOW_MAX = 400_000

export function readPlanDocument(text: string, { name, from, ...options }: ReadOptions): ReadDocument | Problem {
  if (text.length > SLOW_MAX && readJson(text) === null) return TOO_SLOW
  const dialect = from === undefined ? null : formatCalled(from)
  if (dialect !== null && isProblem(dialect)) return dialect
  const parsed = parsePlan(text, {
    fallbackName: name,
    check: checkPlan,
    ...options,
    ...(dialect === null ? {} : { dialect }),
  })
  if (!parsed.ok) return faulty(parsed.diagnostics)
  return sketched(parsed) ?? documentOf(text, parsed)
}

const TOO_SLOW = problem(413, 'too-large', `a document of more than ${SLOW_MAX / 1_000} KB must be plain JSON`, {
  hint: 'send it as JSON (no key twice, numbers and text that JSON can hold), or run it where the service runs',
})

/** Everything that is wrong with a document, as one problem. */
export function faulty(diagnostics: readonly Diagnostic[], about = ''): Problem {
  const [first] = diagnostics
  const more = diagnostics.length > 1 ? ` (and ${diagnostics.length - 1} more)` : ''
  const place = first === undefined ? '' : `line ${first.line}, column ${first.column}: `
  return problem(422, 'invalid-plan', `${about}${place}${first?.message ?? 'this is no plan'}${more}`, {
    hint: first?.hint,
    faults: diagnostics.map(({ path = '', message, hint, line, column }) => ({
      path,
      message,
      line,
      column,
      ...(hint === undefined ? {} : { hint }),
    })),
  })
}

/** The format a name means; `planfold` is the canonical one. */
export function formatCalled(name: string): Dialect | Problem {
  const found = ['planfold', 'yaml', 'json'].includes(name) ? canonical : dialectNamed(name)
  if (found !== null) return found
  const names = ['planfold', ...DIALECTS.map(dialect => dialect.name)]
  const near = suggest(name.slice(0, 60), names)
  return problem(422, 'invalid', `there is no format '${name.slice(0, 60)}'`, {
    hint: near === null ? `there are ${names.join(', ')}` : `did you mean '${near}'?`,
  })
}

type Read = Extract<Parsed, { readonly ok: true }>

function documentOf(text: string, { definition, dialect, ended, warnings }: Read): ReadDocument {
  const imported = [...ended].map(([task, status]) => ({ task, status }))
  return {
    definition,
    source: { dialect: dialect ?? 'planfold', text },
    imported: imported.length === 0 ? undefined : imported,
    warnings,
  }
}

function sketched({ sketch }: Read): Problem | null {
  if (sketch.length === 0) return null
  return problem(422, 'sketch', `this is a sketch, not a plan: ${sketch[0]}`, {
    hint: 'put values in the place of what is left open',
    faults: sketch.map(message => ({ path: '', message })),
  })
}
