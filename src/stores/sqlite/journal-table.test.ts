import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import { external, plan } from '../../testing/index.ts'
import { given, must } from '../store.contract.ts'
import { StoreDamaged } from '../store.ts'
import { Connection } from './driver.ts'
import { setup } from './store-sqlite.fixture.ts'
import { tablesOn } from './store-sqlite.ts'

const note = { type: 'note', text: 'tick' } as const

/** Notes written to plans in turn, by one process or two: `[plan, how many, by whom]`. */
const writings = fc.array(fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 35 }), fc.nat(1)), { maxLength: 12 })

async function three() {
  const harness = setup()
  const stores = [await harness.open(), await harness.open({ pid: 2 })] as const
  const plans: PlanId[] = []
  for (const at of [1, 2, 3]) plans.push(await given(stores[0], plan(`plan-${at}`, external('a')), at))
  const rows = (sql: string) => {
    const connection = new Connection(harness.path, { readOnly: true, busyMs: 1_000 })
    const found = connection.prepare(sql).all()
    connection.close()
    return found
  }
  return { ...harness, stores, plans, rows }
}

describe('sqlite: the entries of plans', () => {
  it('every entry is found by plan and version, however plans and processes took turns', async () => {
    await fc.assert(
      fc.asyncProperty(writings, async turns => {
        const { stores, plans, rows, path } = await three()
        for (const [at, times, by] of turns) for (let i = 0; i < times; i++) await must(stores[by]!, plans[at]!, note)
        const all = rows('SELECT plan_no, version, position, hash FROM entries ORDER BY position')
        const connection = new Connection(path, { readOnly: true, busyMs: 1_000 })
        const { journal } = tablesOn(connection)
        for (const [index, id] of plans.entries()) {
          const own = all.filter(row => row.plan_no === index + 1)
          const last = own.length
          expect(own.map(row => row.version)).toEqual(own.map((_, version) => version + 1))
          expect(journal.head(index + 1)).toMatchObject({ version: last })
          expect((await stores[0].read(id)).map(entry => entry.position)).toEqual(own.map(row => row.position))
          for (let version = 0; version <= last + 1; version++) {
            expect(journal.entry(index + 1, version)?.position).toBe(own[version - 1]?.position)
            const page = journal.entries(index + 1, version, last - 1, 3).map(entry => entry.position)
            expect(page).toEqual(own.slice(version, Math.min(version + 3, last - 1)).map(row => row.position))
          }
        }
        connection.close()
        const listed = (await stores[0].plans({})).items.map(({ id, version }) => [id, version])
        expect(listed.toReversed()).toEqual(plans.map((id, at) => [id, all.filter(r => r.plan_no === at + 1).length]))
        expect((await stores[0].check()).faults).toEqual([])
        await Promise.all(stores.map(store => store.close()))
      }),
      { numRuns: Number(process.env.PLANFOLD_RUNS ?? 12) },
    )
  })

  it('what is pruned goes wholly and leaves the others findable', async () => {
    const { stores, plans, rows, clock } = await three()
    for (let i = 0; i < 40; i++)
      for (const [at, id] of plans.entries()) if (i % (at + 2) === 0) await must(stores[0], id, note)
    for (let i = 0; i < 20; i++) await must(stores[0], plans[1]!, note)
    await must(stores[0], plans[1]!, { type: 'cancel', reason: 'enough' })
    await must(stores[0], plans[1]!, { type: 'archive' })
    clock.pass(1_000)
    await stores[0].prune({ before: clock.now(), dryRun: false })
    expect(rows('SELECT count(*) AS count FROM entries WHERE plan_no = 2')).toEqual([{ count: 0 }])
    await must(stores[0], plans[2]!, note)
    expect((await stores[0].check()).faults).toEqual([])
  })

  it('check tells of an entry that belongs to no plan', async () => {
    const { stores, plans, raw } = await three()
    await must(stores[0], plans[0]!, note)
    raw(
      'PRAGMA foreign_keys = OFF; UPDATE entries SET plan_no = 9 WHERE position = (SELECT max(position) FROM entries)',
    )
    const found = (await stores[0].check()).faults.map(({ what }) => what)
    expect(found.join('\n')).toContain('a row of entries belongs to nothing')
  })

  it('a plan whose entries are gone is listed all the same, and told of', async () => {
    const { stores, plans, raw } = await three()
    raw('DELETE FROM entries WHERE plan_no = 2')
    expect((await stores[0].plans({})).items.map(({ id, version }) => [id, version])).toEqual([
      [plans[2], 1],
      [plans[1], 0],
      [plans[0], 1],
    ])
    expect((await stores[0].check()).ok).toBe(false)
    await expect(stores[0].read(plans[1]!)).rejects.toThrow(StoreDamaged)
  })

  it('no way to an entry walks through all of them', async () => {
    const { path, stores } = await three()
    await stores[1].close()
    class Listening extends Connection {
      readonly heard: string[] = []
      override prepare(sql: string) {
        this.heard.push(sql)
        return super.prepare(sql)
      }
      override prepareLists(sql: string) {
        this.heard.push(sql)
        return super.prepareLists(sql)
      }
    }
    const connection = new Listening(path, { readOnly: false, busyMs: 1_000 })
    const { journal, upkeep, owners } = tablesOn(connection)
    connection.exec('BEGIN IMMEDIATE')
    journal.head(1)
    journal.entries(1, 0, 9, 9)
    owners.letGo(1, 'nobody')
    upkeep.prune(2, 1)
    connection.exec('ROLLBACK')
    const asked = connection.heard.filter(
      sql => /entries/.test(sql) && !/^INSERT INTO entries|max\(position\)/.test(sql),
    )
    expect(asked.length).toBeGreaterThan(4)
    for (const sql of asked) {
      const asks = sql.match(/\?\d+/g)
      const values = Array.from({ length: asks === null ? sql.split('?').length - 1 : new Set(asks).size }, () => 1)
      for (const { detail } of connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values))
        expect(String(detail), sql).not.toMatch(/SCAN (e|entries|heads|plans|tasks)\b/)
    }
    connection.close()
  })
})
