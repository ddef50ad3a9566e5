// Reads a body within its limits. JSON is measured before anybody looks at it: depth, number of values, and no key that
// JavaScript keeps for itself, nor text that could not be kept.

import type { IncomingMessage } from 'node:http'
import type { Json } from '../domain/json.ts'
import { positionAt } from '../format/place.ts'
import type { Schema } from '../format/wire/wire.ts'
import { jsonFault } from './json-fault.ts'
import { isProblem, type Problem, problem, unfit } from './problem.ts'
import type { ServerLimits } from './rooms.ts'
import { unkeptIn } from './unkept.ts'

export type BodyRead = { readonly text: string } | Problem

/** Whoever is still sending may not hear us, so a little more is taken and thrown away before we answer. */
const DRAIN_BYTES = 16_000_000

/** All of the body as text; a problem when it is too large, no UTF-8, or cut off. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<BodyRead> {
  const told = Number(request.headers['content-length'] ?? 0)
  if (told > maxBytes + DRAIN_BYTES) return Promise.resolve(tooLarge(maxBytes))
  return new Promise(resolve => {
    let chunks: Buffer[] = []
    let length = 0
    let isTooLarge = told > maxBytes
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      isTooLarge ||= length > maxBytes
      if (!isTooLarge) chunks.push(chunk)
      else {
        chunks = []
        if (length <= maxBytes + DRAIN_BYTES) return
        request.pause()
        resolve(tooLarge(maxBytes))
      }
    })
    request.on('end', () =>
      resolve(isTooLarge ? tooLarge(maxBytes) : decode(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))),
    )
    // Also closed when all of it has come; what was settled first stands.
    const cut = (): void => resolve(CUT_OFF)
    request.on('error', cut)
    request.on('close', cut)
    // Said by whoever watches the sockets (socket-problem.ts).
    request.on('timeout', () => resolve(isTooLarge ? tooLarge(maxBytes) : TOO_SLOW))
  })
}

const tooLarge = (maxBytes: number): Problem =>
  problem(413, 'too-large', `the body is larger than ${maxBytes} bytes`, {
    hint: 'send less at once',
    headers: { connection: 'close' },
  })
const CUT_OFF = problem(400, 'cut-off', 'the body ended before its end', {})

export const TOO_SLOW = problem(408, 'timeout', 'the request did not come to its end in time', {
  hint: 'send it at once',
  headers: { connection: 'close' },
})

const UTF8 = new TextDecoder('utf-8', { fatal: true })

function decode(bytes: Buffer): BodyRead {
  try {
    return { text: UTF8.decode(bytes) }
  } catch {
    return problem(400, 'not-utf8', 'the body is not UTF-8 text', { hint: 'send JSON as UTF-8' })
  }
}

export type JsonRead = { readonly value: Json } | Problem

export function readJson(text: string, limits: ServerLimits): JsonRead {
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return problem(400, 'not-json', `the body is not JSON at ${placeOf(text)}`, {
      hint: 'check quotes, commas and brackets',
    })
  }
  const left = { nodes: limits.jsonNodes }
  const fault = measure(value, limits.jsonDepth, left)
  if (fault !== null) return problem(422, 'invalid', fault, { hint: 'send something plainer' })
  const unkept = unkeptIn(text, value)
  return unkept === null ? { value } : unfit('body', [unkept])
}

/** The body as JSON, within its limits and as its schema wants it; without a schema nothing but `{}` is taken. */
export function checkBody(
  schema: Schema<unknown> | undefined,
  text: string,
  limits: ServerLimits,
): { readonly value: unknown } | Problem {
  const parsed = readJson(text, limits)
  if (isProblem(parsed)) return parsed
  if (schema === undefined)
    return isEmptyObject(parsed.value)
      ? { value: undefined }
      : unfit('body', [{ path: '', message: 'nothing is taken here', hint: 'leave the body out' }])
  const checked = schema.read(parsed.value)
  return checked.ok ? { value: checked.value } : unfit('body', checked.faults)
}

const isEmptyObject = (value: Json): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

/** Null when it is plain enough. */
function measure(value: Json, depth: number, left: { nodes: number }): string | null {
  if (--left.nodes < 0) return 'the body has too many values'
  if (value === null || typeof value !== 'object') return null
  if (depth === 0) return 'the body is nested too deeply'
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) {
      const fault = measure(item, depth - 1, left)
      if (fault !== null) return fault
    }
    return null
  }
  for (const key of Object.keys(value)) {
    if (key === '__proto__' || key === 'constructor' || key === 'prototype') return `'${key}' cannot be a key`
    const fault = measure((value as { readonly [key: string]: Json })[key]!, depth - 1, left)
    if (fault !== null) return fault
  }
  return null
}

/** `line 3, column 7`. */
function placeOf(text: string): string {
  const { line, column } = positionAt(text, jsonFault(text))
  return `line ${line}, column ${column}`
}
