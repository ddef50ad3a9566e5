// "Did you mean": the nearest of the known words, when one is near enough to be a slip of the hand.

/** The known word closest to the given one, or null when none is close. */
export function suggest(word: string, known: Iterable<string>): string | null {
  const given = word.slice(0, 100).toLowerCase()
  let best: string | null = null
  let bestDistance = Math.max(1, Math.floor(given.length / 3)) + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - given.length) >= bestDistance) continue
    const distance = editDistance(given, candidate.toLowerCase(), bestDistance)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Insertions, deletions, substitutions and swaps of neighbours; gives up and answers `cap` once it cannot be below. */
function editDistance(a: string, b: string, cap: number): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1)
      row.push(cost)
    }
    if (Math.min(...row) >= cap) return cap
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
