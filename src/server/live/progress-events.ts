// Live progress: output lines, plan progress, and inbox changes. These messages have no id and are never replayed: what a
// client misses is in the logs and in the plan. Each is serialised once for all clients.

import type { PlanId } from '../../domain/id.ts'
import type { PlanFacts } from '../../domain/views/announcement.ts'
import { lastSpend } from '../../domain/views/pages/agent-lines.ts'
import type { PlanProgress } from '../../engine/engine.ts'
import { underscoreData } from '../../extras/compat/sessions/underscore-events.ts'
import type { Position, StoredLog } from '../../stores/store.ts'
import { frame, type Naming, UNDERSCORE } from './sse.ts'

/** A message without an id; `gap`: messages before it were dropped. */
export interface Tick {
  readonly plan: PlanId
  readonly facts: PlanFacts
  text(naming: Naming, before?: 'gap'): string
}

/** Sent only to subscribers that have seen the entry it is about, so that an older state never arrives later. */
export interface ProgressTick extends Tick {
  readonly name: 'plan.progress' | 'inbox.changed'
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
    const data = { plan, plan_name: facts.name, task, visit, attempt, stream, at, text, ...spentIn(log), ...more }
    return frame('task.output', JSON.stringify(data))
  })
}

/** What the task's agent has spent so far, if the text reports it. */
function spentIn({ stream, text }: StoredLog): object {
  const spent = stream === 'engine' ? lastSpend(text) : null
  if (spent === null) return {}
  const { calls, inputTokens: input_tokens, outputTokens: output_tokens, cost } = spent
  return { spent: { calls, input_tokens, output_tokens, cost_usd: cost.known ? cost.usd : null } }
}

export function progressTick(
  plan: PlanId,
  facts: PlanFacts,
  now: PlanProgress,
  at: string,
  position: Position,
): ProgressTick {
  const { version, revision, status, running } = now
  const { total, done, ended, ratio, counts } = now.progress
  const [waiting, failed] = [now.waiting.length, counts.failed + counts.abandoned]
  const message = tick(plan, facts, naming => {
    if (naming.key === UNDERSCORE.key) return underscoreTick('plan.progress', plan, facts, now, at)
    const where = { plan, plan_name: facts.name, version, revision, status }
    const data = { ...where, done, ended, total, ratio, waiting, failed, running, at }
    return frame('plan.progress', JSON.stringify(data))
  })
  return { ...message, name: 'plan.progress', position }
}

export function inboxTick(
  plan: PlanId,
  facts: PlanFacts,
  now: PlanProgress,
  at: string,
  position: Position,
): ProgressTick {
  const message = tick(plan, facts, naming => {
    if (naming.key === UNDERSCORE.key) return underscoreTick('inbox.changed', plan, facts, now, at)
    const data = { plan, plan_name: facts.name, version: now.version, waiting: now.waiting.length, at }
    return frame('inbox.changed', JSON.stringify(data))
  })
  return { ...message, name: 'inbox.changed', position }
}

function underscoreTick(event: string, plan: PlanId, facts: PlanFacts, now: PlanProgress, at: string): string {
  const { total, done, ratio } = now.progress
  const steps = { completed_steps: done, total_steps: total, progress: ratio, revision: now.revision }
  const data = { event, ...steps, running_steps: now.running, waiting: now.waiting.length }
  return frame('plan_update', underscoreData('plan_update', plan, facts, at, data))
}

function tick(plan: PlanId, facts: PlanFacts, text: Tick['text']): Tick {
  const known = new Map<string, string>()
  return {
    plan,
    facts,
    text: (naming, before) => {
      const key = `${naming.key} ${before}`
      const rendered = known.get(key) ?? text(naming, before)
      known.set(key, rendered)
      return rendered
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
