// Long documents are worked on beside the event loop, within limits of time and memory.

import { Worker } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { isList } from '../../format/text/source.ts'
import { served } from '../server.fixture.ts'
import { DocumentPool, type DocumentPoolOptions } from './document-pool.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})
const open = (options: DocumentPoolOptions = {}): DocumentPool => {
  const pool = new DocumentPool(options)
  opened.push(pool)
  return pool
}

const many = (tasks: number): string =>
  `planfold: 1\nname: long\ntasks:\n${Array.from({ length: tasks }, (_, at) => `  - id: t${at}\n    run: ls\n`).join('')}`
const LONG = many(1_500)

test('a short document is read here, a long one in a thread, with the same answer', async () => {
  const pool = open()
  const short = await pool.run('read-plan', { text: many(2), name: 'x' }, many(2).length)
  expect(short).toMatchObject({ definition: { name: 'long', tasks: [{ id: 't0' }, { id: 't1' }] } })
  expect(pool.threads).toBe(0)
  let turns = 0
  let isRead = false
  const reading = pool.run('read-plan', { text: LONG, name: 'x' }, LONG.length).finally(() => {
    isRead = true
  })
  // Meanwhile this thread goes on.
  for (; !isRead && turns < 100; turns++) await new Promise<void>(resolve => setImmediate(resolve))
  expect([turns, isRead]).toEqual([100, false])
  const long = await reading
  expect(pool.threads).toBe(1)
  const here = await pool.run('read-plan', { text: LONG, name: 'x' }, 0)
  expect(long).toEqual(JSON.parse(JSON.stringify(here)))
})

test('a job that takes too long is ended, and the next one has a thread again', async () => {
  const pool = open({ timeMaxMs: 1, threadsMax: 1 })
  const late = await pool.run('read-plan', { text: LONG, name: 'x' }, LONG.length)
  expect(late).toMatchObject({
    problem: { status: 413, detail: expect.stringContaining('took more than'), hint: expect.stringContaining('split') },
  })
  expect(pool.threads).toBe(0)
})

test('a job that needs too much memory is ended, and this process is not', async () => {
  const pool = open({ memoryMaxMb: 128, threadsMax: 1 })
  expect(await pool.run('read-plan', { text: LONG, name: 'x' }, LONG.length)).toMatchObject({ definition: {} })
  const text = many(12_000)
  expect(await pool.run('read-plan', { text, name: 'x' }, text.length)).toMatchObject({
    problem: { status: 413, detail: expect.stringContaining('memory') },
  })
})

test('when no thread can be started, whoever waits is told, and the next document is read', async () => {
  let starts = 0
  const failing = new Set([1, 3])
  const pool = open({
    threadsMax: 1,
    timeMaxMs: 60_000,
    startWorker: (file, options) => {
      if (failing.has(++starts)) throw Object.assign(new Error('no more'), { code: 'EAGAIN' })
      const worker = new Worker(file, options)
      // The second one ends by itself, with a job and another one behind it: its end is where the third is started.
      if (starts === 2) void worker.terminate()
      return worker
    },
  })
  const ask = () => pool.run('read-plan', { text: LONG, name: 'x' }, LONG.length)
  const told = { problem: { status: 503, detail: expect.stringContaining('(EAGAIN)') } }
  expect(await ask()).toMatchObject(told)
  const [ended, behind] = await Promise.allSettled([ask(), ask()])
  expect(ended).toMatchObject({ status: 'rejected' })
  expect(behind).toMatchObject({ status: 'fulfilled', value: told })
  expect(pool.threads).toBe(0)
  expect(await ask()).toMatchObject({ definition: { name: 'long' } })
  expect([starts, pool.threads]).toEqual([4, 1])
})

test('who comes when too many wait is asked to come again; a thread that nobody needs ends', async () => {
  const pool = open({ threadsMax: 1, waitingMax: 1, idleMs: 1 })
  const ask = () => pool.run('read-plan', { text: LONG, name: 'x' }, LONG.length)
  const answers = await Promise.all([ask(), ask(), ask()])
  expect(answers[0]).toMatchObject({ definition: { name: 'long' } })
  expect(answers[2]).toMatchObject({ problem: { status: 503, detail: expect.stringContaining('waiting') } })
  while (pool.threads > 0) await new Promise<void>(resolve => setImmediate(resolve))
})

test('a long plan is made, revised, printed, drawn and analysed by the service, as a short one is', async () => {
  const service = await served()
  opened.push(service)
  const tasks = Array.from({ length: 1_200 }, (_, at) => ({ id: `t${at}`, run: 'ls', title: 'x'.repeat(20) }))
  const made = await service.ask('POST', '/plans', { planfold: 1, name: 'long', tasks })
  expect(made.status).toBe(201)
  expect(service.rooms.documents.threads).toBe(1)
  const yaml = await service.ask('GET', '/plans/long?as=planfold')
  expect(yaml.body).toContain('id: t1199')
  const again = await fetch(`${service.url}/plans?name=again`, {
    method: 'POST',
    headers: { 'content-type': 'application/yaml' },
    body: yaml.body,
  })
  expect(again.status).toBe(201)
  expect((await service.ask('GET', '/plans/long/analyze')).body).toMatchObject({ total_steps: 1_200 })
  expect((await service.ask('GET', '/plans/long/graph?as=tree')).body).toContain('t1199')
  const revised = await service.ask('POST', '/plans/long/revisions', {
    document: { planfold: 1, name: 'long', tasks: tasks.slice(0, 1_000) },
    rationale: 'fewer',
  })
  expect(revised.status).toBe(201)
  const board = await service.ask('GET', '/plans/long/board')
  expect(isList(board.body.items) && board.body.items.length).toBe(1_000)
  expect(service.errors).toEqual([])
})

test('a long body that is no JSON is told where, and one that does not fit its schema what is wrong', async () => {
  const service = await served()
  opened.push(service)
  const broken = await service.ask('POST', '/plans', '['.repeat(100_000))
  expect(broken).toMatchObject({ status: 400, body: { detail: 'the body is not JSON at line 1, column 100001' } })
  const strange = await service.ask('POST', '/goals', { title: 'x', nonsense: 'y'.repeat(40_000) })
  expect(strange.status).toBe(422)
  const noBody = await service.ask('POST', '/plans/x/pause', { reason: 'y'.repeat(40_000), strange: 1 })
  expect([404, 422]).toContain(noBody.status)
})
