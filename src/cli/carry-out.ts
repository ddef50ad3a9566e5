// Sees a rollback through that the journal says was started: drives the plan until it has ended, or waits for the process that
// drives it. If that one dies, it is driven on from here.
//
//   driving ── SIGINT ──→ stopped: the rollback stays under way, `planfold resume` finishes it
//   held by another process ── it ends ──→ done; ── it dies ──→ driving

import type { Composed } from '../compose.ts'
import type { PlanId } from '../domain/id.ts'
import type { Entry, Holder } from '../stores/store.ts'
import { remark } from './answer.ts'
import type { Context, StopSignal } from './context.ts'
import { Follower } from './live/follower.ts'
import { PlainReporter } from './live/plain.ts'
import { type Ended, isRollbackEnd } from './rollback-words.ts'
import { DrivingShort } from './shortage-words.ts'

export interface CarriedOut {
  /** Null when we were interrupted before. */
  readonly ended: Ended | null
  /** Compensations that ended without success; only `force` goes on then. */
  readonly failed: readonly { readonly task: string; readonly why: string }[]
  readonly interrupted: StopSignal | null
  /** The process that did it, when it was another. */
  readonly by: Holder | null
}

const HELD_POLL_MS = 500
const AWAKE_MS = 60_000

export async function carryOut(
  context: Context,
  composed: Composed,
  { plan, since }: { readonly plan: PlanId; readonly since: number },
): Promise<CarriedOut> {
  const { engine, worker } = composed
  const [stop, force] = [new AbortController(), new AbortController()]
  const reporter = context.settings.json ? null : new PlainReporter(context)
  const failed: { task: string; why: string }[] = []
  let ended: Ended | null = null
  let interrupted: StopSignal | null = null
  let by: Holder | null = null
  let wake = (): void => {}
  const follower = new Follower(engine, plan, since, entry => {
    reporter?.entry(worthTelling(entry))
    for (const event of entry.events) {
      if (event.type === 'compensation.finished' && event.result.status === 'failed')
        failed.push({ task: event.task, why: event.result.failure.message })
    }
    const end = entry.events.find(isRollbackEnd)
    if (end === undefined || ended !== null) return
    ended = end
    wake()
  })
  // Entries of another process are looked for by timers that keep nobody alive.
  const awake = setInterval(() => {}, AWAKE_MS)
  const unlisten = context.onSignal(signal => {
    if (interrupted !== null) return force.abort()
    interrupted = signal
    stop.abort()
    wake()
  })
  /** Until something has happened, or it is time to look whether the other process still lives. */
  const waited = (): Promise<void> =>
    new Promise(resolve => {
      const timer = setTimeout(resolve, HELD_POLL_MS)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (ended !== null || interrupted !== null) wake()
    })

  try {
    for (;;) {
      const driven = await worker.drive(plan, {
        stop: stop.signal,
        force: force.signal,
        onOutput: (task, text) => reporter?.output(task, text),
      })
      if (driven.status === 'short') throw new DrivingShort(driven.shortage.message)
      if (driven.status === 'held') {
        if (by === null) {
          by = driven.holder
          remark(context, `pid ${by.pid} on ${by.host} drives the plan and carries it out; waiting`)
        }
        await waited()
      }
      const summary = await engine.ask({ type: 'summary', plan })
      if (summary !== null) await follower.reach(summary.version)
      if (ended !== null || interrupted !== null || summary === null) break
      // Rested, and nothing is under way: whatever happened has been told.
      if (driven.status === 'rested' && summary.rollback === undefined) break
    }
  } finally {
    unlisten()
    clearInterval(awake)
    await follower.close()
    await reporter?.close()
  }
  return { ended, failed, interrupted, by }
}

/** The rollback itself is told at the end; on the way only what runs, and what was ended for it. */
function worthTelling(entry: Entry): Entry {
  const events = entry.events.filter(({ type }) => type.startsWith('compensation.') || type === 'attempt.lost')
  return { ...entry, events }
}
