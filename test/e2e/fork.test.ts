// Forks with the built command: real processes, real folders, real worktrees. What was forked stays as it was, by the shell's
// judgement.

import { execFileSync } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

let here: Place
beforeEach(async () => {
  here = await place()
})
afterEach(() => here.remove())

const PLAN = `planfold: 1
name: release
tasks:
  - { id: build, run: "echo built > out; mkdir -p d; echo deep > d/f; echo v1", outputs: { version: { stdout: text } } }
  - { id: check, needs: [build], gate: approval }
  - { id: pack, needs: [check], inputs: { level: 1, version: "\${{ tasks.build.outputs.version }}" }, run: 'rm -r d; echo "packed $PLANFOLD_INPUTS" >> out' }
`

const shell = (script: string, folder = here.folder): string =>
  execFileSync('sh', ['-c', script], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: here.folder, GIT_CONFIG_GLOBAL: '/dev/null' },
  }).trim()

/** Every path but state and repository, with kind, mode, time and content. */
const tree = (folder = here.folder): string =>
  shell(
    `find . \\( -name .planfold -o -name .git \\) -prune -o -mindepth 1 -printf '%P %y %m %T@ %l\\n' | sort; find . \\( -name .planfold -o -name .git \\) -prune -o -type f -print0 | sort -z | xargs -0r sha256sum`,
    folder,
  )

/** The same without times, which a copy does not have. */
const contents = (folder: string): string => tree(folder).replace(/ \d+\.\d+ /g, ' ')

async function lived(): Promise<string> {
  await here.write('plan.yaml', PLAN)
  await here.write('mine.txt', 'mine\n')
  expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 4 })
  const then = contents(here.folder)
  expect(await here.planfold('approve', 'release', 'check')).toMatchObject({ exit: 0 })
  expect(await here.planfold('resume', 'release')).toMatchObject({ exit: 0 })
  return then
}

const at = (...names: string[]) => join(here.folder, '.planfold', 'work', ...names)
const text = (...names: string[]) => readFile(at(...names), 'utf8')

describe('planfold fork', () => {
  it('goes on from a task in a folder of its own, with other inputs; plan and workspace stay as they are', async () => {
    const then = await lived()
    const before = [tree(), await here.json('log', 'release')]
    const said = await here.planfold('fork', 'release', '--from', 'build')
    expect(said).toMatchObject({ exit: 0, stderr: '' })
    expect(said.stdout).toMatch(/^✔ release-fork continues from entry \d+ of release\n {2}done +1 of 3 tasks: build\n/)
    expect(said.stdout).toMatch(/ {2}works in \.planfold\/work\/release-fork \(a folder of its own, 4 files\)\n/)
    expect(said.stdout).toMatch(/Next: planfold run release-fork\n$/)
    expect(contents(at('release-fork'))).toBe(then)

    const started = await here.planfold(
      'fork',
      'release',
      '--from',
      'check',
      '--name',
      'other',
      '--input',
      'pack.level=9',
      '--start',
    )
    expect(started, started.stderr).toMatchObject({ exit: 0 })
    expect(await text('other', 'out')).toBe('built\npacked {"level":9,"version":"v1"}\n')
    expect(await here.read('out')).toBe('built\npacked {"level":1,"version":"v1"}\n')
    expect([tree(), await here.json('log', 'release')]).toEqual(before)

    expect((await here.planfold('status', 'other')).stdout).toContain('works in .planfold/work/other')
    expect(await here.json('show', 'other')).toMatchObject({ summary: { place: '.planfold/work/other' } })
    const compared = await here.planfold('show', 'release', '--compare', 'other')
    expect(compared.stdout).toMatch(/^forked from +release$/m)
    expect(compared.stdout).toMatch(/^build +completed +1 +\S+ +completed +inherited *$/m)
    expect(compared.stdout).toMatch(/^out +[0-9a-f]{12} +[0-9a-f]{12}$/m)
    expect(compared.stdout).not.toMatch(/^d\/f/m)
    for (const name of ['release', 'other', 'release-fork'])
      expect(await here.planfold('audit', 'replay', name), name).toMatchObject({ exit: 0 })
  })

  it('runs two forks of one point at the same time, in two processes', async () => {
    await lived()
    const before = tree()
    const forks = ['a', 'b'].map(name =>
      here.planfold('fork', 'release', '--from', 'check', '--name', name, '--input', `pack.level="${name}"`, '--start'),
    )
    expect(await Promise.all(forks)).toMatchObject([{ exit: 0 }, { exit: 0 }])
    expect([await text('a', 'out'), await text('b', 'out')]).toEqual([
      'built\npacked {"level":"a","version":"v1"}\n',
      'built\npacked {"level":"b","version":"v1"}\n',
    ])
    expect(tree()).toBe(before)
    // Without a name they find one each.
    const more = [1, 2, 3].map(() => here.planfold('fork', 'release', '--from', 'check'))
    const told = await Promise.all(more)
    expect(told.filter(({ exit }) => exit === 0).length).toBeGreaterThan(0)
    for (const { exit, stderr } of told) if (exit !== 0) expect(stderr).toMatch(/hint: /)
    expect(tree()).toBe(before)
  })

  it('takes another definition, and says in JSON what it brought', async () => {
    await lived()
    await here.write(
      'next.yaml',
      PLAN.replace(/ {2}- \{ id: check[\s\S]*$/, '  - { id: ship, needs: [build], run: "cat out > shipped" }\n'),
    )
    expect(await here.json('fork', 'release', '--from', 'build', '--revision', 'next.yaml')).toMatchObject({
      name: 'release-fork',
      status: 'draft',
      origin: { name: 'release' },
      ended: ['build'],
      open: ['ship'],
      works: { in: 'folder', place: '.planfold/work/release-fork', others: 'then' },
    })
    expect(await here.planfold('run', 'release-fork')).toMatchObject({ exit: 0 })
    expect(await text('release-fork', 'shipped')).toBe('built\n')
  })

  it('is refused with a reason and leaves nothing behind', async () => {
    await lived()
    const before = tree()
    const refused = async (...argv: string[]) => {
      const { exit, stderr } = await here.planfold('fork', 'release', ...argv)
      return `${exit} ${stderr.split('\n')[0]}`
    }
    expect(await refused()).toMatch(/^2 .*--from/)
    expect(await refused('--from', 'biuld')).toMatch(/^2 .*no task, checkpoint or entry 'biuld'/)
    expect(await refused('--from', 'build', '--model', 'm')).toMatch(/^3 .*nothing in this plan asks a model/)
    expect(await refused('--from', 'check', '--input', 'build.x=1')).toMatch(/^3 .*'build' has ended there/)
    expect(await refused('--from', 'check', '--input', 'x')).toMatch(/^2 .*has no value/)
    expect(shell('ls .planfold')).not.toContain('work')
    expect(tree()).toBe(before)
  })
})

describe('planfold fork in a repository', () => {
  const commit = 'git -c user.name=a -c user.email=a@example.com commit -qm first'

  it('works in a worktree on a branch of its own, in the same folder of it; branch, index and HEAD stay', async () => {
    shell(`git init -q -b main && mkdir sub && echo top > top && echo ignored > .gitignore && git add . && ${commit}`)
    const sub = join(here.folder, 'sub')
    await mkdir(join(sub, '.planfold'))
    await here.write('sub/plan.yaml', PLAN.replace('rm -r d;', 'git rev-parse --abbrev-ref HEAD > branch; rm -r d;'))
    const run = (...argv: string[]) => here.planfold('--dir', 'sub/.planfold', ...argv)
    expect(await run('run', 'sub/plan.yaml')).toMatchObject({ exit: 4 })
    const then = contents(sub)
    await run('approve', 'release', 'check')
    const refs = () =>
      shell('git rev-parse HEAD; git symbolic-ref HEAD; git ls-files -s; git for-each-ref refs/heads/main')
    const before = [tree(), refs()]
    const forked = await run('fork', 'release', '--from', 'build')
    expect(forked.stdout).toMatch(
      /works in \.planfold\/work\/release-fork\/sub \(a worktree on branch plan\/release-fork\)/,
    )
    const work = join(sub, '.planfold', 'work', 'release-fork')
    expect(contents(join(work, 'sub'))).toBe(then)
    expect(shell('cat top; git status --short', work)).toMatch(/^top\n/)
    await run('run', 'release-fork')
    await run('approve', 'release-fork', 'check')
    expect(await run('resume', 'release-fork')).toMatchObject({ exit: 0 })
    expect(await readFile(join(work, 'sub', 'branch'), 'utf8')).toBe('plan/release-fork\n')
    expect([tree(), refs()]).toEqual(before)
  })

  it('that has no commit yet is a plain folder, and commands there see no repository', async () => {
    shell('git init -q')
    await here.write(
      'plan.yaml',
      PLAN.replace('rm -r d;', 'git rev-parse --show-toplevel > where 2>&1 || true; rm -r d;'),
    )
    expect(await here.planfold('run', 'plan.yaml')).toMatchObject({ exit: 4 })
    expect((await here.planfold('fork', 'release', '--from', 'build')).stdout).toContain('(a folder of its own')
    await here.planfold('run', 'release-fork')
    await here.planfold('approve', 'release-fork', 'check')
    expect(await here.planfold('resume', 'release-fork')).toMatchObject({ exit: 0 })
    expect(await text('release-fork', 'where')).toMatch(/not a git repository/)
  })
})
