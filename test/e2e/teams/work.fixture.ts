// Many plans on a team that is disturbed meanwhile; then the files and the journal are compared.

import { expect } from 'vitest'
import type { RemoteEngine } from '../../../src/client/client.ts'
import { journal, TASKS, type Team, textOf, wait, writingPlan } from './team.fixture.ts'

export interface Work {
  readonly plans: number
  /** Not more than the team has room for, or plans wait for each other. */
  readonly atOnce: number
  readonly secondsEach: number
  /** So many were made before. */
  readonly first?: number
}

const nameOf = (at: number) => `p-${String(at).padStart(3, '0')}`

/** Makes the plans, as the ones before them end. Resolves when all have ended. */
export async function give(
  team: Team,
  client: () => RemoteEngine,
  { plans, atOnce, secondsEach, first = 0 }: Work,
): Promise<void> {
  let made = 0
  for (;;) {
    const open = await retried(() =>
      team.rows("SELECT count(*)::int AS n FROM planfold.plans WHERE status IN ('active', 'paused')"),
    )
    const running = open[0]!.n as number
    const waiting = await retried(() =>
      team.rows(`SELECT p.name, t.name AS task FROM planfold.tasks t JOIN planfold.plans p USING (plan_no)
        WHERE t.status IN ('waiting', 'failed')`),
    )
    expect(waiting).toEqual([])
    if (made === plans && running === 0) return
    for (let free = atOnce - running; free > 0 && made < plans; free--) {
      const name = nameOf(first + made)
      const created = await retried(() =>
        client().plans.create(writingPlan(name, secondsEach), { start: true, once: name }),
      )
      expect(created, name).toMatchObject({ ok: true })
      made++
    }
    await wait(50)
  }
}

/** While the database is away. What is sent twice has the same key. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let left = 100; ; left--)
    try {
      return await work()
    } catch (error) {
      if (left === 0) throw error
      await wait(100)
    }
}

/** All plans have completed; nothing was done twice or half; the store is sound. Returns what was counted. */
export async function expectDone(team: Team, client: RemoteEngine, { plans }: Work) {
  const statuses = await team.rows('SELECT status, count(*)::int AS n FROM planfold.plans GROUP BY status')
  expect(statuses).toEqual([{ status: 'completed', n: plans }])
  const events = (await journal(client)).flatMap(({ plan, events }) => events.map(event => ({ plan, event })))
  const counted = (type: string) => {
    const counts = new Map<string, number>()
    for (const { plan, event } of events)
      if (event.type === type && 'task' in event)
        counts.set(`${plan} ${event.task}`, (counts.get(`${plan} ${event.task}`) ?? 0) + 1)
    return counts
  }
  const succeeded = counted('attempt.succeeded')
  expect(succeeded.size).toBe(plans * TASKS.length)
  expect([...succeeded].filter(([, count]) => count !== 1)).toEqual([])
  // Every attempt but the last one of a task was interrupted by the end of its process.
  const started = [...counted('attempt.started').values()].reduce((sum, count) => sum + count, 0)
  const wrong = Array.from({ length: plans }, (_, at) => nameOf(at)).flatMap(name =>
    TASKS.map(task => ({ name, task, text: textOf(team, name, task) })).filter(
      ({ task, text }) => text !== `begun ${task}\nended ${task}\n`,
    ),
  )
  if (wrong.length > 0) console.log(await historyOf(team, client, wrong[0]!.name))
  expect(wrong).toEqual([])
  expect(await team.json('doctor', 'store', '--read-data')).toMatchObject({ ok: true })
  return { events: events.length, again: started - succeeded.size }
}

/** What happened to a plan, for who looks into a failure. */
async function historyOf(team: Team, client: RemoteEngine, name: string): Promise<string> {
  const [row] = await team.rows(`SELECT id FROM planfold.plans WHERE name = '${name}'`)
  const entries = (await journal(client)).filter(({ plan }) => plan === row!.id)
  return entries
    .map(({ version, now, fence, events }) => `${version} ${now} ${fence} ${JSON.stringify(events)}`)
    .join('\n')
}
