// Goals about commands: which commands they mean, which files may be changed for them, and the stages of a rollout.

import { expect, test } from 'vitest'
import { rolloutSteps } from './command-steps.ts'
import { findToolchain, type Toolchain } from './found-commands.ts'
import { readGoal } from './goal.ts'
import type { JudgedGoal } from './goal-kind.ts'
import { commandLine, commandScope, namedCommands } from './toolchain/named-commands.ts'

const WORKFLOW = `
on: push
jobs:
  quality:
    steps: [{ run: npm ci }, { run: npm run lint }, { run: npx tsc --noEmit }]
  unit: { steps: [{ run: npm run test }, { run: npm run build, working-directory: web }] }
`
const FILES: { readonly [path: string]: string } = {
  '.github/workflows/ci.yml': WORKFLOW,
  'package.json': '{ "scripts": { "test": "node --test", "lint": "node scripts/lint.mjs", "deploy": "./ship.sh" } }',
  'scripts/lint.mjs': '',
  'scripts/seed.mjs': '',
  'eslint.config.js': '',
  'index.js': '',
  'src/a.js': '',
  'src/deep/b.ts': '',
  'src/tsconfig.json': '',
  'test/a.test.js': '',
  'tools/x.py': '',
}

const toolchain = async (files = FILES): Promise<Toolchain> =>
  await findToolchain({
    files: async () => Object.keys(files).map(path => ({ path, bytes: 1 })),
    read: async paths => paths.map(path => files[path] ?? null),
    history: async () => [],
    findProgram: async name => name,
    pythonPackages: async () => null,
    changedAt: async paths => paths.map(() => 0),
    state: async () => null,
  })

test.each([
  ['the lint job fails', ['npm run lint']],
  ['fix the lint errors', ['npm run lint']],
  ['the lint job fails in CI', ['npm run lint']],
  ['the quality job is red', ['npm run lint', 'npx tsc --noEmit']],
  ['fix the type errors', ['npx tsc --noEmit']],
  ['tsc complains', ['npx tsc --noEmit']],
  ['the build is broken', ['(cd web && npm run build)']],
  ['CI is red', ['npm run lint', 'npx tsc --noEmit', 'npm test', '(cd web && npm run build)']],
  ['make the pipeline green', ['npm run lint', 'npx tsc --noEmit', 'npm test', '(cd web && npm run build)']],
])('%s means %j', async (goal, lines) => {
  const { commands } = await toolchain()
  expect(namedCommands(readGoal(goal), commands).map(commandLine)).toEqual(lines)
})

test('without CI files a goal about the CI means what the project calls test, lint and build', async () => {
  const { commands } = await toolchain({ 'package.json': FILES['package.json']! })
  expect(namedCommands(readGoal('CI is red'), commands).map(commandLine)).toEqual(['npm run lint', 'npm test'])
})

test('sources and tests of the language may be written; the linter, settings and other languages not', async () => {
  const { commands, languages, tools } = await toolchain()
  const scope = (goal: string) =>
    commandScope({
      commands: namedCommands(readGoal(goal), commands),
      languages,
      paths: Object.keys(FILES),
      not: tools,
    })
  expect(scope('fix the lint errors')).toEqual([
    'src/**/*.js',
    'src/**/*.ts',
    'test/**/*.js',
    'scripts/seed.mjs',
    'index.js',
  ])
})

test('beside a file that is left alone its neighbours are named, and other folders are whole', () => {
  const paths = ['src/a.ts', 'src/b/c.ts', 'src/b/vite.config.ts', 'src/b/deep/d.ts', 'src/e/f.ts']
  const commands = [{ run: ['npx', 'tsc', '--noEmit'], from: 'package.json', exists: true }]
  expect(commandScope({ commands, languages: ['TypeScript'], paths, not: [] })).toEqual([
    'src/b/deep/**/*.ts',
    'src/e/**/*.ts',
    'src/a.ts',
    'src/b/c.ts',
  ])
})

const stages = async (text: string) => {
  const goal = readGoal(text)
  const judged: JudgedGoal = { ...({ kind: 'rollout', irreversible: [], constraints: [] } as unknown as JudgedGoal) }
  return rolloutSteps({ goal, judged, toolchain: await toolchain(), ends: [], texts: new Map() })
}

test('a rollout has the stages and the measure of the goal, an approval before each, and a way back', async () => {
  const steps = await stages('Deploy with a canary at 5 % and compare error rates')
  expect(steps.map(({ id, approval }) => [id, approval?.rejected ?? approval?.title ?? null])).toEqual([
    ['prepare', null],
    ['canary', 'May it be deployed to 5 %?'],
    ['compare', null],
    ['rollout', 'take-back'],
    ['watch', null],
    ['take-back', null],
  ])
  const [prepare, canary, compare] = steps
  expect(prepare!.instruction).toContain('npm run deploy')
  expect(canary!.approval!.why).toContain("'Deploy with a canary at 5 % and compare error rates'")
  expect(compare!.instruction).toContain('compare error rates')
})

test('several stages, and limits of a measure that are none', async () => {
  const titles = (await stages('Roll out in stages: 1%, 25 % then 100 %, and watch that errors stay below 2 %')).map(
    ({ title }) => title,
  )
  expect(titles.filter(title => title.startsWith('Deploy'))).toEqual([
    'Deploy to 1 %',
    'Deploy to 25 %',
    'Deploy to everybody',
  ])
})
