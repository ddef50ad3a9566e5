// `decide`: the value of an expression names the outcome.

import type { ActionFacts } from './action-facts.ts'

export const DECIDE: ActionFacts<{ readonly type: 'decide'; readonly expression: string }> = {
  effect: () => 'pure',
  isFree: true,
  words: 'decides',
  fields: { expression: 'expression' },
  outputs: () => [],
  line: ({ action }) => `decides: ${action.expression}`,
  shown: ({ expression }) => ({ head: 'Expression', lines: [expression] }),
}
