// A budget that is used up: what is said, and that doing what is said helps.

import { expect, test } from 'vitest'
import { eachPlace } from '../../place.fixture.ts'
import { answerQuestion } from '../people/answer.ts'
import { run } from '../plans/run.ts'
import { addToBudget, showBudget } from './budget.ts'

const place = eachPlace()

const planOf = (exceeded: string): string => `planfold: 1
name: p
policy: { budget: { attempts: 1, exceeded: ${exceeded} } }
tasks:
  - { id: a, run: 'true' }
  - { id: b, needs: [a], run: 'true' }
`

test('a task that fails for want of budget has a hint and a next command that help', async () => {
  await place.write('p.yaml', planOf('fail'))
  const failed = await place.say(context => run(context, 'p.yaml', { start: true }))
  expect(failed.stdout).toContain(
    '\n           add to the budget, then try again: `planfold budget add p --attempts 1`',
  )
  expect(failed.stdout).toContain('Next: planfold budget add p --attempts 1, then planfold retry p b\n')
  expect(failed.stdout).toContain('b cannot start')
  expect(failed.stdout).not.toContain('b started')
  const added = await place.say(context => addToBudget(context, 'p', { attempts: 1 }))
  expect(added).toMatchObject({ exit: 0, stderr: expect.stringContaining('planfold retry p b') })
})

test('who adds to the budget is told that, and not that a question was answered', async () => {
  await place.write('p.yaml', planOf('ask'))
  await place.say(context => run(context, 'p.yaml', { start: true }))
  const added = await place.say(context => addToBudget(context, 'p', { attempts: 1 }))
  expect(added.stdout).toBe('ana@example.com added 1 attempt to the budget of the plan\nthe plan can be resumed now\n')
  expect(added.stderr).toBe('Next: planfold resume p\n')
})

test('in the shell of a coding agent nothing is added: neither by the command nor by an answer', async () => {
  await place.write('p.yaml', planOf('ask'))
  await place.say(context => run(context, 'p.yaml', { start: true }))
  const agent = { json: true, environment: { CLAUDECODE: '1', PLANFOLD_AS: 'agent' } }
  const added = await place.say(context => addToBudget(context, 'p', { attempts: 5 }), agent)
  expect(added).toMatchObject({ exit: 'not-allowed' })
  const asked = JSON.parse((await place.say(context => showBudget(context, 'p'), agent)).stdout)
  const { id } = asked.data.asked as { readonly id: string }
  const answered = await place.say(context => answerQuestion(context, 'p', id, ['more=yes'], {}), agent)
  expect(answered).toMatchObject({ exit: 'not-allowed' })
  expect(await place.say(context => answerQuestion(context, 'p', id, ['more=yes'], {}))).toMatchObject({ exit: 0 })
})
