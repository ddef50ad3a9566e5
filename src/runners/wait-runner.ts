// Runs a wait. For a time, an attempt only postpones itself: it ends without occupying a slot, and the journal has the time, so that a
// crash changes nothing. An address is polled with increasing intervals; before a long interval the attempt ends in the same way.
//
//   attempt ──► is it true? ── yes ──► done
//      ▲          └─ not yet ─► is its bound reached? ── yes ──► failed
//      └── after the pause ◄────── no: pause here, or end until then

import { type WaitRequest, waitRequest, waitWords } from '../domain/actions/wait-action.ts'
import type { Millis } from '../domain/id.ts'
import { printDuration, type Read, readDuration, readTime } from '../format/text/units.ts'
import { failure } from '../safety/safety-refusal.ts'
import { readBody } from './http/http-body.ts'
import { exchange, HTTP_LIMITS, type HttpLimits } from './http/http-exchange.ts'
import type { Attempt, Outcome, Reach, Runner, RunnerTools, Stop, WaitClock } from './runner.ts'

type Ask = Extract<WaitRequest, { readonly do: 'ask' }>

/** A shorter pause is made within the attempt. */
const PAUSE_HERE_MAX_MS = 30_000
const TIME_HERE_MAX_MS = 1_000
const PAUSE_MAX_MS = 5 * 60_000
const ANSWER_MAX_MS = 30_000

export function waitRunner({ ca }: { readonly ca?: string } = {}): Runner {
  return {
    action: 'wait',
    about: {
      does: 'waits until a time, for a duration, or until an address answers as expected',
      effects: ['pure'],
      risks: ['an address is asked again and again'],
      dryRun: 'what it waits for',
    },
    needs: ['reach', 'clock'],
    async preview({ action }) {
      const request = waitRequest(action)
      return { text: request === null ? '' : `waits ${waitWords(request)}` }
    },
    async attempt(attempt, tools, stop) {
      if (stop.aborted) return STOPPED
      const request = waitRequest(attempt.action)
      const { clock } = tools
      if (request === null || clock === undefined) return failed('there is nothing that could be waited for')
      const waiting = { attempt, tools, stop, clock, since: attempt.waitsSince ?? clock.now() }
      return request.do === 'ask' ? await askAgain(request, waiting, ca) : await awaitTime(request, waiting)
    },
  }
}

interface Waiting {
  readonly attempt: Attempt
  readonly tools: RunnerTools
  readonly stop: Stop
  readonly clock: WaitClock
  /** The start of the first attempt since it last failed or was reopened. */
  readonly since: Millis
}

const STOPPED: Outcome = { type: 'interrupted', begun: false }

async function awaitTime(request: Exclude<WaitRequest, Ask>, waiting: Waiting): Promise<Outcome> {
  const { attempt, stop, clock, since } = waiting
  const at = timeOf(request, since)
  if (!at.ok) return failed(at.message, at.hint)
  const limit = since + (attempt.definition.timeoutMs ?? Number.POSITIVE_INFINITY)
  for (;;) {
    if (stop.aborted) return STOPPED
    const now = clock.now()
    if (now >= at.value) return { type: 'done' }
    if (now >= limit) return tooLong(limit - since, `it waits ${waitWords(request)}`)
    const next = Math.min(at.value, limit)
    if (next - now > TIME_HERE_MAX_MS) return later(next, `waits until ${shown(at.value)}`)
    await pause(next - now, waiting)
  }
}

function timeOf(request: Exclude<WaitRequest, Ask>, since: Millis): Read<Millis> {
  if (request.do === 'until') return readTime(request.until)
  const lasts = readDuration(request.for)
  return lasts.ok ? { ok: true, value: since + lasts.value } : lasts
}

async function askAgain(request: Ask, waiting: Waiting, ca: string | undefined): Promise<Outcome> {
  const { attempt, tools, stop, clock, since } = waiting
  const every = readDuration(request.every)
  const most = request.for === null ? null : readDuration(request.for)
  if (!every.ok) return failed(every.message, every.hint)
  if (most?.ok === false) return failed(most.message, most.hint)
  const own = attempt.definition.timeoutMs ?? Number.POSITIVE_INFINITY
  const limit = since + (most === null ? attempt.timeoutMs : Math.min(most.value, own))
  if (tools.reach === undefined) return failed('nothing can be reached from here')
  const reach = await tools.reach()
  if (!reach.ok) return { type: 'failed', failure: reach.failure, begun: false }
  const hangUp = (): void => void reach.value.close()
  stop.signal.addEventListener('abort', hangUp, { once: true })
  try {
    for (;;) {
      const seen = await ask(request, { reach: reach.value, stop, ca })
      if (stop.aborted) return STOPPED
      if (typeof seen !== 'string') return seen
      const now = clock.now()
      if (now >= limit) return tooLong(limit - since, `${waitWords(request)} did not come true: ${seen}`)
      // A tenth of the elapsed time, so that long waits poll rarely.
      const pauseMs = Math.min(limit - now, Math.max(every.value, Math.min(PAUSE_MAX_MS, (now - since) / 10)))
      tools.log('engine', Buffer.from(`${seen}; asks again in ${printDuration(Math.ceil(pauseMs))}\n`))
      if (pauseMs > PAUSE_HERE_MAX_MS)
        return later(now + pauseMs, `waits ${waitWords(request)}, until ${shown(limit)} at most: ${seen}`)
      await pause(pauseMs, waiting)
      if (stop.aborted) return STOPPED
    }
  } finally {
    stop.signal.removeEventListener('abort', hangUp)
    await reach.value.close()
  }
}

/** The outcome, or the unexpected response. */
async function ask(
  { url, status, contains }: Ask,
  { reach, stop, ca }: { readonly reach: Reach; readonly stop: Stop; readonly ca: string | undefined },
): Promise<Outcome | string> {
  const sending = { method: 'GET', url, headers: {}, confidential: NONE, body: null, isBodyConfidential: false }
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(ANSWER_MAX_MS)])
  const limits: HttpLimits = { ...HTTP_LIMITS, idleMs: ANSWER_MAX_MS }
  const received = await exchange(sending, { reach, limits, signal, redact: text => text, ...(ca && { ca }) })
  if (!received.ok) {
    const { class: kind, retryable, message } = received.failure
    return kind === 'transient' || retryable ? message : { type: 'failed', failure: received.failure }
  }
  const { response, url: last } = received.value
  const got = response.statusCode ?? 0
  const isExpected = status === null ? got >= 200 && got < 300 : got === status
  if (!isExpected || contains === null) {
    response.destroy()
    return isExpected ? { type: 'done', outputs: { status: got } } : `it answers ${got}`
  }
  const body = await readBody(response, last.host, { bytesMax: limits.bodyBytes, idleMs: limits.idleMs })
  if (!body.ok)
    return body.failure.class === 'transient' ? body.failure.message : { type: 'failed', failure: body.failure }
  return body.value.toString('utf8').includes(contains)
    ? { type: 'done', outputs: { status: got } }
    : `it answers ${got} without ${JSON.stringify(contains)}`
}

const NONE: ReadonlySet<string> = new Set()

/** Ends after the time, or when it is no longer wanted. */
async function pause(ms: number, { clock, stop: { signal } }: Waiting): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>(resolve => {
    const end = (): void => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(ms, end)
    signal.addEventListener('abort', end)
  })
}

const later = (until: Millis, reason: string): Outcome => ({ type: 'interrupted', begun: false, until, reason })

const shown = (at: Millis): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')

const failed = (message: string, hint?: string) =>
  ({ type: 'failed', failure: failure('logic', message, hint), begun: false }) as const

const tooLong = (ms: number, why: string): Outcome => ({
  type: 'failed',
  failure: {
    ...failure('transient', `waited ${printDuration(ms)}: ${why}`, 'let it wait longer with `timeout`, or with `for`'),
    code: 'timeout',
  },
})
