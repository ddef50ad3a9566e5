// Real commands in sandboxes whose folders lie in each other. What commands try to break out is in `test/e2e/sandbox.test.ts`.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bubblewrap } from './bubblewrap.ts'
import type { SandboxRequest, Wrapped } from './sandbox.ts'
import { tryBoxed } from './sandboxed-process.ts'

const PATH = process.env.PATH ?? ''
const standing = await bubblewrap({ environment: { PATH, HOME: '/nonexistent' }, outside: [] }).check()
if (!standing.ok) console.log(`skipped: ${standing.failure.message}`)

/** Much less than a disk has in use, and enough for a shell. */
const limits = { memoryBytes: 100_000_000, processes: 50 }
const MAX_MS = 120_000

function setup(...workspace: readonly string[]) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'planfold-box-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const home = join(base, 'home')
  const root = join(base, ...workspace)
  for (const folder of [home, root]) mkdirSync(folder, { recursive: true })
  const make = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(join(base, path)), { recursive: true })
    writeFileSync(join(base, path), text, { mode })
  }
  const runIn = async (path: string, script: string, change = (wrapped: Wrapped): Wrapped => wrapped) => {
    const environment = { PATH: `${path}:${PATH}`, HOME: home }
    const request: SandboxRequest = {
      ...{ root, cwd: root, stateDir: join(root, '.planfold'), write: [], network: 'none', limits },
      ...{ argv: ['/bin/sh', '-c', script], env: environment },
    }
    const wrapped = await bubblewrap({ environment, outside: [] }).wrap(request)
    if (!wrapped.ok) throw new Error(wrapped.failure.message)
    const { output, fault } = await tryBoxed(change(wrapped.value), MAX_MS)
    return { said: output.trim().split('\n'), fault }
  }
  return { base, home, root, make, runIn }
}

/** Long enough to be measured. */
const MEASURED = 'sleep 1'

describe.skipIf(!standing.ok)('a sandbox', () => {
  test('has a home of its own although PATH leads to the home: of it, only the programs are seen', async () => {
    const { home, make, runIn } = setup('home', 'project')
    make('home/tool', '#!/bin/sh\necho works\n', 0o755)
    make('home/.ssh/key', 'secret\n')
    make('home/notes', 'secret\n')
    const script = `tool; echo x > "$HOME/x" && cat "$HOME/x"; ls -A "$HOME"; ${MEASURED}`
    expect(await runIn(home, script)).toEqual({ said: ['works', 'x', 'project', 'tool', 'x'], fault: null })
  })

  test('hides what lies beside the workspace although PATH leads there', async () => {
    const { base, make, runIn } = setup('project')
    make('tool', '#!/bin/sh\necho works\n', 0o755)
    make('notes', 'secret\n')
    expect(await runIn(base, `tool; ls -A ${base}; ${MEASURED}`)).toEqual({
      said: ['works', 'home', 'project', 'tool'],
      fault: null,
    })
  })

  test('holds a workspace that lies in a toolchain, as Go lays them out', async () => {
    const { home, make, runIn } = setup('home', 'go', 'src', 'project')
    make('home/go/bin/gofmt', '#!/bin/sh\necho works\n', 0o755)
    const script = `gofmt; (echo no > ../beside) 2> /dev/null || echo refused; ${MEASURED}`
    expect(await runIn(join(home, 'go/bin'), script)).toEqual({ said: ['works', 'refused'], fault: null })
  })

  test('counts as memory what it wrote into its own folders in memory, and nothing of a disk or of this machine', async () => {
    const { runIn } = setup('project')
    const overlaid = (wrapped: Wrapped): Wrapped => ({
      ...wrapped,
      mounts: [...wrapped.mounts, '--ro-bind', '/dev/shm', '/dev/shm'],
      inMemory: [...wrapped.inMemory, '/usr', '/nonexistent'],
    })
    expect(await runIn('/usr/bin', MEASURED, overlaid)).toEqual({ said: [''], fault: null })
    const filler = await runIn('/usr/bin', 'head -c 150000000 /dev/zero > /tmp/file; sleep 60', overlaid)
    expect(filler.fault).toBe('it used more than 95.4 MiB of memory (policy.limits.memory), and was ended')
  })
})

test.skipIf(!standing.ok)('a trial says why it failed', async () => {
  const { runIn } = setup('project')
  expect(await runIn('/usr/bin', 'echo one; echo no more >&2; exit 3')).toEqual({
    said: ['one'],
    fault: 'its command ended with exit code 3: no more',
  })
})

test.skipIf(!standing.ok)(
  'a program is tried once in a process; again when it is replaced, and when it did not hold',
  async () => {
    const { base, make } = setup('project')
    const asked = join(base, 'asked')
    const program = (comment: string, real: string): void =>
      make('bin/bwrap', `#!/bin/sh\n# ${comment}\necho "$1" >> ${asked}\nexec ${real} "$@"\n`, 0o755)
    /** How often a program was asked for its version while two sandboxes were opened one after the other. */
    const trials = async (): Promise<{ ok: boolean[]; versions: number }> => {
      rmSync(asked, { force: true })
      const environment = { PATH: `${join(base, 'bin')}:${PATH}`, HOME: '/nonexistent' }
      const check = async () => (await bubblewrap({ environment, outside: [] }).check()).ok
      const ok = [await check(), await check()]
      const lines = existsSync(asked) ? readFileSync(asked, 'utf8').split('\n') : []
      return { ok, versions: lines.filter(line => line === '--version').length }
    }
    const real = standing.ok ? standing.program : ''
    program('one', real)
    expect(await trials()).toEqual({ ok: [true, true], versions: 1 })
    expect(await trials()).toEqual({ ok: [true, true], versions: 0 })
    program('another', real)
    expect(await trials()).toEqual({ ok: [true, true], versions: 1 })
    program('broken', '/bin/false')
    expect(await trials()).toEqual({ ok: [false, false], versions: 2 })
  },
)
