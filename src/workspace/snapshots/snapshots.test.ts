import * as fs from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { quoted } from '../../domain/hint.ts'
import { placeName } from '../files/path-text.ts'
import { clearTree, dir, file, link, makeTree, tree } from '../tree.fixture.ts'
import { anyTree, makeGround, must, open, replaceTree, shellHash, shellList, written } from './snapshots.fixture.ts'

const RUNS = Number(process.env.PLANFOLD_TREES ?? 60)

test(
  'P30 any tree comes back exactly, by the shell\u2019s judgement, and so does what was there before',
  async () => {
    const { root, base } = makeGround()
    let runs = 0
    // A new store now and then: a soak is about trees, not about thousands of packs in one folder.
    let room = open({ root, base, stateDir: join(base, 'state-0') })
    await fc.assert(
      fc.asyncProperty(anyTree, anyTree, async (before, after) => {
        if (++runs % 100 === 0) room = open({ root, base, stateDir: join(base, `state-${runs}`) })
        const { snapshot, diff, rollback } = room
        replaceTree(root, before)
        const wanted = shellList(root)
        const first = await snapshot()
        expect((await diff(first.manifest, 'now')).changes).toEqual([])
        replaceTree(root, after)
        const changed = shellList(root)
        const second = await snapshot()
        const { changes } = await diff(first.manifest, second.manifest)
        expect(changes).toEqual((await diff(first.manifest, 'now')).changes)
        const back = await rollback(first.manifest, changes)
        expect(back.left).toEqual([])
        expect(shellList(root)).toBe(wanted)
        const again = await rollback(back.saved, back.changed)
        expect(again.left).toEqual([])
        expect(shellList(root)).toBe(changed)
        const redone = await rollback(again.saved, again.changed)
        expect(redone.left).toEqual([])
        expect(shellList(root)).toBe(wanted)
      }),
      { numRuns: RUNS },
    )
    clearTree(root)
  },
  240_000 + RUNS * 5_000,
)

test('only what changed is stored again, and unchanged files are not read', async () => {
  const ground = makeGround()
  for (let folder = 0; folder < 20; folder++) {
    fs.mkdirSync(join(ground.root, `d${folder}`))
    for (let at = 0; at < 50; at++)
      fs.writeFileSync(join(ground.root, `d${folder}`, `f${at}`), `${folder} ${at}`.repeat(100))
  }
  const now = () => Date.now() + 10_000
  const { snapshot, diff } = open(ground, { now })
  const first = await snapshot()
  expect(first).toMatchObject({ files: 1000, left: [] })
  fs.writeFileSync(join(ground.root, 'd3', 'f7'), 'changed')
  const second = await snapshot()
  expect(second.stored).toBeLessThan(5_000)
  expect((await diff(first.manifest, second.manifest)).changes.map(({ path }) => path)).toEqual(['d3/f7'])
  const third = await open(ground, { now }).snapshot()
  expect(third.manifest).toBe(second.manifest)
  expect(third.stored).toBe(0)
})

test('an edit in the same tick, of the same size, is seen', async () => {
  const ground = makeGround(tree({ f: file('aaaa') }))
  const { snapshot, diff } = open(ground)
  for (let round = 0; round < 50; round++) {
    const before = await snapshot()
    fs.writeFileSync(join(ground.root, 'f'), String(1000 + round))
    const after = await snapshot()
    expect((await diff(before.manifest, after.manifest)).changes).toHaveLength(1)
  }
})

test('what is ignored is left out, what a scope names is captured all the same, and git and state never', async () => {
  const ground = makeGround(
    tree({
      '.gitignore': file('*.log\nout/\n!keep.log\n'),
      '.git': dir({ HEAD: file('ref') }),
      '.GIT': dir({ x: file('x') }),
      '.planfoldignore': file('big.bin\n'),
      'a.log': file('a'),
      'keep.log': file('k'),
      'big.bin': file('b'),
      '.vscode': dir({ s: file('s') }),
      out: dir({ x: file('x'), deep: dir({ y: file('y') }) }),
      src: dir({ '.gitignore': file('/gen\n'), gen: file('g'), 'm.log': file('m'), sub: dir({ gen: file('kept') }) }),
    }),
  )
  const { snapshot, snapshots } = open(ground)
  const { manifest, left } = await snapshot('out/deep/**', 'src/m.log')
  expect(left).toEqual([])
  const paths = [
    'a.log',
    'keep.log',
    'big.bin',
    'out/x',
    'out/deep/y',
    'src/gen',
    'src/sub/gen',
    'src/m.log',
    '.git/HEAD',
    '.GIT/x',
    '.vscode/s',
    'no',
  ]
  const { entries } = must(await snapshots.entries(manifest, paths))
  expect(entries.map(({ entry, left }) => left ?? entry?.type ?? null)).toEqual([
    ...[
      'ignored',
      'file',
      'ignored',
      'ignored',
      'file',
      'ignored',
      'file',
      'file',
      'never captured',
      'never captured',
      'file',
      null,
    ],
  ])
})

test('P37 what is not captured is said, and a rollback does not claim it', async () => {
  const ground = makeGround(tree({ 'big.bin': file('x'.repeat(5_000)), 'ok.txt': file('ok'), d: dir({}) }))
  const { execFileSync } = await import('node:child_process')
  execFileSync('mkfifo', [join(ground.root, 'd', 'pipe')])
  const { snapshot, snapshots, diff } = open(ground, { fileMaxBytes: 1_000 })
  const { manifest, left } = await snapshot()
  expect(left).toEqual([
    { path: 'big.bin', reason: 'too big' },
    { path: 'd/pipe', reason: 'special file' },
  ])
  fs.writeFileSync(join(ground.root, 'big.bin'), 'small now')
  expect((await diff(manifest, 'now')).left).toEqual([{ path: 'big.bin', reason: 'too big' }])
  const back = must(
    await snapshots.rollback(manifest, [
      ['big.bin', null],
      ['d/pipe', null],
    ]),
  )
  expect(back.changed).toEqual([])
  expect(back.left).toEqual([
    { path: 'big.bin', reason: 'too big' },
    { path: 'd/pipe', reason: 'special file' },
  ])
  expect(fs.readFileSync(join(ground.root, 'big.bin'), 'utf8')).toBe('small now')
})

test('P32 what a person did since stops the rollback with a list; each choice does what it says', async () => {
  const text = (lines: string[]) => `${lines.join('\n')}\n`
  const lines = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight']
  const ground = makeGround(
    tree({ merge: file(text(lines)), clash: file('1\n'), gone: file('g'), same: file('s'), mode: file('m') }),
  )
  const at = (name: string) => join(ground.root, name)
  const { snapshot, snapshots, diff, rollback, blobs } = open(ground)
  const before = await snapshot()
  fs.writeFileSync(at('merge'), text(['ONE', ...lines.slice(1)]))
  fs.writeFileSync(at('clash'), '2\n')
  fs.writeFileSync(at('gone'), 'G')
  fs.writeFileSync(at('same'), 'S')
  fs.writeFileSync(at('new'), 'n')
  fs.rmSync(at('mode'))
  const after = await snapshot()
  const { changes } = await diff(before.manifest, after.manifest)
  expect(changes.map(({ path }) => path)).toEqual(['clash', 'gone', 'merge', 'mode', 'new', 'same'])

  fs.writeFileSync(at('merge'), text(['ONE', ...lines.slice(1, 7), 'EIGHT']))
  fs.writeFileSync(at('clash'), '3\n')
  fs.rmSync(at('gone'))
  fs.writeFileSync(at('mode'), 'mine')
  fs.writeFileSync(at('new'), 'n, edited')
  fs.writeFileSync(at('outside'), 'o')
  const stands = shellHash(ground.root)

  expect(must(await snapshots.preview(before.manifest, written(changes))).paths).toEqual([
    { path: 'clash', will: 'restore', conflict: 'edited since' },
    { path: 'gone', will: 'create', conflict: 'gone' },
    { path: 'merge', will: 'restore', conflict: 'edited since' },
    { path: 'mode', will: 'restore', conflict: 'appeared' },
    { path: 'new', will: 'delete', conflict: 'edited since' },
    { path: 'same', will: 'restore' },
  ])
  const refused = await snapshots.rollback(before.manifest, written(changes))
  expect(refused.ok === false && refused.conflicts?.map(({ path }) => path)).toEqual([
    'clash',
    'gone',
    'merge',
    'mode',
    'new',
  ])
  expect(shellHash(ground.root)).toBe(stands)

  const back = await rollback(before.manifest, changes, [
    ['clash', 'merge'],
    ['gone', 'take'],
    ['merge', 'merge'],
    ['mode', 'keep'],
    ['new', 'take'],
  ])
  expect(back.merged).toEqual(['merge'])
  expect(back.left).toEqual([
    { path: 'clash', reason: 'the edits do not merge cleanly' },
    { path: 'mode', reason: 'kept: appeared', kept: true },
  ])
  expect(fs.readFileSync(at('merge'), 'utf8')).toBe(text([...lines.slice(0, 7), 'EIGHT']))
  expect(fs.readFileSync(at('clash'), 'utf8')).toBe('3\n')
  expect(fs.readFileSync(at('gone'), 'utf8')).toBe('g')
  expect(fs.readFileSync(at('mode'), 'utf8')).toBe('mine')
  expect(fs.readFileSync(at('same'), 'utf8')).toBe('s')
  expect(fs.existsSync(at('new'))).toBe(false)
  expect(fs.readdirSync(ground.root).sort()).toEqual(['clash', 'gone', 'merge', 'mode', 'outside', 'same'])

  await rollback(back.saved, back.changed)
  expect(shellHash(ground.root)).toBe(stands)
  expect(blobs.pinned(placeName('rollback', ground))).not.toBeNull()
  await snapshots.settled()
  expect(await snapshots.resume()).toBeNull()
})

test('P33 nothing outside the write set is touched, not even in a folder that goes', async () => {
  const ground = makeGround(tree({ src: dir({ a: file('a') }), link: link('src') }))
  const { snapshot, diff, rollback } = open(ground)
  const before = await snapshot()
  makeTree(ground.root, tree({ made: dir({ f: file('f') }), '.git': dir({ HEAD: file('x') }) }))
  const { changes } = await diff(before.manifest, (await snapshot()).manifest)
  makeTree(ground.root, tree({ mine: file('m') }))
  fs.writeFileSync(join(ground.root, 'made', 'mine'), 'm')
  const back = await rollback(before.manifest, changes)
  expect(back.left).toEqual([{ path: 'made', reason: 'the folder contains files that are not in the write set' }])
  expect(shellList(ground.root)).toContain('made/mine')
  expect(fs.existsSync(join(ground.root, 'made', 'f'))).toBe(false)
  expect(fs.readdirSync(ground.root).sort()).toEqual(['.git', 'link', 'made', 'mine', 'src'])
})

test('a folder turned into a link leads a rollback nowhere', async () => {
  const ground = makeGround(tree({ src: dir({ a: file('a') }), other: dir({ a: file('other') }) }))
  const { snapshot, diff, snapshots } = open(ground)
  const before = await snapshot()
  fs.writeFileSync(join(ground.root, 'src', 'a'), 'A')
  const { changes } = await diff(before.manifest, (await snapshot()).manifest)
  fs.renameSync(join(ground.root, 'src'), join(ground.base, 'away'))
  fs.symlinkSync('other', join(ground.root, 'src'))
  const stands = shellHash(ground.root)
  const answer = await snapshots.rollback(before.manifest, written(changes), { choices: [['src/a', 'take']] })
  expect(must(answer).left).toEqual([{ path: 'src/a', reason: 'its folder is no longer a folder' }])
  expect(shellHash(ground.root)).toBe(stands)
})

test('a write set that names tricks touches nothing', async () => {
  const ground = makeGround(tree({ a: file('a') }))
  const { snapshot, snapshots } = open(ground)
  const { manifest } = await snapshot()
  fs.writeFileSync(join(ground.base, 'b'), 'b')
  const stands = shellHash(ground.base)
  for (const path of ['../b', '/etc/passwd', '', '.', 'a/../../b', '.git/HEAD', '.planfold/x', 'a\0']) {
    const answer = await snapshots.rollback(manifest, [[path, null]])
    expect(answer.ok && answer.changed).toEqual([])
  }
  expect(fs.readFileSync(join(ground.base, 'b'), 'utf8')).toBe('b')
  fs.rmSync(ground.stateDir, { recursive: true })
  expect(shellHash(ground.base)).not.toBe(stands)
})

test('a damaged, lost or foreign stat cache changes nothing', async () => {
  const ground = makeGround()
  for (let at = 0; at < 400; at++) fs.writeFileSync(join(ground.root, `f${at}`), `${at}`)
  const now = () => Date.now() + 10_000
  const { manifest } = await open(ground, { now }).snapshot()
  const path = join(ground.stateDir, placeName('stat-cache', ground))
  const good = fs.readFileSync(path)
  for (const bytes of [
    good,
    Buffer.alloc(0),
    good.subarray(0, 100),
    Buffer.concat([good, good]),
    Buffer.alloc(good.length, 1),
  ]) {
    fs.writeFileSync(path, bytes)
    expect((await open(ground, { now }).snapshot()).manifest).toBe(manifest)
  }
  // The content is gone from the store, the cache says it is unchanged: it is stored again.
  fs.writeFileSync(path, good)
  fs.rmSync(join(ground.stateDir, 'blobs'), { recursive: true })
  const again = open(ground, { now })
  expect((await again.snapshot()).manifest).toBe(manifest)
  expect((await again.diff(manifest, 'now')).changes).toEqual([])
  for (const id of again.blobs.ids()) expect(again.blobs.getNow(id)).not.toBeNull()
})

test('beyond its quota the store refuses snapshots and says so, and takes bodies of the journal all the same', async () => {
  const ground = makeGround(tree({ a: file('x'.repeat(50_000)) }))
  const { snapshots, blobs } = open(ground, { quotaBytes: 20_000 })
  const answer = await snapshots.snapshot()
  expect(answer).toMatchObject({
    ok: false,
    failure: { class: 'resource', hint: expect.arrayContaining([quoted('prune')]) },
  })
  expect(blobs.has(blobs.putNow(Buffer.alloc(30_000)))).toBe(true)
  expect(blobs.bytesUsed()).toBe(30_000)
})
