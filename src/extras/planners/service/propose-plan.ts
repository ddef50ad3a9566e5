// Proposes a plan for the goal in a request, based on the workspace and earlier plans. The planner without a model runs in a
// worker thread. A model planner runs here, because its limits apply to the whole process; its first look at the repository still
// runs in a thread (`threadLook`).

import { join } from 'node:path'
import type { Json, JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { withWorker } from '../../../operations/agents/agent-worker.ts'
import {
  type DraftChoice,
  type EarlierDraft,
  refuseBudget,
  refuseLook,
} from '../../../operations/agents/plan-drafts.ts'
import { findWorker } from '../../../operations/agents/worker-request.ts'
import type { Drafting, DraftingOnce } from '../../../server/plans/draft-request.ts'
import { invalidRequest, isProblem, type Problem, problem, refused } from '../../../server/problem.ts'
import type { RouteRooms } from '../../../server/service.ts'
import { choosePlanner, HEURISTIC } from '../goals/choose-planner.ts'
import { earlierPlans, type ProposedPlan, proposedPlan } from '../goals/plan-goal.ts'
import { heuristicPlanner } from '../heuristic-planner.ts'
import { openPlanners } from '../open-planners.ts'
import {
  type GoalAnalysis,
  type PastPlan,
  type Planner,
  PlanningFailure,
  type PlanRequest,
  type Wish,
} from '../planner.ts'
import { openRepositoryView } from '../repository/repository-view.ts'

export async function proposeFor(
  call: Drafting,
  goal: string,
  choice: DraftChoice = {},
  earlier: EarlierDraft = {},
): Promise<ProposedPlan | Problem> {
  const planner = plannerFor(call, choice)
  if (isProblem(planner)) return planner
  if (choice.look === true) {
    const refusal = refuseLook(call.engine.caller)
    if (refusal !== null) return refused(refusal)
    if (planner.name === 'template') return invalidRequest('body', [NOT_LOOKED])
  }
  const seen = choice.look === true ? await unlessFailed(async () => await lookInTurn(call, planner)) : {}
  if (isProblem(seen)) return seen
  const before = await earlierPlans(call.engine)
  const { past } = before
  const { comments = [] } = earlier
  if (planner.name === HEURISTIC) return await proposeInThread(call, { goal, past, comments, looked: seen.looked })
  const rooms = { planner, repository: openRepositoryView(placeOf(call)), ...before }
  const choices = { ...using(call, choice), ...earlier, ...seen }
  return await unlessFailed(async () => await proposedPlan(rooms, goal, choices))
}

const NOT_LOOKED = {
  path: 'look',
  message: "is not used by the planner 'template'",
  hint: 'leave it out, or leave out the planner',
}

let lastRun: Promise<unknown> = Promise.resolve()

/** Sequential: each may use the whole machine. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const working = lastRun.then(work, work)
  lastRun = working.catch(() => {})
  return await working
}

async function lookInTurn(
  { rooms, signal }: Drafting,
  { name }: Planner,
): Promise<Pick<PlanRequest, 'looked' | 'runCheck'>> {
  const { checksOnCopy, LOOK_MS, lookFirst } = await import('../goals/look-first.ts')
  const { stopping, now } = rooms
  const folder = placeOf({ rooms })
  const place = { ...folder, stateDir: rooms.stateDir, now, repository: openRepositoryView(folder) }
  const options = {
    maxMs: LOOK_MS.plan,
    signal: signal === undefined ? stopping : AbortSignal.any([signal(), stopping]),
  }
  const looked = await inTurn(async () => await lookFirst(place, options))
  if (name !== 'model') return { looked }
  const runCheck = await checksOnCopy(place, options)
  return { looked, runCheck: async script => await inTurn(async () => await runCheck(script)) }
}

export interface Drafted extends Pick<ProposedPlan, 'definition' | 'source'> {
  readonly planner: string
  readonly rationale: string
  readonly assumptions: readonly string[]
  readonly analysis?: GoalAnalysis
}

/** Like `proposeFor`, but if a model is asked, a repeated idempotency key returns the first plan without another call. */
export async function proposeOnce(
  call: DraftingOnce,
  asked: Json,
  goal: string,
  { worker: agent, ...choice }: DraftChoice & { readonly worker?: string },
): Promise<Drafted | Problem> {
  const found = agent === undefined ? null : findWorker(await call.rooms.agents(), { agent })
  if (found?.ok === false) return refused(found.refusal)
  const isCostly = choice.model !== undefined || choice.planner === 'model'
  const before = isCostly && call.once !== undefined ? await call.engine.answered(call.once, asked) : null
  if (before !== null && !before.ok) return refused(before.refusal)
  const made = before === null ? null : await call.engine.ask({ type: 'definition', plan: before.plan, revision: 1 })
  if (made !== null) return { definition: made.definition, source: undefined, ...toldBy(made.definition) }
  const proposed = await proposeFor(call, goal, choice)
  if (isProblem(proposed)) return proposed
  const { definition, source, proposal } = proposed
  const { planner, rationale, assumptions, analysis } = proposal
  const reasons = { planner, rationale, assumptions, analysis }
  // The draft's text does not contain the agent.
  if (found !== null) return { definition: withWorker(definition, found.worker), source: undefined, ...reasons }
  return { definition, source, ...reasons }
}

function toldBy({ extra = {} }: PlanDefinition): Pick<Drafted, 'planner' | 'rationale' | 'assumptions'> {
  const { planner, rationale, assumptions } = (extra.planning ?? {}) as JsonObject
  return {
    planner: String(planner ?? ''),
    rationale: String(rationale ?? ''),
    assumptions: Array.isArray(assumptions) ? assumptions.map(String) : [],
  }
}

export async function splitFor(
  call: Drafting,
  goal: string,
  choice: DraftChoice = {},
): Promise<readonly Wish[] | Problem> {
  const planner = plannerFor(call, choice)
  if (isProblem(planner)) return planner
  const repository = openRepositoryView(placeOf(call))
  return await unlessFailed(async () => await planner.split({ goal, repository, ...using(call, choice) }))
}

/** The first look of a model planner at goal and repository. */
const threadLook =
  ({ rooms }: Drafting): Planner['propose'] =>
  async ({ goal, looked }) => {
    const proposed = await proposeInThread({ rooms }, { goal, past: [], looked })
    if (!isProblem(proposed)) return proposed.proposal
    const { detail, hint, status } = proposed.problem
    throw new PlanningFailure({
      class: 'resource',
      code: status === 503 ? 'busy' : 'too-large',
      retryable: status === 503,
      message: detail,
      ...(hint === undefined ? {} : { hint }),
    })
  }

type ThreadRequest = Pick<PlanRequest, 'goal' | 'comments' | 'looked'> & { readonly past: readonly PastPlan[] }

const proposeInThread = async (
  call: Pick<Drafting, 'rooms'>,
  request: ThreadRequest,
): Promise<ProposedPlan | Problem> =>
  (await call.rooms.documents.propose({ ...request, ...placeOf(call) })) as ProposedPlan | Problem

/** What `proposeInThread` sent, in its thread. */
export async function proposeHere(input: object): Promise<ProposedPlan> {
  const { goal, past, comments = [], looked, ...place } = input as ThreadRequest & ReturnType<typeof placeOf>
  const rooms = { planner: heuristicPlanner(), repository: openRepositoryView(place), past }
  return await proposedPlan(rooms, goal, { comments, looked })
}

const placeOf = ({ rooms }: { readonly rooms: Pick<RouteRooms, 'root' | 'stateDir' | 'environment'> }) => ({
  root: rooms.root,
  scratch: join(rooms.stateDir, 'scratch'),
  environment: rooms.environment,
})

function using({ signal, rooms }: Drafting, { model, template, budget }: DraftChoice) {
  const { stopping } = rooms
  return {
    ...(model === undefined ? {} : { model }),
    ...(template === undefined ? {} : { template }),
    ...(budget === undefined ? {} : { budget }),
    signal: signal === undefined ? stopping : AbortSignal.any([signal(), stopping]),
  }
}

function plannerFor(call: Drafting, choice: DraftChoice): Planner | Problem {
  const refusal = choice.budget === undefined ? null : refuseBudget(call.engine.caller, choice.budget)
  if (refusal !== null) return refused(refusal)
  const { models, stateDir } = call.rooms
  const chosen = choosePlanner(openPlanners({ models, stateDir, look: threadLook(call) }), choice)
  switch (chosen.status) {
    case 'chosen':
      return chosen.planner
    case 'unknown':
      return invalidRequest('body', [
        {
          path: 'planner',
          message: `there is no planner '${chosen.name.slice(0, 100)}'`,
          hint: `use one of: ${chosen.names.join(', ')}`,
        },
      ])
    case 'mixed':
      return invalidRequest('body', [
        {
          path: chosen.unused,
          message: `is not used by the planner '${chosen.name}'`,
          hint: `leave it out, or name the planner '${chosen.unused}'`,
        },
      ])
    default:
      return chosen satisfies never
  }
}

async function unlessFailed<T>(work: () => Promise<T>): Promise<T | Problem> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PlanningFailure) return failed(error)
    throw error
  }
}

/** Errors the client can fix. All others come from the model: retry or give up. */
const STATUS: { readonly [code: string]: number } = {
  'model:settings': 422,
  'model:cap': 422,
  'template:unknown': 422,
  'template:missing': 422,
  'template:unusable': 422,
  'too-large': 413,
  'planner:agent': 501,
}

function failed({ failure }: PlanningFailure): Problem {
  const { code = 'planning', message, hint, retryable, retryAfterMs } = failure
  const status = STATUS[code] ?? (retryable || code === 'model:cancelled' ? 503 : 502)
  return problem(status, code.replaceAll(':', '-'), message, {
    hint,
    ...(retryAfterMs === undefined ? {} : { headers: { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) } }),
  })
}
