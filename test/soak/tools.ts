// Real tools in the sandbox, in the mode that a user gets by default: vite, tsc after `rm -rf`, webpack, rimraf, vitest and `npm ci`. Installs them
// from the registry, so it is no part of the tests. Each plan is run twice, first in new folders and then in existing ones: one task after the other,
// and three at once. Needs a build; ends with 1 when anything failed.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const MAIN = resolve(import.meta.dirname, '../../dist/cli/main.js')
const PACKAGES = ['vite', 'vitest', 'typescript', 'webpack', 'webpack-cli', 'rimraf']
const root = mkdtempSync(join(process.getuid?.() === 0 ? '/srv' : homedir(), 'planfold-tools-'))
const { PLANFOLD_SANDBOX: _, ...environment } = process.env

interface Tool {
  readonly id: string
  readonly run: string
  readonly write: string
  /** What must be there afterwards. */
  readonly makes: string
  readonly cwd?: string
}

const TOOLS: readonly Tool[] = [
  {
    id: 'vite',
    run: 'npx vite build --outDir out/vite --emptyOutDir',
    write: 'out/vite/**',
    makes: 'out/vite/index.html',
  },
  { id: 'tsc', run: 'rm -rf out-tsc && npx tsc --outDir out-tsc', write: 'out-tsc/**', makes: 'out-tsc/main.js' },
  {
    id: 'webpack',
    run: 'npx webpack --mode production --entry ./src/plain.js --output-path ./out-webpack --output-clean',
    write: 'out-webpack/**',
    makes: 'out-webpack/main.js',
  },
  {
    id: 'rimraf',
    run: 'npx rimraf out/rimraf && mkdir out/rimraf && echo made > out/rimraf/f',
    write: 'out/rimraf',
    makes: 'out/rimraf/f',
  },
  {
    id: 'vitest',
    run: 'npx vitest run --reporter=json --outputFile=out-vitest/report.json',
    write: 'out-vitest/',
    makes: 'out-vitest/report.json',
  },
  {
    id: 'ci',
    run: 'npm ci --no-audit --no-fund',
    cwd: 'app',
    write: 'app/node_modules/**',
    makes: 'app/node_modules/rimraf/package.json',
  },
]

let failures = 0
try {
  prepare()
  for (const concurrency of [1, 3]) {
    for (const { write } of TOOLS)
      rmSync(join(root, write.replace(/\/?(\*\*)?$/, '')), { recursive: true, force: true })
    rmSync(join(root, 'out'), { recursive: true, force: true })
    put(`tools-${concurrency}.yaml`, planOf(concurrency))
    for (const folders of ['new', 'existing']) tryPlan(concurrency, folders)
  }
} finally {
  rmSync(root, { recursive: true, force: true })
}
process.exitCode = failures === 0 ? 0 : 1

function prepare(): void {
  put('package.json', '{ "name": "tools", "version": "1.0.0", "type": "module" }')
  shell('npm', 'install', '--silent', '--no-audit', '--no-fund', ...PACKAGES)
  put('app/package.json', '{ "name": "app", "version": "1.0.0" }')
  shell('npm', 'install', '--silent', '--no-audit', '--no-fund', '--package-lock-only', '--prefix', 'app', 'rimraf')
  put('index.html', '<script type="module" src="/src/main.ts"></script>')
  put('src/main.ts', 'export const answer: number = 42\nconsole.log(answer)\n')
  put('src/plain.js', 'console.log(42)\n')
  put(
    'src/main.test.ts',
    "import { expect, test } from 'vitest'\nimport { answer } from './main.ts'\ntest('it', () => expect(answer).toBe(42))\n",
  )
  put('vite.config.ts', 'export default {}\n')
  put(
    'tsconfig.json',
    '{ "compilerOptions": { "rootDir": "src", "module": "esnext", "moduleResolution": "bundler", "skipLibCheck": true, "types": [] }, "files": ["src/main.ts"] }',
  )
}

function planOf(concurrency: number): string {
  const tasks = TOOLS.map(
    ({ id, run, write, cwd }) =>
      `  - { id: ${id}, run: "${run}", write: ["${write}"]${cwd === undefined ? '' : `, cwd: ${cwd}`} }\n`,
  )
  return `planfold: 1\nname: tools-${concurrency}\nconcurrency: ${concurrency}\npolicy: { on_failure: keep }\ntasks:\n${tasks.join('')}`
}

function tryPlan(concurrency: number, folders: string): void {
  const began = performance.now()
  const { status, stdout, stderr } = planfold('run', `tools-${concurrency}.yaml`, '--again')
  const missing = TOOLS.filter(({ makes }) => !existsSync(join(root, makes))).map(({ id }) => id)
  const strays = `${stdout}${stderr}`.split('\n').filter(line => /appeared while|changed while/.test(line))
  const isWell = status === 0 && missing.length === 0 && strays.length === 0
  const seconds = Math.round((performance.now() - began) / 1_000)
  console.log(
    `${isWell ? 'well' : 'FAILED'}: ${TOOLS.length} tools, ${concurrency} at once, ${folders} folders, ${seconds} s`,
  )
  if (isWell) return
  failures++
  console.log(`exit ${status}; missing: ${missing.join(', ')}\n${stdout}${stderr}`)
  for (const { id } of TOOLS.filter(tool => stdout.includes(`${tool.id} failed`)))
    console.log(planfold('log', `tools-${concurrency}`, id, '--output').stdout)
}

function planfold(...argv: readonly string[]) {
  return spawnSync(process.execPath, [MAIN, ...argv], { cwd: root, encoding: 'utf8', env: environment })
}

function shell(program: string, ...argv: readonly string[]): void {
  const { status, stderr } = spawnSync(program, argv, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${argv.join(' ')} ended with ${status}: ${stderr}`)
}

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}
