import { describe, expect, it } from 'vitest'
import { external, gate, Journal, name, plan, START, task } from '../../testing/index.ts'
import type { GateQuestion } from '../event.ts'
import { plainStep } from '../hint.ts'
import type { PlanDefinition } from '../plan.ts'
import { inboxOf, isFor, reviewsOf } from './inbox.ts'
import { InboxPast } from './inbox-history.ts'
import { type Due, dueIn, noticesFor } from './notices.ts'

/** Under the rules of today. */
function today(definition: PlanDefinition): Journal {
  const journal = new Journal().create(definition)
  journal.must(START)
  journal.turn()
  return journal
}
/** The same, with every gate that is reached made ready. */
function begun(definition: PlanDefinition): Journal {
  const journal = today(definition)
  ask(journal)
  return journal
}
function ask(journal: Journal, more: Partial<GateQuestion> = {}): void {
  for (const { definition, visit, status } of [...journal.state.asking]) {
    if (status !== 'ready') continue
    const question: GateQuestion = { asks: { type: 'approval', show: [] }, hash: journal.state.hash, ...more }
    journal.turn({
      prepared: [{ task: definition.id, visit, prepared: {} }],
      gates: [{ task: definition.id, visit, from: journal.state.hash, question }],
    })
  }
}
const due = (journal: Journal): readonly Due[] => journal.entries.flatMap(entry => dueIn(entry))
const told = (journal: Journal, options: { resting?: boolean; now?: number } = {}) =>
  noticesFor(journal.state, due(journal), options.now ?? journal.clock.now(), {
    resting: options.resting ?? false,
    say: text => text,
    word: plainStep,
  })
const kinds = (journal: Journal) => told(journal, { resting: true }).notices.map(({ kind, ids }) => [kind, ids.length])

const WINDOW = { policy: { review: { windowMs: 1_000, max: 3 } } }

describe('what is told', () => {
  it('is what waits, while it waits, and how it ended', () => {
    const journal = begun(plan('p', gate('review'), external('call', { assignee: 'bo' }), external('anyone')))
    expect(told(journal).notices.map(({ says }) => says.task)).toEqual(['call', 'review'])
    journal.must({ type: 'decide', task: name('review'), verdict: 'approved', rationale: '', by: 'ana' })
    expect(told(journal).notices.map(({ says }) => says.task)).toEqual(['call'])
    journal.must({ type: 'cancel', reason: 'enough' })
    expect(kinds(journal)).toEqual([['cancelled', 1]])
  })

  it('of questions and proposals is told until they are answered', () => {
    const journal = begun(plan('p', task('a')))
    const form = [{ name: 'answer', type: 'text' }] as const
    journal.must({ type: 'ask', id: 'q1', text: 'which?', form, by: 'agent', task: name('a') })
    expect(told(journal).notices).toMatchObject([{ kind: 'waiting', says: { text: 'agent, at a, asks: which?' } }])
    journal.must({ type: 'answer', id: 'q1', answers: { answer: 'this' }, by: 'ana' })
    expect(told(journal).notices).toEqual([])
  })

  it('of an expiry is told, by the words the gate itself uses', () => {
    const policy = { roles: { lead: ['bo'] }, escalate: { afterMs: 3_600_000, to: 'lead' } }
    const journal = today(plan('p', task('a'), gate('review'), { policy }))
    ask(journal, { expiresAt: journal.clock.now() + 60_000 })
    journal.clock.advance(60_000)
    journal.turn()
    expect(journal.status('review')).toBe('failed')
    const expired = told(journal).notices.find(({ kind }) => kind === 'expired')
    expect(expired?.says).toMatchObject({ task: 'review', for: 'lead', people: ['bo'] })
  })
})

describe('a review window', () => {
  it('gathers approvals that open within it, and the next one begins the next', () => {
    const journal = today(plan('p', gate('one'), gate('two'), gate('three'), WINDOW, { concurrency: 4 }))
    ask(journal)
    const [first] = reviewsOf(journal.state, journal.clock.now())
    expect(first!.items).toHaveLength(3)
    expect(first!.closed).toBe(true)
  })

  it('holds back what is told of it until it closes, or until nothing else moves', () => {
    const journal = begun(plan('p', gate('one'), gate('two', { needs: ['a'] }), task('a'), WINDOW))
    expect(told(journal)).toMatchObject({ notices: [], held: [{ task: 'one' }] })
    expect(told(journal).until).toBe(inboxOf(journal.state)[0]!.since + 1_000)
    journal.clock.advance(500)
    journal.succeed('a')
    ask(journal)
    expect(told(journal)).toMatchObject({ notices: [], held: [{ task: 'one' }, { task: 'two' }] })
    const closed = told(journal, { now: journal.clock.now() + 500 })
    expect(closed.notices).toMatchObject([
      { ids: [{ task: 'one' }, { task: 'two' }], says: { text: '2 approvals wait in one review' } },
    ])
    expect(told(journal, { resting: true }).notices).toEqual(closed.notices)
  })

  it('is decided as a whole, or not at all', () => {
    const journal = begun(plan('p', gate('one'), gate('two'), WINDOW))
    const decide = (each: string) =>
      ({ type: 'decide', task: name(each), verdict: 'approved', rationale: 'both', by: 'ana' }) as const
    const before = journal.entries.length
    expect(journal.submit({ type: 'review', decisions: [decide('one'), decide('nowhere')] }).ok).toBe(false)
    expect(journal.entries).toHaveLength(before)
    journal.must({ type: 'review', decisions: [decide('one'), decide('two')] })
    expect(journal.entries).toHaveLength(before + 1)
    expect(journal.entries.at(-1)!.events.filter(({ type }) => type === 'gate.decided')).toHaveLength(2)
    expect(reviewsOf(journal.state, 0)).toEqual([])
  })
})

describe('the inbox', () => {
  const form = [{ name: 'answer', type: 'text' }] as const

  it('holds questions and proposals under their own ids, and knows what became of them', () => {
    const journal = begun(plan('p', task('a')))
    journal.must({ type: 'ask', id: 'q1', text: 'which?', form, by: 'agent', task: name('a') })
    const [item] = inboxOf(journal.state)
    expect(item).toMatchObject({ task: 'a', asks: { type: 'agent-question', id: 'q1', by: 'agent' } })
    journal.submit({ type: 'answer', id: 'q1', answers: { answer: 'this' }, by: 'ana' }, 'ana')
    expect(inboxOf(journal.state)).toEqual([])
    const past = new InboxPast(key => key === item!.key)
    for (const entry of journal.entries) past.read(entry)
    expect(past.found).toMatchObject({ by: { actor: 'ana', text: 'ana answered question q1: {"answer":"this"}' } })
  })

  it('names another question when the same gate asks about something else', () => {
    const journal = begun(plan('p', gate('review')))
    const first = inboxOf(journal.state)[0]!.key
    const definition = plan('p', gate('review', { title: 'changed' }))
    journal.must({ type: 'revise', definition, hash: 'f'.repeat(64) as never, rationale: 'x' })
    ask(journal)
    const second = inboxOf(journal.state)[0]!.key
    expect(second).not.toBe(first)
    const past = new InboxPast(key => key === first)
    for (const entry of journal.entries) past.read(entry)
    expect(past.found?.by).not.toBe(null)
  })

  it('is somebody’s by name, by role, by being called; or everybody’s', () => {
    const item = { who: null, role: null, called: null } as never
    expect(isFor(item, 'anyone')).toBe(true)
    const role = { name: 'lead', people: ['bo'] }
    for (const one of [
      { who: 'bo', role: null, called: null },
      { who: null, role, called: null },
      { who: 'cy', role: null, called: role },
    ]) {
      expect(isFor(one as never, 'bo')).toBe(true)
      expect(isFor(one as never, 'di')).toBe(false)
    }
    expect(isFor({ who: null, role, called: null } as never, 'lead')).toBe(true)
  })
})
