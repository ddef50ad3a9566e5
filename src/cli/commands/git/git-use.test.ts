// Plans with `git`, from the command line, in real repositories: worktrees of their own, and going back without ever taking what
// is not the plan's.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Event } from '../../../domain/event.ts'
import { gitOperationsOf } from '../../../domain/views/git-operations.ts'
import { fingerprint, shell } from '../../../workspace/git/repository.fixture.ts'
import { newPlace, type Place } from '../../place.fixture.ts'
import { resume } from '../plans/resume.ts'
import { run } from '../plans/run.ts'
import { validate } from '../plans/validate.ts'
import { fork } from '../undo/fork.ts'
import { type RollbackOptions, rollback, undo } from '../undo/rollback.ts'

let place: Place
beforeEach(async () => {
  place = await newPlace()
})
afterEach(async () => await place.remove())

const git = (...args: string[]): string => shell(place.folder, place.folder, ...args)
const put = (path: string, text: string): void => {
  fs.mkdirSync(join(place.folder, path, '..'), { recursive: true })
  fs.writeFileSync(join(place.folder, path), text)
}
const runPlan = async (text: string) => {
  await place.write('plan.yaml', text)
  return await place.say(context => run(context, 'plan.yaml', { start: true }))
}
const back = (options: RollbackOptions = {}) =>
  place.say(context => rollback(context, 'work', { yes: true, ...options }))
const entries = async () => {
  let found: Parameters<typeof gitOperationsOf>[0] = []
  await place.say(async context => {
    const composed = await context.openState({ cwd: place.folder, environment: context.environment })
    found = (await composed.engine.ask({ type: 'entries', plan: 'work', limit: 500 })) ?? []
    await composed.close()
    return 0
  })
  return [...found]
}

/** A repository with a commit of its own that nobody has, and everything a person may have lying around. */
function busy(): void {
  git('init', '--quiet', '--initial-branch=main')
  put('.gitignore', '.planfold/\n*.log\n')
  put('a.txt', 'a\n')
  put('b.txt', 'b\n')
  git('add', '.')
  git('commit', '--quiet', '-m', 'first')
  git('branch', 'theirs')
  put('b.txt', 'stashed\n')
  git('stash', '--quiet')
  put('b.txt', 'staged\n')
  git('add', 'b.txt')
  put('b.txt', 'staged and changed\n')
  put('mine.txt', 'untracked\n')
  put('mine.log', 'ignored\n')
}
/** All of the folder and of .git, apart from objects, our refs, our state and the plan document. */
const foreign = (): readonly (readonly [string, string])[] =>
  [...fingerprint(place.folder)].filter(([path]) => !/^\/(?:\.planfold|plan\.yaml)/.test(path))

const PLAN = `planfold: 1
name: work
git: { commits: task }
tasks:
  - { id: one, edit: { file: one.txt, create: "1\\n" } }
  - { id: two, needs: [one], edit: { file: two.txt, create: "2\\n" } }
  - { id: mend, needs: [two], edit: { file: a.txt, find: "a", replace: "A" } }
`

describe('regression 23: rollback never destroys unrelated uncommitted work or unpushed foreign commits', () => {
  test('all that is not the plan’s is byte-identical; the branch is gone, kept by a backup, and undo brings all back', async () => {
    busy()
    const before = foreign()
    expect((await runPlan(PLAN)).exit).toBe(0)
    const tip = git('rev-parse', 'plan/work')
    const after = foreign()
    expect(git('rev-list', '--count', 'main..plan/work')).toBe('3')
    expect(await back()).toMatchObject({ exit: 0 })
    expect(foreign()).toEqual(before)
    expect(git('branch', '--list', 'plan/*')).toBe('')
    expect(git('for-each-ref', '--format=%(objectname)', 'refs/planfold/backup')).toContain(tip)
    await place.say(context => undo(context, 'work', {}))
    expect(git('rev-parse', 'plan/work')).toBe(tip)
    expect(foreign()).toEqual(after)
    const types = gitOperationsOf(await entries()).map(({ type }) => type)
    expect(types).toEqual([
      'branch.created',
      'commit.created',
      'commit.created',
      'commit.created',
      'branch.deleted',
      'branch.created',
    ])
  })

  test('to a checkpoint in between, the branch keeps what came before it, and the work goes on from there', async () => {
    busy()
    await runPlan(PLAN)
    const [, second] = git('rev-list', '--reverse', 'main..plan/work').split('\n')
    const all = (await entries()) as unknown as readonly { version: number; events: readonly Event[] }[]
    const done = all.find(({ events }) =>
      events.some(({ type, ...event }) => type === 'attempt.succeeded' && 'task' in event && event.task === 'two'),
    )
    await back({ to: String(done?.version) })
    expect(git('rev-parse', 'plan/work')).toBe(second)
    expect(fs.readFileSync(join(place.folder, 'a.txt'), 'utf8')).toBe('a\n')
    expect((await place.say(context => resume(context, 'work', {}))).exit).toBe(0)
    expect(git('log', '--format=%s', 'main..plan/work').split('\n')).toEqual([
      'chore(plan): mend',
      'chore(plan): two',
      'chore(plan): one',
    ])
    expect(git('show', 'plan/work:a.txt')).toBe('A')
  })

  test('a commit somebody put on our branch stays, and so does the branch; it is told what to do', async () => {
    busy()
    await runPlan(PLAN)
    const foreignCommit = git('commit-tree', '-p', 'plan/work', '-m', 'by a person', 'plan/work^{tree}')
    git('update-ref', 'refs/heads/plan/work', foreignCommit)
    const said = await back()
    expect(git('rev-parse', 'plan/work')).toBe(foreignCommit)
    expect(`${said.stdout}${said.stderr}`).toMatch(/there are commits of others on top of it/)
  })

  test('what was pushed is refused with what to run; only with --force a revert is prepared on top, and nothing is pushed', async () => {
    busy()
    git('init', '--quiet', '--bare', '.planfold/remote.git')
    await runPlan(PLAN)
    git('remote', 'add', 'origin', join(place.folder, '.planfold/remote.git'))
    git('push', '--quiet', 'origin', 'plan/work')
    const pushed = git('rev-parse', 'plan/work')
    const said = await back()
    expect(`${said.stdout}${said.stderr}`).toMatch(/git revert --no-edit \w+\.\.\w+.*git push/s)
    expect(git('rev-parse', 'plan/work')).toBe(pushed)
    await place.say(context => undo(context, 'work', {}))
    await back({ force: true })
    expect(git('rev-parse', 'plan/work^')).toBe(pushed)
    expect(git('rev-parse', 'plan/work^{tree}')).toBe(git('rev-parse', 'main^{tree}'))
    expect(git('ls-remote', 'origin').split('\t')[0]).toBe(pushed)
  })
})

const WORKTREE = PLAN.replace('{ commits: task }', '{ commits: task, worktree: plan }')

describe('a plan that works in a worktree of its own', () => {
  test('leaves the workspace alone, commits there, and stays clean', async () => {
    busy()
    const before = foreign()
    await place.write('plan.yaml', WORKTREE)
    const dry = await place.say(context => run(context, 'plan.yaml', { start: true, dryRun: true }))
    expect(dry.stdout).toMatch(/\+A/)
    expect((await runPlan(WORKTREE)).exit).toBe(0)
    expect(foreign()).toEqual(before)
    const folder = join(place.folder, '.planfold/work/work')
    expect(shell(folder, place.folder, 'status', '--porcelain')).toBe('')
    expect(shell(folder, place.folder, 'symbolic-ref', 'HEAD')).toBe('refs/heads/plan/work')
    expect(git('log', '--format=%s', 'main..plan/work').split('\n')).toHaveLength(3)
    const made = (await entries()).flatMap(({ events }) => events).filter(({ type }) => type === 'place.made')
    expect(made).toMatchObject([{ operations: [{ type: 'branch.created' }, { type: 'worktree.added', path: folder }] }])
    expect(gitOperationsOf(await entries()).map(({ type }) => type)).toEqual([
      'commit.created',
      'commit.created',
      'commit.created',
    ])
  })

  test('goes back in its worktree, which is kept, and the work is done again from there', async () => {
    busy()
    const before = foreign()
    await runPlan(WORKTREE)
    const folder = join(place.folder, '.planfold/work/work')
    expect((await back()).stdout).not.toMatch(/as staged/)
    expect(git('rev-parse', 'plan/work')).toBe(git('rev-parse', 'main'))
    expect(fs.readdirSync(folder).sort()).toEqual(['.git', '.gitignore', 'a.txt', 'b.txt'])
    expect(shell(folder, place.folder, 'status', '--porcelain')).toBe('')
    expect((await place.say(context => resume(context, 'work', {}))).exit).toBe(0)
    expect(git('rev-list', '--count', 'main..plan/work')).toBe('3')
    expect(shell(folder, place.folder, 'status', '--porcelain')).toBe('')
    expect(foreign()).toEqual(before)
  })

  test('a branch of a person is refused, and the plan pauses with what to do', async () => {
    busy()
    git('branch', 'plan/work')
    const said = await runPlan(WORKTREE)
    expect(said.exit).toBe(4)
    expect(`${said.stdout}${said.stderr}`).toMatch(/did not make it.*git branch -m/s)
    git('branch', '-m', 'plan/work', 'mine/work')
    expect((await place.say(context => resume(context, 'work', {}))).exit).toBe(0)
  })

  test('one that was removed in good order is made again where it was', async () => {
    busy()
    const text = `${WORKTREE.replace('needs: [two]', 'needs: [ask]')}  - { id: ask, needs: [two], gate: approval }\n`
    expect((await runPlan(text)).exit).toBe(4)
    git('worktree', 'remove', '--force', '--force', '.planfold/work/work')
    await place.say(async context => {
      const composed = await context.openState({ cwd: place.folder, environment: context.environment })
      const ask = { type: 'decide', task: 'ask' as never, verdict: 'approved', rationale: '' } as const
      await composed.engine.submit('work', ask)
      await composed.close()
      return await resume(context, 'work', {})
    })
    expect(fs.readFileSync(join(place.folder, '.planfold/work/work/two.txt'), 'utf8')).toBe('2\n')
    const made = (await entries()).flatMap(({ events }) => events).filter(({ type }) => type === 'place.made')
    expect(made.map(event => ('operations' in event ? event.operations.map(({ type }) => type) : []))).toEqual([
      ['branch.created', 'worktree.added'],
      ['worktree.added'],
    ])
  })

  test('in a folder of the repository is that folder of the worktree', async () => {
    git('init', '--quiet', '--initial-branch=main')
    put('sub/.gitignore', '.planfold/\n')
    put('sub/plan.yaml', WORKTREE)
    put('sub/a.txt', 'a\n')
    put('other.txt', 'o\n')
    git('add', 'sub', 'other.txt')
    git('commit', '--quiet', '-m', 'first')
    fs.mkdirSync(join(place.folder, 'sub/.planfold'))
    const said = await place.say(context => {
      return run({ ...context, cwd: join(place.folder, 'sub') }, 'plan.yaml', { start: true })
    })
    expect(said.exit).toBe(0)
    expect(git('diff-tree', '-r', '--name-only', 'main', 'plan/work').split('\n')).toEqual([
      'sub/a.txt',
      'sub/one.txt',
      'sub/two.txt',
    ])
    expect(fs.readdirSync(join(place.folder, 'sub/.planfold/work/work/sub')).sort()).toContain('one.txt')
    expect(git('status', '--porcelain')).toBe('')
  })

  test('with a worktree for each task the folder stays byte for byte, and no agent can claim', async () => {
    busy()
    const before = foreign()
    const apart = PLAN.replace('{ commits: task }', '{ worktree: task }')
    const external = await runPlan(`${apart.replace('name: work', 'name: other')}  - { id: ask }\n`)
    expect(external).toMatchObject({ exit: 'not-supported', stderr: expect.stringMatching(/worktree: plan/) })
    expect(foreign()).toEqual(before)
    expect(await runPlan(apart)).toMatchObject({ exit: 0 })
    expect(foreign()).toEqual(before)
    expect(git('worktree', 'list').split('\n')).toHaveLength(1)
    expect(git('show', 'plan/work:one.txt')).not.toBe('')
    expect(await place.say(context => fork(context, 'work', { from: 'one' }))).toMatchObject({ exit: 'not-supported' })
  })

  test('with a worktree for each task in a folder of the repository', async () => {
    git('init', '--quiet', '--initial-branch=main')
    put('.gitignore', '.planfold/\n')
    put('sub/a.txt', 'a\n')
    git('add', '.')
    git('commit', '--quiet', '-m', 'first')
    fs.mkdirSync(join(place.folder, 'sub/.planfold'))
    const apart = `planfold: 1
name: work
git: { worktree: task }
tasks:
  - { id: one, run: "cat a.txt > one.txt", outputs: { text: { file: one.txt } }, accept: [{ check: [test, -f, one.txt] }] }
  - { id: two, needs: [one], effect: pure, run: [test, -f, one.txt] }
`
    put('sub/plan.yaml', apart)
    const said = await place.say(context =>
      run({ ...context, cwd: join(place.folder, 'sub') }, 'plan.yaml', { start: true }),
    )
    expect(said.exit).toBe(0)
    expect(git('diff-tree', '-r', '--name-only', 'main', 'plan/work')).toBe('sub/one.txt')
    expect(git('status', '--porcelain')).toBe('?? sub/plan.yaml')
  })
})

describe('what the repository is not fit for', () => {
  const PLAN = (use: string) =>
    `planfold: 1\nname: work\ngit: ${use}\ntasks:\n  - { id: a, edit: { file: x.txt, create: x } }\n`
  const ways = [
    ['validate', () => place.say(context => validate(context, ['plan.yaml']))],
    ['run', () => place.say(context => run(context, 'plan.yaml', { start: true }))],
    ['a dry run', () => place.say(context => run(context, 'plan.yaml', { start: true, dryRun: true }))],
  ] as const

  test.each(ways)('%s: a base that is not there is told, and nothing is left behind', async (_, way) => {
    busy()
    await place.write('plan.yaml', PLAN('{ commits: task, base: no-such-branch }'))
    const before = fs.readdirSync(place.folder)
    expect(await way()).toMatchObject({ exit: 'invalid-plan' })
    expect(fs.readdirSync(place.folder).filter(name => name !== '.planfold')).toEqual(before)
  })

  test.each(ways)('%s: a `.git` file that nothing confirms is told before anything runs', async (_, way) => {
    const other = await newPlace()
    try {
      shell(other.folder, other.folder, 'init', '--quiet', '--initial-branch=main')
      shell(other.folder, other.folder, 'commit', '--quiet', '--allow-empty', '-m', 'one')
      put('.git', `gitdir: ${join(other.folder, '.git')}\n`)
      await place.write('plan.yaml', PLAN('{ commits: task }'))
      const said = await way()
      expect(said.exit).toBe('invalid-plan')
      expect(fs.existsSync(join(place.folder, 'x.txt'))).toBe(false)
      // Whoever says that it is theirs is believed.
      const environment = { PLANFOLD_GIT_DIR: join(other.folder, '.git') }
      expect((await place.say(context => validate(context, ['plan.yaml']), { environment })).exit).toBe(0)
    } finally {
      await other.remove()
    }
  })
})
