// The worktree of one task: begun anew for every attempt, without losing what stood there, and taken away when all of it is merged.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { plainHint } from '../../domain/hint.ts'
import type { GitAnswer } from './git.ts'
import { ACTOR, AT, busySetup, fingerprint, OTHER_PLAN, owner, type Setup, shell, task } from './repository.fixture.ts'

const TASK = task('build/one')
const BRANCH = 'plan/upgrade+build+one'

function value<T>(answer: GitAnswer<T>): T {
  if (answer.ok) return answer.value
  throw new Error(`${answer.failure.message} ${plainHint(answer.failure.hint ?? '')}`)
}
const folderOf = ({ base }: Setup) => join(base, 'trees')
const pathOf = (made: Setup) => join(folderOf(made), 'build+one')
const at = (made: Setup, ...args: string[]) => shell(pathOf(made), join(made.base, 'home'), ...args)

const begin = async (made: Setup, more: { readonly again?: boolean; readonly at?: number } = {}) =>
  value(
    await made.git.beginTask({
      ...owner,
      task: TASK,
      base: 'HEAD',
      key: 'k/1',
      again: false,
      folder: folderOf(made),
      at: AT,
      ...more,
    }),
  )
const land = async (made: Setup, path: string | null = pathOf(made)) =>
  value(
    await made.git.landTask({
      ...owner,
      task: TASK,
      base: 'HEAD',
      message: 'merge',
      actor: ACTOR,
      key: 'k/1',
      path,
      at: AT + 5,
    }),
  )
const commit = async (made: Setup, text: string) => {
  fs.writeFileSync(join(pathOf(made), 'a.txt'), text)
  const paths = new Map([['a.txt', { from: 'bytes', bytes: Buffer.from(text), mode: '100644' } as const]])
  const result = 'e'.repeat(64)
  return value(
    await made.git.commitPaths({
      ...owner,
      task: TASK,
      paths,
      message: 'work',
      actor: ACTOR,
      key: 'k/1',
      result,
      whenCheckedOut: 'stage',
      at: AT,
    }),
  )
}
const backups = (made: Setup) => made.sh('for-each-ref', '--format=%(refname)', 'refs/planfold/backup')

describe('the worktree of a task', () => {
  test('is made at the tip of the plan, merged and taken away; what a person has lying around stays', async () => {
    const made = busySetup()
    const before = fingerprint(made.root)
    expect(await begin(made)).toMatchObject({
      status: 'ready',
      path: pathOf(made),
      workspace: pathOf(made),
      aside: [],
    })
    expect(at(made, 'symbolic-ref', 'HEAD')).toBe(`refs/heads/${BRANCH}`)
    await commit(made, 'changed\n')
    expect(await begin(made)).toEqual({ status: 'found', result: 'e'.repeat(64), path: pathOf(made) })
    expect(await land(made)).toMatchObject({
      status: 'landed',
      kept: null,
      merge: { type: 'branch.merged', before: made.sh('rev-parse', 'main') },
      operations: [{ type: 'worktree.removed' }, { type: 'branch.deleted' }],
    })
    expect(await begin(made)).toMatchObject({ status: 'found', path: null })
    expect(await land(made, null)).toMatchObject({
      merge: { after: made.sh('rev-parse', 'plan/upgrade') },
      operations: [],
    })
    expect(made.sh('for-each-ref', '--format=%(refname:short)', 'refs/heads').split('\n')).toEqual([
      'main',
      'plan/upgrade',
    ])
    expect(made.sh('for-each-ref', 'refs/planfold').split('\n')).toHaveLength(1)
    expect([fs.existsSync(pathOf(made)), fingerprint(made.root)]).toEqual([false, before])
  })

  test('begins anew with all that an attempt left under backup refs; what git ignores stays where it is', async () => {
    const made = busySetup()
    await begin(made)
    await commit(made, 'committed\n')
    fs.writeFileSync(join(pathOf(made), 'b.txt'), 'staged\n')
    at(made, 'add', 'b.txt')
    fs.writeFileSync(join(pathOf(made), 'b.txt'), 'changed\n')
    fs.mkdirSync(join(pathOf(made), 'new'))
    fs.writeFileSync(join(pathOf(made), 'new/file'), 'untracked\n')
    fs.writeFileSync(join(pathOf(made), 'x.log'), 'ignored\n')
    fs.rmSync(join(pathOf(made), 'c.txt'))
    const { aside } = (await begin(made, { again: true, at: AT + 1 })) as { readonly aside: readonly string[] }
    expect(aside).toHaveLength(2)
    expect(backups(made).split('\n').sort()).toEqual([...aside].sort())
    const [left, own] = aside as [string, string]
    expect(made.sh('show', `${left}:b.txt`)).toBe('changed')
    expect(made.sh('ls-tree', '-r', '--name-only', left).split('\n')).toEqual([
      '.gitignore',
      'a.txt',
      'b.txt',
      'new/file',
    ])
    expect(made.sh('show', `${own}:a.txt`)).toBe('committed')
    expect([at(made, 'status', '--porcelain'), at(made, 'rev-parse', 'HEAD')]).toEqual([
      '',
      made.sh('rev-parse', 'main'),
    ])
    expect(fs.readFileSync(join(pathOf(made), 'x.log'), 'utf8')).toBe('ignored\n')
    await commit(made, 'second\n')
    expect(await land(made)).toMatchObject({ kept: { message: expect.stringMatching(/x\.log/) }, operations: [] })
    expect(fs.existsSync(join(pathOf(made), 'x.log'))).toBe(true)
    // The branch stays with it, and the next attempt works in the same folder.
    expect(await begin(made, { again: true, at: AT + 2 })).toMatchObject({ status: 'ready', aside: [] })
    expect(at(made, 'status', '--porcelain')).toBe('')
    expect(made.sh('show', 'plan/upgrade:a.txt')).toBe('second')
  })

  test('is made again when it was taken away, and finished when it was cut off in any step', async () => {
    const made = busySetup()
    await begin(made)
    fs.rmSync(pathOf(made), { recursive: true })
    expect(await begin(made, { at: AT + 1 })).toMatchObject({ status: 'ready' })
    // Without a branch, as between two steps.
    at(made, 'checkout', '--quiet', '--detach')
    expect(await begin(made, { at: AT + 2 })).toMatchObject({ status: 'ready', aside: [] })
    at(made, 'checkout', '--quiet', '--detach')
    made.sh('branch', '--quiet', '-D', BRANCH)
    fs.writeFileSync(join(pathOf(made), 'a.txt'), 'on no branch\n')
    at(made, 'commit', '--quiet', '-am', 'alone')
    const begun = await begin(made, { at: AT + 3 })
    expect(begun).toMatchObject({ status: 'ready', aside: [expect.stringMatching(/\/left\//)] })
    expect(made.sh('show', `${backups(made)}:a.txt`)).toBe('on no branch')
    expect(at(made, 'symbolic-ref', 'HEAD')).toBe(`refs/heads/${BRANCH}`)
    await commit(made, 'x\n')
    expect(await land(made)).toMatchObject({ kept: null, operations: [{}, {}] })
  })

  test('a conflict is an answer, and nothing is changed by it', async () => {
    const made = busySetup()
    await begin(made)
    await commit(made, 'mine\n')
    made.sh('worktree', 'add', '--quiet', join(made.base, 'other'), 'plan/upgrade')
    shell(join(made.base, 'other'), made.base, 'commit', '--quiet', '--allow-empty', '-m', 'empty')
    fs.writeFileSync(join(made.base, 'other/a.txt'), 'theirs\n')
    shell(join(made.base, 'other'), made.base, 'commit', '--quiet', '-am', 'theirs')
    made.sh('worktree', 'remove', join(made.base, 'other'))
    const refs = made.sh('for-each-ref')
    expect(await land(made)).toEqual({ status: 'conflict', paths: ['a.txt'] })
    expect([made.sh('for-each-ref'), fs.existsSync(pathOf(made))]).toEqual([refs, true])
  })

  test('is refused where a folder, worktree or branch is not ours, or somebody is in the middle of something', async () => {
    const made = busySetup()
    const no = async (plan = owner.plan) => {
      const request = {
        ...owner,
        plan,
        task: TASK,
        base: 'HEAD',
        key: 'k',
        again: false,
        folder: folderOf(made),
        at: AT,
      }
      const answer = await made.git.beginTask(request)
      return answer.ok ? 'yes' : answer.failure.message
    }
    fs.mkdirSync(pathOf(made), { recursive: true })
    fs.writeFileSync(join(pathOf(made), 'mine'), 'mine')
    expect(await no()).toMatch(/already exists/)
    expect(fs.readFileSync(join(pathOf(made), 'mine'), 'utf8')).toBe('mine')
    fs.rmSync(pathOf(made), { recursive: true })
    made.sh('branch', '--quiet', '-D', BRANCH)
    made.sh('update-ref', '-d', `refs/planfold/made/${owner.plan}/${BRANCH}`)
    made.sh('branch', BRANCH)
    expect(await no()).toMatch(/not made by this plan/)
    made.sh('branch', '-D', BRANCH)
    await begin(made, { at: AT + 1 })
    expect(await no(OTHER_PLAN)).toMatch(/did not make it/)
    fs.writeFileSync(join(made.root, '.git/worktrees/build+one/MERGE_HEAD'), made.sh('rev-parse', 'HEAD'))
    expect(await no()).toMatch(/merge is under way/)
  })
})
