// Taking git effects back: only our branch moves, never without a backup, never over the work of others.

import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { plainHint } from '../../domain/hint.ts'
import type { GitOperation, RollbackRequest, RolledBack } from './git.ts'
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
  task,
  text,
  value,
  work,
} from './repository.fixture.ts'

const LATER = AT + 60_000
const BACKUP = 'refs/planfold/backup/upgrade/20260102T030505678Z/heads/plan/upgrade'
const asked = (operations: readonly GitOperation[], more: Partial<RollbackRequest> = {}): RollbackRequest => {
  return { ...owner, actor: ACTOR, operations, at: LATER, ...more }
}
function done(answer: RolledBack): readonly GitOperation[] {
  if (!answer.ok) throw new Error(`${answer.failure.message} ${plainHint(answer.failure.hint ?? '')}`)
  return answer.done
}
/** A commit by a person on top of the branch, made without a working tree. */
function foreignCommit({ sh }: Setup, ref = BRANCH): string {
  const commit = sh('commit-tree', '-p', ref, '-m', 'by a person', `${ref}^{tree}`)
  sh('update-ref', ref, commit)
  return commit
}

describe('a rollback of unpushed commits', () => {
  test('moves only our branch, after saving a backup ref; undo brings it back, as often as wanted', async () => {
    const { git, sh, root } = busySetup()
    const operations = await work(git, 'one', 'two')
    const [first, tip] = [sh('rev-parse', `${BRANCH}~1`), sh('rev-parse', BRANCH)]
    const before = fingerprint(root)
    const preview = value(await git.previewRollback(asked(operations.slice(2))))
    expect(preview).toMatchObject([{ do: 'move', target: BRANCH, from: tip, to: first }])
    expect(sh('rev-parse', BRANCH)).toBe(tip)
    let last = done(await git.rollback(asked(operations.slice(2))))
    expect(last).toEqual([
      { type: 'branch.moved', plan: owner.plan, ref: BRANCH, before: tip, after: first, backup: BACKUP, at: LATER },
    ])
    expect(sh('rev-parse', BACKUP)).toBe(tip)
    for (let round = 1; round <= 4; round++) {
      last = done(await git.rollback(asked(last, { at: LATER + round })))
      expect(sh('rev-parse', BRANCH)).toBe(round % 2 === 1 ? tip : first)
    }
    expect(fingerprint(root)).toEqual(before)
  })

  test('of everything deletes the branch we made, and undo makes it ours again', async () => {
    const { git, sh, root } = busySetup()
    const untouched = fingerprint(root)
    const operations = await work(git, 'one', 'two')
    const tip = sh('rev-parse', BRANCH)
    const gone = done(await git.rollback(asked(operations)))
    expect(gone).toMatchObject([{ type: 'branch.deleted', before: tip, after: null, backup: BACKUP }])
    expect(sh('for-each-ref', 'refs/heads/plan', 'refs/planfold/made')).toBe('')
    expect(fingerprint(root)).toEqual(untouched)
    done(await git.rollback(asked(gone, { at: LATER + 1 })))
    expect(sh('rev-parse', BRANCH)).toBe(tip)
    expect(value(await git.ensureBranch({ ...owner, base: 'HEAD', at: AT }))).toMatchObject({ made: 'before', tip })
    expect(value(await git.commitPaths(commitOf({ more: text('x') }))).status).toBe('committed')
  })

  test('done twice, or cut off after the swap, ends in the same state and says the same', async () => {
    const { git, sh } = busySetup()
    const operations = await work(git, 'one', 'two')
    const first = done(await git.rollback(asked(operations.slice(1))))
    expect(done(await git.rollback(asked(operations.slice(1))))).toEqual(first)
    expect(done(await git.rollback(asked(operations.slice(1), { at: LATER + 5 })))).toEqual([])
    expect(sh('rev-parse', BRANCH)).toBe(sh('rev-parse', 'main'))
  })

  test('works the same when refs are packed, and leaves the others in the pack alone', async () => {
    const { git, sh, root } = busySetup()
    const operations = await work(git, 'one')
    sh('branch', 'mine')
    sh('pack-refs', '--all')
    const others = () =>
      fs
        .readFileSync(join(root, '.git/packed-refs'), 'utf8')
        .split('\n')
        .filter(row => !/plan/.test(row))
    const before = others()
    done(await git.rollback(asked(operations)))
    expect(others()).toEqual(before)
    expect(sh('for-each-ref', '--format=%(refname)', 'refs/heads')).toBe('refs/heads/main\nrefs/heads/mine')
  })
})

describe('regression 23: rollback never destroys unrelated uncommitted work or unpushed foreign commits', () => {
  test('uncommitted work of every kind is byte-identical afterwards', async () => {
    const { git, sh, root, write } = busySetup()
    const operations = await work(git, 'one', 'two')
    write('work.txt', 'a person edits the very file')
    const before = fingerprint(root)
    const stash = sh('stash', 'list', '--format=%H')
    done(await git.rollback(asked(operations)))
    expect(fingerprint(root)).toEqual(before)
    expect(sh('stash', 'list', '--format=%H')).toBe(stash)
  })

  test('foreign commits on top are refused, with what to run', async () => {
    const made = busySetup()
    const operations = await work(made.git, 'one', 'two')
    const foreign = foreignCommit(made)
    const answer = await made.git.rollback(asked(operations))
    expect(no(answer)).toMatch(/on top of it.*nothing was changed.*git log/)
    expect(answer.done).toEqual([])
    expect(made.sh('rev-parse', BRANCH)).toBe(foreign)
    expect(made.sh('for-each-ref', 'refs/planfold/backup')).toBe('')
  })

  test('foreign commits between ours are refused', async () => {
    const made = busySetup()
    const operations = await work(made.git, 'one')
    const foreign = foreignCommit(made)
    const second = value(await made.git.commitPaths(commitOf({ 'work.txt': text('two') })))
    if (second.status !== 'unchanged') operations.push(second.operation)
    expect(no(await made.git.rollback(asked(operations)))).toMatch(/between/)
    expect(made.sh('rev-parse', `${BRANCH}~1`)).toBe(foreign)
  })

  test('a branch somebody rebased, amended or reset is refused', async () => {
    const { git, sh } = busySetup()
    const operations = await work(git, 'one', 'two')
    const amended = sh('commit-tree', '-p', `${BRANCH}~1`, '-m', 'amended', `${BRANCH}^{tree}`)
    sh('update-ref', BRANCH, amended)
    expect(no(await git.rollback(asked(operations)))).toMatch(/moved it elsewhere/)
    expect(sh('rev-parse', BRANCH)).toBe(amended)
  })

  test('a recorded operation cannot aim at a branch that is not ours', async () => {
    const { git, sh } = busySetup()
    await work(git, 'one')
    const main = sh('rev-parse', 'main')
    const forged: GitOperation = {
      type: 'commit.created',
      plan: owner.plan,
      ref: 'refs/heads/main',
      before: sh('rev-parse', BRANCH),
      after: main,
      at: AT,
    }
    expect(no(await git.rollback(asked([forged])))).toMatch(/did not make the branch/)
    const operations = [{ ...forged, ref: BRANCH, before: main, after: sh('rev-parse', BRANCH) }]
    expect(no(await git.rollback(asked(operations, { plan: OTHER_PLAN })))).toMatch(/did not make the branch/)
    for (const ref of ['--all', 'HEAD', 'refs/heads/plan/../main', 'refs/heads/plan/x y']) {
      no(await git.rollback(asked([{ ...forged, ref }])))
    }
    no(await git.rollback(asked([{ ...forged, ref: BRANCH, before: '--hard' }])))
    expect(sh('rev-parse', 'main')).toBe(main)
  })

  test('pushed commits stay: a revert commit is prepared, nothing is pushed, and the person is told what to run', async () => {
    const { git, sh, root, base } = busySetup()
    sh('init', '--quiet', '--bare', join(base, 'remote.git'))
    sh('remote', 'add', 'origin', join(base, 'remote.git'))
    const operations = await work(git, 'one', 'two')
    sh('push', '--quiet', 'origin', 'plan/upgrade')
    const [tip, remote] = [sh('rev-parse', BRANCH), fingerprint(join(base, 'remote.git'))]
    const before = fingerprint(root)
    const answer = await git.rollback(asked(operations))
    expect(done(answer)).toMatchObject([{ type: 'commit.reverted', ref: BRANCH, before: tip }])
    expect(answer.steps).toMatchObject([{ do: 'revert', run: ['git push <remote> plan/upgrade'] }])
    expect(sh('rev-parse', `${BRANCH}^{tree}`)).toBe(sh('rev-parse', 'main^{tree}'))
    expect(sh('rev-parse', `${BRANCH}~1`)).toBe(tip)
    expect(sh('show', '-s', '--format=%B', BRANCH)).toMatch(
      /^fix\(plan\): take back 2 commits\n\nThis reverts commit [0-9a-f]+\.\n/,
    )
    expect(fingerprint(root)).toEqual(before)
    expect(fingerprint(join(base, 'remote.git'))).toEqual(remote)
    // A second run finds the revert; undoing takes it off again, since nobody has it.
    const again = done(await git.rollback(asked(operations)))
    expect(again).toEqual(done(answer))
    done(await git.rollback(asked(again, { at: LATER + 1 })))
    expect(sh('rev-parse', BRANCH)).toBe(tip)
  })

  test('a remote on this machine is asked, also when the remote-tracking branch is gone', async () => {
    const { git, sh, base } = busySetup()
    sh('init', '--quiet', '--bare', join(base, 'remote.git'))
    sh('remote', 'add', 'origin', `file://${join(base, 'remote.git')}`)
    const operations = await work(git, 'one')
    sh('push', '--quiet', 'origin', 'plan/upgrade:refs/heads/other-name')
    sh('update-ref', '-d', 'refs/remotes/origin/other-name')
    expect(value(await git.previewRollback(asked(operations)))).toMatchObject([{ do: 'revert' }])
    sh('remote', 'remove', 'origin')
    expect(value(await git.previewRollback(asked(operations)))).toMatchObject([{ do: 'delete' }])
    const pushed: GitOperation = {
      type: 'branch.pushed',
      plan: owner.plan,
      ref: BRANCH,
      remote: 'somewhere',
      commit: sh('rev-parse', BRANCH),
      at: AT,
    }
    expect(value(await git.previewRollback(asked([...operations, pushed])))).toMatchObject([{ do: 'revert' }])
    expect(value(await git.previewRollback(asked([...operations, pushed], { pushed: 'refuse' })))).toMatchObject([
      {
        do: 'refuse',
        why: expect.stringMatching(/others may have/),
        run: [expect.stringMatching(/git revert/), expect.stringMatching(/git push/)],
      },
    ])
  })

  test('a concurrent writer that moves our branch wins: compare-and-swap refuses', async () => {
    const made = busySetup()
    const operations = await work(made.git, 'one')
    const [racing, foreign] = [made.git.rollback(asked(operations.slice(1))), foreignCommit(made)]
    const answer = await racing
    // Whoever came first: the foreign commit is reachable, and nothing is lost.
    const reach = made.sh('rev-list', '--all').split('\n')
    expect(reach).toContain(foreign)
    expect(reach).toContain(operations[1]?.type === 'commit.created' ? operations[1].after : '')
    if (!answer.ok) expect(no(answer)).toMatch(/somebody|others|lock/)
  })
})

describe('a branch that is checked out', () => {
  test('is not moved, or moved without touching files when asked, and says so', async () => {
    const made = busySetup()
    const { git, sh, root, base } = made
    const operations = await work(git, 'one')
    sh('worktree', 'add', '--quiet', join(base, 'theirs'), 'plan/upgrade')
    expect(no(await git.rollback(asked(operations.slice(1))))).toMatch(/checked out in .*theirs/)
    const before = [fingerprint(root), fingerprint(join(base, 'theirs'))]
    const answer = await git.rollback(asked(operations.slice(1), { whenCheckedOut: 'leave-files' }))
    expect(done(answer)).toMatchObject([{ type: 'branch.moved' }])
    expect(answer.steps[0]?.why).toMatch(/stay.*staged/)
    expect([fingerprint(root), fingerprint(join(base, 'theirs'))]).toEqual(before)
    expect(no(await git.rollback(asked(operations.slice(0, 1), { whenCheckedOut: 'leave-files' })))).toMatch(
      /checked out/,
    )
  })

  test('in the middle of a rebase is not moved either', async () => {
    const { git, sh, root } = busySetup()
    const operations = await work(git, 'one')
    fs.mkdirSync(join(root, '.git/rebase-merge'))
    fs.writeFileSync(join(root, '.git/rebase-merge/head-name'), `${BRANCH}\n`)
    expect(no(await git.rollback(asked(operations)))).toMatch(/checked out/)
    expect(sh('rev-parse', '--verify', BRANCH)).toBeTruthy()
  })
})

describe('merges, reverts and tags', () => {
  const side = task('side')
  async function merged({ git }: Setup): Promise<GitOperation[]> {
    const operations = await work(git, 'one')
    operations.push(value(await git.ensureBranch({ ...owner, task: side, base: 'plan/upgrade', at: AT })).operation)
    const theirs = value(await git.commitPaths(commitOf({ 'side.txt': text('side\n') }, { task: side })))
    const ours = value(await git.commitPaths(commitOf({ 'ours.txt': text('ours\n') })))
    for (const each of [theirs, ours]) if (each.status !== 'unchanged') operations.push(each.operation)
    const merge = value(
      await git.mergeBack({ ...owner, task: side, message: 'chore(plan): merge', actor: ACTOR, at: AT }),
    )
    if (merge.status === 'merged') operations.push(merge.operation)
    return operations
  }

  test('a merge is taken back to its first parent, and the merged branch keeps its commits', async () => {
    const made = busySetup()
    const operations = await merged(made)
    const { git, sh } = made
    expect(sh('rev-list', '--parents', '-1', BRANCH).split(' ')).toHaveLength(3)
    const first = sh('rev-parse', `${BRANCH}^1`)
    done(await git.rollback(asked(operations.slice(-1))))
    expect(sh('rev-parse', BRANCH)).toBe(first)
    expect(sh('show', 'plan/upgrade+side:side.txt')).toBe('side')
  })

  test('a rollback of everything takes both branches, in the right order', async () => {
    const made = busySetup()
    const operations = await merged(made)
    const gone = done(await made.git.rollback(asked(operations)))
    expect(gone.map(({ type }) => type)).toEqual(['branch.deleted', 'branch.deleted'])
    expect(made.sh('for-each-ref', 'refs/heads/plan')).toBe('')
    done(await made.git.rollback(asked(gone, { at: LATER + 1 })))
    expect(made.sh('show', 'plan/upgrade:side.txt')).toBe('side')
  })

  test('a revert under the commits of others merges, or conflicts as a refusal', async () => {
    const made = busySetup()
    const { git, sh } = made
    const operations = await merged(made)
    const blob = sh('hash-object', '-w', 'new.txt')
    const tree = (path: string) => {
      const env = join(made.base, 'index')
      const run = (args: string[]) =>
        spawnSync('git', args, {
          cwd: made.root,
          env: { PATH: process.env.PATH, GIT_INDEX_FILE: env },
          encoding: 'utf8',
        }).stdout.trim()
      run(['read-tree', BRANCH])
      run(['update-index', '--add', '--cacheinfo', `100644,${blob},${path}`])
      return run(['write-tree'])
    }
    sh('update-ref', BRANCH, sh('commit-tree', '-p', BRANCH, '-m', 'foreign', tree('foreign.txt')))
    done(
      await git.rollback(
        asked(
          operations.filter(each => 'ref' in each && each.ref === BRANCH),
          { prefer: 'revert' },
        ),
      ),
    )
    expect(sh('ls-tree', '--name-only', BRANCH).split('\n')).toEqual([
      '.gitignore',
      'a.txt',
      'b.txt',
      'c.txt',
      'foreign.txt',
    ])

    const other = busySetup()
    const again = await work(other.git, 'one')
    other.sh('hash-object', '-w', 'new.txt')
    const env = { PATH: process.env.PATH, GIT_INDEX_FILE: join(other.base, 'index') }
    const run = (...args: string[]) => spawnSync('git', args, { cwd: other.root, env, encoding: 'utf8' }).stdout.trim()
    run('read-tree', BRANCH)
    run('update-index', '--add', '--cacheinfo', `100644,${blob},work.txt`)
    const foreign = other.sh('commit-tree', '-p', BRANCH, '-m', 'foreign', run('write-tree'))
    other.sh('update-ref', BRANCH, foreign)
    expect(no(await other.git.rollback(asked(again, { prefer: 'revert' })))).toMatch(/conflicts.*work\.txt/)
    expect(other.sh('rev-parse', BRANCH)).toBe(foreign)
  })

  test('a tag is deleted with a backup, and kept when it was moved or a remote has it', async () => {
    const { git, sh, base } = busySetup()
    const tag = value(await git.createTag({ plan: owner.plan, name: 'v1', target: 'HEAD', message: 'one', at: AT }))
    expect(sh('cat-file', '-t', 'refs/tags/v1')).toBe('tag')
    expect(no(await git.createTag({ plan: owner.plan, name: '-d', target: 'HEAD', at: AT }))).toMatch(/name of a tag/)
    expect(no(await git.createTag({ plan: owner.plan, name: 'v1', target: 'HEAD', at: AT }))).toMatch(/already/)
    const gone = done(await git.rollback(asked([tag])))
    expect(sh('tag')).toBe('')
    done(await git.rollback(asked(gone, { at: LATER + 1 })))
    expect(sh('cat-file', '-t', 'refs/tags/v1')).toBe('tag')
    sh('init', '--quiet', '--bare', join(base, 'remote.git'))
    sh('remote', 'add', 'origin', join(base, 'remote.git'))
    sh('push', '--quiet', 'origin', 'v1')
    expect(no(await git.rollback(asked([tag])))).toMatch(/git push <remote> :refs\/tags\/v1/)
    sh('tag', '-f', 'v1', 'stash@{0}')
    expect(no(await git.rollback(asked([tag])))).toMatch(/moved the tag/)
  })
})
