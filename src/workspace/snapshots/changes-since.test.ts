// What a task did in its write scope, told as a write set: it must be what a restore would set back, and enough to do so.

import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openWorkspace } from '../scope/scope-workspace.ts'
import { clearTree, dir, file, link, makeTree, setup, tree } from '../tree.fixture.ts'
import { anyTree, makeGround, must, open, shellList, written } from './snapshots.fixture.ts'

const RUNS = Math.max(12, Number(process.env.PLANFOLD_TREES ?? 0) / 10)

test(
  'P38 what changed is what a restore would set back, byte for byte and name for name',
  async () => {
    await fc.assert(
      fc.asyncProperty(anyTree, anyTree, async (before, after) => {
        const { root, blobs, workspace, capture, restore } = setup(before)
        const { manifest } = await capture('**')
        expect(must(await workspace.changesSince(manifest))).toEqual({
          ok: true,
          changes: [],
          left: [],
          changedAt: new Map(),
        })
        clearTree(root)
        makeTree(root, after)
        const stands = shellList(root)
        const { changes, left } = must(await workspace.changesSince(manifest))
        expect(left).toEqual([])
        expect(shellList(root)).toBe(stands)
        for (const { before, after } of changes) {
          expect(before).not.toEqual(after)
          for (const entry of [before, after]) {
            if (entry?.type === 'file') expect((await blobs.get(entry.sha256))?.length).toBe(entry.size)
          }
        }
        const { changed } = await restore(manifest)
        expect(changes.map(({ path }) => path)).toEqual(changed)
        clearTree(root)
      }),
      { numRuns: RUNS },
    )
  },
  600_000 + RUNS * 5_000,
)

test(
  'P38 the changes of a scope are a write set: a snapshot put together of what was before undoes them exactly',
  async () => {
    const ground = makeGround()
    await fc.assert(
      fc.asyncProperty(anyTree, anyTree, async (before, after) => {
        const { blobs, snapshots, rollback } = open(ground)
        const workspace = openWorkspace({ ...ground, blobs, now: Date.now })
        clearTree(ground.root)
        makeTree(ground.root, tree({ src: { type: 'dir', mode: 0o755, children: before }, other: file('o') }))
        const wanted = shellList(ground.root)
        const { manifest } = must(await workspace.capture(['src/**']))
        clearTree(ground.root)
        makeTree(ground.root, tree({ src: { type: 'dir', mode: 0o755, children: after }, other: file('o') }))
        const stands = shellList(ground.root)
        const { changes } = must(await workspace.changesSince(manifest))
        const composed = must(await snapshots.compose(changes.map(({ path, before }) => [path, before] as const)))
        const back = await rollback(composed.manifest, changes)
        expect(back.left).toEqual([])
        expect(shellList(ground.root)).toBe(wanted)
        const forth = await rollback(back.saved, back.changed)
        expect(forth.left).toEqual([])
        expect(shellList(ground.root)).toBe(stands)
        await snapshots.settled()
      }),
      { numRuns: RUNS },
    )
    clearTree(ground.root)
  },
  600_000 + RUNS * 5_000,
)

test('names that are no text come through the door exact, and can be rolled back', async () => {
  const ground = makeGround(tree({ '\xff\xfe': file('1'), l: link('\xe9') }))
  const { blobs, snapshots } = open(ground)
  const workspace = openWorkspace({ ...ground, blobs })
  const wanted = shellList(ground.root)
  const { manifest } = must(await workspace.capture(['**']))
  clearTree(ground.root)
  makeTree(ground.root, tree({ '\xff\xfe': file('2'), 'a\xff': dir({}), l: link('\xe8') }))
  const { changes } = must(await workspace.changesSince(manifest))
  expect(changes.map(({ path, before, after }) => [path, before?.type, after?.type])).toEqual([
    ['a\udcff', undefined, 'directory'],
    ['l', 'link', 'link'],
    ['\udcff\udcfe', 'file', 'file'],
  ])
  expect(changes[1]).toMatchObject({ before: { target: '\udce9' }, after: { target: '\udce8' } })
  const { manifest: composed } = must(await snapshots.compose(changes.map(({ path, before }) => [path, before])))
  expect(must(await snapshots.rollback(composed, written(changes))).left).toEqual([])
  expect(shellList(ground.root)).toBe(wanted)
  expect(must(await workspace.restore(manifest)).changed).toEqual([])
})

test('directories on the way count when they were made for the scope, not when others made them', async () => {
  const { root, workspace, capture } = setup(tree({ p: dir({ 'x.ts': file('x') }) }))
  const { manifest } = await capture('*/x.ts', 'deep/er/one.txt')
  fs.chmodSync(join(root, 'p'), 0o700)
  makeTree(
    root,
    tree({
      mine: dir({ 'x.ts': file('new') }),
      both: dir({ 'x.ts': file('new'), 'y.ts': file('of somebody else') }),
      theirs: dir({ 'y.ts': file('of somebody else') }),
      deep: dir({ er: dir({}) }),
    }),
  )
  const { changes } = must(await workspace.changesSince(manifest))
  expect(changes.map(({ path }) => path)).toEqual(['both', 'both/x.ts', 'deep', 'deep/er', 'mine', 'mine/x.ts'])
})

test('P37 what cannot be read or stored is named, not passed over', async () => {
  const { root, workspace, capture } = setup(tree({ a: file('a'), b: file('b') }))
  fs.writeFileSync(join(root, 'was-big'), '')
  fs.truncateSync(join(root, 'was-big'), 129 * 1024 * 1024)
  const { manifest } = await capture('**')
  fs.writeFileSync(join(root, 'was-big'), 'small')
  fs.rmSync(join(root, 'a'))
  execFileSync('mkfifo', [join(root, 'a'), join(root, 'pipe')])
  fs.truncateSync(join(root, 'b'), 129 * 1024 * 1024)
  const { changes, left } = must(await workspace.changesSince(manifest))
  expect(changes).toEqual([])
  expect(left.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
    { path: 'a', reason: 'special file' },
    { path: 'b', reason: 'too big' },
    { path: 'pipe', reason: 'special file' },
    { path: 'was-big', reason: 'too big' },
  ])
  expect(await workspace.changesSince('0'.repeat(64) as never)).toMatchObject({
    ok: false,
    failure: { class: 'logic' },
  })
})
