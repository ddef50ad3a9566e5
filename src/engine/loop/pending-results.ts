// Results that are not in the journal yet. A turn takes all of them. If it is unknown whether the turn was written, they are sent again,
// which is harmless: settled attempts stay settled.

import type { Settlement, Turn } from '../../domain/command.ts'
import type { TaskName } from '../../domain/id.ts'
import type { Shortage } from '../../domain/shortage.ts'
import type { Preparation } from '../attempts/prepare.ts'

type ItemOf<K extends keyof Turn> = NonNullable<Turn[K]> extends readonly (infer One)[] ? One : never

export class PendingResults {
  settled: Settlement[] = []
  prepared: Preparation[] = []
  compensated: ItemOf<'compensated'>[] = []
  committed: ItemOf<'committed'>[] = []
  rolledBack: Turn['rolledBack'] | null = null
  proposed: ItemOf<'proposed'>[] = []
  notices: ItemOf<'notices'>[] = []
  shortage: Shortage | null = null
  /** Notices in a turn that may not have been written. They are looked up in the journal, so that none is sent twice. */
  unsure: ItemOf<'notices'>[] = []

  get isNone(): boolean {
    return (
      this.settled.length === 0 &&
      this.prepared.length === 0 &&
      this.compensated.length === 0 &&
      this.committed.length === 0 &&
      this.proposed.length === 0 &&
      this.notices.length === 0 &&
      this.rolledBack === null &&
      this.shortage === null
    )
  }

  turn(stopping: boolean, held: ReadonlySet<TaskName> = new Set()): Turn {
    const { settled, prepared, compensated, committed, rolledBack, proposed, notices, shortage } = this
    // Filled field by field: a turn is built for every step of a plan, and most contain only ended attempts.
    const turn: { -readonly [K in keyof Turn]: Turn[K] } = { type: 'turn' }
    if (settled.length > 0) turn.settled = settled
    if (prepared.length > 0) Object.assign(turn, preparedFields(prepared))
    if (compensated.length > 0) turn.compensated = compensated
    if (committed.length > 0) turn.committed = committed
    if (rolledBack != null) turn.rolledBack = rolledBack
    if (proposed.length > 0) turn.proposed = proposed
    if (notices.length > 0) turn.notices = notices
    if (shortage !== null) turn.shortage = shortage
    if (held.size > 0) turn.held = [...held]
    if (stopping) turn.start = false
    return turn
  }

  prepend(taken: PendingResults): void {
    this.settled = [...taken.settled, ...this.settled]
    this.prepared = [...taken.prepared, ...this.prepared]
    this.compensated = [...taken.compensated, ...this.compensated]
    this.committed = [...taken.committed, ...this.committed]
    this.rolledBack ??= taken.rolledBack
    this.shortage ??= taken.shortage
    this.proposed = [...taken.proposed, ...this.proposed]
    this.unsure = [...taken.unsure, ...taken.notices, ...this.unsure]
  }
}

function preparedFields(all: readonly Preparation[]): Pick<Turn, 'prepared' | 'expanded' | 'gates' | 'restored'> {
  // A preparation that met a shortage says nothing about the task.
  const preparations = all.filter(({ shortage }) => shortage === undefined)
  if (preparations.length === 0) return {}
  const prepared = preparations.map(({ task, visit, prepared }) => ({ task, visit, prepared }))
  const expanded = preparations.flatMap(({ expanded }) => (expanded === undefined ? [] : [expanded]))
  const gates = preparations.flatMap(({ task, visit, gate }) => (gate === undefined ? [] : [{ task, visit, ...gate }]))
  const restored = preparations.flatMap(({ task, restored, earlier = [] }) =>
    [...earlier, ...(restored === null ? [] : [restored])].map(one => ({ task, ...one })),
  )
  return {
    prepared,
    ...(expanded.length === 0 ? {} : { expanded }),
    ...(gates.length === 0 ? {} : { gates }),
    ...(restored.length === 0 ? {} : { restored }),
  }
}
