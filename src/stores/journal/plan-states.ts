// The folded states of plans, in memory and stored at intervals; and answers that are valid until the next commit.

import { hash as digest } from 'node:crypto'
import { deflate, inflateSync } from 'node:zlib'
import type { PlanId, Sha256 } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { knowsRules } from '../../domain/rules-version.ts'
import { evolve } from '../../domain/state/evolve.ts'
import { newState, packFold, unpackFold } from '../../domain/state/fold.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { type Entry, type Found, StoreDamaged } from '../store.ts'
import { type Head, Missing, type StoredFold, type Tables } from '../tables.ts'
import { type BodyBlobs, GENESIS, type Link, openEvents } from './entry.ts'

// Caches the states of the most recent plans, opens others from a stored fold and the entries after it, and catches up with commits of
// other processes. Everything read is verified against the hash chain first: a plan with an inconsistent journal never runs.

const KEPT_MAX = 32
const PAGE = 500
/** Stored folds of another format are ignored. */
const FOLD_FORMAT = 3

export interface Kept {
  readonly no: number
  readonly state: PlanState
  hash: string
  /** Of the last entry. */
  format: number
  definitionVersion: number
  /** Events since the last stored fold, which a resume must replay. */
  tail: number
}

export class States {
  readonly #blobs: BodyBlobs
  readonly #kept = new Map<PlanId, Kept>()
  readonly #touched = new Set<PlanId>()
  /** Those that the current rule of the transaction touched. */
  readonly #current = new Set<PlanId>()

  constructor(blobs: BodyBlobs) {
    this.#blobs = blobs
  }

  numberOf(plan: PlanId): number | undefined {
    return this.#kept.get(plan)?.no
  }

  /** The state at the head's version. Throws `StoreDamaged` when the journal does not lead there. */
  at(tables: Tables, plan: PlanId, head: Head): Kept {
    let kept = this.#kept.get(plan)
    // Another plan number, or a shorter journal, means another plan: start again.
    if (kept !== undefined && (kept.no !== head.no || kept.state.version > head.version)) kept = undefined
    if (kept !== undefined && kept.state.version === head.version) {
      this.#keep(plan, kept)
      return kept
    }
    this.#kept.delete(plan)
    kept ??= openFold(tables, plan, head.no, this.#blobs)
    try {
      catchUp(tables, plan, kept, head.version, this.#blobs)
    } catch (missing) {
      // As far as it was read it is good, and the next round goes on from there.
      if (missing instanceof Missing) this.#keep(plan, kept)
      throw missing
    }
    if (kept.state.version !== head.version || head.version < head.reached || kept.hash !== head.hash) {
      throw new StoreDamaged(`the journal of plan ${plan} does not end where it must`)
    }
    this.#keep(plan, kept)
    return kept
  }

  /** Is this the cached state? A dropped one is not. */
  holds(plan: PlanId, state: PlanState): boolean {
    return this.#kept.get(plan)?.state === state
  }

  add(plan: PlanId, kept: Kept): void {
    this.#current.add(plan)
    this.#keep(plan, kept)
  }

  touch(plan: PlanId): void {
    this.#current.add(plan)
  }

  drop(plan: PlanId): void {
    this.#kept.delete(plan)
  }

  committed(): void {
    this.#touched.clear()
    this.#current.clear()
  }

  /** Drops all states that the transaction changed, to be read again from the journal. */
  rolledBack(): void {
    for (const plan of [...this.#touched, ...this.#current]) this.#kept.delete(plan)
    this.committed()
  }

  /** In a transaction of several rules: what the next one changes can be undone by itself. */
  nextRule(): void {
    for (const plan of this.#current) this.#touched.add(plan)
    this.#current.clear()
  }

  /** Undoes the current rule. False if an earlier one changed the same plan: until the transaction ends, nobody can read it. */
  undoRule(): boolean {
    let isAlone = true
    for (const plan of this.#current) {
      this.#kept.delete(plan)
      if (this.#touched.has(plan)) isAlone = false
    }
    this.#current.clear()
    return isAlone
  }

  #keep(plan: PlanId, kept: Kept): void {
    // Moves it to the end of the map, which is in order of use.
    if (this.#kept.size > 1 || !this.#kept.has(plan)) {
      this.#kept.delete(plan)
      this.#kept.set(plan, kept)
    }
    if (this.#kept.size <= KEPT_MAX) return
    for (const oldest of this.#kept.keys()) {
      if (this.#touched.has(oldest) || this.#current.has(oldest)) continue
      this.#kept.delete(oldest)
      return
    }
  }
}

export function foldEntry(kept: Kept, entry: Pick<Entry, 'version' | 'now' | 'events' | 'hash'> & Link): void {
  for (const event of entry.events) {
    evolve(kept.state, event, entry.now)
    if (event.type === 'plan.created' || event.type === 'plan.revised') kept.definitionVersion = entry.version
  }
  kept.state.version = entry.version
  kept.hash = entry.hash
  kept.format = entry.format
  kept.tail += entry.events.length
}

export const emptyKept = (no: number): Kept => ({
  no,
  state: newState(),
  ...GENESIS,
  definitionVersion: 1,
  tail: 0,
})

function catchUp(tables: Tables, plan: PlanId, kept: Kept, upTo: number, blobs: BodyBlobs): void {
  while (kept.state.version < upTo) {
    const page = tables.journal.entries(kept.no, kept.state.version, upTo, PAGE)
    if (page.length === 0) return
    for (const stored of page) {
      if (stored.version !== kept.state.version + 1)
        throw new StoreDamaged(`entry ${kept.state.version + 1} of plan ${plan} is missing`)
      foldEntry(kept, openEvents(kept, plan, stored, blobs))
    }
  }
}

// Stored folds

/** From a valid stored fold, else from an empty state: the journal leads to the same state. */
function openFold(tables: Tables, plan: PlanId, no: number, blobs: BodyBlobs): Kept {
  const fold = tables.journal.fold(no)
  const last = fold === null ? null : tables.journal.entry(no, fold.version)
  if (fold === null || last === null || foldHash(last.hash, fold.body) !== fold.hash) return emptyKept(no)
  const packed = unpackStored(fold)
  // A fold of unknown rules is ignored: the entry that names them is refused.
  if (packed === null || !knowsRules(packed.rules)) return emptyKept(no)
  const state = unpackFold(packed, () => definitionAt(tables, plan, no, fold.definitionVersion, blobs))
  state.version = fold.version
  const { hash, format } = last
  return { no, state, hash, format, definitionVersion: fold.definitionVersion, tail: 0 }
}

function definitionAt(tables: Tables, plan: PlanId, no: number, version: number, blobs: BodyBlobs): PlanDefinition {
  const stored = tables.journal.entry(no, version)
  const previous = version === 1 ? GENESIS : tables.journal.entry(no, version - 1)
  if (stored === null || previous === null) throw new StoreDamaged(`the definition of plan ${plan} is missing`)
  const { events } = openEvents(previous, plan, stored, blobs)
  for (const event of events.toReversed()) if ('definition' in event) return event.definition
  throw new StoreDamaged(`entry ${version} of plan ${plan} holds no definition`)
}

/** Cheap compared to the compression, which `packStored` runs in another thread. */
export const foldText = (state: PlanState): string => JSON.stringify({ format: FOLD_FORMAT, ...packFold(state) })

/** Compresses a fold from its text; the state may have changed meanwhile. */
export async function packStored(
  text: string,
  at: { version: number; definitionVersion: number; hash: string },
): Promise<StoredFold> {
  const body = await new Promise<Buffer>((resolve, reject) => {
    deflate(text, { level: 1 }, (error, bytes) => (error === null ? resolve(bytes) : reject(error)))
  })
  return { version: at.version, definitionVersion: at.definitionVersion, body, hash: foldHash(at.hash, body) }
}

export const foldHash = (entryHash: string, body: Uint8Array): Sha256 =>
  digest('sha256', Buffer.concat([Buffer.from(entryHash), body])) as Sha256

export function unpackStored(fold: StoredFold): JsonObject | null {
  const { format, ...packed } = JSON.parse(inflateSync(fold.body).toString()) as JsonObject
  return format === FOLD_FORMAT ? packed : null
}

const SUMMARIES_MAX = 1_000

type Look<T> = () => T | null | Promise<T | null>

export class Glances {
  readonly #moment: (() => number) | undefined
  readonly #states: States
  #at: number | null = null
  readonly #found = new Map<string, Found>()
  readonly #seen = new Map<PlanId, PlanState>()

  /** `moment` changes with every commit of another process; without it nothing is cached. */
  constructor(moment: (() => number) | undefined, states: States) {
    this.#moment = moment
    this.#states = states
  }

  found(reference: string, look: Look<Found>): ReturnType<Look<Found>> {
    const known = this.#isNow() ? this.#found.get(reference) : undefined
    if (known !== undefined) return known
    const found = look()
    if (found instanceof Promise) return found
    // A revision may remove a task; only pruning removes a plan.
    if (found !== null && found.task === null && this.#at !== null) keep(this.#found, reference, found)
    return found
  }

  state(plan: PlanId, look: Look<PlanState>): ReturnType<Look<PlanState>> {
    const known = this.#isNow() ? this.#seen.get(plan) : undefined
    // A state changed by a failed transaction was dropped and must not be returned.
    if (known !== undefined && this.#states.holds(plan, known)) return known
    const state = look()
    if (state instanceof Promise) return state
    if (state !== null && this.#at !== null) keep(this.#seen, plan, state)
    return state
  }

  forget(): void {
    this.#found.clear()
    this.#seen.clear()
  }

  /** Called before any lookup, so that cached values may be newer than the moment, never older. */
  #isNow(): boolean {
    if (this.#moment === undefined) return false
    const now = this.#moment()
    if (now === this.#at) return true
    this.#at = now
    this.forget()
    return false
  }
}

function keep<K, V>(map: Map<K, V>, key: K, value: V): void {
  if (map.size >= SUMMARIES_MAX) map.clear()
  map.set(key, value)
}
