import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import { RULES } from '../../domain/rules-version.ts'
import { external, plan, task } from '../../testing/index.ts'
import { entryHash, GENESIS, type StoredEntry } from '../journal/entry.ts'
import { ana, carryOut, given, must } from '../store.contract.ts'
import { StoreDamaged } from '../store.ts'
import { Connection } from './driver.ts'
import { setup } from './store-sqlite.fixture.ts'

/** Older than all that this release still knows. */
const FORGOTTEN_RULES = 4

describe('sqlite: tampering is detected', () => {
  async function written() {
    const harness = setup()
    const store = await harness.open()
    const id = await given(store, plan('first', task('a', { kind: 'k' }), task('b', { needs: ['a'] }), external('c')))
    await carryOut(store, id, 1)
    await must(store, id, { type: 'note', text: 'n'.repeat(300_000) })
    await store.sessions.append('s', [{ type: 'session.opened', title: 'x' }], { actor: ana })
    await store.tidy()
    expect((await store.check({ readData: true })).faults).toEqual([])
    return { ...harness, store, id }
  }

  const changes: Record<string, string> = {
    'the position of an entry': 'UPDATE entries SET position = 99 WHERE version = 5',
    'two positions exchanged':
      'UPDATE entries SET position = 99 WHERE version = 3; UPDATE entries SET position = 3 WHERE version = 2; UPDATE entries SET position = 2 WHERE position = 99',
    'the version of an entry': 'UPDATE entries SET version = 99 WHERE version = 5',
    'the time of an entry': 'UPDATE entries SET at = at + 1 WHERE version = 2',
    'the actor of an entry': "UPDATE entries SET actor = 'eve' WHERE version = 2",
    'the fence of an entry': 'UPDATE entries SET fence = 7 WHERE version = 2',
    'the body of an entry':
      "UPDATE entries SET body = replace(body, 'attempt.started', 'attempt.startet') WHERE version = 3",
    'the blob of an entry': `UPDATE entries SET blob = x'${'ab'.repeat(32)}' WHERE blob IS NOT NULL`,
    'the hash of an entry': `UPDATE entries SET hash = x'${'ab'.repeat(32)}' WHERE version = 2`,
    'the plan of an entry': 'UPDATE entries SET plan_no = 9 WHERE version = 2',
    'an entry deleted in the middle': 'DELETE FROM entries WHERE version = 3',
    'the last entry deleted': 'DELETE FROM entries WHERE version = 5',
    'two entries exchanged':
      'UPDATE entries SET version = 99 WHERE version = 2; UPDATE entries SET version = 2 WHERE version = 3; UPDATE entries SET version = 3 WHERE version = 99',
    'the version the journal reached': 'UPDATE heads SET reached = 9',
    'the count of done tasks': 'UPDATE entries SET done = 7 WHERE version = 5',
    'the status of a plan': "UPDATE plans SET status = 'failed'",
    'the title of a plan': "UPDATE plans SET title = 'eve'",
    'the id of a plan': "UPDATE plans SET id = '01234567-89ab-7def-8123-456700000000'",
    'the status of a task': "UPDATE tasks SET status = 'completed' WHERE ordinal = 2",
    'the name of a task': "UPDATE tasks SET name = 'x' WHERE ordinal = 2",
    'a task deleted': 'DELETE FROM tasks WHERE ordinal = 3',
    'a task added':
      'INSERT INTO tasks (plan_no, ordinal, name, title, kind, assignee, status, visit, attempt, started_at, ended_at, sequence, added_at) SELECT plan_no, 9, name, title, kind, assignee, status, visit, attempt, started_at, ended_at, sequence, added_at FROM tasks LIMIT 1',
    'the place of a task': 'UPDATE tasks SET sequence = 7 WHERE ordinal = 2',
    'when a task came': 'UPDATE tasks SET added_at = 7 WHERE ordinal = 2',
    'who is to carry it out': "UPDATE plans SET agent = 'eve'",
    'a text that can be found': "UPDATE docs SET text = 'eve' WHERE task = 'a'",
    'a text taken away': "DELETE FROM docs WHERE task = 'a'",
    'the words of a text taken away': 'DELETE FROM doc_words WHERE rowid = 1',
    'words of output that is not there': "INSERT INTO log_words (rowid, text) VALUES (99, 'eve')",
    'how a step ended': "UPDATE steps SET outcome = 'failed' WHERE task = 'a'",
    'a step taken away': "DELETE FROM steps WHERE task = 'a'",
    'the end of an attempt': 'UPDATE tasks SET last_ended_at = 1 WHERE ordinal = 1',
    'an attempt deleted': 'UPDATE tasks SET last_attempt = NULL WHERE ordinal = 1',
    'a whole plan deleted':
      'DELETE FROM entries; DELETE FROM heads; DELETE FROM tasks; DELETE FROM earlier_attempts; DELETE FROM docs; DELETE FROM steps; DELETE FROM plans',
    'a word in a session': "UPDATE stream_entries SET body = replace(body, 'x', 'y')",
    'the row of a session': "UPDATE streams SET row = replace(row, 'open', 'shut')",
  }

  for (const [what, sql] of Object.entries(changes)) {
    it(`${what}`, async () => {
      const { store, raw } = await written()
      raw(sql)
      const report = await store.check()
      expect(report.ok).toBe(false)
      expect(report.faults[0]!.hint).not.toBe('')
    })
  }

  it('search and steps that were altered are made again from the journal, when somebody asks for it', async () => {
    const { store, raw } = await written()
    const before = [await store.search({ text: 'first' }), await store.steps({ by: 'kind' })]
    raw("UPDATE docs SET text = 'eve'; DELETE FROM steps; DELETE FROM doc_words")
    expect((await store.check()).faults[0]!.hint).toMatch(/again from the journal/)
    await store.tidy({ rebuild: true })
    expect((await store.check()).faults).toEqual([])
    expect([await store.search({ text: 'first' }), await store.steps({ by: 'kind' })]).toEqual(before)
  })

  it('a plan of older rules is not damaged, as long as its chain holds', async () => {
    const { open, raw, path, id } = await written()
    // As the program of those rules wrote it: its hashes are right.
    const connection = new Connection(path, { readOnly: false, busyMs: 1_000 })
    let previous = GENESIS.hash
    for (const row of connection.prepare('SELECT * FROM entries ORDER BY version').all()) {
      const { body, blob, ...rest } = row as unknown as StoredEntry & { blob: Buffer | null }
      const older = body?.replaceAll(`"rules":${RULES}`, `"rules":${FORGOTTEN_RULES}`) ?? null
      const hex = blob === null ? null : (Buffer.from(blob).toString('hex') as Sha256)
      previous = entryHash(previous, id, { ...rest, body: older, blob: hex })
      connection
        .prepare('UPDATE entries SET body = ?, hash = ? WHERE position = ?')
        .run(older, Buffer.from(previous, 'hex'), rest.position)
    }
    connection.close()
    expect(await (await open()).check()).toMatchObject({
      ok: true,
      plans: 1,
      entries: 5,
      faults: [],
      unread: [{ plan: id, why: expect.stringContaining(`it has rules ${FORGOTTEN_RULES}`) }],
    })
    raw("UPDATE entries SET actor = 'eve' WHERE version = 4")
    expect(await (await open()).check()).toMatchObject({ ok: false, faults: [{ plan: id }] })
  })

  it('a plan whose chain is broken is not run', async () => {
    const { open, raw, id } = await written()
    raw("UPDATE entries SET actor = 'eve' WHERE version = 2")
    const other = await open()
    await expect(other.state(id)).rejects.toThrow(StoreDamaged)
    await expect(other.update(id, { type: 'pause' }, { actor: ana })).rejects.toThrow(StoreDamaged)
    await given(other, plan('healthy', task('a')), 2)
  })

  const altered = {
    'the actor of an entry': "UPDATE entries SET actor = 'eve' WHERE version = 3",
    'the body of an entry':
      "UPDATE entries SET body = replace(body, 'attempt.started', 'attempt.startet') WHERE version = 3",
    'the hash of an entry': `UPDATE entries SET hash = x'${'ab'.repeat(32)}' WHERE version = 3`,
  }
  for (const [what, sql] of Object.entries(altered)) {
    it(`whoever reads entries is told of it, with its place, and is shown what stands before it: ${what}`, async () => {
      const { open, raw, id } = await written()
      raw(sql)
      const other = await open()
      const place = { name: 'StoreDamaged', fault: 'tampered', version: 3 }
      await expect(other.read(id)).rejects.toMatchObject(place)
      await expect(other.read(id, { after: 2, limit: 1 })).rejects.toMatchObject(place)
      expect((await other.read(id, { limit: 2 })).map(({ version }) => version)).toEqual([1, 2])
      expect((await other.since(0, 100)).map(({ version }) => version)).toEqual([1, 2])
      await expect(other.since(2, 100)).rejects.toMatchObject(place)
      for (const plan of [undefined, id]) {
        const told: number[] = []
        const stop = new AbortController()
        const watching = async () => {
          const options = { after: 0, signal: stop.signal, ...(plan === undefined ? {} : { plan }) }
          for await (const { version } of other.watch(options)) told.push(version)
        }
        await expect(watching()).rejects.toMatchObject(place)
        expect(told).toEqual([1, 2])
      }
    })
  }

  it('an entry taken out is missed by whoever reads on behind it', async () => {
    const { open, raw, id } = await written()
    raw('DELETE FROM entries WHERE version = 3')
    const other = await open()
    await expect(other.read(id)).rejects.toMatchObject({ fault: 'missing', version: 3 })
    await expect(other.read(id, { after: 3 })).rejects.toMatchObject({ fault: 'missing', version: 3 })
    await expect(other.since(2, 100)).rejects.toMatchObject({ fault: 'missing', version: 3 })
    expect(await other.read(id, { after: 99 })).toEqual([])
  })

  it('a live tail goes on being verified, entry by entry, whoever writes', async () => {
    const { open, raw, id, store } = await written()
    const other = await open({ pid: 4242 })
    const stop = new AbortController()
    const told: number[] = []
    let heard = (): void => {}
    const watching = (async () => {
      for await (const { version } of other.watch({ after: 0, plan: id, signal: stop.signal })) {
        told.push(version)
        heard()
      }
    })()
    watching.catch(() => {})
    const reaching = (version: number) =>
      new Promise<void>(resolve => {
        heard = () => told.at(-1) === version && resolve()
        heard()
      })
    const { version } = (await store.state(id))!
    await reaching(version)
    await must(store, id, { type: 'note', text: 'more' })
    await reaching(version + 1)
    // A forged entry behind the last one, as somebody with the file could write it.
    raw(
      `INSERT INTO entries (position, plan_no, version, at, actor, fence, done, body, blob, hash) SELECT position + 1, plan_no, version + 1, at, 'eve', fence, done, body, blob, hash FROM entries WHERE version = ${version + 1}`,
    )
    await expect(watching).rejects.toMatchObject({ fault: 'tampered', version: version + 2 })
  })

  it('a damaged blob, in any byte, is found and never returned; a missing one is missed', async () => {
    const { store, folder, id } = await written()
    const [first] = readdirSync(join(folder, 'blobs'))
    const [rest] = readdirSync(join(folder, 'blobs', first!))
    const path = join(folder, 'blobs', first!, rest!)
    const bytes = readFileSync(path)
    for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
      const damaged = Buffer.from(bytes)
      damaged[at]! ^= 4
      writeFileSync(path, damaged)
      await expect(store.blobs.get((first! + rest!) as Sha256)).rejects.toThrow(StoreDamaged)
      expect((await store.check({ readData: true })).ok).toBe(false)
    }
    await expect(store.read(id)).rejects.toThrow(StoreDamaged)
    rmSync(path)
    expect((await store.check()).ok).toBe(false)
  })

  it('a stored fold that was altered is not used: the journal tells the same', async () => {
    const harness = setup({ foldEvery: 20 })
    const store = await harness.open()
    const id = await given(store, plan('first', task('a')))
    for (let round = 1; round <= 50; round++) await must(store, id, { type: 'note', text: 'x' })
    await store.close()
    const other = await harness.open()
    expect((await other.state(id))!.version).toBe(51)
    harness.raw("UPDATE folds SET body = CAST(body || x'00' AS BLOB)")
    expect((await other.check()).ok).toBe(false)
    const third = await harness.open()
    expect((await third.state(id))!.version).toBe(51)
    harness.raw('UPDATE folds SET version = version - 1')
    expect((await other.check()).ok).toBe(false)
    expect((await (await harness.open()).state(id))!.version).toBe(51)
    harness.raw('DELETE FROM folds')
    expect((await (await harness.open()).state(id))!.version).toBe(51)
    expect((await other.check()).ok).toBe(true)
  })
})
