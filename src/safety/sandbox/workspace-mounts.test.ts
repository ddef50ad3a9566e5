import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { workspaceMounts } from './workspace-mounts.ts'

function setup(paths: readonly string[]) {
  const root = mkdtempSync(join(tmpdir(), 'planfold-mounts-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const make = (path: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), '')
  }
  paths.forEach(make)
  return { root, make, place: { root, stateDir: join(root, '.planfold'), write: null } }
}

const MANY = Array.from({ length: 30 }, (_, at) => `a/deep/${at}/file`)

test('in a folder of many files, protected places near the top are closed, and new ones there are found', () => {
  const { root, make, place } = setup([...MANY, '.github/workflows/ci.yml', 'z/.npmrc'])
  const { mounts, lookAfter } = workspaceMounts(place, 20)
  const closed = mounts.filter((_, at) => mounts[at - 1]?.startsWith('--ro-bind'))
  for (const path of ['.github/workflows', 'z/.npmrc']) expect(closed).toContain(join(root, path))
  expect(lookAfter()).toEqual({ appeared: [], changed: [] })
  make('z/.vscode/tasks.json')
  make('b/.idea/x')
  expect(lookAfter().appeared).toEqual(expect.arrayContaining(['z/.vscode', 'b/.idea']))
})

test('with fewer files they are found at any depth, but for node_modules', () => {
  const { make, place } = setup(MANY)
  const { lookAfter } = workspaceMounts(place)
  make('a/deep/7/new/.vscode/tasks.json')
  make('a/node_modules/x/.vscode/tasks.json')
  expect(lookAfter()).toEqual({ appeared: ['a/deep/7/new/.vscode'], changed: [] })
})

test('what a program leaves by itself is told apart: a new folder is in memory, one that was there is as it was', () => {
  const { root, make, place } = setup(['sum.js', '.old/kept'])
  const scratch = ['.new/**', '.old/**', '.new-*']
  const { scratch: folders, lookAfter, release } = workspaceMounts({ ...place, write: ['sum.js'], scratch })
  expect(folders).toEqual([join(root, '.new')])
  make('.new-history')
  make('other')
  expect(lookAfter()).toEqual({ appeared: ['other'], changed: [], left: ['.new-history'] })
  release()
  expect(existsSync(join(root, '.new'))).toBe(false)
})

test('they are names below the folder in which the program begins', () => {
  const { root, make, place } = setup(['sub/sum.js'])
  const { lookAfter } = workspaceMounts({
    ...{ ...place, cwd: join(root, 'sub'), write: ['sub/sum.js', 'a.js'], scratch: ['.new-*'] },
  })
  make('.new-history')
  make('sub/.new-history')
  expect(lookAfter()).toEqual({ appeared: ['.new-history'], changed: [], left: ['sub/.new-history'] })
})
