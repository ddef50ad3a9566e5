// Names that appear beside the scope of a held command: a person may have made them, or another task. Real bubblewrap, in the mode that a user
// gets by default; the tasks wait for files that the person of the test makes, so nothing depends on time.

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'
import { place, planfoldIn } from './in-process.fixture.ts'
import { environmentIn, type Place } from './planfold.fixture.ts'

const standing = await bubblewrap({ environment: { PATH: process.env.PATH }, outside: [] }).check()
if (!standing.ok) console.log(`skipped: ${standing.failure.message}`)

const DEFAULT = { PLANFOLD_SANDBOX: '' }
/** What a coding agent starts is not the person's own. */
const BY_AGENT = { ...DEFAULT, CLAUDECODE: '1' }

/** `npm run soak -- --only siblings` does it fifty times. */
const TIMES = Number(process.env.PLANFOLD_TIMES ?? 2)

let here: Place
const open = async (environment: { readonly [name: string]: string }): Promise<void> => {
  await here?.remove()
  here = await place(environment)
  execFileSync('git', ['init', '-q'], { cwd: here.folder })
}
beforeEach(() => open(DEFAULT))
afterEach(() => here.remove())

const at = (path: string): string => join(here.folder, path)
const seen = (path: string): Promise<void> =>
  vi.waitFor(() => expect(existsSync(at(path))).toBe(true), { timeout: 60_000, interval: 20 })

/** Its folder is new; it ends when the person lets it. */
const PLAN = `planfold: 1
name: hand
policy: { on_failure: keep }
tasks:
  - id: build
    run: "mkdir -p gen; echo 1 > gen/f; until test -e go; do sleep 0.05; done"
    write: [gen/**]
    network: []
`

async function handMade(write = 'gen/**'): Promise<Awaited<ReturnType<Place['planfold']>>> {
  await here.write('plan.yaml', PLAN.replace('gen/**', write))
  const running = here.planfold('run', 'plan.yaml')
  await seen('gen/f')
  mkdirSync(at('notes'))
  writeFileSync(at('notes/mine.md'), 'my own notes\n')
  writeFileSync(at("it's.md"), 'draft\n')
  writeFileSync(at('go'), '')
  return await running
}

describe.skipIf(!standing.ok)('beside a scope', () => {
  it.each([
    ['new folders', { one: 'one/**', two: 'two/**', three: 'three/**' }],
    ['new folders, written in three ways', { one: 'one', two: 'two/', three: 'three/**' }],
    [
      'new folders below one that is there',
      { 'pkg/one': 'pkg/one/**', 'pkg/two': 'pkg/two/**', 'pkg/three': 'pkg/three/**' },
    ],
    ['new folders below a new one', { 'new/one': 'new/one/**', 'new/two': 'new/two/', 'new/three': 'new/three/**' }],
  ])(`three parallel tasks with %s complete, and every file is there (${TIMES} times)`, async (_, scopes) => {
    const folders = Object.keys(scopes)
    const met = folders.map(folder => `-e ${folder}/f`).join(' -a ')
    const task = ([folder, scope]: readonly [string, string]): string =>
      `  - { id: ${folder.replace('/', '-')}, run: "mkdir -p ${folder}; echo ${folder} > ${folder}/f; until test ${met}; do sleep 0.05; done", write: ["${scope}"], network: [] }\n`
    mkdirSync(at('pkg'))
    await here.write(
      'plan.yaml',
      `planfold: 1\nname: siblings\nconcurrency: 3\ntasks:\n${Object.entries(scopes).map(task).join('')}`,
    )
    for (let time = 1; time <= TIMES; time++) {
      for (const folder of folders) rmSync(at(folder), { recursive: true, force: true })
      rmSync(at('new'), { recursive: true, force: true })
      const said = await here.planfold('run', 'plan.yaml', '--again')
      expect(said.exit, `${time}: ${said.stdout}${said.stderr}`).toBe(0)
      expect(folders.map(folder => readFileSync(at(`${folder}/f`), 'utf8'))).toEqual(folders.map(each => `${each}\n`))
      expect(said.stdout + said.stderr).not.toContain('appeared')
    }
    expect(existsSync(at('.planfold/outside-scope'))).toBe(false)
  })

  it('folders that Planfold makes for the caches of a task are not said to be the work of another', async () => {
    const task = (id: string, other: string): string =>
      `  - { id: ${id}, run: "mkdir -p ${id}; echo 1 > ${id}/f; until test -e ${other}; do sleep 0.05; done", write: ["${id}/**"] }\n`
    mkdirSync(at('node_modules'))
    await here.write(
      'plan.yaml',
      `planfold: 1\nname: caches\nconcurrency: 2\ntasks:\n${task('a', 'b/f')}${task('b', 'node_modules/go')}`,
    )
    const running = here.start('run', 'plan.yaml')
    await running.until('a completed')
    writeFileSync(at('node_modules/go'), '')
    const said = await running.ended
    expect(said.exit, said.stdout + said.stderr).toBe(0)
    expect(said.stdout).not.toContain('node_modules/.')
    expect(readdirSync(at('node_modules'))).toEqual(['go'])
  })

  it("a task of another plan that works beside it is nobody's stray", async () => {
    const plan = (name: string, other: string): string => `planfold: 1
name: ${name}
tasks:
  - { id: make, run: "mkdir -p ${name}; echo 1 > ${name}/f; until test -e ${other}/f; do sleep 0.05; done", write: ["${name}/**"], network: [] }
`
    await here.write('a.yaml', plan('a', 'b'))
    await here.write('b.yaml', plan('b', 'a'))
    const both = await Promise.all([here.planfold('run', 'a.yaml'), here.planfold('run', 'b.yaml')])
    expect(both.map(({ exit, stdout, stderr }) => [exit, (stdout + stderr).includes('appeared')])).toEqual([
      [0, false],
      [0, false],
    ])
    expect([existsSync(at('a/f')), existsSync(at('b/f'))]).toEqual([true, true])
  })

  it('what a person makes meanwhile stays, and is said in the log, in the output and in `show`', async () => {
    const said = await handMade()
    const words = "go, it's.md, notes appeared while build ran; Planfold cannot tell by whom"
    expect([said.exit, said.stdout + said.stderr]).toEqual([0, expect.stringContaining(words)])
    expect(readFileSync(at('notes/mine.md'), 'utf8')).toBe('my own notes\n')
    expect(existsSync(at('.planfold/outside-scope'))).toBe(false)
    expect((await here.planfold('log', 'hand', 'build', '--output')).stdout).toContain(words)
    expect((await here.planfold('show', 'hand', 'build')).stdout).toContain(words)
  })

  it('of a command that others wrote they are moved; the message accuses nobody, its command brings them back, and prune names them first', async () => {
    await open(BY_AGENT)
    // A single file: only then is the folder around it writable for what others wrote.
    const said = await handMade('gen/**, VERSION')
    const text = said.stdout + said.stderr
    expect(said.exit).toBe(1)
    expect(text).toContain("build failed: 'go', 'it's.md', 'notes' appeared outside its write scope while it ran")
    expect(text).not.toContain('it wrote')
    expect(existsSync(at('notes'))).toBe(false)
    const shown = (await here.planfold('show', 'hand', 'build')).stdout
    const command = /to bring it back: (cp .*?); add it/.exec(shown)?.[1]
    const mode = statSync(here.folder).mode
    const copied = spawnSync('sh', ['-c', command ?? 'exit 9'], { cwd: '/', encoding: 'utf8' })
    expect([copied.status, copied.stderr]).toEqual([0, ''])
    expect(readFileSync(at('notes/mine.md'), 'utf8')).toBe('my own notes\n')
    expect(readFileSync(at("it's.md"), 'utf8')).toBe('draft\n')
    expect(statSync(here.folder).mode).toBe(mode)

    const folder = at('.planfold/outside-scope')
    const [plan = ''] = readdirSync(folder)
    const [attempt = ''] = readdirSync(join(folder, plan))
    utimesSync(join(folder, plan, attempt), 1, 1)
    // An agent's shell may not prune.
    const person = planfoldIn(here.folder, environmentIn(here.folder, DEFAULT))
    const kept = await person('prune')
    expect(kept.stdout).toMatch(/not removed from .planfold\/outside-scope, because they may be yours/)
    expect(kept.stdout).toContain('notes/mine.md')
    expect(existsSync(join(folder, plan, attempt, 'notes/mine.md'))).toBe(true)
    expect(JSON.parse((await person('prune', '--dry-run', '--yes', '--json')).stdout).data).toMatchObject({
      moved: { attempts: 1, files: expect.arrayContaining(['notes/mine.md']), more: 0, removed: false },
    })
    expect((await person('prune', '--yes')).stdout).toMatch(/removed from .*\n(?: {2}.*\n)* {2}notes\/mine.md/)
    expect(existsSync(join(folder, plan))).toBe(false)
  })
})
