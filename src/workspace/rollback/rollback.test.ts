// What a rollback must never do wrong again, by the numbers of the list of regressions; hard links; and that nothing that is
// lost, damaged or in the way can get it stuck.

import * as fs from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { quoted } from '../../domain/hint.ts'
import type { Sha256 } from '../../domain/id.ts'
import { prune } from '../../stores/journal/prune.ts'
import type { Transactions } from '../../stores/tables.ts'
import { pathBytes } from '../files/path-text.ts'
import {
  anyTree,
  makeGround,
  must,
  open,
  replaceTree,
  shellHash,
  shellList,
  written,
} from '../snapshots/snapshots.fixture.ts'
import { clearTree, dir, file, link, makeTree, readTree, type Tree, tree } from '../tree.fixture.ts'

const RUNS = Math.max(12, Number(process.env.PLANFOLD_TREES ?? 0) / 10)

test('regression 22: a rollback restores bytes, mode and binary files, deletes what was made, brings back what was deleted', async () => {
  const binary = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7919) & 0xff))
  const ground = makeGround(
    tree({
      'text.txt': file('one\r\ntwo\n'),
      'run.sh': file('#!/bin/sh\n', 0o755),
      'image.bin': file(binary.toString('latin1')),
      deleted: dir({ 'one.txt': file('1', 0o640), empty: dir({}, 0o700) }),
      'renamed.txt': file('same'),
      turned: file('a file'),
      link: link('text.txt'),
      nothing: file(''),
    }),
  )
  const at = (name: string) => join(ground.root, name)
  const wanted = shellList(ground.root)
  const { snapshot, diff, rollback } = open(ground)
  const before = await snapshot()
  fs.writeFileSync(at('text.txt'), 'one\ntwo\n')
  fs.chmodSync(at('run.sh'), 0o644)
  fs.writeFileSync(at('image.bin'), Buffer.from(binary.map(byte => byte ^ 1)))
  fs.rmSync(at('deleted'), { recursive: true })
  fs.renameSync(at('renamed.txt'), at('new name.txt'))
  fs.rmSync(at('turned'))
  makeTree(ground.root, tree({ turned: dir({ inside: file('x') }), made: dir({ deep: dir({ file: file('m') }) }) }))
  fs.rmSync(at('link'))
  fs.symlinkSync('image.bin', at('link'))
  fs.writeFileSync(at('nothing'), 'something')
  const changed = shellList(ground.root)
  const { changes } = await diff(before.manifest, (await snapshot()).manifest)
  const back = await rollback(before.manifest, changes)
  expect(back.left).toEqual([])
  expect(shellList(ground.root)).toBe(wanted)
  expect(fs.readFileSync(at('image.bin'))).toEqual(binary)
  // And back again, as often as wanted.
  const undone = await rollback(back.saved, back.changed)
  expect(shellList(ground.root)).toBe(changed)
  await rollback(undone.saved, undone.changed)
  expect(shellList(ground.root)).toBe(wanted)
})

test('regression 24: after a collection every snapshot that is named comes back whole, and the others are gone', async () => {
  const ground = makeGround()
  const clock = { at: Date.now() }
  const { blobs, snapshot, snapshots, diff, rollback } = open(ground, { now: () => clock.at })
  const taken: { readonly manifest: Sha256; readonly wanted: string }[] = []
  for (let round = 0; round < 12; round++) {
    replaceTree(
      ground.root,
      tree({
        same: file('the same in all of them'),
        [`only-${round}`]: file(`only here ${round}`),
        d: dir({ x: file(`x ${round % 3}`), big: file(String(round).repeat(100_000)) }),
      }),
    )
    taken.push({ manifest: (await snapshot()).manifest, wanted: shellList(ground.root) })
    clock.at += 1_000
  }
  const named = taken.filter((_, at) => at % 3 === 0)
  blobs.pin('test', JSON.stringify(named.map(({ manifest }) => manifest)))
  clock.at += 10_000
  const pruned = await prune({ transactions: NO_PLANS, blobs, now: clock.at }, { before: clock.at - 1, dryRun: false })
  expect(pruned.blobs).toBeGreaterThan(16)
  for (const { manifest, wanted } of named) {
    const { changes } = await diff(manifest, 'now')
    expect((await rollback(manifest, changes)).left).toEqual([])
    expect(shellList(ground.root)).toBe(wanted)
    await snapshots.settled()
  }
  for (const { manifest } of taken.filter((_, at) => at % 3 !== 0))
    expect(await snapshots.diff(manifest, 'now')).toMatchObject({
      ok: false,
      failure: { message: expect.stringContaining('there is no snapshot') },
    })
})

test('regression 35: no write set leads out of the root, by dots, links, absolute paths or bytes', async () => {
  const ground = makeGround(tree({ a: file('a'), d: dir({ x: file('x') }) }))
  const { snapshot, snapshots } = open(ground)
  const { manifest } = await snapshot()
  const outside = join(ground.base, 'outside')
  fs.mkdirSync(outside)
  makeTree(outside, tree({ x: file('outside'), a: file('outside') }))
  const wanted = shellHash(outside)
  // The folder is a link to the outside now, and so is the file.
  fs.rmSync(join(ground.root, 'd'), { recursive: true })
  fs.rmSync(join(ground.root, 'a'))
  fs.symlinkSync(outside, join(ground.root, 'd'))
  fs.symlinkSync(join(outside, 'a'), join(ground.root, 'a'))
  const paths = [
    '../outside/x',
    join(outside, 'x'),
    'd/../../outside/x',
    'd/x',
    'd/new',
    './../outside/x',
    '..',
    '\udcae\udcae/outside/x',
  ]
  for (const path of paths) {
    for (const left of [null, { type: 'link', target: 'x' } as const]) {
      const answer = await snapshots.rollback(manifest, [[path, left]], { choices: [[path, 'take']] })
      expect(answer.ok && answer.changed, path).toEqual([])
    }
    expect(shellHash(outside)).toBe(wanted)
  }
  must(
    await snapshots.rollback(
      manifest,
      [
        ['a', null],
        ['d', null],
        ['d/x', null],
      ],
      {
        choices: [
          ['a', 'take'],
          ['d', 'take'],
          ['d/x', 'take'],
        ],
      },
    ),
  )
  expect(fs.lstatSync(join(ground.root, 'd')).isDirectory()).toBe(true)
  expect(fs.readFileSync(join(ground.root, 'a'), 'utf8')).toBe('a')
  expect(shellHash(outside)).toBe(wanted)
})

test(
  'P33 any part of the changes as a write set: nothing else is touched, and what is not done is named',
  async () => {
    const ground = makeGround()
    let rounds = 0
    const outside = tree({
      '.git': dir({
        HEAD: file('ref: refs/heads/main\n'),
        objects: dir({ ab: dir({}) }),
        index: file('\0\xff', 0o600),
      }),
      '.gitignore': file('ignored/\n*.log\n'),
      ignored: dir({ cache: file('c'), 'deep.log': file('d', 0o400) }, 0o750),
      'x.log': file('log'),
      untracked: file('u'),
    })
    await fc.assert(
      fc.asyncProperty(anyTree, anyTree, fc.infiniteStream(fc.boolean()), async (one, two, coin) => {
        const stateDir = join(ground.base, `state-${++rounds % 10}`)
        const { snapshot, diff, rollback, snapshots } = open({ ...ground, stateDir })
        replaceTree(ground.root, new Map([...outside, ['plan', { type: 'dir', mode: 0o755, children: one }]]))
        const wanted = flat(readTree(ground.root))
        const first = await snapshot()
        replaceTree(ground.root, new Map([...outside, ['plan', { type: 'dir', mode: 0o755, children: two }]]))
        const stands = flat(readTree(ground.root))
        const { changes } = await diff(first.manifest, 'now')
        const part = changes.filter(() => coin.next().value)
        const back = await rollback(first.manifest, part)
        const after = flat(readTree(ground.root))
        const inside = new Set(part.map(({ path }) => pathBytes(path)))
        const left = new Set(back.left.map(({ path }) => pathBytes(path)))
        for (const path of new Set([...stands.keys(), ...wanted.keys(), ...after.keys()])) {
          if (inside.has(path)) expect(left.has(path) || after.get(path) === wanted.get(path), path).toBe(true)
          else if (after.get(path) !== stands.get(path)) {
            // Only a folder that was missing above something that came back.
            expect([stands.get(path), after.get(path)?.startsWith('dir')], path).toEqual([undefined, true])
            expect([...inside].some(each => each.startsWith(`${path}/`))).toBe(true)
          }
        }
        await snapshots.settled()
      }),
      { numRuns: RUNS * 3 },
    )
    clearTree(ground.root)
  },
  600_000 + RUNS * 5_000,
)

/** Each path with what stands there, as text. */
function flat(children: Tree, above = ''): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const [name, node] of children) {
    const path = `${above}${name}`
    if (node.type !== 'dir') found.set(path, JSON.stringify(node))
    else {
      found.set(path, `dir ${node.mode}`)
      for (const [below, text] of flat(node.children, `${path}/`)) found.set(below, text)
    }
  }
  return found
}

test(
  'P30 with hard links, inside and to the outside: all names come back, and what is outside is not touched',
  async () => {
    const ground = makeGround()
    const outside = join(ground.base, 'outside')
    let rounds = 0
    await fc.assert(
      fc.asyncProperty(
        anyTree,
        anyTree,
        fc.array(fc.nat(), { minLength: 2, maxLength: 6 }),
        async (one, two, picks) => {
          fs.rmSync(outside, { recursive: true, force: true })
          fs.mkdirSync(outside)
          const { snapshot, diff, rollback, snapshots } = open({
            ...ground,
            stateDir: join(ground.base, `state-${++rounds % 10}`),
          })
          replaceTree(ground.root, one)
          hardLinks(ground.root, outside, picks)
          const wanted = shellList(ground.root)
          const first = await snapshot()
          replaceTree(ground.root, two)
          hardLinks(ground.root, outside, picks.toReversed())
          const [changed, kept] = [shellList(ground.root), shellHash(outside)]
          const { changes } = await diff(first.manifest, (await snapshot()).manifest)
          const back = await rollback(first.manifest, changes)
          expect(back.left).toEqual([])
          expect(shellList(ground.root)).toBe(wanted)
          expect(shellHash(outside)).toBe(kept)
          expect((await rollback(back.saved, back.changed)).left).toEqual([])
          expect(shellList(ground.root)).toBe(changed)
          expect(shellHash(outside)).toBe(kept)
          await snapshots.settled()
        },
      ),
      { numRuns: RUNS },
    )
    clearTree(ground.root)
  },
  600_000 + RUNS * 5_000,
)

/** Gives some files of the tree another name beside them, and one outside. */
function hardLinks(root: string, outside: string, picks: readonly number[]): void {
  const files: Buffer[] = []
  const walk = (folder: Buffer) => {
    for (const name of fs.readdirSync(folder, { encoding: 'buffer' })) {
      const path = Buffer.concat([folder, Buffer.from('/'), name])
      const stat = fs.lstatSync(path)
      if (stat.isDirectory()) walk(path)
      else if (stat.isFile()) files.push(path)
    }
  }
  walk(Buffer.from(root))
  for (const [at, pick] of picks.entries()) {
    const path = files[pick % Math.max(1, files.length)]
    if (path === undefined) continue
    const to = at % 2 === 0 ? join(root, `hard ${at}`) : join(outside, `hard ${at} ${pick}`)
    if (!fs.existsSync(to)) fs.linkSync(path, to)
  }
}

test('writing through one name of a hard link changes both, and both come back without touching the outside', async () => {
  const ground = makeGround(tree({ a: file('before'), d: dir({}) }))
  const outside = join(ground.base, 'outside')
  fs.linkSync(join(ground.root, 'a'), join(ground.root, 'd', 'b'))
  const { snapshot, diff, rollback } = open(ground)
  const first = await snapshot()
  fs.writeFileSync(join(ground.root, 'a'), 'after')
  fs.linkSync(join(ground.root, 'a'), outside)
  const { changes } = await diff(first.manifest, 'now')
  expect(changes.map(({ path }) => path)).toEqual(['a', 'd/b'])
  expect((await rollback(first.manifest, changes)).left).toEqual([])
  expect(['a', 'd/b'].map(name => fs.readFileSync(join(ground.root, name), 'utf8'))).toEqual(['before', 'before'])
  expect(fs.readFileSync(outside, 'utf8')).toBe('after')
})

test('one content that is lost or damaged keeps nobody else from coming back, and nothing is stuck', async () => {
  for (const harm of ['lost', 'damaged'] as const) {
    const ground = makeGround(tree({ a: file('a'.repeat(2_000_000)), b: file('b') }))
    const { snapshot, snapshots, diff } = open(ground)
    const first = await snapshot()
    fs.writeFileSync(join(ground.root, 'a'), 'A')
    fs.writeFileSync(join(ground.root, 'b'), 'B')
    const { changes } = await diff(first.manifest, (await snapshot()).manifest)
    const before = changes[0]!.before as { readonly sha256: Sha256 }
    const path = join(ground.stateDir, 'blobs', before.sha256.slice(0, 2), before.sha256.slice(2))
    if (harm === 'lost') fs.rmSync(path)
    else fs.writeFileSync(path, 'z'.repeat(2_000_000))
    // It is found out before anything is changed.
    const refused = await open(ground).snapshots.rollback(first.manifest, written(changes))
    expect(refused).toMatchObject({
      ok: false,
      failure: { class: 'logic', hint: expect.arrayContaining([quoted('check', { readData: true })]) },
    })
    expect(fs.readFileSync(join(ground.root, 'b'), 'utf8')).toBe('B')
    expect(await snapshots.resume()).toBeNull()
    must(await snapshots.snapshot())
  }
})

test('a file that stands where a rollback works is not touched, and said', async () => {
  const ground = makeGround(tree({ a: file('a'), '.planfold-aside': file('of a person') }))
  const { snapshot, snapshots, diff } = open(ground)
  const first = await snapshot()
  fs.writeFileSync(join(ground.root, 'a'), 'A')
  const { changes } = await diff(first.manifest, 'now')
  expect(await snapshots.rollback(first.manifest, written(changes))).toMatchObject({
    ok: false,
    failure: { message: '.planfold-aside is in the way; nothing was changed' },
  })
  expect(fs.readFileSync(join(ground.root, '.planfold-aside'), 'utf8')).toBe('of a person')
  expect(fs.readFileSync(join(ground.root, 'a'), 'utf8')).toBe('A')
  must(await snapshots.snapshot())
})

test('what an earlier rollback had to leave aside is not moved onto by the next', async () => {
  const ground = makeGround(
    tree({ a: file('a'), '.planfold-aside': dir({ '0': file('left here'), other: dir({ '0': link('x') }) }) }),
  )
  const { snapshot, diff, rollback } = open(ground)
  const first = await snapshot()
  const aside = shellHash(join(ground.root, '.planfold-aside'))
  fs.writeFileSync(join(ground.root, 'a'), 'A')
  const { changes } = await diff(first.manifest, 'now')
  expect((await rollback(first.manifest, changes)).left).toEqual([])
  expect(shellHash(join(ground.root, '.planfold-aside'))).toBe(aside)
})

/** A store without plans: only pins name anything. */
const NO_PLANS = {
  read: (use: (tables: unknown) => unknown) => use({ upkeep: { prunable: () => [], plans: () => [] } }),
  write: async (use: (tables: unknown) => unknown) => use({ upkeep: { prunable: () => [], plans: () => [] } }),
} as unknown as Transactions
