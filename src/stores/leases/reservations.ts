// Files reserved across all plans. A row is written in the transaction of the `attempt.started` that reserves them, and ended in that of
// the entry that ends the visit. Conflicts are checked inside the transaction, so two plans never hold overlapping files. Rows are a
// function of the journal: `check` compares them, `rebuild` writes them again.
//
//   free ─attempt.started→ held ─visit is over→ ended (kept for a while) ─→ deleted
//
// Ended rows are kept because files are captured before they are reserved: a reservation that began and ended in between has changed them.

import type { Command, Turn } from '../../domain/command.ts'
import type { Event } from '../../domain/event.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { scopesOverlap } from '../../domain/plan-rules/effect.ts'
import type { Refusal } from '../../domain/refusal.ts'
import {
  reservationOf,
  reservationsIn,
  reservedBy,
  reservedMeanwhile,
  reservedScope,
} from '../../domain/reservation.ts'
import type { Reserves } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import type { States } from '../journal/plan-states.ts'
import type { Position, Reservations, ScopeHolder } from '../store.ts'
import { eachLoaded, type ReservationRow, type Tables, type Transactions } from '../tables.ts'

/** Ended rows are kept for this many entries. */
const KEPT_ENTRIES = 20_000

export function reservationsOn({ transactions }: { readonly transactions: Transactions }): Reservations {
  return {
    holders: async (plan, wanted) =>
      transactions.read(tables => ({
        holders: holdersOf(tables, tables.journal.planNo(plan), wanted),
        seen: tables.journal.newestPosition(),
      })),
    held: async plan =>
      transactions.read(tables => {
        const no = tables.journal.planNo(plan)
        return no === null ? [] : eachLoaded(tables.reservations.of(no), row => holderOf(tables, row))
      }),
  }
}

/**
 * Removes from a turn the tasks whose files another plan holds, or held since their capture: those are prepared again later. Refuses such
 * a claim.
 */
export function granted(tables: Tables, no: number, command: Command): Command | Refusal {
  if (command.type === 'claim' && command.prepared?.reserves !== undefined) {
    const { reserves } = command.prepared
    const [holder] = holdersOf(tables, no, reserves)
    if (holder !== undefined) return reservedBy(command.task ?? null, holder)
    const [row] = endedMeanwhile(tables, no, reserves)
    return row === undefined ? command : reservedMeanwhile(command.task ?? null, holderOf(tables, row, reserves.paths))
  }
  if (command.type !== 'turn' || command.prepared === undefined) return command
  const held = eachLoaded(command.prepared, ({ task, prepared: { reserves } }) =>
    reserves === undefined || isFree(tables, no, reserves) ? [] : [task],
  ).flat()
  if (held.length === 0) return command
  const prepared = command.prepared.filter(({ task }) => !held.includes(task))
  return { ...command, prepared, held: [...(command.held ?? []), ...held] } satisfies Turn
}

/** After an entry: adds the reservations of its events, and ends released ones. */
export function followReservations(
  tables: Tables,
  no: number,
  state: PlanState,
  entry: { readonly events: readonly Event[]; readonly position: Position; readonly now: number },
): void {
  // A draft holds nothing, and appending to it must have constant cost.
  if (state.startedAt === null) return
  const { events, position, now } = entry
  let isTouched = false
  for (const event of events) {
    if (event.type === 'attempt.started') {
      if (event.reserves === undefined) continue
      const task = state.tasks.get(event.task)
      const reservation = task === undefined ? null : reservationOf(task)
      if (reservation !== null) tables.reservations.put(no, { ...reservation, since: position, at: now })
    } else if (mayRelease(event)) isTouched ||= event.type.startsWith('plan.') || declaresScopes(state.definition)
  }
  if (isTouched) releaseOver(tables, no, state, position)
}

export function rebuildReservations(tables: Tables, no: number, state: PlanState): void {
  const position = tables.journal.newestPosition()
  releaseOver(tables, no, state, position)
  const there = tables.reservations.of(no)
  for (const reservation of reservationsIn(state)) {
    const row = there.find(({ ordinal }) => ordinal === reservation.ordinal)
    if (row === undefined || JSON.stringify(row.reserves) !== JSON.stringify(reservation.reserves))
      tables.reservations.put(no, { ...reservation, since: position, at: state.updatedAt })
  }
}

export async function rebuildAllReservations(transactions: Transactions, states: States): Promise<void> {
  for (const no of await transactions.read(tables => tables.upkeep.plans())) {
    await transactions.write(tables => {
      const plan = tables.journal.planOf(no)
      const head = plan === null ? null : tables.journal.head(no)
      if (plan !== null && head !== null) rebuildReservations(tables, no, states.at(tables, plan.id, head).state)
    })
  }
}

/** Fast path: most plans reserve nothing. */
function declaresScopes(definition: PlanDefinition): boolean {
  let declares = scoped.get(definition)
  if (declares === undefined) {
    declares = allTasks(definition).some(task => reservedScope(definition, task).length > 0)
    scoped.set(definition, declares)
  }
  return declares
}

const scoped = new WeakMap<PlanDefinition, boolean>()

/** Events that can end a visit, or release its files during it. */
function mayRelease({ type }: Event): boolean {
  switch (type) {
    case 'attempt.started':
    case 'attempt.parked':
    case 'criterion.judged':
    case 'note.added':
    case 'notice.sent':
    case 'git.committed':
    case 'workspace.restored':
    case 'checkpoint.taken':
      return false
    default:
      return true
  }
}

function releaseOver(tables: Tables, no: number, state: PlanState, position: Position): void {
  const rows = tables.reservations.of(no)
  if (rows.length === 0) return
  const held = new Map(reservationsAmong(state, rows).map(one => [one.ordinal, one.visit]))
  let isEnded = false
  for (const { ordinal, visit } of rows) {
    if (held.get(ordinal) === visit) continue
    tables.reservations.end(no, ordinal, position)
    isEnded = true
  }
  if (isEnded) tables.reservations.forget(position - KEPT_ENTRIES)
}

function reservationsAmong(state: PlanState, rows: readonly ReservationRow[]) {
  const names = new Set(rows.map(({ task }) => task))
  return [...names].flatMap(name => {
    const task = name === null ? undefined : state.tasks.get(name)
    return task === undefined ? [] : (reservationOf(task) ?? [])
  })
}

function isFree(tables: Tables, no: number, wanted: Reserves): boolean {
  if (holdersOf(tables, no, wanted).length > 0) return false
  return endedMeanwhile(tables, no, wanted).length === 0
}

/** Reservations that began and ended since the capture, which may have caught half of their changes. */
function endedMeanwhile(tables: Tables, no: number, wanted: Reserves): readonly ReservationRow[] {
  return among(tables.reservations.endedSince(wanted.seen), row => isInTheWay(tables, no, wanted, row))
}

const among = (rows: readonly ReservationRow[], is: (row: ReservationRow) => boolean): readonly ReservationRow[] =>
  eachLoaded(rows, row => (is(row) ? [row] : [])).flat()

function holdersOf(tables: Tables, no: number | null, wanted: Omit<Reserves, 'seen'>): readonly ScopeHolder[] {
  const rows = among(tables.reservations.active(wanted.root), row => isInTheWay(tables, no, wanted, row))
  return eachLoaded(rows, row => holderOf(tables, row, wanted.paths))
}

function isInTheWay(
  tables: Tables,
  no: number | null,
  { root, paths, within }: Omit<Reserves, 'seen'>,
  row: ReservationRow,
): boolean {
  if (row.no === no || row.reserves.root !== root || !scopesOverlap(paths, row.reserves.paths)) return false
  if (within === undefined) return true
  const plan = tables.journal.planOf(row.no)
  return plan === null || !within.includes(plan.id)
}

function holderOf(tables: Tables, row: ReservationRow, wanted?: readonly string[]): ScopeHolder {
  const plan = tables.journal.planOf(row.no)!
  const { paths } = row.reserves
  return {
    plan: plan.id as PlanId,
    name: plan.name,
    task: row.task ?? ('' as TaskName),
    visit: row.visit,
    paths: wanted === undefined ? paths : paths.filter(path => scopesOverlap([path], wanted)),
    since: row.at,
  }
}
