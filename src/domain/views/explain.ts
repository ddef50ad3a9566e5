// Why is a task ready, or why not? In sentences, naming the tasks, people and limits it waits for.

import { concurrencyOf, inLine } from '../decisions/starting.ts'
import type { Millis } from '../id.ts'
import type { PlanState, TaskState } from '../state.ts'
import { BLOCKS, SATISFIES } from '../status.ts'
import { isClaimable } from '../task-graph.ts'

export function explain(state: PlanState, task: TaskState, now: Millis): string {
  const { id } = task.definition
  if (state.status === 'draft') return `'${id}' waits: the plan has not been started`
  switch (task.status) {
    case 'completed':
    case 'cancelled':
      return `'${id}' is ${task.status}`
    case 'failed':
    case 'skipped':
    case 'abandoned':
      return `'${id}' ${task.status === 'failed' ? 'failed' : `was ${task.status}`}: ${task.reason ?? ''}`
    case 'running':
      return task.claim === null ? `'${id}' is running` : `'${id}' is claimed by ${task.claim.by}`
    case 'waiting':
      return `'${id}' waits for a person: ${asks(task)}`
    case 'blocked':
      return `'${id}' is blocked: ${needsThat(state, task, need => BLOCKS.has(need.status)) || (task.reason ?? '')}`
    case 'pending':
      if (task.definition.action.type === 'verify') return `'${id}' is judged when everything else has ended`
      if (task.dormant) return `'${id}' waits: no outcome has led here yet`
      return `'${id}' needs ${needsThat(state, task, need => !SATISFIES.has(need.status))}`
    case 'ready':
      return whyNotStarted(state, task, now)
    default:
      return task.status satisfies never
  }
}

function whyNotStarted(state: PlanState, task: TaskState, now: Millis): string {
  const { id } = task.definition
  if (task.retryAt !== null && task.retryAt <= now && task.definition.action.type === 'external')
    return `'${id}' is ready to be claimed`
  if (task.retryAt !== null)
    return `'${id}' is tried again in ${Math.max(0, Math.ceil((task.retryAt - now) / 1000))} s: ${task.reason ?? 'its last attempt failed'}`
  if (state.status === 'paused') return `'${id}' is ready, but the plan is paused`
  if (isClaimable(task)) return `'${id}' is ready to be claimed`
  if (inLine(state).includes(task)) return `'${id}' is ready and starts as soon as an engine drives the plan`
  const limit = concurrencyOf(state.definition)
  if (state.running.size >= limit) return `'${id}' is ready; ${state.running.size} of ${limit} places are taken`
  return `'${id}' is ready, but others are before it or write the same files`
}

function asks(task: TaskState): string {
  switch (task.gate?.asks.type) {
    case 'unknown-outcome':
      return `nobody knows whether it happened (${task.gate.asks.evidence.reason})`
    case 'verdict':
      return `judge ${task.gate.asks.criteria.map(text => `'${text}'`).join(', ')}`
    default:
      return 'approve or reject'
  }
}

function needsThat(state: PlanState, task: TaskState, test: (need: TaskState) => boolean): string {
  return (task.definition.needs ?? [])
    .map(name => state.tasks.get(name))
    .filter(need => need !== undefined && test(need))
    .map(need => `'${need!.definition.id}' (${need!.status})`)
    .join(', ')
}
