// The content store by itself: packs, their damage, other processes, and collections that meet captures.

import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import { prune } from '../journal/prune.ts'
import { temporaryFolder } from '../sqlite/store-sqlite.fixture.ts'
import { StoreDamaged } from '../store.ts'
import type { Transactions } from '../tables.ts'
import { BlobsFiles, type BlobsOptions } from './blobs.ts'

const RUNS = Number(process.env.PLANFOLD_COLLECTIONS ?? 25)
let number = 0

function setup(options: Partial<BlobsOptions> = {}) {
  const folder = join(temporaryFolder(), 'blobs')
  const clock = { at: 1_700_000_000_000 }
  const open = (more: Partial<BlobsOptions> = {}) =>
    new BlobsFiles({ folder, now: () => clock.at, newId: () => `id-${++number}`, ...options, ...more })
  const packs = () => readdirSync(join(folder, 'packs'))
  const collect = (blobs: BlobsFiles) =>
    prune({ transactions: NO_PLANS, blobs, now: clock.at }, { before: clock.at - 1_000, dryRun: false })
  return { folder, clock, open, packs, collect }
}

/** A store without plans: only pins name anything. */
const NO_PLANS = {
  read: (use: (tables: unknown) => unknown) => use({ upkeep: { prunable: () => [], plans: () => [] } }),
  write: async (use: (tables: unknown) => unknown) => use({ upkeep: { prunable: () => [], plans: () => [] } }),
} as unknown as Transactions

const bytes = (text: string) => Buffer.from(text)
const text = (found: Uint8Array | null) => (found === null ? null : Buffer.from(found).toString())

test('many small blobs travel in one pack, large ones alone, each once, and every question sees them', async () => {
  const { open, packs } = setup()
  const blobs = open()
  const contents = Array.from({ length: 500 }, (_, at) => bytes(`content ${at % 400}`))
  const ids = await blobs.putMany([...contents, Buffer.alloc(2_000_000, 7), new Uint8Array()])
  expect(packs()).toHaveLength(1)
  expect(new Set(ids).size).toBe(402)
  const other = open()
  expect([...other.ids()].sort()).toEqual([...new Set(ids)].sort())
  for (const [at, id] of ids.slice(0, 500).entries()) {
    expect(text(other.getNow(id))).toBe(`content ${at % 400}`)
    expect([other.has(id), other.sizeOf(id), typeof other.storedAt(id)]).toEqual([true, contents[at]!.length, 'number'])
  }
  expect(await other.get(ids[500]!)).toHaveLength(2_000_000)
  expect(await other.get(ids[501]!)).toHaveLength(0)
  await other.putMany(contents)
  expect(packs()).toHaveLength(1)
  expect(blobs.bytesUsed()).toBeGreaterThan(2_000_000)
  const more = await other.putMany([bytes('from another process')])
  expect(text(blobs.getNow(more[0]!))).toBe('from another process')
})

test('P34 a damaged pack is never taken for good', async () => {
  const { open, packs, folder } = setup()
  const [first, second] = await open().putMany([bytes('one'), bytes('two')])
  const path = join(folder, 'packs', packs()[0]!)
  const good = readFileSync(path)
  for (let at = 0; at < good.length; at++) {
    const bad = Buffer.from(good)
    bad[at]! ^= 0x40
    writeFileSync(path, bad)
    const blobs = open()
    const faults = [...blobs.ids()].filter(id => {
      try {
        return blobs.getNow(id) === null
      } catch (error) {
        expect(error).toBeInstanceOf(StoreDamaged)
        return true
      }
    })
    expect(faults.length, `byte ${at}`).toBeGreaterThan(0)
    for (const [id, wanted] of [
      [first!, 'one'],
      [second!, 'two'],
    ] as const) {
      const found = (() => {
        try {
          return text(blobs.getNow(id))
        } catch {
          return null
        }
      })()
      expect([wanted, null]).toContain(found)
    }
  }
  for (const length of [0, 5, good.length - 1]) {
    writeFileSync(path, good)
    truncateSync(path, length)
    expect(() => [...open().ids()].map(id => open().getNow(id))).toThrow(StoreDamaged)
  }
  writeFileSync(path, good)
  appendFileSync(path, 'x')
  expect(() => [...open().ids()].map(id => open().getNow(id))).toThrow(StoreDamaged)
})

test('a pack gives up what nobody names when most of it is dead, and small packs become one', async () => {
  const { open, packs, collect, clock } = setup()
  const blobs = open()
  const [keep] = await blobs.putMany([bytes('keep'), ...Array.from({ length: 50 }, (_, at) => bytes(`dead ${at}`))])
  const single: Sha256[] = []
  for (let at = 0; at < 40; at++) single.push(...(await blobs.putMany([bytes(`single ${at}`)])))
  blobs.pin('kept', JSON.stringify([keep, ...single]))
  clock.at += 10_000
  const pruned = await collect(blobs)
  expect(pruned.blobs).toBe(50)
  expect(packs()).toHaveLength(1)
  for (const other of [blobs, open()]) {
    expect([...other.ids()].sort()).toEqual([keep!, ...single].sort())
    expect(text(other.getNow(keep!))).toBe('keep')
  }
  // A process that learned the old packs finds the new one.
  blobs.unpin('kept')
  clock.at += 10_000
  await collect(open())
  expect(blobs.getNow(keep!)).toBeNull()
  expect(packs()).toEqual([])
})

test('P35 a collection that meets a capture at any moment takes nothing the capture relies on', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 12 }),
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      async (moment, wanted, packed) => {
        const { open, collect, clock } = setup()
        const writer = open()
        const contents = Array.from({ length: 10 }, (_, at) => bytes(`old ${at}`))
        // All of it is old and nobody names it: fair prey, but for whoever stores it again meanwhile.
        if (packed) await writer.putMany(contents)
        else for (const each of contents) await writer.put(each)
        clock.at += 10_000
        const used: Sha256[] = []
        let points = 0
        const meet = () => {
          if (points++ !== moment) return
          // In the middle of the collector's work, another process says that it needs these.
          const missing = writer.touch(used.length > 0 ? [] : wanted.map(at => idOf(contents[at]!)))
          for (const at of wanted) {
            const id = idOf(contents[at]!)
            used.push(missing.includes(id) ? writer.putNow(contents[at]!) : id)
          }
        }
        await collect(open({ failpoint: meet }))
        const reader = open()
        for (const id of used) expect(reader.getNow(id)).not.toBeNull()
      },
    ),
    { numRuns: RUNS },
  )
})

const idOf = (content: Uint8Array): Sha256 => {
  const scratch = new BlobsFiles({ folder: temporaryFolder(), now: () => 1, newId: () => `scratch-${++number}` })
  return scratch.putNow(content)
}

test('a lost pack folder and foreign files in it are no harm', async () => {
  const { open, folder } = setup()
  const blobs = open()
  const [id] = await blobs.putMany([bytes('x')])
  writeFileSync(join(folder, 'packs', 'notes.txt'), 'mine')
  expect(text(open().getNow(id!))).toBe('x')
  rmSync(join(folder, 'packs'), { recursive: true })
  expect(blobs.getNow(id!)).toBeNull()
  expect(await blobs.putMany([bytes('x')])).toEqual([id])
  expect(text(open().getNow(id!))).toBe('x')
})
