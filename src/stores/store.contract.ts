// What every store must do, whatever keeps its rows. Run by the tests of each implementation against the real thing.

import { describe, expect, it, onTestFinished } from 'vitest'
import type { Command } from '../domain/command.ts'
import { packFold } from '../domain/fold.ts'
import { type Actor, type PlanId, taskId } from '../domain/id.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { external, name, numberedPlanId, numberedSha, plan, succeeded, task } from '../testing/index.ts'
import type { Clock, Host } from './host.ts'
import { BadCursor, type Entry, LeaseLost, type LogChunk, type Owner, type Store, type Updated } from './store.ts'

export interface Harness {
  readonly clock: FakeClock
  /** Another process on the same storage, with caches of its own. Closed when the test ends. */
  open(host?: Partial<Host>): Promise<Store>
  /** How often something was made durable. */
  commits(): number
}

export const ana = 'ana' as Actor
export const engine = 'engine' as Actor

/** Wall and monotonic time, moved by hand and apart from each other. */
export class FakeClock implements Clock {
  wall = 1_767_225_600_000
  ticks = 1_000
  now = () => this.wall
  monotonic = () => this.ticks
  pass(ms: number): void {
    this.wall += ms
    this.ticks += ms
  }
}

export function fakeHost(facts: Partial<Host> = {}): Host {
  return { host: 'here', boot: 'boot-1', pids: 'pids-1', pid: 100, startTime: '5', isRunning: () => true, ...facts }
}

const two = (title: string) => plan(title, task('a'), task('b', { needs: ['a'] }))

export async function given(store: Store, definition: PlanDefinition, number = 1): Promise<PlanId> {
  const id = numberedPlanId(number)
  ok(await store.create({ type: 'create', plan: id, definition, hash: numberedSha(1) }, ana))
  return id
}

export function ok(updated: Updated): Updated & { readonly ok: true } {
  if (!updated.ok) throw new Error(`refused: ${updated.refusal.message}`)
  return updated
}

export async function must(store: Store, id: PlanId, command: Command) {
  return ok(await store.update(id, command, { actor: ana }))
}

/** Starts the plan and carries every task out, one a turn. */
export async function carryOut(store: Store, id: PlanId, turns = Number.POSITIVE_INFINITY): Promise<void> {
  await must(store, id, { type: 'start' })
  let { state } = await must(store, id, { type: 'turn' })
  for (let turn = 0; turn < turns && state.running.size > 0; turn++) {
    const [running] = state.running
    const { visit, attempt, definition } = running!
    const result = succeeded({ outputs: { of: definition.id }, exit: 0, durationMs: 5 })
    state = (await must(store, id, { type: 'turn', settled: [{ task: definition.id, visit, attempt, result }] })).state
  }
}

export function storeContract(
  what: string,
  setup: (options?: { readonly foldEvery: number }) => Promise<Harness>,
): void {
  async function one() {
    const harness = await setup()
    return { ...harness, store: await harness.open() }
  }

  describe(`${what}: appending`, () => {
    it('a plan that was made is found by id, by name, and by the ids of its tasks', async () => {
      const { store } = await one()
      const id = await given(store, two('first'))
      const found = { plan: id, name: 'first' }
      expect(await store.find(id)).toEqual({ ...found, task: null })
      expect(await store.find('first')).toEqual({ ...found, task: null })
      expect(await store.find(taskId(id, 2))).toEqual({ ...found, task: 'b' })
      expect(await store.find(taskId(id, 3))).toBeNull()
      expect(await store.find('nobody')).toBeNull()
      expect(await store.find('')).toBeNull()
    })

    it('a name or an id that is taken is refused', async () => {
      const { store } = await one()
      const id = await given(store, two('first'))
      const again = (plan: PlanId, title: string) =>
        store.create({ type: 'create', plan, definition: two(title), hash: numberedSha(1) }, ana)
      expect(await again(numberedPlanId(2), 'first')).toMatchObject({ ok: false, refusal: { code: 'exists' } })
      expect(await again(id, 'second')).toMatchObject({ ok: false, refusal: { code: 'exists' } })
      expect((await store.plans({})).items).toHaveLength(1)
    })

    it('versions have no gaps, and what was appended is read back as it was', async () => {
      const { store, clock } = await one()
      const id = await given(store, two('first'))
      clock.pass(10)
      const started = await must(store, id, { type: 'start' })
      const turned = await must(store, id, { type: 'turn' })
      const command: Command = {
        type: 'turn',
        settled: [{ task: name('a'), visit: 1, attempt: 1, result: succeeded({ outputs: { x: 'ä' } }) }],
      }
      const settled = await must(store, id, command)
      const entries = await store.read(id)
      expect(entries.map(entry => entry.version)).toEqual([1, 2, 3, 4])
      expect(entries.map(entry => entry.position)).toEqual([1, 2, 3, 4])
      expect(entries[0]!.command).toEqual({ type: 'create', plan: id, definition: two('first'), hash: numberedSha(1) })
      expect(entries[1]).toMatchObject({
        plan: id,
        actor: 'ana',
        now: clock.wall,
        fence: null,
        command: { type: 'start' },
        events: started.events,
      })
      expect(entries[2]!.events).toEqual(turned.events)
      expect(entries[3]).toMatchObject({ command, events: settled.events })
      expect(await store.read(id, { after: 2, limit: 1 })).toEqual([entries[2]])
    })

    it('a result is stored once, although command and event both carry it', async () => {
      const { store } = await one()
      const id = await given(store, two('first'))
      await carryOut(store, id, 0)
      const result = succeeded({ outputs: { marker: 'only-once' } })
      const bodies: string[] = []
      const stringify = JSON.stringify
      JSON.stringify = ((...values: Parameters<typeof stringify>) => {
        const text = stringify(...values)
        if (text?.includes('only-once')) bodies.push(text)
        return text
      }) as typeof stringify
      try {
        await must(store, id, { type: 'turn', settled: [{ task: name('a'), visit: 1, attempt: 1, result }] })
      } finally {
        JSON.stringify = stringify
      }
      expect(bodies).toHaveLength(1)
      expect(bodies[0]!.split('only-once')).toHaveLength(2)
      expect((await store.read(id)).at(-1)!.command).toMatchObject({ settled: [{ result }] })
    })

    it('a command that changes nothing writes nothing', async () => {
      const { store, commits } = await one()
      const id = await given(store, two('first'))
      const before = commits()
      expect(await must(store, id, { type: 'turn' })).toMatchObject({ version: 1, events: [] })
      expect(commits()).toBe(before)
      expect(await store.read(id)).toHaveLength(1)
    })

    it('a plan that has moved on is refused with conflict', async () => {
      const { store } = await one()
      const id = await given(store, two('first'))
      const late = await store.update(id, { type: 'start' }, { actor: ana, expectedVersion: 7 })
      expect(late).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
      ok(await store.update(id, { type: 'start' }, { actor: ana, expectedVersion: 1 }))
    })

    it('an unknown plan is refused, and has no state', async () => {
      const { store } = await one()
      expect(await store.update(numberedPlanId(9), { type: 'start' }, { actor: ana })).toMatchObject({
        refusal: { code: 'not-found' },
      })
      expect(await store.state(numberedPlanId(9))).toBeNull()
      expect(await store.read(numberedPlanId(9))).toEqual([])
    })

    it('updates of one turn share a commit and are all there', async () => {
      const { store, commits } = await one()
      const id = await given(store, two('first'))
      const before = commits()
      const texts = Array.from({ length: 50 }, (_, at) => `note ${at}`)
      const updates = await Promise.all(texts.map(text => store.update(id, { type: 'note', text }, { actor: ana })))
      expect(updates.map(updated => ok(updated).version)).toEqual(texts.map((_, at) => at + 2))
      expect(commits() - before).toBe(1)
    })

    it('a refused update does not disturb the others in its commit', async () => {
      const { store } = await one()
      const id = await given(store, two('first'))
      const [note, refused, other] = await Promise.all([
        store.update(id, { type: 'note', text: 'one' }, { actor: ana }),
        store.update(id, { type: 'resume' }, { actor: ana }),
        store.update(id, { type: 'note', text: 'two' }, { actor: ana }),
      ])
      expect([note.ok, refused.ok, other.ok]).toEqual([true, false, true])
      expect((await store.state(id))!.version).toBe(3)
    })

    it('time does not run backwards within a plan', async () => {
      const { store, clock } = await one()
      const id = await given(store, two('first'))
      clock.wall -= 60_000
      await must(store, id, { type: 'start' })
      const [created, started] = await store.read(id)
      expect(started!.now).toBe(created!.now)
    })

    it('an entry larger than 256 KB goes to a blob and comes back', async () => {
      const { store } = await one()
      const id = await given(store, two('first'))
      const text = 'é'.repeat(200_000)
      await must(store, id, { type: 'note', text })
      const [, entry] = await store.read(id)
      expect(entry!.events).toEqual([{ type: 'note.added', text }])
      expect(await store.check({ readData: true })).toMatchObject({ ok: true, blobs: 1, entries: 2 })
    })

    it('a revision may not take the name of another plan', async () => {
      const { store } = await one()
      const id = await given(store, two('first'))
      await given(store, two('second'), 2)
      const revised = await store.update(
        id,
        { type: 'revise', definition: two('second'), hash: numberedSha(2), rationale: 'x' },
        { actor: ana },
      )
      expect(revised).toMatchObject({ ok: false })
      expect((await store.check()).faults).toEqual([])
    })
  })

  describe(`${what}: two processes`, () => {
    it('each sees what the other committed, and no update is lost', async () => {
      const { open } = await setup()
      const [left, right] = [await open(), await open()]
      const id = await given(left, two('first'))
      const versions: number[] = []
      for (let round = 0; round < 10; round++) {
        const both = await Promise.all(
          [left, right].map(store => store.update(id, { type: 'note', text: `round ${round}` }, { actor: ana })),
        )
        versions.push(...both.map(updated => ok(updated).version))
      }
      expect(versions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at + 2))
      expect((await left.state(id))!.version).toBe(21)
      expect(packFold((await left.state(id))!)).toEqual(packFold((await right.state(id))!))
      expect((await right.check()).faults).toEqual([])
    })

    it('a state at hand catches up with the other process', async () => {
      const { open } = await setup()
      const [left, right] = [await open(), await open()]
      const id = await given(left, two('first'))
      expect((await right.state(id))!.status).toBe('draft')
      await carryOut(left, id)
      expect((await right.state(id))!.status).toBe('completed')
    })
  })

  describe(`${what}: watching`, () => {
    it('gives every entry of all plans once and in order, across processes, live', async () => {
      const { open } = await setup()
      const [left, right] = [await open(), await open()]
      const first = await given(left, two('first'))
      const stop = new AbortController()
      onTestFinished(() => stop.abort())
      const seen: Entry[] = []
      const watching = (async () => {
        for await (const entry of right.watch({ after: 0, signal: stop.signal })) {
          seen.push(entry)
          if (seen.length === 42) return
        }
      })()
      const second = await given(right, two('second'), 2)
      for (let round = 0; round < 20; round++) {
        await Promise.all([
          must(left, first, { type: 'note', text: `${round}` }),
          must(right, second, { type: 'note', text: `${round}` }),
        ])
      }
      await watching
      expect(seen.map(entry => entry.position)).toEqual(Array.from({ length: 42 }, (_, at) => at + 1))
      expect(seen.filter(entry => entry.plan === first).map(entry => entry.version)).toEqual(
        Array.from({ length: 21 }, (_, at) => at + 1),
      )
      expect(await left.position()).toBe(42)
    })

    it('can follow one plan, from where one stands, and ends when told', async () => {
      const { store } = await one()
      const first = await given(store, two('first'))
      const second = await given(store, two('second'), 2)
      await must(store, first, { type: 'note', text: 'seen' })
      await must(store, second, { type: 'note', text: 'not mine' })
      const stop = new AbortController()
      const seen: Entry[] = []
      const watching = (async () => {
        for await (const entry of store.watch({ after: 1, plan: first, signal: stop.signal })) {
          seen.push(entry)
          if (seen.length === 2) stop.abort()
        }
      })()
      await must(store, first, { type: 'note', text: 'live' })
      await watching
      expect(seen.map(entry => entry.version)).toEqual([2, 3])
    })

    it('tells listeners after a commit of another process, until they stop listening', async () => {
      const { open } = await setup()
      const [left, right] = [await open(), await open()]
      const id = await given(left, two('first'))
      let calls = 0
      let called = () => {}
      const once = new Promise<void>(resolve => {
        called = resolve
      })
      const stop = right.onChange(() => {
        calls++
        called()
      })
      await must(left, id, { type: 'start' })
      await once
      stop()
      const before = calls
      await must(right, id, { type: 'note', text: 'nobody listens' })
      await new Promise(resolve => setImmediate(resolve))
      expect(calls).toBe(before)
    })
  })

  describe(`${what}: query tables`, () => {
    it('rows follow the journal', async () => {
      const { store, clock } = await one()
      const id = await given(
        store,
        plan('first', task('a', { kind: 'research', title: 'A' }), task('b', { needs: ['a'] }), {
          title: 'T',
          goal: 'G',
        }),
      )
      clock.pass(5)
      await carryOut(store, id)
      const at = clock.wall
      expect((await store.plans({})).items).toEqual([
        {
          id,
          name: 'first',
          title: 'T',
          goal: 'G',
          status: 'completed',
          revision: 1,
          version: 5,
          session: null,
          tasks: 2,
          done: 2,
          archived: false,
          createdAt: at - 5,
          updatedAt: at,
          startedAt: at,
          endedAt: at,
        },
      ])
      const row = { plan: id, status: 'completed', visit: 1, attempt: 1, startedAt: at, endedAt: at }
      expect((await store.tasks({ plan: id })).items).toEqual([
        { id: taskId(id, 1), name: 'a', ordinal: 1, title: 'A', kind: 'research', ...row },
        { id: taskId(id, 2), name: 'b', ordinal: 2, title: null, kind: null, ...row },
      ])
      const attempt = {
        visit: 1,
        attempt: 1,
        status: 'succeeded',
        startedAt: at,
        endedAt: at,
        durationMs: 5,
        exit: 0,
        failureClass: null,
      }
      expect((await store.attempts({ plan: id })).items).toEqual([
        { task: 'a', ...attempt },
        { task: 'b', ...attempt },
      ])
      expect((await store.attempts({ plan: id, task: name('b') })).items).toEqual([{ task: 'b', ...attempt }])
      const sums = { attempts: 1, succeeded: 1, failed: 0, lost: 0, retries: 0, durationMs: 5 }
      expect(await store.metrics(id)).toEqual([
        { kind: null, ...sums },
        { kind: 'research', ...sums },
      ])
      expect((await store.check()).faults).toEqual([])
    })

    it('pages are cut without loss or repetition, and stay true while plans are added', async () => {
      const { store } = await one()
      expect(await store.plans({ limit: 2 })).toEqual({ items: [], next: null })
      for (let number = 1; number <= 5; number++) await given(store, two(`plan-${number}`), number)
      const first = await store.plans({ limit: 2 })
      expect(first.items.map(row => row.name)).toEqual(['plan-5', 'plan-4'])
      await given(store, two('plan-6'), 6)
      const second = await store.plans({ limit: 2, cursor: first.next! })
      expect(second.items.map(row => row.name)).toEqual(['plan-3', 'plan-2'])
      const third = await store.plans({ limit: 2, cursor: second.next! })
      expect(third).toMatchObject({ items: [{ name: 'plan-1' }], next: null })
      expect((await store.plans({ limit: 0 })).items).toHaveLength(6)
    })

    it('tasks of one plan come in order, those of many with the newest plan first', async () => {
      const { store } = await one()
      await given(store, two('old'), 1)
      const id = await given(store, two('new'), 2)
      const names: string[] = []
      let cursor: string | undefined
      for (;;) {
        const page = await store.tasks({ limit: 1, ...(cursor === undefined ? {} : { cursor }) })
        names.push(...page.items.map(row => `${row.plan === id ? 'new' : 'old'} ${row.name}`))
        if (page.next === null) break
        cursor = page.next
      }
      expect(names).toEqual(['new a', 'new b', 'old a', 'old b'])
      expect((await store.tasks({ plan: id, limit: 1 })).items.map(row => row.name)).toEqual(['a'])
    })

    it('a cursor of another list, or none at all, is refused', async () => {
      const { store } = await one()
      const id = await given(store, two('first'))
      await given(store, two('second'), 2)
      const { next } = await store.tasks({ limit: 1 })
      for (const cursor of [
        next!,
        '',
        'rubbish',
        'W10',
        'bnVsbA',
        Buffer.from('["plans","1"]').toString('base64url'),
      ]) {
        await expect(store.plans({ cursor })).rejects.toThrow(BadCursor)
      }
      await expect(store.attempts({ plan: id, cursor: next! })).rejects.toThrow(BadCursor)
    })

    it('plans are filtered; search takes text, not patterns', async () => {
      const { store } = await one()
      const id = await given(store, plan('retry-core', task('a'), { title: '100% done', session: 's1' }))
      await given(store, plan('other', task('a'), { goal: 'a_b' }), 2)
      await must(store, id, { type: 'start' })
      const names = async (query: Parameters<Store['plans']>[0]) =>
        (await store.plans(query)).items.map(row => row.name)
      expect(await names({ status: 'active' })).toEqual(['retry-core'])
      expect(await names({ session: 's1' })).toEqual(['retry-core'])
      expect(await names({ text: '100%' })).toEqual(['retry-core'])
      expect(await names({ text: 'a_b' })).toEqual(['other'])
      expect(await names({ text: 'axb' })).toEqual([])
      expect(await names({ text: '%' })).toEqual(['retry-core'])
      expect(await names({ text: "'; DROP TABLE plans; --" })).toEqual([])
      expect(await names({ text: 'RETRY' })).toEqual(['retry-core'])
      expect(await names({ archived: true })).toEqual([])
      expect(await names({ archived: false })).toHaveLength(2)
    })

    it('a task that a revision takes out leaves the tables', async () => {
      const { store } = await one()
      const id = await given(store, two('first'))
      await must(store, id, {
        type: 'revise',
        definition: plan('first', task('b'), task('c')),
        hash: numberedSha(2),
        rationale: 'less',
      })
      expect((await store.tasks({ plan: id })).items.map(row => [row.name, row.ordinal])).toEqual([
        ['b', 2],
        ['c', 3],
      ])
      expect((await store.check()).faults).toEqual([])
    })

    it('cancelling moves the rows of all tasks', async () => {
      const { store } = await one()
      const id = await given(store, two('first'))
      await must(store, id, { type: 'start' })
      await must(store, id, { type: 'cancel' })
      expect((await store.tasks({ plan: id, status: 'cancelled' })).items).toHaveLength(2)
      expect((await store.check()).faults).toEqual([])
    })
  })

  describe(`${what}: leases`, () => {
    const LEASE = { leaseMs: 1_000 }
    const fenced = (store: Store, id: PlanId, lease: { owner: string; fence: number }) =>
      store.update(id, { type: 'turn' }, { actor: engine, lease })
    async function driven() {
      const harness = await setup()
      const store = await harness.open()
      const id = await given(store, two('first'))
      await must(store, id, { type: 'start' })
      const owner = await store.leases.open(LEASE)
      return { ...harness, store, id, owner, lease: await taken(store, id, owner) }
    }
    async function taken(store: Store, id: PlanId, owner: Owner) {
      const claimed = await store.leases.claim(id, owner)
      if (!claimed.ok) throw new Error(`held by ${claimed.holder.owner}`)
      return claimed.lease
    }

    it('the holder writes with its fence, and the entry says so', async () => {
      const { store, id, lease } = await driven()
      ok(await fenced(store, id, lease))
      expect((await store.read(id)).at(-1)).toMatchObject({ actor: 'engine', fence: lease.fence })
      expect(await taken(store, id, { id: lease.owner } as Owner)).toEqual(lease)
    })

    it('a plan that is driven is not given to another', async () => {
      const { open, id, owner } = await driven()
      const other = await open({ pid: 200 })
      const claimed = await other.leases.claim(id, await other.leases.open(LEASE))
      expect(claimed).toMatchObject({ ok: false, holder: { owner: owner.id, host: 'here', pid: 100, alive: true } })
      expect(await other.leases.orphans()).toEqual([])
    })

    it('a lease that lapsed is taken over with a higher fence, and the old owner cannot write', async () => {
      const { open, store, clock, id, lease } = await driven()
      const other = await open({ pid: 200 })
      const rescuer = await other.leases.open({ leaseMs: 60_000 })
      clock.pass(1_000)
      expect(await other.leases.orphans()).toEqual([id])
      const claimed = await other.leases.claim(id, rescuer)
      expect(claimed).toMatchObject({
        ok: true,
        lease: { fence: lease.fence + 1 },
        tookOver: { pid: 100, alive: false },
      })
      await expect(fenced(store, id, lease)).rejects.toThrow(LeaseLost)
      expect((await store.read(id)).length).toBe(2)
    })

    it('a lease that lapsed cannot write even when nobody took over, and is never renewed', async () => {
      const { store, clock, id, owner, lease } = await driven()
      clock.pass(999)
      await renew(store)
      clock.pass(999)
      ok(await fenced(store, id, lease))
      clock.pass(1)
      await expect(fenced(store, id, lease)).rejects.toThrow(LeaseLost)
      await renew(store)
      expect(owner.lost.aborted).toBe(true)
      await expect(store.leases.claim(id, owner)).rejects.toThrow(LeaseLost)
    })

    it('a lease lost in a group does not stop the others of that group', async () => {
      const { store, clock, id, lease } = await driven()
      clock.pass(1_000)
      const [lost, note] = await Promise.allSettled([
        fenced(store, id, lease),
        must(store, id, { type: 'note', text: 'x' }),
      ])
      expect([lost.status, note.status]).toEqual(['rejected', 'fulfilled'])
    })

    it('jumps of the wall clock do not touch leases', async () => {
      const { store, clock, id, lease } = await driven()
      clock.wall += 365 * 24 * 3_600_000
      ok(await fenced(store, id, lease))
      clock.wall -= 2 * 365 * 24 * 3_600_000
      expect(await store.leases.holder(id)).toMatchObject({ alive: true })
    })

    it('an owner whose process is gone, or whose machine restarted, is taken over at once', async () => {
      for (const host of [{ isRunning: () => false }, { boot: 'boot-2' }]) {
        const { open, id, lease } = await driven()
        const other = await open({ pid: 200, ...host })
        const claimed = await other.leases.claim(id, await other.leases.open(LEASE))
        expect(claimed).toMatchObject({ ok: true, lease: { fence: lease.fence + 1 }, tookOver: { pid: 100 } })
      }
    })

    it('a process of another pid namespace is not taken for dead', async () => {
      const { open, id } = await driven()
      const other = await open({ pids: 'pids-2', isRunning: pid => pid !== 100 })
      expect(await other.leases.claim(id, await other.leases.open(LEASE))).toMatchObject({ ok: false })
    })

    it('a plan that was released, or whose owner stopped, is free', async () => {
      const { store, id, owner, lease } = await driven()
      await store.leases.release(id, owner)
      expect(await store.leases.holder(id)).toBeNull()
      await expect(fenced(store, id, lease)).rejects.toThrow(LeaseLost)
      expect((await taken(store, id, owner)).fence).toBe(lease.fence + 1)
      await owner.stop()
      expect(await store.leases.holder(id)).toBeNull()
      expect(await store.leases.orphans()).toEqual([])
    })

    async function renew(store: Store) {
      await (store.leases as unknown as { renew(): Promise<void> }).renew()
    }
  })

  describe(`${what}: claims, output, streams`, () => {
    const token = 'token-1'
    async function claimed() {
      const harness = await one()
      const id = await given(harness.store, plan('first', external('a')))
      await must(harness.store, id, { type: 'start' })
      await must(harness.store, id, { type: 'claim', task: name('a'), token, by: 'agent' })
      return { ...harness, id, a: name('a') }
    }

    it('a claim lapses when its holder falls silent, and not before', async () => {
      const { store, clock, id, a } = await claimed()
      expect(await store.claims.touch(id, a, token, 1_000)).toBe(true)
      clock.pass(999)
      expect(await store.claims.lapsed()).toEqual([])
      expect(await store.claims.touch(id, a, token, 1_000)).toBe(true)
      clock.pass(999)
      expect(await store.claims.lapsed(id)).toEqual([])
      clock.pass(1)
      expect(await store.claims.lapsed()).toEqual([{ plan: id, task: 'a', token }])
      expect(await store.claims.lapsed(numberedPlanId(9))).toEqual([])
      expect((await store.read(id)).length).toBe(3)
    })

    it('a claim nobody ever touched lapses too', async () => {
      const { store, clock, id } = await claimed()
      clock.pass(24 * 3_600_000)
      expect(await store.claims.lapsed()).toEqual([{ plan: id, task: 'a', token }])
    })

    it('a wrong token does not hold anything; a claim that ended does not lapse', async () => {
      const { store, clock, id, a } = await claimed()
      expect(await store.claims.touch(id, a, 'other', 1_000)).toBe(false)
      expect(await store.claims.touch(numberedPlanId(9), a, token, 1_000)).toBe(false)
      expect((await store.tasks({ assignee: 'agent' })).items).toHaveLength(1)
      await must(store, id, { type: 'report', task: a, token, by: 'agent', result: succeeded() })
      expect(await store.claims.touch(id, a, token, 1_000)).toBe(false)
      clock.pass(24 * 3_600_000)
      expect(await store.claims.lapsed()).toEqual([])
      expect((await store.tasks({ assignee: 'agent' })).items).toEqual([])
      expect((await store.check()).faults).toEqual([])
    })

    it('a dropped claim is forgotten', async () => {
      const { store, clock, id, a } = await claimed()
      await store.claims.drop(id, a)
      clock.pass(24 * 3_600_000)
      expect(await store.claims.lapsed()).toEqual([])
    })

    it('output is kept in order and read by plan, by task and from where one stands', async () => {
      const { store } = await one()
      const id = await given(store, two('first'))
      const chunk = (task: string, text: string): LogChunk => ({
        plan: id,
        task: name(task),
        visit: 1,
        attempt: 1,
        stream: 'stdout',
        at: 5,
        text,
      })
      await store.logs.append([chunk('a', 'one\n'), chunk('b', 'two\n')])
      await store.logs.append([chunk('a', 'three\n')])
      const all = await store.logs.read({ plan: id })
      expect(all.map(({ seq: _, ...log }) => log)).toEqual([
        chunk('a', 'one\n'),
        chunk('b', 'two\n'),
        chunk('a', 'three\n'),
      ])
      expect((await store.logs.read({ plan: id, task: name('a') })).map(log => log.text)).toEqual(['one\n', 'three\n'])
      expect(await store.logs.read({ plan: id, after: all[0]!.seq, limit: 1 })).toEqual([all[1]])
      expect(await store.logs.read({ plan: numberedPlanId(9) })).toEqual([])
      await expect(store.logs.append([chunk('a', 'lost'), chunk('nobody', 'lost')])).rejects.toThrow('nobody')
      expect(await store.logs.read({ plan: id })).toHaveLength(3)
    })

    it('a session holds its messages; a stale writer is refused', async () => {
      const { store, clock } = await one()
      const opened = clock.wall
      expect(await store.sessions.append('s1', [{ type: 'session.opened', title: 'Talk' }], { actor: ana })).toEqual({
        ok: true,
        version: 1,
      })
      clock.pass(5)
      const message = { type: 'message.added', role: 'user', text: 'hi' } as const
      expect(await store.sessions.append('s1', [message, message], { actor: ana, expectedVersion: 1 })).toEqual({
        ok: true,
        version: 3,
      })
      expect(await store.sessions.append('s1', [message], { actor: ana, expectedVersion: 1 })).toMatchObject({
        refusal: { code: 'conflict' },
      })
      expect(await store.sessions.get('s1')).toEqual({
        id: 's1',
        title: 'Talk',
        status: 'open',
        messages: 2,
        version: 3,
        createdAt: opened,
        updatedAt: clock.wall,
      })
      expect(await store.sessions.read('s1', { after: 2 })).toEqual([
        { version: 3, at: clock.wall, actor: 'ana', event: message },
      ])
      expect(await store.sessions.get('s2')).toBeNull()
      expect((await store.check()).faults).toEqual([])
    })

    it('goals are set, changed and closed, and listed newest first', async () => {
      const { store } = await one()
      const goal = (title: string) => ({ type: 'goal.set', title, parent: null, priority: 1, criteria: ['c'] }) as const
      for (const id of ['g1', 'g2', 'g3']) await store.goals.append(id, [goal(id)], { actor: ana })
      const changed = { type: 'goal.changed', changes: { title: 'New', priority: 'no number' } } as const
      await store.goals.append('g1', [changed, { type: 'goal.closed', status: 'achieved', reason: 'done' }], {
        actor: ana,
      })
      expect(await store.goals.get('g1')).toMatchObject({ title: 'New', priority: 1, status: 'achieved', version: 3 })
      expect(await store.goals.append('g9', [changed], { actor: ana })).toMatchObject({
        refusal: { code: 'not-found' },
      })
      const page = await store.goals.list({ limit: 2 })
      expect(page.items.map(row => row.id)).toEqual(['g3', 'g2'])
      expect((await store.goals.list({ limit: 2, cursor: page.next! })).items.map(row => row.id)).toEqual(['g1'])
      await expect(store.sessions.list({ cursor: page.next! })).rejects.toThrow(BadCursor)
      expect((await store.check()).faults).toEqual([])
    })
  })

  describe(`${what}: blobs and upkeep`, () => {
    it('bytes come back as they were put, under their hash, once', async () => {
      const { store } = await one()
      const id = await store.blobs.put(Buffer.from('hello'))
      expect(id).toBe('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824')
      expect(await store.blobs.put(Buffer.from('hello'))).toBe(id)
      expect(Buffer.from((await store.blobs.get(id))!).toString()).toBe('hello')
      expect(await store.blobs.get(numberedSha(5))).toBeNull()
      const empty = await store.blobs.put(new Uint8Array())
      expect(await store.blobs.get(empty)).toHaveLength(0)
    })

    it('a stored fold and the tail behind it are the fold of the whole journal', async () => {
      const { open } = await setup({ foldEvery: 50 })
      const store = await open()
      const count = 60
      const tasks = Array.from({ length: count }, (_, at) => task(`t${at}`, at === 0 ? {} : { needs: [`t${at - 1}`] }))
      const id = await given(store, plan('long', ...tasks))
      await carryOut(store, id, count - 20)
      await store.close()
      const other = await open()
      const opened = await other.state(id)
      expect(opened!.version).toBe(count - 20 + 3)
      const report = await other.check()
      expect(report).toMatchObject({ ok: true, faults: [] })
      const fresh = await fullFold(other, id)
      expect(packFold(opened!)).toEqual(packFold(fresh))
      await must(other, id, { type: 'pause' })
      expect((await other.check()).faults).toEqual([])
    })

    it('archived plans and blobs nobody names are pruned, and nothing else', async () => {
      const { store, clock } = await one()
      const old = await given(store, two('old'))
      await must(store, old, { type: 'note', text: 'x'.repeat(300_000) })
      const keep = await given(store, two('keep'), 2)
      await must(store, keep, { type: 'note', text: 'y'.repeat(300_000) })
      await store.blobs.put(Buffer.from('nobody names me'))
      await must(store, old, { type: 'archive' })
      await must(store, keep, { type: 'note', text: 'last' })
      clock.pass(10_000)
      const before = clock.wall
      const expected = { plans: 1, entries: 3, blobs: 2 }
      expect(await store.prune({ before, dryRun: true })).toMatchObject(expected)
      expect((await store.plans({})).items).toHaveLength(2)
      expect(await store.prune({ before, dryRun: false })).toMatchObject(expected)
      expect((await store.plans({})).items.map(row => row.name)).toEqual(['keep'])
      expect(await store.find('old')).toBeNull()
      expect(await store.state(old)).toBeNull()
      expect(await store.check({ readData: true })).toMatchObject({ ok: true, blobs: 1, entries: 3 })
      const position = await store.position()
      expect(ok(await store.update(keep, { type: 'note', text: 'on' }, { actor: ana })).position).toBe(position + 1)
      await given(store, two('old'), 3)
    })

    it('a closed store refuses, and closing twice is harmless', async () => {
      const { store } = await one()
      const id = await given(store, two('first'))
      const last = must(store, id, { type: 'start' })
      await Promise.all([store.close(), store.close()])
      expect((await last).version).toBe(2)
      await expect(must(store, id, { type: 'pause' })).rejects.toThrow('closed')
    })
  })
}

/** The state by folding every entry from the first. */
async function fullFold(store: Store, id: PlanId) {
  const { evolve } = await import('../domain/evolve.ts')
  const { newState } = await import('../domain/fold.ts')
  const state = newState()
  for (let after = 0; ; after = state.version) {
    const page = await store.read(id, { after })
    if (page.length === 0) return state
    for (const entry of page) {
      for (const event of entry.events) evolve(state, event, entry.now)
      state.version = entry.version
    }
  }
}
