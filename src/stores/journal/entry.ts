// The format of an entry and its hash chain. The body is JSON text `{v, command, events}`; the hash covers the previous hash, the columns
// beside the body, and the body. All stores write exactly this, so a journal can be moved between them: since format 2 the hash leaves out
// the position, which each store gives anew. The chain of a plan may go from format 1 to 2, never back.

import { hash } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'
import type { Command } from '../../domain/command.ts'
import type { Event } from '../../domain/event.ts'
import type { Actor, Millis, PlanId, Sha256 } from '../../domain/id.ts'
import { PAYLOAD_MAX_BYTES } from '../../domain/limits.ts'
import { knowsRules, RULES } from '../../domain/rules-version.ts'
import { type Entry, type Position, StoreDamaged } from '../store.ts'

/** The columns of an entry. Exactly one of `body` and `blob` is set: large bodies are compressed in the content store. */
export interface StoredEntry {
  readonly format: number
  readonly position: Position
  /** Of format 1 and copied from another store: its position there, which its hash covers. */
  readonly oldPosition: Position | null
  readonly version: number
  readonly at: Millis
  readonly actor: Actor
  readonly fence: number | null
  readonly body: string | null
  readonly blob: Sha256 | null
  readonly hash: Sha256
}

/** The content store as the journal uses it: synchronous, because it is called inside a transaction. */
export interface BodyBlobs {
  putNow(bytes: Uint8Array): Sha256
  getNow(id: Sha256): Uint8Array | null
  /** Where contents leave this machine: stores some that must not. */
  keepNow?(bytes: Uint8Array): Sha256
  /** Where those are that are missing here. */
  readonly elsewhere?: string
}

export const ENTRY_FORMAT = 2

/** The entry before another, as far as the chain goes. */
export interface Link {
  readonly hash: string
  readonly format: number
}

export const GENESIS: Link = { hash: '', format: 1 }

export interface NewEntry {
  readonly position: Position
  readonly plan: PlanId
  readonly version: number
  readonly now: Millis
  readonly actor: Actor
  readonly fence: number | null
  readonly command: Command
  readonly events: readonly Event[]
}

/** A body that is too large for a row, or must not leave this machine, is durable in `blobs` on return. */
export function sealEntry(previous: Link, entry: NewEntry, blobs: BodyBlobs, isKept = false): StoredEntry {
  const { command, events } = entry
  const text = JSON.stringify({ v: ENTRY_FORMAT, command, events })
  // A string this short cannot exceed the limit in UTF-8.
  const large = text.length > PAYLOAD_MAX_BYTES / 3 && Buffer.byteLength(text) > PAYLOAD_MAX_BYTES
  const packed = large || isKept ? deflateSync(text, { level: 3 }) : null
  const blob = packed === null ? null : isKept ? blobs.keepNow!(packed) : blobs.putNow(packed)
  const { position, version, now: at, actor, fence } = entry
  const body = packed === null ? text : null
  const row = { format: ENTRY_FORMAT, position, oldPosition: null, version, at, actor, fence, body, blob }
  return { ...row, hash: entryHash(previous.hash, entry.plan, row) }
}

/** Verifies that the row continues the chain after `previous`. */
export function openEntry(previous: Link, plan: PlanId, stored: StoredEntry, blobs: BodyBlobs): Entry {
  demandChain(previous, plan, stored)
  return readEntry(plan, stored, blobs)
}

/** Only the events, for folding: commands do not change the state. */
export function openEvents(
  previous: Link,
  plan: PlanId,
  stored: StoredEntry,
  blobs: BodyBlobs,
): Pick<Entry, 'version' | 'now' | 'events' | 'hash'> & Link {
  demandChain(previous, plan, stored)
  const { events } = bodyOf(plan, stored, blobs)
  const { version, at: now, hash, format } = stored
  return { version, now, events, hash, format }
}

export function readEntry(plan: PlanId, stored: StoredEntry, blobs: BodyBlobs): Entry {
  const { position, version, at: now, actor, fence, hash } = stored
  const { command, events } = bodyOf(plan, stored, blobs)
  return { position, plan, version, actor, now, fence, command, events, hash }
}

function demandChain(previous: Link, plan: PlanId, stored: StoredEntry): void {
  const fault = chainFault(previous, plan, stored)
  if (fault !== null) throw new StoreDamaged(fault)
}

/** Why the row does not continue the chain after `previous`; null when it does. */
export function chainFault(previous: Link, plan: PlanId, stored: StoredEntry): string | null {
  if (stored.format < previous.format)
    return `entry ${stored.version} of plan ${plan} is of format ${stored.format}, after one of format ${previous.format}`
  const isWhole = entryHash(previous.hash, plan, stored) === stored.hash
  return isWhole ? null : `entry ${stored.version} of plan ${plan} does not match its hash`
}

export function entryHash(previous: string, plan: PlanId, row: Omit<StoredEntry, 'hash'>): Sha256 {
  const { format, position, oldPosition, version, at, actor, fence, body, blob } = row
  const place = format === 1 ? `${oldPosition ?? position},` : ''
  // Exactly the text of JSON.stringify for the list, built by hand because that is faster.
  const beside = `[${place}${JSON.stringify(plan)},${version},${at},${JSON.stringify(actor)},${fence}]`
  return hash('sha256', `${previous}\n${beside}\n${blob === null ? body : `blob ${blob}`}`) as Sha256
}

function bodyOf(plan: PlanId, stored: StoredEntry, blobs: BodyBlobs): Body {
  const bytes = stored.blob === null ? null : blobs.getNow(stored.blob)
  if (stored.blob !== null && bytes === null) {
    const missing = `blob ${stored.blob} of entry ${stored.version} of plan ${plan} is missing`
    if (blobs.elsewhere === undefined) throw new StoreDamaged(missing)
    const cause = new UnknownFormat(`${missing}; ${blobs.elsewhere}`)
    throw new StoreDamaged(cause.message, { cause, hint: 'look at this plan there' })
  }
  try {
    return checked(JSON.parse(bytes === null ? (stored.body ?? 'null') : inflateSync(bytes).toString()), stored.format)
  } catch (cause) {
    const entry = `entry ${stored.version} of plan ${plan}`
    if (!(cause instanceof UnknownFormat)) throw new StoreDamaged(`${entry} cannot be read`, { cause })
    throw new StoreDamaged(`${entry} cannot be read: ${cause.message}`, { cause, hint: NEWER })
  }
}

/** Its body and what it names are on another machine. */
export const isBodyElsewhere = ({ blob }: StoredEntry, blobs: BodyBlobs): boolean =>
  blobs.elsewhere !== undefined && blob !== null && blobs.getNow(blob) === null

interface Body {
  readonly v: number
  readonly command: Command
  readonly events: readonly Event[]
}

/** The bodies of formats 1 and 2 are the same but for their number. Unknown formats are refused. */
function checked(body: Body, format: number): Body {
  if (body.v !== 1 && body.v !== ENTRY_FORMAT) throw unknown('format', body.v, ENTRY_FORMAT)
  if (body.v !== format) throw new Error(`it is stored as format ${format} and says ${body.v}`)
  if (!isTyped(body.command) || !Array.isArray(body.events) || !body.events.every(isTyped))
    throw new Error('it holds no command or no list of events')
  for (const event of body.events)
    if (event.type === 'plan.started' && !knowsRules(event.rules)) throw unknown('rules', event.rules, RULES)
  return body
}

/** An altered entry may have any content, but every event needs a type. */
const isTyped = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

const NEWER = 'use the planfold that wrote it'

/** The entry is not damaged, but cannot be read here: a newer release wrote it, or its body is on another machine. */
export class UnknownFormat extends Error {}

const unknown = (what: 'format' | 'rules', found: unknown, known: number): UnknownFormat =>
  new UnknownFormat(
    `it has ${what} ${JSON.stringify(found) ?? 'of no number'}, and this program knows ${known}; ${NEWER}`,
  )
