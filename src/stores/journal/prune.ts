// Removes archived plans that are unchanged since a given time, and blobs that no journal refers to. In doubt a blob stays: every 64-digit
// hexadecimal word in a body, or in a blob reached from one, counts as a reference, and newer blobs stay, because a process may be about to
// refer to them. The references of a damaged blob are unknown, so then no blob is removed.

import type { Event } from '../../domain/event.ts'
import type { Millis, PlanId, Sha256 } from '../../domain/id.ts'
import { RESTORED_KEPT_MS } from '../../domain/limits.ts'
import { effectivePolicy } from '../../domain/policy/policy-layer.ts'
import { type RestoreNote, restoreNotesOf } from '../../domain/restore-notes.ts'
import type { Pruned } from '../store.ts'
import type { Tables, Transactions } from '../tables.ts'
import type { CheckBlobs } from './check.ts'
import { isBodyElsewhere, readEntry } from './entry.ts'
import { expiredContents, storedArtifacts, withoutContents } from './kept-artifacts.ts'

export interface PruneBlobs extends CheckBlobs {
  storedAt(id: Sha256): Millis | null
  sizeOf(id: Sha256): number
  /** False when it was used since `before`, or is removed later, in `tidy`. */
  remove(id: Sha256, before: Millis): boolean
  /** Restores what an interrupted collector left. */
  bringBack?(): void
  /** Ends a collection; returns what was removed only now. */
  tidy?(before: Millis): Promise<{ readonly blobs: number; readonly bytes: number }>
  pins?(): Iterable<readonly [name: string, note: string]>
  unpin(name: string): void
}

const PAGE = 200
export const WORD = /\b[0-9a-f]{64}\b/g

export async function prune(
  /** `forget`: called when plans are removed, long before their blobs. */
  room: { transactions: Transactions; blobs: PruneBlobs; now: Millis; forget?: () => void },
  options: { readonly before: Millis; readonly blobsBefore?: Millis; readonly dryRun: boolean },
): Promise<Pruned> {
  const { blobsBefore = options.before } = options
  const { transactions, blobs, now } = room
  const due = await transactions.read(tables => tables.upkeep.prunable(options.before))
  const notes = [...(blobs.pins?.() ?? [])]
  // Plan by plan, so that no read grows with their number.
  const numbers: number[] = []
  for (const no of due)
    if (!(await transactions.read(tables => isRestorable({ tables, blobs, notes, now }, no)))) numbers.push(no)
  const prunable = new Set(numbers)
  let entries = 0
  let bytes = 0
  if (options.dryRun) {
    for (const no of numbers) entries += await transactions.read(tables => tables.journal.head(no)?.version ?? 0)
  } else if (numbers.length > 0) {
    const removing = numbers.map(no =>
      transactions.write(tables =>
        // Checked again under the lock: a plan may have changed since.
        tables.upkeep.prunable(options.before).includes(no)
          ? { plan: tables.journal.planOf(no)?.id, ...tables.upkeep.prune(no, now) }
          : null,
      ),
    )
    const removed = (await Promise.all(removing)).filter(one => one !== null)
    room.forget?.()
    entries = removed.reduce((sum, one) => sum + one.entries, 0)
    bytes = removed.reduce((sum, one) => sum + one.bytes, 0)
    // Their journal is gone, so it will never record them.
    for (const { plan } of removed) if (plan !== undefined) for (const [name] of notesOf(notes, plan)) blobs.unpin(name)
  }
  if (!options.dryRun) blobs.bringBack?.()
  // Listed before references are collected, so that newer blobs are no candidates.
  const candidates = [...blobs.ids()].filter(id => (blobs.storedAt(id) ?? blobsBefore) < blobsBefore)
  // Collected after plans are removed: a plan that changed just in time still keeps its blobs.
  const reachable = await reach(room, options.dryRun ? prunable : new Set())
  let count = 0
  for (const id of candidates) {
    if (reachable.has(id)) continue
    const size = blobs.sizeOf(id)
    if (!options.dryRun && !blobs.remove(id, blobsBefore)) continue
    count++
    bytes += size
  }
  if (!options.dryRun) {
    const freed = await blobs.tidy?.(blobsBefore)
    count += freed?.blobs ?? 0
    bytes += freed?.bytes ?? 0
  }
  return { plans: numbers.length, entries, blobs: count, bytes, held: due.length - numbers.length }
}

/** Were files of this plan reverted so recently that they must remain restorable, or has it an artifact that is kept forever? */
function isRestorable(
  room: { readonly tables: Tables; readonly blobs: PruneBlobs; readonly notes: Notes; readonly now: Millis },
  no: number,
): boolean {
  const { tables, blobs, notes, now } = room
  const plan = tables.journal.planOf(no)
  let keptMs = RESTORED_KEPT_MS
  /** The limit set by the policy layers around the plan. */
  let keptMaxMs = Number.POSITIVE_INFINITY
  let last: Millis | null = null
  let moved: Millis | null = null
  let saysForever = false
  const saved = new Set<Sha256>()
  for (let after = 0; plan !== null; ) {
    const page = tables.journal.entries(no, after, Number.MAX_SAFE_INTEGER, PAGE)
    for (const entry of page) {
      after = entry.version
      moved = entry.at
      // Pruned there.
      if (isBodyElsewhere(entry, blobs)) return true
      for (const event of readEntry(plan.id, entry, blobs).events) {
        if (event.type === 'workspace.restored') saved.add(event.saved)
        if ('definition' in event) saysForever ||= JSON.stringify(event.definition).includes('"forever"')
        if (event.type === 'plan.created' || event.type === 'plan.revised')
          keptMs = event.definition.policy?.retention?.restoredMs ?? RESTORED_KEPT_MS
        else if (event.type === 'plan.started')
          keptMaxMs = effectivePolicy(event.policy ?? []).retention.restoredMs ?? Number.POSITIVE_INFINITY
        else if (SETS_BACK.has(event.type) || hasOverwritten(event)) last = entry.at
      }
    }
    if (page.length === 0) break
  }
  if (saysForever && storedArtifacts(tables, blobs, no).some(({ retention }) => retention === 'forever')) return true
  // A restore that was interrupted before it was journaled was no later than the last entry.
  if (plan !== null && notesOf(notes, plan.id).some(([, note]) => !isRecorded(note, saved))) last = moved
  return last !== null && last + Math.min(keptMs, keptMaxMs) > now
}

/** Is the note recorded in the journal? For an unreadable note that is unknown. */
function isRecorded(note: string, saved: ReadonlySet<Sha256>): boolean {
  try {
    return (JSON.parse(note) as readonly RestoreNote[]).every(one => saved.has(one.saved))
  } catch {
    return false
  }
}

type Notes = readonly (readonly [name: string, note: string])[]

const notesOf = (notes: Notes, plan: PlanId): Notes => notes.filter(([name]) => name.startsWith(restoreNotesOf(plan)))

const SETS_BACK: ReadonlySet<Event['type']> = new Set(['workspace.restored', 'rollback.finished', 'files.restored'])

const hasOverwritten = (event: Event): boolean => 'result' in event && event.result.wrote?.overwrote !== undefined

async function reach(
  room: { readonly transactions: Transactions; readonly blobs: PruneBlobs; readonly now: Millis },
  removed: ReadonlySet<number>,
): Promise<ReadonlySet<Sha256>> {
  const { transactions, blobs, now } = room
  const found = new Set<Sha256>()
  /** Bodies of entries that were read already. */
  const bodies = new Set<Sha256>()
  const add = (ids: Iterable<Sha256>) => {
    for (const id of ids) found.add(id)
  }
  for (const no of await transactions.read(tables => tables.upkeep.plans()))
    if (!removed.has(no)) add(await transactions.read(tables => namedByPlan({ tables, blobs, now, bodies }, no)))
  for (const [, note] of blobs.pins?.() ?? []) add(namedIn(note, blobs))
  const contents = new Set<Sha256>()
  await transactions.read(() => {
    // Grows during iteration, because manifests name other blobs. File contents are not read.
    for (const id of found) {
      if (bodies.has(id)) continue
      const { more, files } = referencesOf(blobs.getNow(id) ?? new Uint8Array())
      for (const word of more) if (blobs.has(word)) found.add(word)
      for (const word of files) contents.add(word)
    }
  })
  add(contents)
  return found
}

function namedByPlan(
  room: {
    readonly tables: Tables
    readonly blobs: PruneBlobs
    readonly now: Millis
    readonly bodies: Set<Sha256>
  },
  no: number,
  gone: ReadonlySet<string> = new Set(),
): ReadonlySet<Sha256> {
  const { tables, blobs, now, bodies } = room
  let isTimed = false
  const found = new Set<Sha256>()
  const plan = tables.journal.planOf(no)
  for (let after = 0; plan !== null; ) {
    const page = tables.journal.entries(no, after, Number.MAX_SAFE_INTEGER, PAGE)
    if (page.length === 0) break
    for (const entry of page) {
      after = entry.version
      if (isBodyElsewhere(entry, blobs)) continue
      if (entry.blob !== null) found.add(entry.blob)
      if (entry.blob !== null && gone.size > 0) bodies.add(entry.blob)
      const events = entry.blob === null && gone.size === 0 ? [] : readEntry(plan.id, entry, blobs).events
      const text = entry.blob === null ? (entry.body ?? '') : JSON.stringify(events)
      isTimed ||= text.includes('"retention":"')
      for (const id of namedIn(gone.size === 0 ? text : withoutContents(text, events, gone), blobs)) found.add(id)
    }
  }
  if (!isTimed || gone.size > 0) return found
  const expired = expiredContents(storedArtifacts(tables, blobs, no), now)
  return expired.size === 0 ? found : namedByPlan(room, no, expired)
}

const namedIn = (text: string, blobs: PruneBlobs): readonly Sha256[] =>
  Array.from(text.matchAll(WORD), ([word]) => word as Sha256).filter(word => blobs.has(word))

/** `files`: contents of files, which name nothing. */
export function referencesOf(bytes: Uint8Array): {
  readonly more: readonly Sha256[]
  readonly files: readonly Sha256[]
} {
  const { trees, files } = namedByTree(bytes)
  const isJson = bytes[0] === 0x7b || bytes[0] === 0x5b
  const words = isJson
    ? Array.from(Buffer.from(bytes).toString('latin1').matchAll(WORD), ([word]) => word as Sha256)
    : []
  return { more: [...trees, ...words], files }
}

const TREE = Buffer.from('PFTREE1\n')

/** A directory manifest lists its references first (docs/formats/snapshots.md). */
function namedByTree(bytes: Uint8Array): { readonly trees: readonly Sha256[]; readonly files: readonly Sha256[] } {
  const tree = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const start = TREE.length + 8
  if (tree.length < start || !tree.subarray(0, TREE.length).equals(TREE)) return { trees: [], files: [] }
  const trees = tree.readUInt32LE(TREE.length)
  const count = Math.min(trees + tree.readUInt32LE(TREE.length + 4), Math.floor((tree.length - start) / 32))
  const words = Array.from({ length: count }, (_, at) => tree.toString('hex', start + at * 32, start + at * 32 + 32))
  return { trees: words.slice(0, trees) as Sha256[], files: words.slice(trees) as Sha256[] }
}
