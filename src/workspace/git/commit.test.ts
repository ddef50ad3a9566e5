// Commits on the branch of a plan: exact content, an index of their own, nothing of the person's touched.

import * as fs from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pathText } from '../files/path-text.ts'
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
  setup,
  task,
  text,
  value,
  work,
} from './repository.fixture.ts'

describe('the branch of a plan', () => {
  test('is made at its base without moving HEAD, and found again', async () => {
    const { git, sh, root } = busySetup()
    const before = fingerprint(root)
    const made = value(await git.ensureBranch({ ...owner, base: 'HEAD', at: AT }))
    expect(made).toMatchObject({ branch: 'plan/upgrade', ref: BRANCH, made: 'now', tip: sh('rev-parse', 'main') })
    expect(made.operation).toEqual({
      type: 'branch.created',
      plan: owner.plan,
      ref: BRANCH,
      before: null,
      after: made.tip,
      at: AT,
    })
    const again = value(await git.ensureBranch({ ...owner, base: 'HEAD', at: AT }))
    expect(again).toEqual({ ...made, made: 'before' })
    expect(sh('symbolic-ref', 'HEAD')).toBe('refs/heads/main')
    expect(fingerprint(root)).toEqual(before)
  })

  test('of another plan or of a person is refused, never taken over', async () => {
    const { git, sh } = busySetup()
    sh('branch', 'plan/upgrade')
    expect(no(await git.ensureBranch({ ...owner, base: 'HEAD', at: AT }))).toMatch(/did not make it.*git branch -m/)
    sh('branch', '-D', 'plan/upgrade')
    value(await git.ensureBranch({ ...owner, base: 'HEAD', at: AT }))
    expect(no(await git.ensureBranch({ ...owner, plan: OTHER_PLAN, base: 'HEAD', at: AT }))).toMatch(/did not make it/)
    expect(no(await git.commitPaths(commitOf({ x: text('x') }, { plan: OTHER_PLAN })))).toMatch(/not made by this plan/)
  })

  test('that only points to another branch is not followed', async () => {
    const { git, sh } = busySetup()
    await work(git, 'one')
    sh('symbolic-ref', BRANCH, 'refs/heads/main')
    const main = sh('rev-parse', 'main')
    expect(no(await git.commitPaths(commitOf({ x: text('x') })))).toMatch(/points to another branch/)
    expect(sh('rev-parse', 'main')).toBe(main)
  })

  test('is not made at a base that is no commit, or an option', async () => {
    const { git } = busySetup()
    for (const base of ['--upload-pack=x', '-d', 'a b', 'no-such', 'main..x', '', 'x\ny', '$(touch x)']) {
      expect(no(await git.ensureBranch({ ...owner, base, at: AT })), base).toMatch(/no commit/)
    }
  })

  test('of tasks whose names hold a slash, a dot or .lock never collides', async () => {
    const { git } = busySetup()
    const names = ['check-db', 'check-db/1', 'check-db-1', 'a.b']
    const branches: string[] = []
    for (const name of names) {
      branches.push(value(await git.ensureBranch({ ...owner, task: task(name), base: 'HEAD', at: AT })).branch)
    }
    expect(new Set(branches).size).toBe(4)
    expect(branches[1]).toBe('plan/upgrade+check-db+1')
    expect(no(await git.ensureBranch({ ...owner, task: task('x.lock'), base: 'HEAD', at: AT }))).toMatch(/\.lock/)
  })
})

describe('a commit', () => {
  test('holds exactly the named paths, and leaves index, HEAD, stash and files byte-identical', async () => {
    const { git, sh, root, write } = busySetup()
    value(await git.ensureBranch({ ...owner, base: 'HEAD', at: AT }))
    write('dir/x.txt', 'from the workspace\n')
    fs.symlinkSync('a.txt', join(root, 'link'))
    fs.chmodSync(join(root, 'dir/x.txt'), 0o755)
    const before = fingerprint(root)
    const made = value(
      await git.commitPaths(
        commitOf({
          'dir/x.txt': { from: 'workspace' },
          link: { from: 'workspace' },
          'gone.txt': { from: 'workspace' },
          'a.txt': { from: 'nothing' },
          'bytes.bin': { from: 'bytes', bytes: Buffer.from([0, 255, 13, 10]), mode: '100755' },
        }),
      ),
    )
    expect(fingerprint(root)).toEqual(before)
    expect(made.status).toBe('committed')
    expect(sh('ls-tree', '-r', '--format=%(objectmode) %(path)', BRANCH).split('\n')).toEqual([
      '100644 .gitignore',
      '100644 b.txt',
      '100755 bytes.bin',
      '100644 c.txt',
      '100755 dir/x.txt',
      '120000 link',
    ])
    expect(sh('show', `${BRANCH}:b.txt`)).toBe('b')
    expect(sh('rev-parse', `${BRANCH}~1`)).toBe(sh('rev-parse', 'main'))
    expect(sh('fsck', '--strict')).toBe('')
  })

  test('carries author, time and trailers, and is the same commit for the same request', async () => {
    const { git, sh } = busySetup()
    value(await git.ensureBranch({ ...owner, task: task('build'), base: 'HEAD', at: AT }))
    const request = commitOf(
      { x: text('x') },
      { task: task('build'), key: 'k1', message: 'feat(plan): x\n\nPlanfold-Plan: other' },
    )
    const made = value(await git.commitPaths(request))
    expect(sh('show', '-s', '--format=%an <%ae> %at%n%B', made.commit)).toBe(
      `Ana Ipsum <ana@example.com> ${Math.floor(AT / 1000)}\nfeat(plan): x\n\nPlanfold-Plan: other\n\n` +
        `Planfold-Plan: upgrade ${owner.plan}\nPlanfold-Task: build\nPlanfold-Actor: ${ACTOR}\nPlanfold-Key: k1\n`,
    )
    expect(sh('show', '-s', '--format=%(trailers:key=Planfold-Plan,valueonly)', made.commit).trim()).toBe(
      `upgrade ${owner.plan}`,
    )
  })

  test('with a key is made once: a second request finds it, also under later commits', async () => {
    const { git } = busySetup()
    await work(git)
    const first = value(await git.commitPaths(commitOf({ x: text('1') }, { key: 'k1' })))
    value(await git.commitPaths(commitOf({ x: text('2') }, { key: 'k2' })))
    const again = value(await git.commitPaths(commitOf({ x: text('other') }, { key: 'k1' })))
    expect(again).toEqual({
      status: 'found',
      commit: first.commit,
      operation: 'operation' in first ? first.operation : null,
    })
  })

  test('leaves out what git ignores and the branch does not hold, when asked to', async () => {
    const { git, sh, write } = busySetup()
    write('kept.log', 'kept\n')
    sh('add', '-f', 'kept.log')
    sh('commit', '--quiet', '-m', 'second', 'kept.log')
    await work(git)
    const paths = Object.fromEntries(
      ['kept.log', 'x.log', 'x.txt', ':(top)odd.log', ':!a', 'sub/*.log'].map(path => [path, text('new\n')] as const),
    )
    const made = value(await git.commitPaths(commitOf(paths, { ignored: 'leave', for: task('build') })))
    expect(made).toMatchObject({ status: 'committed', paths: 3, left: ['x.log', ':(top)odd.log', 'sub/*.log'] })
    expect(sh('diff-tree', '-r', '--name-only', 'HEAD', BRANCH).split('\n')).toEqual([':!a', 'kept.log', 'x.txt'])
    expect('operation' in made && made.operation.task).toBe('build')
    const none = value(await git.commitPaths(commitOf({ 'y.log': text('y') }, { ignored: 'leave' })))
    expect(none).toMatchObject({ status: 'unchanged', left: ['y.log'] })
    expect(value(await git.commitPaths(commitOf({ 'y.log': text('y') }))).status).toBe('committed')
  })

  test('without a change is none', async () => {
    const { git, sh } = busySetup()
    await work(git)
    const tip = sh('rev-parse', BRANCH)
    expect(value(await git.commitPaths(commitOf({ 'a.txt': text('a\n'), nope: { from: 'nothing' } })))).toEqual({
      status: 'unchanged',
      commit: tip,
      left: [],
    })
    expect(value(await git.commitPaths(commitOf({}))).status).toBe('unchanged')
  })

  test('on a branch somebody moved in the meantime is refused by compare-and-swap', async () => {
    const { git, sh } = busySetup()
    await work(git, 'one')
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, index) => git.commitPaths(commitOf({ [`f${index}`]: text(`${index}`) }))),
    )
    const [won, lost] = [outcomes.filter(each => each.ok), outcomes.filter(each => !each.ok)]
    expect(won.length).toBeGreaterThan(0)
    for (const each of lost) expect(no(each)).toMatch(/somebody else|lock/)
    // Each winner stands in the history: nobody's commit was overwritten.
    const line = sh('rev-list', BRANCH).split('\n')
    for (const each of won) expect(line).toContain(value(each).commit)
    expect(line.length).toBe(2 + won.length)
  })

  test('on a branch a person has checked out is refused, and staged there when asked', async () => {
    const { git, sh, root } = setup()
    fs.writeFileSync(join(root, 'a.txt'), 'a\n')
    sh('add', '.')
    sh('commit', '-qm', 'first')
    await work(git)
    sh('switch', '--quiet', 'plan/upgrade')
    fs.writeFileSync(join(root, 'x.txt'), 'x\n')
    const before = fingerprint(root)
    expect(no(await git.commitPaths(commitOf({ 'x.txt': { from: 'workspace' } })))).toMatch(/checked out.*git switch -/)
    expect(fingerprint(root)).toEqual(before)
    value(await git.commitPaths(commitOf({ 'x.txt': { from: 'workspace' } }, { whenCheckedOut: 'stage' })))
    expect(sh('status', '--porcelain')).toBe('')
    fs.writeFileSync(join(root, 'x.txt'), 'mine\n')
    sh('add', 'x.txt')
    const refused = await git.commitPaths(commitOf({ 'x.txt': text('other\n') }, { whenCheckedOut: 'stage' }))
    expect(no(refused)).toMatch(/other content is staged/)
  })

  test('never takes a path out of the workspace or into the repository', async () => {
    const { git } = busySetup()
    await work(git)
    const paths = [
      '../x',
      '/etc/passwd',
      '.git/config',
      'a/.GIT/hooks/x',
      'a//b',
      '.',
      '',
      'x\0y',
      '.git ',
      'git~1/x',
      'a/../b',
    ]
    for (const path of paths) {
      expect(no(await git.commitPaths(commitOf({ [path]: text('x') }))), path).toMatch(/^the path/)
      expect(no(await git.commitPaths(commitOf({ [path]: { from: 'workspace' } }))), path).toMatch(/^the path/)
    }
  })

  test('never reads through a link, and never takes away what was not named', async () => {
    const { git, root, write, base } = busySetup()
    await work(git)
    fs.mkdirSync(join(base, 'outside'))
    fs.writeFileSync(join(base, 'outside/secret'), 'secret')
    fs.symlinkSync(join(base, 'outside'), join(root, 'out'))
    no(await git.commitPaths(commitOf({ 'out/secret': { from: 'workspace' } })))
    value(await git.commitPaths(commitOf({ 'd/1': text('1'), 'd/2': text('2') })))
    expect(no(await git.commitPaths(commitOf({ d: text('a file now') })))).toMatch(/also take away "d\/1", "d\/2"/)
    write('folder/inside', 'x')
    expect(no(await git.commitPaths(commitOf({ folder: { from: 'workspace' } })))).toMatch(/neither a file nor a link/)
  })

  test('turns line ends as the attributes say, for files and for given bytes', async () => {
    const { git, sh, write } = busySetup()
    write('.gitattributes', '*.bat text eol=crlf\n')
    await work(git)
    write('one.bat', 'x\r\ny\r\n')
    const two = { from: 'bytes', bytes: Buffer.from('x\r\ny\r\n'), mode: '100644' } as const
    value(await git.commitPaths(commitOf({ 'one.bat': { from: 'workspace' }, 'two.bat': two, 'raw.txt': two })))
    const oid = (path: string) => sh('rev-parse', `${BRANCH}:${path}`)
    expect(oid('one.bat')).toBe(oid('two.bat'))
    expect(sh('cat-file', '-s', oid('one.bat'))).toBe('4')
    expect(sh('cat-file', '-s', oid('raw.txt'))).toBe('6')
  })

  test('works from a folder inside the working tree, with paths relative to it', async () => {
    const { open, root, sh, write } = busySetup()
    write('package/x.txt', 'x')
    const git = open(join(root, 'package'))
    await work(git)
    value(await git.commitPaths(commitOf({ 'x.txt': { from: 'workspace' }, 'y.txt': text('y') })))
    expect(sh('ls-tree', '-r', '--name-only', BRANCH, 'package')).toBe('package/x.txt\npackage/y.txt')
  })

  test('takes any name: unicode, line feeds, tabs, leading dashes, bytes that are no text', async () => {
    const { git, root, sh } = busySetup()
    await work(git)
    const part = fc
      .uint8Array({ minLength: 1, maxLength: 12 })
      .map(bytes => Buffer.from(bytes).toString('latin1').replace(/[\0/]/g, 'x'))
      .filter(name => !/^\.{1,2}$/.test(name) && !/git/i.test(name))
    const names = fc.oneof(
      part,
      fc.constantFrom('-rf', 'ü\u0308.txt', 'a\nb', 'a\tb', ' ', '"q"', '*', ':(glob)x', '!x', '\\n'),
    )
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(names, { minLength: 1, maxLength: 4 }), async parts => {
        const folder = `r${round++}`
        fs.mkdirSync(join(root, folder))
        const paths = new Map<string, { from: 'workspace' } | ReturnType<typeof text>>()
        for (const [index, each] of parts.entries()) {
          const latin = `${folder}/${Buffer.from(each, 'latin1').length === each.length ? each : Buffer.from(each).toString('latin1')}`
          if (index % 2 === 0) {
            fs.writeFileSync(Buffer.from(`${root}/${latin}`, 'latin1'), latin)
            paths.set(pathText(latin), { from: 'workspace' })
          } else paths.set(pathText(latin), text('given'))
        }
        const made = value(await git.commitPaths(commitOf({}, { paths })))
        expect(made.status).toBe('committed')
        const stat = value(await git.diffstat({ from: `${made.commit}~1`, to: made.commit }))
        expect(stat.map(({ path }) => path).sort()).toEqual([...paths.keys()].sort())
      }),
      { numRuns: 12 },
    )
    expect(sh('fsck', '--strict')).toBe('')
  })
})
