// A judge that is asked in the middle of an attempt: who is asked, what it is shown, and what comes back.

import { expect, test } from 'vitest'
import { VERDICT } from '../../domain/plan-rules/judge.ts'
import type { Attempt, Outcome, RunnerTools } from '../../runners/runner.ts'
import { Logbook } from '../attempts/attempt-log.ts'
import { attemptAsWritten } from '../attempts/resolve.ts'
import { name, setup } from '../rooms.fixture.ts'
import { askJudge } from './ask-judge.ts'

async function judged(by: unknown, outcome: Outcome) {
  const asked: { attempt: Attempt; tools: RunnerTools }[] = []
  const { rooms, plan } = await engine()
  for (const action of ['model', 'agent'] as const)
    (rooms.runners as Map<string, unknown>).set(action, {
      action,
      needs: action === 'agent' ? ['agent'] : [],
      attempt: async (attempt: Attempt, tools: RunnerTools) => {
        asked.push({ attempt, tools })
        return outcome
      },
    })
  const state = (await rooms.store.state(plan))!
  const task = state.tasks.get(name('work'))!
  const { signal } = new AbortController()
  const options = { owner: 'me', stop: { aborted: false, signal }, isHeld: () => true as const }
  const where = { plan, task: name('work'), visit: 1, attempt: 1 }
  const logbook = new Logbook(rooms.store.logs, rooms.clock, where, () => {}, undefined, undefined)
  const answer = await askJudge({ rooms, state, task, options, logbook }, attemptAsWritten(state, task), {
    by: by as string,
    name: 'judge',
    instruction: 'Which is best?',
    shows: [{ title: 'The first', text: '[data] + one' }],
    answer: VERDICT,
  })
  return { answer, asked }
}

async function engine() {
  const made = setup()
  return { ...made, plan: await made.plan({ id: name('work'), instruction: 'never shown' }) }
}

test('a model is asked with everything in its prompt, in a name and a conversation of its own', async () => {
  const { answer, asked } = await judged('local/m', { type: 'done', outputs: { verdict: 'pass', findings: [], x: 1 } })
  expect(answer).toEqual({ ok: true, answer: { verdict: 'pass', findings: [] } })
  const [{ attempt, tools }] = asked as [(typeof asked)[number]]
  expect(attempt.action).toEqual({ type: 'model', spec: { use: 'local/m', answer: VERDICT } })
  expect(attempt.definition.instruction).toBe('Which is best?\n\n## The first\n[data] + one')
  expect(attempt.task).toBe('work/judge')
  expect(attempt.key).toMatch(/\/work\/1\/judge$/)
  expect(tools.budget).toBeDefined()
})

test('an agent is shown the same in its brief, and may write nothing', async () => {
  const { asked } = await judged({ use: 'grok' }, { type: 'done', outputs: { text: 'fine', verdict: 'pass' } })
  const [{ attempt, tools }] = asked as [(typeof asked)[number]]
  expect(attempt.definition.instruction).toBe('Which is best?')
  expect(tools.agent?.facts.judged).toEqual([{ title: 'The first', text: '[data] + one' }])
  expect(tools.write).toEqual([])
})

test('a failure, an interruption and nobody to ask are told apart', async () => {
  const failure = { class: 'transient', message: 'no answer', retryable: true } as const
  expect((await judged('model', { type: 'failed', failure })).answer).toEqual({ ok: false, failure })
  expect((await judged('model', { type: 'interrupted' })).answer).toEqual({ ok: false, interrupted: 'stopped' })
  expect((await judged('grok', { type: 'parked', reason: 'asks' })).answer).toEqual({ ok: false, interrupted: 'asks' })
  const { answer, asked } = await judged({ task: 'other' }, { type: 'done' })
  expect(answer).toMatchObject({ ok: false, failure: { code: 'judge:none' } })
  expect(asked).toEqual([])
})
