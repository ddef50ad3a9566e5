// Home folders of started agents: settings and conversations, kept for the next attempt and removed some time after the plan has ended. If
// it continues after that, a new conversation begins.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isPlanId, type Millis, type PlanId } from '../../domain/id.ts'
import { orElse } from '../../domain/json.ts'
import { AGENT_HOMES } from '../../domain/plan-rules/agent-request.ts'
import { PLAN_ENDED } from '../../domain/status.ts'
import { removeTree } from '../../safety/files/directory.ts'
import { hasCode } from '../../safety/safety-refusal.ts'
import type { Rooms } from '../rooms.ts'

/** Removes those of plans that ended before `before`; returns of how many plans. */
export async function pruneAgentHomes(
  { store, stateDir }: Pick<Rooms, 'store' | 'stateDir'>,
  { before, dryRun }: { readonly before: Millis; readonly dryRun: boolean },
): Promise<number> {
  const folder = join(stateDir, AGENT_HOMES)
  let removed = 0
  for (const plan of plansIn(folder)) {
    const state = await store.state(plan)
    // If the plan is gone, the age of the folder decides.
    const endedAt =
      state === null
        ? statSync(join(folder, plan), { throwIfNoEntry: false })?.mtimeMs
        : PLAN_ENDED.has(state.status)
          ? state.endedAt
          : null
    if (endedAt == null || endedAt >= before) continue
    removed++
    if (!dryRun) await removeTree(join(folder, plan))
  }
  return removed
}

function plansIn(folder: string): readonly PlanId[] {
  const names: readonly string[] = orElse(() => readdirSync(folder), [], hasCode('ENOENT'))
  return names.filter(isPlanId)
}
