// All temporary folders of a test run stand in one, which is removed when the run has ended. It is in memory where there is room:
// a killed process loses nothing that the system has taken, and waiting for a disk proves nothing more. Before it goes, it says how the
// commands of the tests ran.

import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

function hasRoom(path: string): boolean {
  if (process.env.TMPDIR !== undefined || !existsSync(path)) return false
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize > ROOM
}
