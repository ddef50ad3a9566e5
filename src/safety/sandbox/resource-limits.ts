// How much memory and how many processes a sandbox may use: what this machine allows unless told otherwise, what the person says for it
// (PLANFOLD_MEMORY_MAX, PLANFOLD_PROCESSES_MAX), and what a plan says for its commands.

import { totalmem } from 'node:os'
import { readSize } from '../../format/text/units.ts'
import type { Variables } from '../environment.ts'
import type { SandboxLimits } from './sandbox.ts'

const MEMORY_MIN_BYTES = 1024 ** 3
const PROCESSES_DEFAULT = 2_000
export const PROCESSES_MAX = 1_000_000

/** Half of the memory this process may have: a command that takes more leaves too little for everybody else. */
export function defaultLimits(): SandboxLimits {
  const allowed = process.constrainedMemory()
  const memory = allowed > 0 ? Math.min(allowed, totalmem()) : totalmem()
  return { memoryBytes: Math.max(MEMORY_MIN_BYTES, Math.floor(memory / 2)), processes: PROCESSES_DEFAULT }
}

export interface MachineLimits {
  readonly limits: SandboxLimits
  /** Variables that cannot be read, each in a sentence; the default holds in their place. */
  readonly faults: readonly string[]
}

export function machineLimits({ PLANFOLD_MEMORY_MAX, PLANFOLD_PROCESSES_MAX }: Variables): MachineLimits {
  const { memoryBytes, processes } = defaultLimits()
  const faults: string[] = []
  const memory = PLANFOLD_MEMORY_MAX === undefined ? null : readSize(PLANFOLD_MEMORY_MAX)
  if (memory?.ok === false) faults.push(`PLANFOLD_MEMORY_MAX: ${memory.message}`)
  const count = PLANFOLD_PROCESSES_MAX === undefined ? processes : Number(PLANFOLD_PROCESSES_MAX)
  const isCount = Number.isInteger(count) && count > 0 && count <= PROCESSES_MAX
  if (!isCount) faults.push(`PLANFOLD_PROCESSES_MAX: '${PLANFOLD_PROCESSES_MAX}' is not a number of processes`)
  return {
    limits: { memoryBytes: memory?.ok ? memory.value : memoryBytes, processes: isCount ? count : processes },
    faults,
  }
}
