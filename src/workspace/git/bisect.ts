// The search for the first bad one in an ordered list: commits, config toggles switched on one after the other, inputs. Pure:
// the state says what to try next, a verdict gives the next state. Everything before the culprit is good, everything from
// it on is bad; a candidate that cannot be tried is skipped.
//
//   good = index of the last known good (-1: before the list)        good ── … untried … ── bad
//   bad  = index of the first known bad (the last of the list, or its length when nobody has tried the last)

export type BisectVerdict = 'good' | 'bad' | 'skip'

export interface Bisection<T> {
  readonly candidates: readonly T[]
  readonly good: number
  readonly bad: number
  readonly skipped: ReadonlySet<number>
  readonly misses: number
  readonly probes: number
  readonly isFirstTried?: boolean
}

export type BisectStep<T> =
  | { readonly status: 'probe'; readonly index: number; readonly candidate: T; readonly remaining: number }
  | { readonly status: 'found'; readonly index: number; readonly culprit: T }
  /** Skipped ones stand before the first bad: it is one of these, in order. */
  | { readonly status: 'narrowed'; readonly suspects: readonly T[] }
  /** Nothing in the list is bad. */
  | { readonly status: 'clean' }

export interface BisectOptions {
  /** `known`: the last candidate is bad already. `unknown`: it is tried first. */
  readonly last?: 'known' | 'unknown'
  /** `unknown`: it is tried before those between the ends. */
  readonly first?: 'unknown'
}

export function startBisection<T>(candidates: readonly T[], options: BisectOptions = {}): Bisection<T> {
  const bad = options.last === 'unknown' ? candidates.length : Math.max(0, candidates.length - 1)
  return {
    candidates,
    good: -1,
    bad,
    skipped: new Set(),
    misses: 0,
    probes: 0,
    isFirstTried: options.first === 'unknown',
  }
}

export function nextProbe<T>(state: Bisection<T>): BisectStep<T> {
  const { candidates, good, bad } = state
  const last = candidates.length - 1
  if (candidates.length === 0 || good >= last) return { status: 'clean' }
  const probe = (index: number, remaining: number): BisectStep<T> => {
    return { status: 'probe', index, candidate: candidates[index]!, remaining }
  }
  if (bad > last && !state.skipped.has(last)) return probe(last, last - good)
  if (state.isFirstTried === true && good < 0 && bad > 0 && !state.skipped.has(0)) return probe(0, bad)
  const untried: number[] = []
  for (let index = good + 1; index < bad; index++) if (!state.skipped.has(index)) untried.push(index)
  if (untried.length > 0) {
    // The middle; after skips somewhere else, since what cannot be tried mostly has neighbours that cannot either.
    const at = Math.min(untried.length - 1, Math.floor(untried.length * scattered(state.misses)))
    return probe(untried[at]!, untried.length)
  }
  if (bad <= last && bad - good === 1) return { status: 'found', index: bad, culprit: candidates[bad]! }
  return { status: 'narrowed', suspects: candidates.slice(good + 1, Math.min(bad, last) + 1) }
}

/** The state after a verdict about the probe; a verdict without a probe changes nothing. */
export function judgeProbe<T>(state: Bisection<T>, verdict: BisectVerdict): Bisection<T> {
  const step = nextProbe(state)
  if (step.status !== 'probe') return state
  const probes = state.probes + 1
  switch (verdict) {
    case 'good':
      return { ...state, good: step.index, misses: 0, probes }
    case 'bad':
      return { ...state, bad: step.index, misses: 0, probes }
    case 'skip':
      return { ...state, skipped: new Set([...state.skipped, step.index]), misses: state.misses + 1, probes }
    default:
      verdict satisfies never
      return state
  }
}

/** 1/2, 1/4, 3/4, 1/8, 5/8 …: each number falls into the widest gap left by those before it (van der Corput). */
function scattered(count: number): number {
  let [value, part] = [0, 0.5]
  for (let rest = count + 1; rest > 0; rest >>= 1) {
    if (rest & 1) value += part
    part /= 2
  }
  return value
}
