// Queries about checkpoints: list, one with the plan's state at that entry, and the difference between two.

import { type CheckpointName, isCheckpointName } from '../../domain/id.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { type Checkpoint, checkpointsOf } from '../../domain/views/checkpoints.ts'
import { planStatus } from '../../domain/views/summary.ts'
import type { Entry } from '../../stores/store.ts'

import type { CheckpointCard, CheckpointDiff, CheckpointFound } from '../queries.ts'
import type { Rooms } from '../rooms.ts'
import { resolveEntry } from './entry-reference.ts'
import { foldTo } from './rollback-preview.ts'
import { composeSince, entriesAfter } from './write-set.ts'

export async function checkpoints(rooms: Rooms, state: PlanState): Promise<readonly Checkpoint[]> {
  return checkpointsOf(await entriesAfter(rooms.store, state.id, 0))
}

export async function checkpoint(rooms: Rooms, state: PlanState, name: string): Promise<CheckpointFound> {
  const entries = await entriesAfter(rooms.store, state.id, 0)
  const found = checkpointAt(entries, name)
  if ('code' in found) return { ok: false, refusal: found }
  const then = foldTo(entries, found.version)
  const decided = entries.filter(({ version }) => version <= found.version).flatMap(({ events }) => events)
  const card: CheckpointCard = {
    ...found,
    status: planStatus(then),
    revision: then.revision,
    completed: then.order.flatMap(({ status, definition }) => (status === 'completed' ? [definition.id] : [])),
    outputs: Object.fromEntries(
      then.order.flatMap(({ definition, result }) =>
        result?.outputs === undefined ? [] : [[definition.id, result.outputs] as const],
      ),
    ),
    decisions: decided.flatMap(event =>
      event.type === 'gate.decided' ? [{ task: event.task, verdict: event.verdict, rationale: event.rationale }] : [],
    ),
    evidence: then.order.flatMap(({ definition, result }) =>
      (result?.verdicts ?? []).map(({ criterion, holds }) => ({ task: definition.id, criterion, holds })),
    ),
  }
  return { ok: true, card }
}

export async function difference(
  rooms: Rooms,
  state: PlanState,
  from: string,
  to: string | undefined,
): Promise<CheckpointDiff> {
  const entries = await entriesAfter(rooms.store, state.id, 0)
  const [a, b] = [checkpointAt(entries, from), to === undefined ? null : checkpointAt(entries, to)]
  if ('code' in a) return { ok: false, refusal: a }
  if (b !== null && 'code' in b) return { ok: false, refusal: b }
  const [before, after] = [a.standing.snapshot, b === null ? ('now' as const) : b.standing.snapshot]
  if (before !== undefined && after !== undefined && rooms.snapshots !== undefined) {
    const found = await rooms.snapshots.diff(before, after)
    if (found.ok) return { ok: true, basis: 'whole', changes: found.changes, left: found.left }
    return { ok: false, refusal: refuse('conflict', found.failure.message, found.failure.hint) }
  }
  const isBack = b !== null && b.version < a.version
  const [first, last] = isBack ? [b.version, a.version] : [a.version, b?.version ?? Number.POSITIVE_INFINITY]
  const between = entries.filter(({ version }) => version > first && version <= last)
  const { seen } = await composeSince(rooms, between)
  const turned = seen.map(({ path, before, after }) => ({ path, before: after, after: before }))
  return { ok: true, basis: 'written', changes: isBack ? turned : seen, left: [] }
}

/** An entry without a checkpoint has no files, but the plan's state is known. */
function checkpointAt(
  entries: readonly Entry[],
  word: string,
): (Omit<Checkpoint, 'why'> & Pick<CheckpointCard, 'why'>) | Refusal {
  const entry = resolveEntry(entries, word)
  if ('code' in entry) return entry
  const { version, checkpoint: taken } = entry
  if (taken !== null) return taken
  const at = entries.find(entry => entry.version === version)?.now ?? 0
  return { name: word as CheckpointName, version, at, task: null, why: 'entry', paths: null, standing: {} }
}

/** A checkpoint name must be unique, and must not look like the number of an entry or an automatic checkpoint. */
export async function refuseName(rooms: Rooms, state: PlanState, name: string): Promise<Refusal | null> {
  if (!isCheckpointName(name))
    return refuse('invalid', `'${name}' is not a valid name for a checkpoint`, 'use letters, digits, dots and dashes')
  if (/^\d+$/.test(name) || name.startsWith('cp-'))
    return refuse(
      'invalid',
      `the checkpoint cannot be called '${name}'`,
      'a number means an entry, and `cp-…` an automatic checkpoint',
    )
  const isTaken = (await checkpoints(rooms, state)).some(one => one.name === name)
  return isTaken ? refuse('exists', `there is a checkpoint '${name}' already`, 'give it another name') : null
}
