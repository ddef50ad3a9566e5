// Worktrees of plans and tasks, merging back, and the removal that never takes the only copy of anybody's work.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { GitAnswer, Worktree } from './git.ts'
import {
  ACTOR,
  AT,
  BRANCH,
  busySetup,
  commitOf,
  fingerprint,
  no,
  OTHER_PLAN,
  owner,
  type Setup,
  shell,
  task,
  text,
  value,
  work,
} from './repository.fixture.ts'

const side = task('side')
async function added(made: Setup): Promise<Worktree> {
  await work(made.git)
  const folder = join(made.base, 'trees')
  return value(await made.git.addWorktree({ ...owner, task: side, base: 'plan/upgrade', folder, at: AT })).worktree
}
const remove = (made: Setup, path: string, expendable: readonly string[] = []) =>
  made.git.removeWorktree({ ...owner, task: side, path, at: AT, expendable })
const inside = (made: Setup, path: string, ...args: string[]) => shell(path, join(made.base, 'home'), ...args)
const listOf = (answer: GitAnswer<unknown>) => ('list' in answer ? answer.list : undefined)

describe('a worktree', () => {
  test('is made beside the working tree, which stays byte-identical, and is found again', async () => {
    const made = busySetup()
    const before = fingerprint(made.root)
    const { path, branch } = await added(made)
    expect(branch).toBe('plan/upgrade+side')
    expect(fs.readdirSync(path).sort()).toEqual(['.git', '.gitignore', 'a.txt', 'b.txt', 'c.txt'])
    expect(inside(made, path, 'status', '--porcelain')).toBe('')
    expect(fingerprint(made.root)).toEqual(before)
    expect(value(await made.git.listWorktrees(owner.plan)).map(each => each.path)).toEqual([path])
    expect(value(await made.git.listWorktrees(OTHER_PLAN))).toEqual([])
    expect(await added(made)).toMatchObject({ path })
    made.sh('worktree', 'prune', '--expire=now')
    expect(value(await made.git.listWorktrees(owner.plan))).toHaveLength(1)
  })

  test('left half made is filled up, and what stands there is never written over', async () => {
    const made = busySetup()
    const { path } = await added(made)
    const gitDir = inside(made, path, 'rev-parse', '--absolute-git-dir')
    fs.rmSync(join(gitDir, 'planfold-filled'))
    fs.rmSync(join(gitDir, 'index'))
    fs.rmSync(join(path, 'a.txt'))
    await added(made)
    expect(inside(made, path, 'status', '--porcelain')).toBe('')
    fs.rmSync(join(gitDir, 'planfold-filled'))
    fs.writeFileSync(join(path, 'a.txt'), 'half')
    const folder = join(made.base, 'trees')
    const again = await made.git.addWorktree({ ...owner, task: side, base: 'plan/upgrade', folder, at: AT })
    expect(no(again)).toMatch(/half made.*"a\.txt"/)
    expect(fs.readFileSync(join(path, 'a.txt'), 'utf8')).toBe('half')
  })

  test('never covers a folder that holds something', async () => {
    const made = busySetup()
    await work(made.git)
    const folder = join(made.base, 'trees')
    fs.mkdirSync(join(folder, 'upgrade+side'), { recursive: true })
    fs.writeFileSync(join(folder, 'upgrade+side/mine'), 'mine')
    no(await made.git.addWorktree({ ...owner, task: side, base: 'plan/upgrade', folder, at: AT }))
    expect(fs.readFileSync(join(folder, 'upgrade+side/mine'), 'utf8')).toBe('mine')
  })

  test('takes commits through its own index', async () => {
    const made = busySetup()
    const { path } = await added(made)
    fs.writeFileSync(join(path, 'done.txt'), 'done\n')
    const inIt = made.open(path)
    const request = commitOf({ 'done.txt': { from: 'workspace' } }, { task: side, whenCheckedOut: 'stage' })
    expect(value(await inIt.commitPaths(request)).status).toBe('committed')
    expect(inside(made, path, 'status', '--porcelain')).toBe('')
    expect(made.sh('show', 'plan/upgrade+side:done.txt')).toBe('done')
  })
})

describe('a removal', () => {
  test('removes what is committed and reachable, and keeps the branch', async () => {
    const made = busySetup()
    const { path } = await added(made)
    const before = fingerprint(made.root)
    const { operations } = value(await remove(made, path))
    expect(operations).toMatchObject([{ type: 'worktree.removed', path, ref: `${BRANCH}+side` }])
    expect(fs.existsSync(path)).toBe(false)
    expect(made.sh('rev-parse', '--verify', 'plan/upgrade+side')).toBeTruthy()
    expect(fingerprint(made.root)).toEqual(before)
    expect(value(await remove(made, path))).toEqual({ operations: [] })
  })

  const ways: { readonly [name: string]: (path: string, run: (...args: string[]) => string) => string } = {
    'an untracked file': path => {
      fs.writeFileSync(join(path, 'new.txt'), 'new')
      return 'new.txt'
    },
    'a changed file': path => {
      fs.writeFileSync(join(path, 'a.txt'), 'changed')
      return 'a.txt'
    },
    'an ignored file': path => {
      fs.writeFileSync(join(path, 'precious.log'), 'only here')
      return 'precious.log'
    },
    'staged content': (path, run) => {
      fs.writeFileSync(join(path, 'a.txt'), 'staged')
      run('add', 'a.txt')
      fs.writeFileSync(join(path, 'a.txt'), 'a\n')
      return 'a.txt'
    },
    'a change hidden by assume-unchanged': (path, run) => {
      run('update-index', '--assume-unchanged', 'a.txt')
      fs.writeFileSync(join(path, 'a.txt'), 'hidden')
      return 'a.txt'
    },
    'a change hidden by skip-worktree': (path, run) => {
      run('update-index', '--skip-worktree', 'a.txt')
      fs.writeFileSync(join(path, 'a.txt'), 'hidden')
      return 'a.txt'
    },
    'a change of the same size and time': path => {
      const { atime, mtime } = fs.statSync(join(path, 'a.txt'))
      fs.writeFileSync(join(path, 'a.txt'), 'A\n')
      fs.utimesSync(join(path, 'a.txt'), atime, mtime)
      return 'a.txt'
    },
    'a repository inside': (path, run) => {
      run('init', '--quiet', 'inner')
      fs.writeFileSync(join(path, 'inner/x'), 'x')
      return 'inner/'
    },
  }
  test.each(Object.keys(ways))('is refused with a list over %s', async name => {
    const made = busySetup()
    const { path } = await added(made)
    const at = ways[name]!(path, (...args) => inside(made, path, ...args))
    const before = fingerprint(path)
    const answer = await remove(made, path)
    expect(no(answer)).toMatch(/only copy/)
    expect(listOf(answer)).toEqual([at])
    expect(fingerprint(path)).toEqual(before)
  })

  test('takes ignored content that can be made again, and only that', async () => {
    const made = busySetup()
    const { path } = await added(made)
    fs.writeFileSync(join(made.root, '.git/info/exclude'), 'node_modules\n')
    fs.mkdirSync(join(path, 'node_modules/x'), { recursive: true })
    fs.writeFileSync(join(path, 'node_modules/x/y'), '')
    fs.writeFileSync(join(path, 'keep.log'), '')
    expect(listOf(await remove(made, path, ['node_modules']))).toEqual(['keep.log'])
    fs.rmSync(join(path, 'keep.log'))
    value(await remove(made, path, ['node_modules/']))
    expect(fs.existsSync(path)).toBe(false)
  })

  test('is refused on another branch, in a merge, and for a worktree that is not ours', async () => {
    const made = busySetup()
    const { path } = await added(made)
    const gitDir = inside(made, path, 'rev-parse', '--absolute-git-dir')
    fs.writeFileSync(join(gitDir, 'MERGE_HEAD'), `${made.sh('rev-parse', 'main')}\n`)
    expect(no(await remove(made, path))).toMatch(/merge is under way/)
    fs.rmSync(join(gitDir, 'MERGE_HEAD'))
    inside(made, path, 'switch', '--quiet', '--detach')
    expect(no(await remove(made, path))).toMatch(/no branch/)
    made.sh('worktree', 'add', '--quiet', join(made.base, 'theirs'), '-b', 'theirs')
    expect(no(await remove(made, join(made.base, 'theirs')))).toMatch(/did not make/)
    expect(fs.existsSync(join(made.base, 'theirs/a.txt'))).toBe(true)
  })

  test('keeps commits that only the log of the worktree remembers', async () => {
    const made = busySetup()
    const { path } = await added(made)
    inside(made, path, 'commit', '--quiet', '--allow-empty', '-m', 'lost')
    const lost = inside(made, path, 'rev-parse', 'HEAD')
    inside(made, path, 'commit', '--quiet', '--allow-empty', '--amend', '-m', 'kept')
    value(await remove(made, path))
    expect(made.sh('for-each-ref', '--format=%(objectname)', 'refs/planfold/backup')).toBe(lost)
  })

  test('cut off between unlocking and removing can be done again', async () => {
    const made = busySetup()
    const { path } = await added(made)
    made.sh('worktree', 'unlock', path)
    value(await remove(made, path))
    expect(fs.existsSync(path)).toBe(false)
  })
})

describe('merging back', () => {
  const request = { ...owner, task: side, message: 'chore(plan): merge side', actor: ACTOR, at: AT }

  test('makes a merge commit without a working tree', async () => {
    const made = busySetup()
    await added(made)
    value(await made.git.commitPaths(commitOf({ 's.txt': text('s') }, { task: side, whenCheckedOut: 'stage' })))
    value(await made.git.commitPaths(commitOf({ 'o.txt': text('o') })))
    const before = fingerprint(made.root)
    const merged = value(await made.git.mergeBack(request))
    expect(merged.status).toBe('merged')
    expect(made.sh('ls-tree', '--name-only', BRANCH)).toMatch(/o\.txt\ns\.txt/)
    expect(fingerprint(made.root)).toEqual(before)
    expect(value(await made.git.mergeBack(request)).status).toBe('already')
  })

  test.each(['none', 'union', 'ours'])(
    'reports a conflict and changes nothing, with the merge attribute %s',
    async driver => {
      const made = busySetup()
      if (driver !== 'none') fs.writeFileSync(join(made.root, '.git/info/attributes'), `* merge=${driver}\n`)
      if (driver === 'ours') made.sh('config', 'merge.ours.driver', 'true')
      const { path } = await added(made)
      value(await made.git.commitPaths(commitOf({ 'a.txt': text('side\n') }, { task: side, whenCheckedOut: 'stage' })))
      value(await made.git.commitPaths(commitOf({ 'a.txt': text('ours\n') })))
      const refs = made.sh('for-each-ref')
      const before = fingerprint(path)
      expect(value(await made.git.mergeBack(request))).toMatchObject({ status: 'conflict', paths: ['a.txt'] })
      expect(made.sh('for-each-ref')).toBe(refs)
      expect(fingerprint(path)).toEqual(before)
    },
  )
})
