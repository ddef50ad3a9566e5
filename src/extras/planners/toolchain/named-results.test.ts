// Test commands that print each test by its name, so that a new one can be told from an old one.

import { expect, test } from 'vitest'
import { reportFolders, withNamedResults } from './named-results.ts'

test.each([
  ['npm test', 'vitest run', 'npm test -- --reporter=verbose'],
  ['yarn test', 'vitest run --reporter=dot', 'yarn test'],
  ['npm test -w ui', 'vitest run', 'npm test -w ui -- --reporter=verbose'],
  ['npm --prefix ui run unit', 'vitest', 'npm --prefix ui run unit -- --reporter=verbose'],
  ['yarn workspace ui run test', 'vitest', 'yarn workspace ui run test --reporter=verbose'],
  // `pnpm test --reporter=verbose` never reaches vitest.
  ['pnpm test', 'vitest run', 'pnpm run test --reporter=verbose'],
  ['pnpm --filter @a/b test', 'vitest', 'pnpm --filter @a/b run test --reporter=verbose'],
  ['pnpm -C ui run test', 'jest', 'pnpm -C ui run test --verbose --reporters=default'],
  // Reporters of the settings may print no names.
  ['npm test', 'jest', 'npm test -- --verbose --reporters=default'],
  ['npm test', 'jest && eslint .', 'npm test'],
  ['pytest', null, 'pytest -rA'],
  ['go test ./...', null, 'go test -v ./...'],
  ['go test -C sdk ./...', null, 'go test -C sdk -v ./...'],
  ['cargo test --workspace', null, 'cargo test --workspace --no-fail-fast'],
] as const)('%s with the script %s', (line, script, named) => {
  expect(withNamedResults(line.split(' '), script).join(' ')).toBe(named)
})

test('nyc and c8 leave reports in folders that git ignores', () => {
  expect(reportFolders('nyc mocha', 'coverage\n.nyc_output\n')).toEqual(['.nyc_output/**', 'coverage/**'])
  expect(reportFolders('c8 node --test', '/coverage\n')).toEqual(['coverage/**'])
  expect(reportFolders('mocha', 'coverage\n')).toEqual([])
})
