// Between client and service anything may be lost: answers, lines, the service itself. Nothing happens twice, and nothing is missed.

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Actor } from '../domain/id.ts'
import { type Served, served } from '../server/server.fixture.ts'
import type { Entry } from '../stores/store.ts'
import { external, name, plan } from '../testing/index.ts'
import { connect, type Engine, RemoteEngine, RemoteTrouble, StoreBusy } from './client.ts'
import { type DroppingProxy, droppingProxy } from './dropping-proxy.fixture.ts'
import { byName } from './named.fixture.ts'

const RUNS = Number(process.env.PLANFOLD_P55_RUNS ?? 30)
const ana = 'ana' as Actor

let service: Served
beforeAll(async () => {
  service = await served({ guard: byName() })
})
afterAll(() => service.close())

const opened: (Engine | DroppingProxy)[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})
const keep = <T extends Engine | DroppingProxy>(one: T): T => {
  opened.push(one)
  return one
}

/** Asks again without waiting, and is as patient as ever with a line that is silent. */
const eager = (url: string): Engine =>
  new RemoteEngine({
    url,
    token: 'ana',
    fetch,
    newKey: randomUUID,
    wait: (ms, signal) =>
      ms <= 10_000 ? Promise.resolve() : new Promise(heard => signal.addEventListener('abort', () => heard())),
    timeoutMs: 10_000,
    triesMax: 5,
  })

/** Numbers that look like chance, and are the same each time. */
function drawn(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

describe('P55: an answer that is lost', () => {
  test(`makes no second plan and no second task, ${RUNS} times over`, async () => {
    const draw = drawn(7)
    // At most three in a row: a line that never answers is another test.
    let row = 0
    const proxy = keep(
      await droppingProxy(service.url, () => {
        if (row >= 3 || draw() < 0.4) {
          row = 0
          return null
        }
        row++
        return Math.floor(draw() * 60) - 1
      }),
    )
    const engine = keep(eager(proxy.url))
    for (let run = 0; run < RUNS; run++) {
      const made = await engine.submit(null, { type: 'create', definition: plan(`lost-${run}`), taken: 'number' })
      if (!made.ok) throw new Error(made.refusal.message)
      expect(made.name).toBe(`lost-${run}`)
      const tasks = [external('a'), external('b')]
      expect(await engine.submit(made.plan, { type: 'add', tasks })).toMatchObject({ ok: true, version: 2 })
      if (run % 5 !== 0) continue
      expect(await engine.submit(made.plan, { type: 'start' })).toMatchObject({ ok: true })
      const claimed = await engine.submit(made.plan, { type: 'claim' })
      if (!claimed.ok) throw new Error(claimed.refusal.message)
      const { task, token } = claimed.claim!
      const result = { status: 'succeeded' } as const
      expect(await engine.submit(made.plan, { type: 'report', task, token, result })).toMatchObject({
        ok: true,
      })
      const said = await engine.sessions.append(`s-${run}`, [{ type: 'session.opened', title: 'x' }])
      expect(said).toMatchObject({ ok: true, version: 1 })
    }
    expect(proxy.lost()).toBeGreaterThan(RUNS)
    const { engine: local } = service.composed
    const all = await local.ask({ type: 'plans', limit: 500 })
    expect(all.items.map(row => row.name).sort()).toEqual(
      Array.from({ length: RUNS }, (_, run) => `lost-${run}`).sort(),
    )
    for (const row of all.items) {
      const entries = await local.ask({ type: 'entries', plan: row.id })
      const kinds = entries!.map(({ command }) => command.type)
      const isStarted = Number(row.name.slice('lost-'.length)) % 5 === 0
      expect(kinds).toEqual(['create', 'add', ...(isStarted ? ['revise', 'start', 'claim', 'report'] : [])])
    }
    expect(await local.sessions.get('s-0')).toMatchObject({ version: 1 })
  })
})

describe('a line that is cut', () => {
  test('is taken up again behind the last whole entry: each once, in order', async () => {
    const draw = drawn(3)
    const cuts = 40
    let left = cuts
    const proxy = keep(
      await droppingProxy(service.url, path =>
        path.startsWith('/engine/entries') && left-- > 0 ? Math.floor(draw() * 4_000) : null,
      ),
    )
    const [engine, writer] = [keep(eager(proxy.url)), service.composed.engine]
    const made = await writer.as(ana).submit(null, { type: 'create', definition: plan('cut', external('a')) })
    if (!made.ok) throw new Error('refused')
    const notes = 120
    const stop = new AbortController()
    const seen: Entry[] = []
    const watching = (async () => {
      for await (const entry of engine.watch({ after: 0, plan: made.plan, signal: stop.signal }))
        if (seen.push(entry) === notes + 1) break
    })()
    for (let note = 0; note < notes; note++)
      await writer.as(ana).submit(made.plan, { type: 'note', text: `${note} ${'é'.repeat(50)}` })
    await watching
    expect(seen).toEqual(await writer.ask({ type: 'entries', plan: made.plan, limit: notes + 1 }))
    expect(proxy.lost()).toBeGreaterThan(5)
  })

  test('ends when the client is closed, and so does everything else of it', async () => {
    const engine = connect({ url: service.url, token: 'ana' })
    const watching = (async () => {
      for await (const entry of engine.watch({ after: 0, signal: new AbortController().signal })) void entry
    })()
    await engine.ask({ type: 'position' })
    await engine.close()
    await watching
    await expect(engine.ask({ type: 'position' })).rejects.toThrow(RemoteTrouble)
  })
})

describe('trouble is told with a hint', () => {
  const trouble = async (engine: Engine): Promise<RemoteTrouble> => {
    const error = await keep(engine)
      .ask({ type: 'position' })
      .catch((caught: unknown) => caught)
    if (!(error instanceof RemoteTrouble)) throw new Error(`not the trouble that was looked for: ${String(error)}`)
    expect(error.hint).not.toBe('')
    return error
  }

  test('nobody is there', async () => {
    const nobody = createServer()
    await new Promise<void>(resolve => nobody.listen({ host: '127.0.0.1', port: 0 }, resolve))
    const { port } = nobody.address() as AddressInfo
    await new Promise(resolve => nobody.close(resolve))
    const engine = connect({ url: `http://127.0.0.1:${port}`, tries: 2 })
    expect((await trouble(engine)).kind).toBe('unreachable')
  })

  test('the token is not known', async () => {
    expect((await trouble(connect({ url: service.url }))).kind).toBe('not-signed-in')
    const watching = keep(connect({ url: service.url })).watch({ after: 0, signal: new AbortController().signal })
    await expect(watching[Symbol.asyncIterator]().next()).rejects.toMatchObject({ kind: 'not-signed-in' })
  })

  test('somebody else answers there', async () => {
    const fetch = async () => new Response('<html>hello', { status: 200 })
    expect((await trouble(connect({ url: 'http://elsewhere', fetch }))).kind).toBe('not-planfold')
  })

  test('a store that is busy is asked again, and comes back as the same trouble when it stays so', async () => {
    let asked = 0
    const fetch = async () => {
      asked++
      return Response.json(
        { type: 'urn:planfold:problem:busy', title: 'x', status: 503, detail: 'busy' },
        { status: 503 },
      )
    }
    const engine = keep(connect({ url: 'http://elsewhere', fetch, tries: 3 }))
    await expect(engine.ask({ type: 'position' })).rejects.toBeInstanceOf(StoreBusy)
    expect(asked).toBe(3)
  })

  test('every try of an order carries the same key, and the next order another', async () => {
    const keys: (string | null)[] = []
    const fetch: typeof globalThis.fetch = async (_, options) => {
      keys.push(new Headers(options?.headers).get('idempotency-key'))
      if (keys.length % 2 === 1) throw new TypeError('cut off')
      return Response.json({ plan: 'p', name: 'p', version: 1, events: [] })
    }
    const engine = keep(connect({ url: 'http://elsewhere', fetch }))
    await engine.submit('p', { type: 'note', text: 'x' })
    await engine.submit('p', { type: 'skip', task: name('a'), reason: 'x' })
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect([keys[1], keys[3]]).toEqual([keys[0], keys[2]])
    expect(keys[2]).not.toBe(keys[0])
  })
})
