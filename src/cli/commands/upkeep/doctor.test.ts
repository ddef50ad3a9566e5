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
    expect(of('state')).toMatchObject([{ status: 'ok', message: expect.stringContaining('no data in') }])
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
    expect(said.stdout).toMatch(/! permissions +others can read .*\n {2}repair: chmod 700 /)
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

  /** What is planted, where it is found, and what is said about it. Damage inside the store is in `tampered-store.test.ts`. */
  const DAMAGES: readonly [
    name: string,
    /** What it returns, if anything, is the environment. */
    plant: (state: string) => unknown,
    part: Finding['part'],
    status: Finding['status'],
    message: RegExp,
    repair: RegExp,
  ][] = [
    [
      'others may look into it',
      state => fs.chmodSync(state, 0o755),
      'permissions',
      'warning',
      /others can read/,
      /chmod 700/,
    ],
    [
      'others may write into it',
      state => fs.chmodSync(state, 0o777),
      'permissions',
      'problem',
      /others can write to/,
      /chmod 700/,
    ],
    [
      'everybody may put another in its place',
      state => fs.chmodSync(join(state, '..'), 0o777),
      'permissions',
      'warning',
      /replace the data folder/,
      /chmod o-w/,
    ],
    [
      'a link that leads nowhere',
      state => {
        fs.rmSync(state, { recursive: true })
        fs.symlinkSync('/nonexistent', state)
        return { PLANFOLD_DIR: state }
      },
      'permissions',
      'problem',
      /broken symbolic link/,
      /remove the link/,
    ],
    [
      'a file in place of the folder',
      state => {
        fs.rmSync(state, { recursive: true })
        fs.writeFileSync(state, 'x')
        return { PLANFOLD_DIR: state }
      },
      'permissions',
      'problem',
      /is not a folder/,
      /move it away/,
    ],
    [
      'a store that ends early',
      state => fs.truncateSync(whole(state), 5_000),
      'state',
      'problem',
      /cannot be read/,
      /./,
    ],
    ['a store that is empty', state => fs.truncateSync(whole(state), 0), 'state', 'problem', /cannot be read/, /./],
    [
      'a store that is something else',
      state => fs.writeFileSync(whole(state), 'x'),
      'state',
      'problem',
      /cannot be/,
      /./,
    ],
    [
      'a folder in place of the store',
      state => {
        fs.rmSync(whole(state))
        fs.mkdirSync(join(state, 'planfold.db'))
      },
      'state',
      'problem',
      /cannot be read/,
      /./,
    ],
    [
      'a clock that was set back',
      state => fs.utimesSync(join(state, 'planfold.db'), new Date('2099-01-01'), new Date('2099-01-01')),
      'clock',
      'problem',
      /after now/,
      /NTP/,
    ],
    ['no git', () => ({ PATH: programs({}) }), 'git', 'warning', /no git/, /install git/],
    [
      'an old git',
      () => ({ PATH: programs({ git: 'echo git version 2.11.0' }) }),
      'git',
      'problem',
      /2\.11\.0/,
      /install/,
    ],
    [
      'a git without words',
      () => ({ PATH: programs({ git: 'exit 1' }) }),
      'git',
      'problem',
      /its version/,
      /install git/,
    ],
    [
      'an old sandbox',
      () => ({ PATH: programs({ bwrap: 'echo bubblewrap 0.4.1' }) }),
      'sandbox',
      'warning',
      /0\.4\.1 is too old/,
      /newer bubblewrap/,
    ],
    [
      'a sandbox without words',
      () => ({ PATH: programs({ bwrap: 'exit 1' }) }),
      'sandbox',
      'warning',
      /does not say its version/,
      /install bubblewrap/,
    ],
    [
      'a sandbox that lets everything through',
      () => ({ PATH: programs({ bwrap: 'echo bubblewrap 0.9.0' }) }),
      'sandbox',
      'warning',
      /does not hold here/,
      /user namespaces/,
    ],
    ['a limit that is no size', () => ({ PLANFOLD_MEMORY_MAX: 'much' }), 'sandbox', 'problem', /'much'/, /8GiB/],
    ['a limit that is no number', () => ({ PLANFOLD_PROCESSES_MAX: '-1' }), 'sandbox', 'problem', /'-1'/, /2000/],
    ['settings that cannot be read', () => ({ PLANFOLD_MODELS: settings('x: [') }), 'models', 'problem', /./, /./],
    ['settings that are not known', () => ({ PLANFOLD_MODELS: settings('x: 1') }), 'models', 'problem', /x/, /./],
    [
      'settings that a task could write',
      state => {
        const file = join(state, '..', 'models.yaml')
        fs.writeFileSync(file, '', { mode: 0o600 })
        return { PLANFOLD_MODELS: file }
      },
      'models',
      'problem',
      /is in the workspace/,
      /keep it elsewhere/,
    ],
  ]
  const whole = (state: string): string => {
    for (const wal of ['-wal', '-shm']) fs.rmSync(join(state, `planfold.db${wal}`), { force: true })
    return join(state, 'planfold.db')
  }
  const programs = (scripts: { readonly [name: string]: string }): string => {
    const bin = fs.mkdtempSync(join(tmpdir(), 'planfold-bin-'))
    onTestFinished(() => fs.rmSync(bin, { recursive: true, force: true }))
    for (const [name, script] of Object.entries(scripts))
      fs.writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return bin
  }
  const settings = (text: string): string => {
    const file = join(programs({}), 'models.yaml')
    fs.writeFileSync(file, text, { mode: 0o600 })
    return file
  }

  test.each(DAMAGES)('%s is found, with its repair', async (_, plant, part, status, message, repair) => {
    const state = await withState()
    // A machine without a sandbox says so before anything is planted.
    const before = new Set(part === 'sandbox' ? (await found()).of(part).map(each => each.message) : [])
    const { of } = await found(plant(state) as { readonly [name: string]: string } | undefined)
    const bad = of(part).filter(each => each.status !== 'ok' && !before.has(each.message))
    expect(bad).toMatchObject([
      { status, message: expect.stringMatching(message), repair: expect.stringMatching(repair) },
    ])
  })

  test('settings of models that are wrong', async () => {
    const settings = join(place.folder, 'models.yaml')
    fs.writeFileSync(settings, 'nonsense: [\n', { mode: 0o600 })
    const { exit, of } = await found({ PLANFOLD_MODELS: settings })
    expect([exit, of('models')[0]?.status]).toEqual([1, 'problem'])
  })
})
