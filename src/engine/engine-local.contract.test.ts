// The Engine of this process, held to the one contract.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compose } from '../compose.ts'
import type { Actor } from '../domain/id.ts'
import { engineContract } from './engine.contract.ts'
import { trusted } from './roles.ts'

engineContract('the local engine', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-engine-'))
  const { engine, worker, close } = await compose({
    cwd: folder,
    environment: { PATH: process.env.PATH, HOME: folder },
    dir: join(folder, '.planfold'),
    caller: trusted('owner'),
  })
  return {
    door: actor => engine.as(actor as Actor),
    local: engine,
    worker,
    close: async () => {
      await close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
})
