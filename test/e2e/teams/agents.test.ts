// Agents of many processes claim the tasks of one plan over several services: each task goes to one of them, and nobody starves.

import { afterAll, expect, test } from 'vitest'
import { startServer } from '../../../src/stores/postgres/postgres.fixture.ts'
import { ALL, journal, quantile, type Service, team, wait } from './team.fixture.ts'

const SERVICES = ALL ? 4 : 2
const AGENTS = ALL ? 16 : 4
const TASKS = ALL ? 160 : 24
/** Of an equal share. */
const SHARE_MIN = 0.25

const server = await startServer()
afterAll(() => server?.stop())

test.skipIf(server === null)(
  `${AGENTS} agents claim over ${SERVICES} services: each task once, nobody starves`,
  async () => {
    const its = await team(server!)
    const services: Service[] = [await its.service()]
    services.push(...(await Promise.all(Array.from({ length: SERVICES - 1 }, () => its.service()))))
    const tasks = Array.from({ length: TASKS }, (_, at) => ({ id: `t-${at}`, title: `Task ${at}` }))
    const made = await services[0]!.client.plans.create({ name: 'shared', tasks, concurrency: TASKS }, { start: true })
    if (!made.ok) throw new Error(JSON.stringify(made.refusal))

    const taken = new Map<string, string[]>()
    const claims: number[] = []
    const refusals: string[] = []
    const began = Date.now()
    const working = Promise.all(
      Array.from({ length: AGENTS }, async (_, at) => {
        const agent = `agent-${at}`
        const { client } = services[at % SERVICES]!
        const mine: string[] = []
        taken.set(agent, mine)
        for (;;) {
          const asked = performance.now()
          const claimed = await client.tasks.claim({ plan_id: 'shared', agent_id: agent })
          claims.push(performance.now() - asked)
          if (!claimed.ok) refusals.push(claimed.refusal.code)
          if (!claimed.ok || claimed.body === null) {
            if (await isOver()) return
            await wait(20)
            continue
          }
          const { task, token } = claimed.body
          mine.push(task.name)
          expect(await client.tasks.report('shared', task.name, { status: 'completed', token })).toMatchObject({
            ok: true,
          })
        }
      }),
    )
    await working.catch(error => {
      throw new Error(services.map(({ said }) => said()).join('\n'), { cause: error })
    })
    const seconds = (Date.now() - began) / 1000
    const all = [...taken.values()].flat()
    const shares = [...taken.values()].map(mine => mine.length)
    console.log(
      `${AGENTS} agents over ${SERVICES} services: ${TASKS} tasks in ${seconds.toFixed(1)} s; shares ${Math.min(...shares)} to ${Math.max(...shares)}; a claim p50 ${quantile(claims, 0.5).toFixed(0)} ms, p95 ${quantile(claims, 0.95).toFixed(0)} ms; ${refusals.length} refusals`,
    )
    expect(all.toSorted()).toEqual(tasks.map(({ id }) => id).toSorted())
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(Math.floor((TASKS / AGENTS) * SHARE_MIN))
    const events = (await journal(services[0]!.client)).flatMap(({ events }) => events)
    const ended = events.flatMap(event => (event.type === 'attempt.succeeded' ? [event.task] : []))
    expect([...ended].toSorted()).toEqual(tasks.map(({ id }) => id).toSorted())
    expect(await its.json('doctor', 'store', '--read-data')).toMatchObject({ ok: true })

    async function isOver(): Promise<boolean> {
      return (await its.rows('SELECT status FROM planfold.plans'))[0]!.status === 'completed'
    }
  },
)
