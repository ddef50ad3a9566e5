// Who comes in: tokens and their roles, browsers and their cookies, and nobody on behalf of another site.

import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Served, served } from '../server.fixture.ts'
import { type Browsers, openBrowsers, sessionFiles } from './browser-sign-in.ts'
import { type Bearer, guarded } from './guard.fixture.ts'
import { type From, isHere, openOrigins } from './origins.ts'
import { openTries } from './token-guard.ts'

const house = guarded()
const admin = house.token('ada', 'admin')
let service: Served
let ours: string
beforeAll(async () => {
  service = await served({ guard: house.guard })
  ours = service.url
})
afterAll(() => service.close())

/** A request whose every header is ours to choose, Host and Sec-Fetch-Site too. */
function call(
  method: string,
  path: string,
  headers: { readonly [name: string]: string | readonly string[] },
  body?: string,
): Promise<{ readonly status: number; readonly headers: NodeJS.Dict<string | string[]>; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(ours)
    const sent = { host: `127.0.0.1:${port}`, connection: 'close', ...headers }
    const asking = request(
      { host: '127.0.0.1', port, method, path, headers: sent as never, setHost: false },
      response => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
      },
    )
    asking.on('error', reject)
    asking.end(body)
  })
}

describe('a token', () => {
  test('its name is who acts', async () => {
    const { status, body } = await service.ask('GET', '/auth', undefined, admin)
    expect({ status, body }).toEqual({ status: 200, body: { actor: 'ada', role: 'admin', scope: null } })
  })

  test('without one nobody is let in, also where there is nothing', async () => {
    for (const path of ['/auth', '/nowhere', '/plans', '/health/x']) {
      const { status, headers, body } = await service.ask('GET', path)
      expect([path, status, body.type]).toEqual([path, 401, 'urn:planfold:problem:no-token'])
      expect(headers.get('www-authenticate')).toMatch(/^Bearer/)
      expect(body.hint).toMatch(/Authorization: Bearer/)
    }
  })

  test.each(['Bearer nonsense', 'Bearer', 'Basic YTpi', 'bearer  x y', `Bearer ${'x'.repeat(600)}`])(
    'one that is not known is refused: %s',
    async authorization => {
      const { status, headers, body } = await service.ask('GET', '/auth', undefined, { authorization })
      expect([status, body.type]).toEqual([401, 'urn:planfold:problem:unknown-token'])
      expect(headers.get('www-authenticate')).toMatch(/invalid_token/)
    },
  )

  test('one that expired is refused, and the answer says so', async () => {
    const old = house.token('old', 'admin', { expiresAt: house.now() - 1_000 })
    const { status, body } = await service.ask('GET', '/auth', undefined, old)
    expect([status, body.type]).toEqual([401, 'urn:planfold:problem:expired-token'])
    expect(body.detail).toMatch(/'old' expired at 20/)
  })

  test('one that was revoked is refused at once', async () => {
    const bo = house.token('bo', 'viewer')
    expect((await service.ask('GET', '/auth', undefined, bo)).status).toBe(200)
    house.revoke('bo')
    expect((await service.ask('GET', '/auth', undefined, bo)).status).toBe(401)
  })

  test.each(['/events', '/engine/entries?after=0'])('a stream at %s ends soon after its token', async path => {
    const kept = house.token('kept', 'viewer')
    const short = house.token('short', 'viewer', { expiresAt: house.now() + 60_000 })
    const revoked = house.token('revoked', 'viewer')
    const open = async (headers: Bearer) => (await fetch(service.url + path, { headers })).body!.getReader()
    const [staying, expiring, revoking] = [await open(kept), await open(short), await open(revoked)]
    const ended = (reader: typeof staying): Promise<void> =>
      reader.read().then(
        ({ done }) => (done ? undefined : ended(reader)),
        () => undefined,
      )
    let isOver = false
    void ended(staying).then(() => {
      isOver = true
    })
    house.revoke('revoked')
    await ended(revoking)
    house.advance(60_000)
    await ended(expiring)
    expect(isOver).toBe(false)
    house.revoke('kept')
  })

  test('a role that lacks the right is refused, and the answer names the role that has it', async () => {
    const viewer = house.token('vi', 'viewer')
    const { status, body } = await service.ask('GET', '/tokens', undefined, viewer)
    expect([status, body.type, body.needs]).toEqual([403, 'urn:planfold:problem:not-allowed', ['admin']])
    expect(body.hint).toBe('use one with the role admin')
  })

  test('is never taken from the address', async () => {
    const secret = admin.authorization.slice('Bearer '.length)
    expect((await service.ask('GET', `/auth?token=${secret}`)).status).toBe(401)
    expect((await service.ask('GET', `/auth?access_token=${secret}`)).status).toBe(401)
  })

  test('wrong ones by the hundred are slowed down, while the right one comes in', async () => {
    const own = guarded()
    const right = own.token('ada', 'admin')
    const other = await served({ guard: own.guard })
    try {
      const statuses: number[] = []
      for (let at = 0; at < 100; at++)
        statuses.push((await other.ask('GET', '/auth', undefined, { authorization: `Bearer ${at}` })).status)
      expect(statuses.slice(0, 30)).toEqual(Array(30).fill(401))
      expect(statuses.slice(30)).toEqual(Array(70).fill(429))
      expect((await other.ask('GET', '/auth', undefined, right)).status).toBe(200)
      own.advance(60_000)
      expect((await other.ask('GET', '/auth', undefined, { authorization: 'Bearer x' })).status).toBe(401)
    } finally {
      await other.close()
    }
  })
})

describe('a browser', () => {
  const json = { 'content-type': 'application/json' }
  const enter = async (code: string, origin: string = ours) =>
    await service.ask('POST', '/auth/code', { code }, { origin })

  async function signedIn(): Promise<string> {
    const { status, headers } = await enter(house.browsers.invite(house.hashOf('ada')).code)
    expect(status).toBe(204)
    return headers.get('set-cookie')!.split(';')[0]!
  }

  test('gets a cookie for a code, once', async () => {
    const { code } = house.browsers.invite(house.hashOf('ada'))
    const { status, headers } = await enter(code)
    expect(status).toBe(204)
    expect(headers.get('set-cookie')).toMatch(
      /^planfold_session_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    )
    const again = await enter(code)
    expect([again.status, again.headers.get('set-cookie'), again.body.type]).toEqual([
      401,
      null,
      'urn:planfold:problem:bad-code',
    ])
  })

  test('a code that is ten minutes old gets nothing', async () => {
    const { code } = house.browsers.invite(house.hashOf('ada'))
    house.advance(10 * 60_000)
    expect((await enter(code)).status).toBe(401)
  })

  test('a code sent by anything but a page of ours gets nothing, and stays unused', async () => {
    const { code } = house.browsers.invite(house.hashOf('ada'))
    expect((await service.ask('POST', '/auth/code', { code })).status).toBe(403)
    expect((await enter(code, 'http://evil.example')).status).toBe(403)
    expect((await enter(code)).status).toBe(204)
  })

  test('is known by its cookie until twelve hours are over', async () => {
    const cookie = await signedIn()
    expect((await service.ask('GET', '/auth', undefined, { cookie })).body).toMatchObject({ actor: 'ada' })
    expect((await service.ask('GET', '/auth', undefined, { cookie: `a=b; ${cookie}; c=d` })).status).toBe(200)
    house.advance(12 * 60 * 60_000)
    expect((await service.ask('GET', '/auth', undefined, { cookie })).status).toBe(401)
  })

  test('a forged cookie of the same name beside the right one changes nothing', async () => {
    const cookie = await signedIn()
    const both = { cookie: `${cookie.split('=')[0]}=forged; ${cookie}` }
    expect((await service.ask('GET', '/auth', undefined, both)).status).toBe(200)
  })

  test('changes something only for a page of ours', async () => {
    const cookie = await signedIn()
    const asking = (headers: { readonly [name: string]: string }) =>
      call('POST', '/auth/codes', { cookie, ...headers }).then(({ status }) => status)
    expect(await asking({})).toBe(403)
    expect(await asking({ 'sec-fetch-site': 'none' })).toBe(403)
    expect(await asking({ 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await asking({ origin: 'null' })).toBe(403)
    expect(await asking({ 'sec-fetch-site': 'same-origin' })).toBe(201)
    expect(await asking({ origin: ours })).toBe(201)
  })

  test('signs out: its cookie opens nothing any more', async () => {
    const cookie = await signedIn()
    const left = await service.ask('POST', '/auth/logout', undefined, { cookie, origin: ours })
    expect([left.status, left.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('Max-Age=0')])
    expect((await service.ask('GET', '/auth', undefined, { cookie })).status).toBe(401)
  })

  test('goes with the token it came in by', async () => {
    house.token('cy', 'viewer')
    const { headers } = await enter(house.browsers.invite(house.hashOf('cy')).code)
    const cookie = headers.get('set-cookie')!.split(';')[0]!
    expect((await service.ask('GET', '/auth', undefined, { cookie })).body.actor).toBe('cy')
    house.revoke('cy')
    expect((await service.ask('GET', '/auth', undefined, { cookie })).status).toBe(401)
  })

  test('under TLS its cookie is bound to the host', async () => {
    const from = { origin: 'https://plans.example.org', source: '', isOurPage: true }
    const entered = await house.browsers.enter(house.browsers.invite(house.hashOf('ada')).code, from)
    expect(entered).toEqual({
      cookie: expect.stringMatching(
        /^__Host-planfold_session_443=[\w-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+; Secure$/,
      ),
    })
  })

  describe('whose service is started again', () => {
    const at = (port: number): From => ({ origin: `http://127.0.0.1:${port}`, source: '', isOurPage: true })
    /** The service as it is each time it is started, at a time the test sets. */
    function starting() {
      const stateDir = join(mkdtempSync(join(tmpdir(), 'planfold-sessions-')), '.planfold')
      mkdirSync(stateDir)
      let time = 1_000_000
      const now = () => time
      const start = (): Browsers =>
        openBrowsers({
          now,
          random: randomBytes,
          tries: openTries(now),
          take: () => null,
          sessions: sessionFiles(stateDir, now),
        })
      const enter = async (browsers: Browsers, port = 8011): Promise<string> => {
        const entered = await browsers.enter(browsers.invite('a'.repeat(64)).code, at(port))
        if (!('cookie' in entered)) throw new Error(entered.problem.detail)
        return entered.cookie.split(';')[0]!
      }
      const folder = join(stateDir, 'server', 'sessions')
      const advance = (ms: number): void => {
        time += ms
      }
      return { start, enter, folder, advance }
    }

    test('stays signed in until its time is over; only hashes are on disk, for their owner', async () => {
      const { start, enter, folder, advance } = starting()
      const cookie = await enter(start())
      advance(12 * 60 * 60_000 - 1)
      const again = start()
      expect(again.tokenOf({ cookie }, at(8011))).toBe('a'.repeat(64))
      const [name, ...others] = readdirSync(folder)
      expect(others).toEqual([])
      const [path, secret] = [join(folder, name!), cookie.split('=')[1]!]
      expect(`${name} ${readFileSync(path, 'utf8')}`).not.toContain(secret)
      expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
      advance(1)
      expect([again, start()].map(one => one.tokenOf({ cookie }, at(8011)))).toEqual([null, null])
      // Who comes next clears it away.
      await enter(start())
      expect(readdirSync(folder)).not.toContain(name)
    })

    test('that signed out stays out, and a file that others may read lets nobody in', async () => {
      const { start, enter, folder } = starting()
      const first = start()
      const cookie = await enter(first)
      first.leave({ cookie }, at(8011))
      expect(start().tokenOf({ cookie }, at(8011))).toBeNull()
      expect(readdirSync(folder)).toEqual([])
      const other = await enter(first)
      chmodSync(join(folder, readdirSync(folder)[0]!), 0o644)
      expect(start().tokenOf({ cookie: other }, at(8011))).toBeNull()
    })

    test('has a cookie for each service on the host, and none signs out of the other', async () => {
      const { start, enter } = starting()
      const [one, two] = [start(), starting().start()]
      const both = { cookie: `${await enter(one, 8011)}; ${await enter(two, 8012)}` }
      expect([one.tokenOf(both, at(8011)), two.tokenOf(both, at(8012))]).toEqual(['a'.repeat(64), 'a'.repeat(64)])
      expect(two.leave(both, at(8012))).toMatch(/^planfold_session_8012=; /)
      expect([one.tokenOf(both, at(8011)), two.tokenOf(both, at(8012))]).toEqual(['a'.repeat(64), null])
    })

    test('is asked nothing for a cookie that could be no name of a file', () => {
      const { start } = starting()
      for (const value of ['', '../../token', 'x'.repeat(5_000), '%2e%2e'])
        expect(start().tokenOf({ cookie: `planfold_session_8011=${value}` }, at(8011))).toBeNull()
    })
  })

  test('whoever has a token gets a link of their own', async () => {
    const made = await service.ask('POST', '/auth/codes', undefined, admin)
    expect([made.status, made.body.link]).toEqual([201, `${ours}/#code=${made.body.code}`])
    expect(
      (await call('POST', '/auth/code', { ...json, origin: ours }, JSON.stringify({ code: made.body.code }))).status,
    ).toBe(204)
  })
})

describe('the page', () => {
  test('loads nothing from anywhere and cannot be framed', async () => {
    const { status, headers, body } = await service.ask('GET', '/')
    expect(status).toBe(200)
    const policy = headers.get('content-security-policy')!
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(body).not.toMatch(/(src|href)="(?!\/)/)
    const hash = (tag: string) => {
      const text = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(body)![1]!
      return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
    }
    expect(policy).toContain(`script-src ${hash('script')};`)
    expect(policy).toContain(`style-src ${hash('style')};`)
    expect(body.match(/<script|<style| on\w+=| style=/g)).toEqual(['<style', '<script'])
  })

  /** What the page does, with everything of a browser it touches written down. */
  async function opened(hash: string, answers: { readonly [asked: string]: number }): Promise<readonly string[]> {
    const { body } = await service.ask('GET', '/')
    const script = /<script>([\s\S]*?)<\/script>/.exec(body)![1]!
    const done: string[] = []
    const element = (id: string) => ({
      set textContent(text: string) {
        done.push(`${id}: ${text}`)
      },
      set hidden(is: boolean) {
        done.push(`${id} ${is ? 'hidden' : 'shown'}`)
      },
      addEventListener: () => {},
    })
    const browser = {
      location: { hash, pathname: '/' },
      history: { replaceState: (_: null, __: string, path: string) => done.push(`address ${path}`) },
      document: { getElementById: element },
      fetch: async (path: string, options: { readonly method?: string; readonly body?: string } = {}) => {
        const asked = `${options.method ?? 'GET'} ${path}`
        done.push(`${asked} ${options.body ?? ''}`.trim())
        const status = answers[asked] ?? 404
        const told = status < 300 ? { actor: 'ada', role: 'admin' } : { detail: 'no', hint: 'ask again' }
        return { ok: status < 300, status, json: async () => told }
      },
      URLSearchParams,
      JSON,
    }
    runInNewContext(script, browser)
    await new Promise(resolve => setImmediate(resolve))
    return done
  }

  test('takes the code out of the address before it asks, and says who is signed in', async () => {
    expect(await opened('#code=abc', { 'POST /auth/code': 204, 'GET /auth': 200 })).toEqual([
      'address /',
      'POST /auth/code {"code":"abc"}',
      'GET /auth',
      'state: Signed in as ada (admin).',
      'state shown',
      'links shown',
    ])
  })

  test('without a code, or with one that was used, says how to get another', async () => {
    expect(await opened('', { 'GET /auth': 401 })).toEqual([
      'GET /auth',
      expect.stringMatching(/^state: Not signed in. Open the link/),
      'state shown',
    ])
    expect(await opened('#code=old', { 'POST /auth/code': 401 })).toEqual([
      'address /',
      'POST /auth/code {"code":"old"}',
      'state: Not signed in: no. ask again',
      'state shown',
    ])
  })
})

describe('another site', () => {
  const port = (): string => new URL(ours).port
  const status = async (headers: { readonly [name: string]: string | readonly string[] }, path = '/auth') =>
    (await call('GET', path, { ...admin, ...headers })).status

  test('is not ours by any other name', async () => {
    for (const host of [
      'evil.example',
      `evil.example:${port()}`,
      `127.0.0.1`,
      `127.0.0.1:1`,
      '',
      `localhost.evil.example:${port()}`,
    ])
      for (const path of ['/auth', '/health', '/', '/nowhere'])
        expect([host, path, await status({ host }, path)]).toEqual([host, path, 421])
    for (const host of [`127.0.0.1:${port()}`, `localhost:${port()}`, `LOCALHOST:${port()}`, `[::1]:${port()}`])
      expect([host, await status({ host })]).toEqual([host, 200])
  })

  test('cannot ask in the name of a page', async () => {
    for (const origin of [
      'http://evil.example',
      'null',
      `http://localhost:${port()}`,
      `https://127.0.0.1:${port()}`,
      'http://127.0.0.1',
      `http://127.0.0.1:${port()}/`,
    ])
      for (const path of ['/auth', '/health', '/', '/nowhere'])
        expect([origin, path, await status({ origin }, path)]).toEqual([origin, path, 403])
    expect(await status({ origin: ours })).toBe(200)
  })

  test('cannot have a browser fetch, embed or submit', async () => {
    for (const site of ['cross-site', 'same-site', 'nonsense'])
      expect(await status({ 'sec-fetch-site': site })).toBe(403)
    for (const site of ['same-origin', 'none']) expect(await status({ 'sec-fetch-site': site })).toBe(200)
  })

  test('no other Host, Origin or site is taken, whatever it looks like', () => {
    const origins = openOrigins({ tls: false, hosts: ['plans.example.org'], proxy: 'https://proxy.example.org' })
    const hosts = ['127.0.0.1:8011', 'localhost:8011', '[::1]:8011', 'plans.example.org', 'plans.example.org:8011']
    const part = fc.constantFrom(
      '127.0.0.1',
      'localhost',
      ':8011',
      ':80',
      '.',
      '@',
      'evil',
      'plans.example.org',
      '\u0000',
      '[::1]',
      ' ',
      '//',
      '#',
      'proxy.example.org',
    )
    const odd = fc.oneof(
      fc.string(),
      fc.array(part, { maxLength: 4 }).map(parts => parts.join('')),
    )
    const check = (headers: IncomingMessage['headers']) => {
      const socket = { localPort: 8011, remoteAddress: '127.0.0.1' }
      return origins.check({ headers, socket, url: '/', rawHeaders: [] } as unknown as IncomingMessage)
    }
    fc.assert(
      fc.property(odd, odd, odd, (host, origin, site) => {
        const isOurs = hosts.includes(host.toLowerCase()) || host.toLowerCase() === 'proxy.example.org'
        expect('origin' in check({ host })).toBe(isOurs)
        expect('origin' in check({ host: 'localhost:8011', origin })).toBe(origin === 'http://localhost:8011')
        expect('origin' in check({ host: 'proxy.example.org', origin })).toBe(origin === 'https://proxy.example.org')
        expect('origin' in check({ host: 'localhost:8011', 'sec-fetch-site': site })).toBe(
          ['same-origin', 'none'].includes(site),
        )
      }),
      { numRuns: 500 },
    )
  })

  test('behind a proxy, who calls is what the proxy says last', () => {
    const origins = openOrigins({ tls: false, hosts: [], proxy: 'https://proxy.example.org' })
    const sourceAt = (host: string) => {
      const headers = { host, 'x-forwarded-for': '1.1.1.1, 2.2.2.2' }
      const socket = { localPort: 8011, remoteAddress: '127.0.0.1' }
      return origins.check({ headers, socket, url: '/', rawHeaders: [] } as unknown as IncomingMessage)
    }
    expect(sourceAt('proxy.example.org')).toMatchObject({ origin: 'https://proxy.example.org', source: '2.2.2.2' })
    expect(sourceAt('localhost:8011')).toMatchObject({ origin: 'http://localhost:8011', source: '127.0.0.1' })
  })

  test('a caller is on this machine under a name of this machine only, and from its own address', () => {
    const at = (origin: string, source: string): boolean => isHere({ origin, source, isOurPage: false })
    expect(at('http://127.0.0.1:8011', '127.0.0.1')).toBe(true)
    expect(at('http://localhost:8011', '::ffff:127.0.0.1')).toBe(true)
    expect(at('http://[::1]:8011', '::1')).toBe(true)
    expect(at('https://proxy.example.org', '127.0.0.1')).toBe(false)
    expect(at('http://127.0.0.1:8011', '192.168.1.7')).toBe(false)
    expect(isHere(undefined)).toBe(false)
  })

  test('gets no CORS, whatever it asks', async () => {
    const asked = await call('OPTIONS', '/plans', {
      origin: 'http://evil.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type, authorization',
    })
    expect(asked.status).toBe(403)
    for (const headers of [asked.headers, (await call('OPTIONS', '/auth', { ...admin, origin: ours })).headers])
      expect(Object.keys(headers).filter(name => name.startsWith('access-control'))).toEqual([])
    expect((await call('OPTIONS', '/auth', { ...admin })).status).toBe(405)
  })
})
