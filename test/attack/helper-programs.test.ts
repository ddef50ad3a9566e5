// A hostile repository holds programs called like our helpers, and PATH leads into it. Each leaves a marker when it runs; after the
// command of ours there is no marker. A control shows that the trap is real.
// Needs the extras: publishers

import { execFileSync, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { pr } from '../../src/cli/commands/git/pr.ts'
import { run } from '../../src/cli/commands/plans/run.ts'
import { newPlace } from '../../src/cli/place.fixture.ts'
import { tellCommand } from '../../src/extras/publishers/command-hook.ts'
import { findProgram, foreignFolders, helperPath } from '../../src/safety/find-program.ts'
import { openGit } from '../../src/workspace/git/open-git.ts'
import { planfoldIn } from '../e2e/in-process.fixture.ts'

const PROGRAMS = ['git', 'gh', 'sh', 'vi', 'bwrap', 'cat', 'false', 'curl']

function hostile() {
  const base = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'planfold-helpers-')))
  onTestFinished(() => fs.rmSync(base, { recursive: true, force: true }))
  const [root, home, marker] = [join(base, 'work'), join(base, 'home'), join(base, 'marker')]
  for (const folder of ['node_modules/.bin', 'inner/deep']) fs.mkdirSync(join(root, folder), { recursive: true })
  fs.mkdirSync(home)
  execFileSync('git', ['init', '--quiet', root], { env: { PATH: process.env.PATH, HOME: home } })
  const trap = `#!/bin/sh\nprintf '%s\\n' "$0" >> ${marker}\n`
  for (const folder of ['', 'node_modules/.bin']) {
    for (const name of PROGRAMS) fs.writeFileSync(join(root, folder, name), trap, { mode: 0o755 })
  }
  // A folder outside that leads inside.
  fs.symlinkSync(join(root, 'node_modules/.bin'), join(base, 'bin'))
  const ran = () => (fs.existsSync(marker) ? fs.readFileSync(marker, 'utf8') : '')
  return { base, root, home, marker, ran }
}

const usual = process.env.PATH ?? '/usr/bin:/bin'
const paths = (root: string, base: string): { readonly [name: string]: string } => ({
  'a relative entry': `.:${usual}`,
  'an empty entry': `:${usual}`,
  'a relative folder': `node_modules/.bin:${usual}`,
  'a folder of the workspace': `${root}/node_modules/.bin:${usual}`,
  'a link into the workspace': `${base}/bin:${usual}`,
  'dots in between': `${root}/inner/../node_modules/.bin:${usual}`,
})
const WAYS = Object.keys(paths('', ''))

describe('a program of the repository is not taken for a helper of ours', () => {
  test('the trap is real: a plain search of PATH falls into it', () => {
    const { root, base, home, ran } = hostile()
    for (const PATH of Object.values(paths(root, base))) {
      execFileSync('git', ['status'], { cwd: root, env: { PATH, HOME: home } })
    }
    expect(ran().trim().split('\n')).toHaveLength(WAYS.length)
  })

  const commands = (root: string) =>
    [
      [root, 'status'],
      [join(root, 'inner/deep'), 'log'],
    ] as const

  test.each(WAYS)('planfold with %s in PATH', async way => {
    const { root, base, home, ran } = hostile()
    const environment = { PATH: paths(root, base)[way], HOME: home, TMPDIR: base }
    for (const [cwd, word] of commands(root)) {
      const { exit, stderr } = await planfoldIn(cwd, environment)(word)
      expect([exit, stderr]).toEqual([2, expect.stringContaining('there is no Planfold state')])
    }
    expect(ran()).toBe('')
  })

  test('planfold in a process of its own, with each of them in PATH', async () => {
    const { root, base, home, ran } = hostile()
    const ways = Object.values(paths(root, base)).map(PATH => PATH.slice(0, -usual.length - 1))
    const env = { PATH: [...ways, usual].join(':'), HOME: home, TMPDIR: base }
    for (const [cwd, word] of commands(root)) {
      // The built program where there is one: it starts ten times as fast.
      const built = join(import.meta.dirname, '../../dist/cli/main.js')
      const source = ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, '../../src/cli/main.ts')]
      const args = fs.existsSync(built) ? [built] : source
      const child = spawn(process.execPath, [...args, word], { cwd, env, stdio: 'ignore' })
      await new Promise(resolve => child.once('close', resolve))
    }
    expect(ran()).toBe('')
  })

  test.each(WAYS)('git with %s in PATH, in the repository and in a worktree of it', async way => {
    const { root, base, home, ran } = hostile()
    const environment = { PATH: paths(root, base)[way], HOME: home }
    const sh = (...args: string[]) => execFileSync('git', args, { cwd: root, env: { PATH: usual, HOME: home } })
    sh('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--allow-empty', '-m', 'first')
    sh('config', 'diff.evil.textconv', 'cat')
    sh('worktree', 'add', '--quiet', join(base, 'tree'))
    for (const at of [root, join(root, 'inner'), join(base, 'tree')]) {
      const git = openGit({ root: at, scratch: join(base, 'scratch'), environment })
      expect(await git.standing()).toMatchObject({ ok: true })
      await git.diffstat({ from: 'HEAD', to: 'HEAD' })
    }
    expect(ran()).toBe('')
  })

  test.each(WAYS)('a hook with %s in PATH', async way => {
    const { root, base, home, ran } = hostile()
    const environment = { PATH: paths(root, base)[way], HOME: home }
    const message = { id: 'n', kind: 'task.failed', owner: 'o', body: '{}' } as never
    const signal = new AbortController().signal
    expect(
      await tellCommand({ script: 'cat >/dev/null' }, message, signal, { root, stateDir: base, environment }),
    ).toEqual({
      ok: true,
    })
    expect(await tellCommand({ argv: ['cat'] }, message, signal, { root, stateDir: base, environment })).toEqual({
      ok: true,
    })
    expect(ran()).toBe('')
  })

  test('gh, and the git that it starts', async () => {
    const place = await newPlace()
    onTestFinished(() => place.remove())
    const { root, home, ran } = hostile()
    const elsewhere = fs.mkdtempSync(join(tmpdir(), 'planfold-gh-'))
    onTestFinished(() => fs.rmSync(elsewhere, { recursive: true, force: true }))
    const seen = join(elsewhere, 'seen')
    fs.writeFileSync(
      join(elsewhere, 'gh'),
      `#!/bin/sh\ncat >/dev/null\ngit status >/dev/null\necho "$PATH" > ${seen}\n`,
      {
        mode: 0o755,
      },
    )
    fs.cpSync(root, place.folder, { recursive: true })
    const git = (...args: string[]) =>
      execFileSync('git', args, { cwd: place.folder, env: { PATH: usual, HOME: home } })
    git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--allow-empty', '-m', 'first')
    await place.write(
      'plan.yaml',
      'planfold: 1\nname: up\ngit: { commits: task }\ntasks:\n  - id: a\n    edit: { file: a.txt, create: "x" }\n',
    )
    git('config', 'user.email', 'a@example.com')
    git('config', 'user.name', 'a')
    expect((await place.say(context => run(context, 'plan.yaml', { start: true }))).exit).toBe(0)
    git('config', 'core.fsmonitor', `${place.folder}/vi`)
    const environment = {
      PATH: `.:${place.folder}/node_modules/.bin:${place.folder}:${elsewhere}:${usual}`,
      HOME: home,
    }
    expect(await place.say(context => pr(context, 'up', { create: true }), { environment })).toMatchObject({ exit: 0 })
    expect(fs.readFileSync(seen, 'utf8')).toBe(`${elsewhere}:${usual}\n`)
    expect([ran(), fs.existsSync(join(place.folder, 'marker'))]).toEqual(['', false])
  })
})

describe('where helpers are looked for', () => {
  test('nothing is found that is inside, however it is reached, and an empty PATH means the usual folders', () => {
    const { root, base } = hostile()
    for (const path of Object.values(paths(root, base))) {
      for (const name of ['git', 'sh']) {
        const found = findProgram(name, { path, outside: [root] })
        expect(found === null || fs.realpathSync(found).startsWith(`${root}/`)).toBe(false)
      }
      expect(findProgram('gh-that-is-not-there', { path, outside: [root] })).toBe(null)
      expect(helperPath(path, [root])).toBe(usual)
    }
    fs.symlinkSync(join(root, 'git'), join(base, 'git'))
    expect(findProgram('git', { path: base, outside: [root], usual: 'no' })).toBe(null)
    for (const path of [undefined, '', '.', ':', root]) expect(helperPath(path, [root])).toMatch(/^\/usr\/local\/sbin:/)
  })

  test('the repositories around a folder count, and the one of a worktree; a home does not', () => {
    const { root, base, home } = hostile()
    const sh = (...args: string[]) => execFileSync('git', args, { cwd: root, env: { PATH: usual, HOME: home } })
    sh('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--allow-empty', '-m', 'first')
    sh('worktree', 'add', '--quiet', join(base, 'tree'))
    expect(foreignFolders(join(root, 'inner/deep'), home)).toEqual([join(root, 'inner/deep'), root])
    expect(foreignFolders(join(base, 'tree'), home)).toEqual([join(base, 'tree'), root])
    expect(foreignFolders(join(root, 'inner/deep'), join(root, 'inner'))).toEqual([join(root, 'inner/deep')])
    expect(foreignFolders('/', home)).toEqual([])
  })
})
