// Snapshots put together of recorded entries, and snapshots written into folders of their own.

import * as fs from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import { clearTree, dir, file, link, tree } from '../tree.fixture.ts'
import type { TreeEntry } from '../workspace.ts'
import { anyTree, makeGround, must, open, replaceTree, shellList, written } from './snapshots.fixture.ts'

const RUNS = Math.max(12, Number(process.env.PLANFOLD_TREES ?? 0) / 10)

test(
  'P30 any whole tree is written into a folder of its own, and with what is different put on top it is the other',
  async () => {
    const ground = makeGround()
    let made = 0
    await fc.assert(
      fc.asyncProperty(anyTree, anyTree, async (before, after) => {
        const { snapshot, diff, snapshots } = open(ground)
        replaceTree(ground.root, before)
        const wanted = shellList(ground.root)
        const first = await snapshot()
        replaceTree(ground.root, after)
        const other = shellList(ground.root)
        const { changes } = await diff(first.manifest, (await snapshot()).manifest)

        const plain = join(ground.base, `plain-${++made}`)
        expect(must(await snapshots.materialise(first.manifest, plain))).toMatchObject({
          files: first.files,
          left: [],
        })
        expect(shellList(plain)).toBe(wanted)
        const mixed = join(ground.base, `mixed-${made}`)
        must(await snapshots.materialise(first.manifest, mixed, written(changes)))
        expect(shellList(mixed)).toBe(other)
        expect(shellList(ground.root)).toBe(other)
        for (const folder of [plain, mixed]) {
          clearTree(folder)
          fs.rmdirSync(folder)
        }
      }),
      { numRuns: RUNS },
    )
    clearTree(ground.root)
  },
  600_000 + RUNS * 5_000,
)

test('a folder in which there is something is refused, and nothing is left beside it', async () => {
  const ground = makeGround(tree({ a: file('a'), d: dir({ b: file('b') }, 0o555) }))
  const { snapshot, snapshots, blobs } = open(ground)
  const { manifest } = await snapshot()
  const full = join(ground.base, 'full')
  fs.mkdirSync(full)
  fs.writeFileSync(join(full, 'mine'), 'mine')
  fs.writeFileSync(join(ground.base, 'file'), 'f')
  fs.symlinkSync('nowhere', join(ground.base, 'link'))
  for (const name of ['full', 'file', 'link']) {
    expect(await snapshots.materialise(manifest, join(ground.base, name))).toMatchObject({
      ok: false,
      failure: { class: 'policy', message: expect.stringContaining('not empty') },
    })
  }
  expect(fs.readdirSync(full)).toEqual(['mine'])
  // A content that is missing: what was written so far goes, read-only folders and all.
  const { entries } = must(await snapshots.entries(manifest, ['d/b']))
  const lost: TreeEntry = { ...(entries[0]!.entry as TreeEntry & { type: 'file' }), sha256: 'f'.repeat(64) as Sha256 }
  const before = fs.readdirSync(ground.base).sort()
  expect(await snapshots.materialise(manifest, join(ground.base, 'new'), [['z', lost]])).toMatchObject({ ok: false })
  expect(fs.readdirSync(ground.base).sort()).toEqual(before)
  // Its own mode stays, and folders above it are made.
  const empty = join(ground.base, 'some', 'where', 'empty')
  fs.mkdirSync(empty, { recursive: true })
  fs.chmodSync(empty, 0o2750)
  must(await snapshots.materialise(manifest, empty))
  expect(fs.statSync(empty).mode & 0o7777).toBe(0o2750)
  must(await snapshots.materialise(manifest, join(ground.base, 'also', 'new')))
  expect(shellList(join(ground.base, 'also', 'new'))).toBe(shellList(ground.root))
  expect([...blobs.ids()]).not.toContain('f'.repeat(64))
})

test('P37 what the snapshot does not hold is named, and not there', async () => {
  const ground = makeGround(
    tree({ '.gitignore': file('out\n'), out: dir({ x: file('x') }), big: file('x'.repeat(2_000)) }),
  )
  const { snapshot, snapshots } = open(ground, { fileMaxBytes: 1_000 })
  const { manifest } = await snapshot()
  const folder = join(ground.base, 'new')
  const { left } = must(await snapshots.materialise(manifest, folder))
  expect(left).toEqual([
    { path: 'big', reason: 'too big' },
    { path: 'out', reason: 'ignored' },
  ])
  expect(fs.readdirSync(folder)).toEqual(['.gitignore'])
})

test('regression 35: no path leaves the root, neither of a composed snapshot nor of a folder', async () => {
  const ground = makeGround(tree({ a: file('a') }))
  const { snapshot, snapshots } = open(ground)
  const { manifest } = await snapshot()
  const { entries } = must(await snapshots.entries(manifest, ['a']))
  const entry = entries[0]!.entry
  for (const path of [
    '../b',
    '/etc/passwd',
    '',
    '.',
    'a/../../b',
    '.git/HEAD',
    '.planfold/x',
    'a\0',
    'd//e',
    '.GIT/x',
  ]) {
    expect(await snapshots.compose([[path, entry]])).toMatchObject({ ok: false, failure: { class: 'policy' } })
    expect(await snapshots.materialise(manifest, join(ground.base, 'new'), [[path, entry]])).toMatchObject({
      ok: false,
      failure: { class: 'policy' },
    })
  }
  expect(fs.readdirSync(ground.base).sort()).toEqual(['state', 'work'])
})

test('entries that contradict each other, and contents that are not stored, are refused', async () => {
  const ground = makeGround(tree({ a: file('a') }))
  const { snapshot, snapshots } = open(ground)
  const { manifest } = await snapshot()
  const a = must(await snapshots.entries(manifest, ['a'])).entries[0]!.entry
  for (const above of [a, null]) {
    expect(
      await snapshots.compose([
        ['d', above],
        ['d/x', a],
      ]),
    ).toMatchObject({ ok: false, failure: { message: expect.stringContaining('"d" is not a folder') } })
  }
  const lost: TreeEntry = { type: 'file', mode: 0o644, size: 1, sha256: '0'.repeat(64) as Sha256 }
  expect(await snapshots.compose([['b', lost]])).toMatchObject({ ok: false, failure: { class: 'logic' } })
  expect(await snapshots.materialise(must(await snapshots.compose([['a', a]])).manifest, 'x')).toMatchObject({
    ok: false,
    failure: { message: expect.stringContaining('only some paths') },
  })
})

test('a composed snapshot holds its paths and no others, with the folders that lead to them', async () => {
  const ground = makeGround(tree({ d: dir({ x: file('x'), y: file('y') }, 0o750), gone: file('g'), l: link('x') }))
  const wanted = shellList(ground.root)
  const { snapshot, snapshots, diff, rollback } = open(ground)
  const first = await snapshot()
  const paths = ['d', 'd/x', 'd/y', 'l', 'gone', 'made', 'made/z']
  const { entries } = must(await snapshots.entries(first.manifest, paths))
  const composed = must(await snapshots.compose(entries.map(({ path, entry }) => [path, entry] as const)))
  expect(must(await snapshots.entries(composed.manifest, [...paths, 'other'])).entries).toEqual([
    ...entries,
    { path: 'other', entry: null, left: 'not captured by this snapshot' },
  ])
  expect((await diff(composed.manifest, 'now')).changes).toEqual([])
  // The folder becomes a link, a file a folder, the link a file; one is deleted, one made.
  replaceTree(
    ground.root,
    tree({ d: link('.'), gone: dir({}), l: file('l'), made: dir({ z: file('z') }), other: file('o') }),
  )
  const { changes } = await diff(first.manifest, 'now')
  const writeSet = changes.filter(({ path }) => path !== 'other')
  expect((await rollback(composed.manifest, writeSet)).left).toEqual([])
  fs.rmSync(join(ground.root, 'other'))
  expect(shellList(ground.root)).toBe(wanted)
})
