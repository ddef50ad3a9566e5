// Numbers, steps and search over HTTP: bounded labels, groups that add up, words that are only words.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parsePlan } from '../../format/plan/parse.ts'
import { type Served, served } from '../server.fixture.ts'
import { followJournal } from './metrics.ts'

const PLAN = `
planfold: 1
name: measured
title: Polish the zephyr engine
tasks:
  - id: build
    kind: implement
    run: 'echo quixotic output'
    effect: pure
  - id: break
    run: 'exit 3'
    effect: pure
    optional: true
`

let service: Served
let following: Promise<void>
let plan: string

beforeAll(async () => {
  service = await served()
  const { engine, worker } = service.composed
  following = followJournal(service.rooms)
  const parsed = parsePlan(PLAN)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  const made = await engine.submit(null, { type: 'create', definition: parsed.definition })
  if (!made.ok) throw new Error(made.refusal.message)
  plan = made.plan
  await engine.submit(plan, { type: 'start' })
  await worker.drive(made.plan, { stop: new AbortController().signal })
})
afterAll(async () => {
  await service.close()
  await following
})

describe('numbers for Prometheus', () => {
  test('tell of attempts, plans and requests, with closed labels only', async () => {
    await service.ask('GET', '/plans/zephyr-unknown/nowhere')
    await expect
      .poll(async () => (await service.ask('GET', '/metrics')).body as string)
      .toContain('planfold_plans_ended_total{status="completed"} 1')
    const { headers, body } = await service.ask('GET', '/metrics')
    expect(headers.get('content-type')).toMatch(/^text\/plain/)
    expect(body).toContain('planfold_attempts_total{outcome="succeeded",failure=""} 1')
    expect(body).toContain('planfold_attempts_total{outcome="failed",failure="logic"} 1')
    expect(body).toMatch(
      /planfold_http_request_duration_seconds_count\{method="GET",route="\/metrics",status="200"\} \d/,
    )
    expect(body).toMatch(/route="none",status="404"/)
    expect(body).not.toContain('zephyr-unknown')
    expect(body).not.toContain('measured')
  })
})

describe('steps', () => {
  test('add up by plan, capability and kind', async () => {
    const { status, body } = await service.ask('GET', `/steps?plan_id=measured&by=plan`)
    expect(status).toBe(200)
    expect(body.items).toMatchObject([
      { group: plan, attempts: 2, succeeded: 1, failed: 1, lost: 0, retries: 0, success_rate: 0.5 },
    ])
    const byKind = await service.ask('GET', '/steps?by=kind&kind=implement')
    expect(byKind.body.items).toMatchObject([{ group: 'implement', attempts: 1, success_rate: 1 }])
    const later = await service.ask('GET', '/steps?since=2100-01-01T00:00:00Z')
    expect(later.body.items).toEqual([])
  })

  test('an unknown plan is not found, an unknown group is not valid', async () => {
    expect((await service.ask('GET', '/steps?plan_id=nobody')).status).toBe(404)
    expect((await service.ask('GET', '/steps?by=moon')).status).toBe(422)
  })
})

describe('search', () => {
  test.each([
    ['zephyr', 'plan'],
    ['build', 'task'],
    ['quixotic', 'log'],
  ])('finds %s in a %s', async (word, kind) => {
    const { status, body } = await service.ask('GET', `/search?q=${word}`)
    expect({ status, kinds: body.items.map((item: { kind: string }) => item.kind) }).toEqual({
      status: 200,
      kinds: expect.arrayContaining([kind]),
    })
    const [{ snippet, matches }] = body.items
    const [from, to] = matches[0]
    expect(snippet.slice(from, to).toLowerCase()).toBe(word)
  })

  test.each(['"', '* OR 1', 'NEAR(', 'name:x', "'; DROP TABLE plans", '-', '\u0000', '%25', 'é'])(
    'takes %j for words',
    async q => {
      const { status } = await service.ask('GET', `/search?q=${encodeURIComponent(q)}`)
      expect([200, 422]).toContain(status)
      expect(service.errors).toEqual([])
    },
  )
})
