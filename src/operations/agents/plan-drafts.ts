// What faces ask of the extra that drafts plans from goals, and what a caller may ask of it.

import { keyText } from '../../domain/budget/budget-text.ts'
import { CALLS_DEFAULT } from '../../domain/budget/visit-caps.ts'
import type { NotePlace } from '../../domain/event.ts'
import type { PlanId } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import type { PlanDefinition, PlanSource } from '../../domain/plan.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Caller } from '../../engine/roles.ts'
import type { CurrentPlan, PreparedRevision } from '../revise-plan.ts'
import type { CallerEngine } from '../run-plan.ts'

export interface Planning {
  /** Drafts the rest of a started plan again, with the planner behind `propose`. Writes nothing. */
  replanGoal<Problem = never>(
    engine: Pick<CallerEngine, 'ask'>,
    asked: { readonly plan: PlanId; readonly why: string; readonly choice: PlannerChoice },
    propose: (request: ReplanRequest) => Promise<DraftProposal | { readonly problem: Problem }>,
  ): Promise<Replanning<Problem>>
}

export interface PlannerChoice {
  readonly planner?: string | undefined
  readonly model?: string | undefined
  readonly template?: string | undefined
  readonly agent?: string | undefined
}

export interface DraftingBudget {
  readonly calls?: number
  readonly tokens?: number
  readonly usd?: number
}

export interface DraftChoice extends PlannerChoice {
  readonly budget?: DraftingBudget | undefined
  /** Run the project's commands in the sandbox first, to see what fails today. */
  readonly look?: boolean | undefined
}

export interface PlanComment {
  readonly task: string | null
  readonly text: string
  readonly place?: NotePlace
}

export interface PlanProgress {
  /** Finished or in progress: unchanged. */
  readonly kept: readonly {
    readonly task: string
    readonly title: string
    readonly status: string
    readonly outputs: Json
  }[]
  readonly failed: readonly { readonly task: string; readonly title: string; readonly reason: string }[]
}

/** What a draft is made from besides its goal, when the goal was drafted before. */
export interface EarlierDraft {
  /** On an earlier draft. The planner follows them where it can and reports the others. */
  readonly comments?: readonly PlanComment[]
  readonly draft?: PlanDefinition
  /** Set when the rest of a running plan is drafted again. */
  readonly progress?: PlanProgress | undefined
}

export interface RedraftRequest {
  readonly goal: string
  /** All comments so far, because the draft is made from the start. */
  readonly comments: readonly PlanComment[]
  readonly draft: PlanDefinition
  readonly choice: PlannerChoice
}

export interface ReplanRequest extends RedraftRequest {
  readonly progress: PlanProgress
}

export interface DraftProposal {
  readonly planner: string
  readonly definition: PlanDefinition
  /** Comments that could not be followed, with the reason. */
  readonly unfollowed: readonly { readonly comment: PlanComment; readonly why: string }[]
}

/** A draft that passed all checks, ready to be made a plan. */
export interface DraftedPlan {
  readonly proposal: DraftProposal
  readonly definition: PlanDefinition
  readonly source: PlanSource | undefined
}

export interface Replanned {
  readonly current: CurrentPlan
  readonly revision: PreparedRevision
  readonly rationale: string
  readonly unfollowed: DraftProposal['unfollowed']
}

export type Replanning<Problem = never> =
  | { readonly status: 'drafted'; readonly replanned: Replanned }
  | { readonly status: 'refused'; readonly refusal: Refusal }
  | { readonly status: 'failed'; readonly problem: Problem }

export const refuseLook = ({ actor, rights }: Pick<Caller, 'actor' | 'rights'>): Refusal | null =>
  rights.has('operate')
    ? null
    : refuse('not-allowed', `${actor} may not run commands here; nothing was run`, 'leave out `look`')

const KEYS = [
  ['calls', 'calls'],
  ['tokens', 'tokens'],
  ['usd', 'cost'],
] as const

/** Anyone may set less than the default limits; more needs the right to decide, so that an agent cannot raise its own budget. */
export function refuseBudget(
  { actor, rights }: Pick<Caller, 'actor' | 'rights'>,
  budget: DraftingBudget,
): Refusal | null {
  if (rights.has('decide')) return null
  const over = KEYS.find(([key, of]) => (budget[key] ?? 0) > CALLS_DEFAULT[of])
  if (over === undefined) return null
  const [key, of] = over
  return refuse(
    'not-allowed',
    `${actor} may not allow a budget for drafting of ${keyText(of, budget[key] ?? 0)}, only ${keyText(of, CALLS_DEFAULT[of])}; nothing was sent`,
    'ask for less, or let a person with the right to decide draft it',
  )
}
