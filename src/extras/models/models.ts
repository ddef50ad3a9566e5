// The door of the models: language models within the caps of the policy, and none where nothing may leave the machine; and the runner of
// `model` tasks.

import { randomUUID } from 'node:crypto'
import { systemClock } from '../../engine/clock.ts'
import type { Models, ModelsPlace } from '../../runners/models.ts'
import { modelCaps, refusesModels } from '../../safety/policy/policy-files.ts'
import { openModels } from './open-models.ts'

export { modelRunner } from './model-runner.ts'

export function modelsAt(place: ModelsPlace): Models {
  const models = openModels({
    environment: place.environment,
    stateDir: place.stateDir,
    outside: [
      { folder: place.root, is: 'the workspace' },
      { folder: place.stateDir, is: 'the state folder' },
    ],
    clock: systemClock,
    newId: randomUUID,
  })
  // Where nothing may leave the machine, nothing is asked; a recording is not sent anywhere.
  const refused = async (replay: unknown) => (replay === undefined ? await refusesModels(place) : null)
  return {
    ...models,
    async open(request) {
      const failure = await refused(request.replay)
      if (failure !== null) return { ok: false, failure }
      if (request.budget !== undefined || request.replay !== undefined) return await models.open(request)
      const most = await modelCaps(place)
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
