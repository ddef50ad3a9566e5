// Passes a response on to the agent as it comes, and reads it on the way: what was counted, and what is kept of it. When the agent has
// gone away, the rest is read all the same, because the provider counts it all the same.

import type { ServerResponse } from 'node:http'
import { isMap, type Json } from '../../../domain/json.ts'
import type { Redaction } from '../../../safety/secrets/redaction.ts'
import { passedResponseHeaders, type UpstreamResponse } from './upstream.ts'
import { type Counted, usageMeter } from './usage-meter.ts'
import type { WireRules } from './wire-rules.ts'

export interface PassedResponse {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string
  readonly isWhole: boolean
  readonly counted: Counted | null
  readonly bytes: number
}

export interface Passing {
  readonly rules: WireRules
  readonly redaction: Redaction
  /** The agent did not ask for the last event, which says what was used: we did. */
  readonly dropsUsage: boolean
  readonly bytesMax: number
  /** Of a stream: what was said, when it is said first and last, and as more comes. Called again before `bytes` have come. */
  readonly onCounted?: (counted: Counted, bytes: number) => void
}

/** Between two calls of `onCounted` it doubles at most. */
const TOLD_BYTES = 8_192

export async function passOn(
  upstream: UpstreamResponse,
  agent: ServerResponse,
  { rules, redaction, dropsUsage, bytesMax, onCounted }: Passing,
): Promise<PassedResponse> {
  const { status } = upstream
  const headers = Object.fromEntries(
    Object.entries(passedResponseHeaders(upstream.headers)).map(([name, value]) => [name, redaction.text(value)]),
  )
  const type = headers['content-type'] ?? ''
  const meter = usageMeter(rules, type)
  const clean = redaction.stream()
  const filter = dropsUsage && /^text\/event-stream\b/i.test(type) ? usageEventFilter() : null
  const parts: Buffer[] = []
  let bytes = 0
  const give = async (part: Buffer): Promise<void> => {
    if (part.length === 0 || agent.destroyed || agent.write(part)) return
    await drained(agent)
  }
  let tellAt = 0
  const tell = (): void => {
    const counted = tellAt === Number.POSITIVE_INFINITY ? null : meter.now()
    if (counted === null || (bytes < tellAt && !counted.isFinal)) return
    tellAt = counted.isFinal ? Number.POSITIVE_INFINITY : Math.max(2 * bytes, TOLD_BYTES)
    onCounted?.(counted, tellAt)
  }
  const take = async (part: Buffer): Promise<void> => {
    if (part.length === 0) return
    parts.push(part)
    meter.next(part)
    tell()
    await give(filter === null ? part : filter.next(part))
  }
  let isWhole = false
  try {
    if (!agent.destroyed) {
      agent.writeHead(status, headers)
      agent.flushHeaders()
    }
    for await (const chunk of upstream.body as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > bytesMax) throw new Error('the response is too large')
      await take(clean.next(chunk))
    }
    await take(clean.end())
    if (filter !== null) await give(filter.end())
    isWhole = true
    agent.end()
  } catch {
    upstream.body.destroy()
    // The agent is to see that it is not whole.
    agent.destroy()
  }
  return { status, headers, body: Buffer.concat(parts).toString('utf8'), isWhole, counted: meter.end(), bytes }
}

const drained = (agent: ServerResponse): Promise<void> =>
  new Promise(resolve => {
    const end = (): void => {
      agent.off('drain', end)
      agent.off('close', end)
      resolve()
    }
    agent.on('drain', end)
    agent.on('close', end)
    if (agent.destroyed) end()
  })

interface Filter {
  next(part: Buffer): Buffer
  end(): Buffer
}

const EVENT_END = /\r\n\r\n|\n\n|\r\r/g

/** Lets events through one by one and byte for byte, but for the one that holds nothing but the usage. */
function usageEventFilter(): Filter {
  let held = ''
  return {
    next: part => {
      // Bytes, not characters: an event is never cut in the middle of one.
      held += part.toString('latin1')
      const passed: string[] = []
      let from = 0
      for (const { index, 0: end } of held.matchAll(EVENT_END)) {
        const event = held.slice(from, index + end.length)
        if (!isUsageOnly(event)) passed.push(event)
        from = index + end.length
      }
      held = held.slice(from)
      return Buffer.from(passed.join(''), 'latin1')
    },
    end: () => Buffer.from(isUsageOnly(held) ? '' : held, 'latin1'),
  }
}

function isUsageOnly(event: string): boolean {
  const data = event
    .split(/\r\n|\n|\r/)
    .filter(line => line.startsWith('data:'))
    .map(line => line.slice(5))
    .join('\n')
  if (!data.includes('"usage"')) return false
  try {
    const { choices, usage } = JSON.parse(data) as { readonly [key: string]: Json }
    return Array.isArray(choices) && choices.length === 0 && isMap(usage)
  } catch {
    return false
  }
}
