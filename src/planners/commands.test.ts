// How a repository is tested, linted and built, and whether that is there.

import { expect, test } from 'vitest'
import { findToolchain } from './commands.ts'
import type { RepositoryView } from './planner.ts'

const found = (files: { readonly [path: string]: string }, installed: readonly string[] = []) =>
  findToolchain({
    files: async () => Object.entries(files).map(([path, text]) => ({ path, bytes: text.length })),
    read: async paths => paths.map(path => files[path] ?? null),
    history: async () => [],
    findProgram: async name => (installed.includes(name) ? name : null),
    changedAt: async paths => paths.map(() => 0),
    state: async () => null,
  } satisfies RepositoryView)

const script = (test: string) => JSON.stringify({ scripts: { test } })

const ci = (run: string) => ({
  '.github/workflows/ci.yml': `on: push\njobs: { t: { steps: [{ run: '${run}' }] } }`,
})

test.each([
  [{ 'package.json': script('vitest') }, 'npm test'],
  [{ 'package.json': script('vitest'), 'pnpm-lock.yaml': '' }, 'pnpm test'],
  [{ 'pyproject.toml': '[tool.pytest.ini_options]', 'a.py': '' }, 'pytest'],
  [{ 'a.py': '', 'tests/test_a.py': 'import unittest' }, 'python3 -m unittest discover -s tests'],
  [{ 'go.mod': 'module x', Makefile: 'test:\n\tgo test -v ./...' }, 'go test ./...'],
  [{ 'Cargo.toml': '[package]' }, 'cargo test'],
  [{ Gemfile: "gem 'rspec'", '.rspec': '', 'spec/a_spec.rb': '' }, 'bundle exec rspec'],
  [{ 'pom.xml': '' }, 'mvn test'],
  [{ 'a.sh': '', Makefile: 'lint:\n\ttrue\ntest: lint\n\tsh a.sh' }, 'make test'],
  [{ 'a.sh': '', 'tests/run.sh': '' }, 'sh tests/run.sh'],
  [{ 'go.mod': 'module x', ...ci('go test -race ./...') }, 'go test -race ./...'],
  [{ 'Cargo.toml': '[package]', ...ci('cargo test --workspace --locked') }, 'cargo test --workspace --locked'],
  [{ 'Cargo.toml': '[workspace]' }, 'cargo test --workspace'],
  [{ 'Cargo.toml': '[package]', ...ci('cargo test -p core') }, 'cargo test'],
  [{ Gemfile: '', Rakefile: 'task :test', 'bin/rails': '', ...ci('bin/rails test') }, 'bin/rails test'],
  [{ 'package.json': script('vitest'), ...ci('npm run test:ci') }, 'npm test'],
  [{ 'pytest.ini': '', 'a.py': '', ...ci('scripts/test') }, 'pytest'],
  [{ 'a.lua': '', ...ci('busted-install && make test') }, 'make test'],
  [{ 'package.json': script('echo "Error: no test specified" && exit 1') }, null],
  [{ 'package.json': 'not JSON', 'README.md': '' }, null],
])('%j is tested with %s', async (files, command) => {
  const { commands } = await found(files as { readonly [path: string]: string })
  expect(commands.test?.run.join(' ') ?? null).toBe(command)
})

test('type checks and named environments are found', async () => {
  const types = async (files: { readonly [path: string]: string }) => (await found(files)).commands.types?.run.join(' ')
  expect(await types({ 'package.json': '{"scripts":{"typecheck":"tsc"}}' })).toBe('npm run typecheck')
  expect(await types({ 'pyproject.toml': '[tool.mypy]', 'a.py': '' })).toBe('mypy .')
  expect(await types({ 'pyproject.toml': '[tool.mypy]', 'a.py': '', ...ci('mypy src') })).toBe('mypy src')
  expect(await types({ 'tox.ini': '[testenv:typing]\ncommands = x', 'a.py': '' })).toBe('tox -e typing')
  const nox = { 'noxfile.py': '@nox.session(python="3.12")\ndef lint(session):\n  pass', 'a.py': '', 'setup.py': '' }
  expect((await found(nox)).commands.lint?.run).toEqual(['nox', '-s', 'lint'])
})

test('a command whose program is not installed says so', async () => {
  const files = { 'go.mod': 'module x' }
  expect((await found(files)).commands.test).toMatchObject({ exists: false, missing: "'go' is not installed" })
  expect((await found(files, ['go'])).commands.test).toEqual({
    run: ['go', 'test', './...'],
    from: 'go.mod',
    exists: true,
  })
})
