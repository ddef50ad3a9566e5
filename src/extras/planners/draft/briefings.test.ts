// What a draft hands from task to task, and what whoever does a step is told.

import { describe, expect, test } from 'vitest'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { compile } from '../../../format/expression/expression.ts'
import { templateExpressions } from '../../../format/expression/template.ts'
import { inScope } from '../../../safety/scope.ts'
import { readGoal } from '../goal.ts'
import { heuristicPlanner } from '../heuristic-planner.ts'
import { docsScope } from '../kinds/docs-page.ts'
import { removalIn, removedName } from '../kinds/removal.ts'
import { renameNames } from '../kinds/rename.ts'
import type { PlanComment, RepositoryView } from '../planner.ts'
import { changeLog, openLogs } from './change-log.ts'
import { setUp } from './frame-tasks.ts'
import { likelyTest } from './one-test.ts'

const FILES: { readonly [path: string]: string } = {
  'package.json': '{"scripts":{"test":"vitest run","lint":"eslint ."}}',
  'README.md': '# Shop\n\nA littel shop, with neg.\n',
  'src/cart.ts': [
    'export function total(items: number[]) {',
    '  return items.reduce((sum, one) => sum + one, 0)',
    '}',
    '',
    '/** Unary minus. */',
    'export function neg(x: number) {',
    '  return -x',
    '}',
  ].join('\n'),
  'src/secrets.ts': 'export const total = "hunter2 total"',
  'test/cart.test.ts': "test('total', () => total([1]))",
}

const viewOf = (all: typeof FILES): RepositoryView => ({
  files: async () => Object.entries(all).map(([path, text]) => ({ path, bytes: text.length })),
  read: async paths => paths.map(path => all[path] ?? null),
  history: async () => [],
  findProgram: async name => name,
  pythonPackages: async () => null,
  changedAt: async paths => paths.map(() => 0),
  state: async () => null,
})

const draft = async (goal: string, comments: readonly PlanComment[] = [], all = FILES): Promise<PlanDefinition> =>
  (await heuristicPlanner().propose({ goal, repository: viewOf(all), comments })).definition

const taskIn = ({ tasks }: PlanDefinition, id: string): TaskDefinition => tasks.find(task => task.id === id)!
const idsOf = ({ tasks }: PlanDefinition): readonly string[] => tasks.map(({ id }) => id)

const GOALS = [
  'total is wrong for an empty cart',
  'The test of total fails',
  'The test of total is flaky',
  'Why is total slow?',
  'total is too slow',
  'Fix the injection vulnerability in total',
  'Add an endpoint GET /total',
  'Add a function average to src/cart.ts. Do not add a dependency.',
  'Refactor total',
  'Make it better',
  'Add caching and do not add caching',
]

describe('every draft', () => {
  for (const goal of GOALS)
    test(goal, async () => {
      const plan = await draft(goal)
      const { tasks, done = [] } = plan
      const told = new Set<string>()
      for (const task of tasks) {
        const { action, write, outputs = {}, instruction = '', effect, accept = [], rollback, rationale = '' } = task
        // A step that looks writes nothing and leaves exactly one text; one that changes says how it is undone.
        if (action.type === 'external' && write?.length === 0)
          expect(Object.values(outputs)).toEqual([{ from: 'report', type: 'text' }])
        else if (action.type === 'external') expect(rollback).toContain(task.id)
        expect(instruction).not.toMatch(/\breport\b/i)
        if (action.type === 'run') expect(effect).toBe('workspace')
        // Nobody is asked again for a verdict in words.
        expect(accept.filter(({ type }) => type === 'prose')).toEqual([])
        expect(told).not.toContain(rationale)
        told.add(rationale)
        const shown = action.type === 'gate' ? (action.show ?? []) : []
        const earlier = new Set(tasks.slice(0, tasks.indexOf(task)).map(({ id }) => id as string))
        for (const { source } of [instruction, ...shown].flatMap(templateExpressions)) {
          const made = compile(source)
          expect(made.ok && made.compiled.references.tasks.every(name => earlier.has(name))).toBe(true)
        }
      }
      expect(done.filter(({ type }) => type === 'prose')).toEqual([])
      expect(tasks.every(({ milestone }) => milestone !== undefined)).toBe(tasks.length >= 5)
      expect(idsOf(plan)).toContain('review')
    })
})

test('what was found stands in the next briefing and in the gate that asks about it', async () => {
  const vague = await draft('Make it better')
  const quote = '${{ quote(tasks.specify.outputs.specification) }}'
  expect(taskIn(vague, 'approve-specification').action).toMatchObject({ show: [`The specification:\n${quote}`] })
  expect(taskIn(vague, 'work').instruction).toContain(quote)
  expect(taskIn(vague, 'work').instruction).toContain('${{ quote(tasks.clarify.outputs.answer1) }}')
  const security = await draft('Fix the injection vulnerability in total. Do not add a dependency.')
  const { action } = taskIn(security, 'review')
  expect(JSON.stringify(action)).toContain('quote(tasks.assess.outputs.attack)')
  expect(JSON.stringify(action)).toContain('Do not add a dependency')
})

test('a task that somebody does not want is quoted by none', async () => {
  const plan = await draft('Make it better', [
    { task: 'clarify', text: 'skip' },
    { task: 'baseline', text: 'skip' },
  ])
  expect(JSON.stringify(plan.tasks)).not.toMatch(/tasks\.(clarify|baseline)/)
})

test('a briefing names the place, its lines, and the test alone; never a file that may hold secrets', async () => {
  const { instruction = '' } = taskIn(await draft('total is wrong for an empty cart'), 'fix')
  expect(instruction).toContain('Begin at src/cart.ts:1.')
  expect(instruction).toContain('    1| export function total(items: number[]) {')
  expect(instruction).toContain('One file of tests alone: npx vitest run test/cart.test.ts')
  expect(instruction).not.toContain('hunter2')
})

test('what is removed or misspelt needs no new test', async () => {
  const removal = await draft('Remove the unused function neg')
  expect(idsOf(removal).filter(id => /test$|^reproduce$|^specify$/.test(id))).toEqual([])
  expect(taskIn(removal, 'remove').write).toEqual(['README.md', 'src/cart.ts'])
  expect(removal.done?.map(({ type, ...rest }) => 'text' in rest && rest.text)).toEqual([
    'neg no longer occurs',
    'no test fails that did not fail before',
  ])
  const typo = await draft("Fix the typo 'littel' in README.md")
  expect(idsOf(typo).filter(id => id !== 'clarify')).toEqual(['correct', 'review'])
  expect(taskIn(typo, 'correct').write).toEqual(['README.md'])
})

test('only one name that is to go is a removal', () => {
  const names = [
    'Remove the unused function neg',
    'Delete `oldParse()` from src/parse.ts.',
    'Drop the deprecated --fast option',
    'Remove the leaky lru_cache (#12)',
    "Remove default 'mode'",
    'Remove whitespace from names',
    'Remove `a` and `b`',
    'Remove `retry` when the queue is empty',
    'Remove the user from the list. Add a test.',
  ].map(goal => removedName(readGoal(goal), 'feature'))
  expect(names).toEqual(['neg', 'oldParse', '--fast', 'lru_cache', null, null, null, null, null])
})

test('what is to go may be a file or a dependency', () => {
  const paths = ['ci.yml', 'src/a.ts', 'package.json', 'yarn.lock', 'bench/run.js']
  const texts = new Map([['package.json', '{"dependencies":{"pad":"1","got":"2"}}']])
  const found = [
    'remove the unused ci.yml',
    'remove dependency on pad',
    'use fetch instead of got',
    'chore: remove bench directory',
    'fix: replace deprecated trimRight() with trimEnd()',
    'remove the retries of got',
    'remove ci.yml checks from src/a.ts',
  ].map(goal => removalIn(readGoal(goal), 'refactor', { paths, texts }))
  expect(found.map(one => one?.ends.map(({ text }) => text))).toEqual([
    ['ci.yml is gone'],
    ['pad no longer occurs'],
    ['got no longer occurs'],
    ['bench is gone'],
    ['trimRight no longer occurs'],
    undefined,
    undefined,
  ])
  expect(found.map(one => one?.files)).toEqual([
    ['ci.yml'],
    ['package.json', 'yarn.lock'],
    ['package.json', 'yarn.lock'],
    ['bench/run.js'],
    [],
    undefined,
    undefined,
  ])
})

describe('documentation', () => {
  const input = (goal: string) => ({
    goal: readGoal(goal),
    paths: [
      'README.md',
      'CHANGES.md',
      'docs/migrate-v2-to-v3.md',
      'docs/routing.rst',
      'src/routing/rules.py',
      'src/days.ts',
    ],
    texts: new Map([
      ['src/days.ts', '/** isWeekend */'],
      ['README.md', '# Days'],
    ]),
    files: ['src/routing/rules.py', 'CHANGES.md', 'src/days.ts'].map(path => ({ path, score: 1, reason: 'words' })),
  })
  test.each([
    ['document what happened to tags in the v3 migration guide', ['docs/migrate-v2-to-v3.md']],
    ['Clarify the docs of isWeekend', ['src/days.ts']],
    ['fix the docstring of isWeekend', ['src/days.ts']],
    ['document rule priority', ['docs/routing.rst', 'README.md']],
    ['document rule priority in the readme', ['README.md']],
  ])('%s', (goal, pages) => expect(docsScope(input(goal))).toEqual(pages))
})

test('a change is noted where most changes are, unless a robot does it or the goal forbids it', () => {
  const paths = ['CHANGES.md', 'src/a.ts']
  const change = (...files: readonly string[]) => ({ message: 'x', files })
  const habit = [
    change('src/a.ts', 'CHANGES.md'),
    change('src/a.ts'),
    change('src/a.ts'),
    change('src/a.ts', 'CHANGES.md'),
  ]
  const robot = [...Array(10).keys()].flatMap(() => [change('src/a.ts'), change('CHANGES.md')])
  const logOf = (history: typeof habit, goal = 'Fix it') => changeLog({ paths, history, limits: readGoal(goal).limits })
  expect([logOf(habit), logOf(robot), logOf([]), logOf(habit, 'Fix it. Do not touch the changelog.')]).toEqual([
    'CHANGES.md',
    null,
    null,
    null,
  ])
})

test('a log that one of the last changes touched may be written, also a folder with an entry per change', async () => {
  const logs = (file: string, ...changes: readonly (readonly string[])[]) =>
    openLogs({
      paths: ['NEWS.rst', 'a/CHANGELOG.md', 'a/src/x.ts', 'src/y.ts', 'changelog.d/README.md'],
      history: changes.map(([message = '', ...files]) => ({ message, files })),
      limits: [],
      file,
    })
  expect(logs('src/y.ts', ['Fix y', 'src/y.ts', 'NEWS.rst'])).toEqual(['NEWS.rst'])
  expect(logs('src/y.ts', ['Note y', 'NEWS.rst'], ['Note x', 'a/CHANGELOG.md'])).toEqual(['NEWS.rst'])
  expect(logs('a/src/x.ts', ['Note x', 'a/CHANGELOG.md'])).toEqual(['a/CHANGELOG.md'])
  expect(logs('src/y.ts', ['chore(release): v6.1.7', 'NEWS.rst'], ['1.2.0', 'NEWS.rst'])).toEqual([])
  expect(logs('src/y.ts', ['Fix y', 'src/y.ts', 'changelog.d/12.fix.md'])).toEqual(['changelog.d/**'])
  expect(logs('src/y.ts', ...Array.from({ length: 20 }, () => ['x']), ['Fix y', 'NEWS.rst'])).toEqual([])
  const fragments = (file: string) => ({ message: 'x', files: ['src/y.ts', `.changeset/${file}.md`] })
  const release = { message: 'chore(release): v6.1.7', files: ['src/y.ts', 'NEWS.rst'] }
  expect(changeLog({ paths: ['NEWS.rst', 'src/y.ts'], history: [release, release], limits: [] })).toBe(null)
  const history = ['odd-cats-run', 'two-dogs-sit'].map(fragments)
  expect(changeLog({ paths: ['src/y.ts'], history, limits: [] })).toBe('.changeset/**')
})

test('the first five files of one package may be written, those of another not', async () => {
  const uses = (path: string) => [path, `import { weekend } from 'weekend'\n${'export const other = 1\n'.repeat(40)}`]
  const names = ['b', 'c', 'd', 'e', 'f', 'g'].map(name => `one/src/${name}/calendar.ts`)
  const noise = Array.from({ length: 30 }, (_, at) => [`one/src/n${at}/noise.ts`, 'export const noise = 1\n'])
  const all = {
    ...Object.fromEntries([...names.map(uses), ...noise]),
    'two/src/weekend.ts': "import { weekend } from 'weekend'\nexport const weekend = 2\n",
    'one/src/a/weekend.ts': 'export function isWeekendDay() {}\n',
    'one/package.json': '{"scripts":{"test":"node --test"}}',
    'two/package.json': '{"scripts":{"test":"node --test"}}',
    'one/test/weekend.test.ts': '',
  }
  const goal = '`isWeekendDay` in one/src/a/weekend.ts returns the wrong day of the weekend'
  const { analysis, definition } = await heuristicPlanner().propose({ goal, repository: viewOf(all) })
  const ranked = analysis.files.slice(0, 5).map(({ path }) => path)
  const written = taskIn(definition, 'fix').write!
  const own = ranked.filter(one => one.startsWith('one/'))
  expect(own.length).toBeGreaterThan(3)
  expect(own.filter(path => !inScope(written, path))).toEqual([])
  expect(inScope(written, 'one/src/n1/noise.ts')).toBe(false)
})

test('the test of the likeliest file is named before others, and what is to be installed is all that is missing', () => {
  const file = (path: string) => ({ path, score: 1, reason: '' })
  const named = (path: string, ...tests: readonly string[]) =>
    likelyTest({ files: [file(path)], tests: tests.map(file) }, [])?.path
  expect(named('fish.go', 'help_test.go', 'fish_test.go')).toBe('fish_test.go')
  expect(named('src/a/index.ts', 'test/a.test.ts', 'src/b/index.test.ts')).toBe('test/a.test.ts')
  const command = (run: string) => ({ run: [run], from: 'ci', exists: false, missing: `'${run}' is not installed` })
  expect(setUp([command('pnpm'), command('bun'), command('bun')]).accept).toHaveLength(2)
})

test('what else a goal asks for is told', async () => {
  const { assumptions } = await heuristicPlanner().propose({
    goal: 'Rename `total` to `sum`. Then fix the crash of neg.',
    repository: viewOf(FILES),
  })
  expect(assumptions[0]).toContain("'fix the crash of neg'")
  expect(renameNames(readGoal('Rename `total` option to `sum`'))).toEqual({ old: 'total', new: 'sum' })
})

test('an updated dependency is installed before the source is adapted to it, and a test that does not load it stays as it is', async () => {
  const shop = {
    'package.json': '{"scripts":{"test":"node --test"},"dependencies":{"lodash":"^4.17.15"}}',
    'package-lock.json':
      '{\n  "packages": {\n    "node_modules/lodash": {\n      "version": "4.17.15"\n    }\n  }\n}\n',
    'src/cart.js': "import lodash from 'lodash'\n",
    'test/cart.test.js': "import '../src/cart.js'\n",
  }
  const goal = 'Update lodash to 4.17.21'
  const plan = await draft(goal, [], shop)
  expect(taskIn(plan, 'install-update')).toMatchObject({
    needs: ['update'],
    action: { command: { argv: ['npm', 'ci'] } },
  })
  expect(taskIn(plan, 'adapt')).toMatchObject({ needs: ['install-update'], write: ['src/cart.js'] })
  const used = await draft(goal, [], { ...shop, 'test/cart.test.js': "import lodash from 'lodash'\n" })
  expect(taskIn(used, 'adapt').write).toEqual(expect.arrayContaining(['src/cart.js', expect.stringMatching(/^test/)]))
})

test('where tests stand beside the source, a fix may not write them; modules of a go.work are named from its top', async () => {
  const plan = await draft('Total in cart/total.go is wrong: it forgets the last item', [], {
    'go.work': 'go 1.19\n\nuse (\n\t./cart\n\t./mail\n)\n',
    'cart/go.mod': 'module example.com/cart\n',
    'cart/total.go': 'package cart\n\nfunc Total(items []int) int { return 0 }\n',
    'cart/total_test.go': 'package cart\n',
    'mail/go.mod': 'module example.com/mail\n',
    'mail/mail.go': 'package mail\n',
  })
  expect(taskIn(plan, 'fix').write?.filter(path => path.startsWith('cart'))).toEqual(['cart/total.go'])
  expect(taskIn(plan, 'baseline').action).toMatchObject({ command: { script: 'go test -v ./cart/... 2>&1' } })
  // It may be red already: then the review shows it, and is not blocked by it.
  expect(taskIn(plan, 'lint')).toMatchObject({
    action: { command: { script: 'go vet ./cart/... ./mail/... 2>&1' } },
    expect: 'exit >= 0',
  })
  expect(JSON.stringify(taskIn(plan, 'review').action)).toContain('tasks.lint.outputs.log')
})
