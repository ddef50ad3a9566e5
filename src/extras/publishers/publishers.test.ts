import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createDoor } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Notify } from '../../domain/plan.ts'
import type { Message, Published } from '../../engine/notifications/publisher.ts'
import { openPublisher } from './publishers.ts'
import { signatureOf } from './webhook.ts'

const BODY = `${JSON.stringify({ text: 'prüfen ✓ \u202eevil' })}\n`
const message: Message = { id: '7.0', kind: 'waiting', owner: 'owner-1', body: BODY }
const SECRET = 'a secret nobody knows'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'planfold-publish-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const publish = (to: Notify['send'], signal = new AbortController().signal, timeoutMs = 120_000): Promise<Published> =>
  openPublisher({
    root: folder,
    stateDir: join(folder, '.planfold'),
    environment: { PATH: process.env.PATH, HOME: '/home/ana', PLANFOLD_WEBHOOK_SECRET: SECRET, TOKEN: 'hidden' },
    about: 'planfold test',
    timeoutMs,
  }).publish(to, message, signal)
const run = (...argv: string[]): Notify['send'] => ({ command: { argv } })
const script = (text: string): Notify['send'] => ({ command: { script: text } })
const read = (file: string): Promise<string> => readFile(join(folder, file), 'utf8')

describe('a command hook', () => {
  it('gets the message on its standard input, in the workspace', async () => {
    expect(await publish(script('cat > told.json'))).toEqual({ ok: true })
    expect(await read('told.json')).toBe(BODY)
  })

  it('is started without a shell when it is a list: a word means itself', async () => {
    await writeFile(
      join(folder, 'hook.mjs'),
      "import fs from 'fs'; fs.writeFileSync('argv', JSON.stringify(process.argv.slice(2)))",
    )
    const words = ['$HOME', '; touch pwned', '`touch pwned`', '']
    expect(await publish(run(process.execPath, 'hook.mjs', ...words))).toEqual({ ok: true })
    expect(JSON.parse(await read('argv'))).toEqual(words)
    await expect(read('pwned')).rejects.toThrow()
  })

  it('inherits a short list of our environment, and no secret of it', async () => {
    await publish(script('env > env'))
    const env = await read('env')
    expect(env).toContain('PLANFOLD_OWNER=owner-1')
    expect(env).toContain('PLANFOLD_NOTICE=waiting')
    expect(env).toContain('PLANFOLD_NOTICE_ID=7.0')
    expect(env).not.toMatch(/hidden|secret/)
  })

  it('failing is told with its exit code and last line, and may be tried again', async () => {
    expect(await publish(script('echo one; echo "no route" >&2; exit 7'))).toEqual({
      ok: false,
      failure: 'exit 7: no route',
      again: true,
    })
  })

  it('that is not there is not tried again', async () => {
    expect(await publish(run('./nowhere'))).toMatchObject({ ok: false, again: false })
    expect(await publish(run(''))).toMatchObject({ ok: false, again: false })
    expect(await publish(run('a\0b'))).toMatchObject({ ok: false, again: false })
  })

  it('that hangs is ended when its time is over, with all it started', async () => {
    // Its child holds a connection open: that it breaks off is how its end is known.
    let gone: () => void = () => {}
    const left = new Promise<void>(resolve => {
      gone = resolve
    })
    let isThere = false
    const port = await new Promise<number>(resolve => {
      const door = createDoor(socket => {
        isThere = true
        socket
          .on('close', gone)
          .on('error', () => {})
          .resume()
      })
      door.listen(0, '127.0.0.1', () => resolve((door.address() as AddressInfo).port)).unref()
    })
    const child = `${process.execPath} -e 'require("net").connect(${port}, "127.0.0.1")'`
    // On a busy machine its child may come later: then it gets longer.
    for (const timeoutMs of [1_000, 10_000, 120_000]) {
      const told = await publish(script(`${child} & wait`), undefined, timeoutMs)
      expect(told).toMatchObject({ ok: false, again: true, failure: expect.stringContaining('had not ended') })
      if (isThere) break
    }
    await left
  })

  it('may leave somebody behind, print without end and not read its input', async () => {
    const long = await publish(script('sleep 600 & echo $! > child; exit 0'))
    expect(long).toEqual({ ok: true })
    process.kill(Number(await read('child')), 'SIGKILL')
    expect(await publish(script('yes | head -c 5000000; exit 3'))).toMatchObject({ ok: false, failure: 'exit 3: y' })
    expect(await publish(script('exec <&-; exit 0'))).toEqual({ ok: true })
  })

  it('is ended when we leave', async () => {
    const leaving = new AbortController()
    const told = publish(script('echo begun; sleep 600'), leaving.signal)
    setImmediate(() => leaving.abort())
    expect(await told).toMatchObject({ ok: false })
  })
})

describe('a webhook', () => {
  const servers: Server[] = []
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    }
  })
  const serve = async (
    answer: (request: IncomingMessage, response: ServerResponse, body: string) => void,
  ): Promise<string> => {
    const server = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request.setEncoding('utf8')) body += chunk
      answer(request, response, body)
    })
    servers.push(server)
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/very-secret-path`
  }

  it('gets the message as JSON, with a signature over exactly these bytes', async () => {
    const got: { method?: string; type?: string; id?: unknown; signature?: unknown; body?: string } = {}
    const webhook = await serve(({ method, headers }, response, body) => {
      Object.assign(got, { method, type: headers['content-type'], id: headers['x-planfold-notice'], body })
      got.signature = headers['x-planfold-signature']
      response.end('thanks')
    })
    expect(await publish({ webhook })).toEqual({ ok: true })
    expect(got).toEqual({
      method: 'POST',
      type: 'application/json; charset=utf-8',
      id: '7.0',
      body: BODY,
      signature: signatureOf(SECRET, BODY),
    })
  })

  it.each([
    [500, true],
    [503, true],
    [429, true],
    [404, false],
    [401, false],
  ])('that answers %i is a failure; tried again: %s', async (status, again) => {
    const webhook = await serve((_, response) => response.writeHead(status).end('no'))
    expect(await publish({ webhook })).toEqual({ ok: false, failure: `answered ${status}`, again })
  })

  it('is not followed anywhere else', async () => {
    let reached = 0
    const elsewhere = await serve((_, response) => {
      reached++
      response.end()
    })
    for (const status of [301, 302, 307, 308]) {
      const webhook = await serve((_, response) => response.writeHead(status, { location: elsewhere }).end())
      expect(await publish({ webhook })).toMatchObject({ ok: false, again: false })
    }
    expect(reached).toBe(0)
  })

  it('that does not answer, or never ends its answer, is left when the time is over', async () => {
    const silent = await serve(() => {})
    expect(await publish({ webhook: silent }, undefined, 200)).toMatchObject({
      ok: false,
      again: true,
      failure: expect.stringContaining('no answer within'),
    })
    const dripping = await serve((_, response) => {
      response.writeHead(200)
      response.write('a')
    })
    expect(await publish({ webhook: dripping }, undefined, 200)).toMatchObject({ ok: false, again: true })
  })

  it('that answers with more than anybody wants to read is believed by its status, and left', async () => {
    let stopped: () => void = () => {}
    const left = new Promise<void>(resolve => {
      stopped = resolve
    })
    const webhook = await serve((_, response) => {
      response.writeHead(200)
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
        if (response.destroyed) stopped()
        else response.once('drain', more)
      }
      response.once('close', stopped)
      more()
    })
    expect(await publish({ webhook })).toEqual({ ok: true })
    await left
  })

  it('is an http address without a password, or nobody is told', async () => {
    for (const webhook of ['file:///etc/passwd', 'ftp://127.0.0.1/', 'no address', 'http://ana:pw@127.0.0.1/'])
      expect(await publish({ webhook })).toMatchObject({ ok: false, again: false })
    expect(await publish({ webhook: 'http://127.0.0.1:1/' })).toMatchObject({ ok: false, again: true })
  })

  it('is left when we leave', async () => {
    const leaving = new AbortController()
    const webhook = await serve(() => leaving.abort())
    expect(await publish({ webhook }, leaving.signal)).toMatchObject({ ok: false, again: true })
  })
})
