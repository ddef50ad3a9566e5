// Traces reach a collector as OTLP JSON; one that is away costs nothing but the spans.

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Span } from '../../domain/views/trace.ts'
import { OtlpTracer, otlpFault, otlpOf, otlpSettings } from './otlp-tracer.ts'

const SPAN: Span = {
  trace: '0198c0de00007000800000000000000a',
  id: '0000000100010001',
  parent: '0000000100010000',
  name: 'attempt 1',
  startedAt: 1_700_000_000_000,
  endedAt: 1_700_000_000_250,
  failed: null,
  attributes: { 'planfold.attempt': 1, 'planfold.task.name': 'build', share: 0.5, live: true },
}

let open: Server | null = null
afterEach(() => {
  open?.close()
  open = null
})

async function collector(status: number): Promise<{ url: string; bodies: unknown[]; headers: object[] }> {
  const bodies: unknown[] = []
  const headers: object[] = []
  open = createServer((request, response) => {
    let text = ''
    request.on('data', chunk => {
      text += chunk
    })
    request.on('end', () => {
      bodies.push(JSON.parse(text))
      headers.push({ path: request.url, ...request.headers })
      response.writeHead(status).end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(open, 'listening')
  return { url: `http://127.0.0.1:${(open.address() as AddressInfo).port}`, bodies, headers }
}

describe('traces', () => {
  test('are off unless an endpoint is named', () => {
    expect(otlpSettings({}, '1')).toBeNull()
    expect(otlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, '1')).toBeNull()
    expect(otlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'no address' }, '1')).toBeNull()
    expect(otlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'file:///etc/passwd' }, '1')).toBeNull()
    const on = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' }
    expect(otlpSettings(on, '1')?.endpoint.href).toBe('http://127.0.0.1:4318/v1/traces')
    expect(otlpSettings({ ...on, OTEL_SDK_DISABLED: 'true' }, '1')).toBeNull()
    expect(otlpSettings({ ...on, OTEL_TRACES_EXPORTER: 'none' }, '1')).toBeNull()
    // What is empty is not said.
    expect(otlpSettings({ ...on, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '' }, '1')?.endpoint.port).toBe('4318')
  })

  test('that were meant to be sent, and are not, are told of by the name of the variable alone', () => {
    for (const address of ['no address', 'collector:4318', 'file:///etc/passwd', 'http://', '//user:secret@x'])
      for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']) {
        expect(otlpFault({ [name]: address })).toMatch(
          new RegExp(`^${name} is not an http address.*127\\.0\\.0\\.1:4318$`),
        )
        expect(otlpFault({ [name]: address })).not.toContain('secret')
        expect(otlpFault({ [name]: address, OTEL_SDK_DISABLED: 'true' })).toBeNull()
      }
    for (const fine of ['', 'http://127.0.0.1:4318', 'https://collector.example/'])
      expect(otlpFault({ OTEL_EXPORTER_OTLP_ENDPOINT: fine })).toBeNull()
  })

  test('are written as the protocol says', () => {
    expect(otlpOf([SPAN], { service: 'planfold', version: '1' })).toMatchObject({
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'planfold' } }, {}] },
          scopeSpans: [
            {
              spans: [
                {
                  traceId: SPAN.trace,
                  spanId: SPAN.id,
                  parentSpanId: SPAN.parent,
                  startTimeUnixNano: '1700000000000000000',
                  endTimeUnixNano: '1700000000250000000',
                  status: { code: 1 },
                  attributes: [
                    { key: 'planfold.attempt', value: { intValue: '1' } },
                    { key: 'planfold.task.name', value: { stringValue: 'build' } },
                    { key: 'share', value: { doubleValue: 0.5 } },
                    { key: 'live', value: { boolValue: true } },
                  ],
                },
              ],
            },
          ],
        },
      ],
    })
  })

  test('are handed over in batches, with the headers that were asked for', async () => {
    const { url, bodies, headers } = await collector(200)
    const settings = otlpSettings(
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b, bad header=1,x-nl=a%0Ab' },
      '1',
    )!
    const tracer = new OtlpTracer(settings)
    tracer.export(Array.from({ length: 700 }, () => SPAN))
    await tracer.flush()
    const counts = bodies.map(body => JSON.stringify(body).split('"traceId"').length - 1)
    expect({ counts, dropped: tracer.dropped }).toEqual({ counts: [512, 188], dropped: 0 })
    expect(headers[0]).toMatchObject({ path: '/v1/traces', 'x-key': 'a b' })
    expect(headers[0]).not.toHaveProperty('x-nl')
  })

  test('that nobody takes are dropped and counted, and a full queue does not grow', async () => {
    const { url, bodies } = await collector(503)
    const tracer = new OtlpTracer(otlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, '1')!)
    tracer.export(Array.from({ length: 5_000 }, () => SPAN))
    expect(tracer.dropped).toBe(5_000 - 4_096)
    await tracer.flush()
    expect({ tries: bodies.length, dropped: tracer.dropped }).toEqual({ tries: 3, dropped: 5_000 })
  })
})
