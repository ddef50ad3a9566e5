// Live events over real sockets and real kills: whoever comes back has missed nothing and hears nothing twice (P53); whoever does
// not read costs little and is cut off (P54). `npm run crash` has more of the first, and `PLANFOLD_RECONNECTS=10000` still more.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Composed, compose } from '../../src/compose.ts'
import type { Actor, PlanId } from '../../src/domain/id.ts'
import { announcedEvent, TICKS } from '../../src/domain/views/announcement.ts'
import { trusted } from '../../src/engine/roles.ts'
import { listen } from '../../src/server/listening.fixture.ts'
import { external, plan } from '../../src/testing/index.ts'
import { cuttingProxy } from './cutting-proxy.fixture.ts'
import { MAIN } from './planfold.fixture.ts'

const IS_LONG = process.env.PLANFOLD_CRASH === 'all'
const RECONNECTS = Number(process.env.PLANFOLD_RECONNECTS ?? (IS_LONG ? 400 : 30))
const KILLS = Math.max(IS_LONG ? 4 : 2, Math.round(RECONNECTS / 100))
const SUBSCRIBERS = 10
const ANA = 'ana' as Actor

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** The store of a folder, opened by this process beside the service. */
async function beside(folder: string): Promise<Composed> {
  const environment = { PATH: process.env.PATH, HOME: folder, PLANFOLD_AS: 'ana' }
  const composed = await compose({ cwd: folder, environment, dir: join(folder, '.planfold'), caller: trusted('ana') })
  cleanups.push(() => composed.close())
  return composed
}

interface Service {
  readonly port: number
  kill(): Promise<void>
}

async function serveIn(folder: string, host: string): Promise<Service> {
  const words = ['serve', '--no-auth', '--port', '0', '--no-drive', '--json', '--allow-host', host]
  const env = { PATH: process.env.PATH, HOME: folder, PLANFOLD_AS: 'server' }
  const child = spawn(process.execPath, [MAIN, ...words], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()))
  let said = ''
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
      const told = /"port":\s*(\d+)/.exec(said)
      if (told !== null) resolve(Number(told[1]))
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    void ended.then(() => reject(new Error(`the service ended: ${said}`)))
  })
  return {
    port,
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

test(`P53: ${RECONNECTS} cuts at random bytes, ${KILLS} kills of the service, ${SUBSCRIBERS} subscribers: each event once, in order`, {
  timeout: 600_000 + RECONNECTS * 200,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-live-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const { engine, feed } = await beside(folder)
  const made = async (name: string, session?: string): Promise<PlanId> => {
    const definition = plan(name, external('a'), external('b'), external('c', { needs: ['a'] }))
    const order = { type: 'create' as const, definition, ...(session === undefined ? {} : { session }) }
    const submitted = await engine.as(ANA).submit(null, order)
    if (!submitted.ok) throw new Error(submitted.refusal.message)
    await engine.as(ANA).submit(submitted.plan, { type: 'start' })
    return submitted.plan
  }
  const [one, two] = [await made('one', 'talk'), await made('two')]

  let service: Service | null = null
  cleanups.push(() => service?.kill())
  let isCalm = false
  const allow = () => (isCalm ? null : Math.floor(Math.random() ** 2 * 6_000))
  const proxy = await cuttingProxy(() => service?.port ?? null, allow)
  cleanups.push(() => proxy.close())
  const host = `127.0.0.1:${proxy.port}`
  service = await serveIn(folder, host)

  const paths = ['/events', '/plans/one/events', '/sessions/talk/events', '/events', '/plans/two/events']
  const subscribers = Array.from({ length: SUBSCRIBERS }, (_, at) => {
    const path = paths[at % paths.length]!
    const listener = listen(`http://${host}${path}?after=0&progress=${at % 2 === 0}`)
    cleanups.push(() => listener.close())
    return { path, listener }
  })

  // Two write: this process, and the service for whoever asks it.
  let written = 0
  let kills = 0
  const note = async (): Promise<void> => {
    const [of, text] = [written % 3 === 0 ? two : one, `note ${written} ${'ä'.repeat(written % 200)}`]
    if (written++ % 2 === 0 || service === null) {
      await engine.as(ANA).submit(of, { type: 'note', text })
      return
    }
    const body = JSON.stringify({ plan: of, order: { type: 'note', text } })
    const headers = { 'content-type': 'application/json' }
    await fetch(`http://127.0.0.1:${service.port}/engine/orders`, { method: 'POST', headers, body }).catch(() => {})
  }
  while (proxy.cuts() < RECONNECTS || kills < KILLS) {
    await Promise.all([note(), note()])
    if (written % 100 === 0) await made(`more-${written}`, written % 200 === 0 ? 'talk' : undefined)
    if (proxy.cuts() < ((kills + 1) * RECONNECTS) / (KILLS + 1) || kills >= KILLS) continue
    const killed = service
    service = null
    await killed.kill()
    // Meanwhile others write, and clients find nobody.
    for (let count = 0; count < 10; count++) await note()
    service = await serveIn(folder, host)
    kills++
  }
  isCalm = true
  for (const of of [one, two]) await engine.as(ANA).submit(of, { type: 'note', text: 'the last' })

  const entries = await feed.since(0, 100_000)
  const talk = new Set<PlanId>()
  for (const { plan, events } of entries)
    for (const event of events) if (event.type === 'plan.created' && event.session === 'talk') talk.add(plan)
  const wanted: { readonly [path: string]: (of: PlanId) => boolean } = {
    '/events': () => true,
    '/plans/one/events': of => of === one,
    '/plans/two/events': of => of === two,
    '/sessions/talk/events': of => talk.has(of),
  }
  for (const { path, listener } of subscribers) {
    const expected = entries
      .filter(entry => wanted[path]!(entry.plan))
      .flatMap(({ position, events }) =>
        events.map((event, index) => ({
          id: index === events.length - 1 ? `${position}` : `${position}.${index}`,
          event: announcedEvent(event),
        })),
      )
    const journaled = () => listener.heard.filter(({ name }) => !(TICKS as readonly string[]).includes(name))
    await listener.until(`everything at ${path}`, () => journaled().at(-1)?.id === expected.at(-1)?.id, 120_000)
    expect(journaled().map(({ id, data }) => ({ id, event: data.event }))).toEqual(expected)
  }
  expect(proxy.cuts()).toBeGreaterThanOrEqual(RECONNECTS)
  expect(kills).toBe(KILLS)
})

const IDLE = 1_000
const SILENT = 10
const ENTRIES = 200
const CHARS = 100_000
const LONG_MS = 600_000
/** For all who never read together: what is held for them and, more loosely, what the process takes of the machine, which keeps some
 * of what was freed. Queued for them it would be thirty megabytes: they share the text of an event, so ten cost hardly more than one. */
const HELD_MAX = SILENT * 1_000_000
const RSS_MAX = 20_000_000

interface Memory {
  readonly held: number
  readonly rss: number
  readonly streams: number
}

test(`P54: ${IDLE} idle subscribers, and ${SILENT} that never read while 20 MB flow: memory is bounded, others hear everything`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-live-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const setup = await beside(folder)
  const ids: PlanId[] = []
  for (const name of ['busy', 'quiet']) {
    const submitted = await setup.engine.as(ANA).submit(null, { type: 'create', definition: plan(name, external('a')) })
    if (!submitted.ok) throw new Error(submitted.refusal.message)
    ids.push(submitted.plan)
  }
  // Whoever does not read stays for now: cut off on a slow machine before memory was looked at, it would prove nothing.
  const limits = { streams: 5_000, connections: 5_000, streamSilentMs: LONG_MS, headersMs: LONG_MS, requestMs: LONG_MS }
  const child = fork(
    join(import.meta.dirname, 'live-server.mjs'),
    [dirname(dirname(MAIN)), folder, JSON.stringify(limits)],
    {
      execArgv: ['--expose-gc'],
    },
  )
  cleanups.push(() => child.kill('SIGKILL'))
  const { port } = await message<{ port: number }>(child)

  const idle = await Promise.all(Array.from({ length: IDLE }, () => opened(port, '/plans/quiet/events')))
  const readers = Array.from({ length: 3 }, () => listen(`http://127.0.0.1:${port}/events?progress=false`))
  cleanups.push(() => Promise.all(readers.map(reader => reader.close())))
  await Promise.all(readers.map(({ open }) => open))
  // Once without the silent ones: what all the others and the writing take.
  const busy = { plan: ids[0], entries: ENTRIES, chars: CHARS }
  await asked(child, busy)
  const silent = await Promise.all(
    Array.from({ length: SILENT }, () => opened(port, '/plans/busy/events', 'and no more')),
  )
  const before = await asked<Memory>(child, 'memory')
  expect(before.streams).toBe(IDLE + SILENT + readers.length)

  const { written } = await asked<{ written: number }>(child, busy)
  expect(written).toBe(ENTRIES)
  const numbers = Array.from({ length: 2 * ENTRIES }, (_, at) => String(at % ENTRIES))
  for (const reader of readers) {
    await reader.until('everything', heard => heard.length >= 2 * ENTRIES, 300_000)
    expect(reader.heard.map(({ data }) => data.event.text.split(' ')[0])).toEqual(numbers)
  }
  const after = await asked<Memory>(child, 'memory')
  expect(after.streams).toBe(IDLE + SILENT + readers.length)
  expect(after.held - before.held).toBeLessThan(HELD_MAX)
  expect(after.rss - before.rss).toBeLessThan(RSS_MAX)

  // Who comes later, wants all of it and does not read either, is cut off in its time; the others stay.
  await asked(child, { limits: { streamSilentMs: 300 } })
  const late = await Promise.all(
    Array.from({ length: SILENT }, () => opened(port, '/plans/busy/events?after=0', 'and no more')),
  )
  const streams = async () => (await asked<{ streams: number }>(child, 'streams')).streams
  await expect.poll(streams, { timeout: 120_000 }).toBe(IDLE + SILENT + readers.length)
  for (const { socket } of late) socket.resume()
  await Promise.all(late.map(({ closed }) => closed))
  // Those who were idle all the time are there, and still hear.
  await setup.engine.as(ANA).submit(ids[1]!, { type: 'note', text: 'at last' })
  await Promise.all(idle.map(({ until }) => until('at last')))
  for (const { socket } of [...idle, ...silent, ...late]) socket.destroy()
})

interface Open {
  readonly socket: Socket
  readonly closed: Promise<void>
  until(text: string): Promise<void>
}

/** A stream that stands: its head has come. Some read on, some do not. */
async function opened(port: number, path: string, reads: 'on' | 'and no more' = 'on'): Promise<Open> {
  const socket = connect(port, '127.0.0.1')
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  let text = ''
  const looks = new Set<() => void>()
  socket.setEncoding('utf8')
  socket.on('error', () => {})
  socket.on('data', (more: string) => {
    text = (text + more).slice(-2_000)
    for (const look of looks) look()
  })
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
  const until = (part: string) =>
    new Promise<void>((resolve, reject) => {
      socket.once('close', () => reject(new Error(`cut before ${part}: ${text}`)))
      const look = () => {
        if (!text.includes(part)) return
        looks.delete(look)
        resolve()
      }
      looks.add(look)
      look()
    })
  await until('retry: ')
  if (reads !== 'on') socket.pause()
  return { socket, closed, until }
}

const message = <T>(child: ChildProcess): Promise<T> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`the service ended with ${code}`))
    child.once('exit', ended)
    child.once('message', said => {
      child.off('exit', ended)
      resolve(said as T)
    })
  })

async function asked<T>(child: ChildProcess, question: string | object): Promise<T> {
  const answer = message<T>(child)
  child.send(question)
  return await answer
}
