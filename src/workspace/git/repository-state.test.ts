// What is said about a repository, in every kind of repository, and that saying it changes nothing.

import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  ACTOR,
  AT,
  BRANCH,
  busySetup,
  commitOf,
  fingerprint,
  no,
  owner,
  setup,
  shell,
  text,
  value,
  work,
} from './repository.fixture.ts'

describe('a description', () => {
  test('says where HEAD, index and files stand, and changes no byte', async () => {
    const { git, sh, root } = busySetup()
    // Times that make git want to refresh the index.
    fs.utimesSync(join(root, 'a.txt'), 1, 1)
    const before = fingerprint(root)
    const told = value(await git.describe())
    expect(fingerprint(root)).toEqual(before)
    expect(told).toMatchObject({
      top: root,
      head: { commit: sh('rev-parse', 'HEAD'), branch: 'main' },
      dirty: { staged: 1, unstaged: 1, untracked: 1, conflicted: 0, unsure: 0, paths: ['b.txt', 'new.txt'] },
      upstream: null,
      pushed: false,
      underWay: [],
      objectFormat: 'sha1',
      shallow: false,
      linkedWorktree: false,
    })
    const index = fs.readFileSync(join(root, '.git/index'))
    expect(told.index.sha256).toBe(createHash('sha256').update(index).digest('hex'))
    expect(told.index.tree).toBe(sh('write-tree'))
  })

  test('knows conflicts, what is under way, and what was pushed', async () => {
    const { git, sh, write, base } = setup()
    write('a.txt', 'a\n')
    sh('add', '.')
    sh('commit', '-qm', 'first')
    sh('switch', '-qc', 'other')
    write('a.txt', 'other\n')
    sh('commit', '-qam', 'other')
    sh('switch', '-q', 'main')
    write('a.txt', 'main\n')
    sh('commit', '-qam', 'main')
    sh('init', '--quiet', '--bare', join(base, 'remote.git'))
    sh('remote', 'add', 'origin', join(base, 'remote.git'))
    sh('push', '-qu', 'origin', 'main')
    sh('commit', '-q', '--allow-empty', '-m', 'ahead')
    expect(() => sh('merge', 'other')).toThrow()
    expect(value(await git.describe())).toMatchObject({
      index: { tree: null },
      dirty: { conflicted: 1, staged: 0, unstaged: 0 },
      upstream: { ref: 'refs/remotes/origin/main', ahead: 1, behind: 0 },
      pushed: false,
      underWay: ['merge'],
    })
  })
})

/** One round of everything: a branch, a commit, a rollback, an undo; all else byte-identical. */
async function round(
  root: string,
  open: (root: string) => ReturnType<typeof setup>['git'],
  sh: (...args: string[]) => string,
) {
  const git = open(root)
  const before = fingerprint(root)
  const operations = await work(git, 'one', 'two')
  const tip = sh('rev-parse', BRANCH)
  const request = { ...owner, actor: ACTOR, operations, at: AT + 60_000 }
  const gone = await git.rollback(request)
  expect(gone).toMatchObject({ ok: true, done: [{ type: 'branch.deleted' }] })
  expect(await git.rollback({ ...request, operations: gone.done, at: AT + 61_000 })).toMatchObject({ ok: true })
  expect(sh('rev-parse', BRANCH)).toBe(tip)
  expect(fingerprint(root)).toEqual(before)
  expect(sh('fsck', '--strict', '--no-dangling')).toBe('')
}

describe('every kind of repository', () => {
  test('an empty one is described, and a branch in it is refused with what to do', async () => {
    const { git, root, write } = setup()
    write('x', 'x')
    const before = fingerprint(root)
    expect(value(await git.describe())).toMatchObject({
      head: { commit: null, branch: 'main' },
      index: { tree: null, sha256: null },
      dirty: { untracked: 1 },
      pushed: null,
    })
    expect(no(await git.ensureBranch({ ...owner, base: 'HEAD', at: AT }))).toMatch(
      /has no commits yet.*git commit --allow-empty/,
    )
    expect(no(await git.ensureBranch({ ...owner, base: 'HEAD~1', at: AT }))).toMatch(/has no commits yet/)
    expect(no(await git.commitPaths(commitOf({ x: text('x') })))).toMatch(/no branch/)
    expect(fingerprint(root)).toEqual(before)
  })

  test('a bare one and a folder without one are refused', async () => {
    const { base, sh, open } = setup()
    sh('init', '--quiet', '--bare', join(base, 'bare.git'))
    expect(no(await open(join(base, 'bare.git')).describe())).toMatch(/working tree/)
    fs.mkdirSync(join(base, 'plain'))
    expect(no(await open(join(base, 'plain')).describe())).toMatch(/git init/)
    expect(no(await open(join(base, 'missing')).describe())).toMatch(/no such file/)
  })

  test('with a detached HEAD', async () => {
    const { root, open, sh, git } = busySetup()
    sh('checkout', '--quiet', '--detach')
    expect(value(await git.describe()).head.branch).toBe(null)
    await round(root, open, sh)
  })

  test('with a submodule, which is neither entered nor replaced', async () => {
    const { root, open, sh, base, git } = busySetup()
    const home = join(base, 'home')
    fs.mkdirSync(join(base, 'lib'))
    const inLib = (...args: string[]) => shell(join(base, 'lib'), home, ...args)
    inLib('init', '--quiet')
    inLib('commit', '--quiet', '--allow-empty', '-m', 'lib')
    sh('submodule', '--quiet', 'add', join(base, 'lib'), 'lib')
    sh('commit', '--quiet', '-m', 'lib', '.gitmodules', 'lib')
    const marker = join(base, 'marker')
    shell(join(root, 'lib'), home, 'config', 'core.fsmonitor', `touch ${marker}`)
    fs.writeFileSync(join(root, 'lib/dirty'), 'x')
    await git.describe()
    expect(fs.existsSync(marker)).toBe(false)
    await round(root, open, sh)
    expect(no(await git.commitPaths(commitOf({ 'lib/x': text('x') })))).toMatch(/"lib"/)
    no(await git.commitPaths(commitOf({ 'lib/dirty': { from: 'workspace' } })))
    no(await git.commitPaths(commitOf({ lib: { from: 'workspace' } })))
  })

  test('a shallow one', async () => {
    const { base, sh, open, root } = busySetup()
    sh('commit', '--quiet', '--allow-empty', '-m', 'second')
    const clone = join(base, 'clone')
    sh('clone', '--quiet', '--depth=1', `file://${root}`, clone)
    const inClone = (...args: string[]) => shell(clone, join(base, 'home'), ...args)
    expect(value(await open(clone).describe())).toMatchObject({ shallow: true, pushed: true })
    await round(clone, open, inClone)
  })

  test('one with SHA-256 objects', async () => {
    const { root, open, sh, git } = busySetup(['--object-format=sha256'])
    expect(value(await git.describe())).toMatchObject({ objectFormat: 'sha256' })
    expect(sh('rev-parse', 'HEAD')).toHaveLength(64)
    await round(root, open, sh)
  })

  test('a linked worktree', async () => {
    const { base, sh, open, root } = busySetup()
    const linked = join(base, 'linked')
    sh('worktree', 'add', '--quiet', linked, '-b', 'linked')
    expect(value(await open(linked).describe())).toMatchObject({ linkedWorktree: true, head: { branch: 'linked' } })
    const before = fingerprint(root)
    await round(linked, open, sh)
    expect(fingerprint(root)).toEqual(before)
  })

  test('one in a folder with spaces, quotes and line feeds in its name', async () => {
    const { base, sh, open } = busySetup()
    const odd = join(base, `o'dd "x"\n-folder`)
    sh('clone', '--quiet', join(base, 'work'), odd)
    await round(odd, open, (...args) => shell(odd, join(base, 'home'), ...args))
  })
})
