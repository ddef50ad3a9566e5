// The memory and process limits of a sandbox: defaults for this machine, the user's settings (PLANFOLD_MEMORY_MAX, PLANFOLD_PROCESSES_MAX),
// and the limits of a plan.

import { totalmem } from 'node:os'
import { readSize } from '../../format/text/units.ts'
import type { Variables } from '../environment.ts'
import type { SandboxLimits } from './sandbox.ts'

const MEMORY_MIN_BYTES = 1024 ** 3
const PROCESSES_DEFAULT = 2_000
export const PROCESSES_MAX = 1_000_000

/** Half of the memory available to this process, so that enough is left for others. */
export function defaultLimits(): SandboxLimits {
  const allowed = process.constrainedMemory()
  const memory = allowed > 0 ? Math.min(allowed, totalmem()) : totalmem()
  return { memoryBytes: Math.max(MEMORY_MIN_BYTES, Math.floor(memory / 2)), processes: PROCESSES_DEFAULT }
}

export interface MachineLimits {
  readonly limits: SandboxLimits
  /** Variables that cannot be read, a sentence for each; their defaults apply. */
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
