// Hints as commands that can be typed, for people and in JSON.

import { expect, test } from 'vitest'
import { advise, clipHint, type Hint, joinHints, next, quoted } from '../../domain/hint.ts'
import { commandText, hintText, wordHints } from './hint-text.ts'

test('a step is a command, set off where it stands in a sentence', () => {
  const p = { plan: 'p' }
  const told: readonly (readonly [Hint, string])[] = [
    ['claim another task', 'claim another task'],
    [advise`see ${quoted('checkpoints')} and ${quoted('log')}`, 'see `planfold checkpoint list` and `planfold log`'],
    [advise`its entries are 1 to ${3}: ${next('log', p)}`, 'its entries are 1 to 3: planfold log p'],
    [advise`to lift that: ${next('lift-halt')}`, 'to lift that: planfold halt --lift'],
    [advise`run ${quoted('check', { readData: true })}`, 'run `planfold doctor store --read-data`'],
    [[next('next', { ...p, explain: true })], 'planfold next p --explain'],
    [[next('run', { file: 'FILE', again: true })], 'planfold run FILE --again'],
    [[next('retry', { ...p, task: 'a', repeat: true })], 'planfold retry p a --repeat'],
    [[next('skip', { ...p, task: 'a', reason: 'why' })], "planfold skip p a -m 'why'"],
    [[next('restore', { ...p, file: "it's here.txt" })], "planfold undo files p 'it'\\''s here.txt'"],
    [
      [next('rollback', { ...p, to: 7, tasks: ['a', 'b'], keepGit: true })],
      'planfold rollback p --to 7 --tasks a b --keep-git',
    ],
    [[next('undo', { ...p, conflicts: 'take' })], 'planfold undo p --take all'],
    [advise`say ${quoted('unsafe-work', { choice: 'keep' })}`, 'say `--keep-done`'],
    [advise`you can: ${[{ may: 'run' }, ', ', { may: 'archive' }]}`, 'you can: run, prune --archive'],
    [
      advise`you can: ${[{ may: 'run', plan: 'p' }, ', ', { may: 'retry', plan: 'p' }, ', ', { may: 'skip', plan: 'p' }, ', ', { may: 'force-cancel', plan: 'p' }]}`,
      "you can: planfold run p, planfold retry p TASK, planfold skip p TASK -m 'why', planfold cancel p --force",
    ],
  ]
  for (const [hint, text] of told) expect(hintText(hint)).toBe(text)
})

test('hints are joined and cut without losing a step', () => {
  const see = advise`see ${quoted('log')}`
  expect(hintText(joinHints([see, 'or wait'], '; '))).toBe('see `planfold log`; or wait')
  expect(hintText(clipHint(joinHints([see, 'or wait'], '; '), 8))).toBe('see `planfold log`; or…')
  expect(clipHint('short', 9)).toBe('short')
  expect(advise`no ${'step'}, ${2}`).toBe('no step, 2')
})

test('in JSON, hints are text and answers have their command; what tasks put out stays', () => {
  const data = {
    hint: advise`see ${quoted('list')}`,
    stopped: { next: ['look', [next('resume', { plan: 'p' })]] },
    answers: [{ answer: 'approve', means: 'continue', step: next('approve', { plan: 'p', task: 'a' }) }],
    page: { next: null },
    outputs: { steps: [{ next: 'log' }], next: [{ next: 'log' }], hint: ['a', 'b'] },
  }
  expect(JSON.parse(JSON.stringify(data, wordHints))).toEqual({
    hint: 'see `planfold list`',
    stopped: { next: ['look', 'planfold resume p'] },
    answers: [{ answer: 'approve', means: 'continue', command: 'planfold approve p a' }],
    page: { next: null },
    outputs: data.outputs,
  })
  expect(commandText(next('inbox'))).toBe('planfold inbox')
})
