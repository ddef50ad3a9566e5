// One subscriber with a cursor of its own. It pulls entries: from the in-memory tail while up to date, from the store when
// behind. Nothing is queued per subscriber but a few progress messages. What was pruned before it was delivered is reported once.
//
//   up to date ──(an entry it wants)──► tail ──(falls behind its beginning)──► store ──(caught up)──► tail

import type { PlanId } from '../../domain/id.ts'
import type { PlanFacts } from '../../domain/views/announcement.ts'
import type { Feed } from '../../engine/engine.ts'
import { type Entry, type Position, StoreDamaged } from '../../stores/store.ts'
import { LiveFolds } from './entry-states.ts'
import { TickQueue } from './progress-events.ts'
import { type Cursor, frame, type Naming } from './sse.ts'
import { LiveEntry, type LiveTail } from './tail.ts'

export interface Wish {
  readonly naming: Naming
  readonly plan: PlanId | null
  wants(plan: PlanId, facts: PlanFacts): boolean
  /** `unknown`: the client sent an id that cannot be parsed. */
  readonly from: Cursor | 'now' | 'unknown'
  readonly ticks: boolean
}

export interface Around {
  readonly feed: Feed
  readonly tail: () => LiveTail
  readonly facts: (entry: Entry) => Promise<PlanFacts>
  readonly monotonic: () => number
  readonly isoNow: () => string
}

const PAGE_MAX = 64
const PASSED_MAX = 1_000
const PAGE_CHARS_MAX = 64_000

type Gap = 'pruned' | 'unknown' | 'damaged'

export class Subscriber {
  readonly wish: Wish
  readonly ticks: TickQueue | null
  readonly #around: Around
  #after: Position
  /** An entry behind `after` of which events were delivered, up to this index. */
  #partly: { readonly position: Position; readonly index: number } | null
  #gap: Gap | null
  #page: LiveEntry[] = []
  /** A different tail object means that plans were pruned, so entries read ahead may be stale. */
  #tail: LiveTail | null = null
  /** A separate cache, since this subscriber may be far behind the others. */
  readonly #folds: LiveFolds
  #limit = 1
  #version: number | null = null
  #wake: (() => void) | null = null
  #rung = false
  #beat = false

  private constructor(around: Around, wish: Wish, at: { after: Position; gap: Gap | null }) {
    this.#around = around
    this.wish = wish
    this.#folds = new LiveFolds(around.feed.entries)
    this.#after = at.after
    const { from } = wish
    this.#partly =
      at.gap === null && typeof from === 'object' && from.index !== null ? { ...from, index: from.index } : null
    this.#gap = at.gap
    this.ticks = wish.ticks ? new TickQueue(around.monotonic, () => this.ring()) : null
  }

  static async open(around: Around, wish: Wish): Promise<Subscriber> {
    const end = await around.feed.position()
    const { from } = wish
    if (from === 'now') return new Subscriber(around, wish, { after: end, gap: null })
    if (from === 'unknown' || from.position > end) return new Subscriber(around, wish, { after: end, gap: 'unknown' })
    const after = from.index === null ? from.position : from.position - 1
    return new Subscriber(around, wish, { after, gap: null })
  }

  get cursor(): Cursor {
    return this.#partly ?? { position: this.#after, index: null }
  }

  /** The next frames; null if there are none yet. An empty list: only entries for others passed, and a heartbeat is due. */
  async next(): Promise<readonly string[] | null> {
    for (let passed = 0; passed < PASSED_MAX; ) {
      if (this.#gap !== null) return [await this.#resync(this.#gap)]
      const item = await this.#item()
      if (item === null) return null
      if (item === 'read on') continue
      if (!(item instanceof LiveEntry)) {
        this.#gap = item
        continue
      }
      const { position } = item.entry
      const skipped = this.#partly?.position === position ? this.#partly.index + 1 : 0
      this.#after = position
      this.#partly = null
      passed++
      if (!this.wish.wants(item.entry.plan, item.facts)) continue
      const frames = await item.frames(this.wish.naming)
      if (skipped < frames.length) return skipped === 0 ? frames : frames.slice(skipped)
    }
    return []
  }

  /** Offers the entries behind `from`. A waiting subscriber that wants none of them advances its cursor without waking up. */
  offer(items: readonly LiveEntry[], from: Position): void {
    if (this.#wake === null) {
      this.#rung = true
      return
    }
    if (this.#after < from) return this.ring()
    for (const { entry, facts } of items) {
      if (entry.position <= this.#after) continue
      if (this.wish.wants(entry.plan, facts)) return this.ring()
      this.#after = entry.position
      this.#partly = null
    }
  }

  beat(): void {
    this.#beat = true
    this.ring()
  }

  takeBeat(): boolean {
    const beat = this.#beat
    this.#beat = false
    return beat
  }

  ring(): void {
    this.#rung = true
    this.#wake?.()
    this.#wake = null
  }

  async wait(): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    this.#rung = false
  }

  async #item(): Promise<LiveEntry | Gap | 'read on' | null> {
    const tail = this.#around.tail()
    if (tail !== this.#tail) {
      this.#tail = tail
      this.#page = []
      this.#folds.forget()
      return (await this.#isPruned()) ? 'pruned' : 'read on'
    }
    if (this.#after >= tail.end) return null
    if (this.#after >= tail.start) {
      this.#page = []
      this.#folds.forget()
      this.#limit = 1
      this.#version = null
      return tail.after(this.#after)
    }
    try {
      return this.wish.plan === null ? await this.#behind() : await this.#behindIn(this.wish.plan, tail.end)
    } catch (error) {
      if (error instanceof StoreDamaged) return 'damaged'
      throw error
    }
  }

  /** Of all plans. */
  async #behind(): Promise<LiveEntry | Gap> {
    if (this.#page.length === 0) {
      await this.#readPage(limit => this.#around.feed.since(this.#after, limit))
      // Asked after the page was read: what is pruned later is in it.
      if (await this.#isPruned()) return 'pruned'
    }
    return this.#page.shift() ?? 'pruned'
  }

  /** Were entries of any plan pruned that this subscriber has not passed? The journal of one plan is there as a whole, or not at all. */
  async #isPruned(): Promise<boolean> {
    return this.wish.plan === null && (await this.#around.feed.pruned(this.#after)) > 0
  }

  /** Of one plan. Its journal is complete and is read by version, however much other plans wrote meanwhile. */
  async #behindIn(plan: PlanId, end: Position): Promise<LiveEntry | 'read on'> {
    if (this.#page.length === 0) {
      const version = this.#version ?? (await this.#versionIn(plan))
      this.#version = version
      await this.#readPage(limit => this.#around.feed.entries(plan, version, limit))
    }
    const item = this.#page.shift()
    if (item === undefined) {
      this.#after = Math.max(this.#after, end)
      this.#version = null
      return 'read on'
    }
    this.#version = item.entry.version
    return item
  }

  async #readPage(read: (limit: number) => Promise<readonly Entry[]>): Promise<void> {
    // Yields to other clients while far behind.
    await new Promise(resolve => setImmediate(resolve))
    const entries = await read(this.#limit)
    const { facts } = this.#around
    this.#page = await Promise.all(entries.map(async entry => new LiveEntry(entry, await facts(entry), this.#folds)))
    const chars = this.#page.reduce((sum, item) => sum + item.chars, 0)
    this.#limit = chars > PAGE_CHARS_MAX ? 1 : Math.min(PAGE_MAX, this.#limit * 2)
  }

  async #versionIn(plan: PlanId): Promise<number> {
    const isDelivered = async (version: number): Promise<boolean> => {
      const [entry] = await this.#around.feed.entries(plan, version - 1, 1)
      return entry !== undefined && entry.position <= this.#after
    }
    if (this.#after === 0) return 0
    let high = 1
    while (await isDelivered(high)) high *= 2
    let low = Math.floor(high / 2)
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (await isDelivered(middle)) low = middle
      else high = middle
    }
    return low
  }

  async #resync(reason: Gap): Promise<string> {
    const position = await this.#around.feed.position()
    this.#after = position
    this.#partly = null
    this.#gap = null
    this.#page = []
    this.#version = null
    const data = { reason, position, hint: HINTS[reason] }
    const at = this.#around.isoNow()
    const resync = this.wish.naming.resync(data, at)
    return frame(resync.name, resync.data, String(position))
  }
}

const HINTS: { readonly [reason in Gap]: string } = {
  pruned: 'what you missed was pruned: read again what you show',
  unknown: 'there is no such id in the event log: read everything again',
  damaged: 'an entry cannot be read: check the store where the service runs, and read again what you show',
}
