// What a model wrote is shown whole before somebody approves it, or with what is left out.

import { expect, test } from 'vitest'
import { plan, task } from '../../testing/index.ts'
import { shownCommands } from './proposal-text.ts'

const run = (id: string, script: string) => task(id, { action: { type: 'run', command: { script } } })

test('a command is shown as it is written; blanks do not push it out of sight', () => {
  const { lines, tasks } = shownCommands(
    plan('p', run('a', `true${' '.repeat(4000)}; touch x`), task('b', { accept: [check('touch y')] })),
    name => name === 'a' || name === 'b',
  )
  expect(lines.join('\n')).toContain('true ⟨4000 spaces⟩ ; touch x')
  expect(lines.join('\n')).toContain('touch y')
  expect(tasks).toEqual(['a', 'b'])
})

test('what is cut is counted, and is not taken for shown', () => {
  const { lines, tasks } = shownCommands(
    plan('p', run('a', `echo ${'x'.repeat(9000)}; touch x`), run('b', 'true')),
    name => name === 'a' || name === 'b',
  )
  expect(lines.find(line => line.startsWith('a:'))).toMatch(
    /^a: \d+ of 9\d+ characters are not shown; it runs in the sandbox$/,
  )
  expect(tasks).toEqual(['b'])
})

const check = (script: string) => ({ type: 'check', command: { script } }) as const
