// A plan that is driven can be followed as a trace: plan, task, attempt and capability within one another, and a child process
// knows the span it works under.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compose } from '../../compose.ts'
import { lacks } from '../../composition/missing-extra.fixture.ts'
import type { TaskName } from '../../domain/id.ts'
import { parsePlan } from '../../format/plan/parse.ts'
import { trusted } from '../roles.ts'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly status: { readonly code: number; readonly message?: string }
}

const spans: Span[] = []
const collector = createServer((request, response) => {
  let text = ''
  request.on('data', chunk => {
    text += chunk
  })
  request.on('end', () => {
    const { resourceSpans } = JSON.parse(text) as {
      resourceSpans: { scopeSpans: { spans: Span[] }[] }[]
    }
    for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans)
    response.end('{}')
  })
})
const folder = mkdtempSync(join(tmpdir(), 'planfold-tracing-'))

beforeAll(async () => {
  collector.listen(0, '127.0.0.1')
  await once(collector, 'listening')
})
afterAll(() => {
  collector.close()
  rmSync(folder, { recursive: true, force: true })
})

const PLAN = `
planfold: 1
name: traced
tasks:
  - id: shaky
    run: 'if [ -e been ]; then exit 0; fi; touch been; exit 75'
    retry: {attempts: 3, backoff: 10ms}
    effect: pure
  - id: told
    needs: [shaky]
    run: 'echo $TRACEPARENT'
    outputs: {parent: {stdout: text}}
    effect: pure
`

const MIXED = `
planfold: 1
name: mixed
tasks:
  - id: made
    run: 'true'
    effect: pure
  - id: look
    needs: [made]
    gate: {type: approval}
  - id: told
    needs: [look]
    description: an agent says how it went
`

test.skipIf(lacks('publishers'))('whoever attends tells of what people and agents did as well', async () => {
  spans.length = 0
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
  const environment = { PATH: process.env.PATH, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }
  const composed = await compose({ cwd: folder, environment, caller: trusted('me') })
  const { engine, worker } = composed
  const stop = new AbortController()
  let driven = 0
  const attending = worker.attend({
    stop: stop.signal,
    onDriving: change => {
      driven += change
    },
  })
  const parsed = parsePlan(MIXED)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  const made = await engine.submit(null, { type: 'create', definition: parsed.definition })
  if (!made.ok) throw new Error(made.refusal.message)
  const { plan } = made
  await engine.submit(plan, { type: 'start' })
  const status = async () => (await engine.ask({ type: 'board', plan }))?.map(({ status }) => status).join(' ')
  await expect.poll(status, { timeout: 120_000 }).toBe('completed waiting pending')
  const task = 'look' as TaskName
  await engine.submit(plan, { type: 'decide', task, verdict: 'approved', rationale: 'fine' })
  const claimed = await engine.submit(plan, { type: 'claim' })
  if (!claimed.ok || claimed.claim === undefined) throw new Error('not claimed')
  await engine.submit(plan, { type: 'report', ...claimed.claim, result: { status: 'succeeded' } })
  const names = () => [...new Set(spans.map(({ name }) => name))].sort()
  await expect
    .poll(names, { timeout: 120_000 })
    .toEqual(['attempt 1', 'external', 'plan mixed', 'run', 'task look', 'task made', 'task told'])
  stop.abort()
  await attending
  await composed.close()
  const ids = new Set(spans.map(({ spanId }) => spanId))
  expect(ids.size).toBe(spans.length)
  expect(spans.filter(span => span.parentSpanId !== undefined && !ids.has(span.parentSpanId))).toEqual([])
  expect(driven).toBe(0)
})

test.skipIf(lacks('publishers'))('plan, task, attempt and capability are spans within one another', async () => {
  spans.length = 0
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
  const environment = { PATH: process.env.PATH, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }
  const composed = await compose({ cwd: folder, environment, caller: trusted('me') })
  const parsed = parsePlan(PLAN)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  const { engine, worker } = composed
  const made = await engine.submit(null, { type: 'create', definition: parsed.definition })
  if (!made.ok) throw new Error(made.refusal.message)
  await engine.submit(made.plan, { type: 'start' })
  await worker.drive(made.plan, { stop: new AbortController().signal })
  const card = await engine.ask({ type: 'task', plan: made.plan, task: 'told' })
  await composed.close()

  const byId = new Map(spans.map(span => [span.spanId, span]))
  expect(byId.size).toBe(spans.length)
  const path = ({ name, parentSpanId }: Span): string =>
    parentSpanId === undefined ? name : `${path(byId.get(parentSpanId)!)} > ${name}`
  expect(spans.map(span => `${path(span)} ${span.status.code}`).sort()).toEqual(
    [
      'plan traced 1',
      'plan traced > task shaky 1',
      'plan traced > task shaky > attempt 1 2',
      'plan traced > task shaky > attempt 1 > run 2',
      'plan traced > task shaky > attempt 2 1',
      'plan traced > task shaky > attempt 2 > run 1',
      'plan traced > task told 1',
      'plan traced > task told > attempt 1 1',
      'plan traced > task told > attempt 1 > run 1',
    ].sort(),
  )
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([made.plan.replaceAll('-', '')]))
  const run = spans.find(span => path(span) === 'plan traced > task told > attempt 1 > run')!
  expect(JSON.stringify(card)).toContain(`00-${run.traceId}-${run.spanId}-01`)
})
