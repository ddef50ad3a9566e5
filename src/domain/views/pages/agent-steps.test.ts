import { expect, test } from 'vitest'
import { actionLine, agentSteps, askLine, diffLine, saidLine, thoughtLine } from './agent-lines.ts'

let at = 0
const piece = (text: string, { stream = 'stdout', attempt = 1 } = {}) => ({ stream, visit: 1, attempt, at: ++at, text })
const line = (text: string, about = {}) => piece(`${text}\n`, about)

test('a step is what was thought and said before tool calls; what judges the work is none', () => {
  at = 0
  const steps = agentSteps([
    line('starts grok 1 (acp, in a sandbox)', { stream: 'engine' }),
    line(thoughtLine('It subtracts.')),
    line(thoughtLine('It should add.')),
    line(saidLine('I repair the sum.')),
    line(actionLine('edit sum.js (+1 −1)')),
    line(diffLine('+a + b')),
    line(actionLine('run node test.js')),
    line(saidLine('Done.')),
    line('$ node test.js  (in .)', { stream: 'engine' }),
    line('✻ PASS'),
    line('starts grok 1 (acp, in a sandbox)', { stream: 'engine', attempt: 2 }),
    line(actionLine('run ls'), { attempt: 2 }),
    line(askLine('push'), { stream: 'engine', attempt: 2 }),
  ])
  expect(steps).toEqual([
    {
      ...{ visit: 1, attempt: 1, at: 2, thought: 'It subtracts.\nIt should add.', said: 'I repair the sum.' },
      actions: ['edit sum.js (+1 −1)', 'run node test.js'],
    },
    { visit: 1, attempt: 1, at: 8, thought: '', said: 'Done.', actions: [] },
    { visit: 1, attempt: 2, at: 12, thought: '', said: '', actions: ['run ls', 'asks to push; a person is asked'] },
  ])
})

test('a line that was stored in two pieces is one; long texts and many steps are cut', () => {
  expect(agentSteps([piece('→ run '), piece('asks\n', { stream: 'engine' }), piece('ls\n→ r')])).toMatchObject([
    { actions: ['run ls', 'r'] },
  ])
  const many = Array.from({ length: 300 }, (_, no) => [
    line(`step ${no} ${'x'.repeat(5_000)}`),
    line(actionLine('run ls')),
  ])
  const steps = agentSteps(many.flat())
  expect([steps.length, steps[0]?.said.slice(0, 8), steps[0]?.said.length]).toEqual([200, 'step 100', 4_001])
})
