// How one entry is written and chained. The body is JSON text `{v, command, events}`; the hash covers the hash before it,
// everything that stands beside the body, and the body. Both stores write exactly this, so a journal can be carried from
// one to the other.

import { hash } from 'node:crypto'
import { deflateSync, inflateSync } from 'node:zlib'
import type { Command, CommandOf, Expanded, Settlement, Turn } from '../../domain/command.ts'
import type { Event, EventOf } from '../../domain/event.ts'
import type { Actor, Millis, PlanId, Sha256 } from '../../domain/id.ts'
import { PAYLOAD_MAX_BYTES } from '../../domain/limits.ts'
import type { PlanDefinition, PlanSource } from '../../domain/plan.ts'
import type { Result } from '../../domain/result.ts'
import { knowsRules, RULES } from '../../domain/rules-number.ts'
import { type Entry, type Position, StoreDamaged } from '../store.ts'

// How command and events are kept short. Events of attempts, of which there are many, are lists instead of objects; and what
// an event says already is not said twice: the command points to it by its index. Anything else stays as it is.

interface Packed {
  readonly command: PackedCommand
  readonly events: readonly PackedEvent[]
}

export function pack(command: Command, events: readonly Event[]): Packed {
  return { command: packCommand(command, events), events: events.map(packEvent) }
}

export function unpack(packed: Packed): { readonly command: Command; readonly events: readonly Event[] } {
  const events = unpackEvents(packed)
  return { command: unpackCommand(packed.command, events), events }
}

const unpackEvents = ({ events }: Packed): readonly Event[] => events.map(unpackEvent)

// ── events ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type Started = EventOf<'attempt.started'>
/** What is told by its place; everything else by its name. */
const HEAD: ReadonlySet<string> = new Set(['type', 'task', 'visit', 'attempt'])
type Ended = EventOf<'attempt.succeeded'> | EventOf<'attempt.failed'>

/** type, task, visit, attempt; then the result, or whatever else a start says. */
type PackedEvent =
  | Event
  | readonly [Started['type'], Started['task'], number, number, object?]
  | readonly [Ended['type'], Ended['task'], number, number, Result]

function packEvent(event: Event): PackedEvent {
  switch (event.type) {
    case 'attempt.started': {
      const { type, task, visit, attempt } = event
      const keys = Object.keys(event).filter(key => event[key as keyof Started] !== undefined)
      // By far the most events are these four words.
      if (keys.length === HEAD.size) return [type, task, visit, attempt]
      // In their order, so that what is read again is the same to the letter.
      const more = Object.fromEntries(keys.flatMap(key => (HEAD.has(key) ? [] : [[key, event[key as keyof Started]]])))
      return [type, task, visit, attempt, more]
    }
    case 'attempt.succeeded':
    case 'attempt.failed': {
      // Seldom; a word that is not packed would be lost.
      if ('goneBack' in event && event.goneBack !== undefined) return event
      return [event.type, event.task, event.visit, event.attempt, event.result]
    }
    default:
      return event
  }
}

function unpackEvent(packed: PackedEvent): Event {
  if (!Array.isArray(packed)) return packed as Event
  const [type, task, visit, attempt, last] = packed
  if (type !== 'attempt.started') return { type, task, visit, attempt, result: last }
  return last === undefined ? { type, task, visit, attempt } : { type, task, visit, attempt, ...last }
}

// ── commands ───────────────────────────────────────────────────────────────────────────────────────────────────────

type PackedCommand =
  | Exclude<Command, Turn | CommandOf<'create'> | CommandOf<'revise'> | CommandOf<'report'> | CommandOf<'add'>>
  | (Omit<CommandOf<'add'>, 'tasks'> & { readonly tasks: CommandOf<'add'>['tasks'] | number })
  | (Omit<CommandOf<'report'>, 'result'> & { readonly result: Result | number })
  | (Omit<Turn, 'settled' | 'compensated' | 'expanded'> & {
      readonly settled?: readonly (Settlement | number)[]
      readonly compensated?: readonly (Compensated | number)[]
      readonly expanded?: readonly PackedExpanded[]
    })
  | (Omit<CommandOf<'create'>, 'definition' | 'source'> & PackedDefinition)
  | (Omit<CommandOf<'revise'>, 'definition' | 'source'> & PackedDefinition)
interface PackedDefinition {
  readonly definition: PlanDefinition | number
  readonly source?: PlanSource | number
}
type PackedExpanded = Omit<Expanded, 'definition'> & { readonly definition: PlanDefinition | number }
type Compensated = NonNullable<Turn['compensated']>[number]

/**
 * A settlement whose result is the very object an event carries, for the same attempt, becomes the index of that event;
 * so do the result of `report`, the definition and source of `create` and `revise`, the tasks of `add`, and the definitions of
 * `expanded`. Anything
 * the domain changed on the way stays written out.
 */
function packCommand(command: Command, events: readonly Event[]): PackedCommand {
  switch (command.type) {
    case 'turn': {
      const told = teller(events)
      if (tellsOnlyEnds(command))
        return { type: 'turn', settled: command.settled.map(item => sameAttempt(item, events, told(item.result))) }
      const { type, settled, prepared, restored, compensated, expanded, ...rest } = command
      if (settled === undefined && compensated === undefined && expanded === undefined) return command
      // What is undefined is not written.
      return {
        type,
        settled: settled?.map(item => sameAttempt(item, events, told(item.result))),
        prepared,
        restored,
        compensated: compensated?.map(item => sameTask(item, events, told(item.result))),
        expanded: expanded?.map(item => ({ ...item, definition: sameDefinition(item.definition, events) })),
        // Whatever else a turn tells: nothing may be lost here.
        ...rest,
      } as PackedCommand
    }
    case 'create':
    case 'revise': {
      const definition = sameDefinition(command.definition, events)
      const { source } = command
      const index = source === undefined ? -1 : events.findIndex(event => 'source' in event && event.source === source)
      return { ...command, definition, ...(index < 0 ? {} : { source: index }) }
    }
    case 'add': {
      const index = events.findIndex(event => event.type === 'task.added' && event.tasks === command.tasks)
      return index < 0 ? command : { ...command, tasks: index }
    }
    case 'report': {
      const index = events.findIndex(event => 'result' in event && event.result === command.result)
      return index < 0 ? command : { ...command, result: index }
    }
    default:
      return command
  }
}

/** By far the most turns: taking them apart by `...rest` costs more than writing them. */
function tellsOnlyEnds(command: Turn): command is Turn & Required<Pick<Turn, 'settled'>> {
  for (const key in command) if (key !== 'type' && key !== 'settled') return false
  return command.settled !== undefined
}

function sameDefinition(definition: PlanDefinition, events: readonly Event[]): PlanDefinition | number {
  const index = events.findIndex(event => 'definition' in event && event.definition === definition)
  return index < 0 ? definition : index
}

/** Finds the event that carries a result. They come in the order of the settlements, so the search goes on where it stood. */
function teller(events: readonly Event[]): (result: unknown) => number | undefined {
  let from = 0
  return result => {
    for (let step = 0; step < events.length; step++) {
      const at = (from + step) % events.length
      const event = events[at]!
      if (!('result' in event) || event.result !== result) continue
      from = at + 1
      return at
    }
    return undefined
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

function unpackCommand(packed: PackedCommand, events: readonly Event[]): Command {
  switch (packed.type) {
    case 'turn': {
      const { settled, compensated, expanded, ...rest } = packed
      return {
        ...rest,
        ...(settled && { settled: settled.map(item => (typeof item === 'number' ? attemptOf(events[item]) : item)) }),
        ...(compensated && {
          compensated: compensated.map(item => (typeof item === 'number' ? compensatedBy(events[item]) : item)),
        }),
        ...(expanded && {
          expanded: expanded.map(item => ({ ...item, definition: whole(item.definition, events) })),
        }),
      }
    }
    case 'create':
    case 'revise': {
      const { definition, source, ...rest } = packed
      return {
        ...rest,
        definition: whole(definition, events),
        source: source === undefined ? undefined : typeof source === 'number' ? sourceOf(events[source]) : source,
      }
    }
    case 'add':
      return { ...packed, tasks: typeof packed.tasks === 'number' ? addedBy(events[packed.tasks]) : packed.tasks }
    case 'report':
      return {
        ...packed,
        result: typeof packed.result === 'number' ? attemptOf(events[packed.result]).result : packed.result,
      }
    default:
      return packed
  }
}

function attemptOf(event: Event | undefined): Settlement & { readonly result: Result } {
  if (event?.type !== 'attempt.succeeded' && event?.type !== 'attempt.failed')
    throw new Error('a settlement points nowhere')
  const { task, visit, attempt, result } = event
  return { task, visit, attempt, result }
}

function compensatedBy(event: Event | undefined): { task: Compensated['task']; result: Result } {
  if (event?.type !== 'compensation.finished') throw new Error('a compensation points nowhere')
  return { task: event.task, result: event.result }
}

function addedBy(event: Event | undefined): CommandOf<'add'>['tasks'] {
  if (event?.type !== 'task.added') throw new Error('added tasks point nowhere')
  return event.tasks
}

const whole = (definition: PlanDefinition | number, events: readonly Event[]): PlanDefinition =>
  typeof definition === 'number' ? definitionOf(events[definition]) : definition

function sourceOf(event: Event | undefined): PlanSource {
  if (event === undefined || !('source' in event) || event.source === undefined)
    throw new Error('a source points nowhere')
  return event.source
}

function definitionOf(event: Event | undefined): PlanDefinition {
  if (event === undefined || !('definition' in event)) throw new Error('a definition points nowhere')
  return event.definition
}

/** What a table keeps of an entry. Exactly one of `body` and `blob` is set: large bodies stand deflated in the content store. */
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
  const { command, events } = pack(entry.command, entry.events)
  const text = JSON.stringify({ v: ENTRY_VERSION, command, events })
  // A string this short cannot be too long in bytes; only longer ones are measured.
  const large = text.length > PAYLOAD_MAX_BYTES / 3 && Buffer.byteLength(text) > PAYLOAD_MAX_BYTES
  const blob = large ? blobs.putNow(deflateSync(text, { level: 3 })) : null
  const { position, version, now: at, actor, fence } = entry
  const row = { position, version, at, actor, fence, body: large ? null : text, blob, hash: GENESIS as Sha256 }
  row.hash = entryHash(previous, entry.plan, row)
  return row
}

/** Reads a row back, demanding that it continues the chain after `previous`. */
export function openEntry(previous: string, plan: PlanId, stored: StoredEntry, blobs: BodyBlobs): Entry {
  demandChain(previous, plan, stored)
  return readEntry(plan, stored, blobs)
}

/** The same for whoever folds: its events alone, because a command makes nothing true. */
export function openEvents(
  previous: string,
  plan: PlanId,
  stored: StoredEntry,
  blobs: BodyBlobs,
): Pick<Entry, 'version' | 'now' | 'events' | 'hash'> {
  demandChain(previous, plan, stored)
  const events = unpackBody(plan, stored, blobs, unpackEvents)
  return { version: stored.version, now: stored.at, events, hash: stored.hash }
}

/** Reads a row without looking at the chain. */
export function readEntry(plan: PlanId, stored: StoredEntry, blobs: BodyBlobs): Entry {
  const { position, version, at: now, actor, fence, hash } = stored
  const { command, events } = unpackBody(plan, stored, blobs, unpack)
  return { position, plan, version, actor, now, fence, command, events, hash }
}

function demandChain(previous: string, plan: PlanId, stored: StoredEntry): void {
  if (entryHash(previous, plan, stored) === stored.hash) return
  throw new StoreDamaged(`entry ${stored.version} of plan ${plan} does not match its hash`)
}

export function entryHash(previous: string, plan: PlanId, row: Omit<StoredEntry, 'hash'>): Sha256 {
  const { position, version, at, actor, fence, body, blob } = row
  // As JSON writes a list, which takes longer when it is asked to.
  const beside = `[${position},${JSON.stringify(plan)},${version},${at},${JSON.stringify(actor)},${fence}]`
  return hash('sha256', `${previous}\n${beside}\n${blob === null ? body : `blob ${blob}`}`) as Sha256
}

function unpackBody<T>(plan: PlanId, stored: StoredEntry, blobs: BodyBlobs, unpacked: (body: Packed) => T): T {
  const bytes = stored.blob === null ? null : blobs.getNow(stored.blob)
  if (stored.blob !== null && bytes === null)
    throw new StoreDamaged(`blob ${stored.blob} of entry ${stored.version} of plan ${plan} is missing`)
  try {
    return unpacked(
      upcast(JSON.parse(bytes === null ? (stored.body ?? 'null') : inflateSync(bytes).toString()) as Body),
    )
  } catch (cause) {
    const entry = `entry ${stored.version} of plan ${plan}`
    if (!(cause instanceof UnknownFormat)) throw new StoreDamaged(`${entry} cannot be read`, { cause })
    throw new StoreDamaged(`${entry} cannot be read: ${cause.message}`, { cause, hint: NEWER })
  }
}

type Body = Packed & { readonly v: number }

/** Bodies of older programs become today's here; there is one format so far. What this program does not know is refused. */
function upcast(body: Body): Packed {
  if (body.v !== ENTRY_VERSION) throw new UnknownFormat('format', body.v, ENTRY_VERSION)
  for (const event of body.events)
    if ('type' in event && event.type === 'plan.started' && !knowsRules(event.rules))
      throw new UnknownFormat('rules', event.rules, RULES)
  return body
}

const NEWER = 'use the planfold that wrote it'

/** The entry was written by a program that knew more than this one, or something else. */
export class UnknownFormat extends Error {
  constructor(what: 'format' | 'rules', found: unknown, known: number) {
    super(`it has ${what} ${JSON.stringify(found) ?? 'of no number'}, and this program knows ${known}; ${NEWER}`)
  }
}
