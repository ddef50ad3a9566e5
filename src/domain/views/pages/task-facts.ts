// What a task of a draft comes to, for whoever approves it: what runs, what it may write, what proves it. One text each, as it was
// written and not cut; a face fits it to its width and writes out what cannot be seen.

import { actionFacts } from '../../actions/actions.ts'
import type { Criterion, PlanDefinition, TaskDefinition } from '../../plan.ts'
import { criterionText } from '../../plan-rules/criterion-text.ts'
import { scopeOf } from '../../plan-rules/effect.ts'
import { gatedImpact, IMPACT_WORDS } from '../../plan-rules/impact.ts'
import { spelled } from './spelled-text.ts'

/** Who works the tasks that anybody may claim; null: whoever claims them. */
export type Worker = string | null

/** In this order: what runs, what it may write, what proves it. Empty for what only waits: a gate without checks, a checkpoint, a group. */
export function taskFacts(definition: PlanDefinition, task: TaskDefinition, worker: Worker): readonly string[] {
  const runs = actionFacts(task.action).line?.(task, { worker, agent: definition.defaults?.agent }) ?? null
  const proof = proofOf(task)
  return [runs, runs === null ? null : writesOf(definition, task), proof === null ? null : `proved by: ${proof}`]
    .filter(fact => fact !== null)
    .map(oneLine)
}

/** Faces put a dot between facts: one that others wrote must not begin another. */
const oneLine = (text: string): string =>
  spelled(text.trim())
    .split(/\s*\n\s*/)
    .join(' ⏎ ')
    .replaceAll('·', '\\u{b7}')

function writesOf(definition: PlanDefinition, task: TaskDefinition): string | null {
  const { writes, watched } = actionFacts(task.action)
  if (writes !== true && watched !== true) return null
  const scope = scopeOf(definition, task)
  if (scope !== null) return `writes ${scope.length === 0 ? 'nothing' : scope.join(', ')}`
  return watched === true ? 'may write any file' : null
}

function proofOf(task: TaskDefinition): string | null {
  const { action, accept = [], postconditions = [], expect } = task
  const checks = action.type === 'gate' ? (action.checks ?? []) : []
  const said = [...accept, ...postconditions, ...checks].map(proofText)
  if (expect !== undefined && expect !== ANY_END) said.unshift(expect)
  if (said.length === 0 && expect === ANY_END) return null
  if (said.length > 0) return said.join('; ')
  return actionFacts(action).proof ?? null
}

/** What a long command checks is said before it: the command itself is cut where there is no room for it. */
function proofText(criterion: Criterion): string {
  if (criterion.type === 'prose') return `${criterion.text} (a person judges)`
  const written = criterionText(criterion)
  return written.length > PLAIN_MAX && criterion.text !== undefined ? `${criterion.text} (${written})` : written
}

/** It proves nothing: the task only records. */
const ANY_END = 'exit >= 0'
const PLAIN_MAX = 60

/** What cannot be undone once it is done: what the planner named, and what can be read from the tasks. */
export function irreversibleTasks(
  definition: PlanDefinition,
  named: readonly { readonly task: string; readonly why: string }[] = [],
): readonly string[] {
  const known = new Set(named.map(({ task }) => task))
  const found = definition.tasks.flatMap(task => {
    const impact = gatedImpact(definition, task)
    return impact === null || impact === 'instructions' || known.has(task.id)
      ? []
      : [{ task: task.id, why: `it ${IMPACT_WORDS[impact]}` }]
  })
  return [...named, ...found].map(({ task, why }) => `${task}: ${why}; a person approves it first`)
}

/** What is asked before work begins: what the planner names, else what its gates ask. */
export const questionsIn = ({ tasks }: PlanDefinition, named: readonly string[] = []): readonly string[] =>
  named.length > 0
    ? named
    : tasks.flatMap(({ action }) => (action.type === 'gate' && action.question ? [action.question] : []))
