// How long something takes when nothing else gets in the way: processor time, not wall time, and the best of a few runs, so
// that a busy machine does not fail a test and a slow algorithm still does.

export function cpuMs(run: () => void): number {
  let best = Number.POSITIVE_INFINITY
  // The first round is not warm yet; further ones are made only while they are cheap, or while a busy machine may be to blame.
  for (let round = 0, all = 0; round < 1 || (round < 3 && all < 2_500) || (round < 6 && isDear(best)); round++) {
    const before = process.cpuUsage()
    run()
    const { user, system } = process.cpuUsage(before)
    best = Math.min(best, (user + system) / 1000)
    all += (user + system) / 1000
  }
  return best
}

const isDear = (ms: number): boolean => ms > 900 && ms < 2_000
