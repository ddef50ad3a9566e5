// Files in one folder that a program has open for writing. Moving a file keeps open descriptors valid, so a person's program may still
// write to it; without open descriptors, only memory maps remain. Linux shows this in /proc: the user's own processes, or all for root.
// Elsewhere it is unknown.

import * as fs from 'node:fs'
import { orElse } from '../../domain/json.ts'
import type { BytePath } from '../snapshots/manifest.ts'

const PROC = '/proc'
const O_ACCMODE = 3
const POLL_MS = 10
const POLLS = 100
const YIELD_PROCESSES = 32

function writes(process: string, descriptor: string): boolean {
  const info = orElse(() => fs.readFileSync(`${PROC}/${process}/fdinfo/${descriptor}`, 'utf8'), '')
  const flags = /^flags:\s*([0-7]+)$/m.exec(info)?.[1]
  return flags !== undefined && (Number.parseInt(flags, 8) & O_ACCMODE) !== 0
}

/** Names in the folder that are open for writing. `folder` is the end of its path and must be unique. */
async function openForWriting(folder: string, yieldTurn: () => Promise<void>): Promise<ReadonlySet<BytePath>> {
  const found = new Set<BytePath>()
  const inFolder = `/${folder}/`
  const processes = orElse(() => fs.readdirSync(PROC), []).filter(name => /^\d+$/.test(name))
  for (const [at, process] of processes.entries()) {
    for (const descriptor of orElse(() => fs.readdirSync(`${PROC}/${process}/fd`), [])) {
      const path = orElse(() => fs.readlinkSync(`${PROC}/${process}/fd/${descriptor}`, { encoding: 'latin1' }), '')
      const begin = path.lastIndexOf(inFolder)
      if (begin >= 0 && writes(process, descriptor)) found.add(path.slice(begin + inFolder.length))
    }
    if (at % YIELD_PROCESSES === YIELD_PROCESSES - 1) await yieldTurn()
  }
  return found
}

/** Waits briefly until no process writes to files in this folder; returns those that are still open. */
export async function untilClosed(folder: string, yieldTurn: () => Promise<void>): Promise<ReadonlySet<BytePath>> {
  for (let poll = 1; ; poll++) {
    const open = await openForWriting(folder, yieldTurn)
    if (open.size === 0 || poll === POLLS) return open
    await new Promise(done => setTimeout(done, POLL_MS))
  }
}
