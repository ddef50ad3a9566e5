// How a request says who drafts its goal, and what the service asks of the extra that drafts.

import type { Json, JsonObject } from '../../domain/json.ts'
import type { EngineInProcess } from '../../engine/engine.ts'
import { draftingBudget } from '../../format/wire/budget.ts'
import type { DraftChoice, DraftedPlan, EarlierDraft } from '../../operations/agents/plan-drafts.ts'
import type { Git } from '../../workspace/git/git.ts'
import { invalidRequest, type Problem } from '../problem.ts'
import type { RouteRooms } from '../service.ts'

export interface Drafting {
  readonly engine: Pick<EngineInProcess, 'ask' | 'caller'>
  readonly rooms: Pick<
    RouteRooms,
    'now' | 'documents' | 'models' | 'agents' | 'root' | 'stateDir' | 'environment' | 'stopping'
  >
  /** Aborts when the request is cancelled; then no further request goes to a model. */
  readonly signal?: () => AbortSignal
}

export interface DraftingOnce extends Drafting {
  readonly engine: Pick<EngineInProcess, 'ask' | 'answered' | 'caller'>
  readonly once: string | undefined
}

export interface ServicePlanning {
  proposeFor(call: Drafting, goal: string, choice?: DraftChoice, earlier?: EarlierDraft): Promise<DraftedPlan | Problem>
  /** Like `proposeFor`, but a repeated idempotency key returns the first plan without another model call. */
  proposeOnce(
    call: DraftingOnce,
    asked: Json,
    goal: string,
    choice: DraftChoice & { readonly worker?: string },
  ): Promise<Pick<DraftedPlan, 'definition' | 'source'> | Problem>
  /** A drafting that the extra sent to this thread; input and output are its own. */
  proposeHere(input: object): Promise<unknown>
  /** Is there a repository that may be written, so that a plan can end with a commit? */
  mayCommit(
    place: Pick<RouteRooms, 'root' | 'stateDir' | 'environment'> & { readonly git: Pick<Git, 'mayWrite'> },
  ): Promise<boolean>
}

export const CHOICE_KEYS: readonly string[] = ['planner', 'model', 'template', 'budget', 'worker', 'look']

export function readChoice(body: unknown): ReadChoice | Problem {
  const { budget, look, ...rest } = body as JsonObject
  if (look !== undefined && typeof look !== 'boolean')
    return invalidRequest('body', [
      { path: 'look', message: 'is not true or false', hint: 'write true, or leave it out' },
    ])
  const named = Object.entries(rest).filter(([key]) => CHOICE_KEYS.includes(key))
  const faults = named
    .filter(([, value]) => typeof value !== 'string' || value === '' || value.length > NAME_MAX)
    .map(([path]) => ({ path, message: 'is not a name', hint: `write a name of at most ${NAME_MAX} characters` }))
  if (faults.length > 0) return invalidRequest('body', faults)
  const names = { ...(Object.fromEntries(named) as { [key: string]: string }), ...(look === undefined ? {} : { look }) }
  if (budget === undefined) return names as ReadChoice
  const read = draftingBudget.read({ budget })
  return read.ok ? ({ ...names, ...read.value } as ReadChoice) : invalidRequest('body', read.faults)
}

type ReadChoice =
  | Readonly<Record<string, string>>
  | (JsonObject & ({ readonly budget: Record<string, number> } | { readonly look: boolean }))

const NAME_MAX = 200
