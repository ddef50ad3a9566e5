// The kill switch with real processes: what runs is ended within seconds, also what may not be run twice, and nothing begins again
// before somebody lifts it.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Place, place } from './planfold.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

const ENDS_WITHIN_MS = 5_000

test('halt ends running work at once, parks what may not happen twice, and lets nothing begin until it is lifted', async () => {
  await here.write(
    'long.yaml',
    `planfold: 1
name: long
policy: { checkpoints: { files: declared } }
tasks:
  - { id: unsafe, run: "echo begun; sleep 300; touch happened" }
  - { id: safe, run: "echo begun too; sleep 300", effect: pure }
  - { id: after, needs: [unsafe], run: ["true"], effect: pure }
`,
  )
  const run = here.start('run', 'long.yaml')
  await run.until('begun too')
  await run.until('begun')
  const began = performance.now()
  const halted = await here.planfold('halt', '-m', 'it \u202edrops tables', '--as', 'bo')
  const ordered = performance.now() - began
  expect(halted).toMatchObject({ exit: 0 })
  expect(halted.stdout).toContain('paused: long')
  expect(halted.stdout).toContain('\\u{202e}')
  const stopped = await run.ended
  expect(stopped).toMatchObject({ exit: 4, stdout: expect.stringContaining('  Next: planfold halt --lift\n') })
  expect(stopped.stdout).not.toContain('planfold resume')
  // Where giving the order takes seconds, ending what runs may take as many times longer.
  expect(performance.now() - began).toBeLessThan(Math.max(ENDS_WITHIN_MS + 5_000, 5 * ordered))
  expect(existsSync(join(here.folder, 'happened'))).toBe(false)

  await here.write('other.yaml', 'planfold: 1\nname: other\ntasks: [{ id: a, run: ["touch", "a"] }]\n')
  const refusedRun = await here.planfold('run', 'other.yaml')
  expect(refusedRun).toMatchObject({ exit: 3 })
  expect(refusedRun.stderr).toContain('everything was halted by bo')
  expect(refusedRun.stderr).toContain('planfold halt --lift')
  expect(await here.planfold('resume', 'long')).toMatchObject({ exit: 3 })
  expect(existsSync(join(here.folder, 'a'))).toBe(false)
  expect(await here.json('halt', '--show')).toMatchObject({ halted: { by: 'bo' } })
  // Once more changes nothing, and the first who said it stands.
  expect(await here.json('halt', '-m', 'again')).toMatchObject({ halted: { by: 'bo', paused: [], already: ['long'] } })
  expect((await here.planfold('halt')).stdout).toContain('paused already: long')

  expect(await here.planfold('halt', '--lift')).toMatchObject({ exit: 0 })
  expect((await here.planfold('halt', '--show')).stdout).toContain('nothing is halted')
  const status = (await here.json('status', 'long')) as { readonly status: string }
  expect(JSON.stringify(status)).toContain('unknown-outcome')
  expect(await here.planfold('reject', 'long', 'unsafe', '-m', 'it must not')).toMatchObject({ exit: 0 })
  expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 0 })
  expect((await here.planfold('audit', 'replay', 'long')).exit).toBe(0)
})
