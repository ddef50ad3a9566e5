// Every plan in examples/ really runs, offline and in seconds: through the command line, in a folder of its own, with gates and
// external tasks answered as the head of each file says.

import { execFile } from 'node:child_process'
import { appendFile, copyFile, readdir, readFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

const examples = resolve(import.meta.dirname, '../../examples')

let here: Place
afterEach(() => here.remove())

async function run(name: string, prepared?: Place) {
  here = prepared ?? (await place())
  await copyFile(join(examples, `${name}.yaml`), join(here.folder, `${name}.yaml`))
  return await here.planfold('run', `${name}.yaml`)
}

/** Statuses by task. */
async function statuses(name: string): Promise<Record<string, string>> {
  const { tasks } = (await here.json('show', name)) as { tasks: { name: string; status: string }[] }
  return Object.fromEntries(tasks.map(task => [task.name, task.status]))
}

/** However an example went, what is stored must be sound. */
async function ended(name: string, status: string): Promise<void> {
  expect(await here.json('status', name)).toMatchObject({ status })
  expect((await here.planfold('doctor', 'store')).exit).toBe(0)
}

describe('the examples', () => {
  it('hello greets', async () => {
    expect((await run('hello')).exit).toBe(0)
    expect(await here.read('hello.txt')).toMatch(/^Hello from \w+\n$/)
    await ended('hello', 'completed')
  })

  it('parallel runs three builds at once, and never two that write the same file', async () => {
    expect((await run('parallel')).exit).toBe(0)
    expect((await here.read('out/all.txt')).split('\n').sort()).toEqual(['', 'a', 'b', 'c', 'one', 'two'])
    await ended('parallel', 'completed')
  })

  it('retry asks three times with one key', async () => {
    expect((await run('retry')).exit).toBe(0)
    const asked = (await here.read('asked.txt')).trim().split('\n')
    expect(asked.map(line => line.split(' ')[1])).toEqual(['1', '2', '3'])
    expect(new Set(asked.map(line => line.split(' ')[0])).size).toBe(1)
    await ended('retry', 'completed')
  })

  it('gate waits, goes back when rejected, goes on when approved, and asks for a verdict on prose', async () => {
    expect((await run('gate')).exit).toBe(4)
    expect(await statuses('gate')).toEqual({
      draft: 'completed',
      review: 'waiting',
      docs: 'completed',
      publish: 'pending',
    })
    expect((await here.planfold('reject', 'gate', 'review', '-m', 'too short')).exit).toBe(0)
    expect((await here.planfold('resume', 'gate')).exit).toBe(4)
    expect(await here.read('draft.txt')).toBe('a draft\na draft\n')
    expect((await here.planfold('approve', 'gate', 'review', '-m', 'good')).exit).toBe(0)
    expect((await here.planfold('resume', 'gate')).exit).toBe(4)
    expect((await here.planfold('approve', 'gate', 'publish')).exit).toBe(0)
    await ended('gate', 'completed')
  })

  it('database asks before each change, is all or nothing, and takes its rows back', async () => {
    expect((await run('database')).exit).toBe(4)
    for (const task of ['schema', 'fill']) {
      expect((await here.planfold('approve', 'database', task)).exit).toBe(0)
      expect((await here.planfold('resume', 'database')).exit).toBe(task === 'fill' ? 0 : 4)
    }
    expect(await here.read('largest.txt')).toBe('Lima\n')
    await ended('database', 'completed')
    expect((await here.planfold('rollback', 'database', '--to', 'schema', '--yes')).exit).toBe(0)
    const cities = new DatabaseSync(join(here.folder, 'cities.db'))
    expect(cities.prepare('select count(*) as n from cities').get()).toEqual({ n: 0 })
    cities.close()
  })

  it('data-flow hands values on, skips what is not needed, and runs no value as code', async () => {
    expect((await run('data-flow')).exit).toBe(0)
    expect(JSON.parse(await here.read('report.json'))).toEqual({ p99: 180, text: 'p99 is 180 ms' })
    expect(await here.read('note.txt')).toBe('$(id) ; rm -rf nothing')
    expect(await statuses('data-flow')).toMatchObject({ 'too-slow': 'skipped', 'small-enough': 'completed' })
    await ended('data-flow', 'completed')
  })

  it('decision-loop comes round three times, wakes the one it leads to, and skips the other', async () => {
    expect((await run('decision-loop')).exit).toBe(0)
    expect(await here.read('lines.txt')).toBe('line\n'.repeat(3))
    expect(await statuses('decision-loop')).toMatchObject({ finish: 'completed', repair: 'skipped' })
    await ended('decision-loop', 'completed')
  })

  it('external waits for a claim, checks the report, and goes on with what was reported', async () => {
    expect((await run('external')).exit).toBe(4)
    const { task, token } = (await here.json('claim', 'external', 'implement')) as { task: string; token: string }
    expect(task).toBe('implement')
    expect((await here.planfold('claim', '--extend', 'external', 'implement', '--token', token)).exit).toBe(0)
    const report = ['done', 'external', 'implement', '--token', token, '--output', 'tests=12']
    expect((await here.planfold(...report)).exit).toBe(0)
    const resumed = await here.planfold('resume', 'external')
    expect(resumed.exit).toBe(0)
    expect(resumed.stdout).toContain('tests: 12')
    await ended('external', 'completed')
  })

  it('going-back commits and tags on a branch of its own, and is taken back to its checkpoint and forth again', async () => {
    const git = async (...argv: readonly string[]): Promise<string> =>
      (
        await promisify(execFile)('git', argv, {
          cwd: here.folder,
          env: { PATH: process.env.PATH },
        })
      ).stdout.trim()
    here = await place()
    await git('init', '--quiet', '--initial-branch=main')
    // Home is the workspace here; what stands for the world outside is none of the plan's files.
    await appendFile(join(here.folder, '.planfoldignore'), 'registry.log\n')
    await git('-c', 'user.name=ana', '-c', 'user.email=ana@example.com', 'commit', '--allow-empty', '-qm', 'begin')
    expect((await run('going-back', here)).exit).toBe(0)
    expect(await git('log', '--format=%s', 'plan/going-back')).toContain('chore(plan): Write the notes')
    expect(await git('log', '-1', '--format=%s', 'v1.0')).toBe('chore(plan): Write the notes')
    expect(await git('log', '--format=%s', 'main')).toBe('begin')
    expect(await here.read('registry.log')).toBe('published\n')
    expect(await statuses('going-back')).toMatchObject({ publish: 'completed', withdraw: 'skipped' })

    expect((await here.planfold('rollback', 'going-back', '--to', 'before-publish')).exit).toBe(0)
    expect(await git('tag', '--list')).toBe('')
    expect(await statuses('going-back')).toMatchObject({ notes: 'completed', mark: 'ready', publish: 'pending' })
    expect(await here.read('NOTES.md')).toBe('# 1.0\n')

    expect((await here.planfold('undo', 'going-back')).exit).toBe(0)
    expect(await git('tag', '--list')).toBe('v1.0')
    expect((await here.planfold('resume', 'going-back')).exit).toBe(0)
    await ended('going-back', 'completed')
  })

  it('none is left out', async () => {
    here = await place()
    const files = (await readdir(examples)).filter(file => file.endsWith('.yaml')).map(file => basename(file, '.yaml'))
    const text = await readFile(import.meta.filename, 'utf8')
    expect(files.filter(name => !text.includes(`run('${name}'`))).toEqual([])
    // Those that need files of their own stand in a folder, and have a test of their own.
    const refactor = await readFile(join(import.meta.dirname, 'refactor.test.ts'), 'utf8')
    const own = (await readdir(join(examples, 'refactor'))).filter(file => file.endsWith('.yaml'))
    expect(own.filter(name => !refactor.includes(`'run', '${name}'`))).toEqual([])
  })
})
