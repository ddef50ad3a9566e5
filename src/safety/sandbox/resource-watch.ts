// Measures the processes and the memory of a running sandbox from outside. If it exceeds a limit, process 1 is killed, and the kernel kills
// the rest. Processes are listed often, because a fork bomb is quick and slows the watcher down; memory is measured less often, and sooner
// the nearer it is to the limit.
//
// Memory means private pages, shared pages once, and files in memory. Page cache is not counted, because the kernel can reclaim it.

import { readdirSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { orElse } from '../../domain/json.ts'
import type { Failure } from '../../domain/result.ts'
import type { SandboxLimits } from './sandbox.ts'

export interface Watched {
  /** Process 1 of the sandbox, as a pid of this machine. */
  readonly first: number
  /** Folders in memory, by their path inside; one that is on a disk, or this machine's, does not count. */
  readonly inMemory: readonly string[]
  readonly limits: SandboxLimits
  /** The limit that the kernel has enforced already, if it does. */
  readonly met?: () => 'memory' | 'processes' | null
}

const COUNT_EVERY_MS = 50
const MEASURE_MAX_MS = 250
/** An upper bound of how fast one core can fill memory. */
const FILLS_BYTES_PER_MS = 8_000_000
/** For each process, to bound the cost: a rough measurement takes some microseconds, an exact one a millisecond and more. */
const PAUSE_MS = { rough: 1, exact: 50 } as const
const PAUSE_MAX_MS = 1_000

/** Calls back once with the excess; returns how to stop. */
export function watchResources(watched: Watched, onExcess: (failure: Failure) => void): () => void {
  const { limits } = watched
  const folders = memoryOf(watched)
  let pauses = 0
  const look = (): Failure | null => {
    const inside = processesIn(watched.first)
    if (inside.length > limits.processes) return tooMany(limits)
    if (pauses-- > 0) return null
    const met = watched.met?.() ?? null
    if (met !== null) return excessOf(met, limits)
    const { threads, bytes, how } = measure(watched, inside, folders)
    const free = Math.max(0, limits.memoryBytes - bytes)
    const pauseMs = Math.max(
      Math.min(PAUSE_MAX_MS, inside.length * PAUSE_MS[how]),
      Math.min(MEASURE_MAX_MS, free / FILLS_BYTES_PER_MS),
    )
    pauses = Math.floor(pauseMs / COUNT_EVERY_MS)
    if (threads > limits.processes) return tooMany(limits)
    return bytes > limits.memoryBytes ? tooMuch(limits) : null
  }
  const timer = setInterval(() => {
    const failure = look()
    if (failure === null) return
    clearInterval(timer)
    onExcess(failure)
  }, COUNT_EVERY_MS)
  return () => clearInterval(timer)
}

/** From its own process list, which has no other processes. */
const processesIn = (first: number): readonly string[] =>
  orElse(() => readdirSync(`/proc/${first}/root/proc`), []).filter(name => /^\d+$/.test(name))

function measure({ first, limits }: Watched, inside: readonly string[], folders: readonly string[]) {
  const root = `/proc/${first}/root`
  let threads = 0
  let own = 0
  for (const pid of inside) {
    const status = readOrEmpty(`${root}/proc/${pid}/status`)
    threads += field(status, 'Threads')
    own += (field(status, 'RssAnon') + field(status, 'RssShmem') + field(status, 'VmSwap')) * 1024
  }
  const files = folders.reduce((sum, folder) => sum + usedIn(folder), 0)
  // The sum counts shared pages several times, so it is refined only when it exceeds the limit.
  if (own + files <= limits.memoryBytes) return { threads, bytes: own + files, how: 'rough' as const }
  return { threads, bytes: exact(root, inside, files), how: 'exact' as const }
}

/** Counts each page once. Mapped files in memory are in both sums, so the larger one counts. */
function exact(root: string, inside: readonly string[], files: number): number {
  let own = 0
  let shared = 0
  for (const pid of inside) {
    const rollup = readOrEmpty(`${root}/proc/${pid}/smaps_rollup`)
    own += (field(rollup, 'Pss_Anon') + field(rollup, 'SwapPss')) * 1024
    shared += field(rollup, 'Pss_Shmem') * 1024
  }
  return own + Math.max(shared, files)
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0)
}

const TMPFS = 0x01021994

/** In-memory file systems of this sandbox, each once. Mounts of disks or of this machine do not count. */
export function memoryOf({ first, inMemory }: Pick<Watched, 'first' | 'inMemory'>): readonly string[] {
  const found = new Map<number, string>()
  for (const folder of inMemory) {
    const inside = `/proc/${first}/root${folder}`
    try {
      const { dev } = statSync(inside)
      if (statfsSync(inside).type !== TMPFS || dev === statSync(folder, { throwIfNoEntry: false })?.dev) continue
      if (!found.has(dev)) found.set(dev, inside)
    } catch {
      // Missing or unreadable.
    }
  }
  return [...found.values()]
}

const usedIn = (folder: string): number =>
  orElse(() => {
    const { blocks, bfree, bsize } = statfsSync(folder)
    return (blocks - bfree) * bsize
  }, 0)

const readOrEmpty = (path: string): string => orElse(() => readFileSync(path, 'utf8'), '')

export const excessOf = (what: 'memory' | 'processes', limits: SandboxLimits): Failure =>
  what === 'memory' ? tooMuch(limits) : tooMany(limits)

const tooMuch = ({ memoryBytes }: SandboxLimits): Failure =>
  excess(
    'memory',
    `it used more than ${shownBytes(memoryBytes)} of memory (policy.limits.memory), and was ended`,
    'raise `policy.limits.memory` in the plan, or PLANFOLD_MEMORY_MAX for this machine (8GiB), if it really needs more',
  )

const tooMany = ({ processes }: SandboxLimits): Failure =>
  excess(
    'processes',
    `it had more than ${processes} processes and threads at once (policy.limits.processes), and was ended`,
    'raise `policy.limits.processes` in the plan, or PLANFOLD_PROCESSES_MAX for this machine, if it really needs more',
  )

const excess = (what: string, message: string, hint: string): Failure => ({
  class: 'resource',
  code: `sandbox:${what}`,
  message,
  hint,
  retryable: true,
})

function shownBytes(bytes: number): string {
  const [unit, size] = bytes >= 1024 ** 3 ? ['GiB', 1024 ** 3] : ['MiB', 1024 ** 2]
  return `${Number((bytes / Number(size)).toFixed(1))} ${unit}`
}
