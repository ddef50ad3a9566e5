// The facts of a draft task for its approver: what runs, what it may write, what proves it. Each is one text, unresolved and uncut; a face
// fits it to its width and escapes it.

import { actionFacts } from '../../actions/actions.ts'
import type { Criterion, PlanDefinition, TaskDefinition } from '../../plan.ts'
import { commandOf, commandText, criterionText } from '../../plan-rules/criterion-text.ts'
import { scopeOf } from '../../plan-rules/effect.ts'
import { gatedImpact, IMPACT_WORDS } from '../../plan-rules/impact.ts'
import { spelled } from './foreign-text.ts'

/** The worker of tasks that anyone may claim; null for none in particular. */
export type Worker = string | null

export interface FactWords {
  /** Of a check that has a text, only the command beside it: the text says what is compared. */
  readonly isPlain?: boolean
}

/** In this order: what runs, what it may write, what proves it. Empty for what only waits: a gate without checks, a checkpoint, a group. */
export function taskFacts(
  definition: PlanDefinition,
  task: TaskDefinition,
  worker: Worker,
  { isPlain = false }: FactWords = {},
): readonly string[] {
  const proof = proofOf(task, isPlain)
  const runs =
    proof !== null && onlyChecks(task)
      ? null
      : (actionFacts(task.action).line?.(task, { worker, agent: definition.defaults?.agent }) ?? null)
  return [runs, runs === null ? null : writesOf(definition, task), proof === null ? null : `proved by: ${proof}`]
    .filter(fact => fact !== null)
    .map(oneLine)
}

/** Its command does nothing: what counts is what is checked afterwards. */
const onlyChecks = ({ action, accept = [] }: TaskDefinition): boolean =>
  action.type === 'run' && accept.length > 0 && commandText(action.command) === 'true'

/** Faces separate facts by dots, which foreign text must not imitate. */
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

function proofOf(task: TaskDefinition, isPlain: boolean): string | null {
  const { action, accept = [], postconditions = [], expect } = task
  const checks = action.type === 'gate' ? (action.checks ?? []) : []
  const proofs = [...accept, ...postconditions, ...checks].map(criterion => proofText(criterion, isPlain))
  if (expect !== undefined && expect !== ANY_END) proofs.unshift(expect)
  if (proofs.length === 0 && expect === ANY_END) return null
  if (proofs.length > 0) return proofs.join('; ')
  return actionFacts(action).proof ?? null
}

/** The purpose of a long command comes first, because the command itself may be cut. */
function proofText(criterion: Criterion, isPlain: boolean): string {
  if (criterion.type === 'prose') return `${criterion.text} (a person judges)`
  const written = criterionText(criterion)
  if (written.length <= PLAIN_MAX || criterion.text === undefined) return written
  const command = isPlain ? commandOf(criterion) : null
  return `${criterion.text} (${command === null ? written : commandText(command)})`
}

/** It proves nothing: the task only records. */
const ANY_END = 'exit >= 0'
const PLAIN_MAX = 60

/** What cannot be undone: named by the planner, or derived from the tasks. */
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

/** Questions before the work begins: those of the planner, else of the gates. */
export const questionsIn = ({ tasks }: PlanDefinition, named: readonly string[] = []): readonly string[] =>
  named.length > 0
    ? named
    : tasks.flatMap(({ action }) => (action.type === 'gate' && action.question ? [action.question] : []))
