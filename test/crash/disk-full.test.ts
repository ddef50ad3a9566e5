// The machine runs out of space or of file handles while a plan is driven, or a folder vanishes: real file systems, real limits,
// real system calls that fail. Promises P11 and P13. Whatever happens, no task fails by it, nothing completed is undone, and the
// same command completes the same plan when the cause is gone. The outside world is a log file that only the commands write.

import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { serving } from '../e2e/serve.fixture.ts'
import { type Command, commandIn } from './command.ts'
import { type Ended, endAll, makeFolder, Real } from './harness.ts'
import { ALL } from './kill-points.ts'
import { counted, ONE_POOL_THREAD, tracedInPool, tracing, whyNoStrace } from './strace.ts'

const CLI = join(process.env.PLANFOLD_DIST ?? resolve(import.meta.dirname, '../../dist'), 'cli/main.js')
const noMount = whyNoMount()
if (noMount !== null) console.warn(`SKIPPED: a disk that is really full needs a small tmpfs, and ${noMount}`)
const noStrace = whyNoStrace()
if (noStrace !== null) console.warn(`SKIPPED: ENOSPC at every write needs strace, and ${noStrace}`)
const noPrlimit = spawnSync('prlimit', ['--version']).status === 0 ? null : 'there is no prlimit'
if (noPrlimit !== null) console.warn(`SKIPPED: running out of file handles needs prlimit, and ${noPrlimit}`)

/**
 * Takes the handles of the engine away as soon as its heartbeat has read the store too, which is the third to do so. SQLite opens
 * the log of the store at the first statement, later than the store itself: a heartbeat caught between the two cannot renew.
 */
const NO_HANDLES =
  'until [ "$(ls -l /proc/$PPID/fd | grep -c planfold.db-wal$)" -ge 3 ]; do :; done; prlimit --pid $PPID --nofile=20:'

const scenes: Scene[] = []
afterEach(async () => {
  await endAll()
  for (const scene of scenes.splice(0)) scene.close()
})

interface SceneOptions {
  /** Mount a tmpfs of so many kilobytes for the state folder. */
  readonly stateKb?: number
  /** What `publish` does besides, after it has published. */
  readonly publish?: string
  readonly effect?: string
}

/** A workspace, a state folder on a disk of its own if wanted, and the plan: publish, then build in a scope, then look at it. */
class Scene {
  readonly base = makeFolder()
  readonly root = join(this.base, 'workspace')
  readonly disk = join(this.base, 'disk')
  readonly state = join(this.disk, 'state')
  readonly log = join(this.base, 'outside.log')
  readonly #mounted: boolean
  readonly #command: Command = commandIn(this.root)

  constructor({ stateKb, publish = 'true', effect = 'idempotent' }: SceneOptions = {}) {
    scenes.push(this)
    mkdirSync(join(this.root, 'src'), { recursive: true })
    mkdirSync(this.disk)
    this.#mounted = stateKb !== undefined
    if (stateKb !== undefined) mount('-t', 'tmpfs', '-o', `size=${stateKb}k`, 'tmpfs', this.disk)
    for (let file = 0; file < 4; file++) writeFileSync(join(this.root, `src/${file}.txt`), noise(15_000, file))
    const definition = [
      'planfold: 1',
      'name: ship',
      'tasks:',
      '  - id: publish',
      `    run: [sh, -c, ${JSON.stringify(`echo published >> ${this.log}; ${publish}`)}]`,
      `    effect: ${effect}`,
      `    compensate: { run: [sh, -c, ${JSON.stringify(`echo undone >> ${this.log}`)}] }`,
      '  - id: build',
      '    needs: [publish]',
      "    run: [sh, -c, 'echo built > src/out.txt']",
      '    effect: workspace',
      '    write: [src/**]',
      '  - id: look',
      '    needs: [build]',
      '    run: [sh, -c, \'test "$(cat src/out.txt)" = built\']',
      '    effect: pure',
    ]
    writeFileSync(join(this.root, 'plan.yaml'), `${definition.join('\n')}\n`)
  }

  planfold(argv: readonly string[], env: Record<string, string> = {}, before: readonly string[] = []): Real {
    return new Real([...before, process.execPath, CLI, '--dir', this.state, ...argv], { cwd: this.root, env })
  }

  /** Whoever may meet the fault is a process, so that one that breaks off shows. */
  async run(): Promise<Ended> {
    return await this.planfold(['run', 'plan.yaml']).end()
  }

  /** Without a process of its own: what is asked or done when the fault is gone. */
  async said(...argv: readonly string[]): Promise<Ended> {
    return await this.#command(['--dir', this.state, ...argv])
  }

  outside(): readonly string[] {
    return existsSync(this.log) ? readFileSync(this.log, 'utf8').trim().split('\n') : []
  }

  /** Leaves so many kilobytes of the disk free, the first time it is run. */
  static fill(disk: string, leaveKb: number): string {
    const free = `$(( $(df -k --output=avail ${disk} | tail -1) - ${leaveKb} ))`
    const filling = `kb=${free}; [ $kb -le 0 ] || head -c $(( kb * 1024 )) /dev/zero > ${disk}/filler`
    return `[ -e ${disk}.filled ] || { touch ${disk}.filled; ${filling}; }`
  }

  makeRoom(): void {
    rmSync(join(this.disk, 'filler'), { force: true })
  }

  close(): void {
    if (this.#mounted) spawnSync('umount', ['-l', this.disk])
    rmSync(this.base, { recursive: true, force: true })
    rmSync(`${this.base}.away`, { recursive: true, force: true })
  }
}

/** Stopped or completed, and no task failed; then the same command completes the same plan. Answers how often it published. */
async function goesOn(scene: Scene, first: Ended, told: string): Promise<number> {
  const shown = `${told}:\n${first.out}${first.err}`
  expect([0, 3, 4], shown).toContain(first.code)
  // Exit 3 only where it could not even be set going: then nothing has happened.
  if (first.code === 3) expect(scene.outside(), shown).toEqual([])
  scene.makeRoom()
  if (first.code !== 0) {
    const second = await scene.said('run', 'plan.yaml')
    expect(second.code, `${shown}\n${second.out}${second.err}`).toBe(0)
  }
  expect(scene.outside(), shown).not.toContain('undone')
  expect(readFileSync(join(scene.root, 'src/out.txt'), 'utf8'), shown).toBe('built\n')
  const check = await scene.said('doctor', 'store', '--read-data')
  expect(check.code, `${shown}\n${check.out}${check.err}`).toBe(0)
  const listed = JSON.parse((await scene.said('--json', 'list')).out) as { data: { items: { name: string }[] } }
  expect(
    listed.data.items.map(({ name }) => name),
    shown,
  ).toEqual(['ship'])
  const log = JSON.parse((await scene.said('--json', 'log', 'ship')).out) as unknown
  expect(JSON.stringify(log), shown).not.toContain('"attempt.failed"')
  return scene.outside().length
}

describe.skipIf(noMount !== null)(`a disk that is full${noMount === null ? '' : ` (skipped: ${noMount})`}`, () => {
  test('pauses the plan with exit 4; publish is not compensated, and afterwards run goes on without a clone', async () => {
    const scene = new Scene({ stateKb: 700, publish: 'head -c 600000 /dev/urandom > src/large.bin', effect: 'pure' })
    const first = await scene.run()
    expect(first.code, first.out + first.err).toBe(4)
    expect(first.out).toContain('paused')
    expect(first.out).toContain('ENOSPC')
    expect(first.out).toContain('No task failed, and nothing was undone.')
    const status = JSON.parse((await scene.said('--json', 'status', 'ship')).out) as { data: unknown }
    expect(status.data).toMatchObject({
      status: 'paused',
      progress: { counts: { completed: 1, ready: 1 } },
      shortage: { kind: 'disk-full', code: 'ENOSPC' },
    })
    const again = await scene.planfold(['resume', 'ship']).end()
    expect(again.code, again.out + again.err).toBe(4)
    mount('-o', 'remount,size=8m', scene.disk)
    expect(await goesOn(scene, first, '700 kB')).toBe(1)
  })

  test('in a service the plan goes on by itself when there is space again', async () => {
    // Room enough for the service to start, and not for the capture.
    const scene = new Scene({
      stateKb: 2_048,
      publish: 'head -c 1800000 /dev/urandom > src/large.bin',
      effect: 'pure',
    })
    expect((await scene.run()).code).toBe(4)
    const service = await serving(scene.root, '--no-auth', '--dir', scene.state)
    try {
      const shown = async () => (await (await fetch(`${service.address}/plans/ship`)).json()) as object
      // Now and then it tries, and finds no room.
      await expect.poll(shown).toMatchObject({ state: 'paused', shortage: { kind: 'disk-full', code: 'ENOSPC' } })
      mount('-o', 'remount,size=8m', scene.disk)
      await expect.poll(shown, { timeout: 120_000, interval: 200 }).toMatchObject({ state: 'completed' })
    } finally {
      service.kill('SIGTERM')
      await service.ended
    }
    expect(scene.outside()).toEqual(['published'])
  })

  const leaves = ALL ? Array.from({ length: 51 }, (_, at) => at * 4) : [0]
  test.each(leaves)('with %i kB left when publish ends, nothing is undone and it goes on', async leaveKb => {
    const scene = new Scene({ stateKb: 2_048, publish: 'true' })
    const filling = new Scene({ publish: Scene.fill(scene.disk, leaveKb) })
    // The command of one scene that fills the disk of the other.
    writeFileSync(
      join(scene.root, 'plan.yaml'),
      readFileSync(join(filling.root, 'plan.yaml'), 'utf8').replaceAll(filling.base, scene.base),
    )
    const first = await scene.run()
    expect(await goesOn(scene, first, `${leaveKb} kB left`)).toBeLessThanOrEqual(2)
  })
})

describe.skipIf(noMount !== null)('a rollback on a disk that is full', () => {
  const build = 'for i in 0 1 2 3; do head -c 15000 /dev/urandom > src/$i.txt; done; echo built > src/out.txt'

  const leaves = ALL ? Array.from({ length: 41 }, (_, at) => at * 4) : [60]
  test.each(leaves)(
    'with %i kB left it is refused or finished later, and undo still has what it replaced',
    async leaveKb => {
      const scene = new Scene({ stateKb: 2_048 })
      const task = `{ id: build, run: [sh, -c, ${JSON.stringify(build)}], effect: workspace, write: [src/**] }`
      writeFileSync(join(scene.root, 'plan.yaml'), `planfold: 1\nname: ship\ntasks:\n  - ${task}\n`)
      const standing = () =>
        Object.fromEntries(
          readdirSync(join(scene.root, 'src')).map(name => [
            name,
            readFileSync(join(scene.root, 'src', name), 'latin1'),
          ]),
        )
      const before = standing()
      expect((await scene.said('run', 'plan.yaml')).code).toBe(0)
      const built = standing()
      spawnSync('sh', ['-c', Scene.fill(scene.disk, leaveKb)])
      const first = await scene.planfold(['rollback', 'ship', '--yes']).end()
      const shown = `${leaveKb} kB left:\n${first.out}${first.err}`
      expect([0, 3, 4], shown).toContain(first.code)
      if (first.code !== 0) expect(first.err, shown).toMatch(/the disk is full(.|\n)*(make room|[Ff]ree some)/)
      // Whole files of before or after, never half of one.
      for (const [name, content] of Object.entries(standing()))
        expect([before[name], built[name]].includes(content), `${shown}\n${name}`).toBe(true)
      scene.makeRoom()
      // Refused: nothing had begun, and it is ordered again. Ordered and not finished: whoever resumes the plan finishes it.
      const rest = first.code === 3 ? ['rollback', 'ship', '--yes'] : ['resume', 'ship']
      if (first.code === 3) expect(standing(), shown).toEqual(built)
      if (first.code !== 0) {
        const second = await scene.said(...rest)
        expect([0, 4], `${shown}\n${second.out}${second.err}`).toContain(second.code)
      }
      expect(standing(), shown).toEqual(before)
      const undone = await scene.said('undo', 'ship')
      expect(undone.code, `${shown}\n${undone.out}${undone.err}`).toBe(0)
      expect(standing(), shown).toEqual(built)
      const check = await scene.said('doctor', 'store', '--read-data')
      expect(check.code, `${shown}\n${check.out}${check.err}`).toBe(0)
    },
  )
})

describe.skipIf(noStrace !== null)(`ENOSPC at a write${noStrace === null ? '' : ` (skipped: ${noStrace})`}`, () => {
  const failing = (call: string, k: number): readonly string[] => [
    ...tracing(call, '/dev/null'),
    '-e',
    `inject=${call}:error=ENOSPC:when=${k}`,
  ]
  const some = (count: number, most: number): readonly number[] =>
    ALL || count <= most
      ? Array.from({ length: count }, (_, at) => at + 1)
      : Array.from({ length: most }, (_, at) => 1 + Math.floor((at * count) / most))

  test('of files and blobs, one after the other: it pauses or goes on, and completes', {
    timeout: 3_600_000,
  }, async () => {
    for (const call of ALL ? ['openat', 'write', 'rename', 'mkdir', 'ftruncate'] : ['openat']) {
      const calm = new Scene()
      const out = join(calm.base, 'strace.out')
      await tracedInPool(calm.planfold(['run', 'plan.yaml'], ONE_POOL_THREAD), tracing(call, out))
      const all = makingRoom(call, out)
      const ks = some(all.length, 3).map(at => all[at - 1]!)
      if (call === 'openat') expect(ks.length).toBeGreaterThan(2)
      let paused = 0
      for (const k of ks) {
        const scene = new Scene()
        const run = scene.planfold(['run', 'plan.yaml'], ONE_POOL_THREAD)
        const first = await tracedInPool(run, failing(call, k))
        if (first.code === 4) paused++
        // Node gives up where it cannot wake itself: a crash like any other, and not what is asked here.
        if (first.signal === 'SIGABRT') continue
        expect(await goesOn(scene, first, `${call} ${k} in the pool`)).toBeLessThanOrEqual(2)
        scene.close()
      }
      if (call === 'openat') expect(paused).toBeGreaterThan(0)
    }
  })

  test('of SQLite, one after the other: nothing is lost or repeated', { timeout: 3_600_000 }, async () => {
    const calm = new Scene()
    const out = join(calm.base, 'strace.out')
    await calm.planfold(['run', 'plan.yaml'], {}, tracing('pwrite64', out)).end()
    const count = counted(out).length
    expect(count).toBeGreaterThan(20)
    for (const k of some(count, 2)) {
      const scene = new Scene({ effect: 'unsafe' })
      const first = await scene.planfold(['run', 'plan.yaml'], {}, failing('pwrite64', k)).end()
      expect(await goesOn(scene, first, `pwrite64 ${k} of SQLite`)).toBe(1)
      scene.close()
    }
  })

  test('a sync that fails stops the process, and is no failure of a task', { timeout: 600_000 }, async () => {
    const scene = new Scene()
    const run = scene.planfold(['run', 'plan.yaml'], ONE_POOL_THREAD)
    const first = await tracedInPool(run, [
      ...tracing('fsync,fdatasync', '/dev/null'),
      '-e',
      'inject=fsync,fdatasync:error=EIO:when=1',
    ])
    expect(first.code, first.out + first.err).toBe(3)
    expect(first.err).toContain('synced')
    const second = await scene.said('run', 'plan.yaml')
    expect(second.code, second.out + second.err).toBe(0)
    expect(scene.outside()).not.toContain('undone')
  })
})

test.skipIf(noPrlimit !== null)(
  'a process that runs out of file handles pauses the plan, and the result stays known',
  async () => {
    const scene = new Scene({ publish: NO_HANDLES, effect: 'unsafe' })
    const first = await scene.run()
    expect(first.code, first.out + first.err).toBe(4)
    expect(first.out).toContain('EMFILE')
    expect(await goesOn(scene, first, 'no handles')).toBe(1)
  },
)

test('a workspace that is moved away pauses the plan, and moved back it goes on', async () => {
  const scene = new Scene()
  const away = `${scene.base}.away`
  const plan = readFileSync(join(scene.root, 'plan.yaml'), 'utf8')
  writeFileSync(join(scene.root, 'plan.yaml'), plan.replace('; true', `; mv ${scene.root} ${away}`))
  const first = await scene.run()
  expect(readdirSync(away)).toContain('plan.yaml')
  renameSync(away, scene.root)
  expect(first.code, first.out + first.err).toBe(4)
  expect(first.out).toContain('is gone')
  writeFileSync(join(scene.root, 'plan.yaml'), plan)
  const second = await scene.said('resume', 'ship')
  expect(second.code, second.out + second.err).toBe(0)
  expect(scene.outside()).toEqual(['published'])
})

/** Those calls of a kind that take space: each with its number among all of its kind, for which strace counts. */
function makingRoom(call: string, out: string): readonly number[] {
  const lines = readFileSync(out, 'utf8')
    .split('\n')
    .filter(line => line.startsWith(`${call}(`))
  const takes = (line: string): boolean =>
    call === 'openat' ? line.includes('O_CREAT') : call !== 'write' || /^write\(\d+<\//.test(line)
  return lines.flatMap((line, at) => (takes(line) ? [at + 1] : []))
}

function mount(...argv: readonly string[]): void {
  const done = spawnSync('mount', argv, { encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`mount ${argv.join(' ')}: ${done.stderr}`)
}

function whyNoMount(): string | null {
  if (process.platform !== 'linux') return 'this is not Linux'
  const folder = mkdtempSync(join(tmpdir(), 'planfold-mount-'))
  const done = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { encoding: 'utf8' })
  if (done.status === 0) spawnSync('umount', [folder])
  rmSync(folder, { recursive: true, force: true })
  return done.status === 0 ? null : `mounting is not allowed here: ${(done.stderr ?? '').trim()}`
}

/** Bytes that do not compress, the same every time. */
function noise(bytes: number, seed: number): Buffer {
  const made = Buffer.alloc(bytes)
  let at = 0x9e3779b9 ^ seed
  for (let index = 0; index < bytes; index++) {
    at = (Math.imul(at, 1_664_525) + 1_013_904_223) >>> 0
    made[index] = at >>> 24
  }
  return made
}
