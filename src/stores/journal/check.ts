// Verifies journals from end to end, folds them again and compares every row.

import { isDeepStrictEqual } from 'node:util'
import type { Event } from '../../domain/event.ts'
import { isSha256, type PlanId, type Sha256 } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import { reservationsIn } from '../../domain/reservation.ts'
import { wroteIn } from '../../domain/result.ts'
import { packFold } from '../../domain/state/fold.ts'
import { PlanIndexing } from '../search/index-entry.ts'
import { ChainBroken, type CheckReport, type Entry } from '../store.ts'
import { type Head, Missing, type StreamKind, type Tables } from '../tables.ts'
import { type BodyBlobs, chainFault, GENESIS, type Link, openEntry, type StoredEntry, UnknownFormat } from './entry.ts'
import { storedArtifacts } from './kept-artifacts.ts'
import { emptyKept, foldEntry, foldHash, unpackStored } from './plan-states.ts'
import { type AttemptRecord, attemptAfter, planRecord, project, taskRecord } from './projection.ts'
import { refold, streamHash } from './streams.ts'
import { entryOf } from './verified-entries.ts'

// Verifies the store. Folds every journal from its first entry and requires that the hash chain holds, that every query row equals the fold
// (law L2), that stored folds equal the fold at their version, and that blobs exist. It only reports, never repairs.

const PAGE = 500
const RESTORE = 'restore the state folder from a copy; do not run this plan'
const INDEX =
  'nothing is lost: search and steps are made again from the journal by `tidy({ rebuild: true })` of the store'
const RESERVED =
  'nothing is lost: reservations are written again from the journal by `tidy({ rebuild: true })` of the store'
const REBUILD = 'the journal is whole, its query rows are not: restore the state folder from a copy'

type Fault = CheckReport['faults'][number]
type Report = (what: string, hint?: string) => void

export interface CheckBlobs extends BodyBlobs {
  has(id: Sha256): boolean
  ids(): Iterable<Sha256>
  bytesUsed(): number
}

/**
 * Yields after each plan, so that a large store does not block the event loop; and each row that is missing, which is looked for again when
 * it was loaded.
 */
export function* checkAll(
  tables: Tables,
  blobs: CheckBlobs,
  readData: boolean,
): Generator<Missing | null, CheckReport> {
  const faults: Fault[] = []
  const unread: { plan: PlanId; why: string }[] = []
  function* attempt<T>(plan: string | null, hint: string, look: (report: Report) => T): Generator<Missing, T | null> {
    for (;;) {
      const found: Fault[] = []
      try {
        const value = look((what, asHint = hint) => found.push({ plan, what, hint: asHint }))
        faults.push(...found)
        return value
      } catch (error) {
        if (error instanceof Missing) {
          yield error
          continue
        }
        faults.push(...found, { plan, what: error instanceof Error ? error.message : String(error), hint })
        return null
      }
    }
  }
  let plans = 0
  let checked = 0
  yield* attempt(null, RESTORE, report => {
    for (const what of tables.upkeep.integrity()) report(what)
  })
  yield* attempt(null, INDEX, report => {
    for (const what of tables.index.faults()) report(what)
  })
  for (const no of (yield* attempt(null, RESTORE, () => tables.upkeep.plans())) ?? []) {
    plans++
    const plan = (yield* attempt(null, RESTORE, () => tables.journal.planOf(no)))?.id ?? null
    if (plan === null) continue
    const entries = yield* attempt(plan, RESTORE, report => {
      try {
        return checkPlan(tables, blobs, no, plan, readData, report)
      } catch (error) {
        const cause = error instanceof Error ? error.cause : undefined
        if (!(cause instanceof UnknownFormat)) throw error
        const count = checkChain(tables, no, plan)
        unread.push({ plan, why: cause.message })
        return count
      }
    })
    checked += entries ?? 0
    yield null
  }
  for (const kind of ['session', 'goal'] as const)
    yield* attempt(null, RESTORE, report => checkStreams(tables, kind, report))
  let seen = 0
  for (const id of blobs.ids()) {
    seen++
    if (!readData) continue
    yield* attempt(null, RESTORE, () => void blobs.getNow(id))
    if (seen % 64 === 0) yield null
  }
  return {
    ok: faults.length === 0,
    plans,
    entries: checked,
    blobs: seen,
    bytes: blobs.bytesUsed(),
    faults,
    ...(unread.length === 0 ? {} : { unread }),
  }
}

/** For a plan with an unknown format or rules: it is not damaged, and cannot be checked further. */
function checkChain(tables: Tables, no: number, plan: PlanId): number {
  let version = 0
  let previous = GENESIS
  for (;;) {
    const page = tables.journal.entries(no, version, Number.MAX_SAFE_INTEGER, PAGE)
    for (const stored of page) {
      if (stored.version !== ++version) throw new Error(`entry ${version} of plan ${plan} is missing`)
      const fault = chainFault(previous, plan, stored)
      if (fault !== null) throw new Error(fault)
      previous = stored
    }
    if (page.length === 0) break
  }
  demandEnd(tables.journal.head(no), plan, { version, hash: previous.hash })
  return version
}

function demandEnd(head: Head | null, plan: PlanId, end: { readonly version: number; readonly hash: string }): void {
  if (head === null || end.version !== head.version || head.version < head.reached || end.hash !== head.hash)
    throw new Error(`the journal of plan ${plan} does not end where it must`)
}

function checkPlan(
  tables: Tables,
  blobs: CheckBlobs,
  no: number,
  plan: PlanId,
  readData: boolean,
  fault: Report,
): number {
  const head = tables.journal.head(no)
  if (head === null) throw new Error(`plan ${plan} has no head`)
  const fold = tables.journal.fold(no)
  const kept = emptyKept(no)
  const attempts = new Map<string, AttemptRecord>()
  const indexed = tables.index.marks().position
  let position = 0
  const missing: { readonly id: Sha256; readonly version: number }[] = []
  const indexing = new PlanIndexing({ doc: () => null, docs: () => [], step: () => null })
  for (;;) {
    const page = tables.journal.entries(no, kept.state.version, Number.MAX_SAFE_INTEGER, PAGE)
    if (page.length === 0) break
    for (const stored of page) {
      if (stored.version !== kept.state.version + 1)
        throw new Error(`entry ${kept.state.version + 1} of plan ${plan} is missing`)
      const entry = openEntry(kept, plan, stored, blobs)
      if (stored.position <= position)
        throw new Error(`entry ${stored.version} of plan ${plan} is not behind the one before it`)
      position = stored.position
      foldEntry(kept, { ...entry, format: stored.format })
      if (entry.position <= indexed) indexing.apply(entry.events, entry.now)
      for (const change of project(entry.events, entry.now, kept.state).attempts) {
        const key = `${change.ordinal} ${change.visit} ${change.attempt}`
        attempts.set(key, attemptAfter(attempts.get(key), change))
      }
      for (const event of entry.events) {
        for (const id of [...blobsOf(event), ...(readData ? contentsOf(event, blobs) : [])])
          if (!blobs.has(id) && blobs.getNow(id) === null) missing.push({ id, version: entry.version })
      }
      if (fold?.version === entry.version) {
        const whole = foldHash(entry.hash, fold.body) === fold.hash
        const packed = whole ? unpackStored(fold) : null
        const same = packed === null ? whole : isDeepStrictEqual(packed, plain(packFold(kept.state)))
        if (!same) fault(`the stored fold at version ${fold.version} is not the fold of the journal`, REBUILD)
      }
    }
  }
  // Contents that are kept for some time only may be gone.
  const timed = new Set(
    missing.length === 0
      ? []
      : storedArtifacts(tables, blobs, no).flatMap(one => (one.expires === null ? [] : [one.sha256])),
  )
  for (const { id, version } of missing)
    if (!timed.has(id)) fault(`blob ${id}, named by entry ${version}, is missing`, RESTORE)
  demandEnd(head, plan, { version: kept.state.version, hash: kept.hash })
  if (fold !== null && fold.version > kept.state.version) fault(`the stored fold is ahead of the journal`, REBUILD)
  const { state } = kept
  const ordinals = new Set(state.order.map(task => task.ordinal))
  const expected = Array.from(attempts.values()).filter(record => ordinals.has(record.ordinal))
  const rows = tables.projections.records(no)
  if (!isDeepStrictEqual({ ...rows.plan }, planRecord(state)))
    fault(`the row of plan ${plan} is not what its journal says`, REBUILD)
  compare('task', rows.tasks, state.order.map(taskRecord), record => String(record.ordinal).padStart(10, '0'), fault)
  compare('attempt', rows.attempts, expected, attemptKey, fault)
  compare(
    'reservation',
    tables.reservations.of(no).map(({ ordinal, visit, reserves }) => ({ ordinal, visit, reserves })),
    reservationsIn(state),
    ({ ordinal }) => String(ordinal).padStart(10, '0'),
    fault,
    RESERVED,
  )
  const again = indexing.all()
  compare('text', tables.index.docs(no), again.docs, doc => doc.task ?? '(plan)', fault, INDEX)
  compare(
    'step',
    tables.index.steps(no),
    again.steps,
    step => `${step.task} ${step.visit}.${step.attempt}`,
    fault,
    INDEX,
  )
  return state.version
}

const attemptKey = ({ ordinal, visit, attempt }: AttemptRecord) =>
  [ordinal, visit, attempt].map(part => String(part).padStart(10, '0')).join('.')

function compare<R>(
  what: string,
  found: readonly R[],
  expected: readonly R[],
  key: (row: R) => string,
  fault: Report,
  hint = REBUILD,
): void {
  const rows = new Map(found.map(row => [key(row), row]))
  for (const row of expected) {
    const there = rows.get(key(row))
    if (there === undefined) fault(`the row of ${what} ${key(row)} is missing`, hint)
    else if (!isDeepStrictEqual({ ...there }, { ...row }))
      fault(`the row of ${what} ${key(row)} is not what the journal says`, hint)
    rows.delete(key(row))
  }
  for (const extra of rows.keys()) fault(`the row of ${what} ${extra} comes from nowhere`, hint)
}

function checkStreams(tables: Tables, kind: StreamKind, fault: Report): void {
  let before = Number.MAX_SAFE_INTEGER
  for (;;) {
    const heads = tables.streams.heads(kind, before, PAGE)
    if (heads.length === 0) return
    for (const head of heads) {
      before = head.no
      const entries = tables.streams.entries(kind, head.id, 0, Number.MAX_SAFE_INTEGER)
      let previous = ''
      const whole = entries.every((entry, at) => {
        previous = streamHash(previous, kind, head.id, entry)
        return entry.version === at + 1 && entry.hash === previous
      })
      if (!whole || previous !== head.hash || entries.length !== head.version)
        fault(`the stream of ${kind} ${head.id} does not match its hashes`)
      else if (refold(kind, head.id, entries) !== head.row)
        fault(`the row of ${kind} ${head.id} is not what its stream says`)
    }
  }
}

function blobsOf(event: Event): readonly Sha256[] {
  switch (event.type) {
    case 'attempt.started':
      return named(event.preimage, event.before, event.around)
    case 'workspace.restored':
      return [event.to, event.saved]
    case 'files.restored':
      return [event.changes, event.saved]
    case 'attempt.succeeded':
    case 'attempt.failed':
    case 'compensation.finished':
    case 'compensation.retried': {
      const { outputs, wrote, model } = event.result
      return [...artifactsOf(outputs), ...named(wrote?.changes, wrote?.snapshot, model?.recording)]
    }
    case 'artifact.uploaded':
      return named(event.from + event.partBytes === event.bytes ? event.sha256 : null)
    case 'attempt.lost':
      return named(event.wrote?.changes, event.wrote?.snapshot)
    case 'checkpoint.taken':
      return named(event.standing.snapshot)
    case 'plan.started':
    case 'plan.revised':
      return named(event.stamp?.snapshot)
    case 'rollback.finished':
      return named(event.changes, event.saved, ...(event.kept ?? []).map(({ sha256 }) => sha256))
    default:
      return []
  }
}

const named = (...ids: readonly (Sha256 | null | undefined)[]): readonly Sha256[] => ids.filter(id => id != null)

/** The contents in a list of changes, which a rollback needs. */
function contentsOf(event: Event, blobs: CheckBlobs): readonly Sha256[] {
  const id =
    event.type === 'rollback.finished' || event.type === 'files.restored'
      ? event.changes
      : (wroteIn(event)?.changes ?? null)
  const stored = id === null || !blobs.has(id) ? null : blobs.getNow(id)
  if (stored === null) return []
  const changes = JSON.parse(Buffer.from(stored).toString()) as readonly Record<'before' | 'after', unknown>[]
  return changes
    .flatMap(({ before, after }) => [before, after])
    .flatMap(entry => {
      const sha256 = (entry as { readonly sha256?: string } | null)?.sha256
      return sha256 !== undefined && isSha256(sha256) ? [sha256] : []
    })
}

/** Outputs that are too large for the journal, or no JSON, are named by their hash. */
function artifactsOf(outputs: JsonObject | undefined): readonly Sha256[] {
  return Object.values(outputs ?? {}).flatMap(output => {
    const id = output !== null && typeof output === 'object' && 'artifact' in output ? output.artifact : null
    return typeof id === 'string' && isSha256(id) ? [id] : []
  })
}

/** Removes the difference between absent and undefined. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

// Verifies part of a journal: every entry continues the hash chain, none is missing, and the journal does not end before a version it is
// known to have reached. A fault names its entry.

export function chained(
  plan: PlanId,
  page: readonly StoredEntry[],
  from: {
    readonly after: number
    readonly previous: Link
    readonly head: Head | null
  },
  blobs: BodyBlobs,
): readonly Entry[] {
  let { previous } = from
  let version = from.after
  const entries = page.map(stored => {
    version++
    if (stored.version !== version)
      throw new ChainBroken('missing', version, null, `entry ${version} of plan ${plan} is missing`)
    const fault = chainFault(previous, plan, stored)
    if (fault !== null) throw new ChainBroken('tampered', version, stored.position, fault)
    previous = stored
    return entryOf({ ...stored, plan }, blobs)
  })
  if (from.head !== null && version < from.head.reached) {
    const message = `the journal of plan ${plan} ends at entry ${version}, and had reached ${from.head.reached}`
    throw new ChainBroken('missing', version + 1, null, message)
  }
  return entries
}
