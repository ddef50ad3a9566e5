// What the scripted model tells two agents in the trial of reviews: one repairs a test, the other finds something in the way it did. What
// each does depends only on what it is told, so a kill between any two of its requests changes nothing.
// Needs the extras: agents

import type { AgentScriptOptions } from '../../src/extras/agents/agent-script.ts'
import type { Staged } from './task-world.ts'

export const FAIL = {
  verdict: 'fail',
  findings: [{ file: 'sum.js', line: 1, says: 'put the second first', criterion: 'task' }],
}
export const PASS = { verdict: 'pass', findings: [] }

export function reviewPlan(agent: string, model: string, reviewer: string = agent): string {
  return `planfold: 1
name: repair
goal: sum.js adds
tasks:
  - id: fix
    agent: { use: ${agent}, model: ${model} }
    instruction: Make the test pass.
    write: [sum.js]
    retry: { attempts: 1 }
    accept: [{ check: [node, test.js] }]
    review: { by: { use: ${reviewer}, model: ${model} }, times: 2 }
`
}

export const REVIEWED = reviewPlan('grok', 'openai-chat/scripted')

/** `tampers`: the reviewer tries to write, and its first answer is no JSON. */
export const reviewScripts = ({ tampers = false } = {}): AgentScriptOptions['scripts'] => ({
  fix: told =>
    told.includes('put the second first')
      ? [{ edit: ['sum.js', 'a + b', 'b + a'] }, { shell: 'node test.js' }, { say: 'Turned round.' }]
      : [{ read: 'sum.js' }, { edit: ['sum.js', 'a - b', 'a + b'] }, { shell: 'node test.js' }, { say: 'Fixed.' }],
  'fix/review': told => {
    const isRepair = told.includes('Your last message was not the answer')
    const answer = { say: JSON.stringify(/\| \+.*b \+ a/.test(told) ? PASS : FAIL) }
    if (!tampers) return [{ read: 'sum.js' }, answer]
    const first = { shell: 'echo "// mine" >> sum.js; echo mine > new.txt; true' }
    return isRepair ? [answer] : [first, { say: 'I am not sure.' }]
  },
})

const criticPlan = (agent: string, model: string): string => `planfold: 1
name: repair
goal: sum.js adds
tasks:
  - id: fix
    agent: { use: ${agent}, model: ${model} }
    instruction: Make the test pass.
    write: [sum.js]
    accept: [{ check: [node, test.js] }]
    recover: [{ critic: look, times: 2 }]
  - id: look
    model: { use: ${model}, answer: { feedback: string } }
    instruction: |
      Why did it fail?
      \${{ work.diff }}
      \${{ work.checks }}
`

/** The trials of second opinions: a review by an agent, and a critic that is a model. */
export const staged = (agent: string, model: string): { readonly [name in 'review' | 'critic']: Staged } => ({
  review: {
    plan: reviewPlan(agent, model),
    scripts: reviewScripts(),
    isDone: ({ read }) => read('sum.js').includes('b + a'),
  },
  critic: {
    plan: criticPlan(agent, model),
    scripts: {
      fix: told =>
        told.includes('it has to add')
          ? [{ read: 'sum.js' }, { edit: ['sum.js', 'a - b', 'a + b'] }, { shell: 'node test.js' }, { say: 'Fixed.' }]
          : [{ read: 'sum.js' }, { say: 'It looks fine.' }],
    },
    answer: () => ({ text: JSON.stringify({ feedback: 'it has to add' }) }),
    isDone: ({ read }) => read('sum.js').includes('a + b'),
  },
})
