// What is asked about checkpoints: all of them, one with what the plan knew there, and what differs between two.

import { isCheckpointName } from '../domain/id.ts'
import { type Refusal, refuse } from '../domain/refusal.ts'
import type { PlanState } from '../domain/state.ts'
import { suggest } from '../domain/suggest.ts'
import { type Checkpoint, checkpointsOf, findCheckpoint } from '../domain/views/checkpoints.ts'
import { planStatus } from '../domain/views/summary.ts'
import type { CheckpointCard, CheckpointDiff } from './engine.ts'
import { foldTo } from './rollback-asking.ts'
import type { Rooms } from './rooms.ts'
import { composeSince, entriesAfter } from './written.ts'

export async function checkpoints(rooms: Rooms, state: PlanState): Promise<readonly Checkpoint[]> {
  return checkpointsOf(await entriesAfter(rooms.store, state.id, 0))
}

export async function checkpoint(rooms: Rooms, state: PlanState, name: string): Promise<CheckpointCard | null> {
  const entries = await entriesAfter(rooms.store, state.id, 0)
  const found = findCheckpoint(checkpointsOf(entries), name)
  if (found === null) return null
  const then = foldTo(entries, found.version)
  const decided = entries.filter(({ version }) => version <= found.version).flatMap(({ events }) => events)
  return {
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
}

export async function difference(
  rooms: Rooms,
  state: PlanState,
  from: string,
  to: string | undefined,
): Promise<CheckpointDiff> {
  const entries = await entriesAfter(rooms.store, state.id, 0)
  const all = checkpointsOf(entries)
  const [a, b] = [findCheckpoint(all, from), to === undefined ? null : findCheckpoint(all, to)]
  const missing = a === null ? from : to !== undefined && b === null ? to : null
  if (a === null || missing !== null) {
    const near = suggest(
      missing ?? from,
      all.map(({ name }) => name),
    )
    const hint = near === null ? 'see `planfold checkpoints list`' : `did you mean '${near}'?`
    return { ok: false, refusal: refuse('not-found', `the plan has no checkpoint '${missing}'`, hint) }
  }
  const [before, after] = [a.standing.snapshot, b === null ? ('now' as const) : b.standing.snapshot]
  if (before !== undefined && after !== undefined && rooms.snapshots !== undefined) {
    const found = await rooms.snapshots.diff(before, after)
    if (found.ok) return { ok: true, basis: 'whole', changes: found.changes, left: found.left }
    return { ok: false, refusal: refuse('conflict', found.failure.message, found.failure.hint) }
  }
  const isBack = b !== null && b.version < a.version
  const [first, last] = isBack ? [b.version, a.version] : [a.version, b?.version ?? Number.POSITIVE_INFINITY]
  const between = entries.filter(({ version }) => version > first && version <= last)
  const { changes } = await composeSince(rooms, between)
  const turned = changes.map(({ path, before, after }) => ({ path, before: after, after: before }))
  return { ok: true, basis: 'written', changes: isBack ? turned : changes, left: [] }
}

/** Each name stands for one checkpoint, and for nothing else that can be gone to. */
export async function refuseName(rooms: Rooms, state: PlanState, name: string): Promise<Refusal | null> {
  if (!isCheckpointName(name))
    return refuse('invalid', `'${name}' is no name for a checkpoint`, 'use letters, digits, dots and dashes')
  if (/^\d+$/.test(name) || name.startsWith('cp-'))
    return refuse(
      'invalid',
      `the checkpoint cannot be called '${name}'`,
      'a number means an entry, and `cp-…` a checkpoint taken by itself',
    )
  const isTaken = (await checkpoints(rooms, state)).some(one => one.name === name)
  return isTaken ? refuse('exists', `there is a checkpoint '${name}' already`, 'give it another name') : null
}
