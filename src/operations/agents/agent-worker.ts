// A coding agent that works the external tasks of a plan, so that they need not be claimed. The choice is stored as a revision, with the
// agent under `extra.worker`, so the plan file need not contain it.

import type { PlanId, TaskName } from '../../domain/id.ts'
import { type Json, mapOf } from '../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { agentRequest, isAgentName, mayWork } from '../../domain/plan-rules/agent-request.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { ENDED, PLAN_ENDED } from '../../domain/status.ts'
import type { SubmitOptions, Submitted } from '../../engine/engine.ts'
import type { CallerEngine } from '../run-plan.ts'

export interface AgentWorker {
  readonly agent: string
  /** `provider/name`; null: the agent's own. */
  readonly model: string | null
}

export function workerOf({ extra }: Pick<PlanDefinition, 'extra'>): AgentWorker | null {
  const { agent, model } = mapOf(extra?.worker)
  if (typeof agent !== 'string' || !isAgentName(agent)) return null
  return { agent, model: typeof model === 'string' ? model : null }
}

/** The plan with its external tasks turned into agent tasks: all that the agent may work, or only those named. */
export function withWorker(
  definition: PlanDefinition,
  worker: AgentWorker,
  only?: ReadonlySet<TaskName>,
): PlanDefinition {
  const { agent, model } = worker
  const tasks = mapExternal(definition.tasks, '', (task, name) =>
    (only?.has(name) ?? true) && mayWork(task, agent) ? { ...task, ...workOf(task, worker) } : task,
  )
  const chosen: Json = model === null ? { agent } : { agent, model }
  return { ...definition, tasks, extra: { ...definition.extra, worker: chosen } }
}

function workOf(task: TaskDefinition, { agent, model }: AgentWorker): Pick<TaskDefinition, 'action' | 'instruction'> {
  const { instruction, description, title, id } = task
  return {
    action: { type: 'agent', spec: model === null ? agent : { use: agent, model } },
    instruction: [instruction, description, title].find(text => text !== undefined && text.trim() !== '') ?? id,
  }
}

function mapExternal(
  tasks: readonly TaskDefinition[],
  prefix: string,
  change: (task: TaskDefinition, name: TaskName) => TaskDefinition,
): readonly TaskDefinition[] {
  return tasks.map(task => {
    const name = `${prefix}${task.id}` as TaskName
    if (task.action.type === 'external') return change(task, name)
    if (task.action.type !== 'subplan') return task
    return { ...task, action: { ...task.action, tasks: mapExternal(task.action.tasks, `${name}/`, change) } }
  })
}

/** Applies an earlier choice of agents to a document that does not mention it. */
export function keepWorker(before: PlanDefinition, after: PlanDefinition): PlanDefinition {
  const { worker } = before.extra ?? {}
  if (worker === undefined || workerOf(after) !== null) return after
  const known = new Map(allTasks(before).map(task => [task.id, task]))
  const tasks = mapExternal(after.tasks, '', (task, name) => {
    const was = known.get(name)
    if (was?.action.type !== 'agent') return task
    return { ...task, action: was.action, instruction: task.instruction ?? was.instruction ?? task.id }
  })
  return { ...after, tasks, extra: { ...after.extra, worker } }
}

const workedIn = (definition: PlanDefinition): readonly TaskName[] =>
  allTasks(definition).flatMap(({ id, action }) => (action.type === 'agent' ? [id] : []))

export async function openWork(engine: Pick<CallerEngine, 'ask'>, plan: PlanId): Promise<readonly TaskName[]> {
  const cards = (await engine.ask({ type: 'board', plan })) ?? []
  return cards
    .filter(({ action, status, claimedBy }) => action === 'external' && !ENDED.has(status) && claimedBy === null)
    .map(({ name }) => name)
}

export type Assigned =
  | {
      readonly ok: true
      readonly tasks: readonly TaskName[]
      readonly submitted: Extract<Submitted, { readonly ok: true }>
    }
  | { readonly ok: false; readonly refusal: Refusal }

/** Lets the agent work the open external tasks of a plan, or one of them. Claimed tasks stay with their claimants. */
export async function assignWorker(
  engine: CallerEngine,
  plan: PlanId,
  worker: AgentWorker,
  {
    task,
    finish = same => same,
    ...submit
  }: {
    readonly task?: TaskName | undefined
    /** Further changes of a draft that the agent works as a whole. */
    readonly finish?: (definition: PlanDefinition) => PlanDefinition
  } & SubmitOptions = {},
): Promise<Assigned> {
  const current = await engine.ask({ type: 'definition', plan })
  const summary = await engine.ask({ type: 'summary', plan })
  if (current === null || summary === null) return { ok: false, refusal: refuse('not-found', 'there is no such plan') }
  if (PLAN_ENDED.has(summary.status))
    return {
      ok: false,
      refusal: refuse(
        'illegal-transition',
        `the plan is ${summary.status}: nothing is left to do`,
        'clone it to do it again',
      ),
    }
  const open = new Set((await openWork(engine, plan)).filter(name => task === undefined || name === task))
  const changed = withWorker(current.definition, worker, open)
  const definition = summary.status === 'draft' && task === undefined ? finish(changed) : changed
  const worked = workedIn(definition).filter(name => open.has(name))
  if (worked.length === 0)
    return {
      ok: false,
      refusal: refuse(
        'invalid',
        task === undefined
          ? `no task of this plan waits for ${worker.agent}`
          : `'${task}' does not wait for ${worker.agent}`,
        'an agent can be given an external task that nobody has claimed, that is assigned to nobody else, and that does not deploy, push, delete or migrate',
      ),
    }
  const revised = await engine.submit(
    plan,
    {
      type: 'revise',
      definition,
      rationale: `${worker.agent} works ${task ?? 'the external tasks'}`,
      expectedRevision: current.revision,
    },
    submit,
  )
  return revised.ok ? { ok: true, tasks: worked, submitted: revised } : { ok: false, refusal: revised.refusal }
}

/** How many plans to search for the agent used last. */
const LOOKED_AT_MAX = 20

export type WorkerChoice =
  | { readonly status: 'chosen'; readonly agent: string; readonly why: 'named' | 'used before' | 'only one' }
  /** Several are installed, and none was used here before. */
  | { readonly status: 'several'; readonly agents: readonly string[] }
  | { readonly status: 'missing'; readonly agent: string | null }

/** The named one, else the one last used here, else the only one installed. */
export async function chooseWorker(
  engine: Pick<CallerEngine, 'ask'> | null,
  agents: readonly { readonly name: string; readonly status: string }[],
  named?: string,
): Promise<WorkerChoice> {
  const installed = agents.filter(({ status }) => status !== 'missing').map(({ name }) => name)
  if (named !== undefined)
    return installed.includes(named)
      ? { status: 'chosen', agent: named, why: 'named' }
      : { status: 'missing', agent: named }
  const used = engine === null ? null : await lastUsed(engine, installed)
  if (used !== null) return { status: 'chosen', agent: used, why: 'used before' }
  const [first] = installed
  if (first === undefined) return { status: 'missing', agent: null }
  return installed.length === 1
    ? { status: 'chosen', agent: first, why: 'only one' }
    : { status: 'several', agents: installed }
}

async function lastUsed(engine: Pick<CallerEngine, 'ask'>, installed: readonly string[]): Promise<string | null> {
  const { items } = await engine.ask({ type: 'plans', limit: LOOKED_AT_MAX })
  for (const { id } of items) {
    const found = await engine.ask({ type: 'definition', plan: id })
    if (found === null) continue
    const named = allTasks(found.definition).flatMap(({ action }) => agentRequest(action)?.use ?? [])
    const used = named.find(name => installed.includes(name))
    if (used !== undefined) return used
  }
  return null
}
