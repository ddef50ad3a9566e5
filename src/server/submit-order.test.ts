// Hints of the engine, said to whoever asked over HTTP.

import { expect, test } from 'vitest'
import { refuse } from '../domain/refusal.ts'
import { forTheirRole, inOurWords, STOP_AND_WAIT } from './submit-order.ts'

const hint = (text: string): string | undefined => inOurWords(refuse('conflict', 'no', text), 'p').hint

test('a command becomes the request that does the same', () => {
  expect(hint('see `planfold next --explain`')).toBe('see `GET /plans/p/next?explain=true`')
  expect(hint('to lift that: planfold halt --lift')).toBe('to lift that: DELETE /halt')
  expect(hint('look: planfold log p')).toBe('look: GET /plans/p/entries')
  expect(hint('finish it with: planfold resume p')).toBe('finish it with: POST /plans/p/resume')
  expect(hint('to pass over it, use `planfold skip`')).toBe('to pass over it, use `POST /plans/p/tasks/…/skip`')
  expect(hint('see `planfold checkpoints list` and `planfold log`')).toBe(
    'see `GET /plans/p/checkpoints` and `GET /plans/p/entries`',
  )
  expect(hint('claim another task')).toBe('claim another task')
})

test('a hint that names another plan and task, or several commands, is about those', () => {
  expect(hint('`planfold resume q` continues it and `planfold cancel q` gives it up')).toBe(
    '`POST /plans/q/resume` continues it and `POST /plans/q/cancel` gives it up',
  )
  expect(hint('let it end first (`planfold resume q`), or give it up: `planfold skip q build/x`')).toBe(
    'let it end first (`POST /plans/q/resume`), or give it up: `POST /plans/q/tasks/build%2Fx/skip`',
  )
  expect(hint('name them: planfold rollback p --tasks a,b')).toBe('name them: POST /plans/p/rollback')
})

test('the answers to a gate, and what is done a second time on purpose, are requests too', () => {
  const at = (text: string, allowed?: readonly string[]) =>
    inOurWords(refuse('not-ready', 'no', text, allowed), 'p', 'ship').hint
  expect(at('look; `planfold approve p ship` approves it')).toBe('look; `POST /plans/p/gates/ship/approve` approves it')
  expect(at('answer it: `planfold answer p ship where=…`')).toBe('answer it: `POST /plans/p/gates/ship/answer`')
  expect(at('on purpose: `planfold retry p ship --repeat`', ['repeat'])).toBe(
    'on purpose: `POST /plans/p/tasks/ship/retry with {"repeat": true}`',
  )
})

test('what is allowed is told in the verbs of the service, in the list and in the hint', () => {
  const refusal = refuse('illegal-transition', 'no', 'from here you can: run, cancel, prune --archive', [
    'run',
    'cancel',
    'prune --archive',
  ])
  expect(inOurWords(refusal, 'p')).toEqual({
    code: 'illegal-transition',
    message: 'no',
    hint: 'from here you can: execute, cancel, delete',
    allowed: ['execute', 'cancel', 'delete'],
  })
})

test('only whoever may lift a halt is told how', () => {
  const refusal = refuse('not-ready', 'everything was halted', 'to lift that: planfold halt --lift')
  const hints = (['viewer', 'operator', 'approver', 'admin'] as const).map(role => forTheirRole({ role }, refusal).hint)
  expect(hints).toEqual([STOP_AND_WAIT, STOP_AND_WAIT, STOP_AND_WAIT, 'to lift that: planfold halt --lift'])
  expect(STOP_AND_WAIT).not.toMatch(/halt|DELETE|planfold/)
  const other = refuse('not-ready', 'x', 'see `planfold list`')
  expect(forTheirRole({ role: 'viewer' }, other)).toBe(other)
})
