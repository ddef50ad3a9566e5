import { existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openProxy, proxyNotice } from './network-proxy.ts'
import { echo, listening, opened, site } from './proxy.fixture.ts'

const nowhere = async (): Promise<readonly string[]> => {
  throw new Error('no name may be resolved here')
}

describe('what is allowed', () => {
  it('a plain request goes on with its method, path, headers and body, and without what is meant for the proxy', async () => {
    const { port, heard } = await site()
    const { say, told } = await opened({ allow: [`http://127.0.0.1:${port}`], lookup: nowhere })
    const said = await say(
      `POST http://127.0.0.1:${port}/a/../b?q=1 HTTP/1.1\r\nHost: elsewhere.example\r\nX-Own: yes\r\nX-Hop: no\r\n` +
        'Proxy-Authorization: Basic secret\r\nConnection: close, x-hop\r\nContent-Length: 4\r\n\r\nbody',
    )
    expect(said).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(said).toContain('hello\n')
    expect(heard).toEqual([
      {
        line: 'POST /b?q=1',
        body: 'body',
        headers: { host: `127.0.0.1:${port}`, 'x-own': 'yes', 'content-length': '4', connection: 'close' },
      },
    ])
    expect(told).toEqual([
      {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: '/b',
        allowed: true,
        why: 'a rule allows it',
        rule: `http://127.0.0.1:${port}`,
      },
    ])
  })

  it('a tunnel carries bytes both ways and ends on both sides', async () => {
    const { port } = await echo()
    const { tunnel, told } = await opened({ allow: [`tcp://127.0.0.1:${port}`], lookup: nowhere })
    const { head, ask, socket } = await tunnel(`127.0.0.1:${port}`)
    expect(head).toBe('HTTP/1.1 200 Connection established\r\n\r\n')
    expect(await ask('one')).toBe('one')
    expect(await ask('two')).toBe('two')
    const ended = new Promise(resolve => socket.once('end', resolve))
    socket.end()
    await ended
    expect(told).toMatchObject([{ method: 'CONNECT', host: '127.0.0.1', port, allowed: true }])
  })

  it('a tunnel that only an https rule allows must begin as TLS, also when the bytes come one by one', async () => {
    const { port, connections } = await echo()
    const rule = `https://127.0.0.1:${port}`
    const plain = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
    const { tunnel, told } = await opened({ allow: [rule], lookup: nowhere })
    const { head, ask } = await tunnel(`127.0.0.1:${port}`)
    expect(head).toMatch(/^HTTP\/1\.1 200/)
    expect(await ask(plain)).toContain(
      `planfold: asked for 127.0.0.1:${port}: not allowed (${rule} allows only TLS connections, and this one is not encrypted); allow with`,
    )
    expect(told.at(-1)).toMatchObject({ port, method: 'CONNECT', allowed: false, allowWith: `127.0.0.1:${port}` })
    const tls = await tunnel(`127.0.0.1:${port}`)
    tls.socket.write('\x16')
    await vi.waitFor(() => expect(connections()).toBe(2))
    expect(await tls.ask('\x03\x01hello')).toBe('\x16\x03\x01hello')
    // A layer around that says https holds a wider rule to it, and a wider rule beside it allows any bytes.
    const layer = { allow: [rule], unknown: 'deny', who: 'the project' } as const
    const around = await opened({ allow: [`127.0.0.1:${port}`], within: [layer], lookup: nowhere })
    expect(await (await around.tunnel(`127.0.0.1:${port}`)).ask(plain)).toContain('allows only TLS')
    const both = await opened({ allow: [rule, `tcp://127.0.0.1:${port}`], lookup: nowhere })
    expect(await (await both.tunnel(`127.0.0.1:${port}`)).ask(plain)).toBe(plain)
  })

  it('method and path of plain HTTP are held to; a tunnel to the same port is not allowed by such a rule', async () => {
    const { port, heard } = await site()
    const at = `http://127.0.0.1:${port}`
    const { get, say, tunnel } = await opened({ allow: [`GET ${at}/pkg/*`], lookup: nowhere })
    expect(await get(`${at}/pkg/a`)).toMatch(/^HTTP\/1\.1 200/)
    for (const path of ['/', '/other', '/pkg/../other', '/pkg/%2e%2e/other', '/pkg/..%2fother'])
      expect(await get(`${at}${path}`), path).toMatch(/^HTTP\/1\.1 403/)
    expect(await say(`POST ${at}/pkg/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 403/)
    expect((await tunnel(`127.0.0.1:${port}`)).head).toMatch(/^HTTP\/1\.1 403/)
    expect(heard.map(({ line }) => line)).toEqual(['GET /pkg/a'])
  })

  it('a client that goes on after an answer is judged again on the same connection', async () => {
    const { port, heard } = await site()
    const { say } = await opened({ allow: [`http://127.0.0.1:${port}/a`], lookup: nowhere })
    const said = await say(
      `GET http://127.0.0.1:${port}/a HTTP/1.1\r\nHost: x\r\n\r\nGET http://127.0.0.1:${port}/b HTTP/1.1\r\nHost: x\r\n\r\n`,
    )
    expect(said.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 403'])
    expect(heard.map(({ line }) => line)).toEqual(['GET /a'])
  })
})

describe('what is not', () => {
  it('is told with what was asked for, and how it is allowed', async () => {
    const { tunnel, get, told, proxy } = await opened({ allow: [], lookup: nowhere })
    expect((await tunnel('Example.org.:443')).head).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/)
    expect(await get('http://example.org/x?secret=1')).toContain(
      'planfold: asked for example.org:80: not allowed (no rule allows it); allow with `allow http://example.org`\n',
    )
    await get('http://example.org/x?secret=2')
    const no = { host: 'example.org', allowed: false, why: 'no rule allows it' }
    expect(told).toEqual([
      { ...no, port: 443, method: 'CONNECT', allowWith: 'https://example.org' },
      { ...no, port: 80, method: 'GET', path: '/x', allowWith: 'http://example.org' },
    ])
    expect(proxy.decisions().map(({ method, count }) => [method, count])).toEqual([
      ['CONNECT', 1],
      ['GET', 2],
    ])
  })

  // A45 and A46: every spelling of this machine and of the metadata service, with a rule that allows any host.
  it.each([
    ...['127.0.0.1', 'localhost', 'LOCALHOST.', '[::1]', '0', '127.1', '2130706433', '0x7f.1', '0177.0.0.1'],
    ...['①②⑦.⓪.⓪.①', '127。0。0。1', '169.254.169.254', '2852039166', '[::ffff:a9fe:a9fe]', 'metadata.google.internal'],
    ...['100.100.100.200', '[fd00:ec2::254]', '10.0.0.1', '192.168.1.1', '172.16.0.1', '[fe80::1]', '[::127.0.0.1]'],
    ...[
      '[::ffff:127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '0.0.0.0',
      '[::]',
      '224.0.0.1',
      '255.255.255.255',
    ],
  ])('%s is refused though every host is allowed', async host => {
    const names: { readonly [name: string]: readonly string[] } = {
      localhost: ['127.0.0.1', '::1'],
      'metadata.google.internal': ['169.254.169.254'],
    }
    const { port, heard } = await site()
    const { get, tunnel, told } = await opened({ allow: ['*'], lookup: async name => names[name] ?? [] })
    const written = Buffer.from(host, 'utf8').toString('latin1')
    expect(await get(`http://${written}:${port}/`)).toMatch(/^HTTP\/1\.1 (403|400)/)
    expect((await tunnel(`${written}:${port}`)).head).toMatch(/^HTTP\/1\.1 (403|400)/)
    expect(heard).toEqual([])
    expect(told.filter(({ allowed }) => allowed)).toEqual([])
  })

  it.each(['user@127.0.0.1', '127.0.0.1%00.example.org', '127.0.0.1\\@example.org', 'a b', '127.0.0.1#.example.org'])(
    'the host %j is refused as it is written',
    async host => {
      const { port, heard } = await site()
      const { get, tunnel } = await opened({ allow: ['*', `127.0.0.1:${port}`], lookup: nowhere })
      expect(await get(`http://${host}:${port}/`)).not.toMatch(/^HTTP\/1\.1 200/)
      expect((await tunnel(`${host}:${port}`)).head).not.toMatch(/^HTTP\/1\.1 200/)
      expect(heard).toEqual([])
    },
  )

  it('a host with NUL in it never gets further than the parser', async () => {
    const { say, told } = await opened({ allow: ['*'], lookup: nowhere })
    expect(await say('CONNECT evil.example\0.example.org:443 HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1\.1 400/)
    expect(told).toMatchObject([{ allowed: false, why: 'the request cannot be understood' }])
  })

  it('https in a plain request, other schemes and requests without a host are refused', async () => {
    const { get, told } = await opened({ allow: ['*'], lookup: nowhere })
    for (const url of ['https://example.org/', 'file:///etc/passwd', 'gopher://example.org/', '/', '*'])
      expect(await get(url), url).toMatch(/^HTTP\/1\.1 400/)
    expect(told.map(({ host, allowed }) => `${host} ${allowed}`)).toContain('file:///etc/passwd false')
  })
})

describe('names', () => {
  it('are resolved once, and the connection goes to an address that was looked at', async () => {
    const first = await site()
    const second = await site(undefined, '127.0.0.2', first.port)
    let asked = 0
    // The name server changes its mind: the first answer is allowed, the next one is not.
    const lookup = async () => [++asked === 1 ? '127.0.0.1' : '127.0.0.2']
    const { get, told } = await opened({
      allow: ['*', `127.0.0.1:${first.port}`],
      lookup,
    })
    expect(await get(`http://rebind.example:${first.port}/`)).toMatch(/^HTTP\/1\.1 200/)
    expect(asked).toBe(1)
    expect(first.heard).toMatchObject([{ headers: { host: `rebind.example:${first.port}` } }])
    expect(await get(`http://rebind.example:${first.port}/`)).toContain(
      'it leads to 127.0.0.2 (this machine), and no rule names that address',
    )
    expect(second.heard).toEqual([])
    expect(told.at(-1)).toMatchObject({ allowed: false, allowWith: `http://127.0.0.2:${first.port}` })
  })

  it('one bad address among good ones refuses all of them', async () => {
    const { port, heard } = await site()
    const lookup = async () => ['127.0.0.1', '10.0.0.1']
    const { get } = await opened({ allow: [`mixed.example:${port}`, `127.0.0.1:${port}`], lookup })
    expect(await get(`http://mixed.example:${port}/`)).toContain('it leads to 10.0.0.1 (a private network)')
    expect(heard).toEqual([])
  })

  it('are not resolved when no rule allows them: a name alone can carry a secret away', async () => {
    let asked = 0
    const lookup = async () => [`10.0.0.${++asked}`]
    const { tunnel } = await opened({ allow: ['example.org'], lookup })
    expect((await tunnel('secret.attacker.example:443')).head).toMatch(/^HTTP\/1\.1 403/)
    expect(asked).toBe(0)
  })

  it('localhost is named by a rule that says localhost, and by no other', async () => {
    const { port } = await site()
    const lookup = async () => ['127.0.0.1']
    const named = await opened({ allow: [`localhost:${port}`], lookup })
    expect(await named.get(`http://localhost:${port}/`)).toMatch(/^HTTP\/1\.1 200/)
    const other = await opened({ allow: [`evil.example:${port}`], lookup })
    expect(await other.get(`http://evil.example:${port}/`)).toMatch(/^HTTP\/1\.1 403/)
  })

  it('that nobody has are told as such', async () => {
    const { tunnel, told } = await opened({ allow: ['gone.example'], lookup: nowhere })
    expect((await tunnel('gone.example:443')).head).toMatch(/^HTTP\/1\.1 502/)
    expect(told).toMatchObject([{ allowed: true, why: 'a rule allows it, but there is no such host' }])
  })
})

// A48
it('a redirect is an answer: whoever follows it is judged anew', async () => {
  const { port, heard } = await site((request, response) => {
    const to = request.url === '/1' ? `http://127.0.0.1:${port}/2` : 'http://169.254.169.254/latest/meta-data'
    response.writeHead(302, { location: to }).end()
  })
  const { get } = await opened({ allow: ['*', `127.0.0.1:${port}`] })
  const follow = async (url: string): Promise<string> => {
    const said = await get(url)
    const next = /^location: (\S+)/im.exec(said)?.[1]
    return next === undefined ? said : await follow(next)
  }
  expect(await follow(`http://127.0.0.1:${port}/1`)).toContain('asked for 169.254.169.254:80: not allowed')
  expect(heard.map(({ line }) => line)).toEqual(['GET /1', 'GET /2'])
})

describe('a person who is asked', () => {
  it('may say yes, once for all connections that wait', async () => {
    const { port } = await echo()
    let questions = 0
    let say = (_yes: boolean): void => {}
    const answer = new Promise<boolean>(resolve => {
      say = resolve
    })
    const { tunnel } = await opened({
      allow: [],
      ask: async target => {
        questions += 1
        expect(target).toEqual({ host: '127.0.0.1', port, request: null })
        return await answer
      },
    })
    const waiting = [tunnel(`127.0.0.1:${port}`), tunnel(`127.0.0.1:${port}`)]
    say(true)
    for (const one of waiting) expect((await one).head).toMatch(/^HTTP\/1\.1 200/)
    expect((await tunnel(`127.0.0.1:${port}`)).head).toMatch(/^HTTP\/1\.1 200/)
    expect(questions).toBe(1)
  })

  it('may say no, or not be there', async () => {
    const no = await opened({ allow: [], ask: async () => false })
    expect((await no.tunnel('example.org:443')).head).toMatch(/^HTTP\/1\.1 403/)
    expect(no.told).toMatchObject([{ why: 'a person was asked, and said no' }])
    const gone = await opened({ allow: [], ask: async () => Promise.reject(new Error('gone')) })
    expect((await gone.tunnel('example.org:443')).head).toMatch(/^HTTP\/1\.1 403/)
  })

  it('is waited for so long; a later yes counts for the next try', async () => {
    const { port } = await site()
    let say = (_yes: boolean): void => {}
    const answer = new Promise<boolean>(resolve => {
      say = resolve
    })
    const holdMs = 60_000
    let asked = (): void => {}
    const isAsked = new Promise<void>(resolve => {
      asked = resolve
    })
    const ask = async (): Promise<boolean> => {
      asked()
      return await answer
    }
    const { get, told } = await opened({ allow: [], holdMs, ask })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const first = get(`http://127.0.0.1:${port}/`)
    await isAsked
    vi.advanceTimersByTime(holdMs - 1)
    expect(told).toEqual([])
    vi.advanceTimersByTime(1)
    expect(await first).toContain('it waits in the inbox; try again when it is answered')
    expect(told).toMatchObject([{ allowed: false, asked: true }])
    // The next one is not held back once more: no time passes any more.
    expect(await get(`http://127.0.0.1:${port}/`)).toContain('it waits in the inbox')
    say(true)
    await answer
    expect(await get(`http://127.0.0.1:${port}/`)).toMatch(/^HTTP\/1\.1 200/)
  })

  it('is not asked about more than twenty addresses', async () => {
    const asked: string[] = []
    const ask = async ({ host }: { host: string }) => {
      asked.push(host)
      return false
    }
    const { tunnel } = await opened({ allow: [], ask })
    for (let at = 0; at < 25; at += 1) await tunnel(`n${at}.example:443`)
    expect(asked).toHaveLength(20)
  })
})

// A54
describe('limits', () => {
  it('a head that is too long is refused', async () => {
    const { port, heard } = await site()
    const { get } = await opened({ allow: [`127.0.0.1:${port}`], limits: { headerBytes: 2_000 } })
    expect(await get(`http://127.0.0.1:${port}/`, `X-Long: ${'x'.repeat(3_000)}\r\n`)).toMatch(/^HTTP\/1\.1 431/)
    expect(heard).toEqual([])
  })

  it('so is that of an answer', async () => {
    const { port } = await site((_request, response) => {
      response.writeHead(200, { 'x-long': 'x'.repeat(3_000) }).end()
    })
    const { get } = await opened({ allow: [`127.0.0.1:${port}`], limits: { headerBytes: 2_000 } })
    expect(await get(`http://127.0.0.1:${port}/`)).toMatch(/^HTTP\/1\.1 502/)
  })

  it('a silent connection is ended', async () => {
    const { port } = await echo()
    const { tunnel } = await opened({ allow: [`127.0.0.1:${port}`], limits: { idleMs: 50 } })
    const { socket } = await tunnel(`127.0.0.1:${port}`)
    if (!socket.destroyed) await new Promise(resolve => socket.once('end', resolve).resume())
  })

  it('a client that never finishes the head of its request is ended', async () => {
    const { say } = await opened({ allow: ['*'], limits: { headerMs: 50 } })
    expect(await say('GET http://example.org/ HTTP/1.1\r\n')).not.toMatch(/ 200 /)
  })

  it('there are so many connections, and no more', async () => {
    const { port } = await echo()
    const { tunnel } = await opened({ allow: [`127.0.0.1:${port}`], limits: { connections: 2 } })
    const [one, two] = [await tunnel(`127.0.0.1:${port}`), await tunnel(`127.0.0.1:${port}`)]
    expect((await tunnel(`127.0.0.1:${port}`)).head).toBe('')
    expect(await one.ask('a')).toBe('a')
    expect(await two.ask('b')).toBe('b')
  })

  it('an endless answer ends at the limit of bytes, and nothing is passed on afterwards', async () => {
    const { port } = await site((_request, response) => {
      const more = (): void => {
        while (response.write(Buffer.alloc(65_536)));
      }
      response.on('drain', more)
      more()
    })
    const { get } = await opened({ allow: [`127.0.0.1:${port}`], limits: { bytes: 1_000_000 } })
    const said = await get(`http://127.0.0.1:${port}/`)
    expect(said.length).toBeLessThan(3_000_000)
    expect(await get(`http://127.0.0.1:${port}/`)).toContain('used up')
  })

  it('decisions are listed up to a number', async () => {
    const { tunnel, told, proxy } = await opened({ allow: [] })
    for (let at = 0; at < 210; at += 1) await tunnel(`n${at}.example:443`)
    expect(told).toHaveLength(200)
    expect(proxy.decisions()).toHaveLength(200)
  })
})

// A55
describe('smuggled requests', () => {
  it.each([
    ['two lengths', 'Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody'],
    [
      'a length and chunks',
      'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n',
    ],
    ['an unknown coding', 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n'],
    ['a name with a space', 'Content-Length : 4\r\n\r\nbody'],
    ['a bare line feed', 'X: a\nY: b\r\n\r\n'],
  ])('%s is refused or told apart', async (_name, rest) => {
    const { port, heard } = await site()
    const { say } = await opened({ allow: [`http://127.0.0.1:${port}/a`] })
    await say(`POST http://127.0.0.1:${port}/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${rest}`)
    expect(heard.filter(({ line }) => line !== 'POST /a')).toEqual([])
  })

  it('the chunked body of a GET goes on as a body, not as a request of its own', async () => {
    const { port, heard } = await site()
    const { say } = await opened({ allow: [`http://127.0.0.1:${port}/a`] })
    const inner = 'GET /evil HTTP/1.1\r\nHost: x\r\n\r\n'
    await say(
      `GET http://127.0.0.1:${port}/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`,
    )
    expect(heard).toMatchObject([{ line: 'GET /a', body: inner }])
  })

  it('an answer with a line break in a header does not become two answers', async () => {
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\nContent-Length: 0\r\n\r\n'))
    })
    const port = await listening(server, '127.0.0.1', 0)
    const { get } = await opened({ allow: [`127.0.0.1:${port}`] })
    expect(await get(`http://127.0.0.1:${port}/`)).not.toMatch(/^set-cookie/im)
  })
})

it('an answer to a client of HTTP/1.0 comes without chunks', async () => {
  const { port } = await site((_request, response) => {
    response.write('a')
    response.end('b')
  })
  const { say } = await opened({ allow: [`127.0.0.1:${port}`] })
  const said = await say(`GET http://127.0.0.1:${port}/ HTTP/1.0\r\n\r\n`)
  expect(said.slice(said.indexOf('\r\n\r\n') + 4)).toBe('ab')
})

it('a refused tunnel is ended, also when its client stays', async () => {
  const { tunnel } = await opened({ allow: [], limits: { headerMs: 50 } })
  const { socket } = await tunnel('example.org:443')
  const broken = new Promise(resolve => socket.once('error', resolve))
  // The other side is gone when writing fails.
  const write = (): void => void socket.write('x', error => (error == null ? setImmediate(write) : undefined))
  write()
  await broken
})

describe('the folder', () => {
  it('is open to its owner alone, and gone afterwards, with every connection', async () => {
    const { port } = await echo()
    const { proxy, socket, tunnel } = await opened({ allow: [`127.0.0.1:${port}`] })
    expect(statSync(proxy.folder).mode & 0o777).toBe(0o700)
    expect(statSync(socket).mode & 0o777).toBe(0o600)
    const open = await tunnel(`127.0.0.1:${port}`)
    const closed = new Promise(resolve => open.socket.once('end', resolve).resume())
    await proxy.close()
    await closed
    expect(existsSync(proxy.folder)).toBe(false)
  })

  it('with a path that is too long for a socket is refused with what to do', async () => {
    const answer = await openProxy({ folder: join(tmpdir(), 'x'.repeat(120)), allow: [] })
    expect(answer).toMatchObject({ ok: false, failure: { message: expect.stringContaining('too long') } })
  })
})

it('a rule that cannot be read refuses the proxy', async () => {
  const answer = await openProxy({ folder: join(tmpdir(), 'never'), allow: ['ftp://example.org'] })
  expect(answer).toMatchObject({ ok: false, failure: { class: 'policy', hint: 'write http, https or tcp' } })
})

it('tcp rules are told to whoever makes the sandbox', async () => {
  const { proxy } = await opened({ allow: ['tcp://127.0.0.1:5432', 'example.org', 'tcp://db.example:6000'] })
  expect(proxy.tcp).toEqual([
    { host: '127.0.0.1', port: 5432 },
    { host: 'db.example', port: 6000 },
  ])
})

it('so are other rules that name a port of the loopback, once for each port', async () => {
  const allow = [
    'localhost:3000',
    '127.0.0.1:3000',
    'https://[::1]:8443',
    'http://127.0.0.1:9000',
    'localhost',
    'a.example:4000',
  ]
  const { proxy } = await opened({ allow: [...allow, 'tcp://0x7f.1:5432', 'tcp://127.0.0.1:5432'] })
  expect(proxy.tcp).toEqual([
    { host: '127.0.0.1', port: 5432 },
    { host: 'localhost', port: 3000 },
    { host: '[::1]', port: 8443 },
  ])
})

it('says what a program without a proxy can expect', () => {
  expect(proxyNotice(['https://example.org'])).toContain('may reach https://example.org only through the proxy')
})
