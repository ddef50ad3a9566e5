// The Engine door over HTTP: who may order and ask what, within which scope, and what is said to bodies that do not fit.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { byName } from '../../client/named.fixture.ts'
import type { Actor } from '../../domain/id.ts'
import type { Role } from '../../engine/roles.ts'
import { ORDERS } from '../../format/wire/orders.ts'
import { QUERIES } from '../../format/wire/queries.ts'
import { external, plan } from '../../testing/index.ts'
import { openApi, sample } from '../api-docs/openapi.ts'
import type { Outlet } from '../live/sse.ts'
import { type Served, type ServedOptions, served } from '../server.fixture.ts'
import { streamEntries } from './engine.ts'

const open: Served[] = []
afterEach(async () => {
  for (const service of open.splice(0)) await service.close()
})
async function serving(options: ServedOptions = {}): Promise<Served> {
  const service = await served(options)
  open.push(service)
  return service
}

const as = (name: string) => ({ authorization: `Bearer ${name}` })
const ANA = as('ana')
const ROLES = ['viewer', 'operator', 'approver', 'admin'] as const
const ana = 'ana' as Actor
const DECIDING = ['decide', 'answer', 'review', 'judge', 'raise']
const ADMINISTERING = ['check', 'prune']
/** What shows bytes of files. */
const INSPECTING = ['blob', 'confidentialArtifact', 'consent', 'judgedWork', 'rollbackDiffs', 'taskChanges', 'why']

/** Something of every type that passes its schema. */
function samplesOf(service: Served, name: 'EngineOrder' | 'EngineQuery', types: readonly string[]): readonly object[] {
  const document = openApi(service.rooms.routes, { version: '1' })
  const text = JSON.stringify(document.components.schemas![name])
  const body = JSON.parse(text) as { properties: { order?: { oneOf: object[] }; query?: { oneOf: object[] } } }
  const forms = (body.properties.order ?? body.properties.query)!.oneOf
  expect(forms).toHaveLength(types.length)
  return forms.map(form => sample(document, form as never) as object)
}

describe('the Engine door over HTTP', () => {
  test('everybody may give the orders of their role, and no others', async () => {
    const service = await serving({ guard: byName() })
    const may: { readonly [role in Role]: (type: string) => boolean } = {
      viewer: () => false,
      operator: type => !DECIDING.includes(type),
      approver: type => DECIDING.includes(type),
      admin: () => true,
    }
    for (const order of samplesOf(service, 'EngineOrder', Object.keys(ORDERS))) {
      const { type } = order as { readonly type: string }
      for (const role of ROLES) {
        const { status, body } = await service.ask('POST', '/engine/orders', { plan: 'nobody', order }, as(role))
        // What passes finds no such plan; `create` needs none.
        const isStopped = status === 403 && body.detail.includes('may not')
        expect({ [`${role} ${type}`]: isStopped, isBug: status >= 500 }).toEqual({
          [`${role} ${type}`]: !may[role](type),
          isBug: false,
        })
      }
    }
  })

  test('everybody may ask everything, but for what administers, and the bytes of files', async () => {
    const service = await serving({ guard: byName() })
    for (const query of samplesOf(service, 'EngineQuery', Object.keys(QUERIES))) {
      const { type } = query as { readonly type: string }
      for (const role of ADMINISTERING.includes(type) ? ROLES : (['viewer'] as const)) {
        const { status } = await service.ask('POST', '/engine/queries', { query }, as(role))
        const isStopped =
          (ADMINISTERING.includes(type) && role !== 'admin') || (INSPECTING.includes(type) && role === 'viewer')
        expect({ [`${role} ${type}`]: status }).toEqual({ [`${role} ${type}`]: isStopped ? 403 : 200 })
      }
    }
  })

  test('streams: everybody reads them, operators append', async () => {
    const service = await serving({ guard: byName() })
    const append = { of: 'sessions', do: 'append', id: 's', events: [{ type: 'session.opened', title: 'x' }] }
    for (const [role, may] of [
      ['viewer', 403],
      ['approver', 403],
      ['operator', 200],
      ['admin', 200],
    ] as const) {
      expect((await service.ask('POST', '/engine/streams', append, as(role))).status).toBe(may)
      expect((await service.ask('POST', '/engine/streams', { of: 'goals', do: 'list' }, as(role))).status).toBe(200)
    }
  })

  test('A69: who has a token for some plans sees, orders and hears of no others', async () => {
    const folder = (await serving()).folder
    const first = await serving({ folder: `${folder}` })
    const make = async (name: string, session: string) => {
      const made = await first.composed.engine
        .as(ana)
        .submit(null, { type: 'create', definition: plan(name, external('a')), session })
      if (!made.ok) throw new Error('refused')
      return made.plan
    }
    const [mine, theirs, spoken] = [await make('mine', 'x'), await make('theirs', 'x'), await make('spoken', 's')]
    const service = await serving({ folder, guard: byName({ scope: { plans: [mine], sessions: ['s'] } }) })
    const ask = async (query: object) => (await service.ask('POST', '/engine/queries', { query }, ANA)).body
    expect((await ask({ type: 'summary', plan: mine })).answer.name).toBe('mine')
    expect(await ask({ type: 'summary', plan: theirs })).toEqual({ answer: null })
    expect(await ask({ type: 'summary', plan: 'theirs' })).toEqual({ answer: null })
    expect(await ask({ type: 'find', reference: 'theirs' })).toEqual({ answer: null })
    expect(await ask({ type: 'compare', plan: mine, with: theirs })).toEqual({ answer: null })
    expect((await ask({ type: 'plans' })).answer.items.map((row: { name: string }) => row.name)).toEqual([
      'spoken',
      'mine',
    ])
    expect((await ask({ type: 'tasks' })).answer.items).toHaveLength(2)
    expect((await ask({ type: 'tasks', plan: theirs })).answer.items).toEqual([])
    expect((await ask({ type: 'attempts', plan: theirs })).answer.items).toEqual([])
    for (const query of [{ type: 'blob', sha256: '0'.repeat(64) }, { type: 'steps' }])
      expect((await ask(query)).status).toBe(403)
    for (const query of [{ type: 'inbox' }, { type: 'search', text: 'theirs' }])
      expect((await ask(query)).answer.items).toEqual([])
    expect((await ask({ type: 'search', text: 'mine' })).answer.items).toMatchObject([{ plan: mine }])
    const order = async (about: string | null, one: object) =>
      (await service.ask('POST', '/engine/orders', { plan: about, order: one }, ANA)).status
    expect(await order(theirs, { type: 'note', text: 'x' })).toBe(404)
    expect(await order('theirs', { type: 'note', text: 'x' })).toBe(404)
    expect(await order(spoken, { type: 'note', text: 'x' })).toBe(200)
    const definition = { planfold: 1, name: 'new', tasks: [{ id: 'a' }] }
    expect(await order(null, { type: 'create', definition })).toBe(403)
    expect(await order(null, { type: 'create', definition, session: 's' })).toBe(200)
    expect(await order(mine, { type: 'fork', from: '1', here: true })).toBe(403)
    expect(await order(spoken, { type: 'fork', from: '1', here: true })).toBe(200)
    const stream = (body: object) => service.ask('POST', '/engine/streams', body, ANA)
    expect((await stream({ of: 'sessions', do: 'get', id: 's' })).status).toBe(200)
    expect((await stream({ of: 'sessions', do: 'get', id: 'x' })).status).toBe(404)
    expect((await stream({ of: 'goals', do: 'list' })).status).toBe(403)
    // Entries are heard of those that are within reach, and of no others.
    const heard = new AbortController()
    const response = await fetch(`${service.url}/engine/entries?after=0`, { headers: ANA, signal: heard.signal })
    const seen = new Set<string>()
    let text = ''
    for await (const bytes of response.body!) {
      text += Buffer.from(bytes).toString()
      for (const line of text.split('\n').slice(0, -1)) if (line !== '') seen.add(JSON.parse(line).plan)
      if (seen.size === 4) break
    }
    heard.abort()
    expect(seen.has(theirs)).toBe(false)
    expect((await service.ask('GET', `/engine/entries?after=0&plan=${theirs}`, undefined, ANA)).status).toBe(404)
  })

  test('how a plan stands is a conflict, not a matter of rights: a fork with inputs of what has ended', async () => {
    const service = await serving()
    const order = async (plan: string | null, one: object) =>
      await service.ask('POST', '/engine/orders', { plan, order: one })
    const definition = {
      planfold: 1,
      name: 'p',
      tasks: [{ id: 'a' }, { id: 'b', model: 'openai/x', instruction: 'say it', needs: ['a'] }],
    }
    await order(null, { type: 'create', definition, imported: [{ task: 'a', status: 'completed' }] })
    const fork = { type: 'fork', from: '1', here: true }
    expect(await order('p', { ...fork, inputs: { 'a.x': 1 } })).toMatchObject({
      status: 409,
      body: { type: 'urn:planfold:problem:illegal-transition' },
    })
    await order(null, { type: 'create', definition: { planfold: 1, name: 'q', tasks: [{ id: 'a' }] } })
    expect(await order('q', { ...fork, model: 'm' })).toMatchObject({ status: 409 })
  })

  test('what does not fit is refused where it does not, and nothing of it reaches the engine', async () => {
    const service = await serving()
    const send = (order: unknown) => service.ask('POST', '/engine/orders', { plan: null, order })
    for (const [order, path] of [
      [{ type: 'nonsense' }, 'order'],
      [{ type: 'create' }, 'order'],
      [{ type: 'create', definition: { planfold: 1, name: 'x', tasks: [{ id: 'a', runs: 'x' }] } }, 'order.definition'],
      [{ type: 'create', definition: { planfold: 2, name: 'x', tasks: [] } }, 'order.definition.planfold'],
      [
        { type: 'report', task: 'a', result: { status: 'succeeded', wrote: { changes: null, paths: 0 } } },
        'order.result.wrote',
      ],
      [{ type: 'claim', token: 'mine' }, 'order.token'],
      [{ type: 'decide', task: 'a', verdict: 'approved', rationale: '', by: 'somebody else' }, 'order.by'],
      [{ type: 'turn' }, 'order'],
      [{ type: 'recover', reason: 'x' }, 'order'],
    ] as const) {
      const { status, body } = await send(order)
      expect({ order, status, path: body.faults?.[0]?.path }).toEqual({
        order,
        status: 422,
        path: expect.stringContaining(path),
      })
    }
    const task = { id: 'b', needs: ['a'], when: 'tasks.a.outputs.x == 1', inputs: { x: '${{ tasks.a.outputs.x }}' } }
    await send({ type: 'create', definition: { planfold: 1, name: 'p', tasks: [{ id: 'a' }] } })
    const add = (one: object) =>
      service.ask('POST', '/engine/orders', { plan: 'p', order: { type: 'add', tasks: [one] } })
    expect((await add(task)).status).toBe(200)
    const unknown = await add({ ...task, id: 'c', when: 'tasks.zz.outputs.x == 1' })
    expect({ status: unknown.status, detail: unknown.body.detail }).toMatchObject({
      status: 422,
      detail: expect.stringContaining('zz'),
    })
    expect(service.errors).toEqual([])
  })

  test('a token holds so many streams open and no more', async () => {
    const service = await serving({ limits: { streams: 2 } })
    const stop = new AbortController()
    for (let count = 0; count < 2; count++)
      expect((await fetch(`${service.url}/engine/entries?after=0`, { signal: stop.signal })).status).toBe(200)
    expect((await service.ask('GET', '/engine/entries?after=0')).status).toBe(429)
    stop.abort()
  })

  test('a listener that reads slowly is waited for, and nothing of the waits is left behind', async () => {
    const service = await serving()
    const order = { type: 'create', definition: { planfold: 1, name: 'p', tasks: [{ id: 'a' }] } }
    await service.ask('POST', '/engine/orders', { plan: null, order })
    for (let count = 0; count < 12; count++)
      await service.ask('POST', '/engine/orders', { plan: 'p', order: { type: 'note', text: 'x' } })
    const warnings: Error[] = []
    const warn = (warning: Error) => warnings.push(warning)
    process.on('warning', warn)
    const gone = new AbortController()
    const call = {
      rooms: service.rooms,
      engine: service.rooms.engine,
      who: { scope: null, token: '' },
      query: { after: 0 },
      signal: () => gone.signal,
    }
    const answer = await streamEntries(call as unknown as Parameters<typeof streamEntries>[0])
    if (!('stream' in answer)) throw new Error('refused')
    const seen: string[] = []
    const out: Outlet = {
      begin: () => {},
      write: text => {
        if (text !== '\n' && seen.push(text) === 13) gone.abort()
        return text === '\n'
      },
      drained: () => new Promise(resolve => setImmediate(resolve)),
      buffered: () => 1,
      disconnected: gone.signal,
      end: () => {},
      destroy: () => {},
    }
    await answer.stream(out)
    await new Promise(resolve => setImmediate(resolve))
    process.off('warning', warn)
    expect({ seen: seen.length, warnings }).toEqual({ seen: 13, warnings: [] })
  })

  test('a fork from nowhere hints at requests, not at commands', async () => {
    const service = await serving()
    const order = (plan: string | null, one: object) => service.ask('POST', '/engine/orders', { plan, order: one })
    await order(null, { type: 'create', definition: { planfold: 1, name: 'p', tasks: [{ id: 'a' }] } })
    const hints: string[] = []
    for (const from of ['nowhere-at-all', 'a', '999'])
      hints.push((await order('p', { type: 'fork', from, here: true })).body.hint)
    expect(hints).toEqual([
      'see `GET /plans/p/checkpoints` and `GET /plans/p/entries`',
      'name a task that has ended, a checkpoint, or an entry: see `GET /plans/p/checkpoints` and `GET /plans/p/entries`',
      'its entries are 1 to 1; see `GET /plans/p/entries`',
    ])
  })

  test('a listener that does not read is cut off', async () => {
    const service = await serving({ limits: { streamSilentMs: 200, heartbeatMs: 50, streams: 1 } })
    const { engine } = service.composed
    const made = await engine.as(ana).submit(null, { type: 'create', definition: plan('loud', external('a')) })
    if (!made.ok) throw new Error('refused')
    for (let count = 0; count < 60; count++)
      await engine.as(ana).submit(made.plan, { type: 'note', text: 'x'.repeat(200_000) })
    const silent = await fetch(`${service.url}/engine/entries?after=0`)
    // Its place is free again when it has been cut off.
    const stop = new AbortController()
    await vi.waitFor(
      async () => {
        const { status } = await fetch(`${service.url}/engine/entries?after=0`, { signal: stop.signal })
        expect(status).toBe(200)
      },
      { timeout: 120_000, interval: 50 },
    )
    stop.abort()
    const reading = (async () => {
      for await (const chunk of silent.body!) void chunk
    })()
    await expect(reading).rejects.toThrow()
  })
})
