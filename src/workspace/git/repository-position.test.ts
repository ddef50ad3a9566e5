// Where a repository stands, asked with one process: the same as the long way says, nothing of the repository runs, and none at
// all where there is no repository.

import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { PlanName } from '../../domain/id.ts'
import { openGit } from './open-git.ts'
import { AT, busySetup, commitOf, fingerprint, owner, type Setup, setup, text, value } from './repository.fixture.ts'

const sha256 = (file: string) => createHash('sha256').update(fs.readFileSync(file)).digest('hex')

async function standing({ git }: Setup) {
  const answer = await git.standing()
  if (!answer.ok) throw new Error(answer.failure.message)
  return answer.value
}

/** A git that writes down how often it is started. */
function counted(made: Setup, environment: { readonly [name: string]: string } = {}) {
  const bin = join(made.base, 'bin')
  fs.mkdirSync(bin)
  const log = join(made.base, 'started')
  fs.writeFileSync(log, '')
  const real = (process.env.PATH ?? '').split(':').find(folder => fs.existsSync(join(folder, 'git')))
  fs.writeFileSync(join(bin, 'git'), `#!/bin/sh\necho >> ${log}\nexec ${real}/git "$@"\n`, { mode: 0o755 })
  const at = (root: string) =>
    openGit({
      root,
      scratch: join(made.base, 'scratch'),
      environment: { PATH: `${bin}:${process.env.PATH}`, HOME: join(made.base, 'home'), ...environment },
    })
  return { at, started: () => fs.readFileSync(log, 'utf8').length }
}

describe('where a repository stands', () => {
  test('with everything lying around: HEAD, branch, the bytes of the index, each path once; nothing is changed', async () => {
    const made = busySetup()
    // Times that make git want to refresh the index.
    fs.utimesSync(join(made.root, 'a.txt'), 1, 1)
    const before = fingerprint(made.root)
    const index = sha256(join(made.root, '.git/index'))
    expect(await standing(made)).toEqual({ head: made.sh('rev-parse', 'HEAD'), branch: 'main', index, dirty: 2 })
    expect(fingerprint(made.root)).toEqual(before)
  })

  test('without a commit, detached, with conflicts, in a linked worktree and in a folder', async () => {
    const made = setup()
    expect(await standing(made)).toEqual({ head: null, branch: 'main', index: null, dirty: 0 })
    made.write('sub/a.txt', 'a\n')
    made.sh('add', '.')
    made.sh('commit', '--quiet', '-m', 'first')
    const head = made.sh('rev-parse', 'HEAD')
    const inside = await made.open(join(made.root, 'sub')).standing()
    expect(inside).toMatchObject({ ok: true, value: { head, dirty: 0 } })
    made.sh('worktree', 'add', '--quiet', '--detach', join(made.base, 'linked'))
    fs.writeFileSync(join(made.base, 'linked/new.txt'), 'x')
    const index = sha256(join(made.root, '.git/worktrees/linked/index'))
    expect(await made.open(join(made.base, 'linked')).standing()).toEqual({
      ok: true,
      value: { head, branch: null, index, dirty: 1 },
    })
    made.sh('switch', '--quiet', '-c', 'other')
    made.write('sub/a.txt', 'b\n')
    made.sh('commit', '--quiet', '-am', 'b')
    made.sh('switch', '--quiet', 'main')
    made.write('sub/a.txt', 'c\n')
    made.sh('commit', '--quiet', '-am', 'c')
    expect(() => made.sh('merge', 'other')).toThrow()
    expect(await standing(made)).toMatchObject({ branch: 'main', dirty: 1 })
  })

  test('takes one process, two when the configuration has changed, none without a repository', async () => {
    const made = busySetup()
    const { at, started } = counted(made)
    const git = at(made.root)
    const count = async (work: () => Promise<unknown>) => {
      const before = started()
      await work()
      return started() - before
    }
    expect(await count(() => git.standing())).toBe(2)
    expect(await count(() => git.standing())).toBe(1)
    made.sh('config', 'user.name', 'Somebody')
    expect(await count(() => git.standing())).toBe(2)
    expect(await count(() => git.standing())).toBe(1)
    expect(await count(() => git.ground())).toBe(2)
    const nowhere = at(made.base)
    expect(await count(async () => expect(await nowhere.standing()).toEqual({ ok: true, value: null }))).toBe(0)
    const own = join(made.root, '.planfold/work/plain')
    fs.mkdirSync(own, { recursive: true })
    expect(await count(async () => expect(await at(own).standing()).toEqual({ ok: true, value: null }))).toBe(0)
    const below = join(made.root, 'deep/er')
    fs.mkdirSync(below, { recursive: true })
    expect(await at(below).standing()).toMatchObject({ ok: true, value: { branch: 'main' } })
    const ceiling = openGit({ root: below, scratch: made.base, environment: { GIT_CEILING_DIRECTORIES: made.root } })
    expect(await ceiling.standing()).toEqual({ ok: true, value: null })
  })

  test('every operation goes by the configuration as it is then, also of a repository that the files alone do not show', async () => {
    const made = busySetup()
    const below = join(made.root, 'deep')
    // Git passes by a `.git` that is no repository, and takes the one above.
    fs.mkdirSync(join(below, '.git'), { recursive: true })
    for (const root of [made.root, below]) {
      const git = made.open(root)
      for (const name of ['One', 'Two', 'Three']) {
        made.sh('config', 'user.name', name)
        const plan = { ...owner, name: `${name.toLowerCase()}${root.length}` as PlanName }
        value(await git.ensureBranch({ ...plan, base: 'HEAD', at: AT }))
        value(await git.commitPaths({ ...commitOf({ 'work.txt': text(name) }), ...plan }))
        expect(made.sh('log', '-1', '--format=%an', `plan/${plan.name}`)).toBe(name)
      }
    }
  })

  test('runs nothing that the repository configures, also when that comes later', async () => {
    const made = busySetup()
    const [marker, evil] = [join(made.base, 'ran'), join(made.base, 'evil')]
    fs.writeFileSync(evil, `#!/bin/sh\necho "$0" >> ${marker}\ncat\n`, { mode: 0o755 })
    expect(await standing(made)).toMatchObject({ dirty: 2 })
    fs.appendFileSync(
      join(made.root, '.git/config'),
      `[core]\n\tfsmonitor = ${evil}\n\tpager = ${evil}\n[filter "evil"]\n\tclean = ${evil}\n\tprocess = ${evil}\n[diff]\n\texternal = ${evil}\n`,
    )
    fs.appendFileSync(join(made.root, '.git/info/attributes'), '*.txt filter=evil\n')
    made.write('a.txt', 'changed\n')
    // Nobody looked whether files behind a filter have changed, so they are not counted.
    expect(await standing(made)).toMatchObject({ branch: 'main', dirty: 2 })
    made.sh('config', '--unset', 'filter.evil.process')
    fs.writeFileSync(join(made.base, 'more'), `[filter "worse"]\n\tclean = ${evil}\n`)
    fs.appendFileSync(join(made.root, '.git/config'), `[include]\n\tpath = ${join(made.base, 'more')}\n`)
    fs.writeFileSync(join(made.root, '.git/info/attributes'), 'a.txt filter=worst\n')
    await standing(made)
    fs.appendFileSync(join(made.base, 'more'), `[filter "worst"]\n\tclean = ${evil}\n`)
    made.write('a.txt', 'changed again\n')
    await standing(made)
    expect(fs.existsSync(marker)).toBe(false)
  })

  test('what only looks like a repository, or belongs to nobody here, is told', async () => {
    const made = setup()
    fs.writeFileSync(join(made.base, '.git'), 'gitdir: /nowhere\n')
    const odd = join(made.base, 'odd')
    fs.mkdirSync(odd)
    expect(await made.open(odd).standing()).toMatchObject({ ok: false, failure: { class: 'logic' } })
  })
})
