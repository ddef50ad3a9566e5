// A plan for a goal that a request brings: proposed in a thread, from what stands in the workspace and from plans of the past.

import { join } from 'node:path'
import type { EngineInProcess } from '../engine/engine.ts'
import { type ProposedPlan, pastPlans } from '../operations/goals/plan-goal.ts'
import type { Problem } from './problem.ts'
import type { RouteRooms } from './service.ts'

export async function proposeFor(
  call: {
    readonly engine: Pick<EngineInProcess, 'ask'>
    readonly rooms: Pick<RouteRooms, 'documents' | 'root' | 'stateDir' | 'environment'>
  },
  goal: string,
): Promise<ProposedPlan | Problem> {
  const { documents, root, stateDir, environment } = call.rooms
  const past = await pastPlans(call.engine)
  return await documents.propose({ goal, past, root, scratch: join(stateDir, 'scratch'), environment })
}
