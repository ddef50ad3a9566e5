// Commands without reports: no option is left without its value, and no value without its option.

import { expect, test } from 'vitest'
import { plainCommand } from './plain-command.ts'

test.each([
  ['go test -race -coverprofile coverage.txt ./...', 'go test -race ./...'],
  ['go test -race -coverprofile=coverage.txt -covermode atomic -coverpkg ./... ./...', 'go test -race ./...'],
  ['go test -cover ./...', 'go test ./...'],
  ['pytest -q --cov=x --cov-report term-missing --junitxml out.xml tests', 'pytest -q tests'],
  ['pytest --cov mypackage --cov-branch --cov-fail-under 90 -k cart', 'pytest -k cart'],
  ['npx jest --coverage --coverageDirectory out --ci', 'npx jest --ci'],
  ['vitest run --coverage src/a', 'vitest run src/a'],
  ['vitest run --coverage.enabled true --coverage.reporter lcov', 'vitest run'],
  ['npm test -- --coverage', 'npm test'],
  ['vendor/bin/phpunit --coverage-clover clover.xml --log-junit log.xml', 'vendor/bin/phpunit'],
  ['cargo test --message-format=json', 'cargo test'],
  ['cargo test --message-format json --workspace', 'cargo test --workspace'],
  ['cargo +stable test', 'cargo test'],
  ['cargo +1.70.0 clippy', 'cargo clippy'],
  ['cargo +nightly fmt --check', 'cargo +nightly fmt --check'],
  ['golangci-lint run --out-format github-actions', 'golangci-lint run'],
  ['node --test --test-reporter spec --experimental-test-coverage', 'node --test'],
  // The same words mean something else here.
  ['make coverage', 'make coverage'],
  ['npm run cover -- -cover x', 'npm run cover -- -cover x'],
])('%s is %s', (line, plain) => {
  expect(plainCommand(line.split(' ')).join(' ')).toBe(plain)
})
