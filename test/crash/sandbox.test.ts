import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'
import { CLI, until } from './harness.ts'
import { ALL } from './kill-points.ts'

// A task that does everything to stay: it forks, ignores being asked to end, leaves its session, empties its environment and writes
// every 10 ms. When Planfold is killed nothing of it may live, and nothing may be written any more.

const standing = await bubblewrap({ environment: process.env, outside: [] }).check()
if (!standing.ok) console.log(`skipped: ${standing.failure.message}`)
const TIMES = ALL ? 50 : 2
const base = mkdtempSync(join(tmpdir(), 'planfold-walls-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))

const STUBBORN = `
trap "" TERM INT HUP
for n in 1 2 3; do
  setsid env -i PATH=/usr/bin:/bin sh -c 'trap "" TERM INT HUP; while :; do echo x >> out/$1; sleep 0.01; done' MARK $n &
done
wait
sleep 1000
`

interface Scene {
  readonly folder: string
  readonly mark: string
  readonly child: ChildProcess
  written(): number
  alive(): readonly string[]
}

let count = 0
function begin(more = ''): Scene {
  const mark = `stubborn-${process.pid}-${++count}`
  const folder = join(base, String(count))
  mkdirSync(join(folder, 'out'), { recursive: true })
  writeFileSync(
    join(folder, 'plan.yaml'),
    `planfold: 1\nname: walls\ntasks:\n  - id: stay\n    run: ${JSON.stringify(STUBBORN.replace('MARK', mark))}\n    write: [out/**]\n    network: []\n${more}`,
  )
  const child = spawn(process.execPath, [CLI, 'run', 'plan.yaml'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, PLANFOLD_AS: 'ana' },
    stdio: 'ignore',
  })
  return {
    folder,
    mark,
    child,
    written: () =>
      readdirSync(join(folder, 'out')).reduce((sum, name) => sum + statSync(join(folder, 'out', name)).size, 0),
    alive: () => processesWith(mark),
  }
}

/** Whoever names the mark, outside this process; the plan file does, so Planfold's own command line does not. */
function processesWith(mark: string): readonly string[] {
  return readdirSync('/proc').filter(pid => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark)
    } catch {
      return false
    }
  })
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise(resolve =>
    child.exitCode !== null || child.signalCode !== null ? resolve() : child.once('exit', () => resolve()),
  )

async function nothingStays(scene: Scene): Promise<void> {
  await until('all of it to be gone', () => scene.alive().length === 0, 60_000)
  const written = scene.written()
  await pause(100)
  expect(scene.alive()).toEqual([])
  expect(scene.written()).toBe(written)
}

describe.skipIf(!standing.ok)('nothing of a task outlives', () => {
  test(`a SIGKILL of Planfold in its middle, ${TIMES} times`, async () => {
    let longest = 0
    for (let time = 0; time < TIMES; time++) {
      const scene = begin()
      await until('it to write', () => scene.written() > 5)
      await pause(Math.random() * 50)
      const at = performance.now()
      scene.child.kill('SIGKILL')
      await nothingStays(scene)
      longest = Math.max(longest, performance.now() - at - 100)
    }
    console.log(`gone after at most ${Math.round(longest)} ms, ${TIMES} of ${TIMES}`)
  })

  test(`a SIGKILL within 15 ms of its start, ${TIMES} times`, async () => {
    for (let time = 0; time < TIMES; time++) {
      const scene = begin()
      await untilStarted(scene)
      const end = performance.now() + Math.random() * 15
      while (performance.now() < end);
      scene.child.kill('SIGKILL')
      await ended(scene.child)
      await nothingStays(scene)
    }
  })

  test('its own time limit', async () => {
    const scene = begin('    timeout: 500ms\n')
    await ended(scene.child)
    await nothingStays(scene)
  })

  test('a cancelled plan', async () => {
    const scene = begin()
    await until('it to write', () => scene.written() > 5)
    const cancel = spawn(process.execPath, [CLI, 'cancel', 'walls', '--force'], {
      cwd: scene.folder,
      env: { PATH: process.env.PATH, HOME: scene.folder, PLANFOLD_AS: 'ana' },
      stdio: 'ignore',
    })
    await ended(cancel)
    expect(cancel.exitCode).toBe(0)
    await ended(scene.child)
    await nothingStays(scene)
  })
})

/** A child of Planfold that is bubblewrap: looked for all the time. The canary is one too, and has ended by then. */
async function untilStarted({ child, mark }: Scene): Promise<void> {
  const deadline = performance.now() + 60_000
  for (;;) {
    if (processesWith(mark).some(pid => pid !== String(child.pid))) return
    if (child.exitCode !== null || performance.now() > deadline) throw new Error('it was never started')
    await pause(1)
  }
}
