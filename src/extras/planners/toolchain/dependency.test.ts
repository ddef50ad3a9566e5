// A dependency that a goal names: found in manifests and lock files, updated with the project's package manager, and checked.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readGoal } from '../goal.ts'
import { namedDependency, updateCommand, updated } from './dependency.ts'

const found = (goal: string, files: { readonly [path: string]: string }) =>
  namedDependency({ goal: readGoal(goal), texts: new Map(Object.entries(files)) })

const toml = (name: string, version: string) => `[[package]]\nname = "${name}"\nversion = "${version}"\n`
const NPM = {
  'package.json': '{ "dependencies": { "lodash": "^4.17.15", "mkdirp": "^0.5.1" } }',
  'package-lock.json':
    '    "node_modules/lodash": {\n      "version": "4.17.15",\n    "node_modules/mkdirp/node_modules/minimist": {\n      "version": "0.0.8",\n',
}

test.each([
  ['npm audit says lodash is vulnerable', NPM, 'lodash', null, ['4.17.15'], '`npm install lodash@latest`'],
  [
    'lodash has a known vulnerability, upgrade it to 4.17.21.',
    NPM,
    'lodash',
    '4.17.21',
    ['4.17.15'],
    '`npm install lodash@4.17.21`',
  ],
  ['Upgrade lodash from 4.17.15 to 4.17.21', NPM, 'lodash', '4.17.21', ['4.17.15'], '`npm install lodash@4.17.21`'],
  ['lodash 4.17.15 is vulnerable', NPM, 'lodash', null, ['4.17.15'], '`npm install lodash@latest`'],
  ['npm audit says minimist is vulnerable', NPM, 'minimist', null, ['0.0.8'], '`npm update minimist`, or'],
  [
    'upgrade requests to 2.32.0',
    { 'requirements.txt': 'flask==2.0\nrequests==2.19.1\n' },
    'requests',
    '2.32.0',
    ['2.19.1'],
    'requests 2.32.0 in the manifest',
  ],
  [
    'pip-audit complains about jinja2',
    { 'pyproject.toml': '[project]\ndependencies = ["Jinja2>=3.0"]\n', 'uv.lock': toml('Jinja2', '3.1.2') },
    'Jinja2',
    null,
    ['3.1.2'],
    "`uv add 'Jinja2' --upgrade-package Jinja2`",
  ],
  [
    'cargo audit: bump time to 0.3.36',
    { 'Cargo.toml': '[package]\nname = "x"\n[dependencies]\ntime = "0.3"\n', 'Cargo.lock': toml('time', '0.3.20') },
    'time',
    '0.3.36',
    ['0.3.20'],
    '`cargo update -p time --precise 0.3.36`',
  ],
  [
    'govulncheck: upgrade net to v0.23.0',
    { 'go.mod': 'module x\nrequire (\n\tgolang.org/x/net v0.17.0\n)\n' },
    'golang.org/x/net',
    '0.23.0',
    ['0.17.0'],
    '`go get golang.org/x/net@v0.23.0 && go mod tidy`',
  ],
  [
    'Bump rack to 2.2.9',
    { Gemfile: "gem 'rails'\n", 'Gemfile.lock': '    rack (2.2.3)\n    rails (7.0.1)\n      rack (>= 2)\n' },
    'rack',
    '2.2.9',
    ['2.2.3'],
    '`bundle update rack --conservative`',
  ],
  [
    'update left-pad to 1.3.0',
    { 'package.json': '{"dependencies":{"left-pad":"1.1.0"}}', 'yarn.lock': 'left-pad@1.1.0:\n  version "1.1.0"\n' },
    'left-pad',
    '1.3.0',
    ['1.1.0'],
    '`yarn add left-pad@1.3.0`',
  ],
  ['Bump the timeout from 5 to 10 seconds', NPM, null, null, [], ''],
] as const)('%s', (goal, files, name, version, current, command) => {
  const one = found(goal, files)
  expect(one === null ? null : one.name).toBe(name)
  if (one === null) return
  expect([one.version, one.current]).toEqual([version, current])
  expect(updateCommand(one)).toContain(command)
})

test.each([
  ['package-lock.json', NPM, 'lodash has a known vulnerability, upgrade it to 4.17.21', /4\.17\.15/g, '4.17.21'],
  [
    'Cargo.lock',
    { 'Cargo.toml': '[dependencies]\ntime = "0.3"\n', 'Cargo.lock': toml('time', '0.3.20') },
    'cargo audit: time is vulnerable',
    /0\.3\.20/g,
    '0.3.36',
  ],
  [
    'requirements.txt',
    { 'requirements.txt': 'requests==2.19.1\n' },
    'upgrade requests to 2.32.0',
    /2\.19\.1/g,
    '2.32.0',
  ],
] as const)(
  'the checks of %s fail before and hold after the update, and a removed file does not pass',
  (path, files, goal, old, next) => {
    const one = found(goal, files)!
    const folder = mkdtempSync(join(tmpdir(), 'dependency-'))
    const holds = (texts: { readonly [path: string]: string }): boolean => {
      for (const [file, text] of Object.entries(texts)) writeFileSync(join(folder, file), text)
      return updated(one, files[one.manifest as keyof typeof files] ?? '').every(({ script }) => {
        try {
          execFileSync('sh', ['-euc', script], { cwd: folder, stdio: 'ignore' })
          return true
        } catch {
          return false
        }
      })
    }
    try {
      const after = Object.fromEntries(Object.entries(files).map(([file, text]) => [file, text.replace(old, next)]))
      expect([holds(files), holds(after), holds({ ...after, [path]: '' })]).toEqual([false, true, false])
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
)
