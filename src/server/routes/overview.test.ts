// What a page lists: plans with how they stand and what they used, a plan that is only checked, the end of output, the newest of the
// journal.

import { describe, expect, test } from 'vitest'
import { heldTest } from '../../safety/sandbox/needs-sandbox.fixture.ts'
import { type Served, servedHere } from '../server.fixture.ts'

const service = servedHere()

const ask: Served['ask'] = (...given) => service.ask(...given)

async function make(name: string, tasks: readonly object[], more: object = {}): Promise<string> {
  const { status, body } = await ask('POST', '/plans?start=1', { planfold: 1, name, tasks, ...more })
  expect({ status, body }).toMatchObject({ status: 201 })
  return body.id
}
const drive = (plan: string) => service.composed.worker.drive(plan as never, { stop: new AbortController().signal })
const names = async (query: string): Promise<readonly string[]> =>
  (await ask('GET', `/plans?${query}`)).body.items.map((item: { name: string }) => item.name)

describe('the list of plans', () => {
  test('tells how each stands, what waits for a person, and what it used; by time, waiting and cost', async () => {
    const paid = await make('paid', [{ id: 'a' }, { id: 'b', needs: ['a'] }])
    await ask('POST', `/plans/${paid}/tasks/a/claim`, {})
    const outputs = { usage: { input_tokens: 5, output_tokens: 7, cost_usd: 0.25 } }
    expect((await ask('POST', `/plans/${paid}/tasks/a/report`, { status: 'succeeded', outputs })).status).toBe(200)
    const asks = await make('asks', [
      { id: 'bad', run: 'false' },
      { id: 'g', gate: { type: 'approval' } },
    ])
    await drive(asks)
    await ask('POST', '/plans', { planfold: 1, name: 'later', tasks: [{ id: 'x' }] })

    const { body } = await ask('GET', '/plans?limit=2')
    expect({ ...body, items: body.items.length, next: body.next !== null }).toEqual({
      items: 2,
      next: true,
      total: 3,
      states: { draft: 1, active: 1, paused: 0, blocked: 1, completed: 0, failed: 0, cancelled: 0 },
      complete: true,
    })
    const found = await ask('GET', '/plans?sort=cost')
    expect(found.body.items[0]).toMatchObject({
      name: 'paid',
      tokens: 12,
      cost: 0.25,
      waiting: 0,
      failed: 0,
      running: 0,
    })
    expect(found.body.items[0].counts).toMatchObject({ completed: 1, ready: 1 })
    const [waits] = (await ask('GET', '/plans?waiting=1')).body.items
    const inbox = (await ask('GET', '/inbox')).body.items.filter((item: { plan_id: string }) => item.plan_id === asks)
    expect(waits).toMatchObject({ name: 'asks', failed: 1, cost: null })
    expect([waits.waiting, inbox.length > 0]).toEqual([inbox.length, true])
    expect(await names('waiting=1')).toEqual(['asks'])
    expect(await names('sort=name')).toEqual(['asks', 'later', 'paid'])
    const { updated_at } = (await ask('GET', `/plans/${paid}`)).body
    const later = new Date(Date.parse(updated_at) + 1).toISOString()
    expect(await names(`until=${encodeURIComponent((await ask('GET', `/plans/${paid}`)).body.created_at)}`)).toEqual([])
    expect(await names(`since=${encodeURIComponent(later)}&q=paid`)).toEqual([])
    expect(await names(`since=${encodeURIComponent(updated_at)}&q=paid`)).toEqual(['paid'])
    expect((await ask('GET', '/plans?sort=age')).status).toBe(422)
    // A cursor goes on only with what it was handed out for.
    expect((await ask('GET', `/plans?limit=2&sort=name&cursor=${body.next}`)).status).toBe(422)
    const rest = await ask('GET', `/plans?limit=2&cursor=${body.next}`)
    expect(rest.body.items.map((item: { name: string }) => item.name)).toEqual(['paid'])
  })
})

describe('a dry run of making a plan', () => {
  const document = { planfold: 1, name: 'tried', tasks: [{ id: 'a', run: 'true' }] }

  test('tells what would be made, and writes nothing', async () => {
    const before = await service.composed.engine.ask({ type: 'position' })
    const { status, body } = await ask('POST', '/plans?dry_run=1', document)
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { status: 'dry_run', name: 'tried', name_taken: false, tasks: 1, start: false, warnings: [], document },
    })
    expect((await ask('GET', '/plans/tried')).status).toBe(404)
    expect((await ask('POST', '/plans?dry_run=1&name=paid', document)).body).toMatchObject({ name_taken: true })
    expect(await service.composed.engine.ask({ type: 'position' })).toBe(before)
  })

  test('tells what is around it that will refuse it, as the analysis does', async () => {
    const secret = { ...document, name: 'secretive', tasks: [{ id: 'a', run: 'true', secrets: ['DEPLOY_KEY'] }] }
    const tried = await ask('POST', '/plans?dry_run=1', secret)
    expect(tried.body.surroundings).toMatchObject([
      { severity: 'warning', task: 'a', message: expect.stringContaining("the secret 'DEPLOY_KEY'") },
    ])
    expect((await ask('POST', '/plans', secret)).status).toBe(201)
    expect((await ask('GET', '/plans/secretive/analyze')).body.surroundings).toEqual(tried.body.surroundings)
  })

  test('tells what is wrong as the making does', async () => {
    const wrong = { ...document, tasks: [{ id: 'a', run: ['ls'], cwd: '/srv', needs: ['gone'] }] }
    const [tried, made] = [await ask('POST', '/plans?dry_run=1', wrong), await ask('POST', '/plans', wrong)]
    expect([tried.status, tried.body.faults]).toEqual([422, made.body.faults])
  })
})

describe('from the end', () => {
  heldTest('the last that was printed, and what came before that', async () => {
    const plan = await make('printed', [
      { id: 'a', run: 'echo first' },
      { id: 'b', needs: ['a'], run: 'echo second' },
    ])
    await drive(plan)
    const all = (await ask('GET', `/plans/${plan}/logs`)).body.items as { seq: number; text: string }[]
    expect(all.length).toBeGreaterThan(1)
    const tail = (await ask('GET', `/plans/${plan}/logs?tail=1`)).body
    expect(tail).toMatchObject({ items: [{ seq: all.at(-1)!.seq }], next: null, previous: String(all.at(-1)!.seq) })
    const before = (await ask('GET', `/plans/${plan}/logs?before=${tail.previous}`)).body
    expect(before.items.map(({ seq }: { seq: number }) => seq)).toEqual(all.slice(0, -1).map(({ seq }) => seq))
    expect(before.previous).toBeNull()
    const ofTask = (await ask('GET', `/plans/${plan}/tasks/a/logs?tail=50`)).body.items
    expect(ofTask.map(({ task }: { task: string }) => task)).toEqual(ofTask.map(() => 'a'))
    expect(ofTask.length).toBeGreaterThan(0)
  })

  test('the journal, newest first, page by page, without what was asked', async () => {
    const all = (await ask('GET', '/plans/printed/entries')).body.items as { version: number }[]
    const versions: number[] = []
    for (let cursor = ''; ; ) {
      const { body } = await ask('GET', `/plans/printed/entries?order=newest&command=false&limit=2${cursor}`)
      for (const entry of body.items) expect(Object.keys(entry)).not.toContain('command')
      versions.push(...body.items.map(({ version }: { version: number }) => version))
      if (body.next === null) break
      cursor = `&cursor=${body.next}`
    }
    expect(versions).toEqual(all.map(({ version }) => version).toReversed())
    const { items } = (await ask('GET', '/plans/printed/entries?before=3')).body
    expect(items.map(({ version }: { version: number }) => version)).toEqual([2, 1])
    expect(items[0].command).toBeDefined()
    expect((await ask('GET', '/plans/printed/entries?before=1')).body).toEqual({ items: [], next: null })
  })
})

describe('a fork', () => {
  test('goes on from where the plan stood, and is compared with it; checkpoints are compared by path', async () => {
    const plan = await make('base', [
      { id: 'e', edit: { file: 'out.txt', create: 'one\n' } },
      { id: 'b', needs: ['e'], run: 'false' },
    ])
    await drive(plan)
    const { status, body, headers } = await ask('POST', `/plans/${plan}/fork`, { from: 'e', name: 'again' })
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { name: 'again', state: 'draft', origin: plan, fork: { ended: ['e'], open: ['b'] } },
    })
    expect(headers.get('location')).toBe(`/plans/${body.plan_id}`)
    expect((await ask('POST', `/plans/${plan}/fork`, { from: 'nobody' })).status).toBeGreaterThanOrEqual(400)

    const compared = (await ask('GET', `/plans/${plan}/compare?with=again`)).body
    expect(compared).toMatchObject({
      a: { name: 'base' },
      b: { name: 'again', origin: plan },
      definition: { same: true },
    })
    const differs = compared.tasks.map((pair: { task: string; differs: string[] }) => [
      pair.task,
      pair.differs.length > 0,
    ])
    expect(differs).toContainEqual(['b', true])
    expect((await ask('GET', `/plans/${plan}/compare?with=nobody`)).status).toBe(404)

    const since = (await ask('GET', `/plans/${plan}/checkpoints/diff?from=1`)).body
    expect(since).toMatchObject({ plan_id: plan, from: '1', to: null })
    expect(since.changes).toMatchObject([{ path: 'out.txt', change: 'created', before: null, after: { type: 'file' } }])
    expect((await ask('GET', `/plans/${plan}/checkpoints/diff?from=1&to=1`)).body.changes).toEqual([])
    expect((await ask('GET', `/plans/${plan}/checkpoints/diff?from=never`)).status).toBeGreaterThanOrEqual(400)
  })
})
