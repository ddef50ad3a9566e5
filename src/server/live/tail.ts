// The newest entries of all plans in memory, serialised once for all: subscribers that are up to date read here without a query.
// Bounded in number and size; a subscriber that falls behind reads from the store.

import type { PlanFacts } from '../../domain/views/announcement.ts'
import { type Entry, firstAfter, type Position } from '../../stores/store.ts'
import type { LiveFolds } from './entry-states.ts'
import { DOTTED, entryFrames, type Naming } from './sse.ts'

const CHARS_MAX = 4_000_000

const positionOf = ({ entry }: LiveEntry): Position => entry.position

export class LiveEntry {
  readonly entry: Entry
  readonly facts: PlanFacts
  readonly chars: number
  readonly #folds: LiveFolds
  readonly #frames = new Map<string, Promise<readonly string[]>>()

  constructor(entry: Entry, facts: PlanFacts, folds: LiveFolds) {
    this.entry = entry
    this.facts = facts
    this.#folds = folds
    const frames = entryFrames(DOTTED, entry, facts, null)
    this.#frames.set(DOTTED.key, Promise.resolve(frames))
    this.chars = frames.reduce((sum, text) => sum + text.length, 0)
  }

  frames(naming: Naming): Promise<readonly string[]> {
    const known = this.#frames.get(naming.key)
    if (known !== undefined) return known
    const made = this.#folds.before(this.entry, state => entryFrames(naming, this.entry, this.facts, state))
    this.#frames.set(naming.key, made)
    return made
  }
}

export class LiveTail {
  #items: LiveEntry[] = []
  readonly #kept: number
  #chars = 0
  #start: Position
  #end: Position

  constructor(end: Position, kept: number) {
    this.#kept = kept
    this.#end = end
    this.#start = end
  }

  get end(): Position {
    return this.#end
  }

  /** Every entry behind this position and up to the end is here. */
  get start(): Position {
    return this.#start
  }

  /** The first entry behind a position from `start` on; null at the end. */
  after(position: Position): LiveEntry | null {
    return this.#items[firstAfter(this.#items, position, positionOf)] ?? null
  }

  /** Entries are pushed in order, without leaving one out. */
  push(item: LiveEntry): void {
    const { position } = item.entry
    if (position <= this.#end) return
    this.#end = position
    this.#items.push(item)
    this.#chars += item.chars
    if (this.#items.length <= this.#kept && this.#chars <= CHARS_MAX) return
    // A quarter of them together, because repeated shifting costs more.
    let [count, chars] = [this.#items.length > this.#kept ? Math.ceil(this.#kept / 4) : 0, this.#chars]
    for (let at = 0; at < this.#items.length && (at < count || chars > CHARS_MAX); at++) {
      count = Math.max(count, at + 1)
      chars -= this.#items[at]!.chars
    }
    this.#start = this.#items[count - 1]!.entry.position
    this.#items = this.#items.slice(count)
    this.#chars = chars
  }

  forget(end: Position): void {
    this.#items = []
    this.#chars = 0
    this.#end = end
    this.#start = end
  }
}
