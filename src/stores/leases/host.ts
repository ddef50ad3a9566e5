// The machine and the process a store runs in, and the time it tells. Handed in by compose.ts; tests hand in others.

import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Millis } from '../../domain/id.ts'

export interface Clock {
  now(): Millis
  /** Milliseconds that never jump, counted alike by every process of one boot of the machine. */
  monotonic(): number
}

export interface Host {
  readonly host: string
  /** Differs after every restart of the machine. */
  readonly boot: string
  /** The namespace in which `pid` means something: two containers may share a boot, yet not their processes. */
  readonly pids: string
  readonly pid: number
  /** Tells this process from a later one with the same pid. */
  readonly startTime: string
  isRunning(pid: number, startTime: string): boolean
}

/** The real one. Where there is no /proc, a process counts as running while its pid answers. */
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

/** Field 22 of /proc/<pid>/stat; the second field may hold spaces and brackets, so counting starts behind the last one. */
function startTimeOf(pid: number): string | null {
  const stat = readOr(`/proc/${pid}/stat`, '')
  if (stat === '') return null
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // A zombie has ended; only its parent does not know yet.
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
