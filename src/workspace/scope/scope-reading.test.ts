// How much a look at a write scope reads: contents are counted, not seconds.

import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import { makeGround, must, open } from '../snapshots/snapshots.fixture.ts'
import { StatCache } from '../snapshots/stat-cache.ts'
import { dir, file, type Node, tree } from '../tree.fixture.ts'
import type { FileProgress } from '../workspace.ts'
import { openWorkspace } from './scope-workspace.ts'

const FILES = 300
const FOLDERS = 10

/** A scope of 300 files in ten folders; every file is old enough that its time can be trusted, unless it is written now. */
function setup() {
  const folders: { [name: string]: Node } = {}
  for (let at = 0; at < FOLDERS; at++)
    folders[`d${at}`] = dir(
      Object.fromEntries(Array.from({ length: FILES / FOLDERS }, (_, n) => [`f${n}`, file(`${at}/${n}`)])),
    )
  const ground = makeGround(tree({ src: dir(folders), other: file('o') }))
  let ahead = 60_000
  const now = () => Date.now() + ahead
  const counts = { contents: 0, trees: 0 }
  const reopen = () => {
    const { blobs } = open(ground)
    let shared: StatCache | null = null
    const cache = () => {
      shared ??= new StatCache(ground.stateDir, fs.realpathSync(ground.root))
      return shared
    }
    const counted: typeof blobs = Object.assign(Object.create(blobs), {
      put: (bytes: Uint8Array) => blobs.put(bytes),
      get: (id: Sha256) => blobs.get(id),
      touch: (ids: Iterable<Sha256>) => blobs.touch(ids),
      batch: () => {
        const batch = blobs.batch()
        const { add } = batch
        batch.add = (bytes, id) => {
          if (id === undefined) counts.trees++
          else counts.contents++
          return add.call(batch, bytes, id)
        }
        return batch
      },
    })
    const told: FileProgress[] = []
    const workspace = openWorkspace({
      ...ground,
      blobs: counted,
      now,
      cache,
      onProgress: progress => void told.push(progress),
    })
    return { blobs, workspace, snapshots: open(ground, { now, cache, blobs: counted }).snapshots, told }
  }
  const counting = async <T>(work: () => Promise<T>): Promise<{ value: T; contents: number; trees: number }> => {
    counts.contents = 0
    counts.trees = 0
    return { value: await work(), ...counts }
  }
  return { ground, reopen, counting, ...reopen(), clock: { set: (ms: number) => (ahead = ms) } }
}

const SCOPE = ['src/**']

test('a scope is read whole once; after that only what changed is read, and only its folders are written down again', async () => {
  const { ground, workspace, counting } = setup()
  const first = await counting(() => workspace.capture(SCOPE))
  expect(first).toMatchObject({ contents: FILES, value: { ok: true, files: FILES, left: [] } })
  const again = await counting(() => workspace.capture(SCOPE))
  // The manifest itself is added each time.
  expect(again).toMatchObject({ contents: 0, trees: 1, value: first.value })
  fs.writeFileSync(join(ground.root, 'src/d3/f7'), 'changed')
  fs.writeFileSync(join(ground.root, 'src/d4/new'), 'new')
  const { manifest } = must(again.value)
  const since = await counting(() => workspace.changesSince(manifest))
  expect(must(since.value).changes.map(({ path }) => path)).toEqual(['src/d3/f7', 'src/d4/new'])
  expect(since.contents).toBe(2)
  // Two folders, the two above them, and the manifest.
  expect(since.trees).toBe(5)
  const next = await counting(() => workspace.capture(SCOPE))
  expect(next).toMatchObject({ contents: 0, trees: 1, value: { files: FILES + 1 } })
  expect(await counting(() => workspace.restore(manifest))).toMatchObject({
    contents: 0,
    value: { ok: true, changed: ['src/d3/f7', 'src/d4/new'] },
  })
  expect(fs.readFileSync(join(ground.root, 'src/d3/f7'), 'utf8')).toBe('3/7')
})

test('a file whose time could hide a second change is read each time, and the change is found', async () => {
  const { ground, workspace, counting, clock } = setup()
  const path = join(ground.root, 'src/d0/f0')
  must(await workspace.capture(SCOPE))
  // Before everything: no file is ever old enough.
  clock.set(-60_000)
  fs.writeFileSync(path, 'aaaa')
  const { value } = await counting(() => workspace.capture(SCOPE))
  const { manifest } = must(value)
  const before = fs.statSync(path, { bigint: true })
  // In place and of the same length: where the clock of the file system stands still, no stamp tells.
  fs.writeFileSync(path, 'bbbb')
  fs.utimesSync(path, Number(before.atimeMs) / 1000, Number(before.mtimeMs) / 1000)
  const since = await counting(() => workspace.changesSince(manifest))
  expect(since.contents).toBeGreaterThan(0)
  expect(must(since.value).changes).toMatchObject([{ path: 'src/d0/f0', after: { sha256: hashOf('bbbb') } }])
  // Young still: read once more although nothing about it changed.
  expect((await counting(() => workspace.changesSince(manifest))).contents).toBe(1)
})

test('what a snapshot has hashed is not read for a scope, nor the other way round, nor by the next process', async () => {
  const { workspace, snapshots, reopen, counting, ground } = setup()
  expect((await counting(() => workspace.capture(SCOPE))).contents).toBe(FILES)
  expect((await counting(() => snapshots.snapshot())).contents).toBe(1)
  const later = reopen()
  // So few are read without asking the cache on disk, which may be that of a large workspace.
  expect((await counting(() => later.workspace.capture(SCOPE))).contents).toBe(100)
  expect((await counting(() => later.workspace.capture(['src/d1/**', 'src/d2/**']))).contents).toBeLessThanOrEqual(60)
  fs.writeFileSync(join(ground.root, '.gitignore'), 'src/d5/\n')
  const taken = must(await later.snapshots.snapshot())
  const inside = must(await later.snapshots.entries(taken.manifest, ['src/d5/f1', 'src/d4/f1']))
  expect(inside.entries.map(({ entry, left }) => left ?? entry?.type)).toEqual(['ignored', 'file'])
})

test('a stored content that is gone is read again: a capture never names what is not there', async () => {
  const { workspace, ground, counting, blobs } = setup()
  const first = must(await workspace.capture(SCOPE))
  fs.rmSync(join(ground.stateDir, 'blobs'), { recursive: true })
  const { workspace: again, blobs: reopened } = setupOn(ground)
  expect(await again.capture(SCOPE)).toEqual(first)
  const found = await counting(() => workspace.capture(SCOPE))
  expect(must(found.value).manifest).toBe(first.manifest)
  for (const side of [blobs, reopened]) expect(side.touch([first.manifest, hashOf('3/7')])).toEqual([])
})

test('a manifest of a version that this program does not know is refused', async () => {
  const { workspace, blobs } = setup()
  const manifest = await blobs.put(
    Buffer.from(JSON.stringify({ manifest: 1, patterns: ['src/d0/**'], entries: [], left: [] })),
  )
  expect(await workspace.changesSince(manifest)).toMatchObject({
    ok: false,
    failure: { message: expect.stringContaining('of a version this program does not know') },
  })
})

test('while many files are looked at it is told how many, and when it is over', async () => {
  const { workspace, told } = setup()
  must(await workspace.capture(SCOPE))
  expect(told.filter(({ done }) => done !== true).map(({ entries }) => entries)).toEqual([256])
  expect(told.at(-1)).toEqual({ work: told[0]!.work, entries: 256, done: true })
})

const hashOf = (text: string): Sha256 => createHash('sha256').update(text).digest('hex') as Sha256

function setupOn(ground: ReturnType<typeof makeGround>) {
  const { blobs } = open(ground)
  return { blobs, workspace: openWorkspace({ ...ground, blobs, now: () => Date.now() + 60_000 }) }
}
