// Two plans that want the same files, in one store with real files: they wait for each other, and nobody's work is taken back.

import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { quoted, stepsIn } from '../../domain/hint.ts'
import type { PlanId, PlanName } from '../../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { Connection } from '../../stores/sqlite/driver.ts'
import type { DriveOptions } from '../engine.ts'
import { EngineLocal } from '../engine-local.ts'
import type { ScopeWait } from '../queries.ts'
import { trusted } from '../roles.ts'
import { ME, realRooms, sh } from '../rollback/perform-rollback.fixture.ts'
import { name } from '../rooms.fixture.ts'
import type { Rooms } from '../rooms.ts'
import { scopeWaits } from './scope-reservation.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

async function scene() {
  const made = await realRooms()
  opened.push(made)
  mkdirSync(join(made.root, 'sc'))
  return {
    ...made,
    async begin(plan: string, tasks: readonly TaskDefinition[], rest: Partial<PlanDefinition> = {}): Promise<PlanId> {
      const created = await made.submit(
        { type: 'create', definition: { name: plan as PlanName, tasks, ...rest } },
        null,
      )
      if (!created.ok) throw new Error(created.refusal.message)
      const started = await made.submit({ type: 'start' }, plan)
      if (!started.ok) throw new Error(started.refusal.message)
      return created.plan
    },
    /** Drives it, and says when it begins to wait for files. */
    go(plan: PlanId, options: Partial<DriveOptions> = {}) {
      let begin = (_: readonly ScopeWait[]) => {}
      const waiting = new Promise<readonly ScopeWait[]>(resolve => {
        begin = resolve
      })
      const onWaiting = (waits: readonly ScopeWait[]) => {
        if (waits.length > 0) begin(waits)
      }
      const driven = made.worker.drive(plan, { stop: new AbortController().signal, onWaiting, ...options })
      return { driven, waiting }
    },
    async status(plan: PlanId) {
      return (await made.rooms.store.state(plan))?.status
    },
    there: (path: string) => existsSync(join(made.root, path)),
    /** Lets a task that waits for this file go on. */
    release: (path: string) => mkdirSync(join(made.root, path)),
  }
}

const untilThere = (path: string) => `while [ ! -e ${path} ]; do sleep 0.02; done`
const scoped = (id: string, script: string, write: readonly string[] = ['sc/**'], more: Partial<TaskDefinition> = {}) =>
  sh(id, script, { write, network: [], ...more })
const LATER = { attempts: 2, backoffMs: { min: 3_600_000, max: 3_600_000 } }
const SOON = { attempts: 2, backoffMs: { min: 300, max: 300 } }

describe('files reserved across plans', () => {
  it('a task waits while a task of another plan holds its files, names it, and begins when it has ended', async () => {
    const { begin, go, there, release, status, rooms } = await scene()
    const p = await begin('p', [scoped('a', `echo p > sc/p; ${untilThere('go')}`)])
    const q = await begin('q', [scoped('b', 'test -e go; echo q > sc/q')])
    const first = go(p)
    await until(() => there('sc/p'))
    const second = go(q)
    const [wait] = await second.waiting
    expect(wait).toMatchObject({ task: 'b', by: [{ plan: p, name: 'p', task: 'a', paths: ['sc/**'], driven: true }] })
    expect(await scopeWaits(rooms, (await rooms.store.state(q))!)).toMatchObject([{ task: 'b', by: [{ name: 'p' }] }])
    expect(there('sc/q')).toBe(false)
    release('go')
    expect(await second.driven).toMatchObject({ status: 'rested', rest: 'ended' })
    expect(await first.driven).toMatchObject({ status: 'rested', rest: 'ended' })
    expect([await status(p), await status(q)]).toEqual(['completed', 'completed'])
    expect([there('sc/p'), there('sc/q')]).toEqual([true, true])
    expect((await rooms.store.check()).faults).toEqual([])
  })

  it('a link to a folder is the same files, and another folder is not', async () => {
    const { begin, go, root, there, release } = await scene()
    symlinkSync('sc', join(root, 'alias'))
    const p = await begin('p', [scoped('a', `echo p > sc/p; ${untilThere('go')}`)])
    const first = go(p)
    await until(() => there('sc/p'))
    const alias = await begin('alias', [scoped('b', 'true', ['alias/x'])])
    const other = await begin('other', [scoped('c', 'true', ['scx/**'])])
    expect(await go(other).driven).toMatchObject({ rest: 'ended' })
    const waits = go(alias)
    expect((await waits.waiting)[0]).toMatchObject({ task: 'b', by: [{ name: 'p' }] })
    release('go')
    expect(await waits.driven).toMatchObject({ rest: 'ended' })
    await first.driven
  })

  it('tasks behind one that waits go first, also where only one may run at a time', async () => {
    const { begin, go, there, release, engine } = await scene()
    const p = await begin('p', [scoped('a', `echo p > sc/p; ${untilThere('go')}`)])
    const first = go(p)
    await until(() => there('sc/p'))
    const tasks = [scoped('b', 'true', ['sc/**'], { priority: 9 }), scoped('c', 'echo c > c', ['c'])]
    const q = await begin('q', tasks, { concurrency: 1 })
    const second = go(q)
    await second.waiting
    await until(() => there('c'))
    release('go')
    expect(await second.driven).toMatchObject({ rest: 'ended' })
    await first.driven
    for (const plan of ['p', 'q']) expect(await engine.ask({ type: 'replay', plan })).toMatchObject({ ok: true })
  })

  it('a long-lived process gives the place of a plan that waits to others, and wakes it when the files are free', async () => {
    const { begin, there, release, status, worker } = await scene()
    const stop = new AbortController()
    const rests: string[] = []
    const attending = worker.attend({
      stop: stop.signal,
      max: 2,
      // Nothing but what others write may wake it in time.
      everyMs: 60_000,
      onDriven: (plan, driven) => void (driven.status === 'rested' && driven.held && rests.push(plan)),
    })
    const p = await begin('p', [scoped('a', `echo p > sc/p; ${untilThere('go')}`)])
    await until(() => there('sc/p'))
    const waiting = [await begin('q', [scoped('b', 'echo q > sc/q')]), await begin('r', [scoped('c', 'echo r > sc/r')])]
    await until(() => waiting.every(plan => rests.includes(plan)))
    const other = await begin('other', [scoped('d', 'echo o > o', ['o'])])
    await expect.poll(() => status(other), { timeout: 120_000 }).toBe('completed')
    expect(await status(p)).toBe('active')
    release('go')
    for (const plan of [p, ...waiting]) await expect.poll(() => status(plan), { timeout: 120_000 }).toBe('completed')
    // It is not driven over and over while it waits.
    expect(rests.length).toBeLessThan(8)
    stop.abort()
    await attending
    expect([there('sc/q'), there('sc/r')]).toEqual([true, true])
  })

  it('stay reserved between two attempts of a visit, though nobody drives the plan, until it is cancelled', async () => {
    const { begin, go, status, submit, rooms } = await scene()
    const p = await begin('p', [scoped('a', 'exit 75', ['sc/**'], { retry: LATER })])
    await go(p, { patienceMs: 0 }).driven
    const q = await begin('q', [scoped('b', 'echo q > sc/q')])
    const rested = await go(q).driven
    // Nobody will let go of it without a person, so it does not stay.
    expect(rested).toMatchObject({ rest: 'waiting', held: [{ task: 'b', by: [{ name: 'p', driven: false }] }] })
    expect(await rooms.store.reservations.held(p)).toMatchObject([{ task: 'a', visit: 1 }])
    await submit({ type: 'cancel' }, 'p')
    await go(p).driven
    expect(await status(p)).toBe('cancelled')
    expect(await go(q).driven).toMatchObject({ rest: 'ended' })
    expect(await rooms.store.reservations.held(p)).toEqual([])
  })

  it('two plans that each hold one scope and want the other both end', async () => {
    const { begin, go, status, there, rooms } = await scene()
    // Each holds the first while it waits for its retry, and wants the second meanwhile.
    const failsOnce = (mark: string) => `[ -e ${mark} ] || { mkdir ${mark}; exit 75; }`
    const p = await begin('p', [
      scoped('a', failsOnce('p1'), ['x/**'], { retry: SOON }),
      scoped('b', 'mkdir -p y; echo p > y/p', ['y/**']),
    ])
    const q = await begin('q', [
      scoped('a', failsOnce('q1'), ['y/**'], { retry: SOON }),
      scoped('b', 'mkdir -p x; echo q > x/q', ['x/**']),
    ])
    const both = [go(p), go(q)]
    expect(await Promise.all(both.map(one => one.driven))).toMatchObject([{ rest: 'ended' }, { rest: 'ended' }])
    expect([await status(p), await status(q)]).toEqual(['completed', 'completed'])
    expect([there('y/p'), there('x/q')]).toEqual([true, true])
    expect((await rooms.store.check()).faults).toEqual([])
  })

  it('a claim of an external task is refused with the name of the plan that holds its files, and takes another task', async () => {
    const { begin, go, there, release, submit } = await scene()
    const p = await begin('p', [scoped('a', `echo p > sc/p; ${untilThere('go')}`)])
    const first = go(p)
    await until(() => there('sc/p'))
    const outside = (id: string, write: readonly string[]): TaskDefinition => ({
      id: name(id),
      action: { type: 'external' },
      write,
    })
    await begin('q', [outside('b', ['sc/x']), outside('c', ['d'])])
    const refused = await submit({ type: 'claim', task: name('b') }, 'q')
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'not-ready', message: /task 'a' of plan 'p'/ } })
    expect(refused.ok ? [] : stepsIn(refused.refusal.hint ?? '')).toEqual([
      quoted('resume', { plan: 'p' }),
      quoted('cancel', { plan: 'p' }),
    ])
    expect(await submit({ type: 'claim' }, 'q')).toMatchObject({ ok: true, claim: { task: 'c' } })
    release('go')
    await first.driven
    const claimed = await submit({ type: 'claim', task: name('b') }, 'q')
    expect(claimed).toMatchObject({ ok: true, claim: { task: 'b' } })
    // And the other way round: what an agent has claimed is not written by the engine.
    const r = await begin('r', [scoped('e', 'true')])
    expect(await go(r).driven).toMatchObject({ rest: 'waiting', held: [{ by: [{ name: 'q', task: 'b' }] }] })
    const token = claimed.ok ? (claimed.claim?.token ?? '') : ''
    await submit({ type: 'report', task: name('b'), token, result: { status: 'succeeded' } }, 'q')
    expect(await go(r).driven).toMatchObject({ rest: 'ended' })
  })

  it('what another plan wrote while the files of a claim were captured is not credited to the claim', async () => {
    const { begin, go, there, rooms } = await scene()
    const p = await begin('p', [scoped('a', 'echo p > sc/p')])
    const q = await begin('q', [{ id: name('b'), action: { type: 'external' }, write: ['sc/**'] }])
    let captures = 0
    const workspace: Rooms['workspace'] = {
      ...rooms.workspace,
      async capture(scope) {
        const captured = await rooms.workspace.capture(scope)
        if (++captures === 1) await go(p).driven
        return captured
      },
    }
    const engine = new EngineLocal({ ...rooms, workspace }, trusted(ME))
    const claimed = await engine.submit(q, { type: 'claim', task: name('b') })
    expect(claimed).toMatchObject({ ok: true, claim: { task: 'b' } })
    expect([captures, there('sc/p')]).toEqual([2, true])
    const token = claimed.ok ? (claimed.claim?.token ?? '') : ''
    const told = await engine.submit(q, { type: 'report', task: name('b'), token, result: { status: 'succeeded' } })
    expect(told).toMatchObject({ ok: true, events: [{ result: { wrote: { changes: null, paths: 0 } } }, {}] })
  })

  it('a plan driven by a task of another plan may write what that task has reserved', async () => {
    const { begin, go, there, release, rooms } = await scene()
    const p = await begin('p', [scoped('a', `echo p > sc/p; ${untilThere('go')}`)])
    const first = go(p)
    await until(() => there('sc/p'))
    const q = await begin('q', [scoped('b', 'echo q > sc/q')])
    const { WorkerLocal } = await import('../loop/worker.ts')
    const inside = new WorkerLocal({ ...rooms, environment: { ...rooms.environment, PLANFOLD_KEY: `${p}/a/1` } })
    expect(await inside.drive(q, { stop: new AbortController().signal })).toMatchObject({ rest: 'ended' })
    await inside.close()
    release('go')
    await first.driven
  })

  it('rows that were lost are written again from the journal, and check tells of them', async () => {
    const { begin, go, rooms } = await scene()
    const p = await begin('p', [scoped('a', 'exit 75', ['sc/**'], { retry: LATER })])
    await go(p, { patienceMs: 0 }).driven
    const held = await rooms.store.reservations.held(p)
    const file = new Connection(join(rooms.stateDir, 'planfold.db'), { readOnly: false, busyMs: 1_000 })
    file.exec('DELETE FROM reservations')
    file.close()
    expect((await rooms.store.check()).faults).toMatchObject([{ what: /row of reservation .* is missing/ }])
    await rooms.store.tidy({ rebuild: true })
    expect(await rooms.store.reservations.held(p)).toMatchObject(held.map(({ since: _, ...row }) => row))
    expect((await rooms.store.check()).faults).toEqual([])
  })
})

async function until(holds: () => boolean): Promise<void> {
  await expect.poll(holds, { interval: 10, timeout: 120_000 }).toBe(true)
}
