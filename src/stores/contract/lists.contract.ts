// Lists: every filter, order and page.

import { describe, expect, it } from 'vitest'
import type { Command } from '../../domain/command.ts'
import type { PlanId } from '../../domain/id.ts'
import { external, gate, numberedPlanId, numberedSha, plan, START, task } from '../../testing/index.ts'
import { BadCursor, type OverviewQuery, type Page, type PlanQuery, type Store, type TaskQuery } from '../store.ts'
import { ana, asking, given, must, ok, one, type Setup } from './harness.contract.ts'

/** All pages, one row each. */
async function walk<Q, R>(list: (query: Q) => Promise<Page<R>>, query: Q, limit = 2): Promise<readonly R[]> {
  const rows: R[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < 200; pages++) {
    const page = await list({ ...query, limit, ...(cursor === undefined ? {} : { cursor }) })
    expect(page.items.length).toBeLessThanOrEqual(limit)
    rows.push(...page.items)
    if (page.next === null) return rows
    cursor = page.next
  }
  throw new Error('it never ends')
}

const STATUSES = ['draft', 'active', 'paused', 'blocked', 'completed', 'failed', 'cancelled'] as const

/** Thirty plans of three agents, three goals and three sessions, in every status; every second archivable one is archived. */
async function many(store: Store) {
  const made: { id: PlanId; name: string; status: string; archived: boolean; agent: string; goal: string }[] = []
  for (let number = 1; number <= 30; number++) {
    const status = STATUSES[number % STATUSES.length]!
    const [agent, goal, session] = [`agent-${number % 3}`, `goal-${number % 4}`, `session-${number % 2}`]
    const id = numberedPlanId(number)
    const definition = plan(`plan-${number}`, status === 'blocked' ? gate('a') : task('a'), {
      title: `Number ${number}`,
    })
    ok(await store.create({ type: 'create', plan: id, definition, hash: numberedSha(1), agent, goal, session }, ana))
    for (const command of leadingTo(status)) await must(store, id, command)
    const archived = number % 2 === 0 && ['draft', 'completed', 'failed', 'cancelled'].includes(status)
    if (archived) await must(store, id, { type: 'archive' })
    made.unshift({ id, name: `plan-${number}`, status, archived, agent, goal })
  }
  return made
}

function leadingTo(status: (typeof STATUSES)[number]): readonly Command[] {
  if (status === 'draft') return []
  if (status === 'cancelled') return [START, { type: 'cancel' }]
  if (status === 'paused') return [START, { type: 'pause' }]
  if (status === 'active') return [START]
  if (status === 'blocked') return [START, asking('a')]
  const result =
    status === 'completed'
      ? ({ status: 'succeeded' } as const)
      : ({ status: 'failed', failure: { class: 'logic', message: 'no', retryable: false } } as const)
  const settled = [{ task: 'a' as never, visit: 1, attempt: 1, result }]
  return [START, { type: 'turn' }, { type: 'turn', settled }]
}

export function listsContract(what: string, setup: Setup): void {
  describe(`${what}: lists`, () => {
    it('regression 7: plans by status, agent, goal, session and archive, alone and together, page by page, newest first', async () => {
      const { store } = await one(setup)
      const made = await many(store)
      const names = async (query: PlanQuery) => (await walk(store.plans.bind(store), query)).map(row => row.name)
      for (const archived of [undefined, false, true]) {
        const base = archived === undefined ? {} : { archived }
        const all = made.filter(row => archived === undefined || row.archived === archived)
        const expected = (is: (row: (typeof made)[number]) => boolean) => all.filter(is).map(row => row.name)
        expect(await names(base)).toEqual(expected(() => true))
        for (const status of STATUSES) {
          expect(await names({ ...base, status })).toEqual(expected(row => row.status === status))
          const agent = 'agent-1'
          expect(await names({ ...base, status, agent })).toEqual(
            expected(row => row.status === status && row.agent === agent),
          )
        }
        expect(await names({ ...base, agent: 'agent-2' })).toEqual(expected(row => row.agent === 'agent-2'))
        expect(await names({ ...base, goal: 'goal-3' })).toEqual(expected(row => row.goal === 'goal-3'))
        expect(await names({ ...base, session: 'session-1' })).toEqual(
          expected(row => row.agent !== '' && odd(row.name)),
        )
        expect(await names({ ...base, goal: 'goal-1', session: 'session-1', agent: 'agent-0' })).toEqual(
          expected(row => row.goal === 'goal-1' && odd(row.name) && row.agent === 'agent-0'),
        )
        expect(await names({ ...base, text: 'NUMBER 2' })).toEqual(expected(row => /-2/.test(row.name)))
        expect(await names({ ...base, text: 'number', status: 'failed' })).toEqual(
          expected(row => row.status === 'failed'),
        )
        expect(await names({ ...base, agent: 'nobody' })).toEqual([])
      }
      const [row] = (await store.plans({ limit: 1 })).items
      expect(row).toMatchObject({ agent: 'agent-0', goalId: 'goal-2', goal: null })
      expect((await store.check()).faults).toEqual([])
    })

    it('plans looked over: by time, among others, in every order, counted, with what they used', async () => {
      const { store, clock } = await one(setup)
      const wide = await given(store, plan('wide', external('a'), external('b'), gate('c')))
      const [from, paid] = [clock.now(), { tokens: 70, cost: 0.5 }]
      clock.pass(1_000)
      const plain = await given(store, plan('plain', task('a')), 2)
      clock.pass(1_000)
      const asked = await given(store, plan('asked', task('a')), 3)
      const used = {
        model: 'x/y',
        calls: 1,
        usage: { inputTokens: 30, outputTokens: 12 },
        cost: { known: true, usd: 2 },
      }
      const settles = (outputs: object | null) => ({
        type: 'turn' as const,
        settled: [
          {
            task: 'a' as never,
            visit: 1,
            attempt: 1,
            result: { status: 'succeeded', ...(outputs === null ? { model: used } : { outputs }) } as never,
          },
        ],
      })
      clock.pass(1_000)
      for (const [id, outputs] of [
        [asked, null],
        [plain, { usage: paid }],
      ] as const) {
        for (const command of [START, { type: 'turn' } as const, settles(outputs)]) await must(store, id, command)
        clock.pass(500)
      }
      await must(store, wide, START)
      await must(store, wide, asking('c'))

      const names = async (query: OverviewQuery) =>
        (await walk(store.overview.bind(store), query, 1)).map(row => row.name)
      expect(await names({})).toEqual(['asked', 'plain', 'wide'])
      expect(await names({ order: 'name' })).toEqual(['asked', 'plain', 'wide'])
      expect(await names({ order: 'updated' })).toEqual(['wide', 'plain', 'asked'])
      expect(await names({ order: 'cost' })).toEqual(['asked', 'plain', 'wide'])
      expect(await names({ until: from + 1 })).toEqual(['wide'])
      expect(await names({ since: from + 3_501 })).toEqual(['wide'])
      expect(await names({ status: 'completed', order: 'name' })).toEqual(['asked', 'plain'])
      expect(await names({ text: 'pla', order: 'updated' })).toEqual(['plain'])
      expect(await names({ among: [wide, asked] })).toEqual(['asked', 'wide'])
      expect(await names({ within: { plans: [plain] } })).toEqual(['plain'])
      expect(await names({ within: { sessions: ['none'] } })).toEqual([])

      // None has a retry or a stopped rollback.
      expect((await store.plans({ status: 'completed', unsettled: true })).items).toEqual([])
      const counted = async (query: OverviewQuery) => {
        const { total, statuses } = await store.overview(query)
        return [total, Object.fromEntries(Object.entries(statuses).filter(([, count]) => count > 0))]
      }
      expect(await counted({})).toEqual([3, { active: 1, completed: 2 }])
      // The counts by status ignore the filters `status` and `among`.
      expect(await counted({ status: 'active' })).toEqual([1, { active: 1, completed: 2 }])
      expect(await counted({ status: 'completed', among: [wide, asked] })).toEqual([1, { active: 1, completed: 2 }])
      expect(await counted({ text: 'pla' })).toEqual([1, { completed: 1 }])
      expect(await counted({ since: from + 3_501 })).toEqual([1, { active: 1 }])

      const page = await store.overview({ order: 'cost', limit: 2 })
      expect({ total: page.total, complete: page.complete, more: page.next !== null }).toEqual({
        total: 3,
        complete: true,
        more: true,
      })
      expect(page.items).toMatchObject([
        { name: 'asked', tokens: 42, cost: 2 },
        { name: 'plain', tokens: 70, cost: 0.5 },
      ])
      const [row] = (await store.overview({ among: [wide] })).items
      expect(row).toMatchObject({ tokens: null, cost: null, counts: (await store.state(wide))!.counts })
      // A cursor is only valid for its order.
      await expect(store.overview({ order: 'name', cursor: page.next! })).rejects.toBeInstanceOf(BadCursor)
    })

    it('tasks by sequence within a plan, as they came, and recent first across plans; the same row never twice', async () => {
      const { store, clock } = await one(setup)
      const placed = (id: string, place: unknown) => external(id, { extra: { sequence_order: place as never } })
      const first = await given(
        store,
        plan('first', placed('c', 3), placed('a', 1), placed('b', 1), placed('last', Number.MAX_SAFE_INTEGER)),
      )
      clock.pass(10)
      const second = await given(store, plan('second', placed('x', -5), placed('y', 'soon'), placed('z', 1.5)), 2)
      clock.pass(10)
      await must(store, first, {
        type: 'revise',
        definition: plan('first', placed('c', 3), placed('b', 2), placed('late', 0), placed('last', 9)),
        hash: numberedSha(2),
        rationale: 'more',
      })
      const names = async (query: TaskQuery) => (await walk(store.tasks.bind(store), query)).map(row => row.name)
      expect(await names({ plan: first, order: 'sequence' })).toEqual(['late', 'b', 'c', 'last'])
      expect(await names({ plan: second, order: 'sequence' })).toEqual(['x', 'y', 'z'])
      expect(await names({ order: 'sequence' })).toEqual(['x', 'y', 'z', 'late', 'b', 'c', 'last'])
      expect(await names({ plan: first })).toEqual(['c', 'b', 'last', 'late'])
      expect(await names({})).toEqual(['x', 'y', 'z', 'c', 'b', 'last', 'late'])
      expect(await names({ order: 'recent' })).toEqual(['late', 'z', 'y', 'x', 'last', 'b', 'c'])
      expect(await names({ order: 'recent', plan: first })).toEqual(['late', 'last', 'b', 'c'])
      const { items } = await store.tasks({ plan: first, order: 'sequence' })
      expect(items.map(row => row.sequence)).toEqual([0, 2, 3, 9])
      expect(items.map(row => row.addedAt - clock.wall)).toEqual([0, -20, -20, -20])
      await expect(store.tasks({ order: 'recent', cursor: (await store.tasks({ limit: 1 })).next! })).rejects.toThrow()
      expect((await store.check()).faults).toEqual([])
    })

    it('tasks by assignee and by status, in every order; archived plans apart', async () => {
      const { store } = await one(setup)
      const ids: PlanId[] = []
      for (let number = 1; number <= 6; number++) {
        const tasks = ['ann', 'ben', 'ann'].map((assignee, at) => external(`t${at}`, { assignee }))
        ids.push(await given(store, plan(`plan-${number}`, ...tasks, gate('g')), number))
        await must(store, ids.at(-1)!, START)
        await must(store, ids.at(-1)!, asking('g'))
      }
      await must(store, ids[0]!, { type: 'cancel' })
      await must(store, ids[0]!, { type: 'archive' })
      const of = async (query: TaskQuery) =>
        (await walk(store.tasks.bind(store), query)).map(row => `${ids.indexOf(row.plan) + 1}${row.name}`)
      expect(await of({ assignee: 'ben', order: 'recent' })).toEqual(['6t1', '5t1', '4t1', '3t1', '2t1', '1t1'])
      expect(await of({ assignee: 'ann', order: 'recent', status: 'cancelled' })).toEqual(['1t2', '1t0'])
      expect(await of({ status: 'cancelled', order: 'recent' })).toEqual(['1g', '1t2', '1t1', '1t0'])
      expect(await of({ status: 'waiting', order: 'recent' })).toEqual(['6g', '5g', '4g', '3g', '2g'])
      expect(await of({ status: 'waiting', order: 'sequence' })).toEqual(['6g', '5g', '4g', '3g', '2g'])
      expect(await of({ assignee: 'ann', status: 'ready', plan: ids[2]! })).toEqual(['3t0', '3t2'])
      expect(await of({ order: 'recent', archived: true })).toEqual(['1g', '1t2', '1t1', '1t0'])
      expect(await of({ order: 'recent', archived: false, assignee: 'ben' })).toHaveLength(5)
      expect(await of({ statuses: ['cancelled', 'waiting'], order: 'recent' })).toEqual([
        '6g',
        '5g',
        '4g',
        '3g',
        '2g',
        '1g',
        '1t2',
        '1t1',
        '1t0',
      ])
      expect(await of({ statuses: ['ready', 'waiting'], order: 'sequence', plan: ids[2]! })).toEqual([
        '3t0',
        '3t1',
        '3t2',
        '3g',
      ])
      expect(await of({ statuses: ['cancelled', 'waiting'] })).toEqual([
        '6g',
        '5g',
        '4g',
        '3g',
        '2g',
        '1t0',
        '1t1',
        '1t2',
        '1g',
      ])
      expect(await of({ statuses: ['completed'], order: 'recent' })).toEqual([])
      // The assignee of the definition is listed, whoever claims the task.
      await must(store, ids[1]!, { type: 'claim', task: 't0' as never, token: 'tok', by: 'cleo' })
      expect(await of({ assignee: 'ann', status: 'running' })).toEqual(['2t0'])
      expect(await of({ assignee: 'cleo' })).toEqual([])
    })

    it('goals by parent and status, sessions by status', async () => {
      const { store } = await one(setup)
      const set = (id: string, parent: string | null) =>
        store.goals.append(id, [{ type: 'goal.set', title: id, parent, priority: 5, criteria: [] }], { actor: ana })
      await set('root', null)
      for (const id of ['a', 'b', 'c', 'd']) await set(id, 'root')
      await set('a1', 'a')
      const closed = { type: 'goal.closed', status: 'achieved', reason: 'done' } as const
      for (const id of ['b', 'c', 'a1']) await store.goals.append(id, [closed], { actor: ana })
      const goals = async (where: Parameters<Store['goals']['list']>[0]['where']) =>
        (await walk(store.goals.list.bind(store.goals), where === undefined ? {} : { where })).map(row => row.id)
      expect(await goals(undefined)).toEqual(['a1', 'd', 'c', 'b', 'a', 'root'])
      expect(await goals({ parent: 'root' })).toEqual(['d', 'c', 'b', 'a'])
      expect(await goals({ parent: null })).toEqual(['root'])
      expect(await goals({ status: 'achieved' })).toEqual(['a1', 'c', 'b'])
      expect(await goals({ parent: 'root', status: 'open' })).toEqual(['d', 'a'])
      for (const id of ['s1', 's2', 's3'])
        await store.sessions.append(id, [{ type: 'session.opened', title: id }], { actor: ana })
      await store.sessions.append('s2', [{ type: 'session.closed' }], { actor: ana })
      const sessions = await walk(store.sessions.list.bind(store.sessions), { where: { status: 'open' as const } }, 1)
      expect(sessions.map(row => row.id)).toEqual(['s3', 's1'])
    })
  })
}

const odd = (name: string): boolean => Number(name.slice(5)) % 2 === 1
