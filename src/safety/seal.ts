// A seal proves that a journal contained a certain entry. The hash chain alone only detects changes of single entries: someone who can
// write the whole database can create a new chain, but without the key, which is stored elsewhere, no seal for it.

import { createHmac, timingSafeEqual } from 'node:crypto'

export interface Seal {
  readonly seal: 1
  readonly plan: string
  readonly name: string
  /** The number of entries of the journal, and the last hash. */
  readonly version: number
  readonly head: string
  readonly hmac: string
}

type Sealed = Omit<Seal, 'hmac'>

export function makeSeal(key: Uint8Array, of: Omit<Sealed, 'seal'>): Seal {
  const sealed = { seal: 1, plan: of.plan, name: of.name, version: of.version, head: of.head } as const
  return { ...sealed, hmac: hmacOf(key, sealed).toString('hex') }
}

/** In constant time. */
export function isSealedBy(key: Uint8Array, seal: Seal): boolean {
  const given = Buffer.from(seal.hmac, 'hex')
  const made = hmacOf(key, seal)
  return given.length === made.length && timingSafeEqual(given, made)
}

/** One JSON line for each part, so that two different seals never have the same text. */
function hmacOf(key: Uint8Array, { seal, plan, name, version, head }: Sealed): Buffer {
  const text = ['planfold seal', seal, plan, name, version, head].map(part => JSON.stringify(part)).join('\n')
  return createHmac('sha256', key).update(text).digest()
}

const HEX = /^[0-9a-f]{64}$/

/** From parsed JSON, alone or in the envelope of `--json`; null for anything else. */
export function readSeal(value: unknown): Seal | null {
  if (value === null || typeof value !== 'object') return null
  if ('planfold' in value && 'data' in value) return readSeal(value.data)
  const { seal, plan, name, version, head, hmac } = value as { readonly [key: string]: unknown }
  if (seal !== 1 || typeof plan !== 'string' || typeof name !== 'string') return null
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 1) return null
  if (typeof head !== 'string' || !HEX.test(head) || typeof hmac !== 'string' || !HEX.test(hmac)) return null
  return { seal, plan, name, version, head, hmac }
}
