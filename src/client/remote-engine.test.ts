// The client before a real service, held to the one contract of every Engine.

import { engineContract } from '../engine/engine.contract.ts'
import type { Engine } from '../engine/engine.ts'
import { served } from '../server/server.fixture.ts'
import { connect } from './client.ts'
import { byName } from './named.fixture.ts'

engineContract('the remote engine', async () => {
  const service = await served({ guard: byName() })
  const doors: Engine[] = []
  return {
    door: actor => {
      const engine = connect({ url: service.url, token: actor })
      doors.push(engine)
      return engine
    },
    local: service.composed.engine,
    worker: service.composed.worker,
    close: async () => {
      for (const door of doors) await door.close()
      await service.close()
    },
  }
})
