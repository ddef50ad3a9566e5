// A live tail beside four writers, each a process of its own: it misses nothing, in order, and nothing twice.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../../src/stores/postgres/postgres.fixture.ts'
import { ALL, quantile, team } from './team.fixture.ts'

const WRITERS = ALL ? 4 : 2
const ENTRIES = ALL ? 10_000 : 200
const LAG_MS = 300

const server = await startServer()
afterAll(() => server?.stop())

/** Writes notes to a plan of its own, and now and then to the plan of all. */
const WRITER = new URL('./tail-writer.ts', import.meta.url)

test.skipIf(server === null)('a live tail under several writers misses nothing, and is not late', async () => {
  const its = await team(server!)
  const { client } = await its.service('--no-drive')
  const shared = await client.plans.create({ name: 'shared', tasks: [{ id: 'a' }] })
  if (!shared.ok) throw new Error(JSON.stringify(shared.refusal))
  const from = await client.ask({ type: 'position' })
  const stop = new AbortController()
  onTestFinished(() => stop.abort())

  const each = ENTRIES / WRITERS
  const writers = Array.from({ length: WRITERS }, (_, at) => {
    const child = fork(WRITER, [its.url, its.folder, `writer-${at}`, String(each), shared.body.id], {
      execArgv: ['--import', 'tsx'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  })
  await Promise.all(writers.map(writer => once(writer, 'message')))
  const began = Date.now()
  const over = writers.map(async writer => {
    writer.send('go')
    const [code] = await once(writer, 'exit')
    expect(code).toBe(0)
  })

  const lags: number[] = []
  const seen: { readonly plan: string; readonly version: number; readonly position: number }[] = []
  const notes = new Set<string>()
  for await (const { plan, version, position, now, events } of client.watch({ after: from, signal: stop.signal })) {
    lags.push(Date.now() - now)
    seen.push({ plan, version, position })
    for (const event of events) if (event.type === 'note.added') notes.add(event.text)
    if (notes.size === ENTRIES) break
  }
  await Promise.all(over)
  const seconds = (Date.now() - began) / 1000
  console.log(
    `${WRITERS} writers, ${seen.length} entries in ${seconds.toFixed(1)} s; the tail is behind by p50 ${quantile(lags, 0.5)} ms, p95 ${quantile(lags, 0.95)} ms, at most ${Math.max(...lags)} ms`,
  )
  expect(seen.map(({ position }) => position)).toEqual(seen.map(({ position }) => position).toSorted((a, b) => a - b))
  const stored = await its.rows(
    `SELECT p.id AS plan, e.version, e.position::float8 AS position FROM planfold.entries e JOIN planfold.plans p USING (plan_no)
      WHERE e.position > ${from} ORDER BY e.position`,
  )
  expect(seen).toEqual(stored)
  if (ALL) expect(quantile(lags, 0.95)).toBeLessThanOrEqual(LAG_MS)
})
