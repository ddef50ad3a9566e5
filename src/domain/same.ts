// Are two plain values the same, whatever the order of their keys? A key that is undefined counts as absent. Used where a
// definition written twice must not look like a change.

export function same(a: unknown, b: unknown): boolean {
  // Most of what is compared is written in the same order, and that is told quickly.
  return a === b || JSON.stringify(a) === JSON.stringify(b) || stableText(a) === stableText(b)
}

/** Equal values have equal text. Not the canonical form that is hashed; that one belongs to the format. */
export function stableText(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(stableText).join(',')}]`
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${stableText(item)}`)
  return `{${members.join(',')}}`
}
