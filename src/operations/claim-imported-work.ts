// Work that somebody had in hand when a plan was written down, in a plan that has just been started: it is claimed for whoever brings
// it here, so that it stays in progress and nobody else begins it anew. What belongs to somebody else by name is left to them.

import type { PlanId, TaskName } from '../domain/id.ts'
import { CLAIM_LEASE_MAX_MS } from '../domain/limits.ts'
import type { EngineInProcess } from '../engine/engine.ts'

export interface TakenUpWork {
  readonly claimed: readonly TaskName[]
  readonly left: readonly { readonly task: TaskName; readonly why: string }[]
}

export async function takeUpWork(
  { engine }: { readonly engine: EngineInProcess },
  plan: PlanId,
  tasks: Iterable<TaskName>,
): Promise<TakenUpWork> {
  const claimed: TaskName[] = []
  const left: { task: TaskName; why: string }[] = []
  for (const task of tasks) {
    const found = await engine.ask({ type: 'records', plan, tasks: [task] })
    const assignee = found?.tasks[0]?.definition.assignee
    if (assignee !== undefined && assignee !== engine.caller.actor) {
      left.push({ task, why: `it is for ${assignee} to claim` })
      continue
    }
    const done = await engine.submit(plan, { type: 'claim', task, leaseMs: CLAIM_LEASE_MAX_MS })
    if (done.ok) claimed.push(task)
    else left.push({ task, why: done.refusal.message })
  }
  return { claimed, left }
}
