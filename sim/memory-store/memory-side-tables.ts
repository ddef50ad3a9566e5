// The tables of the memory store beside the plans: owners, claims, output, streams and upkeep.

import type { Millis, PlanId } from '../../src/domain/id.ts'
import type { PlanStatus } from '../../src/domain/status.ts'
import type { MemoryPlace, MemoryTable } from '../../src/stores/memories.ts'
import { holdsWords } from '../../src/stores/search/words.ts'
import type { LogChunk } from '../../src/stores/store.ts'
import type {
  ClaimTable,
  LogTable,
  OwnerRecord,
  OwnerTable,
  ReservationRow,
  ReservationTable,
  StreamEntry,
  StreamHead,
  StreamKind,
  StreamTable,
  StreamWhere,
  Upkeep,
} from '../../src/stores/tables.ts'
import type { MemoryDisk, MemoryPlan, MemoryStream } from './memory-disk.ts'
import { forgetPlan } from './memory-index.ts'

// Files reserved across plans, in memory.

export function memoryReservations(disk: MemoryDisk): ReservationTable {
  const rows = (plan: MemoryPlan, isWanted: (ended: number | null) => boolean): readonly ReservationRow[] =>
    [...plan.reservations.values()]
      .filter(({ ended }) => isWanted(ended))
      .map(({ ended: _, ...record }) => ({
        ...record,
        no: plan.no,
        task: plan.tasks.get(record.ordinal)?.name ?? null,
      }))
  const all = (isWanted: (ended: number | null) => boolean) =>
    [...disk.plans.values()].flatMap(plan => rows(plan, isWanted))
  return {
    put: (no, record) => {
      // As a disk would keep it: a key that is undefined is absent.
      const reserves = JSON.parse(JSON.stringify(record.reserves)) as typeof record.reserves
      disk.put(disk.plans.get(no)!.reservations, record.ordinal, { ...record, reserves, ended: null })
    },
    end(no, ordinal, position) {
      const { reservations } = disk.plans.get(no)!
      const record = reservations.get(ordinal)
      if (record !== undefined) disk.put(reservations, ordinal, { ...record, ended: position })
    },
    of: no => rows(disk.plans.get(no)!, ended => ended === null).toSorted((a, b) => a.ordinal - b.ordinal),
    active: root =>
      all(ended => ended === null)
        .filter(({ reserves }) => reserves.root === root)
        .toSorted((a, b) => a.since - b.since),
    endedSince: position => all(ended => ended !== null && ended > position).filter(({ since }) => since > position),
    forget(before) {
      for (const { reservations } of disk.plans.values())
        for (const [ordinal, { ended }] of reservations)
          if (ended !== null && ended < before) disk.take(reservations, ordinal)
    },
  }
}

export function memoryOwners(disk: MemoryDisk): OwnerTable {
  return {
    add: owner => disk.put(disk.owners, owner.id, owner),
    renew(id, lease, now) {
      const owner = disk.owners.get(id)
      if (owner === undefined || owner.expires <= now) return false
      disk.put(disk.owners, id, { ...owner, ...lease })
      return true
    },
    remove(id) {
      for (const plan of disk.plans.values()) if (plan.owner === id) disk.set(plan, 'owner', null)
      disk.take(disk.owners, id)
    },
    get: id => disk.owners.get(id) ?? null,
    holder(no) {
      const plan = disk.plans.get(no)
      const owner = plan?.owner == null ? undefined : disk.owners.get(plan.owner)
      return plan === undefined || owner === undefined ? null : { owner, since: plan.ownerSince }
    },
    hold(no, owner, fence, since) {
      const plan = disk.plans.get(no)!
      disk.set(plan, 'owner', owner)
      disk.set(plan, 'fence', fence)
      disk.set(plan, 'ownerSince', since)
    },
    letGo(no, owner) {
      const plan = disk.plans.get(no)
      if (plan?.owner === owner) disk.set(plan, 'owner', null)
    },
    held(status: PlanStatus) {
      const found: { plan: PlanId; owner: OwnerRecord }[] = []
      for (const plan of disk.plans.values()) {
        const owner = plan.owner === null ? undefined : disk.owners.get(plan.owner)
        if (owner !== undefined && plan.record.status === status) found.push({ plan: plan.id, owner })
      }
      return found
    },
    all: () => [...disk.owners.values()],
    describe(id, about) {
      const owner = disk.owners.get(id)
      if (owner !== undefined) disk.put(disk.owners, id, { ...owner, about })
    },
    idle() {
      const busy = new Set(Array.from(disk.plans.values(), plan => plan.owner))
      return [...disk.owners.values()].filter(owner => !busy.has(owner.id))
    },
  }
}

export function memoryClaims(disk: MemoryDisk): ClaimTable {
  return {
    put: (no, claim) => disk.put(disk.plans.get(no)!.claims, claim.ordinal, claim),
    get: (no, ordinal) => disk.plans.get(no)!.claims.get(ordinal) ?? null,
    all(no) {
      const plans = no === null ? [...disk.plans.values()] : [disk.plans.get(no)!]
      return plans.flatMap(plan =>
        Array.from(plan.claims.values(), claim => ({ ...claim, plan: plan.id, no: plan.no })),
      )
    },
    remove: (no, ordinal) => disk.take(disk.plans.get(no)!.claims, ordinal),
  }
}

export function memoryLogs(disk: MemoryDisk): LogTable {
  return {
    append(no: number, ordinal: number, chunk: LogChunk) {
      disk.set(disk, 'logSeq', disk.logSeq + 1)
      disk.add(disk.plans.get(no)!.logs, { ...chunk, ordinal, seq: disk.logSeq })
    },
    read: (_plan, no, ordinal, after, limit) =>
      shown(disk.plans.get(no)!)
        .filter(log => log.seq > after && (ordinal === null || log.ordinal === ordinal))
        .slice(0, limit)
        .map(({ ordinal: _, ...log }) => log),
    readBack: (_plan, no, ordinal, { after, before }, limit) =>
      shown(disk.plans.get(no)!)
        .filter(log => log.seq > after && log.seq < before && (ordinal === null || log.ordinal === ordinal))
        .slice(-limit)
        .map(({ ordinal: _, ...log }) => log),
    since: (after, limit) =>
      [...disk.plans.values()]
        .flatMap(plan => shown(plan).filter(log => log.seq > after))
        .sort((one, other) => one.seq - other.seq)
        .slice(0, limit)
        .map(({ ordinal: _, ...log }) => log),
    last: () => disk.logSeq,
  }
}

/** As on disk: not of tasks that a revision has removed. */
const shown = ({ logs, tasks }: MemoryPlan) => logs.filter(({ ordinal }) => tasks.has(ordinal))

export function memoryStreams(disk: MemoryDisk): StreamTable {
  const find = (kind: StreamKind, id: string) => disk.streams.get(`${kind} ${id}`)
  return {
    head: (kind, id) => headOf(find(kind, id)),
    heads: (kind, before, limit, where = {}) =>
      [...disk.streams.values()]
        .filter(stream => stream.kind === kind && stream.no < before && holds(stream.row, where))
        .reverse()
        .slice(0, limit)
        .map(stream => headOf(stream)!),
    entries: (kind, id, after, limit) => find(kind, id)?.entries.slice(after, after + limit) ?? [],
    append(kind, id, entries: readonly StreamEntry[], row) {
      if (find(kind, id) === undefined) {
        disk.set(disk, 'streamNo', disk.streamNo + 1)
        disk.put(disk.streams, `${kind} ${id}`, { no: disk.streamNo, kind, id, row, entries: [] })
      }
      const stream = find(kind, id)!
      for (const entry of entries) disk.add(stream.entries, entry)
      disk.set(stream, 'row', row)
    },
  }
}

function holds(row: string, { status, parent }: StreamWhere): boolean {
  const held = JSON.parse(row) as StreamWhere
  return (status === undefined || held.status === status) && (parent === undefined || held.parent === parent)
}

function headOf(stream: MemoryStream | undefined): StreamHead | null {
  if (stream === undefined) return null
  const last = stream.entries.at(-1)
  return { no: stream.no, id: stream.id, version: last?.version ?? 0, hash: last?.hash ?? '', row: stream.row }
}

export function memoryUpkeep(disk: MemoryDisk): Upkeep {
  return {
    plans: () => [...disk.plans.keys()],
    prunable: (before: Millis) =>
      [...disk.plans.values()].filter(plan => plan.record.archived && plan.at < before).map(plan => plan.no),
    prune(no) {
      const plan = disk.plans.get(no)!
      disk.set(disk, 'pruned', disk.pruned + plan.entries.length)
      disk.add(disk.prunedAt, plan.entries.at(-1)?.position ?? 0)
      forgetPlan(disk, plan)
      const memories = memoryMemories(disk)
      for (const { scope, owner, key } of [...disk.memories.values()])
        if (scope === 'plan' && owner === plan.id) memories.remove({ scope, owner }, key)
      disk.take(disk.plans, no)
      disk.take(disk.numbers, plan.id)
      disk.take(disk.names, plan.record.name)
      const before = [...disk.journal]
      disk.change(
        () => void disk.journal.splice(0, Number.POSITIVE_INFINITY, ...before.filter(item => item.no !== no)),
        () => void disk.journal.splice(0, Number.POSITIVE_INFINITY, ...before),
      )
      return {
        entries: plan.entries.length,
        bytes: plan.entries.reduce((sum, entry) => sum + (entry.body?.length ?? 0), 0),
      }
    },
    pruned: after => disk.prunedAt.filter(last => after === undefined || last > after).length,
    integrity: () => (disk.journal.length + disk.pruned === disk.written ? [] : ['entries are missing']),
  }
}

export function memoryMemories(disk: MemoryDisk): MemoryTable {
  const keyOf = ({ scope, owner }: MemoryPlace, key: string) => JSON.stringify([scope, owner, key])
  const isIn = (place: MemoryPlace) => (one: MemoryPlace) => one.scope === place.scope && one.owner === place.owner
  const drop = (at: string): void => {
    const no = disk.memories.get(at)?.no
    for (const [key, vector] of disk.memoryVectors) if (vector.no === no) disk.take(disk.memoryVectors, key)
    disk.take(disk.memories, at)
  }
  return {
    get: (place, key) => withoutText(disk.memories.get(keyOf(place, key)) ?? null),
    put(record, text) {
      drop(keyOf(record, record.key))
      disk.set(disk, 'memoryNo', disk.memoryNo + 1)
      disk.put(disk.memories, keyOf(record, record.key), { ...record, no: disk.memoryNo, text })
    },
    remove: (place, key) => drop(keyOf(place, key)),
    expire(before) {
      for (const [key, { expiresAt }] of disk.memories) if (expiresAt !== null && expiresAt <= before) drop(key)
    },
    find: ({ places, words, among, lacks, before = Number.POSITIVE_INFINITY, after = 0, now, limit }) =>
      [...disk.memories.values()]
        .filter(
          item =>
            item.no < before &&
            item.no > after &&
            places.some(place => isIn(place)(item)) &&
            (item.expiresAt === null || item.expiresAt > now) &&
            (words === undefined || holdsWords(item.text, words)) &&
            (among === undefined || among.includes(item.no)) &&
            (lacks === undefined || !disk.memoryVectors.has(`${item.no} ${lacks}`)),
        )
        .sort((a, b) => b.no - a.no)
        .slice(0, limit)
        .map(item => withoutText(item)!),
    putVector({ no, vector }, model) {
      if (![...disk.memories.values()].some(item => item.no === no)) return
      disk.set(disk, 'vectorNo', disk.vectorNo + 1)
      disk.put(disk.memoryVectors, `${no} ${model}`, { no, vector, model, vectorNo: disk.vectorNo })
    },
    vectors({ place, model, dimension, after, limit }) {
      const numbers = new Set([...disk.memories.values()].filter(isIn(place)).map(({ no }) => no))
      return [...disk.memoryVectors.values()]
        .filter(one => one.vectorNo > after && one.model === model && one.vector.length === dimension)
        .filter(({ no }) => numbers.has(no))
        .sort((a, b) => a.vectorNo - b.vectorNo)
        .slice(0, limit)
        .map(({ model: _, ...vector }) => vector)
    },
  }
}

function withoutText<T extends { readonly text: string }>(item: T | null): Omit<T, 'text'> | null {
  if (item === null) return null
  const { text: _, ...rest } = item
  return rest
}
