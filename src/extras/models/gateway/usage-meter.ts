// Reads from a response, as it passes, what the provider counted: the last event of a stream, or a field of a whole answer.

import { StringDecoder } from 'node:string_decoder'
import { createParser, type EventSourceParser } from 'eventsource-parser'
import { isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { ModelUsage } from '../../../domain/model-use.ts'
import type { WireRules } from './wire-rules.ts'

export interface Counted {
  readonly usage: ModelUsage
  readonly wireUsage: JsonObject
  /** False: the stream broke off before its count was whole. */
  readonly isFinal: boolean
}

export interface UsageMeter {
  next(chunk: Buffer): void
  now(): Counted | null
  end(): Counted | null
}

export function usageMeter(rules: WireRules, contentType: string): UsageMeter {
  return /^text\/event-stream\b/i.test(contentType) ? streamMeter(rules) : wholeMeter(rules)
}

/** Events are read one by one and not kept. */
function streamMeter(rules: WireRules): UsageMeter {
  const decoder = new StringDecoder('utf8')
  const sum = new UsageSum(rules)
  const parser: EventSourceParser = createParser({
    onEvent: ({ data }) => {
      const event = data === '[DONE]' ? null : parsed(data)
      if (event !== null && isMap(event)) sum.add(event)
    },
  })
  return {
    next: chunk => parser.feed(decoder.write(chunk)),
    now: () => sum.end(),
    end: () => {
      // The last event may lack its empty line.
      parser.feed(`${decoder.end()}\n\n`)
      return sum.end()
    },
  }
}

function wholeMeter(rules: WireRules): UsageMeter {
  const chunks: Buffer[] = []
  return {
    next: chunk => {
      chunks.push(chunk)
    },
    now: () => null,
    end: () => {
      const body = parsed(Buffer.concat(chunks).toString('utf8'))
      if (body === null) return null
      const sum = new UsageSum(rules)
      if (Array.isArray(body)) for (const part of body) if (isMap(part)) sum.add(part)
      if (Array.isArray(body)) return sum.end()
      const wireUsage = isMap(body) ? rules.wholeUsage(body) : null
      const usage = wireUsage === null ? null : rules.count(wireUsage)
      return wireUsage === null || usage === null ? null : { usage, wireUsage, isFinal: true }
    },
  }
}

class UsageSum {
  readonly #rules: WireRules
  #usage: JsonObject | null = null
  #isFinal = false

  constructor(rules: WireRules) {
    this.#rules = rules
  }

  /** What an event leaves out is as in the event before. */
  add(event: JsonObject): void {
    const { usage, isFinal } = this.#rules.usageIn(event)
    if (usage !== null) {
      const said = Object.entries(usage).filter(([, value]) => value !== null)
      this.#usage = { ...this.#usage, ...Object.fromEntries(said) }
    }
    this.#isFinal ||= isFinal
  }

  end(): Counted | null {
    const usage = this.#usage === null ? null : this.#rules.count(this.#usage)
    return this.#usage === null || usage === null ? null : { usage, wireUsage: this.#usage, isFinal: this.#isFinal }
  }
}

export function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return null
  }
}
