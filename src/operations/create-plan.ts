// Creates a plan from a definition or from another plan, and optionally starts it.

import type { PlanId, PlanName } from '../domain/id.ts'
import { defined } from '../domain/json.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Order, SubmitOptions, Submitted } from '../engine/engine.ts'
import type { CallerEngine } from './run-plan.ts'
import { type PlanStart, type StartOptions, startPlan } from './start-plan.ts'

type Create = Extract<Order, { readonly type: 'create' }>
type Accepted = Extract<Submitted, { readonly ok: true }>

export type PlanMade =
  | { readonly status: 'refused'; readonly refusal: Refusal }
  /** `started` is null if it should not be started, or was started before. */
  | { readonly status: 'made'; readonly made: Accepted; readonly started: PlanStart | null }

/** `start` says how it is started; without it, it stays a draft. */
export async function createPlan(
  engine: CallerEngine,
  create: Create,
  { start, submit = {} }: { readonly start?: StartOptions | undefined; readonly submit?: SubmitOptions } = {},
): Promise<PlanMade> {
  const made = await engine.submit(null, create, submit)
  if (!made.ok) return { status: 'refused', refusal: made.refusal }
  if (start === undefined) return { status: 'made', made, started: null }
  // After a repeated request the plan may be started already; or not, if the first answer was lost.
  const isDraft = made.replayed !== true || (await engine.ask({ type: 'summary', plan: made.plan }))?.status === 'draft'
  return { status: 'made', made, started: isDraft ? await startPlan(engine, made.plan, start) : null }
}

export interface CloneChanges {
  readonly name?: PlanName | undefined
  readonly goal?: string | undefined
  readonly session?: string | undefined
}

/** The order for a draft of the same definition, linked to its origin. Null if there is no such plan. */
export async function cloneOrder(
  engine: Pick<CallerEngine, 'ask'>,
  plan: PlanId,
  { name, goal, session: wanted }: CloneChanges,
): Promise<Create | null> {
  const current = await engine.ask({ type: 'definition', plan })
  const summary = await engine.ask({ type: 'summary', plan })
  if (current === null || summary === null) return null
  const session = wanted ?? summary.session
  return {
    type: 'create',
    definition: {
      ...current.definition,
      ...defined({ name, goal }),
    },
    origin: plan,
    taken: 'number',
    ...(session === null ? {} : { session }),
    ...(summary.goalId === null ? {} : { goal: summary.goalId }),
    ...(summary.agent === null ? {} : { agent: summary.agent }),
  }
}
