// Rules about people: what cannot be taken back should not happen before somebody has agreed. A task counts as gated when a
// gate stands somewhere before it.

import { dangerOf, demandsGate, IMPACT_WORDS, isActing, isAskedAbout, isGated } from '../plan-rules/impact.ts'
import { joins } from './estimates.ts'
import type { Finding } from './finding.ts'
import type { Ground } from './lint-input.ts'

export function* gates(look: Ground): Iterable<Finding> {
  const gated = gatedTasks(look)
  const isDemanded = demandsGate(look.graph.definition.extra)
  for (const [at, task] of look.graph.tasks.entries()) {
    const danger = dangerOf(task)
    // What is in a circle never runs; the circle itself is told.
    if (danger === null || gated[at] || joins(look.graph, at) || look.waves.waveOf[at] === -1) continue
    const does = `'${task.id}' ${IMPACT_WORDS[danger]}`
    const about = { task: task.id, key: 'id' } as const
    if (isDemanded && danger === 'deploy')
      yield {
        ...about,
        code: 'gate-required',
        severity: 'error',
        message: `${does}, and the policy wants a gate before that`,
        hint: "let it need a task with 'gate: approval'",
      }
    else if (isAskedAbout(task) && isGated(look.graph.definition, danger))
      yield {
        ...about,
        code: 'ungated',
        severity: 'info',
        message: `${does}, so somebody is asked ${isActing(task) ? 'right before it begins' : 'before it can be claimed'}`,
        hint: "to be asked earlier, let it need a task with 'gate: approval'",
      }
    else
      yield {
        ...about,
        code: 'ungated',
        severity: 'warning',
        message: `${does}, and nobody is asked before${isAskedAbout(task) ? ': policy.gates.before leaves it out' : ''}`,
        hint: "let it need a task with 'gate: approval'",
      }
  }
}

/** In the order of the waves, so that whoever comes before has been looked at. */
function gatedTasks({ graph, waves }: Ground): readonly boolean[] {
  const gated = graph.tasks.map(() => false)
  const isGate = (task: number): boolean => graph.tasks[task]!.action.type === 'gate'
  for (const task of waves.order) {
    const by = waves.wokenBy[task]!
    gated[task] =
      graph.needs[task]!.some(need => isGate(need) || gated[need]!) || (by !== -1 && (isGate(by) || gated[by]!))
  }
  return gated
}
