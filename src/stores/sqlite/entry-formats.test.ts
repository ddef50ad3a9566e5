// A journal that an older release wrote: its entries stay as they are and verify, what is appended has the new format.

import { expect, test } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import { plan, task } from '../../testing/index.ts'
import { ENTRY_FORMAT, entryHash, type StoredEntry } from '../journal/entry.ts'
import { carryOut, given, must } from '../store.contract.ts'
import { Connection } from './driver.ts'
import { writtenBefore } from './older-entries.fixture.ts'
import { setup } from './store-sqlite.fixture.ts'

test.for([
  ['written here', 0],
  ['copied from another store', 7_000],
] as const)('entries of format 1, %s, verify, and the plan goes on in format 2', async ([, offset]) => {
  const { open, path, raw } = setup()
  const first = await open()
  const id = await given(first, plan('first', task('a'), task('b', { needs: ['a'] })))
  await carryOut(first, id, 1)
  await first.close()
  writtenBefore(path, id, offset)
  const store = await open()
  const before = await store.read(id)
  await must(store, id, { type: 'note', text: 'n' })
  expect((await store.check({ readData: true })).faults).toEqual([])
  const entries = await store.read(id)
  expect(entries.slice(0, -1)).toEqual(before)
  const followed = []
  for await (const entry of store.watch({ after: 0, signal: new AbortController().signal })) {
    followed.push(entry)
    if (followed.length === entries.length) break
  }
  expect(followed).toEqual(entries)
  const again = await open()
  expect((await again.state(id))!.version).toBe(entries.length)
  raw(`UPDATE entries SET ${offset === 0 ? 'position = position + 100' : 'old_position = 1'} WHERE version = 1`)
  const { faults } = await (await open()).check()
  expect(faults.map(({ what }) => what)).toContain(`entry 1 of plan ${id} does not match its hash`)
})

test('an entry of format 1 behind one of format 2 is damage, whatever its hash', async () => {
  const { open, path } = setup()
  const store = await open()
  const id = await given(store, plan('first', task('a')))
  await must(store, id, { type: 'note', text: 'n' })
  await store.close()
  const connection = new Connection(path, { readOnly: false, busyMs: 1_000 })
  const [first, second] = connection
    .prepare('SELECT * FROM entries ORDER BY version')
    .all() as unknown as readonly (Omit<StoredEntry, 'hash'> & { readonly hash: Uint8Array })[]
  const body = second!.body!.replace(/^\{"v":2,/, '{"v":1,')
  const previous = Buffer.from(first!.hash).toString('hex')
  const hash = entryHash(previous, id, { ...second!, format: 1, oldPosition: null, body, blob: null as Sha256 | null })
  connection
    .prepare('UPDATE entries SET format = 1, body = ?, hash = ? WHERE version = 2')
    .run(body, Buffer.from(hash, 'hex'))
  connection.close()
  const opened = await open()
  const what = `entry 2 of plan ${id} is of format 1, after one of format ${ENTRY_FORMAT}`
  expect((await opened.check()).faults.map(fault => fault.what)).toContain(what)
  await expect(opened.read(id)).rejects.toThrow(what)
  await expect(opened.since(1, 10)).rejects.toThrow(what)
  await expect(opened.state(id)).rejects.toThrow(what)
})
