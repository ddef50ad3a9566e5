// The processes of this machine as /proc shows them: who started whom, when, in which session, and with which marks in
// its environment. Read at one go and synchronously, because a list that is half a second old is of no use for killing.

import { readdirSync, readFileSync } from 'node:fs'
import { shortageKindOf } from '../../domain/shortage.ts'
import { codeOf } from '../../safety/safety-refusal.ts'

export interface Process {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** Clock ticks since boot; with the pid it names a process for ever. */
  readonly start: number
}

/** Living processes by pid; zombies are no longer living. */
export function listProcesses(): ReadonlyMap<number, Process> {
  const found = new Map<number, Process>()
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid <= 0) continue
    const process = lookUpProcess(pid)
    if (process !== null) found.set(pid, process)
  }
  return found
}

export function lookUpProcess(pid: number): Process | null {
  const fields = readStat(pid)
  const [state, parent, group, session] = fields ?? []
  if (fields === null || state === undefined || 'ZXx'.includes(state)) return null
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), start: Number(fields[19]) }
}

/** When a process started, a zombie too; 0 when nobody can tell. */
export function startOf(pid: number): number {
  try {
    return Number(readStat(pid)?.[19] ?? 0)
  } catch (error) {
    // It has begun, and must be followed although no file can be opened just now.
    if (shortageKindOf(codeOf(error) ?? '') === 'open-files') return 0
    throw error
  }
}

/** The fields from the third on: the second is the name in parentheses and may hold anything. */
function readStat(pid: number): readonly string[] | null {
  const text = readProc(pid, 'stat')
  return text === null ? null : text.slice(text.lastIndexOf(')') + 2).split(' ')
}

/** Does the environment the process was started with hold all of these `NAME=value`? Not readable means no. */
export function hasMarks(pid: number, marks: readonly string[]): boolean {
  const text = readProc(pid, 'environ')
  if (text === null || text === '') return false
  const set = `\0${text}\0`
  return marks.every(mark => set.includes(`\0${mark}\0`))
}

function readProc(pid: number, file: 'stat' | 'environ'): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch (error) {
    // Gone meanwhile, or somebody else's.
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) return null
    throw error
  }
}
