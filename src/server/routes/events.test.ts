// What happens is told as it happens: once, in order, to whoever may know, from wherever they left off.

import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { compose } from '../../compose.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { announcedEvent } from '../../domain/views/announcement.ts'
import { systemClock } from '../../engine/clock.ts'
import { type Scope, trusted } from '../../engine/roles.ts'
import { thisHost } from '../../stores/leases/host.ts'
import { StoreSqlite } from '../../stores/sqlite/store-sqlite.ts'
import { external, gate, name, plan, task } from '../../testing/index.ts'
import type { Guard } from '../auth/guard.ts'
import { type HeardEvent, type Listener, listen } from '../listening.fixture.ts'
import { type Served, type ServedOptions, served } from '../server.fixture.ts'

const ANA = 'ana' as Actor
let services: Served[] = []
let listeners: Listener[] = []
const cleanups: (() => void)[] = []
afterEach(async () => {
  for (const listener of listeners) await listener.close()
  for (const service of services) {
    await service.close()
    expect(service.errors).toEqual([])
  }
  services = []
  listeners = []
  for (const cleanup of cleanups.splice(0)) cleanup()
})

async function setup(options: ServedOptions = {}): Promise<Served> {
  const service = await served(options)
  services.push(service)
  return service
}

function hear(...args: Parameters<typeof listen>): Listener {
  const listener = listen(...args)
  listeners.push(listener)
  return listener
}

async function make(service: Pick<Served, 'composed'>, definition: PlanDefinition, session?: string): Promise<PlanId> {
  const made = await service.composed.engine.as(ANA).submit(null, { type: 'create', definition, session })
  if (!made.ok) throw new Error(made.refusal.message)
  return made.plan
}

async function note(service: Pick<Served, 'composed'>, of: PlanId, text: string): Promise<void> {
  const noted = await service.composed.engine.as(ANA).submit(of, { type: 'note', text })
  if (!noted.ok) throw new Error(noted.refusal.message)
}

/** The journal as a stream must tell it. */
async function journal(service: Served): Promise<readonly object[]> {
  const { feed } = service.composed
  const entries = await feed.since(0, 10_000)
  return entries.flatMap(({ position, version, plan, actor, events }) =>
    events.map((event, index) => ({
      id: index === events.length - 1 ? `${position}` : `${position}.${index}`,
      plan,
      version,
      actor,
      event: announcedEvent(event),
    })),
  )
}

const told = (heard: readonly HeardEvent[]): readonly object[] =>
  heard.map(({ id, data: { plan, version, actor, event } }) => ({ id, plan, version, actor, event }))

describe('a stream of events', () => {
  test('of a session that nobody knows is not there, as its plans are not', async () => {
    const service = await setup()
    for (const path of ['events', 'plans'])
      expect((await service.ask('GET', `/sessions/nobody/${path}`)).status).toBe(404)
  })

  test('tells what happened from the beginning, then what happens', async () => {
    const service = await setup()
    const one = await make(service, plan('one', external('a'), external('b')))
    const listener = hear(`${service.url}/events?after=0&progress=false`)
    await listener.until('the plan', heard => heard.length > 0)
    await service.composed.engine.as(ANA).submit(one, { type: 'start' })
    await service.composed.engine.as(ANA).submit(one, { type: 'claim' })
    const expected = await journal(service)
    await listener.until('everything', heard => heard.length >= expected.length)
    expect(told(listener.heard)).toEqual(expected)
    expect(listener.heard[0]).toMatchObject({
      name: 'plan.created',
      data: { plan_name: 'one', position: 1, version: 1, at: expect.stringMatching(/^\d{4}-.*Z$/) },
    })
    // Whoever listens cannot report in the name of who claimed.
    const claim = listener.heard.find(({ name }) => name === 'attempt.started')?.data.event.claim
    expect(claim).toEqual({ by: 'ana' })
  })

  test('begins with now when nobody says where', async () => {
    const service = await setup()
    const one = await make(service, plan('one', external('a')))
    const listener = hear(`${service.url}/events?progress=false`)
    await listener.open
    await note(service, one, 'later')
    await listener.until('the note', heard => heard.length > 0)
    expect(listener.heard.map(({ name, id }) => [name, id])).toEqual([['note.added', '2']])
  })

  test('goes on behind any event, also in the middle of an entry', async () => {
    const service = await setup()
    const one = await make(service, plan('one', external('a')))
    await service.composed.engine.as(ANA).submit(one, { type: 'start' })
    const all = await journal(service)
    expect(all.length).toBeGreaterThan(2)
    for (const [index, event] of all.entries()) {
      const { id } = event as { id: string }
      const fromHeader = hear(`${service.url}/events?after=0&progress=false`, { after: id })
      const fromQuery = hear(`${service.url}/plans/one/events?after=${id}&progress=false`)
      for (const listener of [fromHeader, fromQuery]) {
        await listener.until('the rest', heard => heard.length >= all.length - index - 1)
        expect(told(listener.heard)).toEqual(all.slice(index + 1))
      }
    }
  })

  test('of a plan or a session tells of nothing else', async () => {
    const service = await setup()
    const one = await make(service, plan('one', external('a')), 'talk')
    const two = await make(service, plan('two', external('a')))
    const ofOne = hear(`${service.url}/plans/${one}/events?after=0&progress=false`)
    const ofTalk = hear(`${service.url}/api/session/talk/events?after=0&progress=false`)
    const ofTalks = hear(`${service.url}/sessions/talk/events/?after=0&progress=false`)
    for (let count = 0; count < 20; count++) await note(service, count % 3 === 0 ? one : two, String(count))
    const expected = (await journal(service)).filter(event => (event as { plan: PlanId }).plan === one)
    for (const listener of [ofOne, ofTalk, ofTalks]) {
      await listener.until('all of it', heard => heard.length >= expected.length)
      expect(told(listener.heard)).toEqual(expected)
    }
  })

  test('tells what another process wrote', async () => {
    const service = await setup()
    const one = await make(service, plan('one', external('a')))
    const listener = hear(`${service.url}/events?progress=false`)
    await listener.open
    const environment = { PATH: process.env.PATH, HOME: service.folder }
    const other = await compose({
      cwd: service.folder,
      environment,
      dir: service.composed.stateDir,
      caller: trusted('other'),
    })
    await other.engine.submit(one, { type: 'note', text: 'from elsewhere' })
    await other.close()
    await listener.until('it', heard => heard.length > 0)
    expect(listener.heard[0]).toMatchObject({ name: 'note.added', data: { actor: 'other', plan: one } })
  })

  test('an unknown plan is not found, and an unknown place in the query is refused', async () => {
    const service = await setup()
    for (const [path, status] of [
      ['/plans/nobody/events', 404],
      ['/events?after=x', 422],
      ['/events?names=loud', 422],
      ['/events?speed=1', 422],
    ] as const)
      expect({ path, status: (await service.ask('GET', path)).status }).toEqual({ path, status })
    expect((await service.ask('HEAD', '/events')).status).toBe(200)
  })

  test('a token may hold so many open and no more; one that ends makes room', async () => {
    const service = await setup({ limits: { streams: 2 } })
    const [one] = [hear(`${service.url}/events`), hear(`${service.url}/events`)]
    await Promise.all(listeners.map(({ open }) => open))
    const { status, body, headers } = await service.ask('GET', '/events')
    expect({ status, type: body.type, retry: headers.get('retry-after') }).toEqual({
      status: 429,
      type: 'urn:planfold:problem:streams',
      retry: '5',
    })
    await one?.close()
    const third = hear(`${service.url}/events`)
    await third.open
    await expect.poll(() => service.rooms.live.count).toBe(2)
  })
})

describe('a token for some plans only', () => {
  const scoped = (scope: Scope): Guard => ({
    admit: () => ({ actor: ANA, role: 'viewer', scope, token: 't' }),
    takesAnyType: () => false,
  })

  test('hears of nothing else; streams of what lies outside are not there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'planfold-scope-'))
    const first = await served({ folder })
    const [mine, talked, other] = [
      await make(first, plan('mine', external('a'))),
      await make(first, plan('talked', external('a')), 'talk'),
      await make(first, plan('other', external('a')), 'elsewhere'),
    ]
    await first.close()
    const service = await setup({ folder, guard: scoped({ plans: [mine], sessions: ['talk'] }) })
    const [all, session] = [
      hear(`${service.url}/events?after=0`),
      hear(`${service.url}/sessions/talk/events?after=0&progress=false`),
    ]
    await Promise.all([all.open, session.open])
    for (const of of [other, mine, other, talked, other]) await note(service, of, 'x')
    await session.until('the note', heard => heard.length === 2)
    await all.until('both', heard => heard.filter(({ name }) => name === 'note.added').length === 2)
    await all.until('how far they came', heard => new Set(ticksOf(heard)).size === 2)
    expect(new Set(all.heard.map(({ data }) => data.plan))).toEqual(new Set([mine, talked]))
    expect(all.heard.filter(({ name }) => name !== 'plan.progress').length).toBe(4)
    for (const path of ['/plans/other/events', `/plans/${other}/events`, '/sessions/elsewhere/events'])
      expect({ path, status: (await service.ask('GET', path)).status }).toEqual({ path, status: 404 })
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  })
})

describe('several plans', () => {
  test('are heard on one stream, with what waits in them; the inbox is told when it changed, and only then', async () => {
    const service = await setup()
    const [one, two, other] = [
      await make(service, plan('one', external('a'))),
      await make(service, plan('two', gate('g'))),
      await make(service, plan('other', external('a'))),
    ]
    expect((await service.ask('GET', '/events?plan_id=one,nobody')).status).toBe(404)
    const listener = hear(`${service.url}/events?plan_id=one,${two}`)
    await listener.open
    for (const of of [other, one, other]) await note(service, of, 'x')
    const as = service.composed.engine.as(ANA)
    await as.submit(two, { type: 'start' })
    await service.composed.worker.drive(two, { stop: new AbortController().signal })
    const changes = () =>
      listener.heard.flatMap(({ name, data }) => (name === 'inbox.changed' ? [[data.plan, data.waiting]] : []))
    await listener.until('that it asks', () => changes().some(([, waiting]) => waiting === 1))
    const progress = () => listener.heard.filter(({ name, data }) => name === 'plan.progress' && data.plan === two)
    expect(progress().at(-1)?.data).toMatchObject({ waiting: 1, failed: 0, status: 'blocked' })
    await note(service, two, 'nothing new')
    await as.submit(two, { type: 'decide', task: name('g'), verdict: 'approved', rationale: 'good' } as never)
    await listener.until('that it was answered', () => changes().at(-1)?.[1] === 0)
    const plans = new Set(listener.heard.map(({ data }) => data.plan))
    expect(plans).toEqual(new Set([one, two]))
    expect(changes().filter(([of]) => of === one)).toEqual([])
    expect(changes().filter(([, waiting]) => waiting === 1)).toHaveLength(1)
  })
})

const ticksOf = (heard: readonly HeardEvent[]): readonly string[] =>
  heard.flatMap(({ name, data }) => (name === 'plan.progress' ? [data.plan] : []))

describe('live progress', () => {
  test('output comes as it is written, also by another process, and where it is too much the last of it', async () => {
    const service = await setup()
    const one = await make(service, plan('one', external('a')))
    const [listener, quiet] = [hear(`${service.url}/plans/one/events`), hear(`${service.url}/events?progress=false`)]
    await Promise.all([listener.open, quiet.open])
    // Its place among what is printed is taken with the first look.
    await note(service, one, 'first')
    await listener.until('the first', heard => heard.some(({ name }) => name === 'plan.progress'))
    const store = await StoreSqlite.open({
      folder: service.composed.stateDir,
      clock: systemClock,
      host: thisHost(process.pid),
      newId: randomUUID,
    })
    const chunk = { plan: one, task: name('a'), visit: 1, attempt: 1, stream: 'stdout', at: 1_000 } as const
    await store.logs.append([{ ...chunk, text: 'hello\n' }])
    const printed = () => listener.heard.filter(({ name }) => name === 'task.output')
    await listener.until('hello', () => printed().length === 1)
    expect(printed()[0]?.data).toEqual({
      plan: one,
      plan_name: 'one',
      task: 'a',
      visit: 1,
      attempt: 1,
      stream: 'stdout',
      at: '1970-01-01T00:00:01.000Z',
      text: 'hello\n',
    })
    await store.logs.append([{ ...chunk, text: `${'x'.repeat(10_000)}end` }])
    await listener.until('the end of it', () => printed().length === 2)
    expect(printed()[1]?.data).toMatchObject({ cut: true, text: expect.stringMatching(/^x{3997}end$/) })
    // Twice as many as are read at once: nobody can follow that, and nobody is to be held up by it.
    await store.logs.append(Array.from({ length: 100 }, (_, at) => ({ ...chunk, text: `line ${at}` })))
    await store.logs.append([{ ...chunk, text: 'last' }])
    await listener.until('the last', () => printed().at(-1)?.data.text === 'last')
    expect(printed().length).toBeLessThan(70)
    expect(printed().filter(({ data }) => data.gap).length).toBeGreaterThan(0)
    await store.close()
    expect(quiet.heard.map(({ name }) => name)).toEqual(['note.added'])
    // None of it has an id of its own.
    expect(new Set(printed().map(({ id }) => id))).toEqual(new Set([null]))
  })
})

describe('resync', () => {
  test.each([
    ['an id of another journal', '999'],
    ['an id nobody understands', 'what'],
  ])('%s: told once, and it goes on from now', async (_, after) => {
    const service = await setup()
    const one = await make(service, plan('one', external('a')))
    const listener = hear(`${service.url}/events?progress=false`, { after })
    await listener.until('it', heard => heard.length > 0)
    await note(service, one, 'x')
    await listener.until('more', heard => heard.length > 1)
    expect(listener.heard.map(({ name, id }) => [name, id])).toEqual([
      ['resync', '1'],
      ['note.added', '2'],
    ])
    expect(listener.heard[0]?.data).toMatchObject({ reason: 'unknown', position: 1, hint: expect.any(String) })
  })

  test('what was pruned is told once, exactly to whom it concerns', async () => {
    const service = await setup()
    const [kept, gone] = [
      await make(service, plan('kept', external('a'))),
      await make(service, plan('gone', external('a'))),
    ]
    await note(service, kept, 'between')
    await service.composed.engine.as(ANA).submit(gone, { type: 'cancel', reason: 'x', force: false })
    await service.composed.engine.as(ANA).submit(gone, { type: 'archive' })
    const end = await service.composed.feed.position()
    const pruned = await service.composed.engine.ask({ type: 'prune', before: Date.now() + 60_000, dryRun: false })
    expect(pruned.plans).toBe(1)
    const names = async (path: string, after: string, count: number) => {
      const listener = hear(`${service.url}${path}?progress=false&after=${after}`)
      await listener.until('all', heard => heard.length >= count)
      return listener.heard.map(({ name, id }) => `${name} ${id}`)
    }
    expect(await names('/events', '1', 1)).toEqual([`resync ${end}`])
    // At the very end the last entries are missing, and nothing is behind them.
    expect(await names('/events', '3', 1)).toEqual([`resync ${end}`])
    expect(await names('/plans/kept/events', '0', 2)).toEqual(['plan.created 1', 'note.added 3'])
    const none = hear(`${service.url}/events?progress=false&after=${end}`)
    await none.open
    await note(service, kept, 'later')
    await none.until('the note', heard => heard.length > 0)
    expect(none.heard.map(({ name }) => name)).toEqual(['note.added'])
  })

  test.each(['this process', 'another process'])('what %s pruned is not told while somebody listens', async who => {
    const service = await setup()
    const listener = hear(`${service.url}/events?progress=false&after=0`)
    const following = new AbortController()
    cleanups.push(() => following.abort())
    const entriesOf = (signal: AbortSignal) => fetch(`${service.url}/engine/entries?after=0`, { signal })
    await Promise.all([listener.open, entriesOf(following.signal)])
    const gone = await make(service, plan('gone', external('a')))
    for (const command of [{ type: 'cancel', reason: 'x', force: false }, { type: 'archive' }] as const)
      await service.composed.engine.as(ANA).submit(gone, command)
    await listener.until('all', heard => heard.some(({ name }) => name === 'plan.archived'))
    const environment = { PATH: process.env.PATH, HOME: service.folder }
    const other = await compose({
      cwd: service.folder,
      environment,
      dir: service.composed.stateDir,
      caller: trusted('other'),
    })
    const { engine } = who === 'this process' ? service.composed : other
    const pruned = await engine.ask({ type: 'prune', before: Date.now() + 60_000, dryRun: false })
    await other.close()
    expect(pruned.plans).toBe(1)
    expect((await service.ask('GET', `/plans/${gone}`)).status).toBe(404)
    const late = hear(`${service.url}/events?progress=false&after=0`)
    await late.until('it', heard => heard.length > 0)
    expect(late.heard).toMatchObject([{ name: 'resync', data: { reason: 'pruned' } }])
    const reading = new AbortController()
    const { body } = await entriesOf(reading.signal)
    const kept = await make(service, plan('kept', external('a')))
    let text = ''
    for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
      text += piece
      if (text.includes(kept) && text.endsWith('\n')) break
    }
    reading.abort()
    expect(
      text
        .trim()
        .split('\n')
        .map(line => JSON.parse(line).plan),
    ).toEqual([kept])
  })
})

describe('while entries are written at full speed', () => {
  test('whoever joins in the middle misses nothing and hears nothing twice', async () => {
    const service = await setup()
    const one = await make(service, plan('one', external('a')))
    let writing = true
    const joined: { readonly listener: Listener; readonly after: number }[] = []
    const writer = (async () => {
      // Those of one round share a commit. It goes on until some have joined in the middle.
      for (let round = 0; round < 60 || joined.length <= 10; round++)
        await Promise.all(Array.from({ length: 1 + (round % 20) }, (_, at) => note(service, one, `${round}.${at}`)))
      writing = false
    })()
    while (writing && joined.length < 40) {
      const position = await service.composed.feed.position()
      const after = joined.length % 3 === 0 ? 0 : Math.max(0, position - (joined.length % 7))
      const path = joined.length % 2 === 0 ? '/events' : '/plans/one/events'
      const listener = hear(`${service.url}${path}?progress=false&after=${after}`)
      joined.push({ listener, after })
      await listener.open
    }
    await writer
    const expected = await journal(service)
    for (const { listener, after } of joined) {
      await listener.until('everything', heard => heard.at(-1)?.id === String(expected.length))
      expect(told(listener.heard)).toEqual(expected.slice(after))
    }
    expect(joined.length).toBeGreaterThan(10)
  })

  test('regression 10: a subscriber never sees an older revision after a newer one', async () => {
    const service = await setup()
    const one = await make(service, plan('one', external('a')))
    const seen = Array.from({ length: 5 }, () => hear(`${service.url}/plans/one/events`))
    await Promise.all(seen.map(({ open }) => open))
    for (let revision = 2; revision <= 40; revision++) {
      const definition = plan('one', external('a'), task(`t${revision}`))
      const revised = await service.composed.engine
        .as(ANA)
        .submit(one, { type: 'revise', definition, rationale: 'more' })
      expect(revised.ok).toBe(true)
    }
    for (const listener of seen) {
      const revisions = () =>
        listener.heard.flatMap(({ name, data }) =>
          name === 'plan.revised' ? [data.event.revision] : name === 'plan.progress' ? [data.revision] : [],
        )
      await listener.until('the last', () => revisions().filter(revision => revision === 40).length === 2)
      expect(revisions()).toEqual(revisions().toSorted((a, b) => a - b))
      const versions = listener.heard.map(({ data }) => data.version)
      expect(versions).toEqual(versions.toSorted((a, b) => a - b))
    }
  })
})

describe('the line', () => {
  test('a heartbeat moves the id on for whoever hears nothing; a stop says goodbye', async () => {
    const service = await setup({ limits: { heartbeatMs: 50 } })
    await make(service, plan('one', external('a')))
    const two = await make(service, plan('two', external('a')))
    const response = await fetch(`${service.url}/plans/one/events?after=1`)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const reader = response.body!.getReader()
    const decoder = new TextDecoder()
    let text = ''
    const until = async (part: string) => {
      while (!text.includes(part)) {
        const { value, done } = await reader.read()
        if (done) throw new Error(`ended without ${part}: ${text}`)
        text += decoder.decode(value, { stream: true })
      }
    }
    await until('id: 1\n\n')
    expect(text.startsWith('retry: 1000\n: at 1\nid: 1\n\n')).toBe(true)
    await note(service, two, 'of no concern')
    await until(': at 3\nid: 3\n\n')
    const closing = service.close()
    services = []
    await until(': bye\n\n')
    expect((await reader.read()).done).toBe(true)
    await closing
  })
})
