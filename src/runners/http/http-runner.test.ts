// Requests against real servers on the loopback: honest ones, and ones that try everything.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer as createTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../domain/json.ts'
import type { NetworkDecision } from '../../domain/network-decision.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { type NetworkTarget, parseNetworkRule } from '../../domain/plan-rules/network-rule.ts'
import { decidedBy, type Lookup, NetworkJudge } from '../../safety/network/network-judge.ts'
import { listening, site } from '../../safety/network/proxy.fixture.ts'
import { setup, stopBy } from '../attempt.fixture.ts'
import type { Outcome, Reach, RunnerTools } from '../runner.ts'
import type { HttpLimits } from './http-exchange.ts'
import { httpRunner } from './http-runner.ts'

interface Options {
  readonly allow?: readonly string[]
  readonly lookup?: Lookup
  readonly secrets?: { readonly [name: string]: string }
  readonly definition?: Partial<TaskDefinition>
  readonly limits?: Partial<HttpLimits>
  readonly timeoutMs?: number
  readonly write?: readonly string[] | null
  readonly signal?: AbortSignal
  readonly place?: ReturnType<typeof setup>
}

async function send(spec: Json, options: Options = {}) {
  const place = options.place ?? setup()
  const decisions: NetworkDecision[] = []
  const rules = (options.allow ?? []).map(text => {
    const parsed = parseNetworkRule(text)
    if (!parsed.ok) throw new Error(parsed.message)
    return parsed.rule
  })
  const lookup = options.lookup ?? (async () => ['127.0.0.1'])
  const judge = new NetworkJudge({ rules, ask: null, holdMs: 1_000, lookup })
  const reach: Reach = {
    async judge(target: NetworkTarget, { method, path }) {
      const verdict = await judge.judge(target)
      decisions.push({ host: target.host, port: target.port, method, path, ...decidedBy(verdict) })
      return verdict
    },
    refuse: (method, host, why) => void decisions.push({ host, port: 0, method, allowed: false, why }),
    close: async () => {},
  }
  const tools: RunnerTools = {
    ...place.tools,
    ...(options.secrets === undefined ? {} : { secrets: options.secrets }),
    ...(options.write === undefined ? {} : { write: options.write }),
    reach: async () => ({ ok: true, value: reach }),
  }
  const action = { type: 'http', spec } as const
  const attempt = place.attempt(action, { timeoutMs: options.timeoutMs ?? 20_000 })
  const whole = { ...attempt, definition: { ...attempt.definition, ...options.definition } }
  const runner = httpRunner(options.limits === undefined ? {} : { limits: options.limits })
  const outcome = await runner.attempt(
    whole,
    tools,
    options.signal === undefined ? place.going : stopBy(options.signal),
  )
  return { outcome, decisions, place, key: attempt.key }
}

const local = (port: number) => [`http://127.0.0.1:${port}`]
const failureOf = (outcome: Outcome) => {
  if (outcome.type !== 'failed') throw new Error(`it did not fail: ${JSON.stringify(outcome)}`)
  return outcome.failure
}

/** Speaks bytes of its own. */
async function bare(speak: (socket: Socket) => void): Promise<number> {
  const server = createTcp(socket => {
    socket.on('error', () => {})
    socket.once('data', () => speak(socket))
  })
  return await listening(server, '127.0.0.1', 0)
}

describe('an answer becomes the outputs', () => {
  it('with its status, its headers without cookies, and JSON that can be looked into', async () => {
    const { port, heard } = await site((_, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'set-cookie': 'session=1234' })
      response.end('{"id": 7}')
    })
    const spec = { method: 'POST', url: `http://127.0.0.1:${port}/releases?x=1`, json: { tag: 'v1' }, key: 'auto' }
    const { outcome, decisions, key } = await send(spec, { allow: local(port) })
    expect(outcome).toMatchObject({
      type: 'done',
      outputs: { status: 201, headers: { 'set-cookie': '[redacted]' }, json: { id: 7 } },
    })
    expect(heard).toMatchObject([{ line: 'POST /releases?x=1', body: '{"tag":"v1"}' }])
    expect(heard[0]?.headers).toMatchObject({ 'idempotency-key': key, 'content-type': 'application/json' })
    expect(decisions).toEqual([
      {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: '/releases',
        allowed: true,
        why: 'a rule allows it',
        rule: local(port)[0],
      },
    ])
  })

  it('what is no JSON is text; what JavaScript would trip over stays text', async () => {
    const { port } = await site((request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(request.url === '/a' ? '{"__proto__": {"x": 1}}' : 'hello')
    })
    for (const [path, text] of [['/a', '{"__proto__": {"x": 1}}'] as const, ['/b', 'hello'] as const]) {
      const { outcome } = await send(`http://127.0.0.1:${port}${path}`, { allow: local(port) })
      expect(outcome).toMatchObject({ outputs: { text } })
    }
  })

  it('a status that means no is a failure of its kind, with the patience the server asks for', async () => {
    const { port } = await site((_, response) => {
      response.writeHead(429, { 'retry-after': '7' })
      response.end('slow down\n')
    })
    const { outcome } = await send(`http://127.0.0.1:${port}/`, { allow: local(port) })
    expect(failureOf(outcome)).toMatchObject({
      class: 'transient',
      code: 'http:429',
      retryable: true,
      retryAfterMs: 7_000,
      message: expect.stringContaining('answered 429 Too Many Requests: slow down'),
    })
  })

  it('with `expect` any status is taken, and judged by it', async () => {
    const { port } = await site((_, response) => {
      response.writeHead(404)
      response.end()
    })
    const { outcome } = await send(`http://127.0.0.1:${port}/`, {
      allow: local(port),
      definition: { expect: 'status == 404' },
    })
    expect(outcome).toMatchObject({ type: 'done', outputs: { status: 404 } })
  })
})

describe('where it may go', () => {
  it('nowhere without a rule, and never to a private address that no rule names', async () => {
    const { port, heard } = await site()
    const none = await send(`http://127.0.0.1:${port}/`)
    expect(failureOf(none.outcome)).toMatchObject({ class: 'policy', retryable: false })
    const all = await send(`http://127.0.0.1:${port}/`, { allow: ['*'] })
    expect(failureOf(all.outcome).message).toContain('it is this machine, and no rule names the address')
    const named = await send(`http://inside.example:${port}/`, { allow: ['*'] })
    expect(failureOf(named.outcome).message).toContain('it leads to 127.0.0.1 (this machine)')
    expect([...none.decisions, ...all.decisions, ...named.decisions].map(({ allowed }) => allowed)).toEqual([
      false,
      false,
      false,
    ])
    expect(heard).toEqual([])
  })

  it.each([
    '127.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '①②⑦.⓪.⓪.①',
    '127。0。0。1',
    '0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    'LOCALHOST.',
    '169.254.169.254',
    '2852039166',
    '[::ffff:a9fe:a9fe]',
    '100.100.100.200',
    '[fd00:ec2::254]',
    'metadata.google.internal',
  ])('not to %s, however it is written', async host => {
    const lookup: Lookup = async name => [name.includes('metadata') ? '169.254.169.254' : '127.0.0.1']
    const { outcome, decisions } = await send(`http://${host}/`, { allow: ['*'], lookup })
    expect(failureOf(outcome).class).toBe('policy')
    expect(decisions).toMatchObject([{ allowed: false }])
  })

  it.each([
    ['http://169.254.169.254/latest/meta-data/', 'leads to 169.254.169.254:80 is not allowed'],
    ['http://127.0.0.1:9/', 'leads to 127.0.0.1:9 is not allowed'],
    ['file:///etc/passwd', 'the scheme file: is not known here'],
    ['gopher://127.0.0.1/', 'the scheme gopher: is not known here'],
    ['http://user:word@example.org/', 'an address with a user in it is refused'],
  ])('a redirect to %s is judged like the first address', async (location, why) => {
    const { port } = await site((_, response) => {
      response.writeHead(302, { location })
      response.end()
    })
    const { outcome, decisions } = await send(`http://127.0.0.1:${port}/`, { allow: [...local(port), '*'] })
    expect(failureOf(outcome)).toMatchObject({ class: 'policy', retryable: false })
    expect(failureOf(outcome).message).toContain(why)
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false])
  })

  it('a name is asked for once a hop, so that a second answer leads nowhere else', async () => {
    const { port, heard } = await site()
    let asked = 0
    const lookup: Lookup = async () => (asked++ === 0 ? ['127.0.0.1'] : ['169.254.169.254'])
    const allow = [`http://rebind.example:${port}`, ...local(port)]
    const first = await send(`http://rebind.example:${port}/a`, { allow, lookup })
    expect(first.outcome).toMatchObject({ type: 'done' })
    expect([asked, heard.length]).toEqual([1, 1])
    const second = await send(`http://rebind.example:${port}/b`, { allow, lookup })
    expect(failureOf(second.outcome).message).toContain('it leads to 169.254.169.254')
    expect(heard.length).toBe(1)
  })

  it('one bad address among good ones is enough to refuse', async () => {
    const lookup: Lookup = async () => ['93.184.216.34', '10.0.0.1']
    const { outcome } = await send('http://mixed.example/', { allow: ['*'], lookup })
    expect(failureOf(outcome).message).toContain('10.0.0.1 (a private network)')
  })

  it('at most five redirects are followed', async () => {
    const { port, heard } = await site((_, response) => {
      response.writeHead(302, { location: '/again' })
      response.end()
    })
    const { outcome } = await send(`http://127.0.0.1:${port}/`, { allow: local(port) })
    expect(failureOf(outcome).message).toBe('more than 5 redirects')
    expect(heard.length).toBe(6)
  })
})

describe('secrets', () => {
  const SECRET = 's3cret-Value/with+signs=='
  const bearer = { authorization: ['Bearer ', { secret: 'API' }] }

  it('are put in when it is sent, and taken out of all that comes back', async () => {
    const echo: RequestListener = (request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'x-echo': request.headers.authorization })
      const said = request.headers.authorization ?? ''
      response.end(JSON.stringify({ said, again: Buffer.from(said).toString('base64'), url: encodeURIComponent(said) }))
    }
    const { port, heard } = await site(echo)
    const spec = { url: `http://127.0.0.1:${port}/`, headers: bearer } as unknown as Json
    const { outcome, place } = await send(spec, { allow: local(port), secrets: { API: SECRET } })
    expect(heard[0]?.headers.authorization).toBe(`Bearer ${SECRET}`)
    expect(outcome).toMatchObject({
      outputs: { headers: { 'x-echo': 'Bearer [redacted]' }, json: { said: 'Bearer [redacted]' } },
    })
    const kept = JSON.stringify(outcome) + place.logged.map(({ chunk }) => chunk.toString()).join('')
    for (const form of [SECRET, encodeURIComponent(SECRET), Buffer.from(SECRET).toString('base64').slice(0, -4)])
      expect(kept).not.toContain(form)
  })

  it('go to no other server, nor does any other credential', async () => {
    const other = await site()
    const first = await site((_, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${other.port}/there` })
      response.end()
    })
    const headers = { ...bearer, 'x-key': [{ secret: 'API' }], cookie: 'a=b', 'x-kept': 'yes' }
    const spec = { url: `http://127.0.0.1:${first.port}/`, headers } as unknown as Json
    await send(spec, { allow: [...local(first.port), ...local(other.port)], secrets: { API: SECRET } })
    expect(first.heard[0]?.headers).toMatchObject({ 'x-key': SECRET, cookie: 'a=b' })
    expect(other.heard).toMatchObject([{ line: 'GET /there', headers: { 'x-kept': 'yes' } }])
    for (const name of ['authorization', 'x-key', 'cookie']) expect(other.heard[0]?.headers[name]).toBeUndefined()
  })

  it('a body that holds one is not sent on to another server', async () => {
    const other = await site()
    const first = await site((_, response) => {
      response.writeHead(308, { location: `http://127.0.0.1:${other.port}/` })
      response.end()
    })
    const spec = {
      method: 'POST',
      url: `http://127.0.0.1:${first.port}/`,
      body: ['token=', { secret: 'API' }],
      key: 'auto',
    }
    const allow = [...local(first.port), ...local(other.port)]
    const { outcome } = await send(spec as unknown as Json, { allow, secrets: { API: SECRET } })
    expect(failureOf(outcome).message).toContain('the body contains a secret')
    expect(other.heard).toEqual([])
  })

  it('one that the task does not name is not there, and one that would break the header is not sent', async () => {
    const { port, heard } = await site()
    const spec = { url: `http://127.0.0.1:${port}/`, headers: bearer } as unknown as Json
    const none = await send(spec, { allow: local(port) })
    expect(failureOf(none.outcome).message).toBe("the task does not name the secret 'API'")
    const bad = await send(spec, { allow: local(port), secrets: { API: 'abcdefgh\r\nx: y' } })
    expect(failureOf(bad.outcome).message).toBe(
      "the header 'authorization' contains a character that is not allowed in a header",
    )
    expect(heard).toEqual([])
  })

  it('a value that flows into a header cannot begin another one', async () => {
    const { port, heard } = await site()
    const spec = { url: `http://127.0.0.1:${port}/`, headers: { 'x-note': 'a\r\nx-admin: yes' } }
    const { outcome } = await send(spec, { allow: local(port) })
    expect(failureOf(outcome).class).toBe('policy')
    expect(heard).toEqual([])
  })
})

describe('hostile answers end the attempt, not the process', () => {
  it('an endless body', async () => {
    const { port } = await site((_, response) => {
      const more = (): void => {
        while (response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    })
    const { outcome } = await send(`http://127.0.0.1:${port}/`, { allow: local(port) })
    expect(failureOf(outcome).message).toContain('larger than 1048576 bytes')
  })

  it('a small body that decodes to a huge one', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    const { port } = await site((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      response.end(bomb)
    })
    const { outcome } = await send(`http://127.0.0.1:${port}/`, { allow: local(port) })
    expect(failureOf(outcome).message).toContain('larger than 1048576 bytes')
    const broken = await site((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      response.end('this is no gzip')
    })
    const wrong = await send(`http://127.0.0.1:${broken.port}/`, { allow: local(broken.port) })
    expect(failureOf(wrong.outcome).message).toContain('cannot be understood (Z_DATA_ERROR)')
  })

  it('a body that never comes, and one that trickles', async () => {
    const silent = await site((_, response) => {
      response.writeHead(200, { 'content-length': '10' })
      response.write('a')
    })
    const one = await send(`http://127.0.0.1:${silent.port}/`, { allow: local(silent.port), limits: { idleMs: 200 } })
    expect(failureOf(one.outcome).message).toContain('went silent')
    const slow = await site((_, response) => {
      const timer = setInterval(() => response.write('a'), 50)
      response.on('close', () => clearInterval(timer))
    })
    const other = await send(`http://127.0.0.1:${slow.port}/`, { allow: local(slow.port), timeoutMs: 500 })
    expect(failureOf(other.outcome)).toMatchObject({ code: 'timeout', message: 'no whole answer within 0.5 s' })
  })

  it('a body that ends by closing, when the timeout or a reset closes it', async () => {
    const place = setup()
    const head = (type: string) => `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nConnection: close\r\n\r\n[1,2]`
    const late = { code: 'timeout', message: 'no whole answer within 0.3 s' }
    const ways = [{ type: 'text/plain' }, { type: 'application/json' }, { type: 'text/plain', file: 'got.txt' }]
    for (const { type, file } of ways) {
      const port = await bare(socket => socket.write(head(type)))
      const { outcome } = await send(`http://127.0.0.1:${port}/`, {
        place,
        allow: local(port),
        timeoutMs: 300,
        ...(file === undefined ? {} : { definition: { outputs: { body: { from: 'file', file } } } }),
      })
      expect(failureOf(outcome)).toMatchObject(late)
    }
    expect(existsSync(join(place.tools.root, 'got.txt'))).toBe(false)
    const reset = await bare(socket =>
      socket.write(head('text/plain'), () => setTimeout(() => socket.resetAndDestroy(), 50)),
    )
    const cut = await send(`http://127.0.0.1:${reset}/`, { allow: local(reset) })
    expect(failureOf(cut.outcome)).toMatchObject({ class: 'transient', message: expect.stringContaining('ECONNRESET') })
  })

  it('a wrong length, headers without end, two lengths, and what is no HTTP', async () => {
    const short = await bare(socket => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello'))
    const one = await send(`http://127.0.0.1:${short}/`, { allow: local(short) })
    expect(failureOf(one.outcome).class).toBe('transient')
    const headers = await bare(socket => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const more = (): void => {
        while (socket.writable && socket.write(`x-${'y'.repeat(1_000)}: ${'z'.repeat(1_000)}\r\n`));
      }
      socket.on('drain', more)
      more()
    })
    const two = await send(`http://127.0.0.1:${headers}/`, { allow: local(headers) })
    expect(failureOf(two.outcome).message).toContain('more headers than are taken')
    const smuggler = await bare(socket =>
      socket.end(
        'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
      ),
    )
    const three = await send(`http://127.0.0.1:${smuggler}/`, { allow: local(smuggler) })
    expect(failureOf(three.outcome).message).toContain('cannot be understood')
    const noise = await bare(socket => socket.end('hello there\r\n\r\n'))
    const four = await send(`http://127.0.0.1:${noise}/`, { allow: local(noise) })
    expect(failureOf(four.outcome).message).toContain('cannot be understood')
  })

  it('stops when it is told to', async () => {
    const stopping = new AbortController()
    const { port } = await site(() => stopping.abort())
    const { outcome } = await send(`http://127.0.0.1:${port}/`, { allow: local(port), signal: stopping.signal })
    expect(outcome).toEqual({ type: 'interrupted' })
  })
})

describe('what must not be sent twice', () => {
  const dropped = async (spec: { [key: string]: Json }, definition: Partial<TaskDefinition> = {}) => {
    const port = await bare(socket => socket.destroy())
    const { outcome } = await send({ url: `http://127.0.0.1:${port}/`, ...spec }, { allow: local(port), definition })
    return failureOf(outcome)
  }

  it('is not, when the connection broke after it was sent', async () => {
    expect(await dropped({ method: 'POST', body: 'x' })).toMatchObject({
      class: 'unknown',
      retryable: false,
      message: expect.stringContaining('whether the server carried it out is not known'),
    })
  })

  it('with a key, a method that only reads, or the word of the plan it may be', async () => {
    const expected = { class: 'transient', retryable: true }
    expect(await dropped({ method: 'POST', body: 'x', key: 'auto' })).toMatchObject(expected)
    expect(await dropped({})).toMatchObject(expected)
    expect(await dropped({ method: 'PUT', body: 'x' }, { effect: 'idempotent' })).toMatchObject(expected)
  })

  it('nothing was sent where nobody listens', async () => {
    const { outcome } = await send({ method: 'POST', url: 'http://127.0.0.1:1/', body: 'x' }, { allow: local(1) })
    expect(failureOf(outcome)).toMatchObject({ class: 'transient', retryable: true, code: 'errno:ECONNREFUSED' })
  })
})

describe('a download', () => {
  const FILE = Buffer.from(Array.from({ length: 200_000 }, (_, at) => at % 251))
  const outputs = { archive: { from: 'file', file: 'data/archive.bin' } } as const
  const ranged =
    (asked: (string | undefined)[], end: (from: number) => number): RequestListener =>
    (request, response) => {
      asked.push(request.headers.range)
      const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
      const head = { etag: '"v1"', 'content-length': String(FILE.length - from) }
      const range = { 'content-range': `bytes ${from}-${FILE.length - 1}/${FILE.length}` }
      response.writeHead(from > 0 ? 206 : 200, from > 0 ? { ...head, ...range } : head)
      const until = end(from)
      if (until >= FILE.length) response.end(FILE.subarray(from))
      else response.write(FILE.subarray(from, until), () => setImmediate(() => response.destroy()))
    }

  it('that breaks off is continued by the next attempt, and is whole then', async () => {
    const asked: (string | undefined)[] = []
    const { port } = await site(ranged(asked, from => (from === 0 ? 70_000 : FILE.length)))
    const place = setup()
    const options = { allow: local(port), definition: { outputs }, write: ['data/**'], place }
    const url = `http://127.0.0.1:${port}/archive`
    const first = await send(url, options)
    expect(failureOf(first.outcome)).toMatchObject({ class: 'transient', retryable: true })
    expect(existsSync(join(place.root, 'data'))).toBe(false)
    const second = await send(url, options)
    expect(second.outcome).toMatchObject({ type: 'done', outputs: { status: 200 } })
    expect(readFileSync(join(place.root, 'data/archive.bin')).equals(FILE)).toBe(true)
    expect(asked[0]).toBeUndefined()
    expect(Number(/^bytes=(\d+)-$/.exec(asked[1] ?? '')?.[1])).toBeGreaterThan(0)
    expect(readdirSync(join(place.tools.stateDir, 'scratch', 'downloads'))).toEqual([])
  })

  it('that nobody goes on with is let go when there are many', async () => {
    const place = setup()
    const folder = join(place.tools.stateDir, 'scratch', 'downloads')
    mkdirSync(folder, { recursive: true })
    for (let at = 0; at < 30; at++) {
      writeFileSync(join(folder, `${at}.part`), 'x')
      writeFileSync(join(folder, `${at}.json`), '{}')
      utimesSync(join(folder, `${at}.part`), at, at)
    }
    const { port } = await site()
    const { outcome } = await send(`http://127.0.0.1:${port}/`, { allow: local(port), definition: { outputs }, place })
    expect(outcome).toMatchObject({ type: 'done' })
    const left = readdirSync(folder)
    expect([left.length, left.includes('29.part'), left.includes('0.part'), left.includes('0.json')]).toEqual([
      38,
      true,
      false,
      false,
    ])
  })

  it('begins anew when the file has changed meanwhile', async () => {
    const asked: (string | undefined)[] = []
    let isFirst = true
    const { port } = await site((request, response) => {
      if (isFirst) {
        isFirst = false
        ranged(asked, () => 70_000)(request, response)
        return
      }
      // If-Range does not hold: the whole of the new one.
      response.writeHead(200, { etag: '"v2"' })
      response.end('a new file')
    })
    const place = setup()
    const options = { allow: local(port), definition: { outputs }, place }
    await send(`http://127.0.0.1:${port}/archive`, options)
    const second = await send(`http://127.0.0.1:${port}/archive`, options)
    expect(second.outcome).toMatchObject({ type: 'done' })
    expect(readFileSync(join(place.root, 'data/archive.bin'), 'utf8')).toBe('a new file')
  })

  it('takes no other part than it asked for, and no more than it may', async () => {
    const place = setup()
    const options = { allow: ['http://127.0.0.1:*', '*'], definition: { outputs }, place }
    let isFirst = true
    const liar = await site((request, response) => {
      if (isFirst) {
        isFirst = false
        ranged([], () => 70_000)(request, response)
        return
      }
      response.writeHead(206, { 'content-range': `bytes 0-4/${FILE.length}`, 'content-length': '5' })
      response.end('hello')
    })
    const at = (port: number) => ({ ...options, allow: local(port) })
    await send(`http://127.0.0.1:${liar.port}/`, at(liar.port))
    const wrong = await send(`http://127.0.0.1:${liar.port}/`, at(liar.port))
    expect(failureOf(wrong.outcome).message).toContain('sent another part than was asked for')
    const endless = await site((_, response) => {
      const more = (): void => {
        while (response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    })
    const large = await send(`http://127.0.0.1:${endless.port}/`, {
      ...at(endless.port),
      limits: { fileBytes: 1_000_000 },
    })
    expect(failureOf(large.outcome).message).toContain('larger than 1000000 bytes')
    expect(existsSync(join(place.root, 'data'))).toBe(false)
    expect(readdirSync(join(place.tools.stateDir, 'scratch', 'downloads'))).toEqual([])
  })

  it('writes only in its scope, follows no link, and replaces what was there in one step', async () => {
    const { port } = await site()
    const place = setup()
    const url = `http://127.0.0.1:${port}/`
    const options = { allow: local(port), definition: { outputs }, place }
    const outside = await send(url, { ...options, write: ['other/**'] })
    expect(failureOf(outside.outcome).message).toContain('outside the write scope')
    mkdirSync(join(place.base, 'elsewhere'))
    symlinkSync(join(place.base, 'elsewhere'), join(place.root, 'data'))
    const linked = await send(url, options)
    expect(failureOf(linked.outcome).message).toContain('symbolic link')
    expect(readdirSync(join(place.base, 'elsewhere'))).toEqual([])
    const target = { from: 'file', file: 'plain.txt' } as const
    writeFileSync(join(place.root, 'plain.txt'), 'before')
    await send(url, { ...options, definition: { outputs: { plain: target } } })
    expect(readFileSync(join(place.root, 'plain.txt'), 'utf8')).toBe('hello\n')
  })

  it('of a server that sends a secret back leaves nothing of it anywhere', async () => {
    const secret = createHash('sha256').update('x').digest('hex')
    const { port } = await site((request, response) => {
      response.write(`${'-'.repeat(100)}${String(request.headers['x-key']).slice(0, 20)}`)
      setImmediate(() => response.end(String(request.headers['x-key']).slice(20)))
    })
    const place = setup()
    const spec = { url: `http://127.0.0.1:${port}/`, headers: { 'x-key': [{ secret: 'API' }] } } as unknown as Json
    const options = { allow: local(port), definition: { outputs }, place, secrets: { API: secret } }
    const { outcome } = await send(spec, options)
    expect(failureOf(outcome).message).toContain('contains a secret of the task')
    expect(existsSync(join(place.root, 'data'))).toBe(false)
    expect(readdirSync(join(place.tools.stateDir, 'scratch', 'downloads'))).toEqual([])
  })
})
