// Which commands are the same work, and which script of the project does it.

import { expect, test } from 'vitest'
import { asScript, readsNoFile, workOf } from './project-script.ts'

const SCRIPTS = {
  test: 'vitest run',
  'types:check': 'tsc --noEmit',
  build: 'tsc -p tsconfig.build.json',
  lint: 'eslint . && prettier --check .',
  unit: 'npm run test',
  pretwo: 'true',
  two: 'vitest run',
}
const words = (line: string) => line.split(' ')

test.each([
  ['npm run test', 'npm test'],
  ['npm t', 'npm test'],
  ['npx vitest run', 'npm test'],
  ['npx tsc', 'npm run types:check'],
  ['npx tsc --noEmit --pretty', 'npm run types:check'],
  ['yarn lint', 'yarn run lint'],
  ['pnpm test --run', 'pnpm test --run'],
  ['npx eslint .', 'npx eslint .'],
  ['npm ci', 'npm ci'],
  ['npm run gone', 'npm run gone'],
])('%s is %s', (line, own) => {
  expect(asScript(words(line), SCRIPTS, 'npm').join(' ')).toBe(own)
})

test.each([
  ['npm test', 'npm run unit', true],
  ['npm test', 'npx --no-install vitest run', true],
  ['npx tsc', 'npm run types:check', true],
  ['npm run build', 'npm run types:check', false],
  // With a script before it, it is more.
  ['npm run two', 'npm test', false],
  ['npm run lint', 'npx eslint .', false],
  ['python -m pytest', './.venv/bin/pytest', true],
  ['npm test -- a', 'npm test', false],
])('%s and %s are the same work: %s', (one, other, isSame) => {
  expect(workOf(words(one), SCRIPTS) === workOf(words(other), SCRIPTS)).toBe(isSame)
})

test('a script that is not there is no work of the project', () => {
  expect(workOf(['npm', 'test'], {})).toBe('npm test')
  expect(asScript(['npx', 'tap'], { ready: 'npm test' }, 'npm')).toEqual(['npx', 'tap'])
  expect(asScript(['npm', 'run', 'constructor'], {}, 'npm')).toEqual(['npm', 'run', 'constructor'])
})

test('scripts that call each other end', () => {
  expect(workOf(['npm', 'run', 'a'], { a: 'npm run b', b: 'npm run a' })).toMatch(/^npm run /)
})

test.each([
  ['eslint lib/* bin/*', true],
  ['eslint ./lib/**/*.js', true],
  ['eslint lib/* index.js', false],
  ['eslint ./src/', false],
  ['eslint "src/**/*.ts"', false],
  ['eslint src/*.ts', true],
  ['eslint {src,lib}/**/*.ts', false],
  ['eslint .', false],
  ['golangci-lint run ./...', false],
])('does %s read no file: %s', (line, isEmpty) => {
  const paths = ['index.js', 'src/a/b.ts']
  expect(readsNoFile(['npm', 'run', 'own'], { own: line }, paths)).toBe(isEmpty)
})
