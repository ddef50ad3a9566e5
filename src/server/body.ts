// Reads a request body within limits. JSON is checked before it is used: depth, number of values, keys that JavaScript reserves
// (`__proto__`), and text that cannot be stored.

import type { IncomingMessage } from 'node:http'
import type { Json } from '../domain/json.ts'
import { type Path, printPath } from '../format/text/diagnostic.ts'
import { positionAt } from '../format/text/place.ts'
import type { Fault, Schema } from '../format/wire/wire.ts'
import type { ServerLimits } from './limits.ts'
import { invalidRequest, isProblem, type Problem, problem } from './problem.ts'

// Finds where a text stops being JSON. JSON.parse reports the position only sometimes, and people need a line and a column.

/** The offset of the first invalid character; the length of the text if it ends too early. */
export function jsonFault(text: string): number {
  const open: string[] = []
  let at = 0
  let wanted: 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'comma' = 'value'
  for (;;) {
    while (BLANK.has(text[at] ?? '')) at++
    const sign = text[at]
    if (sign === undefined) return text.length
    const isEnd = sign === '}' || sign === ']'
    if (isEnd && (wanted === 'comma' || wanted.endsWith('-or-end'))) {
      if (open.pop() !== (sign === '}' ? '{' : '[')) return at
      at++
      wanted = 'comma'
    } else if (wanted === 'comma') {
      if (sign !== ',' || open.length === 0) return at
      at++
      wanted = open.at(-1) === '{' ? 'key' : 'value'
    } else if (wanted === 'colon') {
      if (sign !== ':') return at
      at++
      wanted = 'value'
    } else if (sign === '"') {
      const end = stringEnd(text, at)
      if (end < 0) return -end
      at = end
      wanted = wanted.startsWith('key') ? 'colon' : 'comma'
    } else if (wanted.startsWith('key')) return at
    else if (sign === '{' || sign === '[') {
      open.push(sign)
      at++
      wanted = sign === '{' ? 'key-or-end' : 'value-or-end'
    } else {
      WORD.lastIndex = at
      const word = WORD.exec(text)?.[0] ?? ''
      if (word === '') return at
      at += word.length
      wanted = 'comma'
    }
  }
}

const BLANK: ReadonlySet<string> = new Set([' ', '\t', '\n', '\r'])
const WORD = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y

/** The offset behind the string that begins at `from`; a negative offset marks an invalid character. */
function stringEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const sign = text[at]!
    if (sign === '"') return at + 1
    if (sign < ' ') return -at
    if (sign !== '\\') continue
    at++
    if (text[at] === 'u' && /^[\da-fA-F]{4}$/.test(text.slice(at + 1, at + 5))) at += 4
    else if (!'"\\/bfnrt'.includes(text[at] ?? 'x')) return -at
  }
  return -text.length
}

// Text that no store keeps unchanged: NUL and lone surrogates. In JSON both can only be written as escapes, in an address
// only NUL can, so a text without these escapes is not searched.

/** The first such place in a body. `value` is the parsed text, with limited depth. */
function unkeptIn(text: string, value: Json): Fault | null {
  return text.includes('\\u') ? look(value, []) : null
}

export function unkeptInQuery(
  query: string,
  values: { readonly [name: string]: string | readonly string[] },
): Fault | null {
  return query.includes('%00') ? look(values, []) : null
}

function look(value: Json, at: (string | number)[]): Fault | null {
  if (typeof value === 'string') {
    const odd = oddIn(value)
    return odd === null ? null : fault(at, `the text contains ${odd}`)
  }
  if (value === null || typeof value !== 'object') return null
  if (Array.isArray(value)) {
    for (const [index, item] of (value as readonly Json[]).entries()) {
      const found = below(item, index, at)
      if (found !== null) return found
    }
    return null
  }
  for (const [key, item] of Object.entries(value)) {
    const odd = oddIn(key)
    const found = odd === null ? below(item as Json, key, at) : fault(at, `a key contains ${odd}`)
    if (found !== null) return found
  }
  return null
}

function below(item: Json, step: string | number, at: (string | number)[]): Fault | null {
  at.push(step)
  const found = look(item, at)
  at.pop()
  return found
}

function oddIn(text: string): string | null {
  if (text.includes('\0')) return 'a NUL character'
  return /\p{Surrogate}/u.test(text) ? 'half a character (a lone surrogate)' : null
}

const fault = (at: Path, message: string): Fault => ({ path: printPath(at), message, hint: 'remove it' })

/** A client that is still sending may not read the response, so a little more is read and dropped first. */
const DRAIN_BYTES = 16_000_000

export function readBytes(
  request: Request,
  incoming: IncomingMessage,
  maxBytes: number,
): Promise<Uint8Array | Problem> {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = incoming.headers
  const declaredBytes = coding === undefined ? Number(length) : null
  if (declaredBytes !== null && declaredBytes > maxBytes + DRAIN_BYTES) return Promise.resolve(tooLarge(maxBytes))
  const all =
    declaredBytes !== null && declaredBytes <= maxBytes
      ? request.arrayBuffer().then(bytes => new Uint8Array(bytes))
      : readWithin(request.body!, maxBytes)
  // Emitted by serve.ts, and by Node after a period without data.
  const late = new Promise<Problem>(resolve => incoming.once('timeout', () => resolve(TOO_SLOW)))
  return Promise.race([all.catch(() => CUT_OFF), late])
}

async function readWithin(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array | Problem> {
  let chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length <= maxBytes) chunks.push(chunk)
    else chunks = []
    if (length > maxBytes + DRAIN_BYTES) break
  }
  return length > maxBytes ? tooLarge(maxBytes) : Buffer.concat(chunks)
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

export function decode(bytes: Uint8Array): { readonly text: string } | Problem {
  try {
    return { text: UTF8.decode(bytes) }
  } catch {
    return problem(400, 'not-utf8', 'the body is not UTF-8 text', { hint: 'send JSON as UTF-8' })
  }
}

type JsonRead = { readonly value: Json } | Problem

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
  return unkept === null ? { value } : invalidRequest('body', [unkept])
}

/** Parses and validates the body. Without a schema only `{}` is accepted. */
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
      : invalidRequest('body', [{ path: '', message: 'nothing is taken here', hint: 'leave the body out' }])
  const checked = schema.read(parsed.value)
  return checked.ok ? { value: checked.value } : invalidRequest('body', checked.faults)
}

const isEmptyObject = (value: Json): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

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

function placeOf(text: string): string {
  const { line, column } = positionAt(text, jsonFault(text))
  return `line ${line}, column ${column}`
}
