// A semantic diff in the words of the document: one line for each thing that changed, for remarks and gates. In full, with
// what it was and what it is: diff-text.ts.

import type { PlanDefinition } from '../domain/plan.ts'
import { type KeyChange, type SemanticDiff, semanticDiff } from '../domain/semantic-diff.ts'

export const diffDefinitions = (before: PlanDefinition, after: PlanDefinition): SemanticDiff =>
  semanticDiff(before, after)

/** Empty when nothing changed. */
export function printDiff(diff: SemanticDiff): string {
  return [
    ...diff.plan.map(change => `~ ${wordOf(change)}`),
    ...diff.removed.map(({ task }) => `- task ${task}`),
    ...diff.added.map(({ task }) => `+ task ${task}`),
    ...diff.renamed.map(({ from, to }) => `~ task ${from} is now ${to}`),
    ...diff.changed.map(({ task, changes }) => `~ task ${task}: ${changes.map(wordOf).join(', ')}`),
    ...diff.reordered.map(task => (task === null ? '~ order of tasks' : `~ order of tasks in ${task}`)),
  ].join('\n')
}

/** How the document calls a key of the definition; an action goes by its own key. */
export function wordOf({ key, before, after }: KeyChange): string {
  if (key !== 'action') return WORDS.get(key) ?? key
  const [was, is] = [typeOf(before), typeOf(after)]
  return was === is ? was : `${was} → ${is}`
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ['timeoutMs', 'timeout'],
  ['estimateMs', 'estimate'],
  ['timeboxMs', 'timebox'],
  ['failureModes', 'failure_modes'],
  ['forEach', 'for_each'],
  ['defaults.timeoutMs', 'defaults.timeout'],
  ['policy.onFailure', 'policy.on_failure'],
])

function typeOf(action: unknown): string {
  return action !== null && typeof action === 'object' && 'type' in action ? String(action.type) : 'external'
}
