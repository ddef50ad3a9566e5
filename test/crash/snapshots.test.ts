// Snapshots, rollback, undo, restore and collection in real processes, killed at system calls that change files: after a
// restart the tree is exact, by the shell's judgement, and no blob is lost that somebody names. Promises P31, P34 and P35.

import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { BlobsFiles } from '../../src/stores/blobs/blobs.ts'
import { thisHost } from '../../src/stores/leases/host.ts'
import { StoreSqlite } from '../../src/stores/sqlite/store-sqlite.ts'
import { numberedPlanId, numberedSha, plan, task } from '../../src/testing/index.ts'
import { openWorkspace } from '../../src/workspace/scope/scope-workspace.ts'
import { openSnapshots } from '../../src/workspace/snapshots/snapshots.ts'
import { dir, file, link, makeTree, type Tree, tree } from '../../src/workspace/tree.fixture.ts'
import { type Ended, endAll, inParallel, makeFolder, Real } from './harness.ts'
import { ALL, SHIFT, someOf, withShift } from './kill-points.ts'
import { counted, killing, ONE_POOL_THREAD, tracedInPool, tracing, whyNoStrace } from './strace.ts'

/** Kills of each act when not all are asked for. */
const SPREAD = 2
const FAR_TOO_MANY = 2_000
const CALLS = [
  ...['write', 'pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'rename', 'renameat2', 'link', 'linkat', 'symlink'],
  ...['unlink', 'unlinkat', 'mkdir', 'rmdir', 'chmod', 'fchmod', 'utimensat'],
]
const DRIVER = join(import.meta.dirname, 'snapshots-driver.mjs')
const missing = whyNoStrace()
if (missing !== null) console.warn(`SKIPPED: kills at system calls need strace, and ${missing}`)

const BEFORE = tree({
  src: dir({
    a: file('aaa'),
    gone: file('ggg', 0o755),
    kept: file('kkk'),
    turned: file('ttt'),
    l: link('a'),
    d: dir({ 'x \xff': file('xxx'), y: dir({}) }),
  }),
  was: dir({ dir: file('ddd') }, 0o555),
  'line\nfeed': file('same'),
})
const AFTER = tree({
  src: dir({
    a: file('AAA'),
    kept: file('kkk', 0o600),
    turned: dir({ n: dir({ m: file('mmm') }) }),
    l: link('b'),
    d: link('no/where'),
    made: dir({ f: file('fff') }),
  }),
  was: file('a file now'),
  'line\nfeed': file('same'),
})

interface Act {
  /** What the process is asked to do. */
  readonly act: object
  /** What must be so after it was killed, or not, and everything goes on. */
  readonly after: (ground: Place) => Promise<void>
  readonly template: string
}

interface Place {
  readonly base: string
  readonly root: string
  readonly stateDir: string
}

const at = (base: string): Place => ({ base, root: join(base, 'work'), stateDir: join(base, 'work', '.planfold') })
const folders: string[] = []
let number = 0

function freshFolder(): string {
  const base = makeFolder()
  folders.push(base)
  return base
}

/** By the shell's tools, not by ours. */
function treeHash(root: string): string {
  const script = `{ find . -path ./.planfold -prune -o -mindepth 1 -printf '%P\\0%y\\0%m\\0%l\\0\\n' | LC_ALL=C sort; find . -path ./.planfold -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum --; } | sha256sum`
  const done = spawnSync('bash', ['-o', 'pipefail', '-c', script], { cwd: root, encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`the tree hasher failed: ${done.stderr}`)
  return done.stdout.slice(0, 64)
}

function blobsOf({ stateDir }: Place, now = Date.now) {
  return new BlobsFiles({ folder: join(stateDir, 'blobs'), now, newId: () => `${process.pid}-${++number}` })
}

function opened(place: Place, now = Date.now) {
  const blobs = blobsOf(place, now)
  return { blobs, snapshots: openSnapshots({ ...place, blobs, now, pauseMs: 0 }) }
}

const storeOf = ({ stateDir }: Place, now = Date.now) =>
  StoreSqlite.open({
    folder: stateDir,
    clock: { now, monotonic: () => performance.now() },
    host: thisHost(process.pid),
    newId: () => `${process.pid}-${++number}`,
    heartbeat: 'manual',
  })

function must<T extends { readonly ok: boolean }>(answer: T | null): Extract<T, { ok: true }> {
  if (answer?.ok !== true) throw new Error(JSON.stringify(answer))
  return answer as Extract<T, { ok: true }>
}

/** Everything but our own state. */
function replaceTree({ root }: Place, wanted: Tree): void {
  for (const name of fs.readdirSync(root, { encoding: 'buffer' })) {
    if (name.toString() === '.planfold') continue
    const path = Buffer.concat([Buffer.from(`${root}/`), name])
    if (fs.lstatSync(path).isDirectory()) execFileSync('chmod', ['-R', 'u+rwx', path.toString()])
    fs.rmSync(path, { recursive: true })
  }
  makeTree(root, wanted)
}

/** A folder in which BEFORE was captured and AFTER stands. */
async function given() {
  const place = at(freshFolder())
  fs.mkdirSync(place.stateDir, { recursive: true })
  makeTree(place.root, BEFORE)
  const before = treeHash(place.root)
  // Long ago, so that a collector may take what nobody names.
  const { snapshots, blobs } = opened(place, () => Date.now() - 3_600_000)
  const first = must(await snapshots.snapshot()).manifest
  replaceTree(place, AFTER)
  const after = treeHash(place.root)
  const { changes } = must(await snapshots.diff(first, 'now'))
  return { place, snapshots, blobs, first, changes, before, after }
}

const writeSetOf = (changes: readonly { readonly path: string; readonly after: unknown }[]) =>
  changes.map(({ path, after }) => [path, after] as const)

const acts: { readonly [name: string]: () => Promise<Act> } = {
  async capture() {
    const { place } = await given()
    fs.rmSync(join(place.stateDir, 'blobs'), { recursive: true })
    const wanted = treeHash(place.root)
    return {
      template: place.base,
      act: { act: 'capture' },
      async after(ground) {
        const { snapshots, blobs } = opened(ground)
        const taken = must(await snapshots.snapshot())
        for (const id of blobs.ids()) expect(blobs.getNow(id)).not.toBeNull()
        const { changes } = must(await snapshots.diff(taken.manifest, 'now'))
        expect(changes).toEqual([])
        replaceTree(ground, BEFORE)
        const back = must(await snapshots.diff(taken.manifest, 'now')).changes
        must(await snapshots.rollback(taken.manifest, writeSetOf(back) as never))
        expect(treeHash(ground.root)).toBe(wanted)
      },
    }
  },
  async rollback() {
    const { place, first, changes, before, after } = await given()
    return {
      template: place.base,
      act: { act: 'rollback', target: first, writeSet: writeSetOf(changes) },
      async after(ground) {
        const { snapshots } = opened(ground)
        const resumed = await snapshots.resume()
        // Before the intent was written nothing has changed.
        if (resumed === null) expect(treeHash(ground.root)).toBe(after)
        const back = must(resumed ?? (await snapshots.rollback(first, writeSetOf(changes) as never)))
        if (resumed !== null) expect(back.about).toBe('killed')
        expect(back.left).toEqual([])
        expect(treeHash(ground.root)).toBe(before)
        const undone = must(await snapshots.rollback(back.saved, writeSetOf(back.changed) as never))
        expect(undone.left).toEqual([])
        expect(treeHash(ground.root)).toBe(after)
        await snapshots.settled()
        expect(await snapshots.resume()).toBeNull()
      },
    }
  },
  async undo() {
    const { place, snapshots, first, changes, before, after } = await given()
    const back = must(await snapshots.rollback(first, writeSetOf(changes) as never))
    await snapshots.settled()
    return {
      template: place.base,
      act: { act: 'rollback', target: back.saved, writeSet: writeSetOf(back.changed) },
      async after(ground) {
        const again = opened(ground).snapshots
        const resumed = await again.resume()
        if (resumed === null) expect(treeHash(ground.root)).toBe(before)
        const undone = must(resumed ?? (await again.rollback(back.saved, writeSetOf(back.changed) as never)))
        expect(undone.left).toEqual([])
        expect(treeHash(ground.root)).toBe(after)
      },
    }
  },
  async restore() {
    const { place, before } = await given()
    replaceTree(place, BEFORE)
    const workspace = (ground: Place) => openWorkspace({ ...ground, blobs: blobsOf(ground), now: Date.now })
    const { manifest } = must(await workspace(place).capture(['**']))
    replaceTree(place, AFTER)
    return {
      template: place.base,
      act: { act: 'restore', manifest },
      async after(ground) {
        must(await workspace(ground).restore(manifest))
        expect(treeHash(ground.root)).toBe(before)
      },
    }
  },
  async materialise() {
    const { place, first, before } = await given()
    const folder = (ground: Place) => join(ground.base, 'made')
    return {
      template: place.base,
      // Named from where the process stands.
      act: { act: 'materialise', target: first, folder: 'made' },
      async after(ground) {
        // It is there whole, or not at all.
        if (fs.existsSync(folder(ground))) expect(treeHash(folder(ground))).toBe(before)
        else must(await opened(ground).snapshots.materialise(first, folder(ground)))
        expect(treeHash(folder(ground))).toBe(before)
        const others = fs.readdirSync(ground.base).filter(name => !['work', 'made'].includes(name))
        for (const name of others) expect(name).toMatch(/^made\.tmp-\d+-\d+$/)
      },
    }
  },
  async collect() {
    const { place, blobs, snapshots, first, before } = await given()
    const old = () => Date.now() - 3_600_000
    must(await snapshots.snapshot())
    const [lonely, packed] = [
      await blobs.put(Buffer.from('nobody names me')),
      ...(await blobs.putMany([Buffer.from('nor me')])),
    ]
    const named = await blobs.put(Buffer.from('but me'))
    const store = await storeOf(place, old)
    const id = numberedPlanId(1)
    must(
      await store.create(
        { type: 'create', plan: id, definition: plan('kept', task('a')), hash: numberedSha(1) },
        'ana' as never,
      ),
    )
    must(await store.update(id, { type: 'note', text: `${first} and ${named}` }, { actor: 'ana' as never }))
    await store.close()
    const until = Date.now() - 60_000
    return {
      template: place.base,
      act: { act: 'collect', before: until },
      async after(ground) {
        for (let round = 0; round < 2; round++) {
          const again = await storeOf(ground)
          expect(await again.check({ readData: true })).toMatchObject({ ok: true, faults: [] })
          expect(await again.blobs.get(named)).not.toBeNull()
          replaceTree(ground, AFTER)
          const { snapshots: now } = opened(ground)
          const { changes } = must(await now.diff(first, 'now'))
          expect(must(await now.rollback(first, writeSetOf(changes) as never)).left).toEqual([])
          await now.settled()
          expect(treeHash(ground.root)).toBe(before)
          await again.prune({ before: until, dryRun: false })
          expect([await again.blobs.get(lonely), await again.blobs.get(packed!)]).toEqual([null, null])
          await again.close()
        }
      },
    }
  },
}

const drive = (act: Act, ground: Place, wrap: readonly string[], env: Readonly<Record<string, string>> = {}): Real => {
  const asked = JSON.stringify({ ...act.act, ...ground })
  return new Real([...wrap, process.execPath, DRIVER, asked], { cwd: ground.base, env })
}

type Thread = 'main' | 'pool'

async function run(act: Act, ground: Place, thread: Thread, trace: readonly string[]): Promise<Ended> {
  if (thread === 'main') return await drive(act, ground, trace).end()
  return await tracedInPool(drive(act, ground, [], ONE_POOL_THREAD), trace)
}

function copied(template: string): Place {
  const base = freshFolder()
  execFileSync('cp', ['-a', `${template}/.`, base])
  return at(base)
}

/** Kills it there, lets it go on, and asks whether all is well. False when it was not killed because it was over before. */
async function kill(name: string, act: Act, thread: Thread, call: string, k: number): Promise<boolean> {
  const ground = copied(act.template)
  const ended = await run(act, ground, thread, killing(call, k))
  try {
    if (ended.signal !== 'SIGKILL') expect(JSON.parse(ended.out.trim().split('\n').at(-1)!)).toMatchObject({ ok: true })
    await act.after(ground)
  } catch (error) {
    folders.splice(folders.indexOf(ground.base), 1)
    throw new Error(
      `${name} killed at ${call} ${k} of its ${thread} thread, ${withShift()}, see ${ground.base}: ${(error as Error).message}`,
      {
        cause: error,
      },
    )
  }
  remove(ground.base)
  return ended.signal === 'SIGKILL'
}

function remove(base: string): void {
  execFileSync('chmod', ['-R', 'u+rwx', base])
  fs.rmSync(base, { recursive: true, force: true })
}

/** Every call of a run without a fault, in both threads; in the ordinary run in one of them, by turns. */
async function points(act: Act, turn: number): Promise<readonly (readonly [Thread, string, number])[]> {
  const found: (readonly [Thread, string, number])[] = []
  const threads = (SHIFT + turn) % 2 === 0 ? (['main', 'pool'] as const) : (['pool', 'main'] as const)
  for (const thread of threads) {
    if (!ALL && found.length > 0) break
    const ground = copied(act.template)
    const out = join(freshFolder(), 'strace.out')
    const ended = await run(act, ground, thread, tracing(CALLS.join(','), out))
    expect(JSON.parse(ended.out.trim().split('\n').at(-1)!)).toMatchObject({ ok: true })
    await act.after(ground)
    for (const [call, k] of counted(out)) found.push([thread, call, k])
  }
  return found
}

/** A run under a tracer may make more calls than another: on from the last that was counted, until nothing fires. */
async function killBeyond(
  name: string,
  act: Act,
  all: readonly (readonly [Thread, string, number])[],
): Promise<number> {
  let kills = 0
  const last = new Map(all.map(([thread, call, k]) => [`${thread} ${call}`, [thread, call, k] as const]))
  for (const [thread, call, k] of last.values()) {
    for (let more = k + 1; call !== 'write' && (await kill(name, act, thread, call, more)); more++) {
      kills++
      if (more > FAR_TOO_MANY) throw new Error('it never ends')
    }
  }
  return kills
}

describe.skipIf(missing !== null)(
  `snapshots in a process killed at system calls${missing === null ? '' : ` (skipped: ${missing})`}`,
  () => {
    afterEach(() => {
      endAll()
      for (const base of folders.splice(0)) if (fs.existsSync(base)) remove(base)
    })
    beforeAll(() => {
      if (!fs.existsSync(DRIVER)) throw new Error(`${DRIVER} is missing`)
    })

    for (const [turn, [name, prepare]] of Object.entries(acts).entries()) {
      test(`${name}, killed at ${ALL ? 'every call that changes' : 'calls, evenly spread, that change'} files, ends exact`, {
        timeout: 3_600_000,
      }, async () => {
        const act = await prepare()
        const began = performance.now()
        const all = await points(act, turn)
        let kills = 0
        const some = someOf(all, SPREAD)
        await inParallel(
          some.map(([thread, call, k]) => async () => {
            if (await kill(name, act, thread, call, k)) kills++
          }),
        )
        // Writes into files are counted with those that wake another thread, and may all come earlier: then others are taken.
        const sure = all.filter(([, call]) => !ALL && call !== 'write')
        for (const [thread, call, k] of sure)
          if (kills <= some.length / 2 && (await kill(name, act, thread, call, k))) kills++
        expect(kills).toBeGreaterThan(some.length / 2)
        if (ALL) kills += await killBeyond(name, act, all)
        const ms = Math.round((performance.now() - began) / Math.max(1, kills))
        console.log(
          `${name}: ${all.length} calls, ${some.map(each => each.join(' '))}, killed ${kills} times, ${ms} ms a kill`,
        )
      })
    }
  },
)
