// Completed work is not done a second time by a slip, when nobody can say that doing it twice is harmless.

import { describe, expect, it } from 'vitest'
import { create, given, Journal, name, plan, START, succeeded, task } from '../../testing/index.ts'
import { advise, quoted } from '../hint.ts'
import type { TaskDefinition } from '../plan.ts'

function completed(...tasks: readonly TaskDefinition[]): Journal {
  const journal = new Journal()
  journal.must(create(plan('p', ...tasks)))
  journal.must(START)
  for (let turns = 0; turns < 10 && journal.state.status === 'active'; turns++) {
    const settled = [...journal.state.running].map(({ definition, visit, attempt }) => ({
      task: definition.id,
      visit,
      attempt,
      result: succeeded(),
    }))
    journal.must({ type: 'turn', settled })
  }
  expect(journal.state.status).toBe('completed')
  return journal
}
const again = (one: string, more = {}) => ({ type: 'retry', task: name(one), ...more }) as const
const refusalOf = (journal: Journal, one: string) => {
  const decided = journal.submit(again(one))
  return decided.ok ? null : decided.refusal
}

describe('trying completed work again', () => {
  it('is refused when its effect is unsafe, with the command that says it is meant', () => {
    const journal = completed(task('mail'))
    expect(refusalOf(journal, 'mail')).toEqual({
      code: 'not-ready',
      message: "'mail' is completed and would be done a second time; its effect is unsafe to repeat",
      hint: advise`to do that on purpose: ${quoted('retry', { plan: 'p', task: 'mail', repeat: true })}`,
      allowed: ['repeat'],
    })
    expect(journal.state.status).toBe('completed')
    expect(journal.must(again('mail', { repeat: true }))[0]).toMatchObject({ type: 'plan.reopened' })
    expect(journal.state.tasks.get(name('mail'))).toMatchObject({ status: 'ready', visit: 2 })
  })

  it('names everything that would be done again with it', () => {
    const read = task('read', { effect: 'pure' })
    const journal = completed(read, task('mail', { needs: ['read'] }), task('bill', { needs: ['mail'] }))
    expect(refusalOf(journal, 'read')?.message).toBe(
      "'mail', 'bill' are completed and would be done a second time; their effects are unsafe to repeat",
    )
  })

  it('needs no word where doing it twice is harmless', () => {
    expect(refusalOf(completed(task('a', { effect: 'idempotent' })), 'a')).toBeNull()
  })

  it('needs no word for what failed', () => {
    const journal = given(create(plan('p', task('mail'))), START).when({ type: 'turn' }).journal
    journal.fail('mail', {})
    expect(refusalOf(journal, 'mail')).toBeNull()
  })
})
