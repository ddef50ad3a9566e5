// Which writes are denied where an agent holds several tasks, or one that works in a folder of its own.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { name } from '../../../testing/plan.ts'
import { type ClaimedScope, deniedWrite } from './write-guard.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'planfold-guard-'))
  mkdirSync(join(root, '.planfold/worktrees/p/src'), { recursive: true })
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const held = (write: readonly string[] | null, place: string | null = null): ClaimedScope => ({
  plan: 'p',
  task: name('t'),
  write,
  place,
})
const PLACE = '.planfold/worktrees/p'

/** Those of the paths that are denied, each alone; with the rule where one protects it. */
async function denied(scopes: readonly ClaimedScope[], paths: readonly string[]): Promise<readonly string[]> {
  const folders = { root, stateDir: join(root, '.planfold'), cwd: root }
  const all = await Promise.all(paths.map(async path => await deniedWrite(folders, scopes, [path])))
  return all.flatMap(one => (one === null ? [] : [one.rule === null ? one.path : `${one.path} (${one.rule})`]))
}

test('who holds nothing is not judged', async () => {
  expect(await denied([], ['/etc/passwd', '.git/config'])).toEqual([])
})

test('what one of several tasks may write may be written', async () => {
  const both = [held(['src/**']), held(['docs/*.md'])]
  expect(await denied(both, ['src/a', 'docs/a.md', 'docs/a/b.md', 'a', '.git/config'])).toEqual([
    'docs/a/b.md',
    'a',
    '.git/config (.git)',
  ])
  expect(await denied([held([])], ['src/a'])).toEqual(['src/a'])
})

test('a plan with a folder of its own is kept to that folder, although it lies in the state folder', async () => {
  const inside = [
    `${PLACE}/src/a`,
    `${PLACE}/docs/a`,
    `${PLACE}/.git`,
    'src/a',
    '.planfold/planfold.db',
    '/elsewhere/a',
  ]
  expect(await denied([held(['src/**'], PLACE)], inside)).toEqual([
    `${PLACE}/docs/a`,
    `${PLACE}/.git (.git)`,
    'src/a',
    '.planfold/planfold.db',
    '/elsewhere/a',
  ])
  expect(await denied([held(null, PLACE)], inside)).toEqual([`${PLACE}/.git (.git)`, 'src/a', '.planfold/planfold.db'])
})

test('of several files the first that may not be written is named', async () => {
  const folders = { root, stateDir: join(root, '.planfold'), cwd: join(root, 'src') }
  const scope = held(['src/**'])
  expect(await deniedWrite(folders, [scope], ['a', '../b', '../c'])).toEqual({ path: '../b', scope, rule: null })
})
