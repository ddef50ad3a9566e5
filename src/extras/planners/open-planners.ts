// The planners there are, by name, what they see of the workspace, and how an agent of the person drafts.

import { join } from 'node:path'
import type { Environment } from '../../composition/environment.ts'
import { whenAsked } from '../../composition/lazy-room.ts'
import { openExtra } from '../../extras.ts'
import type { DraftWithAgent } from '../../operations/agents/coding-agents.ts'
import type { ModelRecording, Models, ModelsPlace } from '../../runners/models.ts'
import type { Planner, PlanningModels, RepositoryView } from './planner.ts'

/**
 * The planners there are, by name. Each is loaded when it is asked. `look`: who looks at goal and repository before a model is asked,
 * when not this thread. `replay`: a model answers from this recording, and nothing is sent.
 */
export function openPlanners({
  models,
  stateDir,
  look,
  replay,
  draftWith,
}: {
  readonly models: Models
  readonly stateDir: string
  /** How the person's own agent is asked; absent where nobody starts one. */
  readonly draftWith?: DraftWithAgent
  readonly look?: Planner['propose']
  readonly replay?: ModelRecording
}): ReadonlyMap<string, Planner> {
  const replayed = replay === undefined ? {} : { replay }
  const drafting: PlanningModels = { open: request => models.open({ ...request, purpose: 'draft', ...replayed }) }
  const open: { readonly [name: string]: () => Promise<Planner> } = {
    heuristic: async () => (await import('./heuristic-planner.ts')).heuristicPlanner(),
    model: async () => (await import('./model-planner.ts')).modelPlanner(drafting, look),
    template: async () =>
      (await import('./template-planner.ts')).templatePlanner({ folder: join(stateDir, 'templates') }),
    agent: async () => (await import('./agent-planner.ts')).agentPlanner(draftWith ?? noAgents),
  }
  return new Map(
    Object.entries(open).map(([name, opened]) => [
      name,
      {
        name,
        propose: async request => await (await opened()).propose(request),
        split: async request => await (await opened()).split(request),
      },
    ]),
  )
}

const noAgents: DraftWithAgent = async () => ({
  ok: false,
  failure: {
    class: 'logic',
    code: 'planner:agent',
    retryable: false,
    message: 'agents are not started from here',
    hint: 'draft at the command line, with `--with AGENT`, or with another planner',
  },
})

/** For a person or agent who works in this folder. */
export function planningIn(
  { models, root, stateDir }: { readonly models: Models; readonly root: string; readonly stateDir: string },
  environment: Environment,
) {
  const place = { root, stateDir, environment }
  return {
    planners: openPlanners({ models, stateDir, draftWith: agentDrafts({ ...place, models }) }),
    repository: openRepository(place),
  }
}

/** Drafting by an agent of the person. */
function agentDrafts(place: ModelsPlace & { readonly models: Models }): DraftWithAgent {
  return async request => await (await openExtra('agents')).openDrafting(place)(request)
}

/** A workspace as planners see it; looked at when they ask. */
export function openRepository(place: {
  readonly root: string
  readonly stateDir: string
  readonly environment: Environment
}): RepositoryView {
  const { root, stateDir, environment } = place
  return whenAsked<RepositoryView>(async () =>
    (await import('./repository/repository-view.ts')).openRepositoryView({
      root,
      scratch: join(stateDir, 'scratch'),
      environment,
    }),
  )
}
