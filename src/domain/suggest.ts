// "Did you mean …?": the nearest of the known words, when it is near enough to be a slip of the finger.

export function suggest(word: string, known: Iterable<string>): string | null {
  let best: string | null = null
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1
  let looked = 0
  const wanted = word.toLowerCase()
  for (const candidate of known) {
    if (++looked > 5_000) break
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue
    const offered = candidate.toLowerCase()
    // Nearer than one letter is only the word itself.
    if (bestDistance === 1 && offered !== wanted) continue
    const distance = editDistance(wanted, offered, bestDistance)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Levenshtein with neighbouring letters swapped counting once; stops early above `max`. */
function editDistance(a: string, b: string, max: number): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1)
      next.push(cost)
      least = Math.min(least, cost)
    }
    if (least > max) return max + 1
    before = row
    row = next
  }
  return row[b.length]!
}
