// Says once that a drive is over and only waits until people are told: a hook that hangs would otherwise look like a plan that does.

import type { Composed } from '../compose.ts'
import type { PlanId } from '../domain/id.ts'

/** Nothing has happened for so long. */
const QUIET_MS = 2_000

export class NoticeWait {
  readonly #engine: Composed['engine']
  readonly #plan: PlanId
  readonly #say: (text: string) => void
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(engine: Composed['engine'], plan: PlanId, say: (text: string) => void) {
    this.#engine = engine
    this.#plan = plan
    this.#say = say
  }

  /** Something was written down: from now on it is quiet again. */
  touch(quietMs = QUIET_MS): void {
    if (this.#isOver) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#look().catch(() => {}), quietMs)
  }

  close(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    const summary = await this.#engine.ask({ type: 'summary', plan: this.#plan })
    if (summary === null || summary.rollback !== undefined) return
    const { running, ready } = summary.progress.counts
    if (summary.endedAt === null && (running > 0 || ready > summary.claimable)) return
    const current = await this.#engine.ask({ type: 'definition', plan: this.#plan })
    if (this.#isOver || (current?.definition.notify?.length ?? 0) === 0) return
    this.close()
    this.#say(
      `${summary.endedAt === null ? 'nothing more can begin' : 'the plan has ended'}; waiting until people are told`,
    )
  }
}
