// Which file is found for a goal, and by what it is told.

import { expect, test } from 'vitest'
import { readGoal } from '../goal.ts'
import type { PastChange } from '../planner.ts'
import { roleOf } from './file-role.ts'
import { rankFiles } from './rank-files.ts'

async function first(goal: string, files: { readonly [path: string]: string }, history: readonly PastChange[] = []) {
  const ranking = await rankFiles(
    {
      files: async () => Object.entries(files).map(([path, text]) => ({ path, bytes: text.length })),
      read: async paths => paths.map(path => files[path] ?? null),
      history: async () => history,
    },
    readGoal(goal),
  )
  return ranking.files[0]
}

const FILLER = 'export const one = 1\n'.repeat(20)

test('a file that defines a name of the goal comes before those that use it', async () => {
  const files = {
    'src/a.ts': `${FILLER}total(1)\ntotal(2)\ntotal(3)`,
    'src/b.ts': `${FILLER}export function total(x) {}`,
    'src/c.ts': FILLER,
  }
  expect(await first('`total` is wrong', files)).toMatchObject({ path: 'src/b.ts' })
})

test('the only file that defines a name comes before one about the words beside the name', async () => {
  const files = {
    'src/units/time.py': `class Unit: pass\ndef round_unit(unit): pass\n${'# rounding of a unit at its boundaries\n'.repeat(9)}`,
    'src/units/size.py': `# numbers\ndef naturalsize(value):\n${'    pass\n'.repeat(9)}`,
    'src/units/__init__.py': 'from units.size import naturalsize\n',
  }
  expect(await first('Fix `naturalsize()` rounding rollover at unit boundaries', files)).toMatchObject({
    path: 'src/units/size.py',
  })
})

test('a file that the goal names comes first', async () => {
  const files = { 'src/a.ts': 'retry retry retry', 'src/deep/b.ts': FILLER }
  expect(await first('Retry is wrong in b.ts', files)).toMatchObject({
    path: 'src/deep/b.ts',
    reason: expect.stringContaining('the goal names it'),
  })
})

test('a file that changed for similar reasons before is found without a word of the goal in it', async () => {
  const files = { 'src/a.ts': FILLER, 'src/b.ts': FILLER, 'src/c.ts': FILLER }
  const history = [
    { message: 'Bring the throttle back', files: ['src/b.ts'] },
    { message: 'Typo', files: ['src/a.ts'] },
  ]
  expect(await first('The throttle is too slow', files, history)).toMatchObject({
    path: 'src/b.ts',
    reason: expect.stringContaining('changed for similar reasons before'),
  })
})

test('with one change in all, no file changes often', async () => {
  const history = [{ message: 'First', files: ['src/a.ts'] }]
  const files = { 'src/a.ts': FILLER, 'src/b.ts': FILLER }
  expect((await first('zzz', files, history))?.reason).not.toContain('changes often')
  expect((await first('zzz', files, Array(5).fill(history[0])))?.reason).toContain('changes often')
})

test('the source that belongs to a test is found by the title of the test', async () => {
  const files = {
    'src/a.ts': 'a comma',
    'src/format.ts': FILLER,
    'test/format.test.ts': "test('puts a comma in quotes', () => {})",
  }
  expect(await first("'puts a comma in quotes' fails", files)).toMatchObject({ path: 'src/format.ts' })
})

test('a short file is not preferred for being short', async () => {
  const files = {
    'src/long.ts': `${FILLER.repeat(5)}// resume a transfer\nresume(transfer)\nresume(transfer)`,
    'src/short.ts': 'transfer',
  }
  expect(await first('make transfers resume', files)).toMatchObject({ path: 'src/long.ts' })
})

test('generated and vendored files, and copies of a folder, are left behind', async () => {
  expect(['dist/a.js', 'vendor/x.go', 'a.min.js', 'x_pb2.py', 'package-lock.json'].map(roleOf)).toEqual([
    'generated',
    'generated',
    'generated',
    'generated',
    'generated',
  ])
  const names = ['a', 'b', 'c', 'd', 'e', 'throttle']
  const files = Object.fromEntries(
    names.flatMap(name => [
      [`src/${name}.ts`, name === 'throttle' ? 'throttle' : FILLER],
      [`deno_dist/${name}.ts`, name === 'throttle' ? 'throttle throttle' : FILLER],
    ]),
  )
  expect(await first('throttle is wrong', files)).toMatchObject({ path: 'src/throttle.ts' })
})

test('a repository without files, and a goal without words, have an answer', async () => {
  expect(await first('anything', {})).toBeUndefined()
  expect(await first('?', { 'a.ts': FILLER })).toMatchObject({ path: 'a.ts' })
})
