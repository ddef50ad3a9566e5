// Connections: how many, for how long, and whose answers nobody takes.

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { route, under } from './route.ts'
import { type Served, served } from './server.fixture.ts'
import { exchange, type Line, line } from './socket.fixture.ts'

let service: Served
let release = (): void => {}
let began = (): void => {}
const slow = route({
  method: 'GET',
  path: '/slow',
  right: 'nothing',
  about: 'Answers when it is told to.',
  answers: { 204: { about: 'at last' } },
  handle: async () => {
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    began()
    await released
    return { status: 204 }
  },
})
const quick = route({
  method: 'GET',
  path: '/quick',
  right: 'nothing',
  about: 'Answers at once.',
  answers: { 204: { about: 'there it is' } },
  handle: async () => {
    handled++
    return { status: 204 }
  },
})
let handled = 0
const LARGE = 20_000_000
const large = route({
  method: 'GET',
  path: '/large',
  right: 'nothing',
  about: 'Answers with more than the system takes at once.',
  answers: { 200: { about: 'much' } },
  handle: async () => ({ status: 200, raw: { type: 'text/plain', data: Buffer.alloc(LARGE, 'x') } }),
})
beforeAll(async () => {
  service = await served({ routes: under('test', [slow, quick]), limits: { connections: 20 } })
})
afterAll(() => service.close())

const asking = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\n\r\n`
const open = (count: number): Promise<readonly Line[]> =>
  Promise.all(Array.from({ length: count }, () => line(service.url)))
const answers = (text: string): number => text.split('HTTP/1.1 204').length - 1

describe('connections', () => {
  test('one more than may be is closed at once; those before it are answered, and when one goes there is room', async () => {
    const [first, ...others] = await open(20)
    await line(service.url).then(
      ({ closed }) => closed,
      () => {},
    )
    first!.send(asking('/quick'))
    await first!.heard('204')
    first!.socket.destroy()
    await vi.waitFor(async () => expect(await service.connections()).toBe(19), 120_000)
    const [next] = await open(1)
    next!.send(asking('/quick'))
    await next!.heard('204')
    for (const { socket } of [next!, ...others]) socket.destroy()
    await vi.waitFor(async () => expect(await service.connections()).toBe(0), 120_000)
  })

  test('requests that come before the answer to the one before are answered in turn', async () => {
    const [one] = await open(1)
    const begun = new Promise<void>(resolve => {
      began = resolve
    })
    one!.send(asking('/slow') + asking('/quick') + asking('/nowhere'))
    await begun
    release()
    const text = await one!.heard('not-found')
    expect([...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(match => match[1])).toEqual(['204', '204', '404'])
    one!.socket.destroy()
  })

  test('one whose body is not wanted and does not come is closed soon after the answer', async () => {
    const [one] = await open(1)
    one!.send(`POST /nowhere HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\nContent-Length: 4\r\n\r\n`)
    expect(await one!.heard()).toMatch(/^HTTP\/1\.1 404/)
  })

  test('one that has asked ten thousand times is closed with the answer', async () => {
    const [one] = await open(1)
    const ask = (): void => one!.send(asking('/quick'))
    let [heard, rest] = [0, '']
    one!.socket.on('data', (part: string) => {
      const parts = (rest + part).split('HTTP/1.1 204')
      rest = parts.at(-1)!.slice(-11)
      for (let at = 1; at < parts.length; at++) {
        heard++
        ask()
      }
    })
    ask()
    await one!.closed
    expect(heard).toBe(10_000)
  })

  test('one that asks further ahead than anybody would is cut off at once; up to there it is answered', async () => {
    const [some, many] = await open(2)
    some!.send(asking('/quick').repeat(63) + asking('/nowhere'))
    expect(answers(await some!.heard('not-found'))).toBe(63)
    handled = 0
    many!.send(asking('/quick').repeat(1_000))
    await many!.closed
    expect(handled).toBe(1)
    some!.socket.destroy()
  })
})

describe('a client that does not listen', () => {
  /** Takes nothing of what is sent. */
  async function deaf(url: string): Promise<Line> {
    const one = await line(url)
    one.socket.pause()
    one.send(`GET /large HTTP/1.1\r\nHost: ${new URL(url).host}\r\n\r\n`)
    return one
  }
  const connected = (other: Served, count: number): Promise<void> =>
    vi.waitFor(async () => expect(await other.connections()).toBe(count), { timeout: 120_000, interval: 10 })

  test('is cut off in time; one that listens slowly is not', async () => {
    const other = await served({ routes: under('test', [large]), limits: { answerSilentMs: 3_000 } })
    const slow = await deaf(other.url)
    let [length, pauses] = [0, 0]
    slow.socket.on('data', (part: string) => {
      length += part.length
      if (length < pauses * 2_000_000) return
      pauses++
      slow.socket.pause()
      setTimeout(() => slow.socket.resume(), 400)
    })
    slow.socket.resume()
    await deaf(other.url)
    await connected(other, 2)
    await connected(other, 1)
    await vi.waitFor(() => expect(length).toBeGreaterThan(LARGE), { timeout: 120_000 })
    // All in all it was silent for longer than one may be at a time.
    expect(pauses).toBeGreaterThan(9)
    slow.socket.destroy()
    await other.close()
  })

  test('is told from one who waits for us', async () => {
    const other = await served({ routes: under('test', [slow]), limits: { answerSilentMs: 2_000 } })
    const one = await line(other.url)
    const begun = new Promise<void>(resolve => {
      began = resolve
    })
    one.send(`GET /slow HTTP/1.1\r\nHost: ${new URL(other.url).host}\r\n\r\n`)
    await begun
    // Silent as well, and nothing is wanted of it: when this one is cut off, so much time has gone by.
    await (await line(other.url)).closed
    release()
    expect(answers(await one.heard('204'))).toBe(1)
    one.socket.destroy()
    await other.close()
  })
})

describe('the end of a service', () => {
  test('answers under way end, and their connections with them', async () => {
    const other = await served({ routes: under('test', [slow, quick]) })
    const one = await line(other.url)
    const [idle, silent] = [await line(other.url), await line(other.url)]
    const begun = new Promise<void>(resolve => {
      began = resolve
    })
    one.send(`GET /slow HTTP/1.1\r\nHost: ${new URL(other.url).host}\r\n\r\n`)
    await begun
    const closed = other.close()
    // Whoever comes now is told so, on an old connection or a new one, and nothing is begun for them.
    const late = `GET /quick HTTP/1.1\r\nHost: ${new URL(other.url).host}\r\n\r\n`
    idle.send(late)
    for (const told of [await idle.heard(), await exchange(other.url, late)])
      expect(told).toMatch(/^HTTP\/1\.1 503 [\s\S]*connection: close[\s\S]*problem:stopping/i)
    release()
    const text = await one.heard()
    expect([answers(text), /connection: close/i.test(text)]).toEqual([1, true])
    await silent.closed
    await closed
    await expect(line(other.url)).rejects.toThrow('ECONNREFUSED')
  })
})
