// Why is a task ready, or why not? In sentences, naming the tasks, people and limits it waits for.

import { heldBack, isTriedIn } from '../breaker.ts'
import { concurrencyOf, inLine } from '../decisions/starting.ts'
import type { Millis } from '../id.ts'
import { numberOf } from '../number-of.ts'
import { nextRule, wordsOf } from '../recovery.ts'
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
    case 'failed': {
      const recovery = recoveryLine(state, task)
      return `'${id}' failed: ${task.reason ?? ''}${recovery === null ? '' : `; ${recovery}`}`
    }
    case 'skipped':
    case 'abandoned':
      return `'${id}' was ${task.status}: ${task.reason ?? ''}`
    case 'running':
      return task.claim === null ? `'${id}' is running` : `'${id}' is claimed by ${task.claim.by}`
    case 'waiting':
      return `'${id}' waits for a person: ${asks(task)}${howToAgree(state, task)}`
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
  if (task.retryAt !== null) {
    const then = nextRule(task)
    const after = then === null ? '' : `; should that fail for good, ${then} follows`
    return `'${id}' is tried again in ${secondsTo(task.retryAt, now)} s: ${task.reason ?? 'its last attempt failed'}${after}`
  }
  if (state.status === 'paused') return `'${id}' is ready, but the plan is paused`
  const breaker = heldBack(state, task, now, one => isTriedIn(state.running, one))
  if (breaker !== null) return `'${id}' is ready, but ${breakerLine(breaker, now)}`
  if (isClaimable(state, task)) return `'${id}' is ready to be claimed`
  if (state.asking.has(task) && task.definition.action.type === 'external')
    return `'${id}' is ready, and somebody is asked before it can be claimed`
  if (inLine(state, now).includes(task)) return `'${id}' is ready and starts as soon as an engine drives the plan`
  const limit = concurrencyOf(state.definition)
  if (state.running.size >= limit)
    return `'${id}' is ready; ${state.running.size} of ${numberOf(limit, 'place')} ${limit === 1 ? 'is' : 'are'} taken`
  return `'${id}' is ready, but others are before it or write the same files`
}

/** An agent that may not claim it yet is told who can help, and how. */
function howToAgree({ definition: { name } }: PlanState, { gate, definition }: TaskState): string {
  if (gate?.asks.type !== 'consent' || definition.action.type !== 'external') return ''
  return `; then it can be claimed (planfold approve ${name} ${definition.id})`
}

function asks(task: TaskState): string {
  switch (task.gate?.asks.type) {
    case 'unknown-outcome':
      return `nobody knows whether it happened (${task.gate.asks.evidence.reason})`
    case 'recovery':
    case 'replan': {
      const { failure, type } = task.gate.asks
      const how = type === 'replan' ? 'revise the plan, or ' : ''
      return `it failed (${failure.message}): ${how}retry, skip or reject it`
    }
    case 'consent':
      return `agree to it or not: ${task.gate.asks.why}`
    case 'decision':
      return `choose ${task.gate.asks.options.map(option => `'${option.id}'`).join(' or ')}`
    case 'question':
      return `answer '${task.gate.asks.question}'`
    case 'verdict':
      return `judge ${task.gate.asks.criteria.map(text => `'${text}'`).join(', ')}`
    default:
      return 'approve or reject'
  }
}

/** What is being done about a failure, and what would follow; null when nothing is. */
export function recoveryLine(state: PlanState, task: TaskState): string | null {
  const { recovering, definition } = task
  const way = recovering === null ? undefined : definition.recover?.[recovering.rule]?.do
  if (recovering === null || way === undefined) return null
  const helper = recovering.by === definition.id ? undefined : state.tasks.get(recovering.by)
  const what = helper === undefined ? wordsOf(way) : `${wordsOf(way)} (${helper.status})`
  const then = nextRule(task)
  return `rule ${recovering.rule + 1} is followed: ${what}; ${then === null ? 'no rule follows' : `then ${then}`}`
}

/** Why nothing that needs a capability begins, and until when. */
export function breakerLine(
  { capability, until }: { readonly capability: string; readonly until: Millis },
  now: Millis,
): string {
  return until > now
    ? `'${capability}' failed too often in a row: nothing that needs it begins for ${secondsTo(until, now)} s`
    : `'${capability}' failed too often in a row, and another task tries it first`
}

const secondsTo = (at: Millis, now: Millis): number => Math.max(0, Math.ceil((at - now) / 1000))

function needsThat(state: PlanState, task: TaskState, test: (need: TaskState) => boolean): string {
  return (task.definition.needs ?? [])
    .map(name => state.tasks.get(name))
    .filter(need => need !== undefined && test(need))
    .map(need => `'${need!.definition.id}' (${need!.status})`)
    .join(', ')
}
