// Language models as the rest of the program gets them: within the caps of the policy, and none where nothing may leave the machine.

import { randomUUID } from 'node:crypto'
import type { Environment } from '../../composition/environment.ts'
import { whenAsked } from '../../composition/lazy-room.ts'
import { systemClock } from '../../engine/clock.ts'
import type { Models } from '../../runners/models.ts'

/** Language models; needs no store, and reads the user's settings when it is asked first. */
export function modelsAt(place: {
  readonly environment: Environment
  readonly root: string
  readonly stateDir: string
}): Models {
  const models = whenAsked<Models>(async () =>
    (await import('./open-models.ts')).openModels({
      environment: place.environment,
      stateDir: place.stateDir,
      outside: [
        { folder: place.root, is: 'the workspace' },
        { folder: place.stateDir, is: 'the state folder' },
      ],
      clock: systemClock,
      newId: randomUUID,
    }),
  )
  // Where nothing may leave the machine, nothing is asked; a recording is not sent anywhere.
  const refused = async (replay: unknown) =>
    replay === undefined ? await (await import('../../safety/policy/policy-files.ts')).refusesModels(place) : null
  return {
    list: besides => models.list(besides),
    calls: () => models.calls(),
    async open(request) {
      const failure = await refused(request.replay)
      if (failure !== null) return { ok: false, failure }
      if (request.budget !== undefined || request.replay !== undefined) return await models.open(request)
      const most = await (await import('../../safety/policy/policy-files.ts')).modelCaps(place)
      const caps = { ...request.caps }
      for (const key of ['calls', 'tokens', 'usd'] as const)
        if (most[key] !== undefined) caps[key] = Math.min(most[key], caps[key] ?? most[key])
      return await models.open({ ...request, caps })
    },
    async openGateway(request) {
      const failure = await refused(request.recorded?.else === 'refuse' ? request.recorded : undefined)
      return failure === null ? await models.openGateway(request) : { ok: false, failure }
    },
  }
}
