// What the files of the CI say about commands, and what they must not do to whoever reads them.

import { expect, test } from 'vitest'
import { cpuMs } from '../../../domain/cpu-time.fixture.ts'
import { ciCommands } from './ci-commands.ts'
import { purposeOf } from './command-purpose.ts'

const GITHUB = '.github/workflows/ci.yml'
const lines = (path: string, text: string, scripts = {}) =>
  ciCommands([[path, text]], scripts).map(({ purpose, run, job, in: folder, env }) =>
    [
      purpose,
      job,
      folder === undefined ? '' : `in ${folder}`,
      ...Object.entries(env ?? {}).map(one => one.join('=')),
      ...run,
    ]
      .filter(word => word !== '')
      .join(' '),
  )

test('a workflow: each command with its job; variables, folders and values of the file are filled in', () => {
  const text = `
on: { pull_request: {} }
env: { CARGO: cargo, RUSTFLAGS: -D warnings, TOKEN: "\${{ secrets.X }}" }
jobs:
  lint:
    steps:
      - uses: actions/checkout@v4
      - run: |
          cargo install cargo-hack
          # not a command: cargo test
          \${{ env.CARGO }} clippy --workspace \\
            --all-targets
      - uses: golangci/golangci-lint-action@v6
  unit:
    name: Unit tests
    strategy: { matrix: { suite: [core, more] } }
    steps:
      - { run: npm ci && npm test, working-directory: web }
      - run: DEBUG=1 bin/rails test \${{ matrix.suite }}
      - run: cargo test --target \${{ inputs.target }} && npm run fmt && npm run lint:fix
  publish: { steps: [{ run: npm test }] }
  downstream:
    steps: [{ uses: actions/checkout@v4, with: { repository: other/one } }, { run: npm test }]
`
  expect(lines(GITHUB, text, { fmt: 'prettier --check .', tidy: 'prettier --write .' })).toEqual([
    'lint lint RUSTFLAGS=-D warnings cargo clippy --workspace --all-targets',
    'lint lint RUSTFLAGS=-D warnings golangci-lint run',
    'test unit (Unit tests) in web RUSTFLAGS=-D warnings npm test',
    'test unit (Unit tests) RUSTFLAGS=-D warnings DEBUG=1 bin/rails test core',
    'lint unit (Unit tests) RUSTFLAGS=-D warnings npm run fmt',
  ])
  expect(lines(GITHUB, 'on: release\njobs: { a: { steps: [{ run: npm test }] } }')).toEqual([])
})

test('GitLab, with merge keys, and CircleCI', () => {
  const gitlab = `
.base: &base { image: node }
check:
  <<: *base
  before_script: [npm ci]
  script: [npm run lint, [npx tsc --noEmit]]
deploy: { script: npm test }
`
  expect(lines('.gitlab-ci.yml', gitlab)).toEqual(['lint check npm run lint', 'types check npx tsc --noEmit'])
  const circle = `jobs: { unit: { steps: [checkout, { run: pytest -q --cov=x --cov-report term-missing }, { run: { name: Types, command: mypy src } }] } }`
  expect(lines('.circleci/config.yml', circle)).toEqual(['test unit pytest -q', 'types unit mypy src'])
})

test('a hostile file is harmless: aliases that multiply, depth, size, wrong types', () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
    .split('')
    .map((name, at) => `${name}: &${name} [${'abcdefgh'[at]},*${'abcdefgh'[at]},*${'abcdefgh'[at]},*${'abcdefgh'[at]}]`)
    .join('\n')}\non: push\njobs: *i`
  const many = Array.from({ length: 5_000 }, (_, at) => `      - run: pytest t${at}`).join('\n')
  const read = () => {
    for (const text of [
      bomb,
      '['.repeat(90_000),
      'x'.repeat(1_000_000),
      'on: push\njobs: [1, 2]',
      'on: push\njobs: { a: 3 }',
      '\u0000',
    ])
      expect(lines(GITHUB, text)).toEqual([])
    expect(lines(GITHUB, `on: push\njobs:\n  a:\n    steps:\n${many.slice(0, 90_000)}`).length).toBeLessThanOrEqual(60)
  }
  expect(cpuMs(read, 2_000)).toBeLessThan(2_000)
})

test.each([
  ['npx eslint . --max-warnings 0', 'lint'],
  ['npx eslint . --fix', null],
  ['pnpm --filter web typecheck', 'types'],
  ['yarn install --frozen-lockfile', null],
  ['npm ci', null],
  ['uv run --frozen mypy src', 'types'],
  ['uv run --group dev --python 3.12 pytest', 'test'],
  ['npx -p typescript tsc --noEmit', 'types'],
  ['python3.12 -W error -m pytest', 'test'],
  ['coverage run --source=a -m pytest', 'test'],
  ['cargo +nightly test', 'test'],
  ['python -m pytest -x', 'test'],
  ['bundle exec rake spec', 'test'],
  ['tsc', 'build'],
  ['./scripts/lint.sh', 'lint'],
  ['make deploy', null],
  ['make check', 'test'],
  ['cargo fmt --all -- --check', 'lint'],
  ['cargo fmt', null],
  ['go test -race ./...', 'test'],
  ['curl https://example.org', null],
])('%s is for %s', (line, purpose) => {
  expect(purposeOf(line.split(' '))).toBe(purpose)
})
