// Actions that do nothing by themselves: tasks of their own, and what `expand.ts` makes of them; the plan's own last task; and what only a
// later release carries out.

import type { TaskName } from '../id.ts'
import type { TaskDefinition } from '../plan.ts'
import { type ActionFacts, PLAIN_OUTCOMES, type SpecAction } from './action-facts.ts'

const structure = { effect: () => 'pure' as const, outcomes: () => PLAIN_OUTCOMES, isStructure: true as const }
const bookkeeping = { ...structure, isFree: true as const }

/** Tasks of its own, named `<task>/<child>`; they need each other by their short names. Done when all of them are. */
export const SUBPLAN: ActionFacts<{ readonly type: 'subplan'; readonly tasks: readonly TaskDefinition[] }> = structure
/** A task that was expanded: it waits for its children and gathers what they left. Made by `expand.ts`, written by nobody. */
export const GROUP: ActionFacts<{ readonly type: 'group'; readonly children: readonly TaskName[] }> = bookkeeping
/** The plan's own last task, made from `done`; nobody writes it. */
export const VERIFY: ActionFacts<{ readonly type: 'verify' }> = {
  ...bookkeeping,
  words: 'final checks',
  isDoneAtOnce: true,
  outputs: () => [],
}
/** Finds out, when its turn comes, which items `for_each` of the task `of` goes through. Made by `expand.ts` as well. */
export const ITEMS: ActionFacts<{ readonly type: 'items'; readonly in: string; readonly of: TaskName }> = {
  ...bookkeeping,
  words: 'finds its items',
  fields: { in: 'expression' },
}

/** Known to the format, carried out by a later release: accepted by `validate`, refused by `start`. */
export const LATER_ACTIONS: readonly 'research'[] = ['research']

export const RESEARCH: ActionFacts<SpecAction<'research'>> = {
  effect: () => 'unsafe',
  watched: true,
  network: 'declared',
  isUnderstood: () => false,
  fields: { spec: 'values' },
  line: ({ action }) => `research: ${JSON.stringify(action.spec)}`,
}
