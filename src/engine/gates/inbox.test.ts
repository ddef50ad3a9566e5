import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { next } from '../../domain/hint.ts'
import type { PlanName } from '../../domain/id.ts'
import { realRooms, sh } from '../rollback/perform-rollback.fixture.ts'
import { name, setup, untilStopped } from '../rooms.fixture.ts'

const GATE = { id: name('review'), action: { type: 'gate', gate: 'approval' } } as const

describe('the inbox', () => {
  const open: ReturnType<typeof setup>[] = []
  const rooms = (...given: Parameters<typeof setup>) => {
    const made = setup(...given)
    open.push(made)
    return made
  }
  afterEach(async () => {
    for (const { worker, engine } of open.splice(0)) {
      await worker.close()
      await engine.close()
    }
  })

  it('lists all plans oldest first, under ids that stay and that no other question has', async () => {
    const { engine, define } = rooms()
    for (const each of ['one', 'two', 'three']) await define({ name: each as PlanName, tasks: [GATE] })
    const first = await engine.ask({ type: 'inbox' })
    expect(first.items.map(item => item.name)).toEqual(['one', 'two', 'three'])
    expect(first.unreadable).toEqual([])
    for (const { id } of first.items) expect(id).toMatch(/^[0-9a-hj-km-np-tv-z]{8}$/)
    expect(new Set(first.items.map(({ id }) => id)).size).toBe(3)
    expect((await engine.ask({ type: 'inbox' })).items.map(({ id }) => id)).toEqual(first.items.map(({ id }) => id))
    await engine.submit('two', { type: 'decide', task: name('review'), verdict: 'approved', rationale: 'fine' })
    expect((await engine.ask({ type: 'inbox' })).items.map(item => item.name)).toEqual(['one', 'three'])
    const { id } = first.items[1]!
    expect(await engine.ask({ type: 'inboxFate', id })).toMatchObject({
      id,
      by: { actor: 'me', text: 'review approved by me: fine' },
    })
    expect(await engine.ask({ type: 'inboxFate', id: 'zzzzzzzz' })).toBe(null)
  })

  it('asks whether a command that was cut off happened, with what is known about it', async () => {
    const { script, begun } = untilStopped()
    const made = rooms(script)
    const { engine, worker } = made
    const id = await made.plan({ id: name('push') })
    const [stop, force] = [new AbortController(), new AbortController()]
    const driven = worker.drive(id, { stop: stop.signal, force: force.signal })
    await begun
    stop.abort()
    force.abort()
    await driven
    const { items } = await engine.ask({ type: 'inbox' })
    expect(items).toMatchObject([
      {
        task: 'push',
        asks: { type: 'unknown-outcome', evidence: { effect: 'unsafe' } },
        answers: [
          { answer: 'done', step: next('approve', { plan: 'plan', task: 'push' }) },
          { answer: 'again', step: next('retry', { plan: 'plan', task: 'push' }) },
          { answer: 'reject' },
        ],
      },
    ])
  })

  it('gives work whose claim lapsed back to whom it was assigned', async () => {
    const made = rooms()
    const { engine } = made
    const id = await made.plan({ id: name('call'), assignee: 'bo', action: { type: 'external' } })
    const claimed = await engine.submit(id, { type: 'claim', leaseMs: 1 })
    expect(claimed.ok).toBe(true)
    await expect.poll(() => made.rooms.store.claims.lapsed(id), { interval: 1, timeout: 120_000 }).toHaveLength(1)
    expect((await engine.ask({ type: 'inbox' })).items).toMatchObject([
      { task: 'call', who: 'bo', asks: { type: 'work' } },
    ])
  })
})

describe('files that were set back', () => {
  it('are named while the plan is open and after it has ended, until they are restored or kept no longer', async () => {
    const place = await realRooms()
    onTestFinished(() => place.close())
    mkdirSync(join(place.root, 'sc'))
    const setBack = sh('a', 'test -e on-$PLANFOLD_PLAN && exit 0; mkdir on-$PLANFOLD_PLAN; echo half > sc/x; exit 75', {
      write: ['sc/**'],
      network: [],
      retry: { attempts: 2, backoffMs: { min: 1, max: 1 } },
    })
    const run = async (plan: string, restoredMs: number) => {
      const definition = { name: plan as PlanName, tasks: [setBack], policy: { retention: { restoredMs } } }
      const made = await place.submit({ type: 'create', definition }, null)
      if (!made.ok) throw new Error(made.refusal.message)
      await place.submit({ type: 'start' }, plan)
      await place.worker.drive(made.plan, { stop: new AbortController().signal })
      expect((await place.engine.ask({ type: 'summary', plan }))?.status).toBe('completed')
    }
    await run('kept', 3_600_000)
    await run('over', 1)
    const named = async () =>
      (await place.engine.ask({ type: 'inbox' })).restored.map(({ name, task, paths }) => ({ name, task, paths }))
    expect(await named()).toEqual([{ name: 'kept', task: 'a', paths: ['sc/x'] }])
    expect(await place.submit({ type: 'restore', paths: ['sc/x'] }, 'kept')).toMatchObject({ ok: true })
    expect(await named()).toEqual([])
  })
})

describe('a digest over many entries', () => {
  it('begins where the time asked for begins', async () => {
    const made = setup()
    const { engine, worker } = made
    const id = await made.plan(GATE)
    for (let times = 0; times < 30; times++) await engine.submit(id, { type: 'note', text: `${times}` })
    const entries = (await engine.ask({ type: 'entries', plan: id, limit: 100 }))!
    for (const { now } of [entries[0]!, entries[17]!, entries.at(-1)!]) {
      const told = await engine.ask({ type: 'digest', plan: id, since: now })
      expect(told?.entries).toBe(entries.filter(entry => entry.now >= now).length)
    }
    expect((await engine.ask({ type: 'digest', plan: id, since: entries.at(-1)!.now + 1 }))?.entries).toBe(0)
    await worker.close()
    await engine.close()
  })
})
