// What is told before it does harm: a journal that was altered, a limit of open files, a commit that is not there, paths outside.

import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import { MAIN, type Place } from './planfold.fixture.ts'
import { serving } from './serve.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

const SMALL = `planfold: 1
name: small
tasks:
  - { id: a, run: ["true"], effect: pure }
  - { id: b, needs: [a], run: ["true"], effect: pure }
`

describe('an altered entry', () => {
  beforeEach(async () => {
    await here.write('plan.yaml', SMALL)
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 0 })
    const open = new DatabaseSync(join(here.folder, '.planfold', 'planfold.db'))
    open.exec("UPDATE entries SET actor = 'eve@example.com' WHERE version = 3")
    open.close()
  })

  it('is damage to log and export, with its place; what stands before it is shown', async () => {
    for (const argv of [
      ['log', 'small'],
      ['log', 'small', '--follow'],
      ['export', 'small', '--to', 'journal'],
    ]) {
      const said = await here.planfold(...argv)
      expect([argv, said.exit]).toEqual([argv, 3])
      expect(said.stderr).toMatch(/entry 3 of plan \S+ does not match its hash/)
      expect(said.stdout).toMatch(/small|plan\.created/)
      expect(said.stdout).not.toContain('eve@example.com')
    }
  })

  it('is a problem of GET …/entries, with its place', async () => {
    const service = await serving(here.folder, '--no-auth')
    const response = await fetch(`${service.address}/plans/small/entries`)
    expect([response.status, await response.json()]).toEqual([
      500,
      expect.objectContaining({
        type: 'urn:planfold:problem:damaged',
        detail: expect.stringMatching(/entry 3 of plan \S+ does not match its hash/),
        entry: 3,
        fault: 'tampered',
      }),
    ])
    const sound = await fetch(`${service.address}/plans/small/entries?limit=2`)
    expect(sound.status).toBe(200)
    service.kill('SIGTERM')
    await service.ended
  })
})

describe('a limit of open files', () => {
  const limited = (files: number, ...argv: readonly string[]) =>
    spawnSync('bash', ['-c', `ulimit -n ${files}; exec "$0" "$@"`, process.execPath, MAIN, ...argv], {
      cwd: here.folder,
      env: { PATH: process.env.PATH, HOME: here.folder, PLANFOLD_AS: 'ana@example.com' },
      encoding: 'utf8',
      timeout: 300_000,
    })

  // A plan is run with 40; with 24 only what looks at it works. The service needs more than either.
  it.each([
    { files: 24, exits: { run: 3, serve: 3, status: 0, list: 0 } },
    { files: 40, exits: { run: 0, serve: 3, status: 0, list: 0 } },
  ])('of $files ends with a clear message or works, and never with a stack', async ({ files, exits }) => {
    await here.write('plan.yaml', SMALL)
    for (const argv of [['run', 'plan.yaml'], ['serve', '--port', '0', '--no-auth', '--json'], ['status'], ['list']]) {
      const { status, stdout, stderr } = limited(files, ...argv)
      expect([argv, stdout + stderr]).toEqual([argv, expect.not.stringMatching(/^\s+at .*\(/m)])
      expect([argv, status]).toEqual([argv, exits[argv[0] as keyof typeof exits]])
      if (status === 3) expect(stdout + stderr).toMatch(/too many open files[\s\S]*ulimit -n 1024/)
    }
  })
})

describe('git', () => {
  beforeEach(() => {
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=P', '-c', 'user.email=p@x', ...args], { cwd: here.folder, stdio: 'pipe' })
    git('init', '--quiet', '--initial-branch=main')
    git('commit', '--quiet', '--allow-empty', '-m', 'first')
  })

  it('a base that names no commit is told at its place, before anything is made', async () => {
    await here.write(
      'plan.yaml',
      'planfold: 1\nname: based\ngit: { base: nosuchref, commits: task }\ntasks:\n  - { id: a, run: ["touch", "ran"] }\n',
    )
    const said = await here.planfold('run', 'plan.yaml')
    expect(said).toMatchObject({ exit: 2 })
    expect(said.stderr).toMatch(/plan\.yaml:3:14[\s\S]*nosuchref/)
    expect(await here.files()).not.toContain('ran')
    expect(await here.json('list')).toMatchObject({ items: [] })
  })

  it('a plan that was made before is refused when it is started', async () => {
    await here.write(
      'plan.yaml',
      'planfold: 1\nname: based\ngit: { base: main, commits: task }\ntasks:\n  - { id: a, run: ["touch", "ran"] }\n',
    )
    expect(await here.planfold('run', 'plan.yaml', '--no-start')).toMatchObject({ exit: 0 })
    execFileSync('git', ['branch', '-m', 'main', 'trunk'], { cwd: here.folder })
    const said = await here.planfold('run', 'based')
    expect(said).toMatchObject({ exit: 3 })
    expect(said.stderr).toContain("the plan cannot begin at 'main'")
    expect(await here.files()).not.toContain('ran')
  })

  it('a commit of paths outside of the workspace is told at its place', async () => {
    await here.write(
      'plan.yaml',
      'planfold: 1\nname: outside\ntasks:\n  - id: c\n    git:\n      commit: x\n      paths:\n        - src/**\n        - ../secrets\n        - /etc/passwd\n        - .git/config\n',
    )
    const said = await here.planfold('validate', 'plan.yaml')
    expect(said).toMatchObject({ exit: 2 })
    for (const line of [9, 10, 11]) expect(said.stderr + said.stdout).toContain(`plan.yaml:${line}:11`)
    expect(said.stderr + said.stdout).not.toContain('plan.yaml:8:')
  })
})
