// Nothing is written into a repository that a `.git` file only claims to belong to. Worktrees and submodules have a reference back.

import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Git } from './git.ts'
import { openGit } from './open-git.ts'
import { AT, busySetup, owner, shell } from './repository.fixture.ts'

const branch = (git: Git) => git.ensureBranch({ ...owner, base: 'HEAD', at: AT })
const refs = (sh: (...args: string[]) => string) => sh('for-each-ref', '--format=%(refname) %(objectname)')

it('a .git file that names somebody else’s repository: it is read, and not written', async () => {
  const { base, sh, open, root } = busySetup()
  const hostile = join(base, 'unpacked')
  mkdirSync(hostile)
  writeFileSync(join(hostile, '.git'), `gitdir: ${join(root, '.git')}\n`)
  const before = refs(sh)
  const git = open(hostile)
  expect(await git.standing()).toMatchObject({ ok: true })
  const refused = await branch(git)
  expect(refused).toMatchObject({
    ok: false,
    failure: {
      class: 'policy',
      message: expect.stringContaining('nothing in that repository names this folder'),
      hint: expect.stringContaining('PLANFOLD_GIT_DIR='),
    },
  })
  expect(refs(sh)).toBe(before)
})

it('a .git link to somebody else’s repository is not written either', async () => {
  const { base, sh, open, root } = busySetup()
  const hostile = join(base, 'unpacked')
  mkdirSync(hostile)
  symlinkSync(join(root, '.git'), join(hostile, '.git'))
  const before = refs(sh)
  expect(await branch(open(hostile))).toMatchObject({ ok: false, failure: { class: 'policy' } })
  expect(refs(sh)).toBe(before)
})

it('a .git file that names the private folder of another worktree is not written', async () => {
  const { base, sh, open, root } = busySetup()
  sh('worktree', 'add', '--quiet', '--detach', join(base, 'linked'))
  const hostile = join(base, 'unpacked')
  mkdirSync(hostile)
  writeFileSync(join(hostile, '.git'), `gitdir: ${join(root, '.git', 'worktrees', 'linked')}\n`)
  expect(await branch(open(hostile))).toMatchObject({ ok: false, failure: { class: 'policy' } })
})

it('a linked worktree is written; one that was moved by hand is not, until it is repaired', async () => {
  const { base, sh, open } = busySetup()
  sh('worktree', 'add', '--quiet', '--detach', join(base, 'linked'))
  expect(await branch(open(join(base, 'linked')))).toMatchObject({ ok: true })
  renameSync(join(base, 'linked'), join(base, 'moved'))
  expect(await branch(open(join(base, 'moved')))).toMatchObject({
    ok: false,
    failure: { hint: expect.stringContaining('git worktree repair') },
  })
  sh('worktree', 'repair', join(base, 'moved'))
  expect(await branch(open(join(base, 'moved')))).toMatchObject({ ok: true })
})

it('a submodule is written', async () => {
  const inner = busySetup()
  const { root, sh, open } = busySetup()
  sh('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.root, 'part')
  expect(await branch(open(join(root, 'part')))).toMatchObject({ ok: true })
})

it('a clone with its repository elsewhere is written when it is named, and only then', async () => {
  const { base, root } = busySetup()
  const home = join(base, 'home')
  const [clone, apart] = [join(base, 'clone'), join(base, 'apart.git')]
  shell(base, home, 'clone', '--quiet', '--separate-git-dir', apart, root, clone)
  const open = (environment: { readonly [name: string]: string }) =>
    openGit({ root: clone, scratch: join(base, 'scratch'), environment: { PATH: process.env.PATH, ...environment } })
  expect(await branch(open({ HOME: home }))).toMatchObject({ ok: false, failure: { class: 'policy' } })
  const wrong = { HOME: home, PLANFOLD_GIT_DIR: join(root, '.git') }
  expect(await branch(open(wrong))).toMatchObject({ ok: false })
  expect(await branch(open({ HOME: home, PLANFOLD_GIT_DIR: apart }))).toMatchObject({ ok: true })
})
