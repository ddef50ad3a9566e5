// How a repository is tested, linted and built, and whether that is there.

import { expect, test } from 'vitest'
import { findToolchain } from './found-commands.ts'
import { type Looked, NOT_INSTALLED, type RepositoryView } from './planner.ts'

interface Machine {
  readonly programs?: readonly string[]
  /** Files and folders that git ignores, and the times of some; all others are as old as the repository. */
  /** What its Python has. */
  readonly packages?: readonly string[]
  readonly there?: { readonly [path: string]: number }
}

const found = (
  files: { readonly [path: string]: string },
  { programs = [], packages, there = {} }: Machine = {},
  about?: string[],
  looked?: Looked,
) =>
  findToolchain(
    {
      files: async () => Object.entries(files).map(([path, text]) => ({ path, bytes: text.length })),
      read: async paths => paths.map(path => files[path] ?? null),
      history: async () => [],
      findProgram: async name => (programs.includes(name) ? name : null),
      pythonPackages: async () => (programs.includes('python3') ? new Set(packages ?? []) : null),
      changedAt: async paths => paths.map(path => there[path] ?? (path in files ? 0 : null)),
      state: async () => null,
    } satisfies RepositoryView,
    about,
    looked,
  )

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
  [{ 'go.mod': 'module x', ...ci('go test -race -coverprofile coverage.txt ./...') }, 'go test -race ./...'],
  [{ 'Cargo.toml': '[workspace]', ...ci('cargo +stable test --all --message-format=json') }, 'cargo test --all'],
  [{ 'Cargo.toml': '[package]', ...ci('cargo test --workspace --locked') }, 'cargo test --workspace --locked'],
  [{ 'Cargo.toml': '[workspace]' }, 'cargo test --workspace'],
  [
    { 'Cargo.toml': '[workspace]', ...ci('cargo test --workspace --locked --manifest-path ./Cargo.toml') },
    'cargo test --workspace --locked',
  ],
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
  expect(await types({ 'package.json': '{"scripts":{"types:check":"tsc -p .","types:build":"tsc"}}' })).toBe(
    'npm run types:check',
  )
  expect(await types({ 'package.json': '{"scripts":{"types":"tsup --dts","types:watch":"tsc -w"}}' })).toBe(
    'npm run types',
  )
  const own = {
    'package.json': '{"scripts":{"types:check":"tsc"},"devDependencies":{"typescript":"5"}}',
    'tsconfig.json': '{}',
  }
  const { commands } = await found({ ...own, ...ci('npx tsc') })
  expect([commands.types?.run.join(' '), commands.build, commands.ci.map(({ run }) => run.join(' '))]).toEqual([
    'npm run types:check',
    null,
    ['npm run types:check'],
  ])
  expect(await types({ 'pyproject.toml': '[tool.mypy]', 'a.py': '' })).toBe('mypy .')
  expect(await types({ 'pyproject.toml': '[tool.mypy]', 'a.py': '', ...ci('mypy src') })).toBe('mypy src')
  expect(await types({ 'tox.ini': '[testenv:typing]\ncommands = x', 'a.py': '' })).toBe('tox -e typing')
  const nox = { 'noxfile.py': '@nox.session(python="3.12")\ndef lint(session):\n  pass', 'a.py': '', 'setup.py': '' }
  expect((await found(nox)).commands.lint?.run).toEqual(['nox', '-s', 'lint'])
})

test('a command whose program is not installed says so', async () => {
  const files = { 'go.mod': 'module x' }
  expect((await found(files)).commands.test).toMatchObject({ exists: false, missing: "'go' is not installed" })
  expect((await found(files, { programs: ['go'] })).commands.test).toEqual({
    run: ['go', 'test', './...'],
    from: 'go.mod',
    exists: true,
  })
})

const named = (name: string, test = 'node --test') => JSON.stringify({ name, scripts: { test } })
const three = {
  'packages/parser/package.json': named('@mono/parser'),
  'packages/parser/a.js': '',
  'packages/ui/package.json': named('@mono/ui'),
  'packages/ui/src/b.js': '',
  'packages/server/package.json': '{"name":"@mono/server"}',
  'packages/server/c.js': '',
}
const npm = { ...three, 'package.json': '{"workspaces":["packages/*"]}', 'package-lock.json': '{}' }
const cargo = {
  'Cargo.toml': '[workspace]\nmembers = ["crates/*"]\nexclude = ["fuzz"]\n[package]\nname = "top"\n',
  'src/lib.rs': '',
  'crates/core/Cargo.toml': '[package]\nkeywords = ["a"]\nname = "top-core"\n',
  'crates/core/src/lib.rs': '',
  'fuzz/Cargo.toml': '[package]\nname = "fuzz"\n',
  'fuzz/a.rs': '',
}
const go = { 'go.mod': 'module x', 'a.go': '', 'sdk/go.mod': 'module x/sdk', 'sdk/trace/b.go': '' }
const srcPackage = { 'src/a/__init__.py': '', 'tests/test_a.py': 'import pytest\n' }
const python = { 'pyproject.toml': '[project]\n[tool.pytest.ini_options]\n', 'a.py': '', 'tests/test_a.py': '' }
const front = { 'go.mod': 'module x', 'a.go': '', 'web/package.json': named('web'), 'web/b.ts': '' }

test.each<[what: string, files: { readonly [path: string]: string }, about: string[], step: string, end?: string]>([
  ['npm', npm, ['packages/ui/src/b.js'], 'npm test -w @mono/ui', 'npm test --workspaces --if-present'],
  ['npm, without a script of its own', npm, ['packages/server/c.js'], 'npm test --workspaces --if-present'],
  ['npm, several', npm, ['packages/ui/src/b.js', 'packages/parser/a.js'], 'npm test --workspaces --if-present'],
  [
    'npm, with a script at the top',
    { ...npm, 'package.json': '{"workspaces":{"packages":["packages/*"]},"scripts":{"test":"turbo test"}}' },
    ['packages/ui/src/b.js'],
    'npm test -w @mono/ui',
    'npm test',
  ],
  [
    'pnpm',
    {
      ...three,
      'package.json': '{}',
      'pnpm-lock.yaml': '',
      'pnpm-workspace.yaml': "packages:\n  - 'packages/**'\n  - '!**/x'\nonly: [a]",
    },
    ['packages/ui/src/b.js'],
    'pnpm --filter @mono/ui test',
    'pnpm -r test',
  ],
  [
    'yarn',
    { ...npm, 'yarn.lock': '', '.yarnrc.yml': '' },
    ['packages/ui/src/b.js'],
    'yarn workspace @mono/ui run test',
    'yarn workspaces foreach -A run test',
  ],
  [
    'bun',
    { ...npm, 'bun.lock': '' },
    ['packages/ui/src/b.js'],
    'bun run --filter @mono/ui test',
    'bun run --filter * test',
  ],
  ['packages that know nothing of each other', three, ['packages/ui/src/b.js'], 'npm --prefix packages/ui test'],
  [
    'several of them',
    three,
    ['packages/ui/src/b.js', 'packages/parser/a.js'],
    'sh -c npm --prefix packages/ui test && npm --prefix packages/parser test',
  ],
  ['cargo', cargo, ['crates/core/src/lib.rs'], 'cargo test -p top-core', 'cargo test --workspace'],
  ['cargo, the package at the top', cargo, ['src/lib.rs'], 'cargo test --workspace'],
  [
    'cargo, a package that is left out',
    cargo,
    ['fuzz/a.rs'],
    'cargo test --manifest-path fuzz/Cargo.toml',
    'cargo test --workspace',
  ],
  [
    'cargo, with the flags of the CI',
    { ...cargo, ...ci('cargo test --locked --workspace --all-features') },
    ['crates/core/src/lib.rs'],
    'cargo test --locked -p top-core --all-features',
    'cargo test --locked --workspace --all-features',
  ],
  ['go, a module in a folder', go, ['sdk/trace/b.go'], 'go test -C sdk ./...', 'go test ./...'],
  ['go, the module at the top', go, ['a.go'], 'go test ./...'],
  ['go, several modules and a target', { ...go, Makefile: 'test:\n\tx' }, ['a.go', 'sdk/trace/b.go'], 'make test'],
  [
    'go, a workspace',
    { ...go, 'go.work': 'use (\n\t.\n\t./sdk\n)' },
    ['sdk/trace/b.go'],
    'go test ./sdk/...',
    'go test ./... ./sdk/...',
  ],
  ['a website beside a program', front, ['web/b.ts'], 'npm --prefix web test', 'go test ./...'],
  ['a program beside a website', { ...front, 'package.json': script('x') }, ['a.go'], 'go test ./...'],
  [
    'a part with a workflow of its own',
    {
      ...front,
      '.github/workflows/a.yml': 'on: push\njobs: { t: { steps: [{ run: bin/check, working-directory: api }] } }',
      'api/pom.xml': '',
      'api/a.java': '',
    },
    ['api/a.java'],
    'sh -c cd api && mvn test',
    'go test ./...',
  ],
  [
    'rails',
    { Gemfile: '', 'bin/rails': '', 'test/a_test.rb': '', Rakefile: 'task :test' },
    ['app/a.rb'],
    'bin/rails test',
  ],
  [
    'gems',
    { Gemfile: '', 'core/core.gemspec': '', 'core/Rakefile': 'task :test', 'core/a.rb': '' },
    ['core/a.rb'],
    'sh -c cd core && bundle exec rake test',
  ],
  [
    'maven',
    { 'pom.xml': '<module>core</module>', 'core/pom.xml': '', 'core/A.java': '' },
    ['core/A.java'],
    'mvn -pl core -am test',
    'mvn test',
  ],
  [
    'gradle',
    { gradlew: '', 'settings.gradle': "include ':core'", 'core/build.gradle': '', 'core/A.java': '' },
    ['core/A.java'],
    './gradlew :core:test',
    './gradlew test',
  ],
  [
    'python in a folder',
    { 'api/pyproject.toml': '[tool.pytest.ini_options]', 'api/a.py': '' },
    ['api/a.py'],
    'sh -c cd api && pytest',
  ],
  [
    'uv in a folder',
    { 'api/uv.lock': '', 'api/pyproject.toml': '[tool.pytest.ini_options]', 'api/a.py': '' },
    ['api/a.py'],
    'uv run --directory api pytest',
  ],
])('the tests of a package: %s', async (_, files, about, step, end) => {
  const { test, allTests } = (await found(files, {}, about)).commands
  expect([test?.run.join(' '), allTests?.run.join(' ')]).toEqual([step, end])
})

test.each([
  [{ ...python, 'uv.lock': '' }, ['uv', 'pytest'], 'uv run pytest'],
  [{ ...python, 'uv.lock': '' }, ['pytest'], 'pytest'],
  [{ ...python, 'poetry.lock': '' }, ['poetry'], 'poetry run pytest'],
  [{ ...python, 'tox.ini': '[testenv]\n' }, ['tox', 'pytest'], 'pytest'],
  [{ ...python, 'tox.ini': '[testenv]\n' }, ['tox'], 'tox -e py'],
  [
    { ...python, 'noxfile.py': '@nox.session(\n    python=["3.13"],\n)\ndef tests(session):\n' },
    ['nox'],
    'nox -s tests',
  ],
  [{ 'a.py': '', 'tests/a_test.py': '', 'noxfile.py': '@nox.session\ndef tests(session):\n' }, [], 'nox -s tests'],
  [{ 'pyproject.toml': '[tool.hatch.envs.default.scripts]\ntest = "x"\n', 'a.py': '' }, ['hatch'], 'hatch run test'],
  [{ 'manage.py': '', 'app/tests.py': '' }, ['python3'], 'python3 manage.py test'],
])('python: %j with %j is tested with %s', async (files, programs, command) => {
  const { test } = (await found(files as { readonly [path: string]: string }, { programs })).commands
  expect(test?.run.join(' ')).toBe(command)
})

const app = { 'package.json': '{"scripts":{"test":"x"},"devDependencies":{"ava":"1"}}', 'package-lock.json': '{}' }
const record = 'node_modules/.package-lock.json'
const SECOND = 1_000

test.each<[what: string, files: { readonly [path: string]: string }, machine: Machine, command: string | null]>([
  ['a fresh clone', app, {}, 'npm ci'],
  ['installed', app, { there: { [record]: 0 } }, null],
  ['pulled since', app, { there: { [record]: 0, 'package-lock.json': 60 * SECOND } }, 'npm ci'],
  ['the lock file written last', app, { there: { [record]: 0, 'package-lock.json': SECOND } }, null],
  ['without dependencies', { 'package.json': script('x'), 'package-lock.json': '{}' }, {}, null],
  ['without a lock file', { 'package.json': app['package.json'] }, {}, 'npm install --no-package-lock'],
  [
    'without a lock file, installed',
    { 'package.json': app['package.json'] },
    { there: { 'node_modules/ava': 0 } },
    null,
  ],
  ['pnpm', { ...app, 'pnpm-lock.yaml': '' }, {}, 'pnpm install --frozen-lockfile'],
  ['yarn', { ...app, 'yarn.lock': '', '.yarnrc.yml': '' }, {}, 'yarn install --immutable'],
  ['yarn, classic', { ...app, 'yarn.lock': '' }, {}, 'yarn install --frozen-lockfile'],
  ['bun', { ...app, 'bun.lock': '' }, {}, 'bun install --frozen-lockfile'],
  ['a workspace', npm, {}, 'npm ci'],
  [
    'a part of its own',
    { ...front, 'web/package.json': app['package.json'], 'web/package-lock.json': '' },
    {},
    'npm --prefix web ci',
  ],
  ['uv', { ...python, 'uv.lock': '' }, { programs: ['uv'] }, 'uv sync'],
  ['uv, installed', { ...python, 'uv.lock': '' }, { programs: ['uv'], there: { '.venv': 0 } }, null],
  ['python with pytest on the path', python, { programs: ['python3', 'pytest'] }, null],
  [
    'a package in src/ that pytest on the path does not see',
    { ...srcPackage, 'pyproject.toml': '[project]\nname = "a-b"\ndependencies = ["x_y>=2", "colorama; os == 2"]\n' },
    { programs: ['python3', 'pytest'], packages: ['a-b'] },
    'sh -c python3 -m venv .venv && .venv/bin/pip install pytest -e .',
  ],
  [
    'all that the manifest asks for',
    { ...srcPackage, 'pyproject.toml': '[project]\nname = "a-b"\ndependencies = ["x_y>=2", "colorama; os == 2"]\n' },
    { programs: ['python3', 'pytest'], packages: ['a-b', 'a-b @ .', 'x-y'] },
    null,
  ],
  [
    'poetry, which is not there',
    {
      ...srcPackage,
      'pyproject.toml': '[tool.poetry]\nname = "a"\n[tool.poetry.dependencies]\npython = "*"\nhttpx = "*"\n',
    },
    { programs: ['python3', 'pytest'] },
    'sh -c python3 -m venv .venv && .venv/bin/pip install poetry && .venv/bin/poetry install',
  ],
  [
    'a manifest of another language beside the tests',
    { Gemfile: '', 'spec/a_spec.rb': '', '.rspec': '', 'package.json': '{"devDependencies":{"a":"1"}}' },
    { programs: ['bundle', 'npm'] },
    null,
  ],
  ['go', go, {}, null],
  [
    'composer',
    { 'composer.json': '{"require-dev":{"phpunit/phpunit":"*"}}' },
    { programs: ['composer'] },
    'composer install',
  ],
  [
    'gems in the workspace',
    { Gemfile: '', Rakefile: 'test', '.bundle/config': 'BUNDLE_PATH: "vendor/bundle"\n' },
    { programs: ['bundle'] },
    'bundle install',
  ],
])('is it installed? %s', async (_, files, machine, command) => {
  const about = 'web/b.ts' in files ? ['web/b.ts'] : []
  const { installation } = await found(files, machine, about)
  expect(installation?.run.join(' ') ?? null).toBe(command)
})

test('a Python project without pytest gets an environment of its own, and is tested there', async () => {
  const files = { ...python, 'pyproject.toml': '[project]\n[project.optional-dependencies]\ntest = ["pytest"]\n' }
  const { installation, commands } = await found(files, { programs: ['python3'] })
  expect(installation?.run).toEqual(['sh', '-c', "python3 -m venv .venv && .venv/bin/pip install pytest -e '.[test]'"])
  expect(commands.test).toMatchObject({ run: ['./.venv/bin/pytest'], exists: true })
})

test('extras with dots are found as well', async () => {
  const text =
    '[project]\nname = "a"\noptional-dependencies.docs = [ "x" ]\noptional-dependencies.tests = [\n  "freezegun",\n]\n[tool.pytest]\n'
  const files = { ...python, 'pyproject.toml': text }
  const { installation } = await found(files, { programs: ['python3', 'pytest'] })
  expect(installation?.run.at(-1)).toBe("python3 -m venv .venv && .venv/bin/pip install pytest -e '.[tests]'")
  expect(installation?.why).toContain('freezegun')
})

test.each<[what: string, files: { readonly [path: string]: string }, machine: Machine, ran: string, install: string]>([
  ['npm', app, { programs: ['npm'], there: { [record]: 0 } }, 'npm test', 'npm ci'],
  ['uv', { ...python, 'uv.lock': '' }, { programs: ['uv'], there: { '.venv': 0 } }, 'uv run pytest', 'uv sync'],
  ['poetry', { ...python, 'poetry.lock': '' }, { programs: ['poetry'] }, 'poetry run pytest', 'poetry install'],
  [
    'pip, with an environment',
    python,
    { programs: ['pytest', 'python3'], there: { venv: 0 } },
    'pytest',
    'venv/bin/python3 -m pip install pytest -e .',
  ],
  [
    'pip, without one',
    python,
    { programs: ['pytest', 'python3'] },
    'pytest',
    'sh -c python3 -m venv .venv && .venv/bin/pip install pytest -e .',
  ],
  [
    'gems',
    { Gemfile: "gem 'rspec'", '.rspec': '', 'spec/a_spec.rb': '' },
    { programs: ['bundle'] },
    'bundle exec rspec',
    'bundle install',
  ],
  ['Go', { 'go.mod': 'module x' }, { programs: ['go'] }, 'go test ./...', 'go mod download'],
  [
    'Rust',
    { 'Cargo.toml': '[package]', 'Cargo.lock': '' },
    { programs: ['cargo'] },
    'cargo test',
    'cargo fetch --locked',
  ],
])('a run shows that something is missing: it is installed first, with %s', async (_, files, machine, ran, install) => {
  const after = async (why: string) => {
    const command = { run: ran.split(' '), purpose: 'test', status: 'unknown', why, places: [], lines: [] } as const
    return (await found(files, machine, [], { commands: [command], ms: 1 })).installation
  }
  expect((await after(NOT_INSTALLED))?.run.join(' ')).toBe(install)
  expect((await after(NOT_INSTALLED))?.why).toBe(`'${ran}' says that ${NOT_INSTALLED}`)
  expect(await after('it had not ended after 12 s')).toBe(null)
})
