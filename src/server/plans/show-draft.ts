// Previews a plan from a request: checked and rendered like a new plan, without writing.

import type { PlanDefinition } from '../../domain/plan.ts'
import { raisePlan } from '../../format/plan/definition-to-document.ts'
import type { Diagnostic } from '../../format/text/diagnostic.ts'
import type { PlanChecked } from '../../format/wire/answers/plans.ts'
import { hintText } from '../hint-text.ts'
import { isProblem } from '../problem.ts'
import { type Answer, ok } from '../route.ts'
import type { Asking } from '../submit-order.ts'
import { unsound } from './set-plan-status.ts'

interface Draft {
  readonly definition: PlanDefinition
  readonly warnings?: readonly Diagnostic[]
  readonly start: boolean
}

export async function showDraft(call: Asking, { definition, warnings = [], start }: Draft): Promise<Answer> {
  const faults = await call.rooms.documents.runOn('check', { definition })
  if (isProblem(faults)) return faults
  if (faults.length > 0) return unsound(faults)
  const { root, stateDir, environment } = call.rooms
  const around = await call.rooms.documents.runOn('surroundings', { definition, root, stateDir, environment })
  if (isProblem(around)) return around
  const { name, title = null, tasks } = definition
  const body: PlanChecked = {
    status: 'dry_run',
    name,
    name_taken: (await call.engine.ask({ type: 'find', reference: name })) !== null,
    title,
    tasks: tasks.length,
    start,
    warnings: warnings.map(withoutSeverity),
    surroundings: around,
    document: raisePlan(definition) as PlanChecked['document'],
  }
  return ok(body)
}

export const withoutSeverity = ({ severity: _, hint, ...warning }: Diagnostic) =>
  hint === undefined ? warning : { ...warning, hint: hintText(hint) }
