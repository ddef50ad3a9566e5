// Connections: how many, for how long, and who makes room.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { route } from './route.ts'
import { type Served, served } from './server.fixture.ts'
import { type Line, line } from './socket.fixture.ts'

let service: Served
let release = (): void => {}
let began = (): void => {}
const slow = route({
  method: 'GET',
  path: '/slow',
  right: 'nothing',
  noun: 'test',
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
  noun: 'test',
  about: 'Answers at once.',
  answers: { 204: { about: 'there it is' } },
  handle: async () => ({ status: 204 }),
})
beforeAll(async () => {
  service = await served({ routes: [slow, quick], limits: { connections: 20 } })
})
afterAll(() => service.close())

const asking = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\n\r\n`
const open = (count: number): Promise<readonly Line[]> =>
  Promise.all(Array.from({ length: count }, () => line(service.url)))
const answers = (text: string): number => text.split('HTTP/1.1 204').length - 1

describe('connections', () => {
  test('those that are idle make room, oldest first; one that waits for its answer stays', async () => {
    const [busy] = await open(1)
    const begun = new Promise<void>(resolve => {
      began = resolve
    })
    busy!.send(asking('/slow'))
    await begun
    const idle = await open(60)
    const last = idle.at(-1)!
    last.send(asking('/quick'))
    await last.heard('204')
    await Promise.all(idle.slice(0, 41).map(({ closed }) => closed))
    expect(idle.slice(41).filter(({ socket }) => socket.destroyed)).toEqual([])
    release()
    expect(answers(await busy!.heard('204'))).toBe(1)
    for (const { socket } of [busy!, ...idle]) socket.destroy()
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

  test('one that has asked ten thousand times is closed with the answer', async () => {
    const [one] = await open(1)
    one!.send(asking('/quick').repeat(10_050))
    expect(answers(await one!.heard())).toBe(10_000)
  })
})

describe('the end of a service', () => {
  test('answers under way end, and their connections with them', async () => {
    const other = await served({ routes: [slow, quick] })
    const one = await line(other.url)
    const idle = await line(other.url)
    const begun = new Promise<void>(resolve => {
      began = resolve
    })
    one.send(`GET /slow HTTP/1.1\r\nHost: ${new URL(other.url).host}\r\n\r\n`)
    await begun
    const closed = other.close()
    await idle.closed
    release()
    const text = await one.heard()
    expect([answers(text), /connection: close/i.test(text)]).toEqual([1, true])
    await closed
  })
})
