// The processor time of a function on a quiet machine, so that tests of complexity do not fail on a busy one. Other processes make code
// slower even in processor time (shared caches and cores), never faster. So a slow run is repeated, and compared with reference work whose
// time is known.

/** What `knownWork` takes on a quiet machine, in milliseconds. */
const QUIET_MS = 40
const ROUNDS = 6

/** Of several runs the best, as on a quiet machine; the first that takes less than `enoughMs` is enough. */
export function cpuMs(run: () => void, enoughMs: number): number {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS && best >= enoughMs; round++) {
    const spent = measured(run)
    best = Math.min(best, spent < enoughMs ? spent : spent / slowness())
  }
  return best
}

/** How many times longer than on a quiet machine our work takes just now. */
export function slowness(): number {
  knownWork()
  return Math.max(1, measured(knownWork) / QUIET_MS)
}

function measured(run: () => void): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function knownWork(): number {
  const counts: Record<string, number> = {}
  for (let turn = 0; turn < 300_000; turn++) {
    const key = `key ${turn % 5_000}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return Object.keys(counts).length
}
