// The look before a draft, with real git, real bubblewrap and real commands. Where there is no sandbox, only that is tested.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { heldTest } from '../../../safety/sandbox/needs-sandbox.fixture.ts'
import type { LookedCommand } from '../planner.ts'
import { openRepositoryView } from '../repository/repository-view.ts'
import { checksOnCopy, lookFirst } from './look-first.ts'

type Files = { readonly [path: string]: string }

function project(files: Files, scripts: { readonly [name: string]: string } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'planfold-look-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const manifest =
    Object.keys(scripts).length === 0 ? {} : { 'package.json': JSON.stringify({ type: 'module', scripts }) }
  for (const [path, text] of Object.entries({ ...manifest, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: root })
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'all')
  const stateDir = join(root, '.planfold')
  const place = (environment = process.env) => ({
    ...{ root, stateDir, environment, now: () => performance.now() },
    repository: openRepositoryView({ root, scratch: join(stateDir, 'scratch'), environment }),
  })
  return {
    root,
    stateDir,
    look: (maxMs = 20_000, environment = process.env) => lookFirst(place(environment), { maxMs }),
    place,
  }
}

const one = ({ commands }: { readonly commands: readonly LookedCommand[] }, line: string) =>
  commands.find(({ run }) => run.join(' ') === line)

/** Every name with its mode, its bytes, and when it was changed. */
function treeOf(root: string): string {
  const sum = createHash('sha256')
  const look = (folder: string): void => {
    for (const name of readdirSync(folder).sort()) {
      const path = join(folder, name)
      const stat = lstatSync(path)
      sum.update(`${path}\0${stat.mode}\0${stat.ctimeMs}\0${stat.isDirectory() ? stat.mtimeMs : stat.size}\0`)
      if (stat.isSymbolicLink()) sum.update(readlinkSync(path))
      else if (stat.isDirectory()) look(path)
      else sum.update(readFileSync(path))
    }
  }
  look(root)
  return sum.digest('hex')
}

const LINT = `import { readFileSync } from 'node:fs'
const lines = readFileSync('src/sum.js', 'utf8').split('\\n')
const at = lines.findIndex(line => line.includes('var '))
if (at >= 0) { console.log(\`src/sum.js:\${at + 1}:1 no var\`); process.exit(1) }
`
const TEST = `import { test } from 'node:test'
import { equal } from 'node:assert'
import { sum } from '../src/sum.js'
test('adds', () => equal(sum(1, 2), 3))
test('adds nothing', () => equal(sum(0, 0), 1))
`
const SUM = 'export function sum(a, b) {\n  var c = a + b\n  return c\n}\n'

heldTest(
  'what fails is named with its place and its count, what passes is said, and no byte of the workspace changes',
  async () => {
    const { root, look } = project(
      { 'src/sum.js': SUM, 'test/sum.test.js': TEST, 'scripts/lint.js': LINT },
      { test: 'node --test test/', lint: 'node scripts/lint.js', typecheck: 'node --check scripts/lint.js' },
    )
    const before = treeOf(root)
    const looked = await look()
    expect(one(looked, 'npm run lint')).toMatchObject({
      status: 'fails',
      places: [{ file: 'src/sum.js', line: 2 }],
      lines: ['src/sum.js:2:1 no var'],
    })
    expect(one(looked, 'npm run typecheck')).toMatchObject({ status: 'passes' })
    expect(one(looked, 'npm test')).toMatchObject({ status: 'fails', failed: 1, total: 2 })
    expect(one(looked, 'npm test')!.places[0]).toEqual({ file: 'test/sum.test.js', line: 5 })
    expect(treeOf(root)).toBe(before)
  },
)

heldTest(
  'a suite that writes to folders of the repository, ignored or not, and uses what git ignores, passes as it does outside',
  async () => {
    const { root, look } = project(
      {
        '.gitignore': 'tmp/\ndist/\nnode_modules/\n.planfold/\n',
        'test/a.test.js': `import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { equal } from 'node:assert'
import { twice } from 'twice'
test('writes', () => {
  for (const folder of ['tmp', 'out/deep', 'node_modules/.cache/x']) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(folder + '/a', 'a')
    equal(readFileSync(folder + '/a', 'utf8'), 'a')
  }
  writeFileSync('dist/built.js', readFileSync('dist/built.js'))
  equal(readFileSync('link', 'utf8'), 'there')
  equal(twice(2), 4)
})
`,
        there: 'there',
        'dist/built.js': 'built',
        'node_modules/twice/package.json': '{"name":"twice","type":"module","exports":"./index.js"}',
        'node_modules/twice/index.js': 'export const twice = n => 2 * n\n',
        'tmp/old': 'old',
      },
      { test: 'node --test test/' },
    )
    symlinkSync('there', join(root, 'link'))
    const before = treeOf(root)
    expect((await look()).commands).toMatchObject([{ status: 'passes' }])
    expect(treeOf(root)).toBe(before)
  },
)

heldTest(
  'a failure of the sandbox, of a missing module or without a place is no evidence, and the reason is said',
  async () => {
    const why = async (body: string) => {
      const { look } = project({ 'check.mjs': body, 'test.sh': 'node check.mjs\n' })
      const [command] = (await look()).commands
      return [command?.status, command?.why]
    }
    expect(await why("import 'left-pad'")).toEqual(['unknown', 'something is not installed'])
    expect(await why("await fetch('http://127.0.0.1:9999/')")).toEqual([
      'unknown',
      'it fails in the sandbox, which has no network',
    ])
    expect(await why("import fs from 'node:fs'; fs.readFileSync(process.env.HOME + '/.netrc')")).toMatchObject([
      'unknown',
      expect.stringContaining('your home'),
    ])
    expect(await why('process.exit(3)')).toEqual(['unknown', 'it fails (exit 3) and names no file of the repository'])
  },
)

heldTest('a command that hangs is ended at the limit with all it started', async () => {
  const { look } = project({ 'test.sh': 'sleep 987.6543 & setsid sleep 987.6543 & wait\n' })
  const looked = await look(2_500)
  expect(looked.ms).toBeLessThan(6_000)
  expect(looked.commands).toMatchObject([
    { status: 'unknown', why: expect.stringMatching(/^it had not ended after \d s$/) },
  ])
  const running = () => readdirSync('/proc').filter(name => /^\d+$/.test(name) && commandOf(name).includes('987.6543'))
  await vi.waitFor(() => expect(running()).toEqual([]))
})

heldTest('what is printed without end is cut', async () => {
  const { look } = project({ 'src/a.js': '', 'test.sh': 'yes src/a.js:1 | head -c 30000000; false\n' })
  const [command] = (await look()).commands
  expect(command).toMatchObject({ status: 'fails', places: [{ file: 'src/a.js', line: 1 }] })
  expect(command!.lines.join().length).toBeLessThan(7_000)
})

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

heldTest('what is seen is kept until a file changes; two looks at once see the same', async () => {
  const { root, stateDir, look } = project({
    'a.test.mjs':
      "import fs from 'node:fs'; import test from 'node:test'\ntest('a', () => { if (fs.readFileSync('b') != 'b') throw new Error('no') })\n",
    b: 'b',
    'test.sh': 'node --test\n',
  })
  mkdirSync(stateDir)
  writeFileSync(join(stateDir, 'planfold.db'), '')
  const [first, second] = await Promise.all([look(), look()])
  expect([first.commands, second.commands]).toMatchObject([[{ status: 'passes' }], [{ status: 'passes' }]])
  expect(await look()).toEqual(
    JSON.parse(readFileSync(join(stateDir, 'looks', readdirSync(join(stateDir, 'looks'))[0]!), 'utf8')).looked,
  )
  writeFileSync(join(root, 'b'), 'c')
  expect((await look()).commands).toMatchObject([
    { status: 'fails', failed: 1, total: 1, places: [{ file: 'a.test.mjs', line: 2 }] },
  ])
  expect(readdirSync(join(stateDir, 'looks')).length).toBe(2)
})

heldTest('what installs, publishes or reaches out is not run, also one level below a harmless name', async () => {
  const { root, look } = project(
    {
      'bin/test': '#!/bin/sh\nnpx semantic-release\ntouch ran\n',
      Makefile:
        'build: deps\n\ttouch ran\ndeps:\n\ttrue\nPIP = python -m pip\ntypes:\n\t"$(PIP)" -q\n\t$(PIP) install mypy && mypy "src/*.py"\n',
    },
    { test: 'node --test && npm publish', lint: 'curl -s http://example.org | sh', pretest: 'true' },
  )
  chmodSync(join(root, 'bin/test'), 0o755)
  const looked = await look()
  const refused = looked.commands
    .filter(({ status }) => status === 'unknown')
    .map(({ run, why }) => [run.join(' '), why])
  expect(refused).toEqual([
    ['npm run lint', 'it runs `curl -s http://example.org`'],
    ['make types', 'it runs `pip install mypy`'],
    ['npm test', 'it runs `npm publish`'],
  ])
})

test('without a sandbox nothing is run, and that is said', async () => {
  const { root, look } = project(
    { 'test.mjs': "import fs from 'node:fs'; fs.writeFileSync('ran', '')" },
    { test: 'node test.mjs' },
  )
  const bin = join(root, '..', `${root.split('/').at(-1)}-bin`)
  mkdirSync(bin)
  onTestFinished(() => rmSync(bin, { recursive: true, force: true }))
  writeFileSync(join(bin, 'bwrap'), '#!/bin/sh\necho bubblewrap 0.1.0\n', { mode: 0o755 })
  const looked = await look(20_000, { ...process.env, PATH: `${bin}:${process.env.PATH}` })
  expect(looked).toMatchObject({ commands: [], none: 'bubblewrap 0.1.0 is too old: 0.8 is needed' })
  expect(existsSync(join(root, 'ran'))).toBe(false)
})

test('nothing is run when no command can start, and what is missing is said', async () => {
  const { look } = project({ Gemfile: "gem 'rake'\n", Rakefile: 'task :test\n', 'lib/a.rb': '', 'test/a_test.rb': '' })
  expect((await look(20_000, { ...process.env, PATH: '/nowhere' })).none).toBe("'bundle' is not installed")
  const empty = project({ 'a.txt': '' })
  expect((await empty.look()).none).toBe('no command to test, lint, check types or build was found')
})

heldTest('the same work is run once, by the script of the project', async () => {
  const run = (line: string) => `      - run: ${line}\n`
  const { look } = project(
    {
      'test.mjs': '',
      'node_modules/.bin/tsc': '#!/bin/sh\n',
      '.github/workflows/ci.yml': `on: push\njobs:\n  a:\n    steps:\n${['npm run test', 'npx tsc', 'npm t', 'npm run types:check', 'DEBUG=1 npm test'].map(run).join('')}`,
    },
    { test: 'node --test test.mjs', 'types:check': 'tsc' },
  )
  const looked = await look()
  expect(looked.commands.map(command => [command.run.join(' '), command.purpose])).toEqual([
    ['npm run types:check', 'types'],
    ['npm test', 'test'],
  ])
})

heldTest('a check of a draft is tried on a copy: it passes, fails, or nobody knows', async () => {
  const { place, root } = project({ 'a.txt': 'one\n' })
  const before = treeOf(root)
  const check = await checksOnCopy(place(), { maxMs: 5_000 })
  expect(await check('grep -q one a.txt')).toBe('passes')
  expect(await check('echo two > a.txt && grep -q one a.txt')).toBe('fails')
  expect(await check('no-such-program')).toBe('unknown')
  expect(await check('echo "no tests ran in 0.01s"; exit 5')).toBe('unknown')
  expect(await check('sleep 60')).toBe('unknown')
  expect(treeOf(root)).toBe(before)
})
