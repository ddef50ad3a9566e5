// Files reserved across plans, in memory.

import type { ReservationRow, ReservationTable } from '../tables.ts'
import type { MemoryDisk, MemoryPlan } from './memory-disk.ts'

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
    put: (no, record) => disk.put(disk.plans.get(no)!.reservations, record.ordinal, { ...record, ended: null }),
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
