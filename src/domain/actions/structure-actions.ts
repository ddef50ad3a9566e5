// Actions without work of their own: sub-plans, the tasks that `expand.ts` derives from them, the final check of the plan, and actions that
// only a later release runs.

import type { TaskName } from '../id.ts'
import type { TaskDefinition } from '../plan.ts'
import { type ActionFacts, PLAIN_OUTCOMES, type SpecAction } from './action-facts.ts'

const structure = { effect: () => 'pure' as const, outcomes: () => PLAIN_OUTCOMES, isStructure: true as const }
const bookkeeping = { ...structure, isFree: true as const }

/** Child tasks named `<task>/<child>`, which refer to each other by short names. Done when all of them are. */
export const SUBPLAN: ActionFacts<{ readonly type: 'subplan'; readonly tasks: readonly TaskDefinition[] }> = structure
/** An expanded task: it waits for its children and collects their outputs. Created by `expand.ts`, never written in a plan file. */
export const GROUP: ActionFacts<{ readonly type: 'group'; readonly children: readonly TaskName[] }> = bookkeeping
/** The last task of a plan, derived from `done`; never written in a plan file. */
export const VERIFY: ActionFacts<{ readonly type: 'verify' }> = {
  ...bookkeeping,
  words: 'final checks',
  isDoneAtOnce: true,
  outputs: () => [],
}
/** Finds the items that `for_each` of the task `of` iterates over. Created by `expand.ts`. */
export const ITEMS: ActionFacts<{ readonly type: 'items'; readonly in: string; readonly of: TaskName }> = {
  ...bookkeeping,
  words: 'finds its items',
  fields: { in: 'expression' },
}

/** Actions that `validate` accepts and `start` refuses, because a later release runs them. */
export const LATER_ACTIONS: readonly 'research'[] = ['research']

export const RESEARCH: ActionFacts<SpecAction<'research'>> = {
  effect: () => 'unsafe',
  watched: true,
  network: 'declared',
  isSupported: () => false,
  fields: { spec: 'values' },
  line: ({ action }) => `research: ${JSON.stringify(action.spec)}`,
}
