// Live progress: output lines, plan progress, and inbox changes. These messages have no id and are never replayed: what a
// client misses is in the logs and in the plan. Each is serialised once for all clients.

import type { PlanId } from '../../domain/id.ts'
import type { Announcement, PlanFacts } from '../../domain/views/announcement.ts'
import type { PlanProgress } from '../../engine/engine.ts'
import type { Position, StoredLog } from '../../stores/store.ts'
import { frame, type Naming, type ProgressName } from './sse.ts'

/** A message without an id; `gap`: messages before it were dropped. */
export interface Tick {
  readonly plan: PlanId
  readonly facts: PlanFacts
  text(naming: Naming, before?: 'gap'): string
}

/** Sent only to subscribers that have seen the entry it is about, so that an older state never arrives later. */
export interface ProgressTick extends Tick {
  readonly name: ProgressName
  readonly position: Position
}

const TEXT_MAX_CHARS = 4_000

export function outputTick(log: StoredLog, facts: PlanFacts): Tick {
  const { plan, text } = log
  const isCut = text.length > TEXT_MAX_CHARS
  const shown = {
    ...log,
    text: isCut ? text.slice(-TEXT_MAX_CHARS) : text,
    at: new Date(log.at).toISOString(),
  }
  return tick(plan, facts, (naming, before) => {
    const more = { ...(isCut ? { cut: true as const } : {}), ...(before === undefined ? {} : { gap: true as const }) }
    return naming.output({ ...shown, more }, facts)
  })
}

export function progressTick(
  name: ProgressName,
  plan: PlanId,
  facts: PlanFacts,
  now: PlanProgress,
  at: string,
  position: Position,
): ProgressTick {
  return { ...tick(plan, facts, naming => naming.progress(name, plan, facts, now, at)), name, position }
}

/** Rendered once per naming, for any number of clients. */
function tick(plan: PlanId, facts: PlanFacts, announce: (naming: Naming, before?: 'gap') => Announcement): Tick {
  const known = new Map<string, string>()
  return {
    plan,
    facts,
    text: (naming, before) => {
      const key = `${naming.key} ${before}`
      const made = known.get(key)
      if (made !== undefined) return made
      const { name, data } = announce(naming, before)
      const text = frame(name, data)
      known.set(key, text)
      return text
    },
  }
}

const QUEUE_MAX = 50
const PER_SECOND = 40
const PLANS_MAX = 100

/** Pending progress messages of one client: bounded, and rate-limited to what a person can follow. */
export class TickQueue {
  readonly #now: () => number
  readonly #ring: () => void
  #output: Tick[] = []
  #before: 'gap' | undefined
  #tokens = PER_SECOND
  #since: number
  #refill: NodeJS.Timeout | null = null
  readonly #progress = new Map<string, ProgressTick>()

  /** `now` is monotonic; `ring` is called when there is more to take. */
  constructor(now: () => number, ring: () => void) {
    this.#now = now
    this.#ring = ring
    this.#since = now()
  }

  offerOutput(tick: Tick): void {
    this.#output.push(tick)
    if (this.#output.length > QUEUE_MAX) {
      this.#output.shift()
      this.#before = 'gap'
    }
    this.#ring()
  }

  skip(): void {
    this.#before = 'gap'
  }

  offerProgress(tick: ProgressTick): void {
    const key = `${tick.plan} ${tick.name}`
    this.#progress.delete(key)
    this.#progress.set(key, tick)
    if (this.#progress.size > PLANS_MAX) this.#progress.delete(this.#progress.keys().next().value!)
    this.#ring()
  }

  takeOutput(naming: Naming): string | null {
    if (this.#output.length === 0) return null
    const now = this.#now()
    this.#tokens = Math.min(PER_SECOND, this.#tokens + ((now - this.#since) / 1_000) * PER_SECOND)
    this.#since = now
    if (this.#tokens < 1) {
      this.#refill ??= setTimeout(() => {
        this.#refill = null
        this.#ring()
      }, 1_000 / PER_SECOND)
      return null
    }
    this.#tokens--
    const text = this.#output.shift()!.text(naming, this.#before)
    this.#before = undefined
    return text
  }

  takeProgress(naming: Naming, after: Position): string | null {
    for (const [key, tick] of this.#progress) {
      if (tick.position > after) continue
      this.#progress.delete(key)
      return tick.text(naming)
    }
    return null
  }

  close(): void {
    if (this.#refill !== null) clearTimeout(this.#refill)
  }
}
