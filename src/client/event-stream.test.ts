// The reader of event streams: what it hears does not depend on where the text is cut, and it comes back as often as it must.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { EventText, type Heard, type StreamEvent, type Subscription, subscribe } from './event-stream.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

describe('the text of a stream', () => {
  const read = (...pieces: readonly string[]) => {
    const text = new EventText()
    return { events: pieces.flatMap(piece => text.read(piece)), id: text.id, retryMs: text.retryMs }
  }

  test('is read as the standard says', () => {
    expect(read('retry: 50\n: at 7\nid: 7\n\n: a comment\nevent: x\ndata: one\ndata:two\ndata\nid: 8\n\n')).toEqual({
      events: [{ name: 'x', data: 'one\ntwo\n', id: '8' }],
      id: '8',
      retryMs: 50,
    })
    // Without data nothing is told; a name and an id hold for one event. Where the stream stands holds until the next id.
    expect(read('event: x\n\ndata: 1\n\nid: 3\ndata: 2\n\ndata: 3\n\n')).toEqual({
      events: [
        { name: 'message', data: '1', id: null },
        { name: 'message', data: '2', id: '3' },
        { name: 'message', data: '3', id: null },
      ],
      id: '3',
      retryMs: null,
    })
    expect(read('id: a\0b\nretry: soon\nother: 1\ndata: x\n\n')).toEqual({
      events: [{ name: 'message', data: 'x', id: null }],
      id: '',
      retryMs: null,
    })
  })

  test('half an event is none, and its id does not count', () => {
    expect(read('id: 1\ndata: a\n\nid: 2\ndata: b\n')).toEqual({
      events: [{ name: 'message', data: 'a', id: '1' }],
      id: '1',
      retryMs: null,
    })
  })

  test('may be cut anywhere, with any ends of lines', () => {
    const word = fc.string({ unit: fc.constantFrom('a', ' ', ':', 'ü', '🙂', '{', '\\n') })
    const event = fc.record({ name: fc.constantFrom('x', 'y.z'), data: word, id: fc.nat(99).map(String) })
    const ends = fc.constantFrom('\n', '\r\n', '\r')
    fc.assert(
      fc.property(fc.array(event), ends, fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (events, end, cuts) => {
        const lines = events.map(({ name, data, id }) =>
          [`event: ${name}`, `id: ${id}`, `data: ${data}`, '', ''].join(end),
        )
        // A CR may be the first half of an end: what it ends is told with the next line.
        const whole = `${lines.join('')}:${end}`
        const text = new EventText()
        const heard: StreamEvent[] = []
        for (let at = 0; at < whole.length; ) {
          const size = cuts.next().value as number
          heard.push(...text.read(whole.slice(at, at + size)))
          at += size
        }
        expect(heard).toEqual(events)
      }),
    )
  })

  test('without an end is not kept for ever', () => {
    const text = new EventText()
    expect(() => {
      for (let count = 0; count < 20; count++) text.read('x'.repeat(1_000_000))
    }).toThrow('max buffer size')
    expect(() => text.read('\n')).toThrow('terminated')
    const lines = new EventText()
    expect(() => {
      for (let count = 0; count < 20; count++) lines.read(`data: ${'x'.repeat(1_000_000)}\n`)
    }).toThrow('max buffer size')
  })
})

type Answerer = (request: IncomingMessage, response: ServerResponse, count: number) => void

/** Answers the first, the second … request. */
async function service(answer: Answerer): Promise<{ readonly url: string; readonly ids: (string | undefined)[] }> {
  const ids: (string | undefined)[] = []
  const server = createServer((request, response) => {
    ids.push(request.headers['last-event-id'] as string | undefined)
    answer(request, response, ids.length)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, ids }
}

const begin = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' })

async function hear(
  count: number,
  options: Partial<Subscription> & { readonly url: string },
): Promise<readonly Heard[]> {
  const stop = new AbortController()
  const heard: Heard[] = []
  for await (const said of subscribe({ signal: stop.signal, retryMaxMs: 10, ...options })) {
    heard.push(said)
    if (heard.length === count) break
  }
  stop.abort()
  return heard
}

const datas = (heard: readonly Heard[]) => heard.map(said => (said.type === 'event' ? said.data : said.type))

describe('a subscription', () => {
  test('comes back with the last id it has seen whole, whatever cut it', async () => {
    const { url, ids } = await service((_, response, count) => {
      if (count === 1) begin(response).end(': at 5\nid: 5\n\nid: 6\ndata: a\n\nid: 7\ndata: hal')
      else if (count === 2) response.destroy()
      else if (count === 3) response.writeHead(503).end()
      else begin(response).write('id: 7\ndata: b\n\n')
    })
    expect(datas(await hear(2, { url, after: '4' }))).toEqual(['a', 'b'])
    expect(ids).toEqual(['4', '6', '6', '6'])
  })

  test('where the stream stands counts before the first event', async () => {
    const { url, ids } = await service((_, response, count) => {
      if (count === 1) begin(response).end('retry: 1\n: at 9\nid: 9\n\n')
      else begin(response).write('data: x\n\n')
    })
    expect(await hear(1, { url })).toEqual([{ type: 'event', name: 'message', data: 'x', id: null }])
    expect(ids).toEqual([undefined, '9'])
  })

  test('what has no id does not bear that of the event before, nor moves where it comes back to', async () => {
    const { url, ids } = await service((_, response, count) => {
      if (count === 1) begin(response).end('retry: 1\nid: 3\ndata: a\n\nevent: tick\ndata: b\n\n')
      else begin(response).write('id: 4\ndata: c\n\n')
    })
    const heard = await hear(3, { url })
    expect(heard.map(said => (said.type === 'event' ? said.id : null))).toEqual(['3', null, '4'])
    expect(ids).toEqual([undefined, '3'])
  })

  test('needs no signal: whoever stops iterating ends it', async () => {
    const ended = new AbortController()
    const { url } = await service((request, response) => {
      request.once('close', () => ended.abort())
      begin(response).write('data: a\n\n')
    })
    for await (const said of subscribe({ url })) {
      expect(datas([said])).toEqual(['a'])
      break
    }
    if (!ended.signal.aborted) await new Promise(done => ended.signal.addEventListener('abort', done))
  })

  test('takes a refusal as the last word, with its problem', async () => {
    const { url, ids } = await service((_, response) => {
      response.writeHead(404, { 'content-type': 'application/problem+json' }).end('{"title":"Not found"}')
    })
    expect(await hear(9, { url })).toEqual([{ type: 'refused', status: 404, problem: { title: 'Not found' } }])
    expect(ids.length).toBe(1)
  })

  test('does not wait for ever in silence', async () => {
    const ids: (string | undefined)[] = []
    const { url } = await service((request, response) => {
      const id = request.headers['last-event-id'] as string | undefined
      ids.push(id)
      // By what was heard, not by how often it came: on a slow machine the first answer may come too late.
      begin(response).write(id === undefined ? 'id: 1\ndata: a\n\n' : 'data: b\n\n')
    })
    expect(datas(await hear(2, { url, silentMs: 50 }))).toEqual(['a', 'b'])
    expect([ids[0], ids.at(-1)]).toEqual([undefined, '1'])
  })

  test('waits longer the more often it fails, and says why', async () => {
    const waits: number[] = []
    const { url } = await service((_, response, count) => {
      if (count === 1) begin(response).end('retry: 2\n: at 1\nid: 1\n\n')
      else if (count < 5) response.writeHead(count === 3 ? 429 : 503).end()
      else begin(response).write('data: x\n\n')
    })
    const onCut = (_: unknown, ms: number) => waits.push(ms)
    await hear(1, { url, retryMaxMs: 12, random: () => 0.5, onCut })
    expect(waits).toEqual([2, 4, 8, 12])
  })

  test.each([
    ['retry: 60000', 60_000],
    ['retry: 0', 0],
    ['retry: 99999999999999', 24 * 60 * 60_000],
  ])('never comes back sooner than %s says, whatever its own bounds and luck', async (said, ms) => {
    const { url } = await service((_, response) => begin(response).end(`${said}\n: at 1\nid: 1\n\n`))
    const stop = new AbortController()
    const waits: number[] = []
    const onCut = (_: unknown, wait: number) => {
      waits.push(wait)
      stop.abort()
    }
    const options = { url, signal: stop.signal, retryMaxMs: 10, random: () => 0, onCut }
    for await (const _ of subscribe(options)) throw new Error('heard')
    expect(waits).toEqual([ms])
  })

  test('waits as long as Retry-After says', async () => {
    const { url } = await service((_, response) => response.writeHead(503, { 'retry-after': '40' }).end())
    const stop = new AbortController()
    const waits: number[] = []
    const onCut = (_: unknown, wait: number) => {
      waits.push(wait)
      stop.abort()
    }
    for await (const _ of subscribe({ url, signal: stop.signal, onCut })) throw new Error('heard')
    expect(waits).toEqual([40_000])
  })

  test('ends when it is told to, also while it waits', async () => {
    const { url } = await service((_, response) => begin(response).write('retry: 60000\n\n'))
    const stop = new AbortController()
    const listening = (async () => {
      for await (const _ of subscribe({ url, signal: stop.signal, onOpen: () => stop.abort() }))
        throw new Error('heard')
    })()
    await listening
  })
})
