// Patterns with a star over any items: the components of a path, the words of a command, the characters of a word. The matcher backtracks
// to one position only, so it takes at most pattern times text.

/** `star` matches any number of items, including none. */
export function matchesPattern<T>(
  pattern: readonly T[],
  text: readonly T[],
  star: T,
  same: (part: T, item: T) => boolean,
): boolean {
  let at = 0
  let returnTo = -1
  let returnAt = 0
  for (let seen = 0; seen < text.length; ) {
    if (pattern[at] === star) {
      returnTo = ++at
      returnAt = seen
    } else if (at < pattern.length && same(pattern[at]!, text[seen]!)) {
      at++
      seen++
    } else if (returnTo >= 0) {
      at = returnTo
      seen = ++returnAt
    } else return false
  }
  while (pattern[at] === star) at++
  return at === pattern.length
}

/** Is there a text that both patterns match? */
export function patternsMeet<T>(
  a: readonly T[],
  b: readonly T[],
  star: T,
  meet: (one: T, other: T) => boolean,
): boolean {
  // From the end: can the rest of one pattern meet the rest of the other?
  let below: boolean[] = []
  for (let i = a.length; i >= 0; i--) {
    const row: boolean[] = []
    for (let j = b.length; j >= 0; j--) {
      const [one, other] = [a[i], b[j]]
      if (i === a.length && j === b.length) row[j] = true
      // A star matches nothing, or consumes the next item of the other side.
      else if ((i < a.length && one === star) || (j < b.length && other === star))
        row[j] = (i < a.length && below[j] === true) || (j < b.length && row[j + 1] === true)
      else row[j] = i < a.length && j < b.length && meet(one!, other!) && below[j + 1] === true
    }
    below = row
  }
  return below[0] === true
}

export function matchesWord(pattern: string, word: string): boolean {
  if (!pattern.includes('*')) return pattern === word
  return matchesPattern([...pattern], [...word], '*', (part, character) => part === character)
}

export function wordsMeet(a: string, b: string): boolean {
  if (!a.includes('*')) return matchesWord(b, a)
  if (!b.includes('*')) return matchesWord(a, b)
  return patternsMeet([...a], [...b], '*', (one, other) => one === other)
}
