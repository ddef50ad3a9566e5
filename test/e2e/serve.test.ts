// `planfold serve` as a process: how it starts and stops, whom it lets in, and that what it has acknowledged is never lost, however
// it ends. Commands beside it, and services that do not come to stand, need no process.

import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { line } from '../../src/server/socket.fixture.ts'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'
import { lastingPort, type ServedProcess, serving } from './serve.fixture.ts'

const started: ServedProcess[] = []
async function start(folder: string, ...argv: readonly string[]): Promise<ServedProcess> {
  const service = await serving(folder, ...argv)
  started.push(service)
  return service
}
afterEach(async () => {
  for (const { kill, ended } of started.splice(0)) {
    kill('SIGKILL')
    await ended
  }
})

interface Asked {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
  readonly body: any
}

async function ask(url: string, method: string, path: string, body?: unknown, headers: object = {}): Promise<Asked> {
  const send = () =>
    fetch(url + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  // A service that stops closes connections that are kept open; one that a read was just sent on is opened again.
  const response = await send().catch(error => {
    if (method === 'GET' && error.cause?.code === 'ECONNRESET') return send()
    throw error
  })
  const text = await response.text()
  const isJson = (response.headers.get('content-type') ?? '').includes('json')
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}

/** The id of the first event of a stream that says this. */
async function hear(url: string, headers: object, words: string): Promise<string> {
  const gone = new AbortController()
  const stream = await fetch(`${url}/events`, { headers: { ...headers }, signal: gone.signal })
  if (stream.status !== 200) throw new Error(`the stream answered ${stream.status}`)
  let text = ''
  for await (const part of stream.body!.pipeThrough(new TextDecoderStream())) {
    text += part
    const found = text
      .split('\n\n')
      .slice(0, -1)
      .find(event => event.includes(words))
    const [, id] = /^id: ?(\S+)$/m.exec(found ?? '') ?? []
    if (id === undefined) continue
    gone.abort()
    return id
  }
  throw new Error(`the stream ended: ${text}`)
}

const document = (name: string, script: string, more: object = {}) => ({
  planfold: 1,
  name,
  tasks: [{ id: 'work', run: script, effect: 'pure', ...more }],
})

/** Until the plan stands so; the service tells of every change, so there is nothing to wait for but that. */
async function until(url: string, plan: string, is: (state: string) => boolean): Promise<string> {
  const stream = await fetch(`${url}/plans/${plan}/events?progress=false`)
  const reader = stream.body!.getReader()
  try {
    for (;;) {
      const { body } = await ask(url, 'GET', `/plans/${plan}`)
      if (is(body.state)) return body.state
      const { done } = await reader.read()
      if (done) throw new Error(`the stream ended while the plan was ${body.state}`)
    }
  } finally {
    await reader.cancel()
  }
}

describe('starting', () => {
  let here: Place
  beforeAll(async () => {
    here = await place()
  })
  afterAll(() => here.remove())

  test('prints the address, a link that works once, and where the token lies; a program comes in by the token', async () => {
    const service = await start(here.folder)
    const file = join(here.folder, '.planfold/server/token')
    expect(service.tokenFile).toBe(file)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(join(here.folder, '.planfold/server')).mode & 0o777).toBe(0o700)
    const token = readFileSync(file, 'utf8').trim()
    expect(service.link).not.toContain(token)
    expect(readFileSync(`/proc/${service.pid}/cmdline`, 'utf8')).not.toContain(token)
    expect((await ask(service.address, 'GET', '/plans')).status).toBe(401)
    const { status, body } = await ask(service.address, 'GET', '/auth', undefined, { authorization: `Bearer ${token}` })
    expect({ status, body }).toEqual({ status: 200, body: { actor: 'ana@example.com', role: 'admin', scope: null } })

    const code = new URL(service.link!).hash.slice('#code='.length)
    const origin = { origin: service.address }
    const first = await ask(service.address, 'POST', '/auth/code', { code }, origin)
    expect(first.status).toBe(204)
    const cookie = first.headers.get('set-cookie')!.split(';')[0]!
    expect((await ask(service.address, 'POST', '/auth/code', { code }, origin)).status).toBe(401)
    expect((await ask(service.address, 'GET', '/auth', undefined, { cookie })).body.actor).toBe('ana@example.com')

    service.kill('SIGTERM')
    expect(await service.ended).toEqual({ exit: 0, signal: null })
    expect(service.stderr()).not.toContain(token)
    const again = await start(here.folder)
    expect(readFileSync(file, 'utf8').trim()).toBe(token)
    expect((await ask(again.address, 'GET', '/auth', undefined, { cookie })).status).toBe(401)
  })

  test('what cannot be is told in one line, with a hint and an exit code', async () => {
    const service = await start(here.folder, '--no-auth')
    expect(service.link).toBe(null)
    const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
      [['--port', String(service.port)], 3, /is taken[^\n]*\nhint: choose another/],
      [
        ['--host', '192.0.2.1', '--tls-cert', 'x', '--tls-key', 'y'],
        2,
        /certificate 'x' cannot be read|'[^']*x' cannot be read/,
      ],
      [['--host', '0.0.0.0'], 3, /others on the network could read the tokens[^\n]*\nhint: add --tls-cert/],
      [['--no-auth', '--trusted-proxy', 'https://plans.example.org'], 3, /everybody could do everything/],
      [['--port', '70000'], 2, /0 to 65535/],
    ]
    for (const [argv, exit, message] of cases) {
      const said = await here.planfold('serve', '--port', '0', ...argv)
      expect([argv, said.exit, said.stdout]).toEqual([argv, exit, ''])
      expect(said.stderr).toMatch(message)
      expect(said.stderr.trim().split('\n').length).toBeLessThanOrEqual(2)
    }
    service.kill('SIGTERM')
    await service.ended
    expect(service.stderr()).toContain('anybody on this machine')
  })

  test('a browser stays signed in when the service is killed and started again, and its stream goes on', async () => {
    const first = await start(here.folder, '--port', String(await lastingPort()))
    const code = new URL(first.link!).hash.slice('#code='.length)
    const signed = await ask(first.address, 'POST', '/auth/code', { code }, { origin: first.address })
    expect(signed.status).toBe(204)
    const cookie = signed.headers.get('set-cookie')!.split(';')[0]!
    const page = { cookie, origin: first.address }
    const made = await ask(first.address, 'POST', '/plans', { ...document('seen', 'true'), name: 'seen' }, page)
    expect(made.status).toBe(201)
    const seen = await hear(first.address, { cookie, 'last-event-id': '0' }, '"plan_name":"seen"')
    first.kill('SIGKILL')
    await first.ended
    const again = await start(here.folder, '--port', String(first.port))
    expect(again.address).toBe(first.address)
    expect(await ask(again.address, 'GET', '/auth', undefined, { cookie })).toMatchObject({
      status: 200,
      body: { actor: 'ana@example.com', role: 'admin' },
    })
    // As EventSource asks again: with its cookie and the last id it saw.
    const noted = ask(again.address, 'POST', '/plans/seen/notes', { text: 'after the restart' }, page)
    const next = await hear(again.address, { cookie, 'last-event-id': seen }, 'after the restart')
    expect((await noted).status).toBe(201)
    expect(Number(next)).toBeGreaterThan(Number(seen))
    // Another service on the same host has a cookie of its own.
    const other = await start((await place()).folder)
    const others = new URL(other.link!).hash.slice('#code='.length)
    const there = await ask(other.address, 'POST', '/auth/code', { code: others }, { cookie, origin: other.address })
    expect(there.headers.get('set-cookie')!.split('=')[0]).not.toBe(cookie.split('=')[0])
  })

  test('a token file that others may read is refused', async () => {
    execFileSync('chmod', ['644', join(here.folder, '.planfold/server/token')])
    const said = await here.planfold('serve', '--port', '0')
    expect([said.exit, said.stderr]).toEqual([
      3,
      expect.stringMatching(/may be read or changed by others.*\nhint: .*chmod 600/),
    ])
    execFileSync('chmod', ['600', join(here.folder, '.planfold/server/token')])
  })

  test('another database and another workspace are taken when they are named', async () => {
    execFileSync('mkdir', ['-p', join(here.folder, 'work'), join(here.folder, 'kept')])
    const service = await start(here.folder, '--no-auth', '--database', 'kept/planfold.db', '--root', 'work')
    const where = document('where', 'pwd > here.txt', { effect: 'idempotent' })
    const made = await ask(service.address, 'POST', '/plans?start=true', where)
    expect(made.status).toBe(201)
    expect(await until(service.address, 'where', state => state === 'completed' || state === 'failed')).toBe(
      'completed',
    )
    expect((await here.read('work/here.txt')).trim()).toBe(join(here.folder, 'work'))
    expect(statSync(join(here.folder, 'kept/planfold.db')).isFile()).toBe(true)
    const link = await here.planfold('--dir', 'kept', 'token', 'link')
    expect([link.exit, link.stderr]).toEqual([3, expect.stringContaining('started with --no-auth')])
    const typo = await here.planfold('serve', '--port', '0', '--database', 'tpyo/kept')
    expect([typo.exit, typo.stderr]).toEqual([2, expect.stringContaining('for --database')])
  })
})

describe('one that stands', () => {
  let here: Place
  let service: ServedProcess
  beforeAll(async () => {
    here = await place()
    service = await serving(here.folder)
  })
  afterAll(async () => {
    service.kill('SIGKILL')
    await service.ended
    await here.remove()
  })

  test('tokens for others work at once, within their role, scope and time, and not after they are revoked', async () => {
    const made = (await here.json('serve', 'token', 'create', 'bo', '--role', 'viewer', '--expires', '30d')) as {
      token: string
    }
    const bo = { authorization: `Bearer ${made.token}` }
    expect((await ask(service.address, 'GET', '/auth', undefined, bo)).body).toMatchObject({
      actor: 'bo',
      role: 'viewer',
    })
    expect((await ask(service.address, 'POST', '/plans', document('p', 'true'), bo)).status).toBe(403)
    expect((await here.planfold('serve', 'token', 'create', 'bo', '--role', 'admin')).exit).toBe(3)
    const { items } = (await here.json('serve', 'token', 'list')) as { items: readonly object[] }
    expect(items).toEqual([expect.objectContaining({ name: 'bo', role: 'viewer', scope: null })])
    expect(JSON.stringify(items)).not.toContain(made.token)
    await here.planfold('serve', 'token', 'create', 'endless', '--role', 'viewer')
    expect((await here.planfold('serve', 'token', 'list')).stdout).toMatch(/endless +viewer +all +never/)
    await here.planfold('serve', 'token', 'revoke', 'endless')

    const { link } = (await here.json('serve', 'token', 'link', 'bo')) as { link: string }
    const code = new URL(link).hash.slice('#code='.length)
    const entered = await ask(service.address, 'POST', '/auth/code', { code }, { origin: service.address })
    const cookie = entered.headers.get('set-cookie')!.split(';')[0]!
    expect((await ask(service.address, 'GET', '/auth', undefined, { cookie })).body.actor).toBe('bo')
    expect((await ask(service.address, 'POST', '/auth/code', { code }, { origin: service.address })).status).toBe(401)

    expect((await here.planfold('serve', 'token', 'revoke', 'bo')).exit).toBe(0)
    expect((await ask(service.address, 'GET', '/auth', undefined, bo)).status).toBe(401)
    expect((await ask(service.address, 'GET', '/auth', undefined, { cookie })).status).toBe(401)
  })

  test('a token for one plan shows that one only', async () => {
    const owner = { authorization: `Bearer ${readFileSync(service.tokenFile!, 'utf8').trim()}` }
    for (const name of ['mine', 'theirs'])
      expect((await ask(service.address, 'POST', '/plans', document(name, 'true'), owner)).status).toBe(201)
    const made = (await here.json('serve', 'token', 'create', 'di', '--role', 'operator', '--plan', 'mine')) as {
      token: string
    }
    const di = { authorization: `Bearer ${made.token}` }
    expect((await ask(service.address, 'GET', '/plans/mine', undefined, di)).status).toBe(200)
    expect((await ask(service.address, 'GET', '/plans/theirs', undefined, di)).status).toBe(404)
    const { body } = await ask(service.address, 'GET', '/plans', undefined, di)
    expect(body.items.map(({ name }: { name: string }) => name)).toEqual(['mine'])
  })

  test('the README says what works: its block of the service, as it stands there', async context => {
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
    const block = /```text\n(TOKEN=[\s\S]*?)```/.exec(readme)?.[1]
    if (block === undefined) throw new Error('the README shows no use of the service')
    try {
      execFileSync('curl', ['--version'])
    } catch {
      context.skip('curl is not installed')
    }
    // The stream goes on for ever: whoever tries it out listens for a moment.
    const script = block.replaceAll('http://127.0.0.1:8011', service.address).replace('curl -N', 'curl -s -m 2 -N')
    const said = spawnSync('bash', ['-c', script], { cwd: here.folder, encoding: 'utf8' }).stdout
    expect(said).toMatch(/"status":"draft"/)
    expect(said).toMatch(/^event: plan\.created$/m)
  })
})

const hasOpenssl = (() => {
  try {
    return execFileSync('openssl', ['version']).length > 0
  } catch {
    return false
  }
})()

describe.skipIf(!hasOpenssl)('under TLS', () => {
  let here: Place
  beforeAll(async () => {
    here = await place()
    const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
    const subject = ['-subj', '/CN=localhost', '-keyout', 'key.pem', '-out', 'cert.pem']
    execFileSync('openssl', ['req', ...made, ...subject], { cwd: here.folder, stdio: 'ignore' })
  })
  afterAll(() => here.remove())

  test('others come in on any address, and cookies are for this host and TLS alone', async () => {
    const tls = ['--tls-cert', 'cert.pem', '--tls-key', 'key.pem']
    const service = await start(here.folder, '--host', '0.0.0.0', ...tls)
    expect(service.address).toBe(`https://localhost:${service.port}`)
    const ca = readFileSync(join(here.folder, 'cert.pem'))
    const over = (path: string, headers: object, body?: string) =>
      new Promise<{ status: number; cookie: string }>((resolve, reject) => {
        const options = {
          host: 'localhost',
          family: 4,
          port: service.port,
          servername: 'localhost',
          path,
          ca,
          headers: headers as never,
        }
        const asking = request({ ...options, method: body === undefined ? 'GET' : 'POST' }, response => {
          response.resume()
          response.on('end', () =>
            resolve({ status: response.statusCode!, cookie: String(response.headers['set-cookie'] ?? '') }),
          )
        })
        asking.on('error', reject)
        asking.end(body)
      })
    expect((await over('/health', {})).status).toBe(200)
    expect((await over('/health', { host: 'evil.example' })).status).toBe(421)
    const code = new URL(service.link!).hash.slice('#code='.length)
    const headers = { 'content-type': 'application/json', origin: service.address }
    const { status, cookie } = await over('/auth/code', headers, JSON.stringify({ code }))
    expect([status, cookie]).toEqual([204, expect.stringMatching(/^__Host-planfold_session_\d+=.*; Secure$/)])
    // Whoever speaks no TLS gets no answer, and disturbs nobody.
    const plain = await line(`http://127.0.0.1:${service.port}`)
    plain.send('GET /health HTTP/1.1\r\n\r\n')
    await plain.closed
    expect((await over('/auth', { cookie: cookie.split(';')[0]! })).status).toBe(200)
  })

  test('a key that is not that of the certificate, or that anybody may read, is refused', async () => {
    execFileSync('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', 'other.pem'], {
      cwd: here.folder,
    })
    execFileSync('chmod', ['600', 'other.pem'], { cwd: here.folder })
    const other = await here.planfold('serve', '--port', '0', '--tls-cert', 'cert.pem', '--tls-key', 'other.pem')
    expect([other.exit, other.stderr]).toEqual([2, expect.stringContaining('cannot be used')])
    execFileSync('chmod', ['644', 'key.pem'], { cwd: here.folder })
    const wide = await here.planfold('serve', '--port', '0', '--tls-cert', 'cert.pem', '--tls-key', 'key.pem')
    expect([wide.exit, wide.stderr]).toEqual([2, expect.stringContaining('may be read by anybody')])
  })
})

describe('stopping', () => {
  let here: Place
  beforeAll(async () => {
    here = await place()
  })
  afterAll(() => here.remove())

  test('lets answers under way end, ends streams, rests plans and leaves them active; the next start goes on', async () => {
    const service = await start(here.folder, '--no-auth')
    const waits = document('waits', 'while [ ! -e go ]; do sleep 0.02; done')
    expect((await ask(service.address, 'POST', '/plans?start=true', waits)).status).toBe(201)
    const stream = await fetch(`${service.address}/plans/waits/events?after=0`)
    const reader = stream.body!.getReader()
    let heard = ''
    while (!heard.includes('attempt.started')) heard += Buffer.from((await reader.read()).value!).toString()
    const slow = await line(service.address)
    slow.send(
      `POST /sessions HTTP/1.1\r\nHost: 127.0.0.1:${service.port}\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"id"`,
    )
    // One that is answered before: the request above has then been read, too.
    expect((await ask(service.address, 'GET', '/health')).status).toBe(200)

    service.kill('SIGTERM')
    for (;;) if ((await reader.read()).done) break
    // The stream has ended, so it stops; while an answer is under way, whoever asks is told so.
    expect(await ask(service.address, 'GET', '/ready')).toMatchObject({ status: 503, body: { status: 'stopping' } })
    expect((await ask(service.address, 'GET', '/health')).status).toBe(200)
    const late = await ask(service.address, 'POST', '/sessions', { id: 'late' })
    expect([late.status, late.body.type, late.headers.get('retry-after')]).toEqual([
      503,
      'urn:planfold:problem:stopping',
      '1',
    ])
    slow.send(':"begun"}')
    const answered = await slow.heard()
    expect(answered).toMatch(/^HTTP\/1\.1 201 /)
    expect(answered).toMatch(/connection: close/i)
    expect(await service.ended).toEqual({ exit: 0, signal: null })
    await expect(fetch(`${service.address}/health`)).rejects.toThrow()
    const lines = service.stderr().trim().split('\n')
    expect(lines.map(text => JSON.parse(text))).toMatchObject([
      { level: 'warn', msg: expect.stringContaining('anybody on this machine') },
      { level: 'info', msg: expect.stringContaining('stopping') },
      { level: 'info', msg: 'stopped' },
    ])

    const status = (await here.json('status', 'waits')) as { status: string; holder: unknown }
    expect(status).toMatchObject({ status: 'active', holder: null })
    await here.write('go', '')
    const next = await start(here.folder, '--no-auth')
    expect(await until(next.address, 'waits', state => state !== 'active')).toBe('completed')
    expect((await ask(next.address, 'GET', '/sessions/begun')).status).toBe(200)
    expect((await ask(next.address, 'GET', '/sessions/late')).status).toBe(404)
  })

  test('waits for what may not be run twice, until it is told again', async () => {
    const service = await start(here.folder, '--no-auth')
    const unsafe = document('unsafe', 'echo > unsafe-begun; sleep 60', { effect: 'unsafe' })
    expect((await ask(service.address, 'POST', '/plans?start=true', unsafe)).status).toBe(201)
    const stream = await fetch(`${service.address}/plans/unsafe/events?after=0`)
    const reader = stream.body!.getReader()
    let heard = ''
    while (!heard.includes('attempt.started')) heard += Buffer.from((await reader.read()).value!).toString()
    service.kill('SIGTERM')
    for (;;) if ((await reader.read()).done) break
    service.kill('SIGTERM')
    expect(await service.ended).toEqual({ exit: 0, signal: null })
    const { waiting } = (await here.json('status', 'unsafe')) as { waiting: readonly object[] }
    expect(JSON.stringify(waiting)).toContain('work')
  })
})

describe('killing it', () => {
  const ROUNDS = Number(process.env.PLANFOLD_KILLS ?? (process.env.PLANFOLD_CRASH === 'all' ? 6 : 2))
  const WRITERS = 8

  /** Plans by some, tasks of one draft by others; each write has a name of its own, which is its key too. */
  const written = (name: string) =>
    name.startsWith('plan')
      ? { path: '/plans', body: document(name, 'true') }
      : { path: '/tasks', body: { plan_id: 'draft', title: name, task_type: 'load' } }

  async function everything(url: string, path: string, nameOf: string): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    for (let cursor = ''; ; ) {
      const { body } = await ask(url, 'GET', `${path}limit=200${cursor}`)
      for (const item of body.items) {
        expect([item[nameOf], found.has(item[nameOf])]).toEqual([item[nameOf], false])
        found.set(item[nameOf], item.id)
      }
      if (body.next === null) return found
      cursor = `&cursor=${encodeURIComponent(body.next)}`
    }
  }

  test(
    'in a load of writes loses nothing that was acknowledged, and repeats nothing under the same key',
    async () => {
      const here = await place()
      try {
        const acknowledged = new Map<string, string>()
        const doubtful: string[] = []
        let count = 0
        for (let round = 0; round < ROUNDS; round++) {
          const service = await start(here.folder, '--no-auth', '--log-level', 'silent')
          const write = async (name: string): Promise<boolean> => {
            const { path, body } = written(name)
            const made = await ask(service.address, 'POST', path, body, { 'idempotency-key': name }).catch(() => null)
            if (made === null) return false
            if (made.status !== 201) throw new Error(`${made.status} ${JSON.stringify(made.body)}`)
            acknowledged.set(name, made.body.id)
            return true
          }
          if (round === 0)
            expect(
              (await ask(service.address, 'POST', '/plans', { name: 'draft', goal_id: 'g', steps: [] })).status,
            ).toBe(201)
          // What got no answer in the round before is asked again.
          for (const name of doubtful.splice(0)) expect(await write(name)).toBe(true)
          const goal = acknowledged.size + 60 + 37 * round
          await Promise.all(
            Array.from({ length: WRITERS }, async (_, writer) => {
              for (;;) {
                const name = `${writer % 2 === 0 ? 'plan' : 'task'}-${++count}`
                if (!(await write(name))) {
                  doubtful.push(name)
                  return
                }
                if (acknowledged.size === goal) service.kill('SIGKILL')
              }
            }),
          )
          expect((await service.ended).signal).toBe('SIGKILL')
        }
        const service = await start(here.folder, '--no-auth')
        const stored = new Map([
          ...(await everything(service.address, '/plans?', 'name')),
          ...(await everything(service.address, '/tasks?plan_id=draft&', 'title')),
        ])
        stored.delete('draft')
        expect(acknowledged.size).toBeGreaterThan(ROUNDS * 60)
        expect([...acknowledged].filter(([name, id]) => stored.get(name) !== id)).toEqual([])
        // Made and not acknowledged may be there, each once; nothing else is.
        const known = new Set([...acknowledged.keys(), ...doubtful])
        expect([...stored.keys()].filter(name => !known.has(name))).toEqual([])
        service.kill('SIGTERM')
        await service.ended
        expect((await here.planfold('doctor', 'store')).exit).toBe(0)
      } finally {
        await here.remove()
      }
    },
    600_000 + 10_000 * ROUNDS,
  )
})

describe('two services on one store', () => {
  test('show the same, drive each plan once, and hear of each other', async () => {
    const here = await place()
    try {
      const [a, b] = await Promise.all([start(here.folder, '--no-auth'), start(here.folder, '--no-auth')])
      const stream = await fetch(`${b.address}/events?after=0&progress=false`)
      const reader = stream.body!.getReader()
      for (let at = 0; at < 10; at++) {
        const [to, from] = at % 2 === 0 ? [a, b] : [b, a]
        const one = document(`plan-${at}`, `echo ${at} >> ran.txt`, { effect: 'unsafe' })
        expect((await ask(to.address, 'POST', '/plans?start=true', one)).status).toBe(201)
        expect((await ask(from.address, 'GET', `/plans/plan-${at}`)).body.name).toBe(`plan-${at}`)
      }
      let heard = ''
      while (heard.split('event: plan.finished').length <= 10)
        heard += Buffer.from((await reader.read()).value!).toString()
      await reader.cancel()
      const ran = (await here.read('ran.txt')).trim().split('\n').map(Number)
      expect(ran.sort((x, y) => x - y)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    } finally {
      for (const { kill, ended } of started.splice(0)) {
        kill('SIGTERM')
        expect((await ended).exit).toBe(0)
      }
      await here.remove()
    }
  })
})
