// How a draft changes when it is known what fails today.

import { expect, test } from 'vitest'
import { heuristicPlanner } from '../heuristic-planner.ts'
import { type Looked, type LookedCommand, lookedText, type RepositoryView } from '../planner.ts'

const FILES: { readonly [path: string]: string } = {
  'package.json': '{"scripts":{"test":"node --test","lint":"eslint .","typecheck":"tsc --noEmit"}}',
  'src/cart.js':
    'export function total(items) {\n  var sum = 0\n  for (const one of items) sum += one\n  return sum\n}\n',
  'src/price.js': 'export const price = item => item.price\n',
  'test/cart.test.js': "test('total', () => total([1]))\n",
}
const repository: RepositoryView = {
  files: async () => Object.entries(FILES).map(([path, text]) => ({ path, bytes: text.length })),
  read: async paths => paths.map(path => FILES[path] ?? null),
  history: async () => [],
  findProgram: async name => name,
  state: async () => null,
  pythonPackages: async () => null,
  changedAt: async paths => paths.map(() => 0),
}
const seen = (name: string, more: Partial<LookedCommand> = {}): LookedCommand => ({
  ...{ run: name === 'test' ? ['npm', 'test'] : ['npm', 'run', name], status: 'passes', places: [], lines: [] },
  ...{ purpose: name === 'typecheck' ? 'types' : (name as 'test' | 'lint') },
  ...more,
})
const LINT = seen('lint', {
  status: 'fails',
  places: [{ file: 'src/cart.js', line: 2 }],
  lines: ['src/cart.js:2:3 no-var ${{ secrets.TOKEN }}'],
})
const TESTS = seen('test', {
  status: 'fails',
  failed: 2,
  total: 31,
  places: [{ file: 'test/cart.test.js', line: 1 }],
  lines: ['not ok 1'],
})
const look = (...commands: readonly LookedCommand[]): Looked => ({ commands, ms: 6_000 })
const propose = async (goal: string, looked?: Looked) => await heuristicPlanner().propose({ goal, repository, looked })

test.each(['make the CI green', 'fix the lint', 'make all checks green again'])(
  '%s: the failing command is the check, its file the place',
  async goal => {
    const { kind, definition, analysis, assumptions } = await propose(goal, look(LINT, seen('typecheck'), seen('test')))
    expect(kind).toBe('failing-command')
    const fix = definition.tasks.find(({ id }) => id === 'fix')
    expect(fix?.accept).toMatchObject([{ type: 'check', command: { script: 'npm run lint' } }])
    expect(fix?.write).toEqual(['src/cart.js'])
    expect(definition.done).toMatchObject([{ command: { script: 'npm run lint' } }])
    expect(analysis.files[0]).toMatchObject({ path: 'src/cart.js', reason: "'npm run lint' fails at line 2 today" })
    expect(fix?.instruction).toContain('Begin at src/cart.js:2.')
    // What a tool printed is a quote, and no expression of the plan.
    expect(fix?.instruction).toContain('> src/cart.js:2:3 no-var $${{ secrets.TOKEN }}')
    expect(assumptions.join()).not.toContain('all that they look at may be written')
  },
)

test('what fails for a reason that is not known stays a check; what passes is none', async () => {
  const unknown = seen('typecheck', { status: 'unknown', why: 'something is not installed' })
  const { definition } = await propose('make the CI green', look(LINT, unknown, seen('test')))
  const scripts = definition.tasks
    .find(({ id }) => id === 'fix')
    ?.accept?.map(one => ('command' in one ? one.command : null))
  expect(scripts).toEqual([{ script: 'npm run lint' }, { script: 'npm run typecheck' }])
})

test('a failing type check keeps its wide scope: the fault may be elsewhere', async () => {
  const types = seen('typecheck', { status: 'fails', places: [{ file: 'src/cart.js', line: 1 }] })
  const { definition } = await propose('fix the type errors', look(types))
  expect(definition.tasks.find(({ id }) => id === 'fix')?.write).toContain('src/**/*.js')
})

test('an ordinary goal stays what it is, and is told what is red already', async () => {
  const goal = 'Add an option `--json` to src/price.js'
  const [before, after] = [await propose(goal), await propose(goal, look(TESTS, seen('lint')))]
  expect(after.kind).toBe(before.kind)
  expect(after.analysis.files).toEqual(before.analysis.files)
  // Only what passes today has to pass afterwards.
  const others = ({ definition }: typeof after) =>
    definition.tasks.filter(({ id }) => !['lint', 'types', 'review'].includes(id))
  expect(others(after)).toEqual(others(before))
  expect([before, after].map(({ definition }) => definition.tasks.find(({ id }) => id === 'lint')?.expect)).toEqual([
    'exit >= 0',
    undefined,
  ])
  expect(after.assumptions).toEqual([
    ...before.assumptions,
    'red before this plan: npm test: 2 of 31 fail today (test/cart.test.js:1)',
  ])
})

test.each(['make it better', 'make the button green', 'make the types better'])(
  '%s: a goal that is not about the check that fails stays what it is',
  async goal => {
    expect((await propose(goal, look(LINT))).kind).toBe((await propose(goal)).kind)
  },
)

test('failing tests lead to the test that fails, and to what it tests', async () => {
  const { kind, analysis } = await propose('The tests fail', look(TESTS))
  expect(kind).toBe('failing-test')
  expect(analysis.tests[0]).toMatchObject({ path: 'test/cart.test.js' })
})

test('each is said in a few words', () => {
  expect(
    [LINT, TESTS, seen('lint'), seen('lint', { status: 'unknown', why: 'no time was left for it' })].map(lookedText),
  ).toEqual([
    'npm run lint: fails today (src/cart.js:2)',
    'npm test: 2 of 31 fail today (test/cart.test.js:1)',
    'npm run lint: passes',
    'npm run lint: could not be looked at, no time was left for it',
  ])
})
