// The query tables follow the journal; pages and search.

import { describe, expect, it } from 'vitest'
import { taskId } from '../../domain/id.ts'
import { meaningOf } from '../../domain/rollback/rollback-plan.ts'
import { gate, name, numberedSha, plan, START, task } from '../../testing/index.ts'
import { BadCursor, type Store } from '../store.ts'
import { asking, carryOut, given, must, one, type Setup, two } from './harness.contract.ts'

export function queriesContract(what: string, setup: Setup): void {
  describe(`${what}: query tables`, () => {
    it('rows follow the journal', async () => {
      const { store, clock } = await one(setup)
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
          goalId: null,
          agent: null,
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
      const ended = { status: 'completed', visit: 1, attempt: 1, startedAt: at, endedAt: at }
      const row = { plan: id, assignee: null, addedAt: at - 5, ...ended }
      expect((await store.tasks({ plan: id })).items).toEqual([
        { id: taskId(id, 1), name: 'a', ordinal: 1, sequence: 1, title: 'A', kind: 'research', ...row },
        { id: taskId(id, 2), name: 'b', ordinal: 2, sequence: 2, title: null, kind: null, ...row },
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

    it('a plan in which nothing can move until a person decides is listed as blocked, as its summary says', async () => {
      const { store } = await one(setup)
      const id = await given(store, plan('asks', gate('a')))
      await must(store, id, START)
      await must(store, id, asking('a'))
      expect((await store.plans({})).items.map(row => row.status)).toEqual(['blocked'])
      expect((await store.plans({ status: 'blocked' })).items).toHaveLength(1)
      expect((await store.plans({ status: 'active' })).items).toHaveLength(0)
    })

    it('regression 7: lists work with none, one and many; pages are cut without loss or repetition', async () => {
      const { store } = await one(setup)
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
      const { store } = await one(setup)
      await given(store, two('old'), 1)
      const id = await given(store, two('new'), 2)
      const names: string[] = []
      let cursor: string | undefined
      for (;;) {
        const page = await store.tasks({ limit: 1, cursor })
        names.push(...page.items.map(row => `${row.plan === id ? 'new' : 'old'} ${row.name}`))
        if (page.next === null) break
        cursor = page.next
      }
      expect(names).toEqual(['new a', 'new b', 'old a', 'old b'])
      expect((await store.tasks({ plan: id, limit: 1 })).items.map(row => row.name)).toEqual(['a'])
    })

    it('a cursor of another list, or none at all, is refused', async () => {
      const { store } = await one(setup)
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

    it('a cursor leads on under the filter it was handed out for, and under no other', async () => {
      const { store } = await one(setup)
      for (const [at, name] of ['first', 'second', 'third'].entries()) await given(store, two(name), at + 1)
      const all = await store.plans({ limit: 1 })
      const drafts = await store.plans({ limit: 1, status: 'draft', archived: false })
      const next = await store.plans({ archived: false, status: 'draft', limit: 2, cursor: drafts.next! })
      expect(next.items.map(row => row.name)).toEqual(['second', 'first'])
      const tasks = await store.tasks({ limit: 1, statuses: ['pending', 'ready'] })
      expect((await store.tasks({ statuses: ['ready', 'pending'], cursor: tasks.next! })).items).toHaveLength(5)
      for (const other of [
        () => store.plans({ cursor: drafts.next! }),
        () => store.plans({ status: 'active', archived: false, cursor: drafts.next! }),
        () => store.plans({ status: 'draft', cursor: all.next! }),
        () => store.tasks({ statuses: ['ready'], cursor: tasks.next! }),
      ])
        await expect(other()).rejects.toThrow(/handed out for another filter/)
      const old = Buffer.from('["plans",2]').toString('base64url')
      await expect(store.plans({ cursor: old })).rejects.toThrow(/an older release; start again/)
      await expect(store.plans({ cursor: old })).rejects.toThrow(BadCursor)
    })

    it('plans are filtered; search takes text, not patterns', async () => {
      const { store } = await one(setup)
      const id = await given(store, plan('retry-core', task('a'), { title: '100% done', session: 's1' }))
      await given(store, plan('other', task('a'), { goal: 'a_b' }), 2)
      await must(store, id, START)
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
      const { store } = await one(setup)
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
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      await must(store, id, START)
      await must(store, id, { type: 'cancel' })
      expect((await store.tasks({ plan: id, status: 'cancelled' })).items).toHaveLength(2)
      expect((await store.check()).faults).toEqual([])
    })

    it('regression 28: a rollback is kept, and rows stand where the plan stands, under way, afterwards and undone', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      await carryOut(store, id)
      const rows = async () => {
        expect((await store.check()).faults).toEqual([])
        const [row] = (await store.plans({})).items
        const tasks = (await store.tasks({ plan: id })).items.map(task => `${task.name} ${task.status} ${task.visit}`)
        return [row!.status, row!.done, row!.endedAt === null, ...tasks]
      }
      const go = async (to: number, kind: 'rollback' | 'undo') => {
        const entries = await store.read(id)
        const meaning = meaningOf(entries, (await store.state(id))!, to)
        await must(store, id, { type: 'rollback', kind, id: kind, at: 0, to, ...meaning })
      }
      const end = async (name: string) =>
        await must(store, id, { type: 'turn', rolledBack: { id: name, outcome: { changes: null, paths: 0 } } })
      const { version } = (await store.state(id))!
      await go(2, 'rollback')
      expect(await rows()).toEqual(['active', 2, true, 'a completed 1', 'b completed 1'])
      await end('rollback')
      expect(await rows()).toEqual(['paused', 0, true, 'a ready 2', 'b pending 2'])
      await go(version, 'undo')
      await end('undo')
      expect(await rows()).toEqual(['completed', 2, false, 'a completed 3', 'b completed 3'])
    })
  })
}
