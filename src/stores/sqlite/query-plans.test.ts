// Lists in constant time: what SQLite means to do for each of them, in its own words.

import { describe, expect, it } from 'vitest'
import { seal } from '../cursor.ts'
import type { PlanQuery, TaskQuery } from '../store.ts'
import { Connection, type Statement } from './driver.ts'
import { setup } from './store-sqlite.fixture.ts'
import { tablesOn } from './store-sqlite.ts'

/** Remembers what it was asked to prepare. */
class Listening extends Connection {
  heard: string[] = []
  override prepare(sql: string): Statement {
    this.heard.push(sql)
    return super.prepare(sql)
  }
}

async function listening() {
  const { path, open } = setup()
  await (await open()).close()
  const connection = new Listening(path, { readOnly: true, busyMs: 0 })
  const tables = tablesOn(connection)
  const meaning = (ask: () => unknown): readonly string[] => {
    connection.heard = []
    ask()
    return connection.heard
      .filter(sql => sql.startsWith('SELECT'))
      .flatMap(sql => {
        const values = Array.from(sql.matchAll(/\?/g), () => 1)
        return connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values)
      })
      .map(row => String(row.detail))
  }
  return { tables, meaning, connection }
}

/** A place in a list; it is made a cursor where the filter is known. */
const cursor = (...parts: readonly unknown[]) => JSON.stringify(parts)
function sealed<Q extends { readonly cursor?: string }>(query: Q): Q {
  if (query.cursor === undefined) return query
  const [list, ...place] = JSON.parse(query.cursor) as [string, ...number[]]
  return { ...query, cursor: seal(list, query, place) }
}

/** Never a sort; and never a walk through all rows, but for a list of all. */
function isOneStretch(steps: readonly string[], what: string): void {
  expect(steps.length, what).toBeGreaterThan(0)
  for (const step of steps) {
    expect(step, what).not.toMatch(/TEMP B-TREE|AUTOMATIC|MATERIALIZE/)
    expect(step, what).not.toMatch(/SCAN (?!w VIRTUAL TABLE INDEX \d+:.*M|w USING COVERING INDEX tasks_waiting)/)
  }
}

describe('sqlite: what lists cost', () => {
  it('plans: one stretch of an index, with every filter, from every page on', async () => {
    const { tables, meaning, connection } = await listening()
    const filters: Record<string, PlanQuery> = {
      session: { session: 's' },
      goal: { goal: 'g' },
      agent: { agent: 'a' },
      together: { session: 's', goal: 'g', agent: 'a' },
      ...Object.fromEntries(
        (['draft', 'active', 'paused', 'blocked', 'completed', 'failed', 'cancelled'] as const).flatMap(status => [
          [status, { status }],
          [`${status} of an agent`, { status, agent: 'a' }],
        ]),
      ),
    }
    for (const [what, filter] of Object.entries(filters)) {
      for (const archived of [{}, { within: null, archived: false }, { archived: true }]) {
        for (const at of [{}, { cursor: cursor('plans', 7) }]) {
          const query = { ...filter, ...archived, ...at }
          isOneStretch(
            meaning(() => tables.projections.plans(sealed(query), null)),
            what,
          )
          isOneStretch(
            meaning(() => tables.projections.plans(sealed({ ...query, text: 'x' }), ['x'])),
            `${what}, by words`,
          )
        }
      }
    }
    for (const archived of [false, true])
      isOneStretch(
        meaning(() => tables.projections.plans({ archived }, null)),
        'archived',
      )
    // A list of all is a walk along the table itself, from the row a cursor names.
    expect(meaning(() => tables.projections.plans(sealed({}), null))[0]).toBe('SCAN p')
    isOneStretch(
      meaning(() => tables.projections.plans(sealed({ cursor: cursor('plans', 7) }), null)),
      'all',
    )
    connection.close()
  })

  it('tasks: one stretch of an index, by sequence in a plan, and recent first across plans', async () => {
    const { tables, meaning, connection } = await listening()
    const sequence: TaskQuery = { order: 'sequence' }
    for (const filter of [{}, { status: 'ready' as const }, { assignee: 'a' }]) {
      for (const at of [{}, { cursor: cursor('tasks in sequence', 7, 1, 1) }])
        isOneStretch(
          meaning(() => tables.projections.tasks(sealed({ ...sequence, ...filter, ...at }), 1)),
          'by sequence',
        )
      for (const at of [{}, { cursor: cursor('tasks', 7, 1) }])
        isOneStretch(
          meaning(() => tables.projections.tasks(sealed({ ...filter, ...at }), 1)),
          'as they came',
        )
      for (const at of [{}, { cursor: cursor('recent tasks', 7, 1, 1) }])
        isOneStretch(
          meaning(() => tables.projections.tasks(sealed({ order: 'recent', ...filter, ...at }), 1)),
          'recent in a plan',
        )
    }
    const recent: TaskQuery = { order: 'recent' }
    for (const at of [{}, { cursor: cursor('recent tasks', 7, 1, 1) }]) {
      isOneStretch(
        meaning(() => tables.projections.tasks(sealed({ ...recent, ...at, assignee: 'a' }), null)),
        'by assignee',
      )
      for (const status of ['waiting', 'blocked', 'failed', 'skipped', 'abandoned', 'cancelled'] as const) {
        isOneStretch(
          meaning(() => tables.projections.tasks(sealed({ ...recent, ...at, status }), null)),
          status,
        )
        isOneStretch(
          meaning(() => tables.projections.tasks(sealed({ ...recent, ...at, status, assignee: 'a' }), null)),
          `${status} by assignee`,
        )
      }
    }
    // Through the plans that are open, in their order; the newest first of what is found there.
    for (const status of ['ready', 'running'] as const) {
      for (const archived of [{}, { within: null, archived: false }])
        for (const order of [{}, sequence])
          for (const at of [
            {},
            { cursor: cursor(...(order === sequence ? ['tasks in sequence', 7, 1, 1] : ['tasks', 7, 1])) },
          ])
            isOneStretch(
              meaning(() => tables.projections.tasks(sealed({ ...order, ...archived, status, ...at }), null)),
              status,
            )
      const steps = meaning(() =>
        tables.projections.tasks(sealed({ ...recent, status, within: null, archived: false }), null),
      )
      expect(steps[0]).toBe('SEARCH p USING INDEX plans_by_status (status=? AND archived=?)')
      expect(steps.join()).not.toMatch(/SCAN/)
    }
    expect(meaning(() => tables.projections.tasks(sealed(recent), null))[0]).toBe('SCAN t USING INDEX tasks_by_time')
    isOneStretch(
      meaning(() => tables.projections.tasks(sealed({ ...recent, cursor: cursor('recent tasks', 7, 1, 1) }), null)),
      'all recent ones',
    )
    connection.close()
  })

  it('sessions and goals, search, steps and keys', async () => {
    const { tables, meaning, connection } = await listening()
    for (const where of [
      undefined,
      { status: 'open' },
      { parent: 'x' },
      { parent: null },
      { parent: 'x', status: 'open' },
    ])
      isOneStretch(
        meaning(() => tables.streams.heads('goal', 9, 10, where)),
        'goals',
      )
    for (const no of [null, 1]) {
      for (const kind of ['plan', 'task', 'log'] as const)
        isOneStretch(
          meaning(() => tables.index.find(kind, { words: ['x'], no, within: null, archived: false }, 9, 10)).filter(
            // The first and last of a plan's rows, once for a page.
            step => !/^SEARCH (docs|task_logs) USING/.test(step),
          ),
          kind,
        )
    }
    for (const where of [{ no: 1 }, { agent: 'a' }, { since: 1, until: 2 }, { since: 1, kind: 'k' }])
      isOneStretch(
        meaning(() => tables.index.ended(where, null, 10)),
        'steps',
      )
    isOneStretch(
      meaning(() => tables.once.get('a' as never, 'k')),
      'keys',
    )
    isOneStretch(
      meaning(() => tables.once.hasBefore(1)),
      'old keys',
    )
    connection.close()
  })
})
