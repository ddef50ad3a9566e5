// All temporary folders of a test run stand in one, which is removed when the run has ended. It is in memory where there is room:
// a killed process loses nothing that the system has taken, and waiting for a disk proves nothing more. Before it goes, it says how the
// commands of the tests ran.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { MODES_FILE, reportModes } from './run-modes-report.ts'

const MEMORY = '/dev/shm'
const ROOM = 4 * 1024 ** 3

export function setup(): (() => void) | undefined {
  if (process.env.PLANFOLD_TEST_FOLDER !== undefined) return
  const folder = mkdtempSync(join(hasRoom(MEMORY) ? MEMORY : tmpdir(), 'pf-'))
  process.env.PLANFOLD_TEST_FOLDER = folder
  process.env.TMPDIR = folder
  const modes = join(folder, 'modes.jsonl')
  process.env[MODES_FILE] = modes
  return () => {
    for (const line of reportModes(modes)) console.log(line)
    stopPostgres(folder)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** The server that the tests shared, if any did: see `src/stores/postgres/postgres.fixture.ts`. */
function stopPostgres(folder: string): void {
  const room = `/tmp/planfold-postgres-${basename(folder)}`
  if (existsSync(join(room, 'stop'))) spawnSync('sh', [join(room, 'stop')], { stdio: 'ignore' })
  rmSync(room, { recursive: true, force: true })
}

function hasRoom(path: string): boolean {
  if (process.env.TMPDIR !== undefined || !existsSync(path)) return false
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize > ROOM
}
