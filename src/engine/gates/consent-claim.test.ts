// Work that an agent claims and that cannot be taken back asks before it can be claimed: nobody holds a token for it, and no report
// of it counts, before somebody has agreed to exactly this.

import { afterEach, describe, expect, it } from 'vitest'
import { plainHint } from '../../domain/hint.ts'
import type { Actor, TaskName } from '../../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { changed, gate, run, type Stage, stage } from './consent.fixture.ts'

const AGENT = 'agent' as Actor
const SHIP = 'ship' as TaskName
const external = (id: string, more: Partial<TaskDefinition> = {}): Partial<TaskDefinition> => ({
  id: id as TaskName,
  action: { type: 'external' },
  ...more,
})

let on: Stage
afterEach(() => on.close())

const claim = async (task?: string, leaseMs?: number) => {
  const made = await on.engine.as(AGENT).submit(on.plan, {
    type: 'claim',
    task: task === undefined ? undefined : (task as TaskName),
    leaseMs,
  })
  return made.ok ? (made.claim?.task ?? 'no claim') : `${made.refusal.message} | ${plainHint(made.refusal.hint ?? '')}`
}
const ready = async () =>
  (await on.engine.ask({ type: 'next', plan: on.plan }))?.ready.map(({ name }) => name as string)
const REFUSED = "'ship' must be approved before it can be claimed"
const HOW = 'approve plan ship'

describe('an external task with an impact', () => {
  it.each<readonly [string, Partial<TaskDefinition>, Partial<PlanDefinition>]>([
    ['its kind', { kind: 'deploy' }, {}],
    ['its labels', { labels: ['push'] }, {}],
    ['spending', { kind: 'purchase' }, {}],
    ['a plan that demands a gate', { title: 'Go to prod' }, { extra: { policies: { requireGateForProd: true } } }],
  ])('asks before it can be claimed: by %s', async (_, task, plan) => {
    on = await stage({ ...plan, tasks: [external('ship', task), external('free')] })
    expect(await claim('ship')).toContain(REFUSED)
    expect(await claim('ship')).toContain(HOW)
    expect(await ready()).toEqual(['free'])
    expect(await claim()).toBe('free')
    expect(await claim()).toContain(REFUSED)
    const { items } = await on.engine.ask({ type: 'inbox' })
    expect(items.map(({ task: asked, asks }) => [asked, asks.type])).toEqual([['ship', 'consent']])
    expect(await on.decide('ship')).toBe('ok')
    expect(await ready()).toEqual(['ship'])
    expect(await claim('ship')).toBe('ship')
  })

  it('cannot be reported before it was approved, with a claim or without', async () => {
    on = await stage({ tasks: [external('ship', { kind: 'deploy' })] })
    const done = { type: 'report', task: SHIP, result: { status: 'succeeded' } } as const
    const early = await on.engine.as(AGENT).submit(on.plan, done)
    expect(early.ok ? '' : early.refusal.message).toContain(REFUSED)
    await claim()
    expect(await on.decide('ship')).toBe('ok')
    expect((await on.engine.as(AGENT).submit(on.plan, done)).ok).toBe(true)
    expect((await on.state()).status).toBe('completed')
  })

  it('does not ask where the policy leaves it out', async () => {
    on = await stage({ policy: { gates: { before: [] } }, tasks: [external('ship', { kind: 'deploy' })] })
    expect(await claim()).toBe('ship')
  })

  it('is decided by whom the policy names, and rejected it fails', async () => {
    const policy = { roles: { lead: ['ana'] }, gates: { approvers: { role: 'lead' } } }
    on = await stage({ policy, tasks: [external('ship', { kind: 'deploy' })] })
    await claim()
    expect(await on.decide('ship', { by: 'agent' })).toBe('not-allowed')
    expect(await on.decide('ship', { verdict: 'rejected' })).toBe('ok')
    expect((await on.state()).tasks.get(SHIP)?.status).toBe('failed')
  })

  it('that a gate before it showed is approved there, once', async () => {
    on = await stage({ tasks: [gate('ok'), external('ship', { kind: 'deploy', needs: ['ok'] as never })] })
    await on.drive()
    expect(await on.decide('ok')).toBe('ok')
    expect(await claim()).toBe('ship')
  })

  it('asks again when the plan says something else than what was approved', async () => {
    on = await stage({ tasks: [external('ship', { kind: 'deploy', instruction: 'to staging' })] })
    await claim()
    expect(await on.decide('ship')).toBe('ok')
    expect(await on.revise(changed('ship', () => ({ instruction: 'to production' })))).toBe('ok')
    expect(await claim('ship')).toContain('its approval is no longer valid: the plan, what it does changed since')
    expect(await on.asks('ship')).toBe('consent')
    expect(await on.decide('ship')).toBe('ok')
    expect(await claim('ship')).toBe('ship')
  })

  it('asks again when the approval is too old, and after a claim that lapsed', async () => {
    on = await stage({ tasks: [external('ship', { kind: 'deploy' })] })
    await claim()
    await on.decide('ship')
    on.later(25 * 3_600_000)
    expect(await claim('ship')).toContain('it was approved too long ago')
    await on.decide('ship')
    expect(await claim('ship', 1)).toBe('ship')
    await expect.poll(async () => await claim('ship')).toContain('an attempt with unknown outcome used it')
    expect(await on.decide('ship')).toBe('ok')
    expect(await claim('ship')).toBe('ship')
  })

  it('asks after its condition and what it needs, also while the plan is driven', async () => {
    on = await stage({
      tasks: [run('build', ['true']), external('ship', { kind: 'deploy', needs: ['build'] as never, when: 'true' })],
    })
    expect(await claim('ship')).not.toContain(REFUSED)
    await on.drive()
    expect(await on.asks('ship')).toBe('consent')
    await on.decide('ship')
    await on.drive()
    expect(await claim('ship')).toBe('ship')
  })

  it('says in its bytes what whoever claims it is told', async () => {
    on = await stage({ tasks: [external('ship', { kind: 'deploy', instruction: 'ship it to https://prod.example' })] })
    await claim()
    const [item] = (await on.engine.ask({ type: 'inbox' })).items
    const bytes = await on.engine.ask({ type: 'blob', sha256: item!.shown! })
    expect(JSON.parse(Buffer.from(bytes!).toString('utf8'))).toMatchObject({
      task: 'ship',
      impact: 'deploy',
      does: { type: 'external', instruction: 'ship it to https://prod.example' },
      hosts: ['prod.example'],
      files: [],
    })
  })

  it('is asked about once when many try to claim it at once', async () => {
    on = await stage({ tasks: [external('ship', { kind: 'deploy' })] })
    const tried = await Promise.all(Array.from({ length: 8 }, () => claim('ship')))
    expect(tried.every(each => each.includes(REFUSED))).toBe(true)
    expect((await on.events()).filter(({ type }) => type === 'gate.opened')).toHaveLength(1)
    await on.decide('ship')
    const claimed = await Promise.all(Array.from({ length: 8 }, () => claim('ship')))
    expect(claimed.filter(each => each === 'ship')).toHaveLength(1)
  })

  it('cannot be passed by whoever may not decide', async () => {
    const policy = { roles: { lead: ['ana'] }, gates: { approvers: { role: 'lead' } } }
    on = await stage({ policy, tasks: [external('ship', { kind: 'deploy' })] })
    await claim()
    const skipped = await on.engine.as(AGENT).submit(on.plan, { type: 'skip', task: SHIP, reason: 'no' })
    expect(skipped.ok).toBe(false)
    expect((await on.engine.submit(on.plan, { type: 'skip', task: SHIP, reason: 'no' })).ok).toBe(true)
  })
})
