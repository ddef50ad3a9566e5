// Attacks on the service over real sockets (A56–A65): pages of other sites, broken and endless requests, thousands of silent
// connections. Whatever comes, nothing is written, nothing of ours is changed, and others are answered within a second.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pauseFor } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { slowness } from '../../src/domain/cpu-time.fixture.ts'
import { guarded } from '../../src/server/auth/guard.fixture.ts'
import { openGuard } from '../../src/server/auth/guard.ts'
import { openLog } from '../../src/server/monitoring/log.ts'
import { type Served, served } from '../../src/server/server.fixture.ts'
import { exchange, type Line, line } from '../../src/server/socket.fixture.ts'

const OWN_KEYS = Object.getOwnPropertyNames(Object.prototype).sort()
const HEALTH_MAX_MS = 1_000
/** Between two questions about health: who asks without a pause is an attack of its own. */
const HEALTH_EVERY_MS = 10
/** What reads documents, built where it is: it starts ten times as fast. */
const BUILT = join(import.meta.dirname, '../../dist/server/documents/document-worker.js')

const house = guarded()
const admin = house.token('ada', 'admin')
const bearer = `Authorization: ${admin.authorization}\r\n`
let service: Served
/** The same, which does not wait long for what is slow: only slow ones are to meet it. */
let impatient: Served
let host: string
beforeAll(async () => {
  impatient = await served({ guard: house.guard, limits: { headersMs: 2_000, requestMs: 3_000 } })
  service = await served({
    guard: house.guard,
    documents: { startWorker: (file, options) => new Worker(existsSync(BUILT) ? BUILT : file, options) },
  })
  host = new URL(service.url).host
})
afterAll(() => Promise.all([service.close(), impatient.close()]))
afterEach(async () => {
  expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(OWN_KEYS)
  for (const one of [service, impatient]) {
    expect((await one.composed.engine.ask({ type: 'plans' })).items).toEqual([])
    expect(one.errors).toEqual([])
  }
})

const PLAN = JSON.stringify({ planfold: 1, name: 'evil', tasks: [{ id: 'a', run: 'touch /tmp/evil' }] })
const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1])
const bodyOf = (text: string) => JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))

function post(path: string, headers: string, body: string): string {
  const length = Buffer.byteLength(body)
  return `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${headers}Content-Length: ${length}\r\n\r\n${body}`
}
const get = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${headers}\r\n`

/**
 * Asks for health, on a connection of its own each time, until told to stop. What is asserted: it is answered throughout, most times
 * within a second of the time that the system gave this thread, in which service, attackers and this watcher all run. What it made us
 * wait for a core, because others had it, is counted by the system itself and taken off; where it does not say (no Linux), nothing is.
 * On a machine that works slower just now, it may take as much longer; and a machine that stood still for a moment is no attack, so
 * the middle of all answers counts.
 */
function watchHealth(url: string): () => Promise<void> {
  const ask = `GET /health HTTP/1.1\r\nHost: ${new URL(url).host}\r\nConnection: close\r\n\r\n`
  let isOver = false
  const took: number[] = []
  const asking = (async () => {
    while (!isOver) {
      const [began, waited] = [performance.now(), waitedForCoreMs() + stolenMs()]
      const text = await exchange(url, ask)
      if (statusOf(text) !== 200) throw new Error(`health said: ${text.slice(0, 200)}`)
      took.push(performance.now() - began - (waitedForCoreMs() + stolenMs() - waited))
      await pauseFor(HEALTH_EVERY_MS)
    }
  })()
  // Told at the end, however it ends.
  asking.catch(() => {})
  return async () => {
    isOver = true
    await asking
    const middle = took.sort((a, b) => a - b)[Math.floor(took.length / 2)]!
    expect(middle < HEALTH_MAX_MS ? middle : middle / slowness()).toBeLessThan(HEALTH_MAX_MS)
  }
}

/** How long this thread was ready to run and did not, since it began. */
function waitedForCoreMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}

/** How long the machine itself had no core, because another one on the same hardware had it, since it began. */
function stolenMs(): number {
  try {
    return Number(readFileSync('/proc/stat', 'utf8').split('\n')[0]!.split(/\s+/)[8]) * 10
  } catch {
    return 0
  }
}

describe('a page of another site', () => {
  const EVIL = 'Origin: http://evil.example\r\n'
  const CROSS = 'Sec-Fetch-Site: cross-site\r\n'

  test.each([
    ['fetch with a plain body (A56)', () => post('/plans', `${EVIL}Content-Type: text/plain\r\n`, PLAN)],
    [
      'fetch with a plain body, and a stolen token',
      () => post('/plans', `${EVIL}${bearer}Content-Type: text/plain\r\n`, PLAN),
    ],
    ['fetch with JSON', () => post('/plans', `${EVIL}${bearer}Content-Type: application/json\r\n`, PLAN)],
    ['a form (A57)', () => post('/plans', `${EVIL}Content-Type: application/x-www-form-urlencoded\r\n`, 'name=evil')],
    [
      'a form of a sandboxed frame',
      () => post('/plans', `Origin: null\r\nContent-Type: multipart/form-data\r\n`, PLAN),
    ],
    ['a form whose origin is not told', () => post('/plans', `${CROSS}${bearer}Content-Type: text/plain\r\n`, PLAN)],
    ['a beacon', () => post('/api/plans', `${EVIL}${CROSS}Content-Type: text/plain;charset=UTF-8\r\n`, PLAN)],
    ['an image', () => get('/api/plans', `${CROSS}Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n${bearer}`)],
    ['an event source (A57)', () => get('/events', `${EVIL}Accept: text/event-stream\r\n${bearer}`)],
    [
      'a web socket (A59)',
      () =>
        get(
          '/events',
          `${EVIL}Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${bearer}`,
        ),
    ],
    [
      'a preflight',
      () =>
        `OPTIONS /plans HTTP/1.1\r\nHost: ${host}\r\n${EVIL}Access-Control-Request-Method: POST\r\nConnection: close\r\n\r\n`,
    ],
    [
      'a page of another port',
      () =>
        post(
          '/plans',
          `Origin: http://127.0.0.1:1\r\nSec-Fetch-Site: same-site\r\n${bearer}Content-Type: application/json\r\n`,
          PLAN,
        ),
    ],
  ])('gets nowhere by %s', async (_, bytes) => {
    const text = await exchange(service.url, bytes())
    expect(statusOf(text)).toBe(403)
    expect(text.toLowerCase()).not.toContain('access-control')
  })

  test('gets nowhere by a name it pointed at us (A58)', async () => {
    for (const name of ['evil.example', `evil.example:${new URL(service.url).port}`, '127.0.0.1.evil.example'])
      expect(
        statusOf(
          await exchange(service.url, `GET /plans HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n${bearer}\r\n`),
        ),
      ).toBe(421)
    expect(
      statusOf(
        await exchange(
          service.url,
          `GET http://evil.example/plans HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${bearer}\r\n`,
        ),
      ),
    ).toBe(421)
    expect(
      statusOf(
        await exchange(
          service.url,
          `GET /plans HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\nConnection: close\r\n${bearer}\r\n`,
        ),
      ),
    ).toBe(421)
    expect(statusOf(await exchange(service.url, `GET /plans HTTP/1.0\r\n${bearer}\r\n`))).toBe(421)
  })

  test('gets nowhere where nobody is asked for a token either', async () => {
    const open = await served({ guard: openGuard() })
    try {
      const at = new URL(open.url).host
      const send = async (headers: string, type: string) =>
        statusOf(
          await exchange(
            open.url,
            `POST /auth/nowhere HTTP/1.1\r\nHost: ${at}\r\nConnection: close\r\n${headers}Content-Type: ${type}\r\nContent-Length: 2\r\n\r\n{}`,
          ),
        )
      for (const headers of [EVIL, CROSS, 'Origin: null\r\n']) expect(await send(headers, 'text/plain')).toBe(403)
      const typed = async (headers: string) =>
        statusOf(
          await exchange(
            open.url,
            `POST /sessions HTTP/1.1\r\nHost: ${at}\r\nConnection: close\r\n${headers}Content-Type: text/plain\r\nContent-Length: 11\r\n\r\n{"id":"s1"}`,
          ),
        )
      // Whoever sends no header of a browser is none; a browser of ours must send JSON as JSON.
      expect(await typed(`Origin: ${open.url}\r\n`)).toBe(415)
      expect(await typed('Sec-Fetch-Mode: navigate\r\n')).toBe(415)
      expect(await typed('')).toBe(201)
    } finally {
      await open.close()
    }
  })

  test('cannot frame or sniff anything, not even an error (A64)', async () => {
    for (const bytes of [
      get('/'),
      get('/health'),
      get('/nowhere'),
      get('/docs', bearer),
      get('/auth', bearer),
      'nonsense\r\n\r\n',
    ]) {
      const text = await exchange(service.url, bytes)
      expect(text).toContain("frame-ancestors 'none'")
      expect(text).toContain('nosniff')
      expect(text).toMatch(/cache-control: no-store/i)
    }
  })
})

describe('a token', () => {
  test('is never in the log, wherever it was written (A61)', async () => {
    const lines: string[] = []
    const log = openLog('debug', { write: text => lines.push(text) })
    const own = guarded()
    const token = own.token('ada', 'admin')
    const secret = token.authorization.slice('Bearer '.length)
    const other = await served({ guard: own.guard, log, answered: told => log.debug({ ...told }, 'answered') })
    try {
      const at = new URL(other.url).host
      const ask = (path: string, headers = '') =>
        exchange(other.url, `GET ${path} HTTP/1.1\r\nHost: ${at}\r\nConnection: close\r\n${headers}\r\n`)
      const answers = [
        await ask('/auth', `Authorization: Bearer ${secret}\r\n`),
        await ask(`/auth?token=${secret}`),
        await ask(`/auth?token=${secret}`, `Authorization: Bearer ${secret}\r\n`),
        await ask(`/${secret}`, `Authorization: Bearer ${secret}x\r\n`),
        await ask('/auth', `Cookie: planfold_session_${new URL(other.url).port}=${secret}\r\n`),
        await ask('/auth', `Authorization: Bearer ${secret}\r\nOrigin: http://${secret}\r\n`),
      ]
      expect(answers.map(statusOf)).toEqual([200, 401, 422, 401, 401, 403])
      expect(lines.length).toBe(answers.length)
      expect(lines.join('')).not.toContain(secret)
    } finally {
      await other.close()
    }
  })
})

describe('a body', () => {
  const JSON_TYPE = `${bearer}Content-Type: application/json\r\n`
  const sent = (body: string, headers = JSON_TYPE) => exchange(service.url, post('/sessions', headers, body))

  test('that is too large is refused, told or not', async () => {
    const told = await sent(`{"title":"${'x'.repeat(1_000_001)}"}`)
    expect([statusOf(told), bodyOf(told).type]).toEqual([413, 'urn:planfold:problem:too-large'])
    const huge = await exchange(
      service.url,
      `POST /sessions HTTP/1.1\r\nHost: ${host}\r\n${JSON_TYPE}Content-Length: 99999999999\r\n\r\n{`,
    )
    expect(statusOf(huge)).toBe(413)
    const chunked = await line(service.url)
    chunked.send(`POST /sessions HTTP/1.1\r\nHost: ${host}\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`)
    const piece = `10000\r\n${'x'.repeat(65_536)}\r\n`
    for (let at = 0; at < 20; at++) chunked.send(piece)
    chunked.send('0\r\n\r\n')
    expect(statusOf(await chunked.heard())).toBe(413)
  })

  test('that does not end is cut off, and memory stays', async () => {
    const before = process.memoryUsage().rss
    const endless = await line(service.url)
    endless.send(`POST /sessions HTTP/1.1\r\nHost: ${host}\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`)
    const piece = `10000\r\n${'x'.repeat(65_536)}\r\n`
    let isOver = false
    void endless.closed.then(() => {
      isOver = true
    })
    for (let at = 0; at < 2_000 && !isOver; at++) {
      endless.send(piece)
      if (endless.socket.writableNeedDrain)
        await Promise.race([new Promise(resolve => endless.socket.once('drain', resolve)), endless.closed])
    }
    await endless.closed
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000)
  })

  test.each([
    ['is nothing JSON knows', '{"a":', 400],
    ['is cut', '"', 400],
    ['has a comment', '{/**/}', 400],
    ['is deep', `${'['.repeat(50_000)}${']'.repeat(50_000)}`, 422],
    ['is deep in objects', `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`, 422],
    ['has very many values', `[${'0,'.repeat(150_000)}0]`, 422],
    ['speaks of __proto__', '{"__proto__":{"admin":true}}', 422],
    ['speaks of it inside', '{"title":{"x":{"__proto__":{"polluted":1}}}}', 422],
    ['speaks of constructor.prototype', '{"constructor":{"prototype":{"polluted":1}}}', 422],
    ['speaks of it in escapes', '{"\\u005f_proto__":{"polluted":1}}', 422],
    ['is null', 'null', 422],
    ['is a list', '[]', 422],
    ['is a number beyond all bounds', '{"title":1e999}', 422],
  ])('that %s is refused', async (_, body, status) => {
    const text = await sent(body)
    expect([statusOf(text), bodyOf(text).status]).toEqual([status, status])
    expect(bodyOf(text).hint ?? bodyOf(text).faults).toBeTruthy()
  })

  test('that is no UTF-8 is refused', async () => {
    const head = `POST /sessions HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${JSON_TYPE}Content-Length: 4\r\n\r\n`
    const text = await exchange(service.url, Buffer.concat([Buffer.from(head), Buffer.from([0x22, 0xff, 0xfe, 0x22])]))
    expect([statusOf(text), bodyOf(text).type]).toEqual([400, 'urn:planfold:problem:not-utf8'])
  })

  test('of another media type is refused', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/json',
      'application/jsonx',
      '',
    ])
      expect([type, statusOf(await sent('{"id":"x"}', `${bearer}Content-Type: ${type}\r\n`))]).toEqual([type, 415])
  })
})

describe('what is no request', () => {
  test.each([
    ['noise', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', 400],
    ['a line without a version', 'GET /\r\n\r\n', 421],
    ['a header without a colon', 'GET /health HTTP/1.1\r\nnonsense\r\n\r\n', 400],
    ['two lengths', 'POST /sessions HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx', 400],
    [
      'a length and chunks',
      'POST /sessions HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['a length below zero', 'POST /sessions HTTP/1.1\r\nContent-Length: -1\r\n\r\n', 400],
    ['a folded header', 'GET /health HTTP/1.1\r\nX: a\r\n b\r\n\r\n', 400],
    ['a NUL in a header', 'GET /health HTTP/1.1\r\nX: a\0b\r\n\r\n', 400],
    ['headers without end', `GET /health HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['an address without end', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`, 431],
  ])('is told so, as a problem: %s', async (_, bytes, status) => {
    const text = await exchange(service.url, Buffer.from(bytes, 'latin1'))
    expect([statusOf(text), bodyOf(text).status]).toEqual([status, status])
    expect(text).toMatch(/content-type: application\/problem\+json/)
  })

  test('a method nobody knows is refused', async () => {
    expect(
      statusOf(
        await exchange(service.url, `TRACE /auth HTTP/1.1\r\nHost: ${host}\r\n${bearer}Connection: close\r\n\r\n`),
      ),
    ).toBe(405)
    expect(statusOf(await exchange(service.url, `BREW /auth HTTP/1.1\r\nHost: ${host}\r\n\r\n`))).toBe(400)
  })

  test.each([
    ['the origin', 'Origin: http://evil.example\r\n'],
    ['the site', 'Sec-Fetch-Site: cross-site\r\n'],
    ['the key', 'Idempotency-Key: once\r\n'],
    ['a second host', 'Host: evil.example\r\n'],
  ])('%s behind a hundred headers is not overlooked: so many are refused', async (_, last) => {
    const fillers = Array.from({ length: 100 }, (_, at) => `X-${at}: x\r\n`).join('')
    const text = await exchange(service.url, get('/auth', `${bearer}${fillers}${last}`))
    expect([statusOf(text), bodyOf(text).type]).toEqual([431, 'urn:planfold:problem:headers-too-large'])
    expect(text).toContain("frame-ancestors 'none'")
  })

  test('as many as a hundred headers are looked at, and no more', async () => {
    const headers = (count: number): string => Array.from({ length: count }, (_, at) => `X-${at}: x\r\n`).join('')
    // Host, Connection and Authorization are there already.
    expect(statusOf(await exchange(service.url, get('/auth', bearer + headers(97))))).toBe(200)
    expect(statusOf(await exchange(service.url, get('/auth', bearer + headers(98))))).toBe(431)
    const evil = `${bearer}${headers(96)}Origin: http://evil.example\r\n`
    expect(statusOf(await exchange(service.url, get('/auth', evil)))).toBe(403)
  })

  test('an expectation nobody can meet is refused by the house itself, behind its guard', async () => {
    const ask = async (name: string, token: string) => {
      const expects = `GET /auth HTTP/1.1\r\nHost: ${name}\r\n${token}Expect: wonders\r\nConnection: close\r\n\r\n`
      const text = await exchange(service.url, expects)
      expect(text).toContain("frame-ancestors 'none'")
      return [statusOf(text), bodyOf(text).type]
    }
    expect(await ask(host, bearer)).toEqual([417, 'urn:planfold:problem:expectation'])
    expect(await ask(host, '')).toEqual([401, 'urn:planfold:problem:no-token'])
    expect(await ask('evil.example', bearer)).toEqual([421, 'urn:planfold:problem:misdirected'])
  })

  test('a tunnel is refused', async () => {
    const text = await exchange(service.url, `CONNECT evil.example:443 HTTP/1.1\r\nHost: ${host}\r\n${bearer}\r\n`)
    expect([statusOf(text), bodyOf(text).type]).toEqual([405, 'urn:planfold:problem:method'])
    expect(text).toContain("frame-ancestors 'none'")
  })
})

describe('whoever asks and never listens', () => {
  // Node takes in all that a connection has sent before we can cut it off, and makes an error for each request. The test
  // runner maps the stack of every error to the sources, which no service does: so errors have no stack meanwhile.
  test('50 that ask 1,500 times each, five at once: cut off at once, and health is answered throughout', async () => {
    const before = process.memoryUsage().rss
    const { stackTraceLimit } = Error
    onTestFinished(() => {
      Error.stackTraceLimit = stackTraceLimit
    })
    Error.stackTraceLimit = 0
    const health = watchHealth(service.url)
    const asking = Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(1_500))
    // Of ten at once, Node alone takes about a second to read all requests: then the limit would be the speed of the machine.
    for (let round = 0; round < 10; round++) {
      const lines = await Promise.all(Array.from({ length: 5 }, () => line(service.url)))
      for (const { socket, send } of lines) {
        socket.pause()
        send(asking)
      }
      // Only the one that asks for health is left.
      await vi.waitFor(async () => expect(await service.connections()).toBeLessThanOrEqual(2), { timeout: 120_000 })
      for (const { socket } of lines) socket.destroy()
    }
    await health()
    expect(process.memoryUsage().rss - before).toBeLessThan(300_000_000)
  })
})

describe('whoever says little, slowly (A65)', () => {
  /** Opens so many, a few hundred at a time: more at once, and the system itself would make them wait. */
  async function open({ url }: Served, count: number): Promise<readonly Line[]> {
    const all: Line[] = []
    while (all.length < count)
      all.push(...(await Promise.all(Array.from({ length: Math.min(100, count - all.length) }, () => line(url)))))
    return all
  }

  async function dripping(head: string, drop: string): Promise<void> {
    const health = watchHealth(impatient.url)
    const lines = await open(impatient, 500)
    for (const { send } of lines) send(head)
    const timer = setInterval(() => {
      for (const { send } of lines) send(drop)
    }, 200)
    await Promise.all(lines.map(({ closed }) => closed))
    clearInterval(timer)
    await health()
  }

  test('headers of 500, one byte at a time: cut off in time, and health is answered throughout', async () => {
    await dripping(`GET /plans HTTP/1.1\r\nHost: ${new URL(impatient.url).host}\r\nX-Slow: `, 'x')
  })

  test('bodies of 500, one byte at a time: the same', async () => {
    const headers = `${bearer}Content-Type: application/json\r\nContent-Length: 900\r\n`
    await dripping(`POST /sessions HTTP/1.1\r\nHost: ${new URL(impatient.url).host}\r\n${headers}\r\n`, ' ')
  })

  test('one that is too slow is told so', async () => {
    const slow = await line(impatient.url)
    slow.send(`GET /plans HTTP/1.1\r\nHost: ${new URL(impatient.url).host}\r\n`)
    const text = await slow.heard()
    expect([statusOf(text), bodyOf(text).type]).toEqual([408, 'urn:planfold:problem:timeout'])
  })

  test('one whose body never comes is told so too', async () => {
    for (const start of ['', '{"ti']) {
      const slow = await line(impatient.url)
      const headers = `${bearer}Content-Type: application/json\r\nContent-Length: 900\r\n`
      slow.send(`POST /sessions HTTP/1.1\r\nHost: ${new URL(impatient.url).host}\r\n${headers}\r\n${start}`)
      const text = await slow.heard()
      expect([statusOf(text), bodyOf(text).type]).toEqual([408, 'urn:planfold:problem:timeout'])
      expect(text).toContain("frame-ancestors 'none'")
    }
  })

  test('1,000 connections kept open and idle: others come in, and health is answered throughout', async () => {
    const health = watchHealth(service.url)
    const ask = `GET /health HTTP/1.1\r\nHost: ${host}\r\n\r\n`
    const lines: Line[] = []
    while (lines.length < 1_000) {
      const some = await open(service, 100)
      for (const { send } of some) send(ask)
      await Promise.all(some.map(({ heard }) => heard('"ok"')))
      lines.push(...some)
    }
    expect((await service.ask('GET', '/auth', undefined, admin)).status).toBe(200)
    expect(lines.filter(({ socket }) => socket.destroyed).length).toBe(0)
    for (const { socket } of lines) socket.destroy()
    await health()
  })
})

describe('a document that takes long to read', () => {
  const document = (type: string, body: string) => post('/plans', `${bearer}Content-Type: ${type}\r\n`, body)

  test.each([
    ['2 MB of brackets', 400, () => document('application/json', '['.repeat(2_000_000))],
    ['100 kB of empty lines', 422, () => document('text/markdown', '\n'.repeat(100_000))],
    ['30,000 times the same key', 422, () => document('application/yaml', 'a:\n'.repeat(30_000))],
  ] as const)(
    '%s is refused, and others are answered meanwhile',
    async (_, status, request) => {
      const healthy = watchHealth(service.url)
      expect(statusOf(await exchange(service.url, request()))).toBe(status)
      await healthy()
    },
    60_000,
  )
})
