// A rollback and its undo, asked for and carried out by a real process that is killed at named points, at every commit and at system calls
// that change files: whoever comes next finishes it, and files, tasks and journal are exact. Promise P31 for the whole engine;
// regressions 26 and 28.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { driverEnd, type Ended, endAll, Ground, inParallel, Real } from './harness.ts'
import { ALL, someOf, spread, withShift } from './kill-points.ts'
import { counted, killing, tracing, whyNoStrace } from './strace.ts'
import { Successor } from './successor.ts'

/** So many system calls are taken by the ordinary run, and so many of the first commits; `npm run crash` takes all. */
const SPREAD = 2
const COMMITS = 6
/** Each is passed once for each file that it is about. */
const POINTS = [
  'rollback.intent:after',
  'rollback.replace:before',
  'rollback.aside:after',
  'rollback.remove:before',
  'rollback.make:before',
  'rollback.drop:before',
  'rollback.end:before',
  'rollback.end:after',
]
const KILLS_MAX = 500
const DRIVER = join(import.meta.dirname, 'rollback-driver.mjs')
const CALLS = [
  'pwrite64',
  'write',
  'rename',
  'unlink',
  'link',
  'mkdir',
  'rmdir',
  'symlink',
  'fchmod',
  'fsync',
  'fdatasync',
]
const missing = whyNoStrace()
if (missing !== null) console.warn(`SKIPPED: kills at system calls need strace, and ${missing}`)

const plan = (outside: string) => `
planfold: 1
name: back
tasks:
  - id: shell
    write: [src/**, made/**]
    network: []
    run: |
      sed -i s/one/ONE/ src/a.txt
      rm src/gone.txt
      mkdir -p made/deep; printf 'x\\0y' > made/deep/bin
      ln -s ../src/a.txt made/link
      chmod 755 src/kept.txt
  - id: edit
    needs: [shell]
    edit: [{ file: src/a.txt, find: two, replace: TWO }, { file: src/new.txt, create: "new\\n" }]
  - id: push
    needs: [edit]
    run: echo push >> ${outside}
    compensate: { run: echo pull >> ${outside} }
`
const FILES = { 'src/a.txt': 'one\ntwo\n', 'src/gone.txt': 'gone\n', 'src/kept.txt': 'kept\n', 'other.txt': 'mine\n' }

interface Case {
  readonly order: { readonly type: 'rollback' | 'undo'; readonly includeUnclaimed?: true }
  readonly tree: () => string
  readonly tasks: Readonly<Record<string, string>>
  /** Points that it has no reason to pass. */
  readonly never: readonly string[]
}

const successor = new Successor()
let done: Ground
let back: Ground
const hashes = { before: '', after: '' }
const CASES: readonly Case[] = [
  {
    order: { type: 'rollback', includeUnclaimed: true },
    tree: () => hashes.before,
    tasks: { shell: 'ready', edit: 'pending', push: 'pending' },
    never: [],
  },
  {
    order: { type: 'undo' },
    tree: () => hashes.after,
    // What was compensated is to be done again.
    tasks: { shell: 'completed', edit: 'completed', push: 'ready' },
    // It puts folders back, and removes none.
    never: ['rollback.remove:before'],
  },
]

beforeAll(async () => {
  done = new Ground(plan('../outside'), FILES)
  hashes.before = done.treeHash()
  expect(driverEnd(await successor.go('drive', done)).status).toBe('completed')
  hashes.after = done.treeHash()
  expect(hashes.after).not.toBe(hashes.before)
  back = done.copy()
  expect(endOf(await finish(back, CASES[0]!.order)).last.type).toBe('rollback.finished')
})
afterEach(endAll)
/** Kills, and those that came when the journal said that the rollback or undo had begun. */
const kills = { all: 0, begun: 0 }

afterAll(async () => {
  console.log(`${kills.begun} of ${kills.all} kills came after the rollback had begun`)
  expect(kills.begun).toBeGreaterThanOrEqual(kills.all / 2)
  await successor.close()
  done?.remove()
  back?.remove()
})

const go = (
  ground: Ground,
  order: object,
  env: Record<string, string> = {},
  wrap: readonly string[] = [],
): Promise<Ended> =>
  new Real([...wrap, process.execPath, DRIVER, ground.workspace, 'back', JSON.stringify(order)], {
    cwd: ground.workspace,
    env,
  }).end()

/** The same, by whoever comes next. */
const finish = (ground: Ground, order: object): Promise<Ended> =>
  successor.go('goBack', { workspace: ground.workspace, name: 'back', order: JSON.stringify(order) })

function endOf({ out, err, code, signal }: Ended) {
  const line = out.trimEnd().split('\n').at(-1) ?? ''
  if (code !== 0 || !line.startsWith('{"end"')) throw new Error(`no end (${code ?? signal}):\n${out}\n${err}`)
  return (
    JSON.parse(line) as { end: { status: string; tasks: object; check: { ok: boolean }; last: { type: string } } }
  ).end
}

/** Killed once, and then left alone: is everything as it must be? */
async function play({ order, tree, tasks }: Case, kill: (ground: Ground) => Promise<Ended>): Promise<boolean> {
  const ground = (order.type === 'undo' ? back : done).copy()
  try {
    const first = await kill(ground)
    const fired = first.signal === 'SIGKILL'
    if (fired) {
      kills.all++
      if (ground.events('rollback.started').some(({ kind }) => kind === order.type)) kills.begun++
    }
    const end = endOf(fired ? await finish(ground, order) : first)
    expect({ tree: ground.treeHash(), tasks: end.tasks, ok: end.check.ok, last: end.last.type }).toEqual({
      tree: tree(),
      tasks,
      ok: true,
      last: 'rollback.finished',
    })
    const outside = join(ground.base, 'outside')
    const pulls = existsSync(outside)
      ? readFileSync(outside, 'utf8')
          .split('\n')
          .filter(line => line === 'pull')
      : []
    // Never twice; not at all only where nobody could know whether it had happened.
    expect(pulls.length).toBeLessThanOrEqual(1)
    ground.remove()
    return fired
  } catch (error) {
    throw new Error(`${withShift()}, see ${ground.base}: ${(error as Error).message}`, { cause: error })
  }
}

describe.each(CASES)('$order.type, killed', one => {
  test(`at ${ALL ? 'every passing of ' : ''}each named point it is finished by whoever comes next`, async () => {
    const met = new Set<string>()
    const jobs = POINTS.map(point => async () => {
      for (let k = 1; k <= (ALL ? KILLS_MAX : 1); k++) {
        const fired = await play(one, ground => go(ground, one.order, { PLANFOLD_FAILPOINT: `${point}:${k}` }))
        if (!fired) break
        met.add(point)
      }
    })
    await inParallel(jobs)
    expect([...met].sort()).toEqual(POINTS.filter(point => !one.never.includes(point)).sort())
  })

  for (const point of ['store.commit:before', 'store.commit:after']) {
    test(`at ${ALL ? 'every' : 'one'} ${point} it is finished by whoever comes next`, async () => {
      let over = false
      const ks = ALL ? Array.from({ length: KILLS_MAX }, (_, at) => at + 1) : spread(COMMITS, 1)
      const jobs = function* () {
        for (const k of ks) {
          if (over) return
          const kill = (ground: Ground) => go(ground, one.order, { PLANFOLD_FAILPOINT: `${point}:${k}` })
          yield async () => {
            const fired = await play(one, kill)
            over ||= !fired
            return fired
          }
        }
      }
      const fired = await inParallel(jobs())
      expect(fired.filter(Boolean).length).toBeGreaterThanOrEqual(ALL ? 3 : 1)
    })
  }

  test.skipIf(missing !== null)(
    `at ${ALL ? 'every' : `${SPREAD}`} system call(s) that change files`,
    { timeout: 3_600_000 },
    async () => {
      const ground = (one.order.type === 'undo' ? back : done).copy()
      const out = join(ground.base, 'strace.out')
      endOf(await go(ground, one.order, {}, tracing(CALLS.join(','), out)))
      const calls = counted(out)
      ground.remove()
      const chosen = someOf(calls, SPREAD)
      const killAt =
        ([call, k]: (typeof calls)[number]) =>
        () =>
          play(one, place => go(place, one.order, {}, killing(call, k)))
      let kills = (await inParallel(chosen.map(killAt))).filter(Boolean).length
      // Writes into files are counted with those that wake another thread, and may all come earlier: then others are taken.
      const sure = calls.filter(([call]) => !ALL && call !== 'write')
      for (const other of sure) if (kills <= chosen.length / 2 && (await killAt(other)())) kills++
      expect(kills).toBeGreaterThan(chosen.length / 2)
    },
  )
})
