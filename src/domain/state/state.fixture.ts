// Invariants of every state: counters and indexes agree with the tasks, and no task waits in vain.

import { expect } from 'vitest'
import type { JsonObject } from '../json.ts'
import { SATISFIES, TASK_STATUSES } from '../status.ts'
import { packFold } from './fold.ts'
import type { PlanState } from './state.ts'
import { openNeeds } from './task-index.ts'

export function checkState(state: PlanState): void {
  const counts = Object.fromEntries(
    TASK_STATUSES.map(status => [status, state.order.filter(task => task.status === status).length]),
  )
  expect(state.counts).toEqual(counts)
  const isUnderWay = (state.status === 'active' && state.compensating === null) || state.status === 'paused'
  for (const task of state.order) {
    const needs = [...new Set(task.definition.needs ?? [])].map(name => state.tasks.get(name)!)
    const id = task.definition.id
    expect({ id, unmet: task.unmet }).toEqual({ id, unmet: needs.filter(need => !SATISFIES.has(need.status)).length })
    expect(state.running.has(task)).toBe(task.status === 'running' && task.claim === null)
    expect({ id, gate: task.gate !== null }).toEqual({ id, gate: task.status === 'waiting' })
    if (!isUnderWay) continue
    const { unmet, blockers } = openNeeds(state, task)
    if (task.status === 'ready') expect({ id, unmet, blockers }).toEqual({ id, unmet: 0, blockers: 0 })
    if (task.status === 'pending') expect({ id, blockers }).toEqual({ id, blockers: 0 })
    if (task.status === 'pending' && !task.dormant) expect({ id, waits: unmet > 0 }).toEqual({ id, waits: true })
    if (task.status === 'blocked') expect({ id, held: blockers > 0 }).toEqual({ id, held: true })
  }
}

export const stored = (state: PlanState): JsonObject => JSON.parse(JSON.stringify(packFold(state))) as JsonObject
