// The newest entries of all plans in memory, serialised once for all: subscribers that are up to date read here without a query.
// Bounded in number and size; a subscriber that falls behind reads from the store.

import type { PlanFacts } from '../../domain/views/announcement.ts'
import type { Entry, Position } from '../../stores/store.ts'
import type { LiveFolds } from './entry-states.ts'
import { DOTTED, entryFrames, type Naming } from './sse.ts'

const CHARS_MAX = 4_000_000

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
  readonly #items = new Map<Position, LiveEntry>()
  readonly #kept: number
  #chars = 0
  #begin: Position
  #end: Position

  constructor(end: Position, kept: number) {
    this.#kept = kept
    this.#end = end
    this.#begin = end + 1
  }

  get end(): Position {
    return this.#end
  }

  /** The first position available here; past the end if empty. */
  get begin(): Position {
    return this.#begin
  }

  /** Null if the entry is older than the tail, or not in it yet. */
  at(position: Position): LiveEntry | null {
    return this.#items.get(position) ?? null
  }

  push(item: LiveEntry): void {
    const { position } = item.entry
    if (position <= this.#end) return
    // Positions are missing because a plan was pruned before its last entries were read; the tail restarts behind them.
    if (position !== this.#end + 1) this.forget(position - 1)
    this.#end = position
    this.#items.set(position, item)
    this.#chars += item.chars
    while (this.#items.size > this.#kept || this.#chars > CHARS_MAX) {
      this.#chars -= this.#items.get(this.#begin)!.chars
      this.#items.delete(this.#begin++)
    }
  }

  forget(end: Position): void {
    this.#items.clear()
    this.#chars = 0
    this.#end = end
    this.#begin = end + 1
  }
}
