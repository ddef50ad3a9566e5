// `checkpoint`: the plan's state, all files and where git stands, under a name.

import { type ActionFacts, PLAIN_OUTCOMES } from './action-facts.ts'

export const CHECKPOINT: ActionFacts<{ readonly type: 'checkpoint'; readonly name?: string }> = {
  effect: () => 'pure',
  isFree: true,
  takesCheckpoint: true,
  isDoneAtOnce: true,
  outcomes: () => PLAIN_OUTCOMES,
}
