// How one entry is written and chained. The body is JSON text `{v, command, events}`; the hash covers the hash before it,
// everything that stands beside the body, and the body. Both stores write exactly this, so a journal can be carried from
// one to the other. What an event says already is not said twice: a command points to it by its index (see `packCommand`).

import { hash } from 'node:crypto'
import type { Command, CommandOf, Settlement, Turn } from '../domain/command.ts'
import type { Event } from '../domain/event.ts'
import type { Actor, Millis, PlanId, Sha256 } from '../domain/id.ts'
import { PAYLOAD_MAX_BYTES } from '../domain/limits.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { Result } from '../domain/result.ts'
import { type Entry, type Position, StoreDamaged } from './store.ts'

/** What a table keeps of an entry. Exactly one of `body` and `blob` is set: large bodies stand in the content store. */
export interface StoredEntry {
  readonly position: Position
  readonly version: number
  readonly at: Millis
  readonly actor: Actor
  readonly fence: number | null
  readonly body: string | null
  readonly blob: Sha256 | null
  readonly hash: Sha256
}

/** The content store as the journal uses it, inside a transaction and therefore without waiting. */
export interface BodyBlobs {
  putNow(bytes: Uint8Array): Sha256
  /** Verified; null when there is no such blob. */
  getNow(id: Sha256): Uint8Array | null
}

export const GENESIS = ''
const ENTRY_VERSION = 1

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

/** Makes the row of an entry; a body too large for a row is durable in `blobs` when this returns. */
export function sealEntry(previous: string, entry: NewEntry, blobs: BodyBlobs): StoredEntry {
  const text = JSON.stringify({
    v: ENTRY_VERSION,
    command: packCommand(entry.command, entry.events),
    events: entry.events,
  })
  // A string this short cannot be too long in bytes; only longer ones are measured.
  const large = text.length > PAYLOAD_MAX_BYTES / 3 && Buffer.byteLength(text) > PAYLOAD_MAX_BYTES
  const blob = large ? blobs.putNow(Buffer.from(text)) : null
  const { position, version, now: at, actor, fence } = entry
  const row = { position, version, at, actor, fence, body: large ? null : text, blob }
  return { ...row, hash: entryHash(previous, entry.plan, row) }
}

/** Reads a row back, demanding that it continues the chain after `previous`. */
export function openEntry(previous: string, plan: PlanId, stored: StoredEntry, blobs: BodyBlobs): Entry {
  if (entryHash(previous, plan, stored) !== stored.hash) {
    throw new StoreDamaged(`entry ${stored.version} of plan ${plan} does not match its hash`)
  }
  return readEntry(plan, stored, blobs)
}

/** Reads a row without looking at the chain. */
export function readEntry(plan: PlanId, stored: StoredEntry, blobs: BodyBlobs): Entry {
  const { position, version, at: now, actor, fence, hash } = stored
  return { position, plan, version, actor, now, fence, ...unpackBody(plan, stored, blobs), hash }
}

export function entryHash(previous: string, plan: PlanId, row: Omit<StoredEntry, 'hash'>): Sha256 {
  const beside = JSON.stringify([row.position, plan, row.version, row.at, row.actor, row.fence])
  return hash('sha256', `${previous}\n${beside}\n${row.blob === null ? row.body : `blob ${row.blob}`}`) as Sha256
}

function unpackBody(plan: PlanId, stored: StoredEntry, blobs: BodyBlobs) {
  let text = stored.body
  if (stored.blob !== null) {
    const bytes = blobs.getNow(stored.blob)
    if (bytes === null) throw new StoreDamaged(`blob ${stored.blob} of entry ${stored.version} of plan ${plan} is missing`)
    text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  }
  try {
    return upcast(JSON.parse(text ?? 'null') as Body)
  } catch (cause) {
    throw new StoreDamaged(`entry ${stored.version} of plan ${plan} cannot be read`, { cause })
  }
}

interface Body {
  readonly v: number
  readonly command: Packed
  readonly events: readonly Event[]
}

/** The seat where bodies of older programs become today's. There is one version so far. */
function upcast(body: Body): { readonly command: Command; readonly events: readonly Event[] } {
  if (body.v !== ENTRY_VERSION) throw new Error(`entry format ${body.v} is not known to this program`)
  return { command: unpackCommand(body.command, body.events), events: body.events }
}

// ── not saying things twice ────────────────────────────────────────────────────────────────────────────────────────

type Packed =
  | Exclude<Command, Turn | CommandOf<'create'> | CommandOf<'revise'> | CommandOf<'report'>>
  | (Omit<CommandOf<'report'>, 'result'> & { readonly result: Result | number })
  | (Omit<Turn, 'settled' | 'compensated'> & {
      readonly settled?: readonly (Settlement | number)[]
      readonly compensated?: readonly (Compensated | number)[]
    })
  | (Omit<CommandOf<'create'>, 'definition'> & { readonly definition: PlanDefinition | number })
  | (Omit<CommandOf<'revise'>, 'definition'> & { readonly definition: PlanDefinition | number })
type Compensated = NonNullable<Turn['compensated']>[number]

/**
 * A settlement whose result is the very object an event carries, for the same attempt, becomes the index of that event;
 * so do the result of `report` and the definition of `create` and `revise`. Anything the domain changed on the way stays written out.
 */
function packCommand(command: Command, events: readonly Event[]): Packed {
  switch (command.type) {
    case 'turn': {
      if (command.settled === undefined && command.compensated === undefined) return command
      const told = new Map<unknown, number>()
      for (const [index, event] of events.entries()) if ('result' in event) told.set(event.result, index)
      const { settled, compensated, ...rest } = command
      return {
        ...rest,
        ...(settled && { settled: settled.map(item => sameAttempt(item, events, told.get(item.result))) }),
        ...(compensated && { compensated: compensated.map(item => sameTask(item, events, told.get(item.result))) }),
      }
    }
    case 'create':
    case 'revise': {
      const index = events.findIndex(event => 'definition' in event && event.definition === command.definition)
      return index < 0 ? command : { ...command, definition: index }
    }
    case 'report': {
      const index = events.findIndex(event => 'result' in event && event.result === command.result)
      return index < 0 ? command : { ...command, result: index }
    }
    default:
      return command
  }
}

function sameAttempt(item: Settlement, events: readonly Event[], index: number | undefined): Settlement | number {
  const event = index === undefined ? undefined : events[index]
  if (event?.type !== 'attempt.succeeded' && event?.type !== 'attempt.failed') return item
  const same = event.task === item.task && event.visit === item.visit && event.attempt === item.attempt
  return same ? index! : item
}

function sameTask(item: Compensated, events: readonly Event[], index: number | undefined): Compensated | number {
  const event = index === undefined ? undefined : events[index]
  return event?.type === 'compensation.finished' && event.task === item.task ? index! : item
}

function unpackCommand(packed: Packed, events: readonly Event[]): Command {
  switch (packed.type) {
    case 'turn': {
      const { settled, compensated, ...rest } = packed
      return {
        ...rest,
        ...(settled && { settled: settled.map(item => (typeof item === 'number' ? attemptOf(events[item]) : item)) }),
        ...(compensated && {
          compensated: compensated.map(item => (typeof item === 'number' ? compensatedBy(events[item]) : item)),
        }),
      }
    }
    case 'create':
    case 'revise': {
      const { definition } = packed
      return { ...packed, definition: typeof definition === 'number' ? definitionOf(events[definition]) : definition }
    }
    case 'report':
      return { ...packed, result: typeof packed.result === 'number' ? attemptOf(events[packed.result]).result : packed.result }
    default:
      return packed
  }
}

function attemptOf(event: Event | undefined): Settlement & { readonly result: Result } {
  if (event?.type !== 'attempt.succeeded' && event?.type !== 'attempt.failed') throw new Error('a settlement points nowhere')
  const { task, visit, attempt, result } = event
  return { task, visit, attempt, result }
}

function compensatedBy(event: Event | undefined): { task: Compensated['task']; result: Result } {
  if (event?.type !== 'compensation.finished') throw new Error('a compensation points nowhere')
  return { task: event.task, result: event.result }
}

function definitionOf(event: Event | undefined): PlanDefinition {
  if (event === undefined || !('definition' in event)) throw new Error('a definition points nowhere')
  return event.definition
}
