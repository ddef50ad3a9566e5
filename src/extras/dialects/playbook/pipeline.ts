// A pipeline: capability calls with named results, `search(query) -> top10; fetch(top10) -> docs`. The planning playbook writes commands so.
//
//   pipeline  = call { (";" | newline) call }
//   call      = ["run"] name "(" [ argument { "," argument } ] ")" [ "->" name ]
//   argument  = [ name ("=" | ":") ] value
//   value     = "[" [ value { "," value } ] "]" | text in quotes | number | true | false | null | name
//
// A text that is not wholly this is prose, and stays an instruction for whoever carries the task out. Nothing here is ever
// given to a shell. One pass, no going back: the work grows with the length of the text and nothing else.

import type { Json } from '../../../domain/json.ts'

export interface Call {
  /** `run` says: carry it out, once for each combination of the lists in it. */
  readonly run: boolean
  readonly name: string
  readonly args: readonly Argument[]
  /** What later calls know the result by. */
  readonly result: string | null
}

export interface Argument {
  readonly key: string | null
  readonly value: Value
}

export type Value =
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'literal'; readonly value: string | number | boolean | null }
  | { readonly type: 'list'; readonly items: readonly Value[] }

export type Pipeline = { readonly ok: true; readonly calls: readonly Call[] } | { readonly ok: false }

const TEXT_MAX = 100_000
const CALLS_MAX = 1_000
const LISTS_MAX_DEPTH = 8

/** The calls a text consists of; not ok when it is prose. Never throws. */
export function readPipeline(text: string): Pipeline {
  if (text.length > TEXT_MAX) return PROSE
  const reader = new Reader(text)
  const calls: Call[] = []
  while (reader.separators()) {
    const call = calls.length < CALLS_MAX ? reader.call() : null
    if (call === null) return PROSE
    calls.push(call)
    if (!reader.atSeparator()) return PROSE
  }
  return calls.length === 0 ? PROSE : { ok: true, calls }
}

/** The combinations a `run` asks for: each named list in it is an axis. Null when there is none. */
export function matrixOf(calls: readonly Call[]): { readonly [axis: string]: readonly Json[] } | null {
  const axes = new Map<string, readonly Json[]>()
  for (const { run, name, args } of calls) {
    if (!run) continue
    for (const { key, value } of args) {
      if (key === null || value.type !== 'list' || value.items.length === 0 || !AXIS.test(key)) continue
      const values = value.items.map(plain)
      const known = axes.get(key)
      // Two calls may mean different things by one word.
      const axis = known === undefined || same(known, values) ? key : `${name.replace(/\W/g, '_')}_${key}`
      if (AXIS.test(axis)) axes.set(axis, values)
    }
  }
  return axes.size === 0 ? null : Object.fromEntries(axes)
}

/** Lists of a `run` that hold nothing, so that there is nothing to run over. */
export function emptyAxes(calls: readonly Call[]): readonly { readonly call: string; readonly axis: string }[] {
  return calls.flatMap(({ run, name, args }) =>
    args.flatMap(({ key, value }) =>
      run && key !== null && value.type === 'list' && value.items.length === 0 ? [{ call: name, axis: key }] : [],
    ),
  )
}

/** The results the calls give names to. */
export function resultsOf(calls: readonly Call[]): readonly string[] {
  return [...new Set(calls.flatMap(({ result }) => (result === null ? [] : [result])))]
}

export interface Unproduced {
  readonly name: string
  /** The call that uses it. */
  readonly call: string
  /** The call that produces it, but only afterwards. */
  readonly later: string | null
}

/** Names that are used as values before anything gave them one; `isKnown` are inputs and results from elsewhere. */
export function unproduced(calls: readonly Call[], isKnown: (name: string) => boolean): readonly Unproduced[] {
  const there = new Set<string>()
  const producers = new Map(calls.map(({ result, name }) => [result, name] as const))
  const found = new Map<string, Unproduced>()
  for (const { name: call, args, result } of calls) {
    for (const { key, value } of args) {
      // Behind a key stands a word of the capability (`order: newest`), not necessarily a result.
      if (key !== null || value.type !== 'name' || there.has(value.name) || found.has(value.name)) continue
      if (isKnown(value.name)) continue
      // Nothing before produced it, so whoever does comes later.
      found.set(value.name, { name: value.name, call, later: producers.get(value.name) ?? null })
    }
    if (result !== null) there.add(result)
  }
  return [...found.values()]
}

const PROSE: Pipeline = { ok: false }
/** Not one of the names that JavaScript keeps for itself. */
const AXIS = /^(?!(?:__proto__|constructor|prototype)$)[A-Za-z_]\w{0,99}$/
const NAME = /[A-Za-z_][\w.-]*/y
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.-])/y
const BLANKS = /\s*/y
const SPACES = /[^\S\n]*/y
const SEPARATORS = /[\s;]*/y
const WORDS: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
])

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Goes over separators; false at the end. */
  separators(): boolean {
    this.#match(SEPARATORS)
    return this.#at < this.#text.length
  }

  /** After a call: the end, or a separator. */
  atSeparator(): boolean {
    this.#match(SPACES)
    return this.#at >= this.#text.length || this.#text[this.#at] === ';' || this.#text[this.#at] === '\n'
  }

  call(): Call | null {
    let name = this.#name()
    if (name === null) return null
    const gap = this.#match(SPACES) ?? ''
    const second = name === 'run' && gap !== '' ? this.#name() : null
    if (second !== null) name = second
    if (!this.#sign('(')) return null
    const args = this.#args()
    if (args === null) return null
    const here = this.#at
    this.#match(BLANKS)
    let result: string | null = null
    if (this.#text.startsWith('->', this.#at)) {
      this.#at += 2
      this.#match(BLANKS)
      result = this.#name()
      if (result === null) return null
    } else this.#at = here
    return { run: second !== null, name, args, result }
  }

  #args(): readonly Argument[] | null {
    return this.#items(')', () => this.#argument())
  }

  #argument(): Argument | null {
    const here = this.#at
    const key = this.#name()
    if (key !== null) {
      this.#match(BLANKS)
      const sign = this.#text[this.#at]
      if (sign === ':' || (sign === '=' && this.#text[this.#at + 1] !== '=')) {
        this.#at++
        const value = this.#value(0)
        return value === null ? null : { key, value }
      }
      this.#at = here
    }
    const value = this.#value(0)
    return value === null ? null : { key: null, value }
  }

  #value(depth: number): Value | null {
    this.#match(BLANKS)
    const sign = this.#text[this.#at]
    if (sign === '[') {
      if (depth >= LISTS_MAX_DEPTH) return null
      this.#at++
      const items = this.#items(']', () => this.#value(depth + 1))
      return items === null ? null : { type: 'list', items }
    }
    if (sign === '"' || sign === "'") {
      const value = this.#quoted(sign)
      return value === null ? null : { type: 'literal', value }
    }
    const number = this.#match(NUMBER)
    if (number !== null) {
      const value = Number(number)
      return Number.isFinite(value) ? { type: 'literal', value: value === 0 ? 0 : value } : null
    }
    const name = this.#name()
    if (name === null) return null
    const word = WORDS.get(name)
    return word === undefined ? { type: 'name', name } : { type: 'literal', value: word }
  }

  /** What stands between here and the closing sign, with commas between. */
  #items<T>(close: string, read: () => T | null): readonly T[] | null {
    const items: T[] = []
    this.#match(BLANKS)
    if (this.#sign(close)) return items
    for (;;) {
      this.#match(BLANKS)
      const item = read()
      if (item === null) return null
      items.push(item)
      this.#match(BLANKS)
      if (this.#sign(close)) return items
      if (!this.#sign(',')) return null
    }
  }

  #quoted(quote: string): string | null {
    let value = ''
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const sign = this.#text[at] as string
      if (sign === quote) {
        this.#at = at + 1
        return value
      }
      if (sign !== '\\') value += sign
      else {
        const escaped = this.#text[++at]
        if (escaped === undefined) return null
        value += escaped === 'n' ? '\n' : escaped === 't' ? '\t' : escaped
      }
    }
    return null
  }

  #name(): string | null {
    return this.#match(NAME)
  }

  #sign(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false
    this.#at++
    return true
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? null
    if (found !== null) this.#at += found.length
    return found
  }
}

function plain(value: Value): Json {
  if (value.type === 'list') return value.items.map(plain)
  return value.type === 'name' ? value.name : value.value
}

function same(a: readonly Json[], b: readonly Json[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
