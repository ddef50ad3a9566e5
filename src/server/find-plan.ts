// The one look-up: a plan by UUID or name, a task by UUID, by `plan:task`, or by its name within a plan. What lies outside the
// scope of a token answers as if it were not there.

import type { ImportedTask, PlanSource } from '../domain/event.ts'
import type { PlanId } from '../domain/id.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { Dialect } from '../format/dialects/dialect.ts'
import type { Told } from '../format/plan/parse.ts'
import type { Diagnostic } from '../format/text/diagnostic.ts'
import { readJson } from '../format/text/json.ts'
import { lookUpPlan, lookUpTask, type PlanTarget, type TaskTarget } from '../operations/find-target.ts'
import { type DocumentReading, findFormat } from '../operations/read-document.ts'
import { importedTasks, sourceOf } from '../operations/run-plan.ts'
import { isProblem, notFound, type Problem, problem } from './problem.ts'
import type { Call } from './request.ts'

// A plan document that came with a request: read by whichever format knows it, with every fault at its place. Nothing is written
// when something is wrong with it.

export interface ReadDocument {
  readonly definition: PlanDefinition
  readonly source: PlanSource
  /** Tasks that had ended when it was written. */
  readonly imported: readonly ImportedTask[] | undefined
  readonly warnings: readonly Diagnostic[]
}

/** What is not plain JSON is read by a reader a hundred times slower, and meanwhile nobody else is answered. */
const SLOW_MAX = 400_000

/** Read and checked by an operation; everything that is wrong becomes one problem. */
export function documentFrom(text: string, read: () => DocumentReading): ReadDocument | Problem {
  if (text.length > SLOW_MAX && readJson(text) === null) return TOO_SLOW
  const reading = read()
  if (!reading.ok) return faulty(reading.diagnostics)
  const { definition, warnings, told } = reading.document
  const imported = importedTasks(reading.document)
  return (
    sketched(told) ?? {
      definition,
      source: sourceOf(reading.document),
      imported: imported.length === 0 ? undefined : imported,
      warnings,
    }
  )
}

const TOO_SLOW = problem(413, 'too-large', `a document of more than ${SLOW_MAX / 1_000} KB must be plain JSON`, {
  hint: 'send it as JSON (no key twice, numbers and text that JSON can hold), or read it on the server: planfold run FILE',
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

/** The format a name means. */
export function formatCalled(name: string): Dialect | Problem {
  const found = findFormat(name)
  if (found.ok) return found.format
  const { near, names } = found
  return problem(422, 'invalid', `there is no format '${name.slice(0, 60)}'`, {
    hint: near === null ? `there are ${names.join(', ')}` : `did you mean '${near}'?`,
  })
}

function sketched({ sketch }: Told): Problem | null {
  if (sketch.length === 0) return null
  return problem(422, 'sketch', `this is a sketch, not a plan: ${sketch[0]}`, {
    hint: 'put values in the place of what is left open',
    faults: sketch.map(message => ({ path: '', message })),
  })
}

type Asking = Pick<Call<unknown, unknown>, 'rooms' | 'who'>

export async function findPlan(call: Asking, reference: string): Promise<PlanTarget | Problem> {
  const looked = await lookUpPlan(call.rooms.engine, reference)
  // The id of a task is no address of its plan.
  const found = looked.ok && looked.target.task === null ? looked.target : null
  if (found === null || !(await isInScope(call, found.plan)))
    return notFound(`there is no plan ${quoted(reference)}`, 'list them: GET /plans')
  return { plan: found.plan, name: found.name }
}

/** `within`: the plan whose task it is, when the path says so. */
export async function findTask(call: Asking, reference: string, within?: string): Promise<TaskTarget | Problem> {
  const plan = within === undefined ? null : await findPlan(call, within)
  if (plan !== null && isProblem(plan)) return plan
  const looked = await lookUpTask(call.rooms.engine, reference, plan?.plan)
  if (looked.ok && (await isInScope(call, looked.target.plan))) return looked.target
  return notFound(`there is no task ${quoted(reference)}`, 'list them: GET /tasks?plan_id=…')
}

export async function isInScope({ rooms, who: { scope } }: Asking, plan: PlanId): Promise<boolean> {
  if (scope === null || scope.plans?.includes(plan) === true) return true
  if (scope.sessions === undefined) return false
  const summary = await rooms.engine.ask({ type: 'summary', plan })
  return summary?.session != null && scope.sessions.includes(summary.session)
}

const quoted = (text: string): string => `'${text.slice(0, 100)}'`
