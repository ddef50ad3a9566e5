// A plan that a request brings, made under its name or a numbered one, with what is said beside it; started when that is asked for.

import type { PlanDefinition } from '../domain/plan.ts'
import type { Diagnostic } from '../format/diagnostic.ts'
import type { ReadDocument } from './document.ts'
import { given } from './given.ts'
import { type Asking, gone, order } from './ordering.ts'
import { startPlan } from './plan-status.ts'
import { isProblem } from './problem.ts'
import { type Answer, created } from './route.ts'
import { refuseMaking } from './scope.ts'
import { showPlan } from './show-plan.ts'

export interface Wanted {
  readonly definition: PlanDefinition
  readonly document?: Pick<ReadDocument, 'source' | 'imported'> | undefined
  readonly warnings?: readonly Diagnostic[]
  readonly goal?: string | undefined
  readonly agent?: string | undefined
  readonly session?: string | undefined
  readonly start: boolean
}

export async function makePlan(call: Asking, wanted: Wanted): Promise<Answer> {
  const { definition, document, warnings = [], goal, agent, start } = wanted
  const session = wanted.session ?? definition.session
  const refusal = refuseMaking(call, session)
  if (refusal !== null) return refusal
  const made = await order(call, null, {
    type: 'create',
    definition,
    taken: 'number',
    ...given({ goal, agent, session, source: document?.source, imported: document?.imported }),
  })
  if (isProblem(made)) return made
  const isNew = made.replayed !== true
  // Whoever asks again may find it started, and further; or not started yet, when the first answer never came.
  const isDraft = isNew || (await call.rooms.engine.ask({ type: 'summary', plan: made.plan }))?.status === 'draft'
  const started = start && isDraft ? await startPlan({ ...call, expectedVersion: undefined }, made.plan) : null
  if (started !== null && isProblem(started)) return started
  const shown = await showPlan(call, made.plan)
  if (shown === null) return gone()
  const body = {
    ...shown.body,
    ...(isNew ? {} : { replayed: true }),
    ...(warnings.length === 0 ? {} : { warnings: warnings.map(({ severity: _, ...warning }) => warning) }),
  }
  return created(body, `/plans/${made.plan}`, shown.version)
}
