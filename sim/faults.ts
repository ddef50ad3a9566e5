// Which faults a seed may meet, and how often. Drawn per seed (a swarm): each may be off altogether, because a run in which
// everything always fails never reaches the interesting places. Every fault that fires is counted.

import type { Random } from './random.ts'

export type Fault =
  /** The commit failed; nothing was written. */
  | 'commit-failed'
  /** Written, and the reply was lost. */
  | 'reply-lost'
  /** Not written, and nobody can say so. */
  | 'unknown-unwritten'
  | 'crash'
  /** Died while committing, after the commit. */
  | 'crash-after-commit'
  /** Died while committing, before the commit. */
  | 'crash-in-recovery'
  /** Stopped longer than its lease, then woken. */
  | 'pause'
  | 'late-completion'
  | 'duplicate-completion'
  | 'clock-jump'

export const FAULTS: readonly Fault[] = [
  'commit-failed',
  'reply-lost',
  'unknown-unwritten',
  'crash',
  'crash-after-commit',
  'crash-in-recovery',
  'pause',
  'late-completion',
  'duplicate-completion',
  'clock-jump',
]

/** The chance of each fault whenever it could happen. */
const RATES: Readonly<Record<Fault, number>> = {
  'commit-failed': 0.03,
  'reply-lost': 0.04,
  'unknown-unwritten': 0.03,
  crash: 0.008,
  'crash-after-commit': 0.015,
  'crash-in-recovery': 0.5,
  pause: 0.006,
  'late-completion': 0.15,
  'duplicate-completion': 0.15,
  'clock-jump': 0.006,
}

export type Fired = Record<Fault, number>
export const noneFired = (): Fired => Object.fromEntries(FAULTS.map(fault => [fault, 0])) as Fired

export class Faults {
  readonly fired = noneFired()
  readonly #rates: Record<Fault, number>
  readonly #luck: Random
  #healed = true

  constructor(luck: Random, forced: readonly Fault[] = []) {
    this.#luck = luck
    const draw = luck.fork('swarm')
    const calm = draw.chance(0.05)
    this.#rates = { ...RATES }
    for (const fault of FAULTS) {
      const scale = draw.pick([0.3, 1, 1, 3])
      const on = draw.chance(0.55) && !calm
      this.#rates[fault] = on || forced.includes(fault) ? Math.min(0.6, RATES[fault] * scale) : 0
    }
  }

  /** Does it happen now? Counted when it does. */
  hit(fault: Fault): boolean {
    if (this.#healed || !this.#luck.chance(this.#rates[fault])) return false
    this.fired[fault]++
    return true
  }

  get healed(): boolean {
    return this.#healed
  }

  /** From now on things go wrong: the safety phase begins. */
  arm(): void {
    this.#healed = false
  }

  /** No more faults: the liveness phase begins. */
  heal(): void {
    this.#healed = true
  }

  get on(): readonly Fault[] {
    return FAULTS.filter(fault => this.#rates[fault] > 0)
  }
}
