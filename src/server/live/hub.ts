// Receives every commit, of this process and of others, and distributes it to the subscribers. It subscribes before it reads, so
// no commit is missed, and reads by position, so none is delivered twice. Without subscribers it makes no queries.

import type { PlanId } from '../../domain/id.ts'
import type { PlanFacts } from '../../domain/views/announcement.ts'
import type { Feed } from '../../engine/engine.ts'
import { type Caller, isPlanInScope, requireRight, type Scope } from '../../engine/roles.ts'
import { type Entry, type Position, StoreDamaged } from '../../stores/store.ts'
import type { ServerLimits } from '../limits.ts'
import type { Log } from '../monitoring/log.ts'
import { LiveFolds } from './entry-states.ts'
import { outputTick, progressTick } from './progress-events.ts'
import { Subscriber, type Wish } from './subscriber.ts'
import { LiveEntry, LiveTail } from './tail.ts'

export interface LiveOptions {
  readonly feed: Feed
  readonly log: Log
  readonly now: () => number
  readonly monotonic: () => number
  readonly limits: Pick<ServerLimits, 'streams' | 'heartbeatMs'>
  readonly kept?: number
}

interface Listening {
  readonly ready: Promise<void>
  stop(): void
}

const PAGE = 32
const KEPT = 1_000
const PREFILL = 64
const FACTS_MAX = 5_000
const OUTPUT_PAGE = 50
const PROGRESS_EVERY_MS = 250
const PROGRESS_PLANS_MAX = 100

export class Live {
  readonly #options: LiveOptions
  readonly #subscribers = new Set<Subscriber>()
  readonly #streamCounts = new Map<string, number>()
  readonly #facts = new Map<PlanId, PlanFacts>()
  readonly #folds: LiveFolds
  #tail = new LiveTail(0, 0)
  #pruned = 0
  #listening: Listening | null = null
  #pumping = false
  #moved = false
  #output: number | null = null
  /** Plans with a pending progress message, with their last entry that counts. */
  #progress = new Map<PlanId, Pick<Entry, 'position' | 'version'> & { readonly isQuiet: boolean }>()
  /** The inbox of each plan when it was last read, to detect changes. */
  readonly #inboxes = new Map<PlanId, string>()
  #progressTimer: NodeJS.Timeout | null = null
  #progressAt = Number.NEGATIVE_INFINITY

  constructor(options: LiveOptions) {
    this.#options = options
    this.#folds = new LiveFolds(options.feed.entries)
  }

  get count(): number {
    return this.#subscribers.size
  }

  /** Reserves a stream for this token and returns its release; null if the token has reached its limit. */
  admit(token: string): (() => void) | null {
    const count = this.#streamCounts.get(token) ?? 0
    if (count >= this.#options.limits.streams) return null
    this.#streamCounts.set(token, count + 1)
    let isReserved = true
    return () => {
      if (!isReserved) return
      isReserved = false
      const left = this.#streamCounts.get(token)! - 1
      if (left === 0) this.#streamCounts.delete(token)
      else this.#streamCounts.set(token, left)
    }
  }

  async subscribe(caller: Caller, asked: Wish): Promise<Subscriber> {
    requireRight(caller, 'read')
    const wish = inScope(caller.scope, asked)
    const { feed, now, monotonic } = this.#options
    this.#listening ??= this.#listen()
    try {
      await this.#listening.ready
      // A new subscriber should not wait until commits of other processes are noticed.
      await this.#forgetPruned()
    } catch (error) {
      if (this.#subscribers.size === 0) this.#stop()
      throw error
    }
    const subscriber = await Subscriber.open(
      {
        feed,
        tail: () => this.#tail,
        facts: entry => this.#factsOf(entry),
        monotonic,
        isoNow: () => new Date(now()).toISOString(),
      },
      wish,
    )
    this.#subscribers.add(subscriber)
    this.#listening ??= this.#listen()
    this.#rouse()
    return subscriber
  }

  leave(subscriber: Subscriber): void {
    subscriber.ticks?.close()
    this.#subscribers.delete(subscriber)
    if (this.#subscribers.size === 0) this.#stop()
  }

  #listen(): Listening {
    const { feed, limits } = this.#options
    const stopListening = feed.onChange(() => this.#rouse())
    const heart = setInterval(() => {
      for (const subscriber of this.#subscribers) subscriber.beat()
      // A read that failed is tried again here, not only after the next commit.
      this.#rouse()
    }, limits.heartbeatMs)
    heart.unref()
    return {
      ready: this.#fill(),
      stop: () => {
        stopListening()
        clearInterval(heart)
      },
    }
  }

  #stop(): void {
    this.#listening?.stop()
    this.#listening = null
    this.#output = null
    this.#folds.forget()
    this.#progress.clear()
    this.#inboxes.clear()
    if (this.#progressTimer !== null) clearTimeout(this.#progressTimer)
    this.#progressTimer = null
    this.#tail.forget(this.#tail.end)
  }

  async #fill(): Promise<void> {
    const { feed, kept = KEPT } = this.#options
    this.#pruned = await feed.pruned()
    const end = await feed.position()
    const tail = new LiveTail(Math.max(0, end - Math.min(PREFILL, kept)), kept)
    try {
      for (const entry of await feed.since(tail.end, PREFILL))
        tail.push(new LiveEntry(entry, await this.#factsOf(entry), this.#folds))
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error
      tail.forget(end)
    }
    if (tail.end < end) tail.forget(end)
    this.#tail = tail
    for (const subscriber of this.#subscribers) subscriber.ring()
  }

  /** Drops pruned entries. Each subscriber then looks whether it missed some. */
  async #forgetPruned(): Promise<void> {
    const { feed, kept = KEPT } = this.#options
    const pruned = await feed.pruned()
    if (pruned === this.#pruned) return
    this.#pruned = pruned
    this.#folds.forget()
    this.#tail = new LiveTail(this.#tail.end, kept)
    for (const subscriber of this.#subscribers) subscriber.ring()
  }

  #rouse(): void {
    this.#moved = true
    if (this.#pumping) return
    this.#pumping = true
    this.#pump().catch(error => this.#complain(error, 'live events'))
  }

  async #pump(): Promise<void> {
    try {
      await this.#listening?.ready
      while (this.#moved && this.#subscribers.size > 0) {
        this.#moved = false
        await this.#forgetPruned()
        const tail = this.#tail
        const page = await this.#page()
        // What was pruned before it was read here is missing from the page.
        await this.#forgetPruned()
        // Output of a task is committed before the task's end, so it is delivered first.
        await this.#readOutput()
        const items: LiveEntry[] = []
        for (const entry of page) items.push(new LiveEntry(entry, await this.#factsOf(entry), this.#folds))
        if (tail !== this.#tail) {
          this.#moved = true
          continue
        }
        const from = tail.end
        for (const item of items) tail.push(item)
        if (items.length > 0) this.#tell(items, from)
        // More entries exist or were pruned; the next read finds the gap.
        if (items.length > 0 && (await this.#options.feed.position()) > this.#tail.end) this.#moved = true
        await new Promise(resolve => setImmediate(resolve))
      }
    } finally {
      // No `await` since the last check, so a later call is sure to start a new pump.
      this.#pumping = false
    }
  }

  /** Skips entries that are unreadable or pruned; subscribers that need them notice the gap themselves. */
  async #page(): Promise<readonly Entry[]> {
    const { feed, log } = this.#options
    const tail = this.#tail
    try {
      const page = await feed.since(tail.end, PAGE)
      if (page.length > 0) return page
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error
      log.error({ error: error.message }, 'live events')
    }
    const end = await feed.position()
    if (end > tail.end && (await feed.since(tail.end, 1).catch(() => [])).length === 0) {
      tail.forget(end)
      for (const subscriber of this.#subscribers) subscriber.ring()
    }
    return []
  }

  #tell(items: readonly LiveEntry[], from: Position): void {
    for (const subscriber of this.#subscribers) subscriber.offer(items, from)
    for (const { entry, facts } of items) {
      if (!this.#wantsTicks(entry.plan, facts)) continue
      const { plan, position, version, events } = entry
      const isQuiet = this.#progress.get(plan)?.isQuiet !== false && events.every(({ type }) => type === 'note.added')
      this.#progress.delete(plan)
      this.#progress.set(plan, { position, version, isQuiet })
      if (version === 1) this.#keepInbox(plan, '')
      if (this.#progress.size > PROGRESS_PLANS_MAX) this.#progress.delete(this.#progress.keys().next().value!)
    }
    this.#scheduleProgress()
  }

  #wantsTicks(plan: PlanId, facts: PlanFacts): boolean {
    for (const { ticks, wish } of this.#subscribers) if (ticks !== null && wish.wants(plan, facts)) return true
    return false
  }

  async #readOutput(): Promise<void> {
    const { output } = this.#options.feed
    const listeners = [...this.#subscribers].filter(({ ticks }) => ticks !== null)
    if (listeners.length === 0) {
      this.#output = null
      return
    }
    const [before, last] = [this.#output, await output.last()]
    this.#output = last
    if (before === null || last === before) return
    // Too much output: only the last part is sent.
    const after = Math.max(before, last - OUTPUT_PAGE)
    if (after > before) for (const { ticks } of listeners) ticks?.skip()
    for (const log of await output.since(after, last - after)) {
      const facts = await this.#known(log.plan)
      const tick = outputTick(log, facts)
      for (const { ticks, wish } of listeners) if (wish.wants(log.plan, facts)) ticks?.offerOutput(tick)
    }
  }

  #scheduleProgress(): void {
    if (this.#progress.size === 0 || this.#progressTimer !== null) return
    const waited = this.#options.monotonic() - this.#progressAt
    this.#progressTimer = setTimeout(
      () => {
        this.#tellProgress()
          .catch(error => this.#complain(error, 'live progress'))
          .finally(() => {
            this.#progressTimer = null
            this.#progressAt = this.#options.monotonic()
            this.#scheduleProgress()
          })
      },
      Math.max(0, PROGRESS_EVERY_MS - waited),
    )
  }

  async #tellProgress(): Promise<void> {
    const { feed, now } = this.#options
    const due = [...this.#progress]
    for (const [plan, { position, version, isQuiet }] of due) {
      const progress = await feed.progress(plan)
      if (progress !== null && progress.version > version) continue
      if (this.#progress.get(plan)?.version === version) this.#progress.delete(plan)
      if (progress === null) continue
      const facts = await this.#known(plan)
      const about = [plan, facts, progress, new Date(now()).toISOString(), position] as const
      const messages = [progressTick('plan.progress', ...about)]
      const [before, waits] = [this.#inboxes.get(plan), progress.waiting.join('\n')]
      this.#keepInbox(plan, waits)
      // The first time a plan is seen, its earlier inbox is unknown; only an entry that is a mere note surely changed nothing.
      if (before === undefined ? !isQuiet : before !== waits) messages.push(progressTick('inbox.changed', ...about))
      for (const { ticks, wish } of this.#subscribers)
        if (wish.wants(plan, facts)) for (const tick of messages) ticks?.offerProgress(tick)
    }
  }

  #keepInbox(plan: PlanId, waits: string): void {
    this.#inboxes.delete(plan)
    this.#inboxes.set(plan, waits)
    if (this.#inboxes.size > FACTS_MAX) this.#inboxes.delete(this.#inboxes.keys().next().value!)
  }

  #complain(error: unknown, what: string): void {
    if (this.#subscribers.size > 0) this.#options.log.error({ error: String(error) }, what)
  }

  async #factsOf({ plan, events }: Entry): Promise<PlanFacts> {
    const [first] = events
    if (first?.type !== 'plan.created') return await this.#known(plan)
    return this.#keep(plan, { name: first.definition.name, session: first.session ?? null })
  }

  async #known(plan: PlanId): Promise<PlanFacts> {
    return this.#facts.get(plan) ?? this.#keep(plan, (await this.#options.feed.facts(plan)) ?? UNKNOWN_FACTS)
  }

  #keep(plan: PlanId, facts: PlanFacts): PlanFacts {
    if (this.#facts.size >= FACTS_MAX) this.#facts.delete(this.#facts.keys().next().value!)
    this.#facts.set(plan, facts)
    return facts
  }
}

/** For a plan that was pruned while its entries were read. */
const UNKNOWN_FACTS: PlanFacts = { name: '', session: null }

function inScope(scope: Scope | null, wish: Wish): Wish {
  if (scope === null) return wish
  return { ...wish, wants: (plan, facts) => wish.wants(plan, facts) && isPlanInScope(scope, plan, facts.session) }
}
