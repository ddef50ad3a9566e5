// Snapshot, rollback, undo and collection cut off at the changes they make to the disk, and begun again. Death is
// played by a file system that, from one call on, changes nothing any more, not even for those who tidy up.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import { prune } from '../../stores/journal/prune.ts'
import type { Transactions } from '../../stores/tables.ts'
import { type Ground, makeGround, must, open, replaceTree, shellHash, written } from '../snapshots/snapshots.fixture.ts'
import { clearTree, dir, file, link, tree } from '../tree.fixture.ts'

const life = vi.hoisted(() => ({ left: Number.POSITIVE_INFINITY }))

const step = vi.hoisted(() => () => {
  if (life.left-- <= 0) life.left = -1
  if (life.left < 0) throw new Error('dead')
})
const isChange = vi.hoisted(() => (name: string, args: readonly unknown[]): boolean => {
  if (
    !/^(rename|link|unlink|rmdir|mkdir|symlink|chmod|open|write|writeFile|utimes|futimes|fchmod|rm)(Sync)?$/.test(name)
  )
    return false
  if (!/^open/.test(name)) return true
  const flags = args[1]
  return typeof flags === 'number' ? (flags & 0o100) !== 0 : typeof flags === 'string' && flags !== 'r'
})

vi.mock('node:fs', async importOriginal => {
  const real = await importOriginal<typeof import('node:fs')>()
  const wrapped: { [name: string]: unknown } = { ...real }
  for (const [name, value] of Object.entries(real)) {
    if (typeof value !== 'function' || !name.endsWith('Sync')) continue
    wrapped[name] = (...args: unknown[]) => {
      // A write that is cut off leaves a part of itself.
      if (name === 'writeSync' && life.left === 0) real.writeSync(args[0] as number, args[1] as Uint8Array, 0, 1)
      if (isChange(name, args)) step()
      return (value as (...all: unknown[]) => unknown)(...args)
    }
  }
  return wrapped
})

vi.mock('node:fs/promises', async importOriginal => {
  const real = await importOriginal<typeof import('node:fs/promises')>()
  const wrapped: { [name: string]: unknown } = { ...real }
  for (const [name, value] of Object.entries(real)) {
    if (typeof value !== 'function') continue
    wrapped[name] = async (...args: unknown[]) => {
      if (isChange(name, args)) step()
      const answer = await (value as (...all: unknown[]) => Promise<unknown>)(...args)
      if (name !== 'open') return answer
      const handle = answer as import('node:fs/promises').FileHandle
      for (const method of ['writeFile', 'chmod', 'utimes', 'sync'] as const) {
        const act = handle[method].bind(handle) as (...all: unknown[]) => Promise<unknown>
        Object.assign(handle, {
          [method]: async (...given: unknown[]) => {
            if (method === 'writeFile' && life.left === 0 && (given[0] as Uint8Array).length > 1) {
              await act((given[0] as Uint8Array).subarray(0, 1))
            }
            step()
            return await act(...given)
          },
        })
      }
      return handle
    }
  }
  return wrapped
})

const BEFORE = tree({
  src: dir({
    a: file('aaa'),
    gone: file('ggg', 0o755),
    kept: file('kkk'),
    turned: file('ttt'),
    l: link('a'),
    d: dir({ x: file('xxx'), y: dir({}) }),
  }),
  was: dir({ dir: file('ddd') }, 0o555),
  outside: file('o'),
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
  outside: file('o'),
})

/** The ordinary run takes every third death, `npm run soak` takes all. */
const STEP = process.env.PLANFOLD_CRASH === 'all' ? 1 : 3

/** Runs `act` again and again, dead after more and more changes, until it lives to its end. */
async function everyDeath(
  prepare: () => Promise<{ act: () => Promise<unknown>; after: (k: number) => Promise<void> }>,
): Promise<number> {
  for (let k = 0; ; k += STEP) {
    const { act, after } = await prepare()
    life.left = k
    const outcome = await act().then(
      () => 'done',
      error => (error as Error).message,
    )
    // What was still under way in the background dies too.
    await new Promise(resolve => setTimeout(resolve, 0))
    const lived = life.left >= 0
    life.left = Number.POSITIVE_INFINITY
    expect(outcome, `death at ${k}`).toBe(lived ? 'done' : 'dead')
    await after(k)
    if (lived) return k
    if (k > 1_000) throw new Error('it never ends')
  }
}

async function given(): Promise<{
  ground: Ground
  first: Sha256
  changes: Awaited<ReturnType<ReturnType<typeof open>['diff']>>['changes']
  before: string
  after: string
}> {
  const ground = makeGround(BEFORE)
  const before = shellHash(ground.root)
  const { snapshot, diff } = open(ground)
  const first = await snapshot()
  replaceTree(ground.root, AFTER)
  const after = shellHash(ground.root)
  const { changes } = await diff(first.manifest, (await snapshot()).manifest)
  return { ground, first: first.manifest, changes, before, after }
}

test('a snapshot cut off anywhere is taken again, whole', async () => {
  const wanted = await (async () => (await open(makeGround(BEFORE)).snapshot()).manifest)()
  const deaths = await everyDeath(async () => {
    const ground = makeGround(BEFORE)
    return {
      act: () => open(ground).snapshot(),
      async after() {
        const again = open(ground)
        expect((await again.snapshot()).manifest).toBe(wanted)
        for (const id of again.blobs.ids()) expect(again.blobs.getNow(id)).not.toBeNull()
        clearTree(ground.root)
      },
    }
  })
  expect(deaths).toBeGreaterThan(4)
})

test('P31 a rollback cut off anywhere is resumed and ends exact, and can be undone', async () => {
  const deaths = await everyDeath(async () => {
    const { ground, first, changes, before, after } = await given()
    return {
      act: async () => must(await open(ground).snapshots.rollback(first, written(changes), { about: 'plan 1' })),
      async after(k) {
        const { snapshots, rollback } = open(ground)
        const resumed = await snapshots.resume()
        // Before the intent was written nothing has changed.
        if (resumed === null) expect(shellHash(ground.root), `death at ${k}`).toBe(after)
        const back = resumed === null ? await rollback(first, changes) : must(resumed)
        if (resumed !== null) expect(back.about).toBe('plan 1')
        expect(back.left, `death at ${k}`).toEqual([])
        expect(shellHash(ground.root), `death at ${k}`).toBe(before)
        const again = await rollback(back.saved, back.changed)
        expect(again.left).toEqual([])
        expect(shellHash(ground.root), `undone, death at ${k}`).toBe(after)
        clearTree(ground.root)
      },
    }
  })
  expect(deaths).toBeGreaterThan(50)
})

test('an undo cut off anywhere is resumed and ends exact; so does one cut off twice', async () => {
  const deaths = await everyDeath(async () => {
    const { ground, first, changes, after } = await given()
    const back = await open(ground).rollback(first, changes)
    return {
      act: async () => must(await open(ground).snapshots.rollback(back.saved, written(back.changed))),
      async after(k) {
        life.left = k % 17
        await open(ground)
          .snapshots.resume()
          .catch(() => null)
        await new Promise(resolve => setTimeout(resolve, 0))
        life.left = Number.POSITIVE_INFINITY
        const { snapshots, rollback } = open(ground)
        await snapshots.resume()
        await rollback(back.saved, back.changed)
        expect(shellHash(ground.root), `death at ${k}`).toBe(after)
        clearTree(ground.root)
      },
    }
  })
  expect(deaths).toBeGreaterThan(50)
})

test('P35 a collection cut off anywhere loses nothing that is reachable, and the next one takes the rest', async () => {
  const deaths = await everyDeath(async () => {
    const ground = makeGround(BEFORE)
    const clock = { at: Date.now() }
    const room = open(ground, { now: () => clock.at })
    const first = await room.snapshot()
    replaceTree(ground.root, AFTER)
    await room.snapshot()
    const lonely = await room.blobs.put(Buffer.from('nobody names me'))
    const [packed, kept] = await room.blobs.putMany([Buffer.from('nor me'), Buffer.from('but me')])
    room.blobs.pin('test', JSON.stringify({ first: first.manifest, kept }))
    clock.at += 10_000
    const collect = (blobs: typeof room.blobs) =>
      prune({ transactions: NO_PLANS, blobs, now: clock.at }, { before: clock.at - 1, dryRun: false })
    return {
      act: () => collect(room.blobs),
      async after(k) {
        for (let round = 0; round < 2; round++) {
          const again = open(ground, { now: () => clock.at })
          expect(again.blobs.getNow(kept!), `death at ${k}`).not.toBeNull()
          replaceTree(ground.root, AFTER)
          const { changes } = must(await again.snapshots.diff(first.manifest, 'now'))
          expect((await again.rollback(first.manifest, changes)).left, `death at ${k}`).toEqual([])
          await again.snapshots.settled()
          clock.at += 10_000
          await collect(again.blobs)
        }
        const last = open(ground, { now: () => clock.at }).blobs
        expect([last.has(lonely), last.has(packed!), last.has(kept!)]).toEqual([false, false, true])
        expect(fs.readdirSync(join(ground.stateDir, 'blobs', 'packs')).filter(name => !name.endsWith('.pack'))).toEqual(
          [],
        )
        clearTree(ground.root)
      },
    }
  })
  expect(deaths).toBeGreaterThan(5)
})

/** A store without plans: only pins name anything. */
const NO_PLANS = {
  read: (use: (tables: unknown) => unknown) => use({ upkeep: { prunable: () => [], plans: () => [] } }),
  write: async (use: (tables: unknown) => unknown) => use({ upkeep: { prunable: () => [], plans: () => [] } }),
} as unknown as Transactions
