// The machine and process of a store, and its clocks. Passed in by compose.ts; tests pass their own.

import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Millis } from '../../domain/id.ts'

export interface Clock {
  now(): Millis
  /** Milliseconds that never jump, the same for all processes of one boot. */
  monotonic(): number
}

export interface Host {
  readonly host: string
  /** Changes with every restart of the machine. */
  readonly boot: string
  /** The pid namespace: two containers may share a boot, but not their pids. */
  readonly pids: string
  readonly pid: number
  /** Distinguishes processes with a reused pid. */
  readonly startTime: string
  isRunning(pid: number, startTime: string): boolean
}

/** Without /proc, a process counts as running while its pid answers. */
export function thisHost(pid: number): Host {
  return {
    host: hostname(),
    boot: readOr('/proc/sys/kernel/random/boot_id', 'unknown'),
    pids: pidNamespace(),
    pid,
    startTime: startTimeOf(pid) ?? '',
    isRunning: (other, startTime) => {
      const now = startTimeOf(other)
      return now === null ? startTime === '' && answers(other) : now === startTime
    },
  }
}

/** Field 22 of /proc/<pid>/stat; the second field may contain spaces and brackets, so counting starts after the last bracket. */
function startTimeOf(pid: number): string | null {
  const stat = readOr(`/proc/${pid}/stat`, '')
  if (stat === '') return null
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // A zombie has ended; its parent has not collected it.
  return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null)
}

function answers(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return otherwise
  }
}
