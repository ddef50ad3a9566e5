// Everything that cannot work in a plan, told before anything runs. Every face asks here, so that `validate`, `run`, a dry run, the
// service, an import and a revision all refuse the same plans with the same words: those that `analyze` reports as errors.

import type { PlanDefinition } from '../domain/plan.ts'
import type { Engine } from '../engine/engine.ts'
import type { DefinitionFault } from '../format/plan/parse.ts'
import { errorsOf } from './analyze-plan.ts'

/** The errors of the analysis, each with its task, so that a document can show where it was written. */
export function checkPlan(definition: PlanDefinition): readonly DefinitionFault[] {
  return errorsOf(definition).map(({ severity: _, ...fault }) => fault)
}

/** The same of a plan that is there already: it may have been built task by task, or by a release that looked less closely. */
export async function checkStoredPlan(engine: Pick<Engine, 'ask'>, plan: string): Promise<readonly DefinitionFault[]> {
  const current = await engine.ask({ type: 'definition', plan })
  return current === null || current.definition.tasks.length === 0 ? [] : checkPlan(current.definition)
}
