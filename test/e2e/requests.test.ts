// Killed at each commit of the store, a plan with requests and changes of a database goes on to the same end: every change is there once,
// every request carries the same key however often it is sent, and what must not be repeated is not.

import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { MAIN, type Place, place } from './planfold.fixture.ts'

const heard: string[] = []
const server = createServer((request, response) => {
  heard.push(`${request.method} ${request.url} ${request.headers['idempotency-key'] ?? '-'}`)
  response.end('ok')
})
let port: number
let here: Place
beforeEach(async () => {
  heard.length = 0
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

const plan = () => `planfold: 1
name: p
policy: { gates: none, network: ["http://127.0.0.1:${port}"] }
tasks:
  - { id: make, write: [app.db], db: { url: "sqlite:app.db", migrate: make.sql }, compensate: { run: 'true' } }
  - { id: count, needs: [make], write: [app.db], db: { url: "sqlite:app.db", execute: "update counter set n = n + 1", key: auto }, compensate: { run: 'true' } }
  - { id: get, needs: [make], http: "http://127.0.0.1:${port}/get" }
  - { id: post, needs: [make], http: { method: POST, url: "http://127.0.0.1:${port}/post", json: { a: 1 }, key: auto } }
  - { id: look, needs: [count, get, post], db: { url: "sqlite:app.db", query: "select n from counter" }, expect: 'rows[0].n == 1' }
`

function killedAt(failpoint: string): Promise<number | null> {
  const env = { PATH: process.env.PATH, HOME: here.folder, PLANFOLD_FAILPOINT: failpoint }
  const child = spawn(process.execPath, [MAIN, 'run', 'p.yaml'], { cwd: here.folder, env, stdio: 'ignore' })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
}

async function untilDone(failpoint: string): Promise<boolean> {
  here = await place()
  try {
    await here.write('make.sql', 'create table counter (n integer); insert into counter values (0);')
    await here.write('p.yaml', plan())
    const first = await killedAt(failpoint)
    const fired = first !== 0
    // Killed after its last commit it has ended; to run it again would make another plan.
    const { status } = (await here.json('status', 'p')) as { status: string }
    if (fired && status !== 'completed') {
      const again = await here.planfold('run', 'p.yaml')
      expect([failpoint, again.exit, again.exit === 0 ? '' : again.stdout + again.stderr]).toEqual([failpoint, 0, ''])
    }
    expect(await here.json('status', 'p')).toMatchObject({ status: 'completed' })
    const database = new DatabaseSync(join(here.folder, 'app.db'))
    expect(database.prepare('select n from counter').get()).toEqual({ n: 1 })
    database.close()
    const posts = heard.filter(line => line.startsWith('POST'))
    expect(posts.length).toBeGreaterThan(0)
    expect([...new Set(posts)]).toHaveLength(1)
    return fired
  } finally {
    heard.length = 0
    await here.remove()
  }
}

const STEP = process.env.PLANFOLD_CRASH === 'all' ? 1 : 8

it('every change is there once, wherever it was killed', async () => {
  let fired = 0
  for (let at = 4; at < 60; at += STEP) {
    if (!(await untilDone(`store.commit:${fired % 2 === 0 ? 'before' : 'after'}:${at}`))) break
    fired += 1
  }
  expect(fired).toBeGreaterThan(0)
}, 240_000)
