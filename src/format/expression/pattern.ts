// Regular expressions in linear time, for `matches()`. JavaScript's own engine backtracks and can be made to hang by one
// line of a plan; this one walks all alternatives at once (Thompson), so its work is text length times pattern length.
// The subset of RE2 people use in plans: literals, `.`, classes, `\d \w \s \b`, `^ $`, groups, `|`, `* + ? {m,n}`.
// Back-references and look-around do not exist here; a pattern with them is refused with a hint.

/** A compiled pattern; a state is a character test, a split, an assertion or the end. */
export type Pattern = { readonly states: readonly State[]; readonly start: number }

export type CharTest = (code: number) => boolean
export type State =
  | { readonly type: 'char'; readonly test: CharTest; next: number }
  | { readonly type: 'split'; next: number; other: number }
  | { readonly type: 'assert'; readonly holds: (text: string, at: number) => boolean; next: number }
  | { readonly type: 'match' }

export class PatternError extends Error {}

export const TEXT_MAX = 100_000

/** Does the pattern occur anywhere in the text? `spend` is told the states visited, so that the caller can bound them. */
export function matchesPattern(pattern: Pattern, text: string, spend: (states: number) => void): boolean {
  if (text.length > TEXT_MAX) throw new PatternError(`the text is longer than ${TEXT_MAX} characters`)
  const { states } = pattern
  const seenAt = new Int32Array(states.length).fill(-1)
  // A state is pushed at most once by each of its neighbours, and no state has more than two ways out.
  const stack = new Int32Array(states.length * 3 + 1)
  const ready = new Int32Array(states.length)
  let waiting = 0
  for (let at = 0; ; at++) {
    // Every position may begin a match: the start state joins those that came from earlier positions.
    stack[waiting++] = pattern.start
    let count = 0
    let visited = 0
    while (waiting > 0) {
      const index = stack[--waiting] as number
      if (seenAt[index] === at) continue
      seenAt[index] = at
      visited++
      const state = states[index] as State
      if (state.type === 'match') return true
      if (state.type === 'char') ready[count++] = index
      else if (state.type === 'split') {
        stack[waiting++] = state.next
        stack[waiting++] = state.other
      } else if (state.holds(text, at)) stack[waiting++] = state.next
    }
    spend(visited)
    if (at >= text.length) return false
    const code = text.charCodeAt(at)
    for (let one = 0; one < count; one++) {
      const state = states[ready[one] as number] as State & { type: 'char' }
      if (state.test(code)) stack[waiting++] = state.next
    }
  }
}
