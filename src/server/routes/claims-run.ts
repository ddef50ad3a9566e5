// Advances one task by hand: the draft is started if need be, a task for people or agents is claimed for the caller, any other is
// left to the service. What is not ready says what is missing.

import type { TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import { ENDED, SATISFIES, type TaskStatus } from '../../domain/status.ts'
import type { Card } from '../../domain/views/board.ts'
import { asLiteral } from '../../format/template.ts'
import { run, runBody } from '../../format/wire/claims.ts'
import { claimTask } from '../claiming.ts'
import type { FoundTask } from '../look-up.ts'
import { type Accepted, type Asking, gone, movedOf, orderAlso, withTask } from '../ordering.ts'
import { startPlan } from '../plan-status.ts'
import { isProblem, type Problem, problem } from '../problem.ts'
import { type AnyRoute, ok } from '../route.ts'
import { showTask } from '../show-task.ts'
import { stale } from '../stale.ts'
import { ofTask } from './claims.ts'

export const runRoutes: readonly AnyRoute[] = ofTask('/run', {
  method: 'POST',
  right: 'operate',
  noun: 'agents',
  about: 'Advances one task by hand; starts the plan if need be.',
  body: runBody,
  answers: {
    200: { about: 'it is claimed for you', body: run, tag: true },
    202: { about: 'the service carries it out', body: run, tag: true },
  },
  handle: async call =>
    await withTask(call, async found => {
      const { inputs, agent_id: agent, lease_seconds: leaseSeconds } = call.body
      const refusal = await notReady(call, found)
      if (refusal !== null) return refusal
      const changed = inputs === undefined ? null : await withInputs(call, found, inputs as JsonObject)
      if (changed !== null && isProblem(changed)) return changed
      const started = await startedIfDraft(call, found)
      if (started !== null && isProblem(started)) return started
      const card = await call.rooms.engine.ask({ type: 'task', plan: found.plan, task: found.task })
      if (card === null) return gone()
      if (card.action === 'external') {
        // The version the caller saw was looked at before anything was ordered.
        const claimed = await claimTask({ ...call, expectedVersion: undefined }, found.plan, found.task, {
          agent,
          leaseSeconds,
        })
        return isProblem(claimed) ? claimed : ok({ status: 'claimed', ...claimed }, claimed.version)
      }
      const shown = await showTask(call, found.plan, found.task)
      if (shown === null) return gone()
      const accepted: Accepted = started ??
        changed ?? { ok: true, plan: found.plan, name: found.name, version: shown.version, events: [] }
      const status = card.status === 'ready' ? 'queued' : 'running'
      return { status: 202, body: { status, task: shown.body, ...(await movedOf(call, accepted)) } }
    }),
})

/** Null when nothing stands in its way. Looked at before anything is ordered, so that a refusal changes nothing. */
async function notReady(call: Asking, { plan, task }: FoundTask): Promise<Problem | null> {
  const { engine } = call.rooms
  const [summary, board] = [await engine.ask({ type: 'summary', plan }), await engine.ask({ type: 'board', plan })]
  const card = board?.find(({ name }) => name === task)
  if (summary === null || board === null || board === undefined || card === undefined) return gone()
  const old = stale(call, summary, undefined)
  if (old !== null) return old
  const { name, status } = summary
  if (status !== 'draft' && status !== 'active' && status !== 'blocked')
    return problem(409, 'illegal-transition', `'${name}' is ${status}: no task of it can be run`, {
      hint:
        status === 'paused' ? `go on with it: POST /plans/${name}/resume` : `it has ended: POST /plans/${name}/clone`,
      allowed: status === 'paused' ? ['resume', 'cancel'] : ['clone'],
    })
  const missing = missingOf(card, board)
  if (missing.length > 0)
    return problem(409, 'not-ready', `'${task}' still needs ${missing.map(one => `'${one.task}'`).join(', ')}`, {
      hint: firstStep(name, missing[0]!, board),
      more: { missing },
    })
  if (ENDED.has(card.status))
    return problem(409, 'not-ready', `'${task}' is ${card.status} already`, {
      hint: `to try it again: POST /plans/${name}/tasks/${task}/retry`,
      allowed: ['retry'],
    })
  if (card.status === 'waiting')
    return problem(409, 'not-ready', `'${task}' waits for a decision`, {
      hint: `see what it asks: GET /plans/${name}/gates`,
    })
  if (card.claimedBy !== null && call.once === undefined)
    return problem(409, 'conflict', `'${task}' is claimed by ${card.claimedBy}`, {
      hint: 'wait until it is reported or lapses',
    })
  return null
}

interface Missing {
  readonly task: TaskName
  readonly status: TaskStatus
}

const missingOf = ({ needs }: Card, board: readonly Card[]): readonly Missing[] =>
  needs.flatMap(need => {
    const status = board.find(({ name }) => name === need)?.status ?? 'pending'
    return SATISFIES.has(status) ? [] : [{ task: need, status }]
  })

/** What can be done now: the need itself, or what that still needs; of what asks somebody, the answer. */
function firstStep(plan: string, missing: Missing, board: readonly Card[]): string {
  let first = missing
  for (let steps = 0; steps < board.length; steps++) {
    const card = board.find(({ name }) => name === first.task)
    const [below] = card === undefined ? [] : missingOf(card, board)
    if (below === undefined) break
    first = below
  }
  return first.status === 'waiting'
    ? `'${first.task}' waits for a decision; see what it asks: GET /plans/${plan}/gates`
    : `run what it needs first: POST /plans/${plan}/tasks/${encodeURIComponent(first.task)}/run`
}

async function startedIfDraft(call: Asking, { plan }: FoundTask): Promise<Accepted | Problem | null> {
  const summary = await call.rooms.engine.ask({ type: 'summary', plan })
  if (summary === null) return gone()
  return summary.status === 'draft' ? await startPlan(call, plan) : null
}

/** Null when it has them already. */
async function withInputs(
  call: Asking,
  { plan, task }: FoundTask,
  inputs: JsonObject,
): Promise<Accepted | Problem | null> {
  // What is given to run a task is data, whatever it looks like.
  const given = asLiteral(inputs) as JsonObject
  const record = await call.rooms.engine.ask({ type: 'records', plan, tasks: [task] })
  const known = record?.tasks[0]?.definition.inputs ?? {}
  const isSame = Object.entries(given).every(([key, value]) => JSON.stringify(known[key]) === JSON.stringify(value))
  if (isSame) return null
  const set = { inputs: { ...known, ...given } }
  return await orderAlso(
    call,
    plan,
    { type: 'change', task, set, rationale: `inputs of '${task}', given to run it` },
    'inputs',
  )
}
