import { expect, test } from 'vitest'
import { setup } from '../attempt.fixture.ts'
import type { Evaluated } from '../runner.ts'
import { decideRunner } from './decide-runner.ts'

function decide(evaluated: Evaluated) {
  const { tools, attempt, going } = setup()
  const evaluate = () => evaluated
  return decideRunner().attempt(attempt({ type: 'decide', expression: 'x' }), { ...tools, evaluate }, going)
}

test('a text or a truth names the outcome', async () => {
  expect(await decide({ ok: true, value: 'harvest' })).toEqual({ type: 'done', outcome: 'harvest' })
  expect(await decide({ ok: true, value: true })).toEqual({ type: 'done', outcome: 'true' })
  expect(await decide({ ok: true, value: false })).toEqual({ type: 'done', outcome: 'false' })
})

test('anything else fails with a hint', async () => {
  for (const value of [1, null, undefined, '', [], {}, 1n]) {
    expect(await decide({ ok: true, value })).toMatchObject({
      type: 'failed',
      failure: { class: 'logic', hint: expect.any(String) },
    })
  }
  expect(await decide({ ok: false, message: 'no such task', hint: 'Try b.' })).toEqual({
    type: 'failed',
    failure: { class: 'logic', message: 'no such task', hint: 'Try b.', retryable: false },
  })
})
