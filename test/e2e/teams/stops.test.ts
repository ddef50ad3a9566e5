// PostgreSQL stops at once, as if its power was cut, again and again: services and workers go on when it is back.

import { afterAll, expect, test } from 'vitest'
import { startServer } from '../../../src/stores/postgres/postgres.fixture.ts'
import { ALL, chooser, team, wait } from './team.fixture.ts'
import { expectDone, give } from './work.fixture.ts'

const SEED = 43
const WORK = ALL ? { plans: 100, atOnce: 12, secondsEach: 0.6 } : { plans: 3, atOnce: 3, secondsEach: 0.2 }
const STOPS_MIN = ALL ? 40 : 2
const PAUSE_MS: readonly [number, number] = ALL ? [200, 1_800] : [200, 500]

const isOurs = process.env.PLANFOLD_TEST_DATABASE === undefined
const server = isOurs && ALL ? await startServer({ own: true }) : null
if (server === null) console.log('PostgreSQL is not stopped here: npm run teams -- stops, with a server of its own')
afterAll(() => server?.stop())

test.skipIf(server === null)('plans go on after each stop of PostgreSQL, and nothing is done twice', async () => {
  const its = await team(server!)
  const { client, ...service } = await its.service()
  const workers = await Promise.all(Array.from({ length: ALL ? 3 : 1 }, () => its.worker('--concurrency', '8')))
  const choice = chooser(SEED)
  let stops = 0
  let done = 0
  const stopping = (async () => {
    while (done === 0 || stops < STOPS_MIN) {
      await wait(choice.between(...PAUSE_MS))
      await server!.cutPower()
      stops++
    }
  })()
  // As many as it takes until it has stopped often enough.
  for (; done === 0 || stops < STOPS_MIN; done += WORK.plans) await give(its, () => client, { ...WORK, first: done })
  await stopping
  expect(workers.map(({ said }) => said()).filter(said => said.includes('bug:'))).toEqual([])
  const { events, again } = await expectDone(its, client, { ...WORK, plans: done })
  console.log(`${stops} stops, ${done} plans, ${events} events, ${again} attempts again`)
  const ended = await Promise.race(
    [...workers, service].map(({ ended }) => ended).concat(wait(0).then(() => null as never)),
  )
  expect(ended).toBeNull()
})
