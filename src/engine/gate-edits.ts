// Approved with edits: whoever approves hands over the whole document as they want it. What the tasks would then do is worked out
// on a copy of the plan, so that the approval agrees to exactly that.

import type { Decide } from '../domain/command.ts'
import { decide } from '../domain/decide.ts'
import { packFold, unpackFold } from '../domain/fold.ts'
import type { TaskName } from '../domain/id.ts'
import { keepItems } from '../domain/items.ts'
import type { JsonObject } from '../domain/json.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { PlanState } from '../domain/state.ts'
import { definitionHash } from '../format/hash.ts'
import type { GateEdits } from './engine.ts'
import { bindGate } from './gate-preparing.ts'
import type { Rooms } from './rooms.ts'

export type WithEdits =
  | { readonly ok: true; readonly edits: NonNullable<Decide['edits']>; readonly version: number }
  | { readonly ok: false; readonly refusal: Refusal }

export async function withEdits(
  rooms: Rooms,
  state: PlanState,
  task: TaskName,
  { definition: written, source }: GateEdits,
): Promise<WithEdits> {
  const { version } = state
  const definition = keepItems(state.definition, written)
  const hash = definitionHash(definition)
  const copy = unpackFold(structuredClone(packFold(state)) as JsonObject, state.definition)
  const revised = decide(
    copy,
    { type: 'revise', definition, hash, rationale: 'approved with edits' },
    rooms.clock.now(),
  )
  if (!revised.ok) return revised
  const gate = copy.tasks.get(task)
  const { binds = {} } = gate === undefined ? {} : await bindGate(rooms, copy, gate)
  return { ok: true, edits: { definition, hash, binds, ...(source === undefined ? {} : { source }) }, version }
}
