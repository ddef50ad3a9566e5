// The search for the first bad item in an ordered list: commits, configuration changes, inputs. Pure: the state has the next candidate, and
// a verdict yields the next state. Everything before the culprit is good, everything from it on is bad; a candidate that cannot be
// tested is skipped.
//
//   good = index of the last known good (-1: before the list)        good ── … untried … ── bad
//   bad  = index of the first known bad (the last of the list, or its length when the last is untested)

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
  /** Candidates before the known bad one were skipped: the first bad one is among these, in order. */
  | { readonly status: 'narrowed'; readonly suspects: readonly T[] }
  | { readonly status: 'clean' }

export interface BisectOptions {
  /** `known`: the last candidate is bad. `unknown`: it is tested first. */
  readonly last?: 'known' | 'unknown'
  /** `unknown`: it is tested before the candidates between the ends. */
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
    // The middle; after skips elsewhere, because neighbours of an untestable candidate are often untestable too.
    const at = Math.min(untried.length - 1, Math.floor(untried.length * scattered(state.misses)))
    return probe(untried[at]!, untried.length)
  }
  if (bad <= last && bad - good === 1) return { status: 'found', index: bad, culprit: candidates[bad]! }
  return { status: 'narrowed', suspects: candidates.slice(good + 1, Math.min(bad, last) + 1) }
}

/** A verdict without a candidate changes nothing. */
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

/** 1/2, 1/4, 3/4, 1/8, 5/8 …: each falls into the widest gap between the earlier ones (van der Corput). */
function scattered(count: number): number {
  let [value, part] = [0, 0.5]
  for (let rest = count + 1; rest > 0; rest >>= 1) {
    if (rest & 1) value += part
    part /= 2
  }
  return value
}
