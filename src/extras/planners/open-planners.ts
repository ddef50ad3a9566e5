// The planners there are, by name, what they see of the workspace, and how an agent of the person drafts.

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { VERSION } from '../../cli/version.ts'
import { ABOUT, type Environment } from '../../composition/environment.ts'
import { whenAsked } from '../../composition/lazy-room.ts'
import { systemClock } from '../../engine/clock.ts'
import { type Caller, RIGHTS } from '../../engine/roles.ts'
import type { ModelRecording, Models } from '../../runners/models.ts'
import { bubblewrap } from '../../safety/sandbox/bubblewrap.ts'
import type { DraftWithAgent } from './agent-planner.ts'
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

/**
 * Drafting by an agent: it is started in a sandbox where it can only read, with the tools of a state folder of its own, in which the plan
 * it submits is found. Nothing of the person's plans is shown to it.
 */
export function agentDrafts(place: {
  readonly models: Models
  readonly environment: Environment
  readonly root: string
  readonly stateDir: string
}): DraftWithAgent {
  return async request => {
    const { draftWithAgent } = await import('../agents/draft-plan.ts')
    const { environment, root, models } = place
    return await draftWithAgent({
      ...{ ...place, ...request, version: VERSION, about: ABOUT },
      ...{ now: systemClock.now(), id: randomUUID(), monotonic: systemClock.monotonic },
      sandbox: bubblewrap({ environment, outside: [root] }),
      calls: () => models.calls(),
      openGateway: asked => models.openGateway(asked),
      openState: async folder => {
        const dir = join(folder, 'state')
        const { compose } = await import('../../compose.ts')
        const { engine, now, close } = await compose({ cwd: root, root, environment, dir, caller: draftsman })
        return {
          close,
          openPlanTools: async ({ agent, folder: at }) =>
            await (await import('../agents/plan-socket.ts')).openPlanSocket({
              ...{ engine, now, version: VERSION, plan: null, agent, folder: at },
              templates: join(folder, 'templates'),
            }),
          submitted: async () => {
            const [latest] = (await engine.ask({ type: 'plans', limit: 1 })).items
            const found = latest === undefined ? null : await engine.ask({ type: 'definition', plan: latest.id })
            return found?.definition ?? null
          },
        }
      },
    })
  }
}

const draftsman: Caller = { actor: 'planfold' as Caller['actor'], rights: RIGHTS.admin, scope: null }

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
