// Do two write scopes overlap? Conservative and cheap: two patterns overlap when the literal part before the first wildcard
// of one is a prefix, by whole path components, of the other's. Case is folded, because some disks fold it.

export function scopesOverlap(a: readonly string[], b: readonly string[]): boolean {
  return a.some(one => b.some(other => patternsOverlap(one, other)))
}

function patternsOverlap(a: string, b: string): boolean {
  const left = literalOf(a)
  const right = literalOf(b)
  const [short, long] = left.length <= right.length ? [left, right] : [right, left]
  return short.every((part, at) => part === long[at])
}

/** The components before the first one with a wildcard, folded. */
export function literalOf(pattern: string): readonly string[] {
  const parts = pattern
    .normalize('NFC')
    .toUpperCase()
    .toLowerCase()
    .split('/')
    .filter(part => part !== '' && part !== '.')
  const wild = parts.findIndex(part => /[*?[{]/.test(part))
  return wild < 0 ? parts : parts.slice(0, wild)
}
