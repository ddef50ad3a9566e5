// What a plan reads of memory when it starts, resumes or is revised. It is recorded with that entry, and expressions read the record.

import type { Actor } from '../../domain/id.ts'
import { same } from '../../domain/json.ts'
import { MEMORY_SCOPES, memoryKeys, type ReadMemory } from '../../domain/memory/memory-items.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { MemoryPlace } from '../../stores/store.ts'
import { projectOf } from '../memory.ts'
import type { Rooms } from '../rooms.ts'

/** Each key of plan, project and user, in this order, of what is trusted. Empty if nothing changed since the last reading. */
export async function memoryNow(
  rooms: Rooms,
  state: Pick<PlanState, 'id' | 'memory'> | null,
  definition: PlanDefinition | undefined,
  person: Actor,
): Promise<{ readonly memory?: ReadMemory }> {
  const keys = definition === undefined ? [] : memoryKeys(definition)
  if (state === null || rooms.memory === undefined || (keys.length === 0 && Object.keys(state.memory).length === 0))
    return {}
  const owners = { plan: state.id as string, project: projectOf(rooms).owner, user: person as string }
  const places = MEMORY_SCOPES.map((scope): MemoryPlace => ({ scope, owner: owners[scope] }))
  const items = keys.length === 0 ? [] : await rooms.memory.get(places, keys)
  const memory: { [key: string]: ReadMemory[string] } = {}
  for (const { key, value, scope, at, trust, source } of items)
    if (trust === 'trusted' && !Object.hasOwn(memory, key)) memory[key] = { value, scope, at, by: source.by }
  return same(memory, state.memory) ? {} : { memory }
}
