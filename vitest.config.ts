import { defineConfig, type TestProjectConfiguration } from 'vitest/config'

// Quick tests (`unit:…`) run first, one project after the other; then those that start real processes (`e2e`) beside those that kill them
// (`crash`). Files of a `shared` project are run by the same few processes, so each module is read once; a test that changes
// its process, measures its own time or starts many others belongs in `unit:alone`. Time limits are there only to end what hangs: a test that is
// right on an idle machine is right on a busy one.

const RULES = [
  'src/domain/**/*.test.ts',
  'src/format/**/!(stall).test.ts',
  'src/extras/{dialects,pictures,templates}/**/*.test.ts',
]
const FACES = [
  ...['operations', 'server', 'client', 'cli', 'extras/compat'].map(room => `src/${room}/**/*.test.ts`),
  'web/**/*.test.ts',
]
const ENGINE = [
  'safety',
  'queues',
  'stores',
  'workspace',
  'runners',
  'extras/{agents,artifacts,memory,models,planners,publishers}',
  'engine',
  'mcp',
].map(room => `src/${room}/**/*.test.ts`)
/**
 * Tests of these rooms that change their process, count its time or replace its clock; and those that start git a thousand times: the larger
 * a process has grown, the longer it takes to start another.
 */
const OF_THEIR_OWN = [
  'src/cli/commands/git/*.test.ts',
  'src/cli/commands/upkeep/doctor.test.ts',
  'src/engine/{forks,git}/*.test.ts',
  'src/engine/{loop/many-plans,replay/replay}.test.ts',
  'src/format/plan/stall.test.ts',
  'src/operations/adopt-fork.test.ts',
  'src/runners/run/deadline.test.ts',
  'src/safety/files/secret-file.test.ts',
  'src/stores/sqlite/{store-sqlite-readonly,store-sqlite}.test.ts',
  'src/workspace/{files/ignore-rules,git/*,not-root}.test.ts',
  'src/workspace/rollback/{human-edits,interrupted-restore,interrupted-rollback,told-in-time}.test.ts',
]
/** Flows of many commands, which need no process for each. */
const FLOWS =
  'test/e2e/{adopt,advice,audit,budgets,cli-bad-input,cli-flows,cli-found,consent,examples,fork,go-on,hand-edits,import,models,people,planning,planstore,replanning,replay,revisions,rollback,sessions,told-in-time}.test.ts'
const TOP = ['test/*.test.ts', FLOWS]
const HARD = ['test/attack/**/*.test.ts', 'sim/**/*.test.ts']

const project = (
  groupOrder: number,
  name: string,
  more: { include: string[]; exclude?: string[]; isolate?: boolean; maxWorkers: number },
): TestProjectConfiguration => ({
  test: {
    name,
    globalSetup: ['test/temporary-folder.ts', 'test/answer-schemas.ts'],
    setupFiles: 'test/run-modes.ts',
    sequence: { groupOrder },
    testTimeout: 600_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    ...more,
  },
})

export default defineConfig({
  test: {
    // What one project has compiled, the others need not.
    experimental: { fsModuleCache: true },
    projects: [
      project(0, 'unit:rules', { include: RULES, isolate: false, maxWorkers: 3 }),
      project(1, 'unit:faces', { include: FACES, exclude: OF_THEIR_OWN, isolate: false, maxWorkers: 3 }),
      project(2, 'unit:engine', { include: ENGINE, exclude: OF_THEIR_OWN, isolate: false, maxWorkers: 3 }),
      project(3, 'unit:whole', { include: TOP, isolate: false, maxWorkers: 3 }),
      project(4, 'unit:alone', { include: [...OF_THEIR_OWN, ...HARD], maxWorkers: 4 }),
      project(5, 'e2e', { include: ['test/e2e/**/*.test.ts'], exclude: [FLOWS], maxWorkers: 4 }),
      project(5, 'crash', { include: ['test/crash/**/*.test.ts'], maxWorkers: 4 }),
    ],
  },
})
