// Goals about settings, CI and versions, removals and renames: what the drafts may write, and what shows that they are done.

import { expect, test } from 'vitest'
import { heuristicPlanner } from '../heuristic-planner.ts'
import type { RepositoryView } from '../planner.ts'

const CI = 'on: push\njobs:\n  test:\n    strategy:\n      matrix:\n        python-version: ["3.13", "3.14"]\n'
const FILES: { readonly [path: string]: string } = {
  '.github/workflows/ci.yml': `${CI}    steps: [{ run: pytest }]\n`,
  '.github/workflows/codeql.yml': 'on: push\njobs: { scan: { permissions: { contents: read } } }\n',
  '.gitignore': 'target/\ncoverage\n.nyc_output\nkept\n',
  '.golangci.yaml': 'linters: [revive]\n',
  'Cargo.toml': '[workspace]\nmembers = ["crates/*"]\n',
  'crates/one/Cargo.toml': '[package]\nname = "one"\n[dependencies]\nansi = "0.46"\n',
  'crates/one/src/lib.rs': 'pub fn one() {}\n',
  'kept/a.py': '# parse it as before\n',
  'package.json': '{"scripts":{"test":"nyc mocha"},"dependencies":{"a":"1"}}',
  'pyproject.toml': '[project]\nname = "x"\nclassifiers = ["Programming Language :: Python :: 3.14"]\n',
  'src/handlers/a.py': 'def parse(text):\n    # parse the text\n    return text\n',
  'src/handlers/b.py': 'from a import parse\n',
  'src/handlers/c.py': 'def close():\n    pass\n',
  'src/old/word.py': 'def oldWord():\n    pass\n',
  'tests/test_a.py': 'from a import parse\n',
}

const repository: RepositoryView = {
  files: async () => Object.entries(FILES).map(([path, text]) => ({ path, bytes: text.length })),
  read: async paths => paths.map(path => FILES[path] ?? null),
  history: async () => [],
  findProgram: async name => name,
  pythonPackages: async () => null,
  changedAt: async paths => paths.map(() => 0),
  state: async () => null,
}

async function drafted(goal: string) {
  const { definition, kind, assumptions } = await heuristicPlanner().propose({ goal, repository })
  const ids = definition.tasks.map(({ id }) => id as string)
  const work = definition.tasks.filter(({ write = [] }) => write.length > 0)
  const scripts = work.flatMap(({ accept = [] }) =>
    accept.flatMap(one => (one.type === 'check' && 'script' in one.command ? [one.command.script] : [])),
  )
  return { kind, ids, assumptions, scripts, write: work.at(-1)?.write ?? [], tasks: definition.tasks }
}

test.each([
  ['Add Python 3.15 to CI', ['.github/workflows/ci.yml', 'pyproject.toml'], /3\\\.15/],
  ['Add staticcheck to CI', ['.github/workflows/ci.yml'], /-e staticcheck/],
  ['ci: remove the CodeQL workflow', ['.github/workflows/codeql.yml'], /^test ! -e \.github\/workflows\/codeql\.yml$/],
  ['ci: enable revive rules', ['.golangci.yaml'], null],
  ['Stricter permissions in all workflows', ['.github/workflows/ci.yml', '.github/workflows/codeql.yml'], null],
  ['Add an exports field to package.json', ['package.json'], /"exports"/],
])('%s', async (goal, files, check) => {
  const { kind, write, scripts, ids } = await drafted(goal)
  expect([kind, [...write].filter(path => !path.endsWith('/**')).sort()]).toEqual(['chore', files])
  expect(scripts.length).toBe(check === null ? 0 : 1)
  if (check !== null) expect(scripts[0]).toMatch(check)
  expect(ids).not.toContain('write-test')
})

test('a change that only CI sees runs no tests here', async () => {
  expect((await drafted('Add staticcheck to CI')).ids).toEqual(['baseline', 'change', 'lint', 'review'])
})

test('a dependency is updated in the manifest of the package that asks for it', async () => {
  const { tasks } = await drafted('Update ansi to 0.50')
  const update = tasks.find(({ id }) => id === 'update')
  expect(update?.write).toEqual(['crates/one/Cargo.toml'])
  expect(JSON.stringify(update?.accept)).toContain('crates/one/Cargo.toml')
})

test('a plain word stays in comments, and folders that git ignores are not searched', async () => {
  const { tasks, scripts } = await drafted('Rename `parse` to `decode`')
  const { action, write } = tasks.find(({ id }) => id === 'rename')!
  expect(write?.filter(path => path.endsWith('.py'))).not.toContain('kept/a.py')
  expect(JSON.stringify(action)).toContain('unless m{')
  expect(scripts[0]).toContain('--exclude-dir=target')
  expect(scripts[0]).not.toContain('--exclude-dir=kept')
})

test('types are judged by the type checker, not by a test that fails', async () => {
  for (const goal of ['Fix the return type of parse', 'handlers: improve type inference of parse'])
    expect((await drafted(goal)).ids).not.toContain('reproduce')
  expect((await drafted('Fix the content type of the answer')).ids).toContain('reproduce')
})

test('all files of a folder are opened where the goal says all of them', async () => {
  expect((await drafted('Close the file in all handlers')).write).toContain('src/handlers/**')
})

test('two requests are no removal: the one that is added has a step', async () => {
  const { scripts, assumptions } = await drafted(
    'Add a cache to src/handlers/a.py and get rid of oldWord in src/old/word.py',
  )
  expect(scripts).toEqual([])
  expect(assumptions.join()).toContain('it asks for more than one thing')
})
