// What a stranger found with the product in hand, kept so that it stays found.

import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

it('a broken package.json in the workspace does not cost the lease', async () => {
  await here.write('package.json', '<<<<<<< HEAD\n{}')
  await here.write('p.yaml', 'planfold: 1\nname: p\ntasks: [{ id: a, run: "sleep 1; echo end >> s.log" }]\n')
  expect(await here.planfold('run', 'p.yaml')).toMatchObject({
    exit: 0,
    stderr: 'run with your permissions, not in the sandbox: a\n',
  })
  expect(readFileSync(join(here.folder, 's.log'), 'utf8')).toBe('end\n')
})

it('what may not happen twice does not happen again because something after it failed', async () => {
  const plan = (command: string) =>
    `planfold: 1\nname: r\ntasks:\n  - { id: publish, run: "echo once >> pub.log" }\n  - { id: announce, needs: [publish], effect: pure, run: "${command}" }\n`
  await here.write('r.yaml', plan('exit 1'))
  expect(await here.planfold('run', 'r.yaml')).toMatchObject({ exit: 1 })
  await here.write('r.yaml', plan('echo ok'))
  expect(await here.planfold('run', 'r.yaml')).toMatchObject({ exit: 0 })
  expect(readFileSync(join(here.folder, 'pub.log'), 'utf8')).toBe('once\n')
  expect(await here.planfold('run', 'r.yaml', '--again')).toMatchObject({ exit: 0 })
  expect(readFileSync(join(here.folder, 'pub.log'), 'utf8')).toBe('once\nonce\n')
})

it('check misses an artifact that is gone', async () => {
  await here.write(
    'p.yaml',
    `planfold: 1\nname: p\ntasks: [{ id: a, effect: pure, run: "head -c 200000 /dev/zero | tr '\\\\0' y", outputs: { t: stdout } }]\n`,
  )
  expect(await here.planfold('run', 'p.yaml', '--quiet')).toMatchObject({ exit: 0 })
  const shown = JSON.parse((await here.planfold('show', 'p', 'a', '--json')).stdout)
  const artifact = JSON.stringify(shown).match(/"artifact":"([0-9a-f]{64})"/)?.[1] ?? ''
  expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 0 })
  rmSync(join(here.folder, '.planfold/blobs', artifact.slice(0, 2), artifact.slice(2)))
  expect(await here.planfold('doctor', 'store')).toMatchObject({ exit: 1 })
})

it('a report that is not accepted ends with the exit code of a failure', async () => {
  await here.write('p.yaml', 'planfold: 1\nname: p\ntasks: [{ id: a, accept: [{ expect: outputs.tests >= 10 }] }]\n')
  await here.planfold('run', 'p.yaml')
  expect(await here.planfold('report', '--status', 'done', 'p', 'a', '--output', 'tests=3')).toMatchObject({ exit: 1 })
})
