// Every kind of repository: how it stands is told, and our work in it changes nothing else.

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
  test('how an empty one stands is told, and a branch in it is refused with what to do', async () => {
    const { git, root, write } = setup()
    write('x', 'x')
    const before = fingerprint(root)
    expect(value(await git.standing())).toEqual({ head: null, branch: 'main', index: null, dirty: 1 })
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
    expect(no(await open(join(base, 'bare.git')).ground())).toMatch(/working tree/)
    fs.mkdirSync(join(base, 'plain'))
    expect(no(await open(join(base, 'plain')).ground())).toMatch(/git init/)
    expect(no(await open(join(base, 'missing')).ground())).toMatch(/no such file/)
  })

  test('with a detached HEAD', async () => {
    const { root, open, sh, git } = busySetup()
    sh('checkout', '--quiet', '--detach')
    expect(value(await git.standing())?.branch).toBe(null)
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
    await git.standing()
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
    await round(clone, open, inClone)
  })

  test('one with SHA-256 objects', async () => {
    const { root, open, sh } = busySetup(['--object-format=sha256'])
    expect(sh('rev-parse', 'HEAD')).toHaveLength(64)
    await round(root, open, sh)
  })

  test('a linked worktree', async () => {
    const { base, sh, open, root } = busySetup()
    const linked = join(base, 'linked')
    sh('worktree', 'add', '--quiet', linked, '-b', 'linked')
    expect(value(await open(linked).standing())).toMatchObject({ branch: 'linked' })
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
