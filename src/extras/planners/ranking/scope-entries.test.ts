// Which files and folders are opened for a goal.

import { expect, test } from 'vitest'
import { inScope } from '../../../safety/scope.ts'
import { type EntryInput, scopeEntries } from './scope-entries.ts'

const many = Array.from({ length: 100 }, (_, index) => `src/part${index}/index.ts`)
const ranked = (...paths: readonly string[]): EntryInput['ranked'] =>
  paths.map((path, place) => ({ path, score: 3 - place / 2, reason: 'its words' }))
const entriesOf = (input: Partial<EntryInput> & Pick<EntryInput, 'ranked'>): readonly string[] =>
  scopeEntries({
    paths: [...input.ranked.map(({ path }) => path), ...many],
    history: [],
    closed: new Set(),
    role: 'source',
    unseen: 0.04,
    budget: 8,
    entries: 3,
    ...input,
  })

test('files of one folder become the folder, and no more is opened than the budget', () => {
  const found = entriesOf({
    ranked: ranked('src/a/1.ts', 'src/a/2.ts', 'src/a/3.ts', 'src/b.ts', 'src/part1/index.ts'),
  })
  expect(found).toEqual(expect.arrayContaining(['src/a/**', 'src/b.ts']))
  expect(many.filter(path => inScope(found, path)).length).toBeLessThanOrEqual(4)
})

test('what changed with the best file before is opened with it', () => {
  const history = Array(6).fill({ message: 'x', files: ['src/a/1.ts', 'src/part7/index.ts'] })
  expect(inScope(entriesOf({ ranked: ranked('src/a/1.ts'), history }), 'src/part7/index.ts')).toBe(true)
  expect(inScope(entriesOf({ ranked: ranked('src/a/1.ts') }), 'src/part7/index.ts')).toBe(false)
})

test.each(['src/a/2.ts', 'src/a/AGENTS.md', 'src/a/.claude/settings.json'])('%s comes in by no folder', path => {
  const files = ranked('src/a/1.ts', 'src/a/3.ts', 'src/b.ts', 'src/c.ts')
  const found = entriesOf({
    ranked: files,
    paths: [...files.map(file => file.path), path, ...many],
    closed: new Set(path.endsWith('.ts') ? [path] : []),
    unseen: 0.2,
  })
  expect(inScope(found, 'src/a/1.ts')).toBe(true)
  expect(inScope(found, path)).toBe(false)
})
