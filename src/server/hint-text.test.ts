// Hints of the engine, said to whoever asked over HTTP.

import { expect, test } from 'vitest'
import { advise, next, quoted } from '../domain/hint.ts'
import { refuse } from '../domain/refusal.ts'
import { hintText } from './hint-text.ts'
import { refused } from './problem.ts'

test('a step is the request that does it, of the plan that is asked about', () => {
  const hint = (value: Parameters<typeof hintText>[0]) => hintText(value, { plan: 'p' })
  expect(hint(advise`see ${quoted('next', { explain: true })}`)).toBe('see `GET /plans/p/next?explain=true`')
  expect(hint(advise`to lift that: ${next('lift-halt')}`)).toBe('to lift that: DELETE /halt')
  expect(hint(advise`look: ${next('log', { plan: 'p' })}`)).toBe('look: GET /plans/p/entries')
  expect(hint(advise`finish it with: ${next('resume', { plan: 'p' })}`)).toBe('finish it with: POST /plans/p/resume')
  expect(hint(advise`to pass over it, use ${quoted('skip')}`)).toBe('to pass over it, use `POST /plans/p/tasks/…/skip`')
  expect(hint(advise`see ${quoted('checkpoints')} and ${quoted('log')}`)).toBe(
    'see `GET /plans/p/checkpoints` and `GET /plans/p/entries`',
  )
  expect(hint('claim another task')).toBe('claim another task')
})

test('a hint that names another plan and task, or several steps, is about those', () => {
  const hint = (value: Parameters<typeof hintText>[0]) => hintText(value, { plan: 'p' })
  const q = { plan: 'q' }
  expect(hint(advise`${quoted('resume', q)} continues it and ${quoted('cancel', q)} gives it up`)).toBe(
    '`POST /plans/q/resume` continues it and `POST /plans/q/cancel` gives it up',
  )
  const skip = quoted('skip', { ...q, task: 'build/x' })
  expect(hint(advise`let it end first (${quoted('resume', q)}), or give it up: ${skip}`)).toBe(
    'let it end first (`POST /plans/q/resume`), or give it up: `POST /plans/q/tasks/build%2Fx/skip`',
  )
  const back = next('rollback', { plan: 'p', tasks: ['a', 'b'] })
  expect(hint(advise`name them: ${back}`)).toBe('name them: POST /plans/p/rollback')
})

test('the answers to a gate, and what is done a second time on purpose, are requests too', () => {
  const ship = { plan: 'p', task: 'ship' }
  expect(hintText(advise`look; ${quoted('approve', ship)} approves it`)).toBe(
    'look; `POST /plans/p/gates/ship/approve` approves it',
  )
  expect(hintText(advise`answer it: ${quoted('answer', { ...ship, fields: ['where=…'] })}`)).toBe(
    'answer it: `POST /plans/p/gates/ship/answer`',
  )
  expect(hintText(advise`on purpose: ${quoted('retry', { repeat: true })}`, ship)).toBe(
    'on purpose: `POST /plans/p/tasks/ship/retry with {"repeat": true}`',
  )
  expect(hintText(advise`say which: ${quoted('unsafe-work', { choice: 'keep' })}`)).toBe(
    'say which: {"unsafe": "keep"}',
  )
})

test('what only whoever runs the service can do is said in plain words', () => {
  expect(hintText(advise`run ${quoted('check', { readData: true })}`)).toBe(
    'run a check of all stored data where the service runs',
  )
})

test('what is allowed is told in the verbs of the service, in the list and in the hint', () => {
  const words = ['run', 'cancel', 'archive']
  const hint = advise`you can: ${[{ may: 'run' }, ', ', { may: 'cancel' }, ', ', { may: 'archive' }]}`
  expect(refused(refuse('illegal-transition', 'no', hint, words), { plan: 'p' }).problem).toMatchObject({
    detail: 'no',
    hint: 'you can: execute, cancel, delete',
    allowed: ['execute', 'cancel', 'delete'],
  })
})
