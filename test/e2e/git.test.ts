// Git through the built command, killed without warning: a bisection goes on without repeating a try, and what a task wrote is
// committed exactly once, wherever the process died.

import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MAIN, type Place, place } from './planfold.fixture.ts'

/** Some of the points at which the process dies; with PLANFOLD_CRASH=all every one. */
const POINTS = process.env.PLANFOLD_CRASH === 'all' ? [3, 4, 5, 6, 7, 8, 9, 10] : [7]

let here: Place
beforeEach(async () => {
  here = await place()
  sh('git init --quiet --initial-branch=main; printf ".planfold/\\n" > .gitignore; git add .gitignore')
  sh('git config user.name P; git config user.email p@x; git commit --quiet -m first')
})
afterEach(async () => await here.remove())

function sh(script: string): string {
  const env = { PATH: process.env.PATH, HOME: here.folder }
  const said = spawnSync('sh', ['-euc', script], { cwd: here.folder, env, encoding: 'utf8' })
  if (said.status !== 0) throw new Error(said.stderr)
  return said.stdout.trim()
}

function planfold(argv: readonly string[], more: { readonly [name: string]: string } = {}) {
  const env = {
    PATH: process.env.PATH,
    HOME: here.folder,
    PLANFOLD_AS: 'ana@example.com',
    ...more,
  }
  return spawnSync(process.execPath, [MAIN, ...argv], { cwd: here.folder, env, encoding: 'utf8', timeout: 120_000 })
}

describe('planfold bisect', () => {
  test('killed with -9 in every single try, the same words go on; no try that ended is made again', async () => {
    for (let at = 1; at <= 7; at++)
      sh(
        `echo ${at} > n; test ${at} -lt 5 && s=good || s=bad; echo $s > state; git add .; git commit --quiet -m c${at}`,
      )
    const log = join(here.folder, '.planfold-log')
    await here.write(
      '.check',
      `n=$(cat n); echo "begin $n" >> ${log}; if [ ! -e ${log}.$n ]; then touch ${log}.$n; kill -9 $PPID; exit 1; fi
echo "end $n" >> ${log}; test "$(cat state)" = good\n`,
    )
    const words = ['bisect', '--good', 'main~6', '--', 'sh', join(here.folder, '.check')]
    const head = sh('git rev-parse HEAD; git status --porcelain --untracked-files=no')
    let kills = 0
    let said = planfold(words)
    for (; said.signal === 'SIGKILL' && kills < 20; kills++) said = planfold(words)
    expect({ status: said.status, stdout: said.stdout }).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/ c5$/m),
    })
    const lines = fs.readFileSync(log, 'utf8').trim().split('\n')
    const ended = lines.filter(line => line.startsWith('end'))
    expect(kills).toBe(ended.length)
    expect(new Set(ended).size).toBe(ended.length)
    // Each was begun twice: once killed, once to its end.
    expect(lines.filter(line => line.startsWith('begin')).length).toBe(2 * ended.length)
    expect(sh('git rev-parse HEAD; git status --porcelain --untracked-files=no')).toBe(head)
    expect(sh('git worktree list').split('\n')).toHaveLength(1)
  })
})

describe('commits of tasks', () => {
  const PLAN = `planfold: 1
name: work
git: { commits: task }
tasks:
  - { id: one, edit: { file: one.txt, create: "1\\n" } }
  - { id: two, needs: [one], edit: { file: two.txt, create: "2\\n" } }
  - { id: tag, needs: [two], git: { commit: all } }
`
  test.each(POINTS)('killed before the commit number %i of the store, there is one for each task', async at => {
    await here.write('plan.yaml', PLAN)
    const first = planfold(['run', 'plan.yaml'], { PLANFOLD_FAILPOINT: `store.commit:before:${at}` })
    expect([first.signal, first.status]).toSatisfy(([signal, status]) => signal === 'SIGKILL' || status === 0)
    if (first.signal === 'SIGKILL') expect(planfold(['run', 'plan.yaml']).status).toBe(0)
    expect(sh('git log --format=%s main..plan/work').split('\n').sort()).toEqual([
      'chore(plan): one',
      'chore(plan): two',
    ])
    expect(sh('git status --porcelain')).toBe('?? one.txt\n?? plan.yaml\n?? two.txt')
    const { stdout } = planfold(['export', 'work', '--to', 'journal'])
    const types = [...stdout.matchAll(/"type":"(branch\.created|commit\.created)"/g)].map(match => match[1])
    // Commands hold what events hold, so each is told twice.
    expect(types.filter(type => type === 'branch.created')).toHaveLength(2)
    // Rolled back as a whole, the chain is complete.
    expect(planfold(['rollback', 'work', '--force']).status).toBe(0)
    expect(sh('git branch --list "plan/*"')).toBe('')
    expect(sh('git status --porcelain')).toBe('?? plan.yaml')
  })
})
