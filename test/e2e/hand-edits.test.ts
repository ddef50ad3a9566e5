// A person's work is never taken back silently: edits after a crash or a failed attempt are waited for, everything else that is
// set back is named and can be restored. Real processes, killed with SIGKILL, and a shell as the person.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { place } from './in-process.fixture.ts'
import { MAIN, type Place } from './planfold.fixture.ts'
import { sh } from './tree.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
  sh(
    here.folder,
    'mkdir src; echo one > src/mine.txt; echo base > src/out.txt; echo same > src/same.txt; echo go > src/gone.txt',
  )
})
afterEach(() => here.remove())

const file = (path: string): string => readFileSync(join(here.folder, path), 'utf8')

/** Writes a part, then waits until somebody lets it go on; the second attempt finds the way free. */
const plan = (more = ''): string => `planfold: 1
name: demo
${more}tasks:
  - id: build
    write: [src/**]
    network: []
    run: "echo part >> src/out.txt; test -e go || exec sleep 60; echo done >> src/out.txt"
`

/** Runs until the part is written, then kills the process and its child, as a power cut would. */
async function killedInTheMiddle(more?: string, text = plan(more)): Promise<void> {
  await here.write('plan.yaml', text)
  const child = spawn(process.execPath, [MAIN, 'run', 'plan.yaml'], {
    cwd: here.folder,
    stdio: 'ignore',
    detached: true,
  })
  await vi.waitFor(() => expect(file('src/out.txt')).toContain('part'), { timeout: 120_000, interval: 20 })
  const children = sh(here.folder, `ps -o pid= --ppid ${child.pid} || true`).split(/\s+/).filter(Boolean)
  const ended = new Promise(resolve => child.once('exit', resolve))
  process.kill(child.pid!, 'SIGKILL')
  for (const pid of children) sh(here.folder, `kill -9 ${pid} || true`)
  await ended
}

/** Two seconds belong to the dead process: only what is changed later is known to be a person's. Real time has to pass. */
const LATER_MS = 3_000

describe('after a crash', () => {
  it('edits of a person are waited for, named in four places, and kept, taken or restored by one command each', async () => {
    await killedInTheMiddle()
    const untouched = statSync(join(here.folder, 'src/same.txt'))
    await pause(LATER_MS)
    sh(here.folder, 'echo fix >> src/mine.txt; rm src/gone.txt; echo new > src/new.txt; touch go')
    const resumed = await here.planfold('resume')
    expect(resumed.exit).toBe(4)
    for (const said of [
      resumed,
      await here.planfold('status', 'demo'),
      await here.planfold('inbox'),
      await here.planfold('log', 'demo'),
    ])
      for (const path of ['src/mine.txt', 'src/gone.txt', 'src/new.txt']) expect(said.stdout).toContain(path)
    for (const choice of ['keep', 'take', 'merge'])
      expect(resumed.stdout).toContain(`planfold answer demo build ${choice}`)
    const shown = await here.planfold('show', 'demo', 'build')
    expect(shown).toMatchObject({ exit: 0, stderr: '' })
    expect(shown.stdout).toContain('src/mine.txt')
    expect(shown.stdout).toContain('Next: planfold answer demo build keep')
    expect(await here.json('show', 'demo', 'build')).toMatchObject({ asks: { asks: { type: 'edits' } }, shown: null })
    expect((await here.planfold('next', 'demo', '--explain')).stdout).toContain(
      'needs your decision: keep, take or merge the edits',
    )
    expect([file('src/mine.txt'), file('src/new.txt'), existsSync(join(here.folder, 'src/gone.txt'))]).toEqual([
      'one\nfix\n',
      'new\n',
      false,
    ])

    // A choice for single files alone chooses nothing, and says the command that does.
    const single = await here.planfold('answer', 'demo', 'build', '--take', 'src/gone.txt')
    expect(single).toMatchObject({ exit: 2, stdout: '' })
    expect(single.stderr).toContain('hint: planfold answer demo build keep --take src/gone.txt')
    expect(await here.planfold('answer', 'demo', 'build', 'keep', '--take', 'src/gone.txt')).toMatchObject({ exit: 0 })
    const again = await here.planfold('resume')
    expect(again).toMatchObject({ exit: 0 })
    expect([file('src/mine.txt'), file('src/new.txt'), file('src/gone.txt'), file('src/out.txt')]).toEqual([
      'one\nfix\n',
      'new\n',
      'go\n',
      'base\npart\ndone\n',
    ])
    // What the dead attempt had written may have been either's: set back, and said.
    expect(again.stdout).toContain('reverted')
    expect(again.stdout).toContain('planfold undo files demo')
    // Equal to what stood before, it was not touched.
    const now = statSync(join(here.folder, 'src/same.txt'))
    expect([now.ino, now.ctimeMs]).toEqual([untouched.ino, untouched.ctimeMs])
    // What was kept is no work of the task: a rollback leaves it alone.
    expect(await here.planfold('rollback', 'demo', '--to', '2', '--files-only')).toMatchObject({ exit: 0 })
    expect([file('src/mine.txt'), file('src/new.txt'), file('src/out.txt')]).toEqual(['one\nfix\n', 'new\n', 'base\n'])
  })

  it.each([['keep'], ['take', '--keep', 'src/out.txt']])(
    'an edit that was kept (%s) and that the next attempts write over is told, and one command away',
    async (...choice) => {
      // The first was killed; the second fails.
      const failsOnce = 'test $PLANFOLD_ATTEMPT -gt 2 || exit 75'
      await killedInTheMiddle(
        '',
        plan()
          .replace('echo part >>', 'echo part >')
          .replace('echo done', `${failsOnce}; echo done`)
          .replace('    run:', '    retry: { attempts: 3, backoff: 1ms }\n    run:'),
      )
      await pause(LATER_MS)
      sh(here.folder, 'echo fix >> src/out.txt; touch go')
      expect(await here.planfold('resume')).toMatchObject({ exit: 4 })
      expect(await here.planfold('answer', 'demo', 'build', ...choice)).toMatchObject({ exit: 0 })
      const resumed = await here.planfold('resume')
      expect(resumed).toMatchObject({ exit: 0 })
      expect(file('src/out.txt')).toBe('part\ndone\n')
      // Each attempt that began with the edit wrote over it: the one that failed, and the one that went well.
      const log = (await here.planfold('log', 'demo')).stdout
      expect(log.match(/it overwrote edits of src\/out\.txt, which are backed up/g)).toHaveLength(2)
      for (const said of [resumed, await here.planfold('status', 'demo')])
        expect(said.stdout).toContain('planfold undo files demo src/out.txt')
      expect(await here.planfold('undo', 'files', 'demo', 'src/out.txt')).toMatchObject({ exit: 0 })
      expect(file('src/out.txt')).toBe('part\nfix\n')
    },
  )

  it('with `edits: set-back` nothing waits; every version can be restored, also after a prune', async () => {
    await killedInTheMiddle('recovery: { edits: set-back }\n')
    await pause(LATER_MS)
    sh(here.folder, 'echo fix >> src/mine.txt; touch go')
    const resumed = await here.planfold('resume')
    expect(resumed).toMatchObject({ exit: 0 })
    expect(resumed.stdout).toContain('src/mine.txt')
    expect(file('src/mine.txt')).toBe('one\n')
    await here.planfold('prune', '--before', '0s', '--archive')
    expect((await here.planfold('undo', 'files', 'demo')).stdout).toContain('src/mine.txt')
    expect(await here.planfold('undo', 'files', 'demo', 'src/mine.txt')).toMatchObject({ exit: 0 })
    expect(file('src/mine.txt')).toBe('one\nfix\n')
    // Where something else stands by now, nothing is overwritten unless somebody says so, and then that is kept too.
    expect(await here.planfold('undo', 'files', 'demo', 'src/out.txt')).toMatchObject({ exit: 3 })
    expect(file('src/out.txt')).toBe('base\npart\ndone\n')
    expect(await here.planfold('undo', 'files', 'demo', 'src/out.txt', '--overwrite')).toMatchObject({ exit: 0 })
    expect(file('src/out.txt')).toBe('base\npart\n')
    // Asking twice is asking once; what the restore itself replaced is had by its hash.
    expect(await here.planfold('undo', 'files', 'demo', 'src/out.txt')).toMatchObject({ exit: 0 })
    expect(file('src/out.txt')).toBe('base\npart\n')
    const { items } = (await here.json('undo', 'files', 'demo')) as {
      items: { by: string; kept: { sha256: string } }[]
    }
    const replaced = items.findLast(one => one.by === 'restore')!
    const hash = ['--hash', replaced.kept.sha256.slice(0, 12)]
    expect(await here.planfold('undo', 'files', 'demo', 'src/out.txt', ...hash, '--overwrite')).toMatchObject({
      exit: 0,
    })
    expect(file('src/out.txt')).toBe('base\npart\ndone\n')
  })
})

describe('after an attempt that failed', () => {
  const retrying = `planfold: 1
name: demo
tasks:
  - id: build
    write: [src/**]
    network: []
    retry: { attempts: 2, backoff: BACKOFF }
    run: "echo mine >> src/out.txt; test $PLANFOLD_ATTEMPT = 2 && exit 0; until test -e on; do sleep 0.05; done; exit 75"
`

  it('what a person made while it ran may be either of theirs: set back, named, and one command away', async () => {
    await here.write('plan.yaml', retrying.replace('BACKOFF', '1ms'))
    const running = here.planfold('run', 'plan.yaml')
    await vi.waitFor(() => expect(file('src/out.txt')).toContain('mine'), { timeout: 120_000, interval: 20 })
    sh(here.folder, 'echo by-hand > src/new.txt; touch on')
    const ran = await running
    expect(ran).toMatchObject({ exit: 0 })
    expect(ran.stdout).toMatch(/reverted.*src\/new\.txt/)
    expect(existsSync(join(here.folder, 'src/new.txt'))).toBe(false)
    for (const command of ['status', 'log'])
      expect((await here.planfold(command, 'demo')).stdout).toContain('src/new.txt')
    expect(await here.planfold('undo', 'files', 'demo', 'src/new.txt')).toMatchObject({ exit: 0 })
    expect(file('src/new.txt')).toBe('by-hand\n')
  })

  it('what a person changed after it ended is waited for, and merged where both join', async () => {
    sh(here.folder, "printf 'a\\nb\\nc\\nd\\ne\\nf\\ng\\n' > src/out.txt")
    await here.write('on', '')
    await here.write('plan.yaml', retrying.replace('BACKOFF', '5s'))
    const running = here.start('run', 'plan.yaml')
    await running.until('retrying in')
    // However long she takes, the next attempt has not begun.
    running.kill('SIGSTOP')
    sh(here.folder, "sed -i 's/^a$/A/' src/out.txt")
    running.kill('SIGCONT')
    const waits = await running.ended
    expect(waits, waits.stdout + waits.stderr).toMatchObject({ exit: 4 })
    expect(file('src/out.txt')).toBe('A\nb\nc\nd\ne\nf\ng\nmine\n')
    expect(await here.planfold('answer', 'demo', 'build', 'merge')).toMatchObject({ exit: 0 })
    expect(await here.planfold('resume')).toMatchObject({ exit: 0 })
    // The first attempt's line is out, the person's edit is in, the second attempt's line is in.
    expect(file('src/out.txt')).toBe('A\nb\nc\nd\ne\nf\ng\nmine\n')
    expect((await here.planfold('show', 'demo')).exit).toBe(0)
    expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 0 })
  })
})

describe('run again by hand', () => {
  // Done again, it begins with the files as they stand, and here it writes over all of them.
  const again = `planfold: 1
name: demo
tasks:
  - id: build
    write: [src/**]
    network: []
    run: "echo mine > src/out.txt; test -e go || exit 1; echo mine > src/mine.txt; rm src/gone.txt"
`

  it('what a person changed since it failed and the task writes over is told, and one command away', async () => {
    await here.write('plan.yaml', again)
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 1 })
    sh(here.folder, 'echo hand > src/out.txt; echo hand > src/mine.txt; echo hand > src/gone.txt; touch go')
    const ran = await here.planfold('run', 'demo')
    expect(ran).toMatchObject({ exit: 0 })
    for (const said of [ran, await here.planfold('status', 'demo'), await here.planfold('log', 'demo')])
      for (const path of ['src/out.txt', 'src/mine.txt', 'src/gone.txt']) expect(said.stdout).toContain(path)
    expect(ran.stdout).toContain('planfold undo files demo')
    const list = await here.planfold('undo', 'files', 'demo')
    expect(list.stdout.match(/overwritten .* by build/g)).toHaveLength(3)
    await here.planfold('prune', '--before', '0s', '--archive')
    const paths = ['src/out.txt', 'src/mine.txt', 'src/gone.txt']
    expect(await here.planfold('undo', 'files', 'demo', ...paths)).toMatchObject({ exit: 0 })
    expect(paths.map(file)).toEqual(['hand\n', 'hand\n', 'hand\n'])
    expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 0 })
  })

  it('what the plan itself had left there is nobody’s edit: nothing is said', async () => {
    await here.write('plan.yaml', again)
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 1 })
    sh(here.folder, 'touch go')
    const ran = await here.planfold('run', 'demo')
    expect(ran.stdout + ran.stderr).not.toContain('undo files')
    expect((await here.json('undo', 'files', 'demo')) as object).toMatchObject({ items: [] })
  })
})
