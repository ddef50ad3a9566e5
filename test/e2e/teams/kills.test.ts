// Workers are killed while they drive plans: others take over, nearly all within a second, and nothing is done twice.

import { afterAll, expect, test } from 'vitest'
import { startServer } from '../../../src/stores/postgres/postgres.fixture.ts'
import { ALL, chooser, type Member, quantile, team, wait } from './team.fixture.ts'
import { expectDone, give } from './work.fixture.ts'

const SEED = 41
const WORKERS = 3
const WORK = ALL ? { plans: 100, atOnce: 8, secondsEach: 0.6 } : { plans: 6, atOnce: 3, secondsEach: 0.2 }
const PAUSE_MS: readonly [number, number] = ALL ? [1_500, 4_000] : [300, 600]
const KILLS_MAX = ALL ? Number.POSITIVE_INFINITY : 2
const TAKEOVER_MS = 1_000

const server = ALL ? await startServer() : null
if (!ALL) console.log('no worker is killed here: npm run teams -- kills')
afterAll(() => server?.stop())

const DRIVEN = `FROM planfold.heads h JOIN planfold.owners o ON o.id = h.owner JOIN planfold.plans p ON p.plan_no = h.plan_no
  WHERE p.status = 'active'`

/** A plan that a dead worker drove. */
interface Orphan {
  readonly plan: string
  readonly fence: number
  readonly killedAt: number
}

test.skipIf(server === null)('plans of killed workers go on with others, and nothing is done twice', async () => {
  const its = await team(server!)
  const { client } = await its.service('--no-drive')
  const start = () => its.worker('--concurrency', '12')
  const workers: Member[] = await Promise.all(Array.from({ length: ALL ? WORKERS : 2 }, start))
  const choice = chooser(SEED)
  const orphans: Orphan[] = []
  const troubles: string[] = []
  let kills = 0
  let isOver = false
  const killing = (async () => {
    while (kills < KILLS_MAX) {
      await wait(choice.between(...PAUSE_MS))
      const driving = new Set((await its.rows(`SELECT o.pid ${DRIVEN}`)).map(({ pid }) => pid))
      const busy = workers.filter(({ pid }) => driving.has(pid))
      if (isOver) return
      if (busy.length === 0) continue
      const victim = choice.among(busy)
      const killedAt = Date.now()
      victim.kill('SIGKILL')
      const driven = await its.rows(`SELECT p.id AS plan, h.fence::int AS fence ${DRIVEN} AND o.pid = ${victim.pid}`)
      orphans.push(...driven.map(row => ({ ...(row as { plan: string; fence: number }), killedAt })))
      expect(await victim.ended).toMatchObject({ signal: 'SIGKILL' })
      kills++
      troubles.push(victim.said())
      workers[workers.indexOf(victim)] = await start()
    }
  })()
  const giving = give(its, () => client, WORK).then(() => {
    isOver = true
  })
  await Promise.all([giving, killing])

  const took: number[] = []
  for (const { plan, fence, killedAt } of orphans) {
    const [first] = await its.rows(
      `SELECT min(e.at)::float AS at FROM planfold.entries e JOIN planfold.plans p ON p.plan_no = e.plan_no
        WHERE p.id = '${plan}' AND e.fence > ${fence}`,
    )
    if (first?.at != null) took.push((first.at as number) - killedAt)
  }
  console.log(
    `${kills} kills, ${WORK.plans} plans; ${took.length} of ${orphans.length} plans taken over: p50 ${quantile(took, 0.5)} ms, p95 ${quantile(took, 0.95)} ms, at most ${Math.max(...took)} ms`,
  )
  const said = [...troubles, ...workers.map(({ said }) => said())].flatMap(text => text.split('\n').slice(1, -1))
  console.log(`workers reported ${said.length} troubles`, [...new Set(said)].slice(0, 12).join('\n'))
  const { events, again } = await expectDone(its, client, WORK)
  console.log(`${events} events, ${again} attempts again`)
  expect(kills).toBeGreaterThanOrEqual(ALL ? 10 : 2)
  expect(took.length).toBeGreaterThan(0)
  expect(quantile(took, 0.95)).toBeLessThanOrEqual(TAKEOVER_MS)
})
