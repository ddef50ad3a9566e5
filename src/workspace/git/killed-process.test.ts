// Death at any moment. A stand-in for git counts its calls; at the k-th either everything stops (we were killed between two
// calls) or git itself is killed while it works. Afterwards every ref is the old or the new one, the person's files are as
// they were, and doing the same again ends where an undisturbed run ends. PLANFOLD_CRASH=all tries every k.

import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Git, GitOperation } from './git.ts'
import { openGit } from './open-git.ts'
import {
  ACTOR,
  AT,
  BRANCH,
  busySetup,
  commitOf,
  fingerprint,
  owner,
  type Setup,
  shell,
  task,
  text,
  value,
  work,
} from './repository.fixture.ts'

const EVERY = process.env.PLANFOLD_CRASH === 'all' ? 1 : 12
const real = execFileSync('sh', ['-c', 'command -v git']).toString().trim()

/** Counts in `calls`; from the call `at` on nothing runs any more. With `during`, that call is begun and then killed. */
function standIn(base: string, at: number, how: 'before' | 'during'): Git {
  const folder = join(base, 'bin')
  fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(join(base, 'calls'), '')
  const script = `#!/bin/sh
printf x >> '${base}/calls'
n=$(wc -c < '${base}/calls')
[ "$n" -lt ${at} ] && exec '${real}' "$@"
[ "$n" -gt ${at} ] && exit 137
[ ${how} = before ] && exit 137
exec 3<&0
'${real}' "$@" <&3 &
sleep 0.00${at % 5}
kill -9 $! 2>/dev/null
exit 137
`
  fs.writeFileSync(join(folder, 'git'), script, { mode: 0o755 })
  const environment = { PATH: `${folder}:${process.env.PATH}`, HOME: join(base, 'home') }
  return openGit({ root: join(base, 'work'), scratch: join(base, 'scratch'), environment })
}
const calls = (base: string): number => fs.statSync(join(base, 'calls')).size

interface Scenario {
  readonly prepare: (made: Setup) => Promise<readonly GitOperation[]>
  readonly act: (git: Git, base: string, operations: readonly GitOperation[]) => Promise<unknown>
}
const tree = { ...owner, task: task('side'), base: 'HEAD', at: AT }
const SCENARIOS: { readonly [name: string]: Scenario } = {
  'a commit': {
    prepare: async ({ git }) => await work(git, 'one'),
    act: async git => await git.commitPaths(commitOf({ 'work.txt': text('two') }, { key: 'k' })),
  },
  'a rollback that deletes': {
    prepare: async ({ git }) => await work(git, 'one', 'two'),
    act: async (git, _, operations) => await git.rollback({ ...owner, actor: ACTOR, operations, at: AT + 90_000 }),
  },
  'a rollback that moves': {
    prepare: async ({ git }) => (await work(git, 'one', 'two')).slice(2),
    act: async (git, _, operations) => await git.rollback({ ...owner, actor: ACTOR, operations, at: AT + 90_000 }),
  },
  'a worktree being made': {
    prepare: async ({ git }) => await work(git),
    act: async (git, base) => await git.addWorktree({ ...tree, folder: join(base, 'trees') }),
  },
  'a worktree being removed': {
    prepare: async ({ git, base }) => {
      value(await git.addWorktree({ ...tree, folder: join(base, 'trees') }))
      return []
    },
    act: async (git, base) => await git.removeWorktree({ ...tree, path: join(base, 'trees/upgrade+side') }),
  },
}

describe.each(Object.entries(SCENARIOS))('%s', (_, { prepare, act }) => {
  test.each(['before', 'during'] as const)(
    'killed %s any call leaves valid refs and can be done again',
    async how => {
      const count = async () => {
        const made = busySetup()
        const operations = await prepare(made)
        expect(await act(standIn(made.base, 10_000, how), made.base, operations)).toMatchObject({ ok: true })
        return {
          total: calls(made.base),
          refs: made.sh('for-each-ref'),
          trees: made.sh('worktree', 'list').split('\n').length,
        }
      }
      const whole = await count()
      for (let at = how === 'before' ? 1 : 2; at <= whole.total; at += EVERY) {
        const made = busySetup()
        const operations = await prepare(made)
        const [old, before] = [made.sh('for-each-ref').split('\n'), fingerprint(made.root)]
        const cut = await act(standIn(made.base, at, how), made.base, operations)
        expect(cut, `call ${at}`).toMatchObject({ ok: false })
        removeLocks(made.root)
        const allowed = [...old, ...whole.refs.split('\n')]
        for (const row of made.sh('for-each-ref').split('\n')) {
          // Backups and marks of a rollback are made and put away one by one; they are all ours.
          if (!row.includes('refs/planfold/')) expect(allowed, `call ${at}`).toContain(row)
        }
        expect(made.sh('fsck', '--strict', '--no-dangling')).toBe('')
        expect(await act(made.git, made.base, operations), `after call ${at}`).toMatchObject({ ok: true })
        expect(made.sh('for-each-ref'), `after call ${at}`).toBe(whole.refs)
        expect(made.sh('worktree', 'list').split('\n').length).toBe(whole.trees)
        expect(fingerprint(made.root)).toEqual(before)
      }
    },
    120_000,
  )
})

test('a lock left by a killed git is named, with what to do', async () => {
  const { git, root, sh } = busySetup()
  await work(git, 'one')
  fs.writeFileSync(join(root, '.git', `${BRANCH}.lock`), '')
  const tip = sh('rev-parse', BRANCH)
  const answer = await git.commitPaths(commitOf({ x: text('x') }))
  expect(answer).toMatchObject({ ok: false, failure: { class: 'transient', retryable: true } })
  expect(JSON.stringify(answer)).toMatch(/remove/)
  expect(shell(root, root, 'rev-parse', BRANCH)).toBe(tip)
})

function removeLocks(root: string): void {
  for (const name of fs.readdirSync(join(root, '.git'), { recursive: true }) as string[]) {
    if (name.endsWith('.lock')) fs.rmSync(join(root, '.git', name))
  }
}
