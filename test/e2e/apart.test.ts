// Tasks in worktrees of their own, with the built command, killed without warning: whatever was done is merged once, nothing is
// lost, and the files, the index and HEAD of the person are the same byte for byte.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MAIN, type Place, place } from './planfold.fixture.ts'

/** Some of the points at which the process dies; with PLANFOLD_CRASH=all every one. */
const POINTS = process.env.PLANFOLD_CRASH === 'all' ? [3, 4, 5, 6, 7, 8, 9] : [6]

const PLAN = `planfold: 1
name: work
git: { worktree: task }
concurrency: 2
tasks:
  - { id: one, edit: { file: one.txt, create: "1\\n" } }
  - { id: two, edit: { file: two.txt, create: "2\\n" } }
  - { id: sum, needs: [one, two], run: "cat one.txt two.txt > sum.txt", effect: workspace, write: [sum.txt] }
done: [{ check: [grep, -q, "2", sum.txt] }]
`

let here: Place
beforeEach(async () => {
  here = await place()
  sh(
    'git init --quiet --initial-branch=main; printf ".planfold/\\n" > .gitignore; echo a > a.txt; echo b > b.txt; git add .',
  )
  sh('git config user.name P; git config user.email p@x; git commit --quiet -m first')
  sh('echo staged > a.txt; git add a.txt; echo changed > a.txt; echo mine > mine.txt')
  await here.write('plan.yaml', PLAN)
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

/** The bytes of every file of the person, of the index and of HEAD. */
function theirs(): readonly string[] {
  const files = [...fs.readdirSync(here.folder).filter(name => !name.startsWith('.planfold') && name !== '.git')]
  return [...files, '.git/index', '.git/HEAD'].sort().map(name => {
    const file = join(here.folder, name)
    return `${name} ${fs.statSync(file).isFile() ? createHash('sha256').update(fs.readFileSync(file)).digest('hex') : ''}`
  })
}

test.each(POINTS)('killed before the commit number %i of the store: one merge for each task, nothing lost', at => {
  const before = theirs()
  const first = planfold(['run', 'plan.yaml'], { PLANFOLD_FAILPOINT: `store.commit:before:${at}` })
  expect([first.signal, first.status]).toSatisfy(([signal, status]) => signal === 'SIGKILL' || status === 0)
  if (first.signal === 'SIGKILL') expect(planfold(['run', 'plan.yaml']).status).toBe(0)
  expect(sh('git log --first-parent --format=%s main..plan/work').split('\n').sort()).toEqual([
    'chore(plan): merge the work of one',
    'chore(plan): merge the work of sum',
    'chore(plan): merge the work of two',
  ])
  expect(sh('git show plan/work:sum.txt')).toBe('1\n2')
  expect(sh('git worktree list').split('\n')).toHaveLength(1)
  expect(sh('git branch --format="%(refname:short)"').split('\n')).toEqual(['main', 'plan/work'])
  expect(theirs()).toEqual(before)
  const tip = sh('git rev-parse plan/work')
  expect(planfold(['rollback', 'work', '--yes']).status).toBe(0)
  expect(sh('git branch --list "plan/*"')).toBe('')
  expect(sh('git for-each-ref --format="%(objectname)" refs/planfold/backup')).toContain(tip)
  expect(planfold(['undo', 'work']).status).toBe(0)
  expect(sh('git rev-parse plan/work')).toBe(tip)
  expect(theirs()).toEqual(before)
})
