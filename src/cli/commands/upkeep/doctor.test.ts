// `planfold doctor`: what is planted is found, named and given a repair; nothing of the state folder is changed by looking.

import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Finding } from '../../../operations/upkeep/doctor.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { run } from '../plans/run.ts'
import { doctor } from './doctor.ts'

let place: Place
beforeEach(async () => {
  place = await newPlace()
})
afterEach(async () => await place.remove())

async function found(environment: { readonly [name: string]: string } = {}) {
  const said = await place.say(doctor, { json: true, environment })
  const { data } = JSON.parse(said.stdout) as { data: { ok: boolean; findings: readonly Finding[] } }
  const of = (part: Finding['part']) => data.findings.filter(each => each.part === part)
  // Whatever is not in order says what to do.
  for (const { status, repair } of data.findings) if (status !== 'ok') expect(repair).toEqual(expect.any(String))
  expect(data.ok).toBe(said.exit === 0)
  return { exit: said.exit, of, ...data }
}

async function withState(): Promise<string> {
  await place.write('plan.yaml', 'planfold: 1\nname: up\ntasks:\n  - id: a\n    edit: { file: a.txt, create: "x" }\n')
  expect((await place.say(context => run(context, 'plan.yaml', { start: true }))).exit).toBe(0)
  return join(place.folder, '.planfold')
}

describe('planfold doctor', () => {
  test('works without a state folder, and makes none', async () => {
    const { exit, of } = await found()
    expect(exit).toBe(0)
    expect(of('state')).toMatchObject([{ status: 'ok', message: expect.stringContaining('there is no state') }])
    for (const part of ['node', 'sqlite', 'git', 'disk', 'clock', 'permissions', 'models'] as const)
      expect([part, of(part).map(({ status }) => status)]).toEqual([part, ['ok']])
    expect(of('sandbox')).toHaveLength(1)
    expect(fs.readdirSync(place.folder)).toEqual([])
  })

  test('a healthy state folder is left as it is', async () => {
    await withState()
    const before = await place.hash()
    expect(await found()).toMatchObject({ exit: 0, ok: true })
    expect(await place.hash()).toBe(before)
  })

  test('says it in words, each with its repair', async () => {
    const state = await withState()
    fs.chmodSync(state, 0o755)
    const said = await place.say(doctor)
    expect(said.exit).toBe(0)
    expect(said.stdout).toMatch(/! permissions +others may look into .*\n {2}repair: chmod 700 /)
    fs.chmodSync(state, 0o777)
    expect(await found()).toMatchObject({ exit: 1, ok: false })
  })

  test('a damaged store, an emptied one and a folder in its place', async () => {
    const state = await withState()
    const database = join(state, 'planfold.db')
    for (const wal of ['-wal', '-shm']) fs.rmSync(`${database}${wal}`, { force: true })
    const bytes = fs.readFileSync(database)
    fs.writeFileSync(database, Buffer.concat([Buffer.alloc(200, 0x41), bytes.subarray(200)]))
    const damaged = await found()
    expect([damaged.exit, damaged.of('state')]).toMatchObject([1, [{ status: 'problem' }]])
    fs.writeFileSync(database, 'no database')
    expect((await found()).of('state')).toMatchObject([{ status: 'problem' }])
    fs.rmSync(database)
    fs.mkdirSync(database)
    expect((await found()).of('state')).toMatchObject([{ status: 'problem' }])
    fs.rmSync(state, { recursive: true })
    fs.writeFileSync(state, 'a file')
    expect((await found({ PLANFOLD_DIR: state })).exit).toBe(1)
  })

  test('a clock that was set back', async () => {
    const state = await withState()
    const later = Date.now() / 1_000 + 7_200
    fs.utimesSync(join(state, 'planfold.db'), later, later)
    expect((await found()).of('clock')).toMatchObject([
      { status: 'problem', message: expect.stringContaining('after now'), repair: expect.stringContaining('clock') },
    ])
  })

  test('no git, and a git that is too old or lies in the workspace', async () => {
    const bin = fs.mkdtempSync(join(tmpdir(), 'planfold-bin-'))
    onTestFinished(() => fs.rmSync(bin, { recursive: true, force: true }))
    expect((await found({ PATH: bin })).of('git')).toMatchObject([{ status: 'warning' }])
    fs.writeFileSync(join(bin, 'git'), '#!/bin/sh\necho git version 2.11.0\n', { mode: 0o755 })
    expect((await found({ PATH: bin })).of('git')).toMatchObject([
      { status: 'problem', message: 'git 2.11.0 is too old' },
    ])
    fs.writeFileSync(join(place.folder, 'git'), '#!/bin/sh\necho git version 2.50.0\n', { mode: 0o755 })
    expect((await found({ PATH: `${place.folder}:${bin}` })).of('git')).toMatchObject([
      { message: 'git 2.11.0 is too old' },
    ])
  })

  test('settings of models that are wrong', async () => {
    const settings = join(place.folder, 'models.yaml')
    fs.writeFileSync(settings, 'nonsense: [\n', { mode: 0o600 })
    const { exit, of } = await found({ PLANFOLD_MODELS: settings })
    expect([exit, of('models')[0]?.status]).toEqual([1, 'problem'])
  })
})
