// The tasks that an agent has claimed: the default when a command names no task, and the scope in which the agent may write.

import type { PlanId, TaskName } from '../../domain/id.ts'
import type { Engine } from '../../engine/engine.ts'

export interface ClaimedTask {
  readonly plan: PlanId
  readonly task: TaskName
  readonly by: string
}

export async function claimedTasks(
  engine: Pick<Engine, 'ask'>,
  agents: readonly string[],
  plan?: PlanId,
): Promise<readonly ClaimedTask[]> {
  const running = { type: 'tasks', plan, status: 'running', archived: false } as const
  const pages = await Promise.all([
    ...agents.map(assignee => engine.ask({ ...running, assignee, limit: OWN_MAX })),
    engine.ask({ ...running, limit: OTHERS_MAX }),
  ])
  const rows = new Map(pages.flatMap(({ items }) => items).map(row => [row.id, row]))
  const claimed: ClaimedTask[] = []
  for (const { plan: of, name, assignee } of rows.values()) {
    // Running without an assignee: Planfold runs it itself.
    if (assignee === null) continue
    const by = (await engine.ask({ type: 'task', plan: of, task: name }))?.claimedBy
    if (by !== null && by !== undefined && agents.includes(by)) claimed.push({ plan: of, task: name, by })
  }
  return claimed
}

const OWN_MAX = 20
/** A task assigned to one name may be claimed under another, so this many running tasks are checked. */
const OTHERS_MAX = 50
