// Which files of one folder some program still has open for writing. A file that was moved keeps its open descriptors, so a
// person's program may write into it later. Once nobody has it open, nobody writes to it any more, but for memory maps.
// Linux tells by /proc: for the user's own processes, and for root for all of them. Elsewhere nothing can be said.

import * as fs from 'node:fs'
import type { BytePath } from '../snapshots/manifest.ts'

const PROC = '/proc'
const O_ACCMODE = 3
const POLL_MS = 10
const POLLS = 100
const YIELD_PROCESSES = 32

/** Processes may end meanwhile, and those of other users cannot be read: both are passed over. */
function orNone<T>(read: () => T, none: T): T {
  try {
    return read()
  } catch {
    return none
  }
}

function writes(process: string, descriptor: string): boolean {
  const info = orNone(() => fs.readFileSync(`${PROC}/${process}/fdinfo/${descriptor}`, 'utf8'), '')
  const flags = /^flags:\s*([0-7]+)$/m.exec(info)?.[1]
  return flags !== undefined && (Number.parseInt(flags, 8) & O_ACCMODE) !== 0
}

/** The names in the folder that somebody has open for writing. `folder` is the end of its path, and found nowhere else. */
async function openForWriting(folder: string, yieldTurn: () => Promise<void>): Promise<ReadonlySet<BytePath>> {
  const found = new Set<BytePath>()
  const inFolder = `/${folder}/`
  const processes = orNone(() => fs.readdirSync(PROC), []).filter(name => /^\d+$/.test(name))
  for (const [at, process] of processes.entries()) {
    for (const descriptor of orNone(() => fs.readdirSync(`${PROC}/${process}/fd`), [])) {
      const path = orNone(() => fs.readlinkSync(`${PROC}/${process}/fd/${descriptor}`, { encoding: 'latin1' }), '')
      const begin = path.lastIndexOf(inFolder)
      if (begin >= 0 && writes(process, descriptor)) found.add(path.slice(begin + inFolder.length))
    }
    if (at % YIELD_PROCESSES === YIELD_PROCESSES - 1) await yieldTurn()
  }
  return found
}

/** Waits briefly until no process writes into this folder's files; answers with those that stay open. */
export async function untilClosed(folder: string, yieldTurn: () => Promise<void>): Promise<ReadonlySet<BytePath>> {
  for (let poll = 1; ; poll++) {
    const open = await openForWriting(folder, yieldTurn)
    if (open.size === 0 || poll === POLLS) return open
    await new Promise(done => setTimeout(done, POLL_MS))
  }
}
