// Only one process at a time rolls back in a workspace. A process first creates a lock file with its identity in the name, and only then
// looks for others, so of two simultaneous ones at least one sees the other. The lock file of a dead process does not count, so a crash
// leaves nothing to unlock.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { orElse } from '../../domain/json.ts'
import { makeFolder } from '../../safety/files/directory.ts'
import { codeOf, isSystemError, refuse } from '../../safety/safety-refusal.ts'
import { placeName } from '../files/path-text.ts'
import type { Workspace } from '../workspace.ts'

const FOLDER = 'rolling-back'
const LOOKS = 10
const BETWEEN_LOOKS_MS = 5
/** A capture waits at most half a minute for a rollback. */
const WAIT_LOOKS = 6_000
const CAPTURES_MAX = 5

export interface Hold {
  readonly name: string
  release(): void
}

interface Sign {
  readonly pid: number
  readonly started: string
  readonly name: string
}

let number = 0
const ours = new Set<string>()

export async function holdRollbacks(place: { readonly root: string; readonly stateDir: string }): Promise<Hold> {
  makeFolder(place.stateDir, 0o700)
  const folder = join(place.stateDir, placeName(FOLDER, place))
  makeFolder(folder, 0o700)
  const name = `${process.pid}-${startOf(process.pid)}-${++number}`
  const path = join(folder, name)
  fs.closeSync(fs.openSync(path, 'wx', 0o600))
  ours.add(path)
  const release = () => {
    ours.delete(path)
    fs.rmSync(path, { force: true })
  }
  try {
    for (let look = 0; ; look++) {
      const others = otherSigns(folder, name)
      const [first] = others
      if (first === undefined) return { name, release }
      // Of several that wait, all but the one whose name sorts last give up at once, so that this one proceeds soon.
      if (look >= LOOKS || others.some(other => other.name > name))
        refuse('transient', `process ${first.pid} is rolling back here`, 'try again when it has ended')
      await new Promise<void>(resolve => setTimeout(resolve, BETWEEN_LOOKS_MS))
    }
  } catch (error) {
    release()
    throw error
  }
}

/** Repeats the capture if a rollback ran meanwhile: a half rolled back state is no target for another. */
export function captureBetweenRollbacks(
  place: { readonly root: string; readonly stateDir: string },
  workspace: Workspace,
): Workspace {
  const folder = join(place.stateDir, placeName(FOLDER, place))
  return {
    capture: async patterns => {
      for (let captures = 1; ; captures++) {
        await quiet(folder)
        const before = lastSign(folder)
        const captured = await workspace.capture(patterns)
        if (lastSign(folder) === before || captures === CAPTURES_MAX) return captured
      }
    },
    restore: (id, how) => workspace.restore(id, how),
    compare: (saved, to) => workspace.compare(saved, to),
    merge: (base, mine, theirs) => workspace.merge(base, mine, theirs),
    changesSince: id => workspace.changesSince(id),
    quiet: () => quiet(folder),
  }
}

export const waitForRollbacks = (place: { readonly root: string; readonly stateDir: string }): Promise<void> =>
  quiet(join(place.stateDir, placeName(FOLDER, place)))

/** After the longest wait the capture proceeds, and reports what it cannot store. */
async function quiet(folder: string): Promise<void> {
  for (let look = 0; look < WAIT_LOOKS && lastSign(folder) !== null && otherSigns(folder, '').length > 0; look++)
    await new Promise<void>(resolve => setTimeout(resolve, BETWEEN_LOOKS_MS))
}

/** Changes with every lock file that is created or deleted; null when there never was one. */
function lastSign(folder: string): bigint | null {
  return fs.statSync(folder, { bigint: true, throwIfNoEntry: false })?.mtimeNs ?? null
}

/** The lock files of other live processes; deletes those of dead ones. */
function otherSigns(folder: string, mine: string): readonly Sign[] {
  return fs.readdirSync(folder).flatMap(name => {
    const [, pid, started] = /^(\d+)-([0-9a-z]+)-\d+$/.exec(name) ?? []
    if (pid === undefined || started === undefined || name === mine) return []
    const sign = { pid: Number(pid), started, name }
    const path = join(folder, name)
    const alive = sign.pid === process.pid ? ours.has(path) : startOf(sign.pid) === started
    if (alive) return [sign]
    fs.rmSync(path, { force: true })
    return []
  })
}

/** The start time of a process from the kernel; '' when it is not running. It tells a reused pid apart. */
function startOf(pid: number): string {
  const stat = orElse(() => fs.readFileSync(`/proc/${pid}/stat`, 'latin1'), null, isSystemError)
  if (stat === null) return isAlive(pid) ? 'running' : ''
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? '' : `${boot()}${fields[19]}`
}

/** Start times count from the boot, so two boots may have the same. */
const boot = (): string =>
  orElse(() => `${fs.readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8)}x`, '', isSystemError)

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}
