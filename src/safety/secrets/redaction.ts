// Secrets never leave in a prompt and never arrive in a journal, a log or a recording: every text that is sent, stored or shown passes
// here. A secret is found as it is and as programs commonly write it: in JSON, in an address, in base64, in hexadecimal, in capitals,
// reversed, spaced out; with `parts`, also in pieces. This is a net, not a wall: a program that has a secret can always write it in another
// way.

import { StringDecoder } from 'node:string_decoder'
import type { Json } from '../../domain/json.ts'

export const REDACTED = '[redacted]'
const MARK = Buffer.from(REDACTED)

/** Shorter values would be found everywhere. */
export const SECRET_MIN_BYTES = 4

export type Redact = (text: string) => string

export interface RedactOptions {
  /** Also parts of a secret, which now and then is an ordinary word; for what is only read by people. */
  readonly parts?: boolean
}

/** Text that comes in parts. What could be the beginning of a secret is held back until more is known. */
export interface Redacting<T> {
  next(part: T): T
  end(): T
}

const SECRET_NAME = /_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i
/** A path or a sentence under such a name is no secret, and would be cut out of many texts. */
const SECRET_VALUE = /^[^\s/]{12,}$/

/** What in the environment is called like a secret and looks like one. */
export function secretsIn(environment: { readonly [name: string]: string | undefined }): readonly string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) && SECRET_VALUE.test(value) ? [value] : [],
  )
}

/** For many texts with the same secrets: getting ready to look for them takes a while. */
export interface Redaction {
  readonly text: Redact
  stream(): Redacting<Buffer>
}

export function redaction(secrets: readonly string[], options?: RedactOptions): Redaction {
  const search = new Search(secrets, options)
  return { text: textRedactor(search), stream: () => streamedBy(search) }
}

export function redactor(secrets: readonly string[], options?: RedactOptions): Redact {
  return textRedactor(new Search(secrets, options))
}

function textRedactor(search: Search): Redact {
  return text => {
    if (search.isEmpty || text === '') return text
    const bytes = Buffer.from(text)
    const clean = search.clean(bytes)
    return clean === bytes ? text : clean.toString('utf8')
  }
}

/** The same for bytes; those without a secret come back as they are. */
export function byteRedactor(secrets: readonly string[], options?: RedactOptions): (bytes: Buffer) => Buffer {
  const search = new Search(secrets, options)
  return bytes => search.clean(bytes)
}

export function redactJson<T extends Json | undefined>(value: T, redact: Redact): T {
  if (typeof value === 'string') return redact(value) as T
  if (Array.isArray(value)) return value.map(item => redactJson(item as Json, redact)) as unknown as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [redact(key), redactJson(item as Json, redact)] as const)
  return Object.fromEntries(entries) as T
}

export function streamRedactor(secrets: readonly string[], options?: RedactOptions): Redacting<string> {
  const bytes = byteStreamRedactor(secrets, options)
  const decoder = new StringDecoder('utf8')
  return {
    next: part => decoder.write(bytes.next(Buffer.from(part))),
    end: () => decoder.end(bytes.end()),
  }
}

export function byteStreamRedactor(secrets: readonly string[], options?: RedactOptions): Redacting<Buffer> {
  return streamedBy(new Search(secrets, options))
}

function streamedBy(search: Search): Redacting<Buffer> {
  let held: Buffer = Buffer.alloc(0)
  /** So many bytes of what is held belong to a secret whose mark was given out already. */
  let marked = 0
  const take = (all: Buffer, end: number): Buffer => {
    if (end === 0) return all.subarray(0, 0)
    const parts: Buffer[] = []
    let at = 0
    let beyond = 0
    for (const { from, to } of search.find(all, marked)) {
      if (from >= end) break
      parts.push(all.subarray(at, from))
      if (from > 0 || marked === 0) parts.push(MARK)
      at = Math.min(to, end)
      beyond = to - end
    }
    parts.push(all.subarray(at, end))
    marked = Math.max(0, beyond)
    return Buffer.concat(parts)
  }
  return {
    next(part) {
      if (search.isEmpty) return part
      const all = held.length === 0 ? part : Buffer.concat([held, part])
      const end = all.length - search.openEnd(all)
      const out = take(all, end)
      held = Buffer.from(all.subarray(end))
      return out
    },
    end() {
      const out = take(held, held.length)
      held = Buffer.alloc(0)
      return out
    },
  }
}

/** Some part that begins so has fewer than four bytes; none has. */
const [SHORT, LONG] = [2, 1]

const numberAt = (bytes: Buffer, at: number): number =>
  Math.imul((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!, 0x9e3779b1) >>> 16

interface Span {
  readonly from: number
  readonly to: number
}

/** Finds every part of every form. Two, then four bytes that begin no part are skipped: nearly all of a text. */
class Search {
  readonly #begins = new Uint8Array(65_536)
  /** By a number made of the first four bytes of each part, which others may share. */
  readonly #goesOn = new Uint8Array(65_536)
  readonly #parts = new Map<number, Set<string>>()
  readonly #forms: WrittenForm[] = []
  readonly isEmpty: boolean

  constructor(secrets: readonly string[], { parts = false }: RedactOptions = {}) {
    for (const secret of secrets) {
      if (Buffer.byteLength(secret) < SECRET_MIN_BYTES) continue
      this.#forms.push(...writtenForms(secret, parts))
    }
    for (const { bytes, part } of this.#forms)
      for (let at = 0; at + part <= bytes.length; at++) this.#add(bytes.subarray(at, at + part))
    this.isEmpty = this.#parts.size === 0
  }

  #add(part: Buffer): void {
    const pair = (part[0]! << 8) | part[1]!
    if (part.length < 4) this.#begins[pair] = SHORT
    else {
      if (this.#begins[pair] === 0) this.#begins[pair] = LONG
      this.#goesOn[numberAt(part, 0)] = 1
    }
    const same = this.#parts.get(part.length) ?? new Set()
    this.#parts.set(part.length, same.add(part.toString('latin1')))
  }

  clean(bytes: Buffer): Buffer {
    const covered = this.find(bytes)
    if (covered.length === 0) return bytes
    const parts: Buffer[] = []
    let at = 0
    for (const { from, to } of covered) {
      parts.push(bytes.subarray(at, from), MARK)
      at = to
    }
    return Buffer.concat([...parts, bytes.subarray(at)])
  }

  /** In order, those that overlap joined. The first `known` bytes are part of one. */
  find(bytes: Buffer, known = 0): readonly Span[] {
    if (this.isEmpty) return []
    const found: { from: number; to: number }[] = known === 0 ? [] : [{ from: 0, to: known }]
    for (let at = 0; at + 1 < bytes.length; at++) {
      const begins = this.#begins[(bytes[at]! << 8) | bytes[at + 1]!]
      if (begins === 0) continue
      if (begins === LONG && (at + 4 > bytes.length || this.#goesOn[numberAt(bytes, at)] === 0)) continue
      const length = this.#partAt(bytes, at)
      if (length === 0) continue
      const last = found.at(-1)
      if (last !== undefined && at < last.to) last.to = Math.max(last.to, at + length)
      else found.push({ from: at, to: at + length })
    }
    return found
  }

  /** How many bytes at the end could be the beginning of a part. */
  openEnd(bytes: Buffer): number {
    const longest = Math.max(0, ...this.#parts.keys()) - 1
    for (let length = Math.min(bytes.length, longest); length > 0; length--) {
      const end = bytes.subarray(bytes.length - length)
      if (length > 1 && this.#begins[(end[0]! << 8) | end[1]!] === 0) continue
      const begins = ({ bytes: form, part }: WrittenForm) => {
        const at = length < part ? form.indexOf(end) : -1
        return at >= 0 && at + part <= form.length
      }
      if (this.#forms.some(begins)) return length
    }
    return 0
  }

  #partAt(bytes: Buffer, at: number): number {
    let longest = 0
    for (const [length, parts] of this.#parts)
      if (length > longest && at + length <= bytes.length && parts.has(bytes.toString('latin1', at, at + length)))
        longest = length
    return longest
  }
}

/** A way of writing the value, and how many bytes of it say something of its own. */
interface WrittenForm {
  readonly bytes: Buffer
  readonly part: number
}

/** Fewer characters than these could be anything. */
const PART = 8

function writtenForms(secret: string, inParts: boolean): readonly WrittenForm[] {
  const raw = Buffer.from(secret)
  // A short value is only looked for whole.
  const isWhole = !inParts || raw.length < PART
  const forms = new Map<string, WrittenForm>()
  for (const [width, write] of FORMS)
    for (const text of write(secret, raw)) {
      const bytes = Buffer.from(text)
      const perByte = width ?? Math.max(1, bytes.length / raw.length)
      const part = isWhole ? bytes.length : Math.min(bytes.length, Math.ceil(PART * perByte))
      if (text !== '' && (forms.get(text)?.part ?? Number.POSITIVE_INFINITY) > part) forms.set(text, { bytes, part })
    }
  return [...forms.values()]
}

/** Bytes for one byte of the value. Null: by the length of the whole, so that no part is only what escapes have added. */
type Form = readonly [width: number | null, write: (secret: string, raw: Buffer) => readonly string[]]

const FORMS: readonly Form[] = [
  [null, text => [text, text.trim(), text.replaceAll('\n', '\r\n')]],
  [null, text => [text.toUpperCase(), text.toLowerCase(), [...text].reverse().join('')]],
  [null, text => [quoted(text), quoted(quoted(text)), quoted(text).replaceAll('/', '\\/')]],
  [null, text => [percent(text), percent(text).replaceAll('%20', '+'), percent(percent(text))]],
  [null, text => [percent(text).replace(/%../g, code => code.toLowerCase()), encodeURI(wellFormed(text))]],
  [4 / 3, (_, raw) => base64(raw)],
  [2, (_, raw) => [raw.toString('hex'), raw.toString('hex').toUpperCase()]],
  [2, text => [[...text].join(' ')]],
]

const quoted = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Half a character cannot be written in an address. */
const wellFormed = (text: string): string => Buffer.from(text).toString('utf8')

const percent = (text: string): string =>
  encodeURIComponent(wellFormed(text)).replace(/[!'()*]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

/** The digits that depend on nothing but the value, wherever in a longer text it stands. */
function base64(raw: Buffer): readonly string[] {
  return [0, 1, 2].flatMap(before => {
    const encoded = Buffer.concat([Buffer.alloc(before), raw]).toString('base64')
    const own = encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + raw.length) * 8) / 6))
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
