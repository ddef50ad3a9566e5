// Reads the text of a pattern into the machine that pattern.ts walks: Thompson's construction, one state per character test.

// Regular expressions in linear time, for `matches()`. JavaScript's own engine backtracks and can be made to hang by one
// line of a plan; this one walks all alternatives at once (Thompson), so its work is text length times pattern length.
// The subset of RE2 people use in plans: literals, `.`, classes, `\d \w \s \b`, `^ $`, groups, `|`, `* + ? {m,n}`.
// Back-references and look-around do not exist here; a pattern with them is refused with a hint.

/** A compiled pattern; a state is a character test, a split, an assertion or the end. */
export type Pattern = { readonly states: readonly State[]; readonly start: number }

type CharTest = (code: number) => boolean
type State =
  | { readonly type: 'char'; readonly test: CharTest; next: number }
  | { readonly type: 'split'; next: number; other: number }
  | { readonly type: 'assert'; readonly holds: (text: string, at: number) => boolean; next: number }
  | { readonly type: 'match' }

export class PatternError extends Error {}

const TEXT_MAX = 100_000

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

const PATTERN_MAX = 1_000
const STATES_MAX = 1_000

export function compilePattern(source: string): Pattern {
  if (source.length > PATTERN_MAX) throw new PatternError(`the pattern is longer than ${PATTERN_MAX} characters`)
  return new PatternReader(source).read()
}

/** A piece of the machine under construction: where it starts, and which loose ends are to be joined to what follows. */
type Fragment = { readonly start: number; readonly ends: readonly ((to: number) => void)[] }

class PatternReader {
  readonly #source: string
  readonly #states: State[] = []
  #at = 0
  #depth = 0

  constructor(source: string) {
    this.#source = source
  }

  read(): Pattern {
    const whole = this.#alternatives()
    if (this.#at < this.#source.length) throw new PatternError(`unexpected '${this.#source[this.#at]}' in the pattern`)
    join(whole, this.#add({ type: 'match' }))
    return { states: this.#states, start: whole.start }
  }

  #add(state: State): number {
    if (this.#states.length >= STATES_MAX) throw new PatternError('the pattern is too large')
    return this.#states.push(state) - 1
  }

  #alternatives(): Fragment {
    if (++this.#depth > 50) throw new PatternError('the pattern is nested too deeply')
    let left = this.#sequence()
    while (this.#source[this.#at] === '|') {
      this.#at++
      const right = this.#sequence()
      left = {
        start: this.#add({ type: 'split', next: left.start, other: right.start }),
        ends: [...left.ends, ...right.ends],
      }
    }
    this.#depth--
    return left
  }

  #sequence(): Fragment {
    let sequence: Fragment | null = null
    while (this.#at < this.#source.length && this.#source[this.#at] !== '|' && this.#source[this.#at] !== ')') {
      const piece = this.#repeated()
      if (sequence === null) sequence = piece
      else {
        join(sequence, piece.start)
        sequence = { start: sequence.start, ends: piece.ends }
      }
    }
    return sequence ?? this.#assertion(() => true)
  }

  /** An atom with its quantifier. Counted repetition is written out, so it is bounded by the number of states. */
  #repeated(): Fragment {
    const from = this.#at
    const atom = this.#atom()
    const bounds = this.#quantifier()
    if (bounds === null) return atom
    if (this.#source[this.#at] === '?') this.#at++ // Lazy or greedy makes no difference to whether it matches.
    if (/[*+?]/.test(this.#source[this.#at] ?? '')) throw new PatternError('a quantifier follows a quantifier')
    const after = this.#at
    const again = (): Fragment => {
      this.#at = from
      const copy = this.#atom()
      this.#at = after
      return copy
    }
    return this.#times(atom, again, bounds.min, bounds.max)
  }

  #times(first: Fragment, again: () => Fragment, min: number, max: number): Fragment {
    if (max === 0) return this.#assertion(() => true)
    if (min === 0 && max === Number.POSITIVE_INFINITY) return this.#star(first)
    if (min === 0) return this.#maybe(first, max === 1 ? null : this.#times(again(), again, 0, max - 1))
    if (min === 1 && max === 1) return first
    const rest =
      max === Number.POSITIVE_INFINITY && min === 1
        ? this.#star(again())
        : this.#times(again(), again, min - 1, max - 1)
    join(first, rest.start)
    return { start: first.start, ends: rest.ends }
  }

  #star(body: Fragment): Fragment {
    const split: State & { type: 'split' } = { type: 'split', next: body.start, other: -1 }
    const start = this.#add(split)
    join(body, start)
    return {
      start,
      ends: [
        to => {
          split.other = to
        },
      ],
    }
  }

  #maybe(body: Fragment, rest: Fragment | null): Fragment {
    const split: State & { type: 'split' } = { type: 'split', next: body.start, other: -1 }
    const start = this.#add(split)
    if (rest !== null) join(body, rest.start)
    return {
      start,
      ends: [
        ...(rest === null ? body : rest).ends,
        to => {
          split.other = to
        },
      ],
    }
  }

  #quantifier(): { min: number; max: number } | null {
    const sign = this.#source[this.#at]
    if (sign === '*' || sign === '+' || sign === '?') {
      this.#at++
      return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Number.POSITIVE_INFINITY }
    }
    const counted = /^\{(\d{1,4})(?:(,)(\d{1,4})?)?\}/.exec(this.#source.slice(this.#at, this.#at + 12))
    if (counted === null) return null
    this.#at += counted[0].length
    const min = Number(counted[1])
    const max =
      counted[2] === undefined ? min : counted[3] === undefined ? Number.POSITIVE_INFINITY : Number(counted[3])
    if (max < min) throw new PatternError(`the repetition ${counted[0]} ends before it begins`)
    return { min, max }
  }

  #atom(): Fragment {
    const sign = this.#source[this.#at++] as string
    if (sign === '(') return this.#group()
    if (sign === '[') return this.#char(this.#charClass())
    if (sign === '.') return this.#char(code => code !== 10)
    if (sign === '^') return this.#assertion((_, at) => at === 0)
    if (sign === '$') return this.#assertion((text, at) => at === text.length)
    if (sign === '\\') {
      if (this.#source[this.#at] === 'b' || this.#source[this.#at] === 'B') {
        const inverted = this.#source[this.#at++] === 'B'
        return this.#assertion((text, at) => isBoundary(text, at) !== inverted)
      }
      return this.#char(this.#escape())
    }
    if (sign === '*' || sign === '+' || sign === '?') throw new PatternError(`nothing to repeat before '${sign}'`)
    const literal = sign.charCodeAt(0)
    return this.#char(code => code === literal)
  }

  #group(): Fragment {
    if (this.#source[this.#at] === '?') {
      if (this.#source[this.#at + 1] !== ':') throw new PatternError('look-around and named groups are not supported')
      this.#at += 2
    }
    const inner = this.#alternatives()
    if (this.#source[this.#at++] !== ')') throw new PatternError("a group is not closed with ')'")
    return inner
  }

  #charClass(): CharTest {
    const inverted = this.#source[this.#at] === '^'
    if (inverted) this.#at++
    const tests: CharTest[] = []
    for (let first = true; first || this.#source[this.#at] !== ']'; first = false) {
      if (this.#at >= this.#source.length) throw new PatternError("a class is not closed with ']'")
      const low = this.#classItem()
      const ranged =
        this.#source[this.#at] === '-' && this.#source[this.#at + 1] !== ']' && this.#at + 1 < this.#source.length
      if (typeof low === 'number' && ranged) {
        this.#at++
        const high = this.#classItem()
        if (typeof high !== 'number' || high < low) throw new PatternError('a range in a class is out of order')
        tests.push(code => code >= low && code <= high)
      } else tests.push(typeof low === 'number' ? code => code === low : low)
    }
    this.#at++
    return code => tests.some(test => test(code)) !== inverted
  }

  #classItem(): number | CharTest {
    const sign = this.#source[this.#at++] as string
    if (sign !== '\\') return sign.charCodeAt(0)
    if (this.#source[this.#at] === 'b') {
      this.#at++
      return 8
    }
    const literal = this.#escapedLiteral()
    return literal ?? this.#escape()
  }

  #escapedLiteral(): number | null {
    const sign = this.#source[this.#at]
    if (sign === undefined || /[dwsDWS]/.test(sign)) return null
    const control = CONTROLS[sign]
    if (control === undefined && /[a-z0-9]/i.test(sign)) return null
    this.#at++
    return control ?? sign.charCodeAt(0)
  }

  #escape(): CharTest {
    const sign = this.#source[this.#at]
    if (sign === undefined) throw new PatternError('the pattern ends with a backslash')
    const shorthand = SHORTHANDS[sign.toLowerCase()]
    if (shorthand !== undefined) {
      this.#at++
      return sign === sign.toLowerCase() ? shorthand : code => !shorthand(code)
    }
    const literal = this.#escapedLiteral()
    if (literal === null) throw new PatternError(`'\\${sign}' is not supported in patterns`)
    return code => code === literal
  }

  #char(test: CharTest): Fragment {
    const state: State & { type: 'char' } = { type: 'char', test, next: -1 }
    return {
      start: this.#add(state),
      ends: [
        to => {
          state.next = to
        },
      ],
    }
  }

  #assertion(holds: (text: string, at: number) => boolean): Fragment {
    const state: State & { type: 'assert' } = { type: 'assert', holds, next: -1 }
    return {
      start: this.#add(state),
      ends: [
        to => {
          state.next = to
        },
      ],
    }
  }
}

function join(fragment: Fragment, to: number): void {
  for (const end of fragment.ends) end(to)
}

const CONTROLS: { readonly [sign: string]: number } = { n: 10, r: 13, t: 9, f: 12, v: 11 }
const isWord: CharTest = code =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95
const SHORTHANDS: { readonly [sign: string]: CharTest } = {
  d: code => code >= 48 && code <= 57,
  w: isWord,
  s: code => code === 32 || (code >= 9 && code <= 13),
}

function isBoundary(text: string, at: number): boolean {
  const before = at > 0 && isWord(text.charCodeAt(at - 1))
  const after = at < text.length && isWord(text.charCodeAt(at))
  return before !== after
}
