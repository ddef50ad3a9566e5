// Drafting by an agent: it is started in a sandbox where it can only read, with the tools of a state folder of its own, in which the plan
// it submits is found. Nothing of the person's plans is shown to it.

import { join } from 'node:path'
import { VERSION } from '../../../cli/version.ts'
import { compose } from '../../../compose.ts'
import { ABOUT } from '../../../composition/environment.ts'
import { systemClock } from '../../../engine/clock.ts'
import { type Caller, RIGHTS } from '../../../engine/roles.ts'
import type { CodingAgents, DraftWithAgent } from '../../../operations/agents/coding-agents.ts'
import { bubblewrap } from '../../../safety/sandbox/bubblewrap.ts'
import { openPlanSocket } from '../plan-socket.ts'
import { draftWithAgent } from './draft-plan.ts'

type Place = Parameters<CodingAgents['openDrafting']>[0]

export const openDrafting =
  (place: Place, random: Random): DraftWithAgent =>
  async request => {
    const { environment, root, models } = place
    const { bytes } = random
    return await draftWithAgent({
      ...{ ...place, ...request, version: VERSION, about: ABOUT },
      ...{ now: systemClock.now(), id: random.id(), monotonic: systemClock.monotonic },
      sandbox: bubblewrap({ environment, outside: [root] }),
      calls: () => models.calls(),
      openGateway: asked => models.openGateway(asked),
      openState: async folder => {
        const dir = join(folder, 'state')
        const { engine, now, close } = await compose({ cwd: root, root, environment, dir, caller: draftsman })
        return {
          close,
          openPlanTools: async ({ agent, folder: at }) =>
            await openPlanSocket({
              ...{ engine, now, version: VERSION, plan: null, agent, folder: at, random: bytes },
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

interface Random {
  readonly id: () => string
  readonly bytes: (count: number) => Buffer
}

const draftsman: Caller = { actor: 'planfold' as Caller['actor'], rights: RIGHTS.admin, scope: null }
