// Prometheus metrics of this process: requests, and what the journal recorded while it ran. Labels are enumerated words or route
// paths, never user input, so their number is bounded.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Event } from '../../domain/event.ts'
import type { Entry } from '../../stores/store.ts'
import type { ServerRooms } from '../service.ts'

// Follows the journal, so that the metrics also cover the work of other processes.

/** Runs until the service stops. Never fails: metrics must not stop the service. */
export async function followJournal({ engine, meter, log, stopping }: ServerRooms): Promise<void> {
  try {
    const after = await engine.ask({ type: 'position' })
    for await (const entry of engine.watch({ after, signal: stopping })) meter.entry(entry)
  } catch (error) {
    if (!stopping.aborted) log.error({ error: String(error) }, 'the journal is not followed any more')
  }
}

export interface Meter {
  /** `route` is the path in the route table; null if no route matched. */
  answered(method: string, route: string | null, status: number, ms: number): void
  entry(entry: Entry): void
  streams(change: 1 | -1): void
  driven(change: 1 | -1): void
  text(): Promise<{ readonly type: string; readonly data: string }>
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const WORK_SECONDS = [0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600]

export function openMeter(version: string): Meter {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Gauge({ name: 'planfold_info', help: 'Which Planfold this is.', labelNames: ['version'], registers }).set(
    { version },
    1,
  )
  const requests = new Histogram({
    name: 'planfold_http_request_duration_seconds',
    help: 'How long answers took.',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers,
  })
  const streams = new Gauge({ name: 'planfold_event_streams', help: 'Open streams of events.', registers })
  const driving = new Gauge({ name: 'planfold_plans_driven', help: 'Plans this process drives now.', registers })
  const entries = new Counter({ name: 'planfold_journal_entries_total', help: 'Entries seen.', registers })
  const plans = new Counter({
    name: 'planfold_plans_ended_total',
    help: 'Plans that ended, by how.',
    labelNames: ['status'],
    registers,
  })
  const attempts = new Counter({
    name: 'planfold_attempts_total',
    help: 'Attempts that ended, by how.',
    labelNames: ['outcome', 'failure'],
    registers,
  })
  const retries = new Counter({ name: 'planfold_retries_total', help: 'Retries that were scheduled.', registers })
  const durations = new Histogram({
    name: 'planfold_attempt_duration_seconds',
    help: 'How long attempts took.',
    labelNames: ['outcome'],
    buckets: WORK_SECONDS,
    registers,
  })
  const gates = new Counter({
    name: 'planfold_gates_total',
    help: 'Gates that opened and were decided.',
    labelNames: ['what'],
    registers,
  })
  const tell = (event: Event): void => {
    switch (event.type) {
      case 'plan.finished':
        plans.inc({ status: event.status })
        return
      case 'attempt.succeeded':
      case 'attempt.failed': {
        const { result } = event
        const outcome = result.status
        attempts.inc({ outcome, failure: result.status === 'failed' ? result.failure.class : '' })
        if (result.durationMs !== undefined) durations.observe({ outcome }, result.durationMs / 1_000)
        return
      }
      case 'attempt.lost':
        if (event.until === undefined) attempts.inc({ outcome: 'lost', failure: '' })
        return
      case 'retry.scheduled':
        retries.inc()
        return
      case 'gate.opened':
        gates.inc({ what: 'opened' })
        return
      case 'gate.decided':
        gates.inc({ what: 'decided' })
        return
      default:
        return
    }
  }
  return {
    answered: (method, route, status, ms) =>
      requests.observe({ method: route === null ? 'other' : method, route: route ?? 'none', status }, ms / 1_000),
    entry: entry => {
      entries.inc()
      for (const event of entry.events) tell(event)
    },
    streams: change => streams.inc(change),
    driven: change => driving.inc(change),
    text: async () => ({ type: registry.contentType, data: await registry.metrics() }),
  }
}
