// No action key: an agent or a person claims the task and reports what they did.

import { type ActionFacts, firstSentence } from './action-facts.ts'

export const EXTERNAL: ActionFacts<{ readonly type: 'external' }> = {
  // A lapsed claim leaves no attempt of the engine behind, so another agent may claim the task.
  effect: () => 'model',
  changesFiles: true,
  watched: true,
  network: 'open',
  outputs: ({ outputs = {} }) => (Object.keys(outputs).length === 0 ? null : []),
  agreed: ({ instruction = null }) => ({ type: 'external', instruction }),
  line: (task, { worker }) => `${worker ?? 'agent or person'}: ${firstSentence(task)}`,
  words: 'for an agent or person',
  proof: 'nothing',
}
