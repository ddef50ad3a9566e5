// Chooses the planner: naming a model or a template selects the planner that uses it, and is consent to call it. Without either, no model
// is called.

import type { PlannerChoice } from '../../../operations/agents/plan-drafts.ts'
import type { Planner } from '../planner.ts'

export type ChosenPlanner =
  | { readonly status: 'chosen'; readonly planner: Planner }
  | { readonly status: 'unknown'; readonly name: string; readonly names: readonly string[] }
  /** The chosen planner does not use the other option. */
  | { readonly status: 'mixed'; readonly name: string; readonly unused: 'model' | 'template' | 'agent' }

export const HEURISTIC = 'heuristic'

export function choosePlanner(planners: ReadonlyMap<string, Planner>, choice: PlannerChoice): ChosenPlanner {
  const { model, template, agent } = choice
  const name =
    choice.planner ??
    (agent !== undefined ? 'agent' : model !== undefined ? 'model' : template !== undefined ? 'template' : HEURISTIC)
  const planner = planners.get(name)
  if (planner === undefined) return { status: 'unknown', name, names: [...planners.keys()] }
  if (agent !== undefined && name !== 'agent') return { status: 'mixed', name, unused: 'agent' }
  if (model !== undefined && name !== 'model' && name !== 'agent') return { status: 'mixed', name, unused: 'model' }
  if (template !== undefined && name !== 'template') return { status: 'mixed', name, unused: 'template' }
  return { status: 'chosen', planner }
}
