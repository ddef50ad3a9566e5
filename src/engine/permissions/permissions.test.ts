// What a caller may order, ask, watch and become, by their rights and within their scope; through the door, as every face comes.

import { beforeEach, describe, expect, test } from 'vitest'
import type { Actor, PlanId, Sha256 } from '../../domain/id.ts'
import { external, gate, name, plan } from '../../testing/index.ts'
import { QUERIES } from '../answer-query.ts'
import type { EngineInProcess } from '../engine.ts'
import { ORDERS } from '../order-table.ts'
import type { Order } from '../orders.ts'
import type { QueryOf, QueryType } from '../queries.ts'
import { type Caller, NotAllowed, RIGHTS, type Right, type Role, type Scope, trusted } from '../roles.ts'
import { ME, setup } from '../rooms.fixture.ts'

let room: ReturnType<typeof setup>
let engine: EngineInProcess
/** In the session `ours`, and in `theirs`. */
let own: PlanId
let other: PlanId
beforeEach(async () => {
  room = setup()
  engine = room.engine
  own = await make('own', 'ours')
  other = await make('other', 'theirs')
})

async function make(called: string, session: string): Promise<PlanId> {
  const definition = plan(called, external('a'), gate('g'))
  const made = await engine.submit(null, { type: 'create', definition, session, goal: 'g1' })
  if (!made.ok) throw new Error(made.refusal.message)
  await engine.submit(made.plan, { type: 'start' })
  return made.plan
}
const caller = (role: Role, scope: Scope | null = null): Caller => ({
  actor: 'ana' as Actor,
  rights: RIGHTS[role],
  scope,
})
const denied = (lacks: string) =>
  expect.objectContaining({ refusal: expect.objectContaining({ code: 'not-allowed', lacks }) })

type Rows = { readonly [type: string]: { readonly right: Right } }

describe('rights', () => {
  test('to answer people is to decide, to look after the store is to administer, and bytes are inspected', () => {
    const needing = (rows: Rows, right: Right) =>
      Object.keys(rows)
        .filter(type => rows[type]!.right === right)
        .sort()
    const rights = (rows: Rows) => new Set(Object.values(rows).map(row => row.right))
    expect(needing(ORDERS, 'decide')).toEqual(['answer', 'decide', 'judge', 'raise', 'review'])
    expect(rights(ORDERS)).toEqual(new Set(['operate', 'decide']))
    expect(needing(QUERIES, 'administer')).toEqual(['check', 'prune'])
    expect(needing(QUERIES, 'inspect')).toEqual([
      'blob',
      'confidentialArtifact',
      'consent',
      'judgedWork',
      'rollbackDiffs',
      'taskChanges',
      'why',
    ])
    expect(rights(QUERIES)).toEqual(new Set(['read', 'inspect', 'administer']))
  })

  test('every order is refused to whoever lacks its right, before anything is looked at', async () => {
    for (const [type, { right }] of Object.entries(ORDERS))
      for (const role of ['viewer', 'operator', 'approver', 'admin'] as const) {
        const definition = plan('made', external('a'))
        const done = await engine.as(caller(role)).submit('nobody', { type, definition } as Order)
        const isDenied = !done.ok && done.refusal.message === `ana may not ${right}`
        expect([type, role, isDenied]).toEqual([type, role, !RIGHTS[role].has(right)])
      }
  })

  test('every query is refused to whoever lacks its right', async () => {
    for (const [type, { right }] of Object.entries(QUERIES)) {
      const without: Caller = { ...caller('admin'), rights: new Set([...RIGHTS.admin].filter(one => one !== right)) }
      const query = { type, plan: own } as unknown as QueryOf<QueryType>
      await expect(engine.as(without).ask(query)).rejects.toEqual(denied(right))
    }
  })

  test('who only looks halts nothing, appends nothing, closes nothing, and sees all', async () => {
    const vera = engine.as(caller('viewer'))
    expect(await vera.killSwitch.halted()).toBeNull()
    await expect(vera.killSwitch.halt('x')).rejects.toEqual(denied('administer'))
    await expect(vera.killSwitch.lift()).rejects.toEqual(denied('administer'))
    await expect(vera.close()).rejects.toEqual(denied('administer'))
    const appended = await vera.sessions.append('s', [{ type: 'session.opened', title: 'x' }])
    expect(appended).toMatchObject({ ok: false, refusal: { code: 'not-allowed', lacks: 'operate' } })
    expect((await vera.ask({ type: 'plans' })).items).toHaveLength(2)
    await expect(vera.ask({ type: 'blob', sha256: '0'.repeat(64) as Sha256 })).rejects.toBeInstanceOf(NotAllowed)
  })

  test('without the right to read nothing is watched', () => {
    const blind = engine.as({ ...caller('viewer'), rights: new Set() })
    expect(() => blind.watch({ after: 0, signal: AbortSignal.abort() })).toThrow(NotAllowed)
  })

  test('only whoever may lift a halt is told how', async () => {
    await engine.killSwitch.halt('fire')
    const hintFor = async (role: Role) => {
      const done = await engine.as(caller(role)).submit(own, { type: 'resume' })
      return done.ok ? null : done.refusal.hint
    }
    expect(JSON.stringify(await hintFor('admin'))).toContain('lift-halt')
    expect(await hintFor('operator')).toBe('stop working; an authorised person will lift it, then you can continue')
  })
})

describe('somebody else', () => {
  test('a trusted caller may act as anybody, and what they do bears that name', async () => {
    await engine.as('bo' as Actor).submit(own, { type: 'note', text: 'x' })
    expect((await engine.ask({ type: 'entries', plan: own }))?.at(-1)?.actor).toBe('bo')
    expect(engine.as('bo' as Actor).caller).toEqual(trusted('bo'))
    expect(engine.caller.actor).toBe(ME)
  })

  test('nobody else takes another name or more rights, and nobody gets out of a scope', () => {
    const scope: Scope = { plans: [own], sessions: ['ours'] }
    const olga = engine.as(caller('operator', scope))
    for (const wanted of [
      'bo' as Actor,
      { ...olga.caller, actor: 'bo' as Actor },
      { ...olga.caller, rights: RIGHTS.approver },
      { ...olga.caller, scope: null },
      { ...olga.caller, scope: { plans: [own, other] } },
      { ...olga.caller, scope: { sessions: ['theirs'] } },
    ])
      expect(() => olga.as(wanted)).toThrow(NotAllowed)
    expect(() => engine.as(caller('admin', scope)).as(caller('admin'))).toThrow(NotAllowed)
    expect(olga.as({ ...olga.caller, rights: RIGHTS.viewer, scope: { plans: [own] } }).caller.scope).toEqual({
      plans: [own],
    })
  })

  test('a name that could not stand on an entry is no caller', () => {
    expect(() => trusted(' ana')).toThrow('cannot be the name of who acts')
  })
})

describe.each([
  ['of a plan', (): Scope => ({ plans: [own] })],
  ['of a session', (): Scope => ({ sessions: ['ours'] })],
])('a scope %s', (_, scope) => {
  const within = (role: Role = 'admin') => engine.as(caller(role, scope()))

  test('hides every other plan: it is as if it were not there', async () => {
    const nobody = other.replace(/.$/, last => (last === '0' ? '1' : '0')) as PlanId
    for (const type of Object.keys(QUERIES) as QueryType[]) {
      const about = (id: PlanId) =>
        ({
          type,
          plan: id,
          task: 'a',
          reference: id,
          with: own,
          id,
          from: 'x',
          checkpoint: 'x',
          since: 0,
          tasks: [],
          sha256: '0'.repeat(64),
          text: 'title',
          before: 0,
          dryRun: true,
        }) as unknown as QueryOf<QueryType>
      const answer = async (id: PlanId) => {
        try {
          return JSON.stringify(await within().ask(about(id)))
        } catch (error) {
          return String(error)
        }
      }
      const said = await answer(other)
      expect([type, said]).toEqual([type, await answer(nobody)])
      expect([type, said.includes('theirs')]).toEqual([type, false])
    }
    expect(await within().ask({ type: 'summary', plan: own })).toMatchObject({ name: 'own' })
    expect(await within().ask({ type: 'compare', plan: own, with: other })).toBeNull()
  })

  test('lists only what is in it', async () => {
    expect((await within().ask({ type: 'plans' })).items.map(({ id }) => id)).toEqual([own])
    const tasks = (await within().ask({ type: 'tasks' })).items
    expect(new Set(tasks.map(({ plan: id }) => id))).toEqual(new Set([own]))
    const inbox = await within().ask({ type: 'inbox' })
    expect(inbox.items.map(({ plan: id }) => id)).toEqual([own])
    expect(inbox).toMatchObject({ unreadable: [], restored: [] })
  })

  test('is answered although the journal of another plan is damaged', async () => {
    const damaged = room.disk.plans.get(room.disk.numbers.get(other)!)!
    damaged.entries[0] = { ...damaged.entries[0]!, hash: '0'.repeat(64) as Sha256 }
    // Another process, which has read nothing yet.
    engine = setup(undefined, {}, room.disk).engine
    await expect(engine.ask({ type: 'summary', plan: other })).rejects.toThrow()
    const ours = within()
    expect((await ours.ask({ type: 'plans' })).items.map(({ id }) => id)).toEqual([own])
    expect(new Set((await ours.ask({ type: 'tasks' })).items.map(({ plan: id }) => id))).toEqual(new Set([own]))
    const { items, unreadable } = await ours.ask({ type: 'inbox' })
    expect([items.map(({ plan: id }) => id), unreadable]).toEqual([[own], []])
    expect((await ours.ask({ type: 'search', text: 'own' })).items.map(({ plan: id }) => id)).toEqual([own])
    expect(await ours.ask({ type: 'summary', plan: other })).toBeNull()
    expect(await ours.submit(own, { type: 'note', text: 'x' })).toMatchObject({ ok: true })
  })

  test('searches only in it, and tells nothing of what is found elsewhere', async () => {
    const hits: string[] = []
    let pages = 0
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const more: { readonly cursor?: string } = cursor === '' ? {} : { cursor }
      // Every plan has such a task.
      const page = await within().ask({ type: 'search', text: 'a', kinds: ['task'], limit: 1, ...more })
      hits.push(...page.items.map(({ plan: id }) => id))
      cursor = page.next
    }
    expect({ hits, pages }).toEqual({ hits: [own], pages: 1 })
    expect((await engine.ask({ type: 'search', text: 'a', kinds: ['task'], limit: 1 })).next).not.toBeNull()
    expect(await within().ask({ type: 'search', text: 'a', plan: other })).toMatchObject({ items: [], next: null })
  })

  test('names no other plan that holds the files of a task', async () => {
    const make = async (called: string, session: string) => {
      const definition = plan(called, external('w', { write: ['shared/**'] }))
      const made = await engine.submit(null, { type: 'create', definition, session })
      if (!made.ok) throw new Error(made.refusal.message)
      await engine.submit(made.plan, { type: 'start' })
      return made.plan
    }
    const [secret, mine] = [await make('secret', 'theirs'), await make('mine', 'ours')]
    await engine.submit(secret, { type: 'claim' })
    const reach = scope().sessions === undefined ? { plans: [mine] } : scope()
    const limited = engine.as(caller('operator', reach))
    const order = { type: 'claim', task: name('w') } as const
    const told = [
      await limited.submit(mine, order),
      await limited.submit(mine, { type: 'claim' }),
      await limited.ask({ type: 'next', plan: mine, explain: true }),
    ]
    expect(told[0]).toMatchObject({ ok: false, refusal: { code: 'not-ready' } })
    expect(told[2]).toMatchObject({ ready: [], held: [{ task: 'w', by: [] }] })
    expect(JSON.stringify(told)).not.toMatch(new RegExp(`secret|${secret}`))
    // Whoever may use all plans is told which one it is.
    expect(JSON.stringify(await engine.submit(mine, order))).toContain("plan 'secret'")
    expect(JSON.stringify(await engine.ask({ type: 'next', plan: mine, explain: true }))).toContain("plan 'secret'")
  })

  test('gets no stored bytes by reporting their hash as an output', async () => {
    const bytes = new TextEncoder().encode('a file of somebody else')
    const sha256 = await room.rooms.store.blobs.put(bytes)
    const outputs = { mine: { artifact: sha256, bytes: bytes.length } }
    const result = { status: 'succeeded', outputs } as const
    const report = { type: 'report', task: name('a'), result } as const
    const limited = within('operator')
    expect(await limited.submit(own, report)).toMatchObject({ ok: false, refusal: { code: 'not-allowed' } })
    const imported = [{ task: name('a'), status: 'completed', result }] as const
    const definition = plan('made', external('a'))
    const made = await limited.submit(null, { type: 'create', definition, session: 'ours', imported })
    expect(made).toMatchObject({ ok: false, refusal: { code: 'not-allowed' } })
    expect(await limited.ask({ type: 'artifact', plan: own, sha256 })).toBeNull()
    // Whoever may see all stored bytes may name them; then they belong to the plan, and can be handed on in it.
    expect(await engine.submit(own, report)).toMatchObject({ ok: true })
    expect(await limited.ask({ type: 'artifact', plan: own, sha256 })).toEqual(bytes)
    await expect(limited.ask({ type: 'blob', sha256 })).rejects.toEqual(denied('all plans'))
  })

  test('takes orders only about what is in it', async () => {
    const note = { type: 'note', text: 'x' } as const
    expect(await within().submit(own, note)).toMatchObject({ ok: true })
    expect(await within().submit(other, note)).toEqual(await within().submit('nobody', note).then(renamed(other)))
    expect(await within().submit(own, { type: 'adopt', into: other })).toMatchObject({ refusal: { code: 'not-found' } })
  })

  test('makes plans only in a session of its own', async () => {
    const isOfSession = scope().sessions !== undefined
    const made = (called: string, session?: string) =>
      within().submit(null, {
        type: 'create',
        definition: plan(called, external('a')),
        session,
      })
    expect(await made('x')).toMatchObject({ ok: false, refusal: { lacks: 'session' } })
    expect(await made('y', 'theirs')).toMatchObject({ ok: false, refusal: { lacks: 'session' } })
    expect((await made('z', 'ours')).ok).toBe(isOfSession)
    const fork = await within().submit(own, { type: 'fork', here: true, from: 'start' } as Order)
    expect(!fork.ok && fork.refusal.code === 'not-allowed').toBe(!isOfSession)
  })

  test('watches only what is in it', async () => {
    const stop = new AbortController()
    const heard: PlanId[] = []
    for await (const entry of within('viewer').watch({ after: 0, signal: stop.signal })) {
      heard.push(entry.plan)
      if (entry.command.type === 'start') stop.abort()
    }
    expect(new Set(heard)).toEqual(new Set([own]))
  })

  test('knows no goals, no other sessions, and cannot halt', async () => {
    await engine.sessions.append('ours', [{ type: 'session.opened', title: 'Ours' }])
    await engine.sessions.append('theirs', [{ type: 'session.opened', title: 'Theirs' }])
    const isOfSession = scope().sessions !== undefined
    const { sessions, goals, killSwitch } = within()
    expect((await sessions.get('ours')) !== null).toBe(isOfSession)
    expect([await sessions.get('theirs'), await sessions.read('theirs')]).toEqual([null, []])
    expect((await sessions.list({})).items.map(({ id }) => id)).toEqual(isOfSession ? ['ours'] : [])
    expect(await sessions.append('theirs', [{ type: 'session.closed' }])).toMatchObject({
      refusal: { code: 'not-found' },
    })
    await expect(goals.list({})).rejects.toEqual(denied('all plans'))
    await expect(goals.get('g1')).rejects.toEqual(denied('all plans'))
    await expect(killSwitch.halt('x')).rejects.toEqual(denied('all plans'))
  })
})

const renamed =
  (id: string) =>
  <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replaceAll('nobody', id)) as T
