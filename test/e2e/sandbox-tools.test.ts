// Tools that people build with, in the sandbox, twice in a row: what works without one works in it, in new and in existing folders. With the
// view of an own task, and with that of everything else.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'
import type { SandboxRequest } from '../../src/safety/sandbox/sandbox.ts'
import { spawnBoxed } from '../../src/safety/sandbox/sandboxed-process.ts'

const MODULES = realpathSync(resolve(import.meta.dirname, '../../node_modules'))
const PATH = `${dirname(process.execPath)}:/usr/bin:/bin`
const standing = await bubblewrap({ environment: { PATH, HOME: '/nonexistent' }, outside: [] }).check()
if (!standing.ok) console.log(`skipped: ${standing.failure.message}`)

/** A project whose node_modules is a folder of its own that names the packages of this one. */
function setup() {
  const parent = process.getuid?.() === 0 ? '/srv' : homedir()
  const base = realpathSync(mkdtempSync(join(parent, 'planfold-tools-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const root = join(base, 'work')
  for (const folder of ['work/src', 'home', 'work/node_modules']) mkdirSync(join(base, folder), { recursive: true })
  for (const name of readdirSync(MODULES).filter(name => !name.startsWith('.')))
    symlinkSync(join(MODULES, name), join(root, 'node_modules', name))
  const write = (path: string, text: string) => writeFileSync(join(root, path), text)
  write('package.json', '{ "type": "module" }')
  write('index.html', '<script type="module" src="/src/main.ts"></script>')
  write('src/main.ts', 'export const answer: number = 42\nconsole.log(answer)\n')
  write(
    'src/main.test.ts',
    "import { expect, test } from 'vitest'\nimport { answer } from './main.ts'\ntest('it', () => expect(answer).toBe(42))\n",
  )
  write('vite.config.ts', 'export default { build: { emptyOutDir: true } }\n')
  write(
    'tsconfig.json',
    '{ "compilerOptions": { "outDir": "dist", "rootDir": "src", "module": "esnext", "skipLibCheck": true, "types": [] }, "files": ["src/main.ts"] }',
  )
  const run = async (who: 'own' | 'other', script: string, scope: readonly string[], meanwhile?: () => void) => {
    const env = { PATH, HOME: join(base, 'home') }
    const request: SandboxRequest = {
      ...{ root, cwd: root, stateDir: join(root, '.planfold'), write: scope, network: 'none', env },
      ...{ argv: ['/bin/sh', '-euc', script], readable: [MODULES] },
      ...(who === 'own' ? { own: { show: [], caches: join(base, 'caches') } } : {}),
    }
    const wrapped = await bubblewrap({ environment: env, outside: [] }).wrap(request)
    if (!wrapped.ok) throw new Error(wrapped.failure.message)
    meanwhile?.()
    const { child, exited } = spawnBoxed(wrapped.value, { stdin: 'ignore' })
    let out = ''
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', chunk => {
        out += String(chunk)
      })
    const closed = new Promise(done => child.once('close', done))
    const { exit } = await exited
    await closed
    wrapped.value.release()
    return { exit, out: exit === 0 ? '' : out, beyond: await wrapped.value.lookAfter() }
  }
  return { root, run }
}

const WELL = { exit: 0, out: '', beyond: { appeared: [], changed: [] } }
const REMOVE_AND_COMPILE = 'rm -rf dist && node node_modules/typescript/bin/tsc'
const RIMRAF = `node -e "const fs = require('fs'); fs.rmSync('dist', { recursive: true, force: true }); fs.mkdirSync('dist.new'); fs.writeFileSync('dist.new/a', ''); fs.renameSync('dist.new', 'dist')"`

describe.skipIf(!standing.ok)('twice in a row', () => {
  test.each([
    ['own', 'vite build', 'node node_modules/vite/bin/vite.js build', ['dist/**']],
    ['other', 'vite build', 'node node_modules/vite/bin/vite.js build', ['dist/**']],
    ['own', 'vitest run', 'node node_modules/vitest/vitest.mjs run', ['dist/**']],
    ['other', 'vitest run, as a check', 'node node_modules/vitest/vitest.mjs run', []],
    ['own', 'rm -rf and tsc', REMOVE_AND_COMPILE, ['dist/**']],
    ['other', 'tsc', 'node node_modules/typescript/bin/tsc', ['dist/**']],
    ['own', 'removing, and renaming a new folder over it', RIMRAF, ['dist/**', 'dist.new/**']],
  ] as const)(
    '%s: %s',
    async (who, _, script, scope) => {
      const { root, run } = setup()
      for (let times = 0; times < 2; times++) expect(await run(who, script, scope)).toEqual(WELL)
      expect(existsSync(join(root, 'dist'))).toBe(!script.includes('vitest.mjs'))
      expect(readdirSync(join(root, 'node_modules')).filter(name => /^\.(cache|vite)/.test(name))).toEqual([])
    },
    120_000,
  )
})

test.skipIf(!standing.ok)(
  'a name beside the scope that is removed while the command starts does not keep it from running',
  async () => {
    const { root, run } = setup()
    for (const folder of ['site', 'dist']) mkdirSync(join(root, folder))
    const remove = () => {
      rmSync(join(root, 'site'), { recursive: true })
      rmSync(join(root, 'index.html'))
    }
    expect(await run('own', 'echo made > dist/f', ['dist/**'], remove)).toEqual({
      ...{ exit: 0, out: '' },
      beyond: { appeared: [], changed: ['index.html', 'site'] },
    })
  },
)

test.skipIf(!standing.ok)(
  'npm ci replaces node_modules, twice, and keeps its cache',
  async () => {
    const { root, run } = setup()
    mkdirSync(join(root, 'own-package'))
    writeFileSync(join(root, 'own-package/package.json'), '{ "name": "own-package", "version": "1.0.0" }')
    const dependencies = { 'own-package': 'file:own-package' }
    writeFileSync(join(root, 'package.json'), JSON.stringify({ name: 'x', version: '1.0.0', dependencies }))
    const packages = {
      '': { name: 'x', version: '1.0.0', dependencies },
      'node_modules/own-package': { resolved: 'own-package', link: true },
      'own-package': { version: '1.0.0' },
    }
    writeFileSync(
      join(root, 'package-lock.json'),
      JSON.stringify({ name: 'x', version: '1.0.0', lockfileVersion: 3, packages }),
    )
    for (let times = 0; times < 2; times++)
      expect(await run('own', 'npm ci --offline --no-audit', ['node_modules/**'])).toEqual(WELL)
    expect(readdirSync(join(root, 'node_modules')).filter(name => !name.startsWith('.'))).toEqual(['own-package'])
    expect(existsSync(join(dirname(root), 'caches/npm'))).toBe(true)
  },
  120_000,
)
