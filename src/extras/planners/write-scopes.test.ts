// Which files a draft lets its steps write.

import { expect, test } from 'vitest'
import { inScope } from '../../safety/scope.ts'
import { heuristicPlanner } from './heuristic-planner.ts'
import type { PastChange, RepositoryView } from './planner.ts'

const writes = async (
  goal: string,
  files: { readonly [path: string]: string },
  history: readonly PastChange[] = [],
) => {
  const repository: RepositoryView = {
    files: async () => Object.entries(files).map(([path, text]) => ({ path, bytes: text.length })),
    read: async paths => paths.map(path => files[path] ?? null),
    history: async () => history,
    findProgram: async name => name,
    pythonPackages: async () => null,
    changedAt: async paths => paths.map(() => 0),
    state: async () => null,
  }
  const { tasks } = (await heuristicPlanner().propose({ goal, repository })).definition
  return (id: string): readonly string[] => tasks.find(task => task.id === id)?.write ?? []
}

const PARSER = 'export function parseRow(row: string) {\n  // an empty row is a row\n  return row.split(",")\n}\n'
const EMPTY = 'export const size = 1\n'

test('examples, benchmarks, generated pages and files far from the goal are not opened', async () => {
  const others = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`src/part${at}.ts`, EMPTY]))
  const files = {
    'package.json': '{"scripts":{"test":"vitest run"}}',
    'parse.ts': PARSER,
    'size.ts': EMPTY,
    'bench.ts': `import { parseRow } from './parse.ts'\nparseRow('')`,
    '_examples/rows.ts': `import { parseRow } from '../parse.ts'\nparseRow('an empty row')`,
    'docs/api/parseRow.md': 'parseRow: an empty row',
    'test/parse.test.ts': "test('parseRow', () => parseRow(''))",
    ...others,
  }
  const scope = (await writes('parseRow fails for an empty row', files))('fix')
  expect(scope).toEqual(['parse.ts'])
  const asked = (await writes('parseRow fails for an empty row in the examples', files))('fix')
  expect(asked).toContain('_examples/**')
})

test('another package is opened only if the goal names it', async () => {
  const member = (name: string, file: string, text: string) => ({
    [`packages/${name}/package.json`]: `{"name":"${name}","scripts":{"test":"vitest run"}}`,
    [`packages/${name}/src/${file}`]: text,
    [`packages/${name}/test/${file.replace('.ts', '.test.ts')}`]: "test('it', () => {})",
  })
  const files = {
    'package.json': '{"workspaces":["packages/*"],"scripts":{"test":"vitest run"}}',
    ...member('csv', 'parse.ts', PARSER),
    ...member('printer', 'print.ts', 'export const print = (row: string) => row // an empty row\n'),
  }
  const together: readonly PastChange[] = Array.from({ length: 9 }, () => ({
    message: 'rows',
    files: ['packages/csv/src/parse.ts', 'packages/printer/src/print.ts'],
  }))
  const scopeOf = async (goal: string) => (await writes(goal, files, together))('fix').join(' ')
  expect(await scopeOf('parseRow fails for an empty row')).not.toContain('printer')
  expect(await scopeOf('parseRow fails for an empty row, and so does the printer')).toContain('packages/printer/')
})

test('snapshots are opened with the source that they record, if tests beside them compare with them', async () => {
  const files = (text: string) => ({
    'package.json': '{"scripts":{"test":"ava"}}',
    'src/parse.ts': PARSER,
    'test/parse.test.ts': text,
    'test/snapshots/parse.test.ts.md': 'an empty row',
    'test/snapshots/parse.test.ts.snap': 'x',
    'old/__snapshots__/a.snap': 'x',
  })
  const goal = 'parseRow fails for an empty row'
  const used = await writes(goal, files("test('parseRow', t => t.snapshot(parseRow('')))"))
  expect(used('fix')).toContain('test/snapshots/**')
  expect(used('reproduce').some(entry => inScope([entry], 'test/snapshots/new.snap'))).toBe(true)
  const unused = await writes(goal, files("test('parseRow', t => t.is(parseRow(''), 1))"))
  expect(unused('fix').join(' ')).not.toContain('snapshots')
  const spared = await writes(`${goal}. Do not touch the tests.`, files("test('parseRow', t => t.snapshot(1))"))
  expect(spared('fix').join(' ')).not.toContain('snapshots')
})
