// The homes of agents that Planfold started: settings and conversations, kept for the next attempt. A plan that has ended needs them no
// more; should it go on after all, a new conversation is begun.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isPlanId, type Millis, type PlanId } from '../../domain/id.ts'
import { AGENT_HOMES } from '../../domain/plan-rules/agent-request.ts'
import { PLAN_ENDED } from '../../domain/status.ts'
import { removeTree } from '../../safety/files/directory.ts'
import { codeOf } from '../../safety/safety-refusal.ts'
import type { Rooms } from '../rooms.ts'

/** Removes those of plans that ended before then, and says of how many plans. */
export async function pruneAgentHomes(
  { store, stateDir }: Pick<Rooms, 'store' | 'stateDir'>,
  { before, dryRun }: { readonly before: Millis; readonly dryRun: boolean },
): Promise<number> {
  const folder = join(stateDir, AGENT_HOMES)
  let removed = 0
  for (const plan of plansIn(folder)) {
    const state = await store.state(plan)
    // Of a plan that is gone only the folder says how old it is.
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
  try {
    return readdirSync(folder).filter(isPlanId)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}
