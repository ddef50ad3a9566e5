// Waiting tasks: until a time, for a duration, and until a server answers. Killed, they go on where they were; nothing is waited for twice.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import type { TaskDefinition } from '../../src/domain/plan.ts'
import { parseNetworkRule } from '../../src/domain/plan-rules/network-rule.ts'
import { parsePlan } from '../../src/format/plan/parse.ts'
import { setup, stopBy } from '../../src/runners/attempt.fixture.ts'
import type { Outcome, Reach } from '../../src/runners/runner.ts'
import { waitRunner } from '../../src/runners/wait-runner.ts'
import { NetworkJudge } from '../../src/safety/network/network-judge.ts'
import { type Place, place } from './planfold.fixture.ts'

/** What it answers next; the last one for ever. */
let answers: readonly (readonly [status: number, body: string])[]
let asked: number
const waiters = new Set<() => void>()
const server = createServer((_, response) => {
  const [status, body] = answers[Math.min(asked, answers.length - 1)]!
  asked++
  response.writeHead(status).end(body)
  for (const look of waiters) look()
})
let url: string
let here: Place
beforeEach(async () => {
  asked = 0
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/health`
  here = await place()
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
  await here.remove()
})

const untilAsked = (times: number): Promise<void> =>
  new Promise(resolve => {
    const look = (): void => {
      if (asked < times) return
      waiters.delete(look)
      resolve()
    }
    waiters.add(look)
    look()
  })

const plan = (wait: Json, more = ''): string => `planfold: 1
name: p
policy: { network: ["${url.replace('/health', '')}"] }
tasks:
  - { id: nap, wait: ${JSON.stringify(wait)}${more} }
  - { id: after, needs: [nap], run: ["true"], effect: pure }
`

interface Told {
  readonly at: number
  readonly type: string
  readonly task: string | null
}
const attempts = async (): Promise<readonly Told[]> =>
  ((await here.json('log', 'p')) as { readonly items: readonly Told[] }).items.filter(({ task }) => task === 'nap')
const kinds = async (): Promise<readonly string[]> => (await attempts()).map(({ type }) => type)

describe('killed', () => {
  it('a wait for a duration does not start again', async () => {
    await here.write('p.yaml', plan('4s'))
    const first = here.start('run', 'p.yaml')
    await first.until('waits until')
    first.kill('SIGKILL')
    await first.ended
    const [began] = await attempts()
    const until = began!.at + 4_000
    expect(await here.json('show', 'p', 'nap')).toMatchObject({
      task: { status: 'ready', retryAt: until, reason: `waits until ${new Date(until).toISOString().slice(0, 19)}Z` },
    })
    expect((await here.planfold('next', 'p', '--explain')).stdout).toContain("'nap' waits until ")
    expect((await here.planfold('list')).stdout).toContain('waits until ')
    expect(await here.planfold('run', 'p.yaml')).toMatchObject({ exit: 0 })
    expect(await kinds()).toEqual(['attempt.started', 'attempt.lost', 'attempt.started', 'attempt.succeeded'])
    expect((await attempts()).at(-1)!.at).toBeGreaterThanOrEqual(until)
    expect(await here.planfold('audit', 'replay', 'p')).toMatchObject({ exit: 0 })
  })

  it('a wait for an answer goes on asking', async () => {
    answers = [
      [503, 'no'],
      [503, 'no'],
      [503, 'no'],
      [200, 'all is ready'],
    ]
    await here.write('p.yaml', plan({ url, status: 200, contains: 'ready', every: '300ms', for: '1h' }))
    const first = here.start('run', 'p.yaml')
    await untilAsked(2)
    first.kill('SIGKILL')
    await first.ended
    expect(await here.planfold('run', 'p.yaml')).toMatchObject({ exit: 0 })
    expect(asked).toBeGreaterThanOrEqual(4)
    expect(await here.json('show', 'p', 'nap')).toMatchObject({ task: { outputs: { status: 200 } } })
    const heard = asked
    expect(await here.planfold('audit', 'replay', 'p')).toMatchObject({ exit: 0 })
    expect(asked).toBe(heard)
  })
})

it('a time that has passed is done at once', async () => {
  await here.write('p.yaml', plan({ until: '2020-01-01T00:00:00+01:00' }))
  expect(await here.planfold('run', 'p.yaml')).toMatchObject({ exit: 0 })
  expect(await kinds()).toEqual(['attempt.started', 'attempt.succeeded'])
})

describe('is ended at once', () => {
  it.each<[string, Json | null]>([
    ['for a duration', '1h'],
    ['for an answer', null],
  ])('by cancel, while it waits %s', async (_, wait) => {
    answers = [[503, 'no']]
    await here.write('p.yaml', plan(wait ?? { url, every: '20s' }))
    const run = here.start('run', 'p.yaml')
    await (wait === null ? untilAsked(1) : run.until('waits until'))
    expect(await here.planfold('cancel', 'p')).toMatchObject({ exit: 0 })
    const { exit } = await run.ended
    expect(exit).not.toBe(0)
    expect(await here.json('status', 'p')).toMatchObject({ status: 'cancelled' })
  })

  it('by pause, and goes on with what is left', async () => {
    await here.write('p.yaml', plan('2s'))
    const run = here.start('run', 'p.yaml')
    await run.until('waits until')
    expect(await here.planfold('pause', 'p')).toMatchObject({ exit: 0 })
    await run.ended
    expect(await here.planfold('resume', 'p')).toMatchObject({ exit: 0 })
    expect((await kinds()).filter(type => type === 'attempt.lost')).toHaveLength(1)
  })
})

describe('refused with its place', () => {
  it.each<[string, string, string, number]>([
    ['{ untill: x }', "unknown key 'untill'", "did you mean 'until'", 13],
    ['-5m', 'is not a duration', 'write a number and a unit', 11],
    ['{ for: 0s }', 'would end at once', 'write 1ms or more', 18],
    ['{ until: 2026-02-30T09:00:00Z }', 'is not a time', 'write a date and a time with zone', 20],
    ['{ until: tomorrow }', 'is not a time', 'write a date and a time with zone', 20],
    ['{ for: 5m, until: 2026-12-01T09:00:00Z }', 'not both', '{ until: TIME }', 13],
    ['{ for: 5m, status: 200 }', "'status' is about an answer", 'add `url`', 22],
    ['{ url: "ftp://host/x" }', 'is not a web address', 'https://host/path', 18],
    ['{ url: "https://host/x", status: 99 }', 'at least 100', '100 or more', 44],
  ])('%s', (wait, message, hint, column) => {
    const parsed = parsePlan(`planfold: 1\nname: p\ntasks:\n  - id: nap\n    wait: ${wait}\n`)
    expect(parsed.ok).toBe(false)
    const [fault] = parsed.ok ? [] : parsed.diagnostics
    expect(fault).toMatchObject({ line: 5, column })
    expect(fault?.message).toContain(message)
    expect(fault?.hint ?? '').toContain(hint)
  })
})

describe('one attempt', () => {
  const START = Date.parse('2026-12-01T09:00:00Z')

  async function attempt(spec: Json, now: number, task: Partial<TaskDefinition> = {}, more = {}): Promise<Outcome> {
    const { tools, attempt, going } = setup()
    const clock = { now: () => now, after: () => () => {} }
    const rule = parseNetworkRule(url.replace('/health', ''))
    const rules = rule.ok ? [rule.rule] : []
    const judge = new NetworkJudge({ rules, ask: null, holdMs: 1_000, lookup: async () => ['127.0.0.1'] })
    const reach: Reach = { judge: target => judge.judge(target), refuse: () => {}, close: async () => {} }
    const one = attempt({ type: 'wait', spec }, { waitsSince: START, timeoutMs: 3_600_000 })
    const given = { ...tools, clock, reach: async () => ({ ok: true, value: reach }) as const }
    return await waitRunner().attempt({ ...one, definition: { ...one.definition, ...task } }, given, {
      ...going,
      ...more,
    })
  }

  it('ends until its time comes, and holds nothing meanwhile', async () => {
    expect(await attempt('10m', START + 1_000)).toEqual({
      type: 'interrupted',
      begun: false,
      until: START + 600_000,
      reason: 'waits until 2026-12-01T09:10:00Z',
    })
    expect(await attempt({ for: '10m' }, START + 600_000)).toEqual({ type: 'done' })
    expect(await attempt({ until: '2026-12-01T10:00:00+01:00' }, START)).toEqual({ type: 'done' })
  })

  it('a timeout ends it, counted from the first start', async () => {
    const task = { timeoutMs: 60_000 }
    expect(await attempt('10m', START, task)).toMatchObject({ until: START + 60_000 })
    expect(await attempt('10m', START + 60_000, task)).toMatchObject({
      type: 'failed',
      failure: { code: 'timeout', class: 'transient', message: 'waited 1m: it waits for 10m' },
    })
  })

  it('asks less often the longer it takes, and gives up at its bound', async () => {
    answers = [[503, 'no']]
    expect(await attempt({ url }, START + 1_200_000)).toMatchObject({
      type: 'interrupted',
      until: START + 1_320_000,
      reason: expect.stringContaining('it answers 503'),
    })
    expect(await attempt({ url, for: '20m' }, START + 1_200_000)).toMatchObject({
      type: 'failed',
      failure: { code: 'timeout', message: expect.stringContaining('it answers 503') },
    })
  })

  it('looks at the status and the body', async () => {
    answers = [[404, 'gone']]
    expect(await attempt({ url, status: 404 }, START)).toEqual({ type: 'done', outputs: { status: 404 } })
    expect(await attempt({ url, status: 404, contains: 'here', every: '1h' }, START)).toMatchObject({
      reason: expect.stringContaining('it answers 404 without "here"'),
    })
  })

  it('does nothing when it is stopped before it begins', async () => {
    const controller = new AbortController()
    controller.abort()
    expect(await attempt('10m', START, {}, stopBy(controller.signal))).toMatchObject({ type: 'interrupted' })
  })
})
