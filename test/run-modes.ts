// Counts how the commands of the tests ran, from the journals that tests leave: each `attempt.started` says whether it was held, ran as the
// user or started an agent, and a plan that was started with the sandbox switched off says so. A journal is read before the test removes its
// folder. An attempt belongs to the test in whose time it began. What has no journal on a disk is not counted: the store in memory, a runner
// by itself, checks and notifications. `temporary-folder.ts` prints the sums at the end of a run.

import fs, { appendFileSync, existsSync, readdirSync } from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeEach } from 'vitest'
import { type CommandMode, MODES_FILE, type TestModes } from './run-modes-report.ts'

interface Span {
  readonly test: string
  readonly from: number
  readonly modes: Set<CommandMode>
}

/** Of the test file that runs now: one process runs many. */
interface Counting {
  readonly since: number
  readonly made: Set<string>
  readonly spans: Span[]
}

const counting: Counting = { since: Date.now(), made: new Set(), spans: [] }
patchFolders(() => counting)

beforeEach(({ task }) => {
  counting.spans.push({ test: `${task.file.name} > ${task.name}`, from: Date.now(), modes: new Set() })
})

afterAll(() => {
  for (const folder of counting.made) look(counting, folder)
  const file = process.env[MODES_FILE]
  if (file === undefined) return
  for (const { test, modes } of counting.spans)
    if (modes.size > 0) appendFileSync(file, `${JSON.stringify({ test, modes: [...modes] } satisfies TestModes)}\n`)
})

/** Notes which temporary folders are made, and looks into each folder that is about to be removed. */
function patchFolders(current: () => Counting): void {
  const shared = globalThis as { planfoldCounting?: () => Counting }
  const isPatched = shared.planfoldCounting !== undefined
  shared.planfoldCounting = current
  if (isPatched) return
  const now = (): Counting => shared.planfoldCounting!()
  const { mkdtempSync, rmSync } = fs
  const { mkdtemp, rm } = promises
  Object.assign(fs, {
    mkdtempSync: (...given: Parameters<typeof mkdtempSync>) => noted(mkdtempSync(...given)),
    rmSync: (...given: Parameters<typeof rmSync>) => {
      look(now(), String(given[0]))
      rmSync(...given)
    },
  })
  Object.assign(promises, {
    mkdtemp: async (...given: Parameters<typeof mkdtemp>) => noted(await mkdtemp(...given)),
    rm: async (...given: Parameters<typeof rm>) => {
      look(now(), String(given[0]))
      await rm(...given)
    },
  })
  syncBuiltinESMExports()

  function noted<T>(made: T): T {
    now().made.add(String(made))
    return made
  }
}

function look({ made, spans, since }: Counting, folder: string): void {
  made.delete(folder)
  for (const { at, mode } of storesBelow(folder, DEPTH_MAX).flatMap(attemptsIn)) {
    // A clock of the test's own may stand anywhere: then it is the test that looks. What was copied is older than the tests of this file.
    const isRealTime = at >= since - DAY_MS && at <= Date.now()
    const span = isRealTime ? spans.findLast(({ from }) => from <= at) : spans.at(-1)
    span?.modes.add(mode)
  }
}

const DAY_MS = 86_400_000
/** Where fixtures put a workspace below the folder that they made, and its state below that. */
const DEPTH_MAX = 3
const STORE = 'planfold.db'

function storesBelow(folder: string, depth: number): readonly string[] {
  const here = join(folder, STORE)
  if (existsSync(here)) return [here]
  if (depth === 0) return []
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isDirectory() && entry.name !== 'node_modules' && entry.name !== '.git')
      .flatMap(entry => storesBelow(join(folder, entry.name), depth - 1))
  } catch {
    // A file, or nothing that may be read.
    return []
  }
}

function attemptsIn(file: string): readonly { readonly at: number; readonly mode: CommandMode }[] {
  interface Row {
    readonly plan_no: number
    readonly at: number
    readonly body: string
  }
  try {
    const database = new DatabaseSync(file, { readOnly: true })
    try {
      const rows = database
        .prepare(
          "SELECT plan_no, at, body FROM entries WHERE body LIKE '%attempt.started%' OR body LIKE '%plan.started%'",
        )
        .all() as unknown as readonly Row[]
      const ways = new Map<number, string>()
      return rows.flatMap(({ plan_no, at, body }) => {
        const { events } = JSON.parse(body) as { readonly events: readonly unknown[] }
        return events.map(written).flatMap(({ type, sandbox, runs }) => {
          if (type === 'plan.started') ways.set(plan_no, sandbox ?? 'none')
          if (type !== 'attempt.started') return []
          const way = ways.get(plan_no)
          if (way === 'by-task') return runs === undefined ? [] : [{ at, mode: runs }]
          return hasCommands(database, plan_no)
            ? [{ at, mode: way === 'off' || way === 'none' ? (way as CommandMode) : ('held' as const) }]
            : []
        })
      })
    } finally {
      database.close()
    }
  } catch {
    // Tests break stores on purpose; such a one tells nothing.
    return []
  }
}

interface StartedEvent {
  readonly type: string
  readonly sandbox?: string
  readonly runs?: CommandMode
}

/** Short events of attempts are stored as lists. */
const written = (event: unknown): StartedEvent =>
  Array.isArray(event) ? { type: event[0], ...(event[4] as object | undefined) } : (event as StartedEvent)

/** A plan that decided for all of its tasks does not say it of each attempt. */
const hasCommands = (database: InstanceType<typeof DatabaseSync>, plan: number): boolean =>
  database
    .prepare(`SELECT 1 FROM entries WHERE plan_no = ? AND (body IS NULL OR body LIKE '%"type":"run"%') LIMIT 1`)
    .all(plan).length > 0
