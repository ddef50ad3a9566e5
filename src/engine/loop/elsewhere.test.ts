import { expect, test } from 'vitest'
import type { PlanName } from '../../domain/id.ts'
import type { PlanWorkspace, Shared } from '../../stores/store.ts'
import { name, setup } from '../rooms.fixture.ts'
import type { Rooms } from '../rooms.ts'
import { WorkerLocal } from './worker.ts'

const TASK = { id: name('a'), action: { type: 'run', command: { argv: ['true'] } } } as const

async function driven(
  definition: { readonly place?: readonly string[]; readonly secrets?: readonly string[] },
  here: { readonly labels?: readonly string[]; readonly workspace?: PlanWorkspace } = {},
) {
  const room = setup()
  const { secrets, ...rest } = definition
  const task = secrets === undefined ? TASK : { ...TASK, secrets }
  const plan = await room.define({ name: 'p' as PlanName, tasks: [task], ...rest })
  const shared: Partial<Shared> = { workspaceOf: async () => here.workspace ?? { here: true, host: 'one', root: '/' } }
  const store = Object.assign(room.rooms.store, here.workspace === undefined && secrets === undefined ? {} : { shared })
  const rooms: Rooms = { ...room.rooms, store, labels: new Set(here.labels ?? ['linux']) }
  const worker = new WorkerLocal(rooms)
  try {
    return await worker.drive(plan, { stop: new AbortController().signal })
  } finally {
    await worker.close()
  }
}

test('a plan is driven where its labels are, and elsewhere it is said what it wants', async () => {
  expect(await driven({ place: ['linux', 'gpu'] }, { labels: ['linux', 'gpu'] })).toMatchObject({ status: 'rested' })
  expect(await driven({ place: ['linux', 'gpu', 'big'] })).toEqual({
    status: 'elsewhere',
    reason: 'it wants a worker with the labels gpu, big',
    labels: ['gpu', 'big'],
  })
})

test('a plan whose files are not here is left to a worker that has them', async () => {
  const workspace = { here: false, host: 'build-1', root: '/srv/shop' }
  expect(await driven({}, { workspace })).toMatchObject({
    status: 'elsewhere',
    reason: 'its files are in /srv/shop on build-1, not here',
  })
})

test('among several workers, one that has no source of a secret leaves the plan to another', async () => {
  expect(await driven({ secrets: ['DEPLOY_KEY'] })).toEqual({
    status: 'elsewhere',
    reason: "it wants the secret 'DEPLOY_KEY', which is not configured here",
    labels: [],
    secret: 'DEPLOY_KEY',
  })
})
