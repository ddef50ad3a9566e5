// Live progress: lines of output as they come, and how far a plan has come. Neither has an id, and neither is told again: what was
// missed is in the logs and in the plan. Told once in text, for everybody.

import type { PlanId } from '../../domain/id.ts'
import type { PlanFacts } from '../../domain/views/announcement.ts'
import type { PlanProgress } from '../../engine/engine.ts'
import type { Position, StoredLog } from '../../stores/store.ts'
import { underscoreData } from '../sessions/underscore-events.ts'
import { frame, type Naming, UNDERSCORE } from './sse.ts'

/** Something that is told without an id; `gap`: what came before it was not told. */
export interface Tick {
  readonly plan: PlanId
  readonly facts: PlanFacts
  text(naming: Naming, before?: 'gap'): string
}

/** Told only to whoever has heard of the entry it is about, so that nobody hears of an older state later. */
export interface ProgressTick extends Tick {
  readonly position: Position
}

const TEXT_MAX_CHARS = 4_000

export function outputTick(log: StoredLog, facts: PlanFacts): Tick {
  const { plan, task, visit, attempt, stream } = log
  const isCut = log.text.length > TEXT_MAX_CHARS
  const text = isCut ? log.text.slice(-TEXT_MAX_CHARS) : log.text
  const at = new Date(log.at).toISOString()
  return tick(plan, facts, (naming, before) => {
    const more = { ...(isCut ? { cut: true } : {}), ...(before === undefined ? {} : { gap: true }) }
    if (naming.key === UNDERSCORE.key) {
      const data = { event: 'task.output', step_id: task, attempt, stream, output: text, ...more }
      return frame('step_progress', underscoreData('step_progress', plan, facts, at, data))
    }
    const data = { plan, plan_name: facts.name, task, visit, attempt, stream, at, text, ...more }
    return frame('task.output', JSON.stringify(data))
  })
}

export function progressTick(
  plan: PlanId,
  facts: PlanFacts,
  now: PlanProgress,
  at: string,
  position: Position,
): ProgressTick {
  const { version, revision, status, running } = now
  const { total, done, ended, ratio } = now.progress
  const told = tick(plan, facts, naming => {
    if (naming.key === UNDERSCORE.key) {
      const data = { event: 'plan.progress', completed_steps: done, total_steps: total, progress: ratio, revision }
      return frame('plan_update', underscoreData('plan_update', plan, facts, at, { ...data, running_steps: running }))
    }
    const data = { plan, plan_name: facts.name, version, revision, status, done, ended, total, ratio, running, at }
    return frame('plan.progress', JSON.stringify(data))
  })
  return { ...told, position }
}

function tick(plan: PlanId, facts: PlanFacts, text: Tick['text']): Tick {
  const known = new Map<string, string>()
  return {
    plan,
    facts,
    text: (naming, before) => {
      const key = `${naming.key} ${before}`
      const told = known.get(key) ?? text(naming, before)
      known.set(key, told)
      return told
    },
  }
}

const QUEUE_MAX = 50
const PER_SECOND = 40
const PLANS_MAX = 100

/** What one client is still to be told of it; never more than a little, and never faster than it can be looked at. */
export class TickQueue {
  readonly #now: () => number
  readonly #ring: () => void
  #output: Tick[] = []
  #before: 'gap' | undefined
  #tokens = PER_SECOND
  #since: number
  #refill: NodeJS.Timeout | null = null
  readonly #progress = new Map<PlanId, ProgressTick>()

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

  /** Output was passed over, perhaps some of it for this client. */
  skip(): void {
    this.#before = 'gap'
  }

  offerProgress(tick: ProgressTick): void {
    this.#progress.delete(tick.plan)
    this.#progress.set(tick.plan, tick)
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

  /** `after` is what the client has heard of. */
  takeProgress(naming: Naming, after: Position): string | null {
    for (const [plan, tick] of this.#progress) {
      if (tick.position > after) continue
      this.#progress.delete(plan)
      return tick.text(naming)
    }
    return null
  }

  close(): void {
    if (this.#refill !== null) clearTimeout(this.#refill)
  }
}
