// Do two write scopes overlap? Conservative and cheap: two patterns overlap when the literal part before the first wildcard
// of one is a prefix, by whole path components, of the other's. Case is folded, because some disks fold it.

export function scopesOverlap(a: readonly string[], b: readonly string[]): boolean {
  return a.some(one => b.some(other => patternsOverlap(one, other)))
}

function patternsOverlap(a: string, b: string): boolean {
  const left = literal(a)
  const right = literal(b)
  const [short, long] = left.parts.length <= right.parts.length ? [left, right] : [right, left]
  if (!short.parts.every((part, at) => part === long.parts[at])) return false
  // Two different files with no wildcard overlap only when equal, or when the shorter is a folder holding the longer.
  return true
}

function literal(pattern: string): { readonly parts: readonly string[] } {
  const parts = pattern
    .normalize('NFC')
    .toLowerCase()
    .split('/')
    .filter(part => part !== '' && part !== '.')
  const wild = parts.findIndex(part => /[*?[{]/.test(part))
  return { parts: wild < 0 ? parts : parts.slice(0, wild) }
}
