// The same as somebody whom the file system can say no to. Tests often run as root, which hides every missing permission;
// here the effective user is nobody for the time of a test. The judge stays who he was, and sees everything.

import * as fs from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PlanId } from '../domain/id.ts'
import { deleteAside } from './files/folder-removal.ts'
import { openWorkspace } from './scope/scope-workspace.ts'
import { anyTree, makeGround, must, open, replaceTree, shellList, written } from './snapshots/snapshots.fixture.ts'
import { clearTree, dir, file, makeTree, tree } from './tree.fixture.ts'

const RUNS = Math.max(12, Number(process.env.PLANFOLD_TREES ?? 0) / 10)
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const refusesRoot = isRoot && process.seteuid === undefined ? 'the user cannot be changed here' : null
if (refusesRoot !== null) console.warn(`SKIPPED: tests as somebody who is not root: ${refusesRoot}`)

async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  if (!isRoot) return await work()
  const groups = process.getgroups!()
  process.setgroups!([])
  process.setegid!(NOBODY)
  process.seteuid!(NOBODY)
  try {
    return await work()
  } finally {
    process.seteuid!(0)
    process.setegid!(0)
    process.setgroups!(groups)
  }
}

/** Lists a tree with what nobody may look into: all of it is opened to the owner for that moment. */
function listOpened(root: string): string {
  const modes: (readonly [path: string, mode: number])[] = []
  const open = (path: string): void => {
    const stat = fs.lstatSync(path)
    modes.push([path, stat.mode & 0o7777])
    fs.chmodSync(path, 0o700)
    if (stat.isDirectory()) for (const name of fs.readdirSync(path).sort()) open(join(path, name))
  }
  open(root)
  const list = `${modes.map(([path, mode]) => `${path} ${mode.toString(8)}`).join('\n')}\n${shellList(root)}`
  for (const [path, mode] of modes.toReversed()) fs.chmodSync(path, mode)
  return list
}

/** A folder that belongs to whoever works in it. */
const ownGround = () => asNobody(async () => makeGround())

test.skipIf(refusesRoot !== null)(
  'P30 any tree comes back exactly where folders may not be written in',
  async () => {
    const { root, base } = await ownGround()
    let runs = 0
    await asNobody(() =>
      fc.assert(
        fc.asyncProperty(anyTree, anyTree, async (before, after) => {
          const ground = { root, base, stateDir: join(base, `state-${++runs % 20}`) }
          const { snapshot, diff, rollback, blobs, snapshots } = open(ground)
          replaceTree(root, before)
          const wanted = shellList(root)
          const first = await snapshot()
          const workspace = openWorkspace({ ...ground, blobs })
          const { manifest } = must(await workspace.capture(['**']))
          replaceTree(root, after)
          const changed = shellList(root)
          const { changes } = await diff(first.manifest, (await snapshot()).manifest)
          const back = await rollback(first.manifest, changes)
          expect(back.left).toEqual([])
          expect(shellList(root)).toBe(wanted)
          const again = await rollback(back.saved, back.changed)
          expect(again.left).toEqual([])
          expect(shellList(root)).toBe(changed)
          await snapshots.settled()
          must(await workspace.restore(manifest))
          expect(shellList(root)).toBe(wanted)
          const made = join(base, 'made')
          must(await snapshots.materialise(first.manifest, made))
          expect(shellList(made)).toBe(wanted)
          clearTree(made)
          fs.rmdirSync(made)
        }),
        { numRuns: RUNS },
      ),
    )
    clearTree(root)
  },
  120_000,
)

test.skipIf(refusesRoot !== null)(
  'P37 what may not be read is named, and a rollback neither claims nor touches it',
  async () => {
    const ground = await ownGround()
    await asNobody(async () => {
      replaceTree(
        ground.root,
        tree({
          ok: file('ok'),
          secret: file('s', 0o000),
          d: dir({ inner: file('i', 0o200) }),
          closed: dir({ x: file('x') }, 0o000),
          listed: dir({ y: file('y') }, 0o444),
          entered: dir({ z: file('z') }, 0o111),
        }),
      )
      const stands = listOpened(ground.root)
      const { snapshot, snapshots, diff } = open(ground)
      const { manifest, left } = await snapshot()
      const unreadable = ['closed', 'd/inner', 'entered', 'listed', 'secret'].map(path => ({
        path,
        reason: 'unreadable',
      }))
      expect(left.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual(unreadable)
      expect((await diff(manifest, 'now')).changes).toEqual([])
      const asked = [...unreadable.map(({ path }) => path), 'closed/x', 'listed/y']
      const back = must(
        await snapshots.rollback(
          manifest,
          asked.map(path => [path, null] as const),
        ),
      )
      expect(back.changed).toEqual([])
      expect(back.left.map(({ path }) => path)).toEqual(asked.toSorted())
      expect(listOpened(ground.root)).toBe(stands)
      // What became unreadable since is left as it is.
      fs.writeFileSync(join(ground.root, 'ok'), 'changed')
      const { changes } = await diff(manifest, 'now')
      fs.chmodSync(join(ground.root, 'ok'), 0o000)
      const again = must(await snapshots.rollback(manifest, written(changes)))
      expect(again.left).toEqual([{ path: 'ok', reason: 'unreadable' }])
    })
    clearTree(ground.root)
  },
)

test.skipIf(refusesRoot !== null)('a folder that was set aside goes, whatever permissions are in it', async () => {
  const { base } = await ownGround()
  const plan = 'p' as PlanId
  await asNobody(async () => {
    const aside = join(base, `.removed-${plan}`)
    fs.mkdirSync(aside)
    makeTree(aside, tree({ cache: dir({ module: dir({ code: file('c', 0o444) }, 0o555) }, 0o555), shut: dir({}, 0) }))
    await deleteAside(join(base, 'fork'), plan)
    expect(fs.existsSync(aside)).toBe(false)
    // A second time there is nothing to do.
    await deleteAside(join(base, 'fork'), plan)
  })
})

test.skipIf(refusesRoot !== null)('an unreadable folder in a scope is named, with the way to open it', async () => {
  const ground = await ownGround()
  await asNobody(async () => {
    const { blobs } = open(ground)
    const workspace = openWorkspace({ ...ground, blobs })
    const { manifest } = must(await workspace.capture(['out/**']))
    makeTree(ground.root, tree({ out: dir({ shut: dir({}, 0) }) }))
    const before = listOpened(ground.root)
    expect(await workspace.restore(manifest)).toMatchObject({
      ok: false,
      failure: { message: expect.stringContaining('"out/shut" (unreadable)'), hint: expect.stringContaining('u+rwX') },
    })
    expect(listOpened(ground.root)).toBe(before)
  })
})

test.skipIf(!isRoot || refusesRoot !== null)(
  'a path that may not be changed is left and named; the rest is done, and nothing is stuck',
  async () => {
    const ground = await ownGround()
    const at = (name: string) => join(ground.root, name)
    for (const name of ['theirs', 'mine']) fs.mkdirSync(at(name))
    fs.chownSync(at('mine'), NOBODY, NOBODY)
    for (const name of ['theirs/a', 'theirs/gone', 'theirs/mode', 'mine/a']) fs.writeFileSync(at(name), 'before')
    for (const name of ['mine/a']) fs.chownSync(at(name), NOBODY, NOBODY)
    const { manifest } = await asNobody(() => open(ground).snapshot())
    // Somebody mightier changes what nobody may change back.
    for (const name of ['theirs/a', 'mine/a', 'theirs/new']) fs.writeFileSync(at(name), 'after')
    fs.rmSync(at('theirs/gone'))
    fs.chmodSync(at('theirs/mode'), 0o600)
    fs.chmodSync(at('theirs/mode'), 0o604)
    fs.mkdirSync(at('theirs/folder'))
    await asNobody(async () => {
      const { snapshot, snapshots, diff } = open(ground)
      const { changes } = await diff(manifest, 'now')
      const back = must(await snapshots.rollback(manifest, written(changes)))
      expect(back.changed.map(({ path }) => path)).toEqual(['mine/a'])
      expect(back.left.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual(
        ['a', 'folder', 'gone', 'mode', 'new'].map(name => ({
          path: `theirs/${name}`,
          reason: 'may not be changed: permission denied',
        })),
      )
      expect(fs.readFileSync(at('mine/a'), 'utf8')).toBe('before')
      expect(fs.readFileSync(at('theirs/a'), 'utf8')).toBe('after')
      await snapshots.settled()
      await snapshot()
      expect(await snapshots.resume()).toBeNull()
      expect(fs.readdirSync(ground.root).sort()).toEqual(['mine', 'theirs'])
    })
  },
)
