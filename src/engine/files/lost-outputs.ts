// Checks whether files that completed tasks declared as outputs still exist unchanged. Changes by later tasks of the plan are not losses.
// Files that an unfinished attempt may be writing are skipped, because its changes are not recorded yet.

import { hash } from 'node:crypto'
import { sandboxedCommand } from '../../domain/actions/actions.ts'
import type { Sha256 } from '../../domain/id.ts'
import { type Json, orElse, same } from '../../domain/json.ts'
import { OUTPUT_MAX_BYTES } from '../../domain/limits.ts'
import { effectOf, heldScope, usesTaskWorktrees } from '../../domain/plan-rules/effect.ts'
import type { LostOutput } from '../../domain/result.ts'

import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { openGate, type PathGate } from '../../safety/files/path-gate.ts'
import { inScope, type Patterns } from '../../safety/scope.ts'
import { isGone, roomsOf } from '../git/plan-worktree.ts'
import { readOthersChanges } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'
import { changesOf, entriesAfter } from './other-plans.ts'

export async function lostOutputs(house: Rooms, state: PlanState): Promise<readonly LostOutput[]> {
  // Outputs of task worktrees are merged, so their final content is not known.
  if (usesTaskWorktrees(state.definition)) return []
  const rooms = roomsOf(house, state)
  if (isGone(rooms)) return []
  const gate = await openGate(rooms)
  if (!gate.ok) return []
  const lost: Found[] = []
  const scopes = openScopes(state)
  try {
    for (const { definition, status, visit, result } of state.order) {
      if (status !== 'completed' || result?.outputs === undefined) continue
      for (const [output, source] of Object.entries(definition.outputs ?? {})) {
        const recorded = result.outputs[output]
        if (source.from !== 'file' || recorded === undefined) continue
        const about = { task: definition.id, visit, output, file: source.file }
        const found = scopes.some(scope => inScope(scope, source.file))
          ? lostBefore(state, about)
          : await look(gate.value, source.file, recorded)
        if (found !== null) lost.push({ ...found, about })
      }
    }
  } finally {
    await gate.value.close()
  }
  return lost.length === 0 ? [] : await withoutOwn(rooms, state, lost)
}

interface Found {
  readonly what: LostOutput['what']
  /** The current hash; null if the file is missing. Absent if it was not looked at. */
  readonly sha256?: Sha256 | null
  readonly about: Omit<LostOutput, 'what'>
}

/** Scopes of unfinished or interrupted attempts: their changes are in no change set yet. */
function openScopes(state: PlanState): readonly Patterns[] {
  return state.order.filter(hasBegun).map(({ definition, status }) => {
    const { type } = definition.action
    const scope = type === 'external' ? (definition.write ?? []) : heldScope(state.definition, definition)
    if (
      scope.length > 0 ||
      status !== 'running' ||
      (type !== 'external' && sandboxedCommand(definition.action) === null)
    )
      return scope
    // Without a scope, any file may be its work.
    return effectOf(state.definition, definition) === 'pure' ? scope : null
  })
}

const hasBegun = ({ attempt, status, gate }: TaskState): boolean =>
  attempt > 0 &&
  (status === 'running' || status === 'ready' || gate?.asks.type === 'unknown-outcome' || gate?.asks.type === 'edits')

/** A loss that was recorded stays recorded: the file is not read while an open attempt may be writing it. */
function lostBefore(
  { lostOutputs: known }: PlanState,
  { task, visit, output }: Found['about'],
): Pick<Found, 'what'> | null {
  const before = known.find(one => one.task === task && one.visit === visit && one.output === output)
  return before === undefined ? null : { what: before.what }
}

/** Null if it is unchanged, or cannot be read. */
async function look(gate: PathGate, file: string, recorded: Json): Promise<Omit<Found, 'about'> | null> {
  const content = await gate.read(file, { maxBytes: OUTPUT_MAX_BYTES })
  if (!content.ok) return null
  if (content.value === null) return { what: 'missing', sha256: null }
  const bytes = Buffer.from(content.value.bytes)
  const sha256 = hash('sha256', bytes) as Sha256
  return isAsRecorded(recorded, bytes, sha256) ? null : { what: 'changed', sha256 }
}

/** Small JSON, and text declared as such, was recorded as a value, anything else by its hash. */
function isAsRecorded(recorded: Json, bytes: Buffer, sha256: Sha256): boolean {
  if (recorded !== null && typeof recorded === 'object' && 'artifact' in recorded && recorded.artifact === sha256)
    return true
  if (typeof recorded === 'string' && bytes.toString('utf8').replace(/\n$/, '') === recorded) return true
  return orElse(() => same(JSON.parse(bytes.toString('utf8')), recorded), false)
}

/** What the plan's own tasks left there last, as far as it was recorded, is no loss. */
async function withoutOwn(rooms: Rooms, state: PlanState, lost: readonly Found[]): Promise<readonly LostOutput[]> {
  const left = new Map<string, Sha256 | null>()
  const paths = new Set(lost.map(({ about }) => about.file))
  for (const { events } of await entriesAfter(rooms.store, state.id, 0)) {
    for (const changes of events.map(changesOf)) {
      if (changes === null) continue
      for (const { path, after } of (await readOthersChanges(rooms, changes)) ?? [])
        if (paths.has(path)) left.set(path, after?.type === 'file' ? after.sha256 : null)
    }
  }
  return lost.flatMap(({ what, sha256, about }) => {
    const isOwn = sha256 !== undefined && left.get(about.file) === sha256
    return isOwn ? [] : [{ ...about, what }]
  })
}
