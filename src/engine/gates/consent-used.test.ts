// An approval is used by the attempt it lets begin: when nobody knows how that one ended, doing it again is asked about again.

import { expect, it, onTestFinished } from 'vitest'
import type { Actor, TaskName } from '../../domain/id.ts'
import { ANA, gate, stage } from './consent.fixture.ts'

const SHIP = 'ship' as TaskName
const EVE = 'eve' as Actor

it('asks again, and lets only who had to approve say how it ended', async () => {
  const ship = { action: { type: 'run', command: { script: 'echo begun >> $REC; exec sleep 600' } } } as const
  const at = await stage({
    policy: { roles: { lead: [ANA] } },
    tasks: [gate('go', { approvers: { role: 'lead' } }), { id: SHIP, needs: ['go' as TaskName], ...ship }],
  })
  onTestFinished(at.close)
  await at.drive()
  expect(await at.decide('go')).toBe('ok')
  at.onBegun('ship', async () => {
    await at.engine.submit(at.plan, { type: 'pause', force: true })
  })
  await at.drive()
  expect(await at.asks('ship')).toBe('unknown-outcome')
  expect((await at.engine.submit(at.plan, { type: 'resume' })).ok).toBe(true)
  for (const type of ['retry', 'skip'] as const) {
    const order = { type, task: SHIP, reason: 'again' } as const
    expect(await at.engine.as(EVE).submit(at.plan, order)).toMatchObject({
      ok: false,
      refusal: { code: 'not-allowed' },
    })
  }
  expect(await at.decide('ship', { verdict: 'done', by: EVE })).toBe('not-allowed')
  expect((await at.engine.submit(at.plan, { type: 'retry', task: SHIP })).ok).toBe(true)
  const before = at.done().length
  await at.drive()
  expect((await at.state()).tasks.get(SHIP)?.gate?.asks).toEqual({
    type: 'consent',
    impact: 'changed',
    why: 'its approval is no longer valid: an attempt with unknown outcome used it',
    approvers: { role: 'lead' },
  })
  expect(at.done()).toHaveLength(before)
})
