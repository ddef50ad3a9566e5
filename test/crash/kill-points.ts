// Which of many kill points the ordinary run takes. `npm run crash` and `npm run soak` take all; the ordinary run takes a few that stand
// far apart, and other ones each day. `PLANFOLD_DAY=N` has those of another day again.

export const ALL = process.env.PLANFOLD_CRASH === 'all'
export const DAY = Number(process.env.PLANFOLD_DAY ?? Math.floor(Date.now() / 86_400_000))

/** So many numbers from 1 to `count`, in equal steps; each number has its day. */
export function spread(count: number, most: number): readonly number[] {
  if (ALL || count <= most) return Array.from({ length: count }, (_, at) => at + 1)
  const step = count / most
  const first = DAY % Math.ceil(step)
  return Array.from({ length: most }, (_, at) => Math.min(count, 1 + first + Math.floor(at * step)))
}

/** So many of them, in equal steps. */
export const someOf = <T>(all: readonly T[], most: number): readonly T[] =>
  spread(all.length, most).map(at => all[at - 1]!)

/** Said with a failure, so that it can be had again. */
export const ofToday = (): string => (ALL ? '' : `PLANFOLD_DAY=${DAY}`)
