// A length of time in the two units that matter: `90000` -> `1m 30s`.

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
