// The processes of this machine from /proc: parents, start times, sessions, and marks in their environment. Read synchronously in one go,
// because an outdated list is useless for killing.

import { readdirSync, readFileSync } from 'node:fs'
import { orElse } from '../../domain/json.ts'
import { shortageKindOf } from '../../domain/shortage.ts'
import { codeOf, hasCode } from '../../safety/safety-refusal.ts'

export interface Process {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** Clock ticks since boot; identifies a process together with its pid. */
  readonly start: number
}

/** By pid, without zombies. */
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

/** The start time of a process, even a zombie; 0 when unknown. */
export function startOf(pid: number): number {
  // Without open files the process exists all the same, and must be tracked.
  const isShort = (error: unknown): boolean => shortageKindOf(codeOf(error) ?? '') === 'open-files'
  return orElse(() => Number(readStat(pid)?.[19] ?? 0), 0, isShort)
}

/** The fields from the third on: the second is the name in parentheses and may contain anything. */
function readStat(pid: number): readonly string[] | null {
  const text = readProc(pid, 'stat')
  return text === null ? null : text.slice(text.lastIndexOf(')') + 2).split(' ')
}

/** Was the process started with all of these `NAME=value`? Unreadable means no. */
export function hasMarks(pid: number, marks: readonly string[]): boolean {
  const text = readProc(pid, 'environ')
  if (text === null || text === '') return false
  const set = `\0${text}\0`
  return marks.every(mark => set.includes(`\0${mark}\0`))
}

/** Null when it has ended, or belongs to another user. */
const readProc = (pid: number, file: 'stat' | 'environ'): string | null =>
  orElse(() => readFileSync(`/proc/${pid}/${file}`, 'utf8'), null, hasCode('ENOENT', 'ESRCH', 'EACCES', 'EPERM'))
