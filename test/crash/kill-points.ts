// Which of many kill points the ordinary run takes. `npm run crash` and `npm run soak` take all; the ordinary run takes the first and
// a few that stand far apart, the same ones every time. `PLANFOLD_SHIFT=N` takes those that come N later.

export const ALL = process.env.PLANFOLD_CRASH === 'all'
export const SHIFT = Number(process.env.PLANFOLD_SHIFT ?? 0)

/** So many numbers from 1 to `count`, in equal steps. */
export function spread(count: number, most: number): readonly number[] {
  if (ALL || count <= most) return Array.from({ length: count }, (_, at) => at + 1)
  const step = count / most
  const first = SHIFT % Math.ceil(step)
  return Array.from({ length: most }, (_, at) => Math.min(count, 1 + first + Math.floor(at * step)))
}

/** So many of them, in equal steps. */
export const someOf = <T>(all: readonly T[], most: number): readonly T[] =>
  spread(all.length, most).map(at => all[at - 1]!)

/** Said with a failure, so that it can be had again. */
export const withShift = (): string => (ALL || SHIFT === 0 ? '' : `PLANFOLD_SHIFT=${SHIFT}`)
