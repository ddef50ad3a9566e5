// What is announced of an entry: each event once, bounded, without secrets, under names that are listed.

import { describe, expect, test } from 'vitest'
import { ANNOUNCED_UNDERSCORE, UNDERSCORE } from '../../extras/compat/sessions/underscore-events.ts'
import { external, name, numberedPlanId, numberedSha, plan, START } from '../../testing/index.ts'
import type { Event } from '../event.ts'
import type { Actor } from '../id.ts'
import { ANNOUNCED, type AnnouncedEntry, announcements, EVENT_MAX_CHARS } from './announcement.ts'

const facts = { name: 'p', session: 'talk' }
const entry = (...events: readonly Event[]): AnnouncedEntry => ({
  position: 7,
  version: 3,
  plan: numberedPlanId(1),
  actor: 'ana' as Actor,
  at: '2026-01-01T00:00:00.000Z',
  events,
})
const parsed = (told: ReturnType<typeof announcements>) =>
  told.map(({ name, data }) => ({ name, data: JSON.parse(data) }))

describe('dotted', () => {
  test('one announcement for each event, with where it stands', () => {
    const events: readonly Event[] = [
      { type: 'plan.started', rules: START.rules },
      { type: 'task.readied', tasks: [name('a')] },
    ]
    const head = { position: 7, version: 3, plan: numberedPlanId(1), plan_name: 'p', session: 'talk' }
    const tail = { at: '2026-01-01T00:00:00.000Z', actor: 'ana' }
    expect(parsed(announcements(entry(...events), facts))).toEqual(
      events.map(event => ({ name: event.type, data: { ...head, ...tail, event } })),
    )
  })

  test('the token of a claim is kept from whoever listens', () => {
    const claim = { token: 'secret', by: 'agent' }
    const event: Event = { type: 'attempt.started', task: name('a'), visit: 1, attempt: 1, claim }
    const [told] = announcements(entry(event), facts)
    expect(told!.data).not.toContain('secret')
    expect(JSON.parse(told!.data)).toMatchObject({ task: 'a', event: { claim: { by: 'agent' } } })
  })

  test('an event that is too long leaves out its longest fields, and says so', () => {
    const definition = plan('p', ...Array.from({ length: 5_000 }, (_, at) => external(`task-with-a-long-name-${at}`)))
    const event: Event = { type: 'plan.revised', revision: 2, definition, hash: numberedSha(1), rationale: 'r' }
    const [told] = announcements(entry(event), facts)
    expect(told!.data.length).toBeLessThan(EVENT_MAX_CHARS + 1_000)
    const { definition: _, ...rest } = event
    expect(JSON.parse(told!.data).event).toEqual({ ...rest, left_out: ['definition'] })
  })
})

describe('underscore', () => {
  const told = (...events: readonly Event[]) =>
    UNDERSCORE.announce(entry(...events), facts, null).map(({ name, data }) => [name, JSON.parse(data).data])

  test('the end of a plan is told under the name that was sent and the one that was listened to', () => {
    expect(told({ type: 'plan.finished', status: 'failed', reason: 'r' })).toEqual([
      ['plan_failed', { event: 'plan.finished', status: 'failed', reason: 'r' }],
      ['plan_complete', { event: 'plan.finished', status: 'failed', reason: 'r', success: false }],
    ])
  })

  test('a clone is told as one, with what it was made from', () => {
    const made = { type: 'plan.created', plan: numberedPlanId(2), definition: plan('q', external('a')) } as const
    const [[of, data]] = told({ ...made, hash: numberedSha(1), origin: numberedPlanId(1) }) as [[string, object]]
    expect([of, data]).toEqual([
      'plan_cloned',
      expect.objectContaining({ original_plan_id: numberedPlanId(1), description: 'q', step_count: 1 }),
    ])
  })

  test('many tasks at once are one change each, very many are one change of the plan', () => {
    const tasks = (count: number) => Array.from({ length: count }, (_, at) => name(`t${at}`))
    expect(told({ type: 'task.readied', tasks: tasks(500) }).length).toBe(500)
    expect(told({ type: 'task.readied', tasks: tasks(501) })).toEqual([
      ['plan_update', { event: 'task.readied', steps_changed: 501 }],
    ])
  })
})

test('no name is listed twice', () => {
  for (const list of [ANNOUNCED, ANNOUNCED_UNDERSCORE]) expect(new Set(list).size).toBe(list.length)
})
