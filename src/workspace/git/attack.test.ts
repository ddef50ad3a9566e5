// A repository is content written by others. Each of these makes git run a command when asked the wrong way; the command
// leaves a marker, and after all of our operations there is no marker. The control shows that the trap is real.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openGit } from './open-git.ts'
import {
  ACTOR,
  AT,
  BRANCH,
  busySetup,
  commitOf,
  no,
  owner,
  type Setup,
  shell,
  task,
  text,
  value,
  work,
} from './repository.fixture.ts'

type Trap = (setup: Setup, command: string) => void

const config =
  (...pairs: readonly [string, string][]): Trap =>
  ({ sh }, command) => {
    for (const [key, value] of pairs) sh('config', '--add', key, value.replace('COMMAND', command))
  }

const HOOKS = ['pre-commit', 'post-checkout', 'post-index-change', 'reference-transaction', 'post-commit', 'pre-push']
const TRAPS: { readonly [name: string]: Trap } = {
  hooks: ({ root }, command) => {
    for (const name of HOOKS)
      fs.writeFileSync(join(root, '.git/hooks', name), `#!/bin/sh\n${command}\n`, { mode: 0o755 })
  },
  'a hooks path': ({ sh, base }, command) => {
    fs.mkdirSync(join(base, 'hooks'))
    for (const name of HOOKS) fs.writeFileSync(join(base, 'hooks', name), `#!/bin/sh\n${command}\n`, { mode: 0o755 })
    sh('config', 'core.hooksPath', join(base, 'hooks'))
  },
  fsmonitor: config(['core.fsmonitor', 'COMMAND']),
  'a filter': ({ write, ...setup }, command) => {
    write('.gitattributes', '*.txt filter=evil\n')
    config(['filter.evil.clean', 'COMMAND; cat'], ['filter.evil.smudge', 'COMMAND; cat'])({ write, ...setup }, command)
  },
  // A name with signs that `-c` could not carry.
  'a long-running filter': ({ root }, command) => {
    fs.writeFileSync(join(root, '.git/info/attributes'), '* filter=a=b.c\n')
    fs.appendFileSync(join(root, '.git/config'), `[filter "a=b.c"]\n\tprocess = ${command}\n\trequired = true\n`)
  },
  textconv: ({ write, ...setup }, command) => {
    write('.gitattributes', '*.txt diff=evil\n')
    config(['diff.evil.textconv', 'COMMAND; cat'], ['diff.evil.command', 'COMMAND'])({ write, ...setup }, command)
  },
  'an external diff': config(['diff.external', 'COMMAND']),
  'a merge driver': ({ write, ...setup }, command) => {
    write('.gitattributes', '* merge=evil\n')
    config(['merge.evil.driver', 'COMMAND; true'], ['merge.default', 'evil'])({ write, ...setup }, command)
  },
  aliases: config(['alias.status', '!COMMAND'], ['alias.update-ref', '!COMMAND'], ['alias.commit-tree', '!COMMAND']),
  'pager and editors': config(
    ['core.pager', 'COMMAND'],
    ['pager.log', 'COMMAND'],
    ['core.editor', 'COMMAND'],
    ['sequence.editor', 'COMMAND'],
  ),
  signatures: config(
    ['gpg.program', 'COMMAND'],
    ['commit.gpgSign', 'true'],
    ['tag.gpgSign', 'true'],
    ['log.showSignature', 'true'],
  ),
  'ssh, helpers and uploadpack': config(
    ['core.sshCommand', 'COMMAND'],
    ['core.askPass', 'COMMAND'],
    ['credential.helper', '!COMMAND'],
    ['remote.origin.url', '/nonexistent/x.git'],
    ['remote.origin.uploadpack', 'COMMAND'],
    ['remote.ext.url', 'ext::sh -c COMMAND'],
    ['protocol.ext.allow', 'always'],
    ['url.ext::sh -c COMMAND .insteadOf', '/nonexistent/'],
  ),
  // A26: a submodule that brings a command, an address that is one, and settings that would go into it.
  submodules: ({ root, sh, write }, command) => {
    sh('init', '--quiet', join(root, 'inner'))
    shell(join(root, 'inner'), join(root, '../home'), 'commit', '--quiet', '--allow-empty', '-m', 'inner')
    const hook = join(root, 'inner/.git/hooks/post-checkout')
    fs.writeFileSync(hook, `#!/bin/sh\n${command}\n`, { mode: 0o755 })
    shell(join(root, 'inner'), join(root, '../home'), 'config', 'core.fsmonitor', command)
    write(
      '.gitmodules',
      `[submodule "inner"]\n\tpath = inner\n\turl = ext::sh -c ${command}\n\tupdate = !${command}\n[submodule "cr"]\n\tpath = "cr\r"\n\turl = file:///nonexistent\n`,
    )
    sh('add', 'inner', '.gitmodules')
    sh('commit', '--quiet', '-m', 'with a submodule', '--', 'inner', '.gitmodules')
    for (const [key, value] of [
      ['submodule.inner.update', `!${command}`],
      ['submodule.inner.url', `ext::sh -c ${command}`],
      ['submodule.inner.active', 'true'],
      ['submodule.recurse', 'true'],
      ['status.submoduleSummary', 'true'],
      ['diff.submodule', 'log'],
      ['protocol.ext.allow', 'always'],
      ['protocol.file.allow', 'always'],
    ] as const)
      sh('config', key, value)
  },
  'hooks written as configuration': config(
    ['hook.evil.command', 'COMMAND'],
    ['hook.evil.event', 'post-index-change'],
    ['hook.evil.event', 'reference-transaction'],
    ['hook.evil.event', 'post-checkout'],
    ['hook.evil.event', 'pre-commit'],
  ),
  'commands of rarer settings': config(
    ['core.alternateRefsCommand', 'COMMAND'],
    ['core.gitProxy', 'COMMAND'],
    ['trailer.x.command', 'COMMAND'],
    ['trailer.x.cmd', 'COMMAND'],
    ['interactive.diffFilter', 'COMMAND'],
    ['uploadpack.packObjectsHook', 'COMMAND'],
    ['gpg.ssh.program', 'COMMAND'],
    ['gpg.ssh.defaultKeyCommand', 'COMMAND'],
    ['browser.x.cmd', 'COMMAND'],
    ['tar.tar.command', 'COMMAND'],
    ['mergetool.x.cmd', 'COMMAND'],
    ['difftool.x.cmd', 'COMMAND'],
    ['web.browser', 'x'],
    ['diff.tool', 'x'],
    ['diff.guitool', 'x'],
  ),
  'a partial clone that fetches': config(
    ['core.repositoryFormatVersion', '1'],
    ['extensions.partialClone', 'origin'],
    ['remote.origin.promisor', 'true'],
    ['remote.origin.url', '/nonexistent/x.git'],
    ['remote.origin.uploadpack', 'COMMAND'],
    ['protocol.file.allow', 'always'],
  ),
}

/** Everything this room can do, one after the other; refusals are welcome. */
async function everything({ git, base, sh }: Setup): Promise<void> {
  await git.standing()
  await git.ensureBranch({ ...owner, base: 'HEAD', at: AT })
  const committed = await git.commitPaths(commitOf({ 'w.txt': text('w\n'), 'b.txt': { from: 'workspace' } }))
  await git.commitPaths(commitOf({ 'raw.bin': text('plain\n') }))
  await git.createTag({ plan: owner.plan, name: 't', target: 'HEAD', message: 'x', at: AT })
  const request = { ...owner, task: task('side'), base: 'plan/upgrade', folder: join(base, 'trees'), at: AT }
  const added = await git.addWorktree(request)
  await git.commitPaths(commitOf({ 'a.txt': text('theirs\n') }, { task: task('side'), whenCheckedOut: 'stage' }))
  await git.commitPaths(commitOf({ 'a.txt': text('ours\n') }))
  await git.mergeBack({ ...owner, task: task('side'), message: 'merge', actor: ACTOR, at: AT })
  if (added.ok) await git.removeWorktree({ ...request, path: added.value.worktree.path })
  await git.listWorktrees(owner.plan)
  await git.diffstat({ from: 'HEAD', to: 'plan/upgrade' })
  await git.commitsBetween({ good: 'main', bad: 'plan/upgrade' })
  const operations = committed.ok && 'operation' in committed.value ? [committed.value.operation] : []
  await git.rollback({ ...owner, actor: ACTOR, operations, at: AT + 1 })
  expect(sh('rev-parse', 'main')).toBeTruthy()
}

describe('a hostile repository', () => {
  test.each(Object.keys(TRAPS))(
    'runs nothing through %s',
    async name => {
      const made = busySetup()
      const marker = join(made.base, 'marker')
      TRAPS[name]!(made, `touch ${marker}`)
      await everything(made)
      expect(fs.existsSync(marker)).toBe(false)
    },
    30_000,
  )

  test('the traps are real: plain git falls into them', () => {
    for (const name of ['hooks', 'fsmonitor', 'a filter', 'an external diff']) {
      const made = busySetup()
      const marker = join(made.base, 'marker')
      TRAPS[name]!(made, `touch ${marker}`)
      fs.utimesSync(join(made.root, 'a.txt'), 1, 1)
      for (const args of [['status'], ['diff'], ['add', '.'], ['commit', '-qm', 'x']]) {
        try {
          made.sh(...args)
        } catch {
          // A trap may break git; the marker is what counts.
        }
      }
      expect([name, fs.existsSync(marker)]).toEqual([name, true])
    }
  })

  test('a missing object of a partial clone is not fetched by a command of the repository', async () => {
    const made = busySetup()
    await work(made.git)
    const blob = made.sh('rev-parse', 'HEAD:a.txt')
    fs.rmSync(join(made.root, '.git/objects', blob.slice(0, 2), blob.slice(2)))
    const marker = join(made.base, 'marker')
    TRAPS['a partial clone that fetches']!(made, `touch ${marker}`)
    await made.git.diffstat({ from: 'HEAD', to: 'HEAD' })
    await made.git.addWorktree({ ...owner, base: 'HEAD', folder: join(made.base, 'trees'), at: AT })
    await made.git.commitPaths(commitOf({ 'x.txt': text('x') }))
    expect(fs.existsSync(marker)).toBe(false)
  })

  test('a path behind a filter is refused with what to do, never committed unfiltered', async () => {
    const { git, sh, write, base } = busySetup()
    write('.gitattributes', '*.bin filter=lfs\n')
    // As git-lfs is installed: the driver in the person's own configuration, the attribute in the repository.
    fs.appendFileSync(
      join(base, 'home/.gitconfig'),
      '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\trequired = true\n',
    )
    await work(git)
    const tip = sh('rev-parse', BRANCH)
    expect(no(await git.commitPaths(commitOf({ 'x.bin': text('big') })))).toMatch(/filter lfs.*git add/)
    write('y.bin', 'big')
    expect(no(await git.commitPaths(commitOf({ 'y.bin': { from: 'workspace' } })))).toMatch(/filter lfs/)
    expect(sh('rev-parse', BRANCH)).toBe(tip)
    expect(value(await git.commitPaths(commitOf({ 'x.txt': text('small') }))).status).toBe('committed')
  })

  test('a driver whose name is no text is refused, because it could not be covered', async () => {
    const { git, root } = busySetup()
    const evil = Buffer.concat([Buffer.from('[filter "'), Buffer.from([0xff]), Buffer.from('"]\n\tclean = false\n')])
    fs.appendFileSync(join(root, '.git/config'), evil)
    expect(no(await git.ground())).toMatch(/no UTF-8/)
  })

  test('a working tree configured elsewhere is refused', async () => {
    const { git, sh, base } = busySetup()
    fs.mkdirSync(join(base, 'elsewhere'))
    sh('config', 'core.worktree', join(base, 'elsewhere'))
    no(await git.ground())
    sh('--git-dir=.git', 'config', 'core.worktree', '/')
    no(await git.ground())
  })

  test('variables of our own process do not reach git', async () => {
    const { root, base, sh } = busySetup()
    const marker = join(base, 'marker')
    const environment = {
      PATH: `.:${process.env.PATH}`,
      HOME: join(base, 'home'),
      GIT_DIR: join(base, 'nowhere'),
      GIT_INDEX_FILE: join(base, 'index'),
      GIT_EXTERNAL_DIFF: `touch ${marker}`,
      GIT_SSH_COMMAND: `touch ${marker}`,
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'core.fsmonitor',
      GIT_CONFIG_VALUE_0: `touch ${marker}`,
      GIT_TRACE: join(base, 'trace'),
    }
    // A program called git in the working directory is not git.
    fs.writeFileSync(join(root, 'git'), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 })
    const git = openGit({ root, scratch: join(base, 'scratch'), environment })
    expect(value(await git.standing())?.head).toBe(sh('rev-parse', 'HEAD'))
    await work(git, 'x')
    expect(fs.readdirSync(base).sort()).toEqual(['home', 'scratch', 'work'])
  })

  test('A29 a path that leaves the workspace or leads into the repository is not committed, however it is spelt', async () => {
    const { git, sh, base } = busySetup()
    fs.mkdirSync(join(base, '.kube'))
    fs.writeFileSync(join(base, '.kube/config'), 'secret')
    await work(git)
    const tip = sh('rev-parse', BRANCH)
    for (const path of [
      ...['../.kube/config', 'a/../../.kube/config', join(base, '.kube/config'), './x', 'a//b', '', '.git/config'],
      ...[
        '.GIT/hooks/x',
        '.g\u200cit/config',
        '.ｇｉｔ/config',
        'git~1/config',
        '.git./x',
        'sub/.git/config',
        '--output=x/../y',
      ],
    ])
      expect([path, no(await git.commitPaths(commitOf({ [path]: text('evil') })))]).toEqual([path, expect.any(String)])
    expect(sh('rev-parse', BRANCH)).toBe(tip)
  })

  test('an embedded bare repository is not taken for the repository', async () => {
    const { root, base, open } = busySetup()
    shell(root, join(base, 'home'), 'init', '--bare', '--quiet', 'inner.git')
    expect(no(await open(join(root, 'inner.git')).ground())).toMatch(/repository/)
  })
})
