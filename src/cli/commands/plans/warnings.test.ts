// What stands in the environment and cannot be followed is told once, in one line, by whoever drives plans; it stops nobody.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { lacks } from '../../../composition/missing-extra.fixture.ts'
import type { Context } from '../../context.ts'
import { newPlace } from '../../place.fixture.ts'
import { serveStore } from '../service/serve.ts'
import { resume } from './resume.ts'
import { run } from './run.ts'

/** A line of its own, or in the log of the service, where every line is JSON. */
const WARNING = /^(?:warning: |\{.*"msg":")OTEL_EXPORTER_OTLP_ENDPOINT is not an http address[^\n]*$/gm
const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }

let place: Awaited<ReturnType<typeof newPlace>>
beforeAll(async () => {
  place = await newPlace()
  await place.write('p.yaml', 'planfold: 1\nname: p\ntasks:\n  - {id: a, decide: "true"}\n  - {id: b, needs: [a]}\n')
})
afterAll(() => place.remove())

/** Told to stop as soon as it listens for that. */
const stopping = (context: Context): Context => ({
  ...context,
  onSignal: listener => {
    setImmediate(() => listener('SIGTERM'))
    return () => {}
  },
})
const SERVE = { port: 0, host: '127.0.0.1', auth: true, logLevel: 'warn', drive: false, maxPlans: 1 } as const

test.each([
  ['run', (context: Context) => run(context, 'p.yaml', { start: true })],
  ['resume', (context: Context) => resume(context, 'p', {})],
  ['serve', (context: Context) => serveStore(stopping(context), SERVE)],
])('a collector of traces that is not an address: %s says so, and goes on', async (_, body) => {
  const fine = await place.say(body)
  expect(fine.stderr).not.toContain('warning')
  const said = await place.say(body, { environment })
  expect(said.exit).toBe(fine.exit)
  expect(said.stderr.match(WARNING)).toHaveLength(1)
})

test.skipIf(lacks('publishers'))(
  'what run warns about is told with --json, too: as lines before the events, or with the one answer',
  async () => {
    const text =
      'planfold: 1\nname: w\npolicy: { sandbox: off }\ntasks:\n  - { id: a, run: "true", secrets: [NOT_THERE] }\n'
    await place.write('w.yaml', text)
    const lines = async (body: (context: Context) => Promise<number>) =>
      (await place.say(body, { json: true })).stdout
        .trimEnd()
        .split('\n')
        .map(line => (JSON.parse(line) as { data: { type?: string; warnings?: unknown } }).data)
    const off = {
      severity: 'warning',
      message: 'policy.sandbox is off: commands of this plan run with your permissions',
    }
    const secret = { severity: 'warning', file: 'w.yaml', line: 5, message: expect.stringContaining('NOT_THERE') }
    const warnings = expect.arrayContaining([expect.objectContaining(off), expect.objectContaining(secret)])
    expect(await lines(one => run(one, 'w.yaml', { start: false }))).toMatchObject([{ status: 'draft', warnings }])
    expect(await lines(one => run(one, 'w.yaml', { start: true, dryRun: true }))).toMatchObject([
      { dryRun: true, warnings: [secret] },
    ])
    const told = await lines(one => run(one, 'w.yaml', { start: true }))
    expect(told.slice(0, 2)).toMatchObject([
      { type: 'warning', ...off },
      { type: 'warning', ...secret },
    ])
    expect(told.slice(2).map(({ type }) => type)).toEqual([...told.slice(3).map(() => 'event'), 'summary'])
    expect((await place.say(one => run(one, 'w.yaml', { start: true, again: true }))).stderr).toContain(
      `warning: ${off.message}`,
    )
  },
)

test('with --json, run and resume say nothing of it, as the guide says', async () => {
  for (const body of [(one: Context) => run(one, 'p.yaml', { start: true }), (one: Context) => resume(one, 'p', {})]) {
    const { stdout, stderr } = await place.say(body, { environment, json: true })
    expect(stdout + stderr).not.toMatch(/warning|OTEL_/)
  }
})
