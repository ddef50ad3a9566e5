// Somebody sends documents that take seconds to read, while others ask whether the service is well. What counts is how long the main
// thread of the service worked between question and answer, which the system tells: on a machine that nobody else uses this is how
// long the answer took, and on a busy one it leaves out what others took. Where the system does not tell (no Linux), the clock counts.
// Others make us slower and never faster: an answer that took too long is held against what known work takes just now, and asked for
// again.

import { existsSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { slowness } from '../../src/domain/cpu-time.fixture.ts'
import { type Place, place } from './planfold.fixture.ts'
import { type ServedProcess, serving } from './serve.fixture.ts'

let here: Place
let service: ServedProcess
beforeAll(async () => {
  here = await place()
  service = await serving(here.folder, '--no-auth')
})
afterAll(async () => {
  service.kill('SIGTERM')
  await service.ended
  await here.remove()
})

const many = <T>(length: number, make: (at: number) => T): readonly T[] => Array.from({ length }, (_, at) => make(at))
const atCap = many(20_000, at => ({ id: `t${at}`, run: 'ls' }))

const CASES: readonly (readonly [what: string, type: string, body: string, status: number, healthMaxMs: number])[] = [
  ['4.8 MB of brackets', 'application/json', '['.repeat(4_800_000), 400, 100],
  ['120,000 times the same key', 'application/yaml', 'a:\n'.repeat(120_000), 422, 100],
  // These are committed, so the limit is that of a commit.
  ['a plan at the cap', 'application/json', JSON.stringify({ planfold: 1, name: 'cap', tasks: atCap }), 201, 500],
]

test.each(CASES)('%s: meanwhile health is answered in time', async (_, type, body, status, healthMaxMs) => {
  const rounds: Asked[] = []
  const isInTime = () => rounds.some(({ workedMs }) => workedMs < healthMaxMs)
  while (rounds.length < ROUNDS && !isInTime()) {
    const before = slowness()
    const watch = watchHealth()
    const response = await fetch(`${service.address}/plans`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    })
    const text = await response.text()
    const { asked, slowest } = await watch.end()
    expect([response.status, text.slice(0, 300)]).toEqual([status, expect.any(String)])
    expect(asked).toBeGreaterThan(0)
    const { ms, workedMs } = slowest
    rounds.push({ ms, workedMs: workedMs < healthMaxMs ? workedMs : workedMs / Math.max(before, slowness()) })
  }
  expect(isInTime(), JSON.stringify(rounds)).toBe(true)
})

const ROUNDS = 8
/** Between two questions: as many as can be asked would take a core of their own. */
const PAUSE_MS = 5

interface Asked {
  readonly ms: number
  readonly workedMs: number
}

/** Asks for health, one question after the other, until it is ended. */
function watchHealth(): { end(): Promise<{ readonly asked: number; readonly slowest: Asked }> } {
  let isOver = false
  let asked = 0
  let slowest: Asked = { ms: 0, workedMs: 0 }
  const asking = (async () => {
    let [began, worked] = [performance.now(), workedMs()]
    for (; !isOver; asked++) {
      await health()
      const [ended, workedThen] = [performance.now(), workedMs()]
      // What was worked between two questions counts for the second, which could have been asked earlier.
      const answer = { ms: ended - began, workedMs: workedThen - worked }
      if (answer.workedMs > slowest.workedMs) slowest = answer
      ;[began, worked] = [ended, workedThen]
      await setTimeout(PAUSE_MS)
    }
  })()
  asking.catch(() => {})
  return {
    end: async () => {
      isOver = true
      await asking
      return { asked, slowest }
    },
  }
}

const health = (): Promise<void> =>
  new Promise((resolve, reject) => {
    get(`${service.address}/health`, { agent: false }, response => {
      response.resume()
      response.on('end', () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`health answered ${response.statusCode}`)),
      )
    }).on('error', reject)
  })

/** How long the main thread of the service has had a core. */
function workedMs(): number {
  const file = `/proc/${service.pid}/task/${service.pid}/schedstat`
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split(' ')[0]) / 1e6 : performance.now()
}
