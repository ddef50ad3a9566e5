// The way out of a real sandbox: real programs inside, real servers outside, and a proxy between them. What the proxy does not allow
// has no route at all.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openProxy, type ProxyOptions } from '../../src/safety/network/network-proxy.ts'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'
import { spawnBoxed } from '../../src/safety/sandbox/sandboxed-process.ts'

const sandbox = bubblewrap({ environment: process.env, outside: [] })
const standing = await sandbox.check()
if (!standing.ok) console.log(`skipped, there is no sandbox: ${standing.failure.message}`)
const test = standing.ok ? it : it.skip

const has = (program: string): boolean => {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return true
  } catch {
    console.log(`skipped in part: ${program} is not installed`)
    return false
  }
}
const hasCurl = has('curl')
const hasGit = has('git')

const PORT = 3128

async function scene() {
  const folder = mkdtempSync(join(tmpdir(), 'way-out-'))
  const root = join(folder, 'workspace')
  mkdirSync(join(root, '.git'), { recursive: true })
  const asked: string[] = []
  const site = createHttp((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    if (request.url === '/away') response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end()
    else response.end('hello from outside\n')
  })
  const sitePort = await listening(site)
  const echoed = createServer(socket => {
    socket.on('error', () => {})
    socket.write('database says hello\n')
    socket.pipe(socket)
  })
  const echoPort = await listening(echoed)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))

  const run = async (script: string, allow: readonly string[], more: Partial<ProxyOptions> = {}) => {
    const opened = await openProxy({
      folder: join(folder, 'p'),
      allow,
      howToAllow: rule => `\`allow ${rule}\``,
      ...more,
    })
    if (!opened.ok) throw new Error(opened.failure.message)
    const proxy = opened.value
    try {
      const wrapped = await sandbox.wrap({
        root,
        stateDir: join(folder, 'state'),
        cwd: root,
        write: [],
        network: { proxyFolder: proxy.folder, port: PORT, tcp: proxy.tcp },
        argv: ['/bin/sh', '-c', script],
        env: { PATH: process.env.PATH ?? '', HOME: folder },
      })
      if (!wrapped.ok) throw new Error(wrapped.failure.message)
      const { child, exited } = spawnBoxed(wrapped.value, { stdin: 'ignore' })
      let said = ''
      for (const stream of [child.stdout, child.stderr])
        stream?.on('data', chunk => {
          said += String(chunk)
        })
      const { exit, failure } = await exited
      if (failure !== undefined) throw new Error(failure.message)
      return { said, exit, decisions: proxy.decisions() }
    } finally {
      await proxy.close()
    }
  }
  const node = (code: string): string => {
    writeFileSync(join(root, 'program.cjs'), code)
    return `${process.execPath} program.cjs`
  }
  return { run, node, asked, sitePort, echoPort }
}

async function listening(server: Server): Promise<number> {
  const open = new Set<Socket>()
  server.on('connection', socket => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of open) socket.destroy()
    await new Promise(resolve => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

/** Prints what a connection says first, or why there is none. */
const KNOCK = `
const net = require('net')
const knock = (name, to) => new Promise(done => {
  const socket = net.connect(to)
  socket.setTimeout(5000, () => { console.log(name + ': silent'); socket.destroy(); done() })
  socket.once('error', error => { console.log(name + ': ' + error.code); done() })
  socket.once('data', data => { console.log(name + ': ' + data.toString().trim()); socket.destroy(); done() })
  socket.once('end', () => { console.log(name + ': closed'); done() })
})
`

test('a program that knows the proxy reaches what is allowed, and is told what is not', async () => {
  if (!hasCurl) return
  const { run, asked, sitePort } = await scene()
  // By a name: programs inside do not send loopback addresses to the proxy.
  const allow = [`http://site.example:${sitePort}`, `127.0.0.1:${sitePort}`]
  const { said, decisions } = await run(
    `curl -sS http://site.example:${sitePort}/ok; curl -sS http://other.example/; curl -sS https://other.example/ || echo "exit $?"; curl -sSL http://site.example:${sitePort}/away`,
    allow,
    { lookup: async () => ['127.0.0.1'] },
  )
  expect(said).toContain('hello from outside\n')
  expect(said).toContain(
    'planfold: asked for other.example:80: not allowed (no rule allows it); allow with `allow http://other.example`',
  )
  expect(said).toContain('response 403')
  expect(said).toContain('planfold: asked for 169.254.169.254:80: not allowed')
  expect(asked).toEqual(['GET /ok', 'GET /away'])
  expect(decisions.map(({ host, port, allowed }) => `${host}:${port} ${allowed}`)).toEqual([
    `site.example:${sitePort} true`,
    'other.example:80 false',
    'other.example:443 false',
    `site.example:${sitePort} true`,
    '169.254.169.254:80 false',
  ])
})

test('git speaks through it', async () => {
  if (!hasGit) return
  const { run, asked, sitePort } = await scene()
  const { said, decisions } = await run(
    `git ls-remote http://site.example:${sitePort}/repo.git; git ls-remote https://other.example/repo.git`,
    [`http://site.example:${sitePort}`, `127.0.0.1:${sitePort}`],
    { lookup: async () => ['127.0.0.1'] },
  )
  expect(asked[0]).toBe('GET /repo.git/info/refs?service=git-upload-pack')
  expect(said).toContain('403')
  expect(decisions.filter(({ allowed }) => !allowed)).toMatchObject([{ host: 'other.example', port: 443 }])
})

test('a tcp rule is found at the same port of the loopback, by a program that knows no proxy', async () => {
  const { run, node, echoPort, sitePort } = await scene()
  const code = `${KNOCK}
    knock('database', { host: '127.0.0.1', port: ${echoPort} }).then(() => knock('site', { host: '127.0.0.1', port: ${sitePort} }))`
  const { said, exit, decisions } = await run(node(code), [`tcp://127.0.0.1:${echoPort}`])
  expect({ said, exit }).toEqual({ said: 'database: database says hello\nsite: ECONNREFUSED\n', exit: 0 })
  expect(decisions).toMatchObject([{ host: '127.0.0.1', port: echoPort, method: 'CONNECT', allowed: true, count: 1 }])
})

// A53
test('what goes round the proxy has no route', async () => {
  const { run, node, asked, sitePort } = await scene()
  const abstract = createServer(socket => socket.end('abstract socket\n'))
  const hidden = `\0planfold-test-${process.pid}`
  await new Promise<void>(resolve => abstract.listen(hidden, resolve))
  onTestFinished(() => void abstract.close())
  const code = `${KNOCK}
    const dgram = require('dgram')
    const udp = () => new Promise(done => {
      const socket = dgram.createSocket('udp4')
      socket.once('error', error => { console.log('udp: ' + error.code); done() })
      socket.send('x', 53, '1.1.1.1', error => { console.log('udp: ' + (error?.code ?? 'sent')); socket.close(); done() })
    })
    ;(async () => {
      await knock('tcp', { host: '1.1.1.1', port: 443 })
      await knock('ipv6', { host: '2606:4700:4700::1111', port: 443 })
      await knock('host', { host: '127.0.0.1', port: ${sitePort} })
      await knock('docker', { path: '/var/run/docker.sock' })
      await knock('abstract', { path: '\\0planfold-test-${process.pid}' })
      await udp()
      await require('dns/promises').lookup('example.org').then(() => console.log('dns: found'), error => console.log('dns: none'))
    })()`
  const { said, decisions } = await run(
    `${node(code)}; ${hasCurl ? `curl -sS --noproxy '*' http://site.example:${sitePort}/ 2>&1 | grep -c hello` : 'echo 0'}`,
    [`http://site.example:${sitePort}`, `http://127.0.0.1:${sitePort}`],
  )
  expect(said.split('\n')).toEqual([
    'tcp: ENETUNREACH',
    expect.stringMatching(/^ipv6: (ENETUNREACH|EADDRNOTAVAIL)$/),
    'host: ECONNREFUSED',
    'docker: ENOENT',
    'abstract: ECONNREFUSED',
    'udp: ENETUNREACH',
    'dns: none',
    '0',
    '',
  ])
  expect(asked).toEqual([])
  expect(decisions).toEqual([])
})

test('the exit code and the arguments of a command are its own behind the forwarder', async () => {
  const { run } = await scene()
  expect(await run('exit 7', [])).toMatchObject({ exit: 7 })
  expect(await run('printf %s "$HTTPS_PROXY"', [])).toMatchObject({ exit: 0, said: `http://127.0.0.1:${PORT}` })
})
