// A gateway in a process of its own, to be killed: says where it listens, and waits.

import { randomUUID } from 'node:crypto'
import { openModels } from '../open-models.ts'

const [stateDir = '', folder = '', keepAs = ''] = process.argv.slice(2)
const models = openModels({
  environment: process.env,
  outside: [],
  stateDir,
  clock: {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after: (ms, callback) => {
      const timer = setTimeout(callback, ms)
      return () => clearTimeout(timer)
    },
  },
  newId: randomUUID,
})
const opened = await models.openGateway({
  wires: ['anthropic'],
  use: 'anthropic/scripted',
  payer: 'plan/task/1',
  folder,
  keepAs,
  spending: { reserve: async () => ({ granted: true, id: 'x' }), settle: async () => {} },
})
if (!opened.ok) throw new Error(opened.failure.message)
const { socketPath, token } = opened.gateway
process.stdout.write(`${JSON.stringify({ socketPath, token })}\n`)
