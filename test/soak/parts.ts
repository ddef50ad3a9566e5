// What a soak is made of: for each part, the commands to run one after the other, and what they amount to. A command is
// small enough to end in minutes and has a seed of its own, so that what failed can be seen again by itself.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Command {
  readonly env: Readonly<Record<string, string>>
  readonly argv: readonly [string, ...string[]]
}

export interface Part {
  readonly name: string
  /** What was done when all commands have ended. */
  readonly does: string
  readonly commands: readonly Command[]
}

export const NAMES = [
  'trees',
  'edits',
  'collections',
  'kills',
  'simulator',
  'spenders',
  'goals',
  'troubles',
  'fuzz',
  'properties',
  'beside',
  'siblings',
  'tools',
] as const

const TREES = 20_000
const TREES_AT_ONCE = 500
const EDITS = 1_000
const EDITS_AT_ONCE = 50
const COLLECTIONS = 5_000
const COLLECTIONS_AT_ONCE = 1_000
const SEEDS = 20_000
const SEEDS_AT_ONCE = 1_000
/** So many of the seeds are run twice, and must leave the same trace. */
const SEEDS_TWICE = 500
/** So many are replayed. */
const SEEDS_REPLAYED = 1_000
const SPENDERS = 1_000
const RUNS = 2_000
const RANDOM_KILLS = 3_000
const TROUBLES = 100_000
const TROUBLES_AT_ONCE = 10_000
const INPUTS = 200_000
const INPUTS_AT_ONCE = 20_000
const ROUNDS = 500
const ROUNDS_AT_ONCE = 50
const SIBLINGS = 50

const BUILD: Command = { env: {}, argv: ['npm', 'run', '--silent', 'build'] }

/** A scale of 1 is the whole soak. The first of the commands of a part has `seed`, each further one the next number. */
export function partsOf(root: string, scale: number, seed: number): readonly Part[] {
  const trees = chunks(TREES * scale, TREES_AT_ONCE)
  const edits = chunks(EDITS * scale, EDITS_AT_ONCE)
  const collections = chunks(COLLECTIONS * scale, COLLECTIONS_AT_ONCE)
  const seeds = chunks(SEEDS * scale, SEEDS_AT_ONCE)
  const troubles = chunks(TROUBLES * scale, TROUBLES_AT_ONCE)
  const inputs = chunks(INPUTS * scale, INPUTS_AT_ONCE)
  const rounds = chunks(ROUNDS * scale, ROUNDS_AT_ONCE)
  const siblings = Math.max(1, Math.round(SIBLINGS * scale))
  const runs = Math.max(1, Math.round(RUNS * scale))
  const spenders = Math.max(1, Math.round(SPENDERS * scale))
  const all: Readonly<Record<string, string>> = scale < 1 ? {} : { PLANFOLD_CRASH: 'all' }
  return [
    {
      name: 'trees',
      does: `${sum(trees)} trees of every kind, rolled back and judged by the shell`,
      commands: trees.map((count, at) => ({
        env: { PLANFOLD_TREES: String(count), PLANFOLD_SEED: String(seed + at) },
        argv: vitest('unit:*', ...testsNaming(root, 'PLANFOLD_TREES')),
      })),
    },
    {
      name: 'edits',
      does: `${sum(edits)} rounds of people who edit while files are captured and rolled back`,
      commands: edits.map(count => ({
        env: { PLANFOLD_EDITS: String(count) },
        argv: vitest('unit:*', ...testsNaming(root, 'PLANFOLD_EDITS')),
      })),
    },
    {
      name: 'collections',
      does: `${sum(collections)} collections that meet a capture`,
      commands: collections.map(count => ({
        env: { PLANFOLD_COLLECTIONS: String(count) },
        argv: vitest('unit:*', 'src/stores/blobs/blobs.test.ts'),
      })),
    },
    {
      name: 'kills',
      does: scale < 1 ? 'a sample of all kills, as in the tests' : 'every kill point, at every commit and system call',
      commands: [
        BUILD,
        { env: all, argv: vitest('crash') },
        { env: {}, argv: npm('kill-loop', '--seed', String(seed), '--kills', String(Math.ceil(RANDOM_KILLS * scale))) },
        {
          env: all,
          argv: vitest('e2e', 'test/e2e/apart.test.ts', 'test/e2e/git.test.ts', 'test/e2e/refactor.test.ts'),
        },
        {
          env: all,
          argv: vitest('unit:*', ...testsNaming(root, 'PLANFOLD_CRASH'), ...testsNamed(root, /^interrupted-/)),
        },
      ],
    },
    {
      name: 'simulator',
      does: `${sum(seeds)} seeds of the simulator, some of them twice or replayed`,
      commands: [
        { env: {}, argv: npm('sim', '--twice', '--seeds', String(Math.max(1, Math.round(SEEDS_TWICE * scale)))) },
        {
          env: { REPLAY_SEEDS: String(Math.max(50, Math.round(SEEDS_REPLAYED * scale))) },
          argv: vitest('unit:*', 'sim/replay.test.ts'),
        },
        ...seeds.map((count, at) => ({
          env: {},
          argv: npm('sim', '--seed', `0x${(seed + at * SEEDS_AT_ONCE).toString(16)}`, '--seeds', String(count)),
        })),
      ],
    },
    {
      name: 'spenders',
      does: `${spenders} seeds of tasks that share a budget, by the rules alone and in the whole engine`,
      commands: [
        {
          env: { PLANFOLD_SPENDER_SEEDS: '1', PLANFOLD_SPENDER_RULES: String(spenders) },
          argv: vitest('unit:*', 'sim/spending.test.ts'),
        },
        { env: {}, argv: npm('sim', '--spenders', '--seeds', String(spenders)) },
      ],
    },
    {
      name: 'goals',
      does: 'every goal of the table, behind every protocol of models',
      commands: [{ env: { PLANFOLD_GOALS: 'all' }, argv: vitest('unit:*', 'test/model-planner.test.ts') }],
    },
    {
      name: 'troubles',
      does: `${sum(troubles)} plans in a world that fails at random`,
      commands: troubles.map((count, at) => ({
        env: { PLANFOLD_TROUBLES: String(count), PLANFOLD_SEED: String(seed + at * TROUBLES_AT_ONCE) },
        argv: vitest('unit:*', 'src/domain/recovery/choose-recovery.property.test.ts'),
      })),
    },
    {
      name: 'fuzz',
      does: `${sum(inputs)} broken and hostile documents`,
      commands: inputs.map((count, at) => ({
        env: {},
        argv: npm('fuzz', '--seed', String(seed + at), '--inputs', String(count)),
      })),
    },
    {
      name: 'properties',
      does: `${runs} runs of each property`,
      commands: testsNaming(root, 'PLANFOLD_RUNS', 'src').map(file => ({
        env: { PLANFOLD_RUNS: String(runs) },
        argv: vitest('unit:*', '--testTimeout', '3600000', file),
      })),
    },
    {
      name: 'beside',
      does: `${sum(rounds)} rounds of a person who works beside tasks that run, fail, are killed and rolled back`,
      commands: [
        BUILD,
        ...rounds.map((count, at) => ({
          env: {
            PLANFOLD_LIVES: '3',
            PLANFOLD_ROUNDS: String(count),
            PLANFOLD_SEED: String(seed + at * ROUNDS_AT_ONCE),
          },
          argv: vitest('crash', 'test/crash/person-beside.test.ts'),
        })),
      ],
    },
    {
      name: 'siblings',
      does: `three parallel tasks with new folders, ${siblings} times each`,
      commands: [
        {
          env: { PLANFOLD_TIMES: String(siblings) },
          argv: vitest('e2e', 'test/e2e/beside-scope.test.ts', '-t', 'parallel'),
        },
      ],
    },
    {
      name: 'tools',
      does: 'vite, tsc, webpack, rimraf, vitest and npm ci, twice each and three at once, in new and existing folders',
      commands: [BUILD, { env: {}, argv: ['node', '--import', 'tsx', 'test/soak/tools.ts'] }],
    },
  ]
}

/** As it is typed into a shell. */
export function written({ env, argv }: Command): string {
  return [...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...argv.map(quoted)].join(' ')
}

const quoted = (word: string): string => (word.includes('*') ? `'${word}'` : word)

const vitest = (project: string, ...files: readonly string[]): [string, ...string[]] => [
  ...(['npx', 'vitest', 'run', '--project', project] as const),
  ...files,
]

const npm = (script: string, ...args: readonly string[]): [string, ...string[]] => [
  ...(['npm', 'run', '--silent', script, '--'] as const),
  ...args,
]

/** Tests of a folder, by default the workspace, that ask the environment for this. */
function testsNaming(root: string, variable: string, folder = 'src/workspace'): readonly string[] {
  return testsIn(root, folder).filter(path =>
    readFileSync(join(root, path), 'utf8').includes(`process.env.${variable}`),
  )
}

const testsNamed = (root: string, name: RegExp): readonly string[] =>
  testsIn(root, 'src/workspace').filter(path => name.test(path.slice(path.lastIndexOf('/') + 1)))

function testsIn(root: string, folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.test.ts'))
    .map(path => `${folder}/${path}`)
    .sort()
}

function chunks(total: number, atOnce: number): readonly number[] {
  const whole = Math.max(1, Math.round(total))
  return Array.from({ length: Math.ceil(whole / atOnce) }, (_, at) => Math.min(atOnce, whole - at * atOnce))
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)
