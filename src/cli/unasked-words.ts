// What a plan does that cannot be taken back and that its policy lets begin without asking anybody: said before it starts.

import { IMPACT_WORDS, impactOf, isAskedAbout, isGated } from '../domain/impact.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { allTasks } from '../domain/task-graph.ts'
import { visible } from '../safety/visible.ts'

const TOLD_MAX = 5

export function unaskedLines(definition: PlanDefinition): readonly string[] {
  // Without a word about it, somebody is asked.
  if (definition.policy?.gates?.before === undefined) return []
  const unasked = allTasks(definition).flatMap(task => {
    const impact = isAskedAbout(task) ? impactOf(definition, task) : null
    return impact === null || impact === 'unknown' || isGated(definition, impact)
      ? []
      : [`'${visible(task.id)}' ${IMPACT_WORDS[impact]}, and nobody is asked before: policy.gates.before leaves it out`]
  })
  const more = unasked.length - TOLD_MAX
  return more > 0 ? [...unasked.slice(0, TOLD_MAX), `… and ${more} more tasks of this kind`] : unasked
}
