// Two plans of one workspace that write the same files, and the one that holds them is killed: the other waits, names it and both
// commands, and no completed file is ever taken back.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { commandIn } from './command.ts'
import { endAll, makeFolder, Real, until } from './harness.ts'

const MAIN = join(process.env.PLANFOLD_DIST ?? join(import.meta.dirname, '../../dist'), 'cli/main.js')

/** Writes its own file into the folder both share; the first attempt waits for `go`. */
const plan = (name: string, script: string) => `planfold: 1
name: ${name}
tasks:
  - id: write-${name}
    write: [sc/**]
    network: []
    run: |
      mkdir -p sc; echo ${name} > sc/${name}
      ${script}
`
const HELD = 'while [ ! -e go ]; do sleep 0.05; done'

const folders: string[] = []
afterEach(() => {
  endAll()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function ground() {
  const folder = makeFolder()
  folders.push(folder)
  mkdirSync(join(folder, '.planfold'))
  writeFileSync(join(folder, 'p.yaml'), plan('p', HELD))
  for (const name of ['q', 'r']) writeFileSync(join(folder, `${name}.yaml`), plan(name, 'true'))
  const planfold = (...argv: readonly string[]) => new Real([process.execPath, MAIN, ...argv], { cwd: folder })
  const command = commandIn(folder)
  return {
    folder,
    planfold,
    there: (path: string) => existsSync(join(folder, path)),
    put: (path: string) => writeFileSync(join(folder, path), ''),
    /** Without a process of its own. */
    command: (...argv: readonly string[]) => command(argv),
    said: async (...argv: readonly string[]) => {
      const { code, out } = await command(argv)
      expect(code).toBe(0)
      return out
    },
  }
}

describe('two plans with one scope, in two processes', () => {
  test('the one that is killed keeps its files until it is resumed; whoever waits names it and both commands', async () => {
    const { planfold, command, there, put, said } = ground()
    const p = planfold('run', 'p.yaml')
    await until('p has begun to write', () => there('sc/p'))
    const q = planfold('run', 'q.yaml')
    const r = planfold('run', 'r.yaml', '--wait')
    await q.says(/write-q waits: plan 'p' \(task 'write-p'\) has locked sc\/\*\*/)
    await r.says(/write-r waits: plan 'p' \(task 'write-p'\) has locked sc\/\*\*/)
    p.kill('SIGKILL')
    expect((await p.end()).signal).toBe('SIGKILL')

    // Nobody will let go without a person, so q says what can be done and rests; r was told to stay.
    const rested = await q.end()
    expect(rested.code).toBe(4)
    expect(rested.out).toMatch(/waiting for another plan[\s\S]*planfold resume p[\s\S]*planfold cancel p/)
    await r.says(/p is not running: planfold resume p, or planfold cancel p/)
    expect([there('sc/q'), there('sc/r')]).toEqual([false, false])
    expect(await said('status', 'q')).toMatch(
      /write-q: plan 'p' \(task 'write-p'\)[\s\S]*planfold resume p[\s\S]*planfold cancel p/,
    )
    expect(await said('next', 'q', '--explain')).toMatch(
      /plan 'p' \(task 'write-p'\) has locked sc\/\*\*.*planfold resume p.*planfold cancel p/,
    )

    put('go')
    expect((await command('resume', 'p')).code).toBe(0)
    expect((await r.end()).code).toBe(0)
    expect((await command('resume', 'q')).code).toBe(0)
    expect([there('sc/p'), there('sc/q'), there('sc/r')]).toEqual([true, true, true])
    await said('doctor', 'store')
    for (const name of ['p', 'q', 'r']) expect(await said('status', name)).toMatch(/completed/)
  })

  test('cancelling the one that died frees its files as well', async () => {
    const { planfold, command, there } = ground()
    const p = planfold('run', 'p.yaml')
    await until('p has begun to write', () => there('sc/p'))
    p.kill('SIGKILL')
    await p.end()
    expect((await command('run', 'q.yaml')).code).toBe(4)
    await command('cancel', 'p')
    expect((await command('resume', 'q')).code).toBe(0)
    expect(there('sc/q')).toBe(true)
  })
})

describe('two plans with one scope, in one service', () => {
  test('killed with kill -9 and started again, it ends both, and both files are there', async () => {
    const { planfold, there, put, said } = ground()
    const serve = async () => {
      const service = planfold('serve', '--port', '0', '--json', '--no-auth')
      const [, address] = await service.says(/"address":"([^"]+)"/)
      return { service, address: address! }
    }
    const ask = async (address: string, method: string, path: string, body?: object) => {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(address + path, { method, ...(body && { headers, body: JSON.stringify(body) }) })
      expect(response.status).toBeLessThan(300)
      return (await response.json()) as { readonly held?: readonly unknown[]; readonly state?: string }
    }
    const first = await serve()
    const begin = async (name: string, script: string) => {
      const run = `mkdir -p sc; echo ${name} > sc/${name}; ${script}`
      const tasks = [{ id: `write-${name}`, write: ['sc/**'], network: [], run }]
      await ask(first.address, 'POST', '/plans?start=true', { planfold: 1, name, tasks })
    }
    await begin('p', HELD)
    await until('p has begun to write', () => there('sc/p'))
    await begin('q', 'true')
    const held = async () => (await ask(first.address, 'GET', '/plans/q/next')).held ?? []
    const by = [{ name: 'p', task: 'write-p', paths: ['sc/**'], driven: true, orders: [] }]
    await expect.poll(held).toMatchObject([{ task: 'write-q', by }])
    expect(there('sc/q')).toBe(false)
    first.service.kill('SIGKILL')
    await first.service.end()

    const second = await serve()
    put('go')
    for (const name of ['p', 'q']) {
      const state = async () => (await ask(second.address, 'GET', `/plans/${name}`)).state
      await expect.poll(state, { timeout: 120_000, interval: 100 }).toBe('completed')
    }
    second.service.kill('SIGTERM')
    await second.service.end()
    expect([there('sc/p'), there('sc/q')]).toEqual([true, true])
    await said('doctor', 'store')
  })
})

describe('a task without a scope beside one with a scope', () => {
  const mixed = (effect: string) => `planfold: 1
name: mixed
concurrency: 3
policy: { on_failure: rollback }
tasks:
  - id: loose
    ${effect}
    run: |
      echo loose >> begun; while [ ! -e go ]; do sleep 0.05; done
  - id: scoped
    write: [w/**]
    network: []
    run: |
      mkdir -p w; echo "$PLANFOLD_ATTEMPT" > w/f
      while [ ! -e go ]; do sleep 0.05; done; sleep 1
  - id: fails
    needs: [loose, scoped]
    effect: pure
    run: exit 1
`
  for (const [kind, effect] of [
    ['idempotent', 'effect: idempotent'],
    ['probed', 'effect: probed\n    probe: test -e never'],
  ] as const)
    test(`both killed and resumed, then rolled back: nobody is asked about files of the plan (${kind})`, async () => {
      const { folder, planfold, command, there, put } = ground()
      // What it notes for the test lies outside what is looked at.
      writeFileSync(join(folder, '.planfoldignore'), '/begun\n/go\n')
      writeFileSync(join(folder, 'mixed.yaml'), mixed(effect))
      const first = planfold('run', 'mixed.yaml')
      await until('both have begun', () => there('begun') && there('w/f'))
      first.kill('SIGKILL')
      await first.end()
      put('go')
      const resumed = await command('resume', 'mixed')
      expect(`${resumed.out}${resumed.err}`).not.toMatch(/worked on/i)
      expect(there('w/f')).toBe(false)
      expect((await command('status', 'mixed')).out).toMatch(/failed/)
    })
})
