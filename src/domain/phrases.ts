// Small pieces of text: a number with its noun, a duration, a reason, and "did you mean".

// A duration in its two largest units: `90000` -> `1m 30s`.

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]

export function spoken(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`
  const first = UNITS.findIndex(([, length]) => ms >= length)
  const [unit, length] = UNITS[first]!
  const smaller = UNITS[first + 1]
  const rest = smaller === undefined ? 0 : Math.floor((ms % length) / smaller[1])
  return `${Math.floor(ms / length)}${unit}${rest === 0 || smaller === undefined ? '' : ` ${rest}${smaller[0]}`}`
}

export function numberOf(count: number, noun: string, many: string = pluralOf(noun)): string {
  return `${count} ${count === 1 ? noun : many}`
}

const pluralOf = (noun: string): string => (/[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`)

/** Empty for no reason, or one that only repeats the status. */
export const reasonBesides = (status: string, reason: string | null): string =>
  reason === null || reason === status ? '' : reason

/** The reason of a failed task. Only a person's rejection may have none. */
export const failedText = (reason: string | null): string =>
  reason === null || reason === '' ? 'rejected, no reason given' : reason

export const haltedBy = ({ by, reason }: { readonly by: string; readonly reason: string | null }): string =>
  `halted by ${by}${reason === null ? '' : `: ${reason}`}`

// "Did you mean …?": the nearest known word, if it is near enough for a typo.

export function suggest(word: string, known: Iterable<string>): string | null {
  let best: string | null = null
  // A single letter is near to any other, so only its case may differ.
  let bestDistance = word.length < 2 ? 1 : Math.max(1, Math.floor(word.length / 3)) + 1
  let looked = 0
  const wanted = word.toLowerCase()
  for (const candidate of known) {
    if (++looked > 5_000) break
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue
    const offered = candidate.toLowerCase()
    // At distance 0 only the word itself remains.
    if (bestDistance === 1 && offered !== wanted) continue
    const distance = editDistance(wanted, offered, bestDistance)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** The hint for an unknown word: the nearest known one, and the full list. */
export function choiceHint(word: string, known: readonly string[]): string {
  const near = suggest(word.slice(0, 60), known)
  const all = `${known.slice(0, LISTED_MAX).join(', ')}${known.length > LISTED_MAX ? ', …' : ''}`
  if (near === null) return known.length === 1 ? `write ${all}` : `write one of: ${all}`
  return known.length === 1 ? `did you mean '${near}'?` : `did you mean '${near}'? known: ${all}`
}

const LISTED_MAX = 12

/** The message of every face for an exception; its own text goes to the log. */
export const BUG = 'this is a bug in Planfold; as far as known, it changed nothing'

/** Levenshtein distance with transpositions; stops early above `max`. */
export function editDistance(a: string, b: string, max: number): number {
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
