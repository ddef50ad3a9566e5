// The context of tool calls: the engine in the calling agent's name, and how a named or unnamed plan is found.

import type { Hint } from '../domain/hint.ts'
import type { PlanId, TaskName } from '../domain/id.ts'
import { haltedBy, reasonBesides } from '../domain/phrases.ts'
import type { Field, PlanDefinition } from '../domain/plan.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Summary } from '../domain/views/summary.ts'
import type { EngineInProcess, Submitted } from '../engine/engine.ts'
import { claimedTasks } from '../operations/agents/claimed-tasks.ts'
import type { DraftChoice, DraftedPlan, EarlierDraft } from '../operations/agents/plan-drafts.ts'
import type { StartableAgent } from '../operations/agents/worker-request.ts'
import {
  type Lookup,
  lookUpPlan,
  lookUpTask,
  type Missing,
  openPlans,
  openTasksNamed,
  type PlanTarget,
  suggestTargets,
  type TaskTarget,
} from '../operations/find-target.ts'
import { clean } from './plan-text.ts'

/** Proposes a plan for a goal, or says why there is none. */
export type Propose = (
  goal: string,
  choice?: DraftChoice,
  earlier?: EarlierDraft,
) => Promise<DraftedPlan | { readonly problem: { readonly detail: string; readonly hint?: string } }>

export type Around = (
  definition: PlanDefinition,
) => Promise<
  readonly { readonly severity: 'error' | 'warning'; readonly message: string; readonly hint?: Hint | undefined }[]
>

export interface Room {
  readonly engine: EngineInProcess
  readonly now: () => number
  readonly templates: string
  readonly propose: Propose
  readonly around?: Around
  /** Agents that can be chosen to work a plan; absent if the caller may not choose. */
  readonly agents?: () => Promise<readonly StartableAgent[]>
}

export interface Written {
  readonly plan: PlanId | null
  readonly lines: readonly string[]
  readonly question?: { readonly id: string; readonly text: string; readonly form: readonly Field[] }
}

export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly plan: PlanId | null

  constructor(message: string, plan: PlanId | null = null) {
    super(message)
    this.plan = plan
  }
}

/** No plan was named and several are possible: a read answers with their list. */
export class PlanNotNamed extends ToolError {}

/** A refusal of the engine, worded when the answer is rendered. */
export class Refused extends Error {
  readonly refusal: Refusal
  readonly plan: PlanId | null

  constructor(refusal: Refusal, plan: PlanId | null = null) {
    super(refusal.message)
    this.refusal = refusal
    this.plan = plan
  }
}

export function accepted(done: Submitted, plan: PlanId | null): Accepted {
  if (!done.ok) throw new Refused(done.refusal, plan)
  return done
}

export type Accepted = Extract<Submitted, { readonly ok: true }>

export async function findPlan({ engine }: Room, reference: string | undefined): Promise<PlanTarget> {
  return await found(engine, await lookUpPlan(engine, reference, { looking: true }))
}

export async function findPlanInHand(room: Room, reference: string | undefined): Promise<PlanTarget> {
  const { engine } = room
  const looked = await lookUpPlan(engine, reference, { looking: true })
  if (looked.ok || looked.missing.what !== 'only-plan' || looked.missing.plans.length < 2)
    return await found(engine, looked)
  const claimedPlans = new Set((await claimedTasks(engine, [engine.caller.actor])).map(({ plan }) => plan))
  const [only] = claimedPlans
  return only !== undefined && claimedPlans.size === 1 ? await findPlan(room, only) : await found(engine, looked)
}

export async function findTask(room: Room, plan: string | undefined, task: string | undefined): Promise<TaskTarget> {
  if (task === undefined) throw new ToolError('error: `task` is missing\nhint: name the task by its id')
  const within = await findPlan(room, plan)
  return await found(room.engine, await lookUpTask(room.engine, task, within.plan))
}

/** Finds the task in the open plans; if several have it, the one in which the caller has claimed it. */
export async function findOpenTask(room: Room, task: string): Promise<TaskTarget> {
  const { engine } = room
  const targets = await openTasksNamed(engine, task)
  const [only] = targets
  if (only !== undefined && targets.length === 1) return only
  if (only === undefined && (await openPlans(engine)).length > 1)
    throw new ToolError(
      `error: no open plan has a task '${clean(task)}'; nothing was done\nhint: see plan_read {"what":"list"} and plan_read {"what":"plan","plan":"…"}`,
    )
  if (only === undefined) return await findTask(room, undefined, task)
  const mine = await claimedTasks(engine, [engine.caller.actor])
  const claimed = targets.filter(target => mine.some(one => one.plan === target.plan && one.task === target.task))
  if (claimed[0] !== undefined && claimed.length === 1) return claimed[0]
  const names = targets.slice(0, NAMED_MAX).map(({ name }) => `"plan":"${clean(name)}"`)
  throw new ToolError(
    `error: several plans have a task '${clean(task)}'; nothing was done\nhint: say which plan you mean: ${names.join(' or ')}`,
  )
}

async function found<T>(engine: EngineInProcess, lookup: Lookup<T>): Promise<T> {
  if (lookup.ok) return lookup.target
  if (lookup.missing.what === 'only-plan') throw new PlanNotNamed(unnamedText(lookup.missing.plans))
  const { near, removedBy } = await suggestTargets(engine, lookup.missing)
  const hint =
    near === null
      ? removedBy === null
        ? lookup.missing.what === 'task'
          ? 'see plan_read {"what":"plan"}'
          : 'see plan_read {"what":"list"}'
        : `revision ${removedBy} removed it`
      : `did you mean '${clean(near)}'?`
  throw new ToolError(`error: ${missingText(lookup.missing)}\nhint: ${hint}`)
}

function unnamedText(plans: readonly { readonly name: string }[]): string {
  if (plans.length === 0)
    return 'error: no plan is unfinished\nhint: name the plan that you mean, see plan_read {"what":"list"}, or make one with plan_write {"action":"create"}'
  const names = plans.slice(0, NAMED_MAX).map(({ name }) => clean(name))
  return `error: several plans may be meant: name the plan\nhint: one of ${names.join(', ')}${plans.length > NAMED_MAX ? ', …' : ''}`
}

const NAMED_MAX = 20

function missingText(missing: Missing): string {
  switch (missing.what) {
    case 'plan':
      return `there is no plan '${clean(missing.reference)}'`
    case 'task':
      return `there is no task '${clean(missing.reference)}'`
    case 'task-name':
      return 'name a task'
    default:
      return 'name the plan'
  }
}

/** The named task, else the only one the caller has claimed. */
export async function findTaskInHand(room: Room, plan: PlanId, task: string | undefined): Promise<TaskTarget> {
  if (task !== undefined) return await findTask(room, plan, task)
  const claimed = await claimedTasks(room.engine, [room.engine.caller.actor], plan)
  if (claimed.length < 2) return await findTask(room, plan, claimed[0]?.task)
  const names = claimed.map(one => `"task":"${clean(one.task)}"`)
  throw new ToolError(
    `error: you have claimed ${claimed.length} tasks; nothing was done\nhint: say which one: ${names.join(' or ')}`,
  )
}

export async function claimedAmong(
  { engine }: Room,
  plan: PlanId,
  running: readonly TaskName[],
): Promise<readonly TaskName[]> {
  if (running.length === 0) return []
  const found = await engine.ask({ type: 'records', plan, tasks: running })
  const { actor } = engine.caller
  return (found?.tasks ?? []).flatMap(({ card }) => (card.claimedBy === actor ? [card.name] : []))
}

/** Why no work may start now, in one line: halted or paused. Null if it may. */
export async function whyStopped(
  { engine }: Room,
  { name, status, reason }: Pick<Summary, 'name' | 'status' | 'reason'>,
): Promise<string | null> {
  const halt = await engine.killSwitch.halted()
  if (halt !== null) return `Stop working: everything was ${clean(haltedBy(halt))}. A person lifts it.`
  if (status !== 'paused') return null
  const why = reasonBesides(status, reason)
  return `${clean(name)} is paused${why === '' ? '' : ` (${clean(why)})`}: nothing can be claimed until it is resumed.`
}
