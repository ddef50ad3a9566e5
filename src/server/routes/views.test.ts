// What a page shows of a plan with one call each: its state, a task, a gate.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { paint } from '../../cli/terminal/paint.ts'
import { consentLines } from '../../cli/text/consent-text.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { evolve } from '../../domain/state/evolve.ts'
import { packFold, unpackFold } from '../../domain/state/fold.ts'
import { board } from '../../domain/views/board.ts'
import { NotAllowed, RIGHTS, type Role } from '../../engine/roles.ts'
import { heldTest } from '../../safety/sandbox/needs-sandbox.fixture.ts'
import { guarded } from '../auth/guard.fixture.ts'
import { codingFor } from '../compression.ts'
import { type Served, served } from '../server.fixture.ts'

let service: Served
beforeAll(async () => {
  service = await served()
})
afterAll(() => service.close())

let made = 0
async function make(tasks: readonly object[], more: object = {}): Promise<string> {
  const document = { planfold: 1, name: `viewed-${++made}`, tasks, ...more }
  const { status, body } = await service.ask('POST', '/plans?start=1', document)
  expect({ status, body }).toMatchObject({ status: 201 })
  return body.id
}

const drive = (plan: string) => service.composed.worker.drive(plan as never, { stop: new AbortController().signal })

describe('what is known about a file', () => {
  heldTest('is which task wrote its lines; of a plan that is not there, nothing', async () => {
    const plan = await make([{ id: 'write', run: 'echo a > why.txt', write: ['why.txt'], network: [] }])
    await drive(plan)
    const { status, body } = await service.ask('GET', '/why?path=why.txt&line=1')
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { basis: 'text', parts: [{ from: 1, to: 1, origin: 0 }], origins: [{ by: 'task', task: 'write' }] },
    })
    for (const path of ['/why?path=never.txt', '/why?path=why.txt&plan=nobody'])
      expect((await service.ask('GET', path)).status, path).toBe(404)
    expect((await service.ask('GET', '/why?path=..%2Fx')).status).toBeGreaterThanOrEqual(400)
  })

  test('is also what was said about it, and what people decided', async () => {
    const plan = await make([{ id: 'ok', gate: 'approval' }])
    await drive(plan)
    const done = await service.ask('POST', `/plans/${plan}/gates/ok/approve`, { unseen: true, rationale: 'looked' })
    expect(done.status).toBe(200)
    const decided = await service.ask('GET', `/memory/decisions?plan=${plan}`)
    expect(decided.body).toMatchObject({
      items: [{ plan_id: plan, task: 'ok', answer: 'approved', why: 'looked', by: 'anyone' }],
      next: null,
    })
    expect((await service.ask('GET', '/memory/decisions?limit=1')).body.items).toHaveLength(1)
    expect((await service.ask('GET', '/memory/decisions?plan=nobody')).status).toBe(404)
    expect((await service.ask('GET', '/memory/lessons?file=why.txt')).body).toEqual({ items: [], next: null })
  })
})

describe('the state of a plan', () => {
  heldTest('is unpacked and carried on by whoever has it, and then is that of the service', async () => {
    const plan = await make([
      { id: 'a', run: 'true' },
      { id: 'b', instruction: 'x', needs: ['a'] },
      { id: 'c', instruction: 'y', needs: ['b'] },
    ])
    await drive(plan)
    await service.ask('POST', `/plans/${plan}/tasks/b/claim`, {})
    const first = await service.ask('GET', `/plans/${plan}/state`)
    expect(first.body).toMatchObject({ plan_id: plan, name: `viewed-${made}` })
    expect(JSON.stringify(first.body)).not.toContain('token')
    const open = ({ fold, definition }: { fold: JsonObject; definition: PlanDefinition }) =>
      unpackFold(fold, definition)
    const state = open(first.body)
    expect(state.version).toBe(first.body.version)
    expect(board(state).map(({ status, claimedBy }) => [status, claimedBy])).toEqual([
      ['completed', null],
      ['running', 'anyone'],
      ['pending', null],
    ])
    expect(await service.composed.engine.ask({ type: 'position' })).toBe(first.body.position)

    const done = await service.ask('POST', `/plans/${plan}/tasks/b/report`, { status: 'succeeded' })
    expect(done.status).toBe(200)
    await service.ask('POST', `/plans/${plan}/notes`, { text: 'so it goes on' })
    const later = await service.ask('GET', `/plans/${plan}/entries?after=${state.version}`)
    expect(later.body.items.length).toBeGreaterThan(0)
    for (const { events, at, version } of later.body.items) {
      for (const event of events) evolve(state, event, Date.parse(at))
      state.version = version
    }
    const second = await service.ask('GET', `/plans/${plan}/state`)
    expect(board(state)).toEqual(board(open(second.body)))
    expect(packFold(state)).toMatchObject({ version: second.body.version, status: second.body.fold.status })
  })

  test('has a tag that changes with it, and is not sent again to whoever has it', async () => {
    const plan = await make([{ id: 'a', instruction: 'x' }])
    const { headers } = await service.ask('GET', `/plans/${plan}/state`)
    const tag = headers.get('etag')!
    const again = () => service.ask('GET', `/plans/${plan}/state`, undefined, { 'if-none-match': tag })
    // What happens to others does not change it.
    await make([{ id: 'a', instruction: 'x' }])
    expect((await again()).status).toBe(304)
    await service.ask('POST', `/plans/${plan}/notes`, { text: 'news' })
    const { status, headers: next } = await again()
    expect([status, next.get('etag') === tag]).toEqual([200, false])
    expect((await service.ask('GET', '/plans/nobody/state')).status).toBe(404)
  })
})

describe('a task', () => {
  heldTest('is told with everything about it, in one call', async () => {
    const plan = await make(
      [
        {
          id: 'write',
          title: 'Write it',
          run: 'echo hello; echo one > made.txt',
          write: ['made.txt'],
          accept: [{ expect: 'exit == 0' }],
        },
        { id: 'more', instruction: 'say more', needs: ['write'] },
        { id: 'last', run: 'echo done', needs: ['more'] },
      ],
      {},
    )
    await drive(plan)
    const { status, body, headers } = await service.ask('GET', `/plans/${plan}/tasks/write`)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      plan_id: plan,
      task: { name: 'write', status: 'completed' },
      definition: { id: 'write', title: 'Write it', write: ['made.txt'] },
      needed_by: ['more'],
      attempts: [{ visit: 1, attempt: 1, status: 'succeeded', by: null, exit: 0, outcome: 'success', paths: 1 }],
      criteria: [{ part: 'acceptance', holds: true }],
      decisions: [],
      preview: null,
      log: { items: [{ stream: 'engine' }, { stream: 'stdout', text: 'hello\n' }], cut: false },
      changes: {
        visit: 1,
        attempt: 1,
        files: [
          {
            path: 'made.txt',
            change: 'created',
            before: null,
            after: 4,
            patch: ['@@ -0,0 +1,1 @@', '+one'],
            why: null,
          },
        ],
        more: 0,
      },
    })
    expect((await service.ask('GET', `/plans/${plan}/tasks/last`)).body).toMatchObject({
      task: { status: 'pending' },
      preview: expect.stringContaining('echo done'),
      attempts: [],
      changes: null,
      why: expect.stringContaining("'more'"),
    })
    await service.ask('POST', `/plans/${plan}/tasks/more/claim`, { agent_id: 'bo' })
    const usage = { input_tokens: 100, output_tokens: 20, cost_usd: 0.25 }
    const said = { status: 'succeeded', outputs: { usage } }
    expect((await service.ask('POST', `/plans/${plan}/tasks/more/report`, said)).status).toBe(200)
    expect((await service.ask('GET', `/plans/${plan}/tasks/more`)).body).toMatchObject({
      attempts: [{ by: 'anyone', used: { tokens: 120, cost: 0.25 } }],
      used: { tokens: 120, input_tokens: 100, output_tokens: 20, cost: 0.25 },
    })
    const known = await service.ask('GET', `/plans/${plan}/tasks/write`, undefined, {
      'if-none-match': headers.get('etag')!,
    })
    expect(known.status).toBe(200)
    expect((await service.ask('GET', `/plans/${plan}/tasks/nobody`)).status).toBe(404)
  })
})

describe('a gate', () => {
  heldTest('is told with exactly what an approval agrees to, in the words of the terminal', async () => {
    const plan = await make([
      { id: 'edit', run: 'printf "one\\ntwo\\n" > page.txt', write: ['page.txt'] },
      { id: 'ok', gate: { type: 'diff', count: 2 }, needs: ['edit'], title: 'Look \u202eat it' },
      { id: 'other', gate: 'approval' },
      { id: 'ship', run: ['git', 'push', '--force', 'origin'], needs: ['ok'] },
      { id: 'tell', run: 'echo told', needs: ['ok', 'other'] },
    ])
    await drive(plan)
    const { status, body } = await service.ask('GET', `/plans/${plan}/gates/ok`)
    expect(status).toBe(200)
    const { consent, ...rest } = body
    expect(rest).toMatchObject({
      gate: 'ok',
      open: true,
      state: 'waiting',
      question: 'ok waits for approval',
      agree: { role: null, count: 2, given: [] },
      releases: { begins: ['ship'], waits: [{ task: 'tell', for: ['other'] }] },
      answers: expect.arrayContaining(['approve', 'reject']),
      hidden: false,
    })
    expect(consent.changes).toEqual([
      {
        path: 'page.txt',
        before: null,
        now: expect.any(String),
        patch: ['@@ -0,0 +1,2 @@', '+one', '+two'],
        why: null,
      },
    ])
    const terminal = await consentLines({ paint: paint(false) }, service.composed.engine, await waiting(plan, 'ok'), {
      all: true,
    })
    expect(`${consent.text}\nhash ${consent.hash.slice(0, 12)}`).toBe(terminal.join('\n'))
    expect(consent.text).toContain('[2] "--force"')
    expect(consent.text).toContain('also waits for other')
    expect(consent.text).not.toContain('\u202e')
    expect(JSON.stringify(consent.shown)).toContain('--force')
    const voted = await service.ask('POST', `/plans/${plan}/gates/ok/approve`, { rationale: 'fine', hash: body.hash })
    expect(voted.body).toMatchObject({ counts: false })
    expect((await service.ask('GET', `/plans/${plan}/gates/ok`)).body.agree).toMatchObject({
      given: [{ by: 'anyone', rationale: 'fine' }],
      told: '1 of 2 approved: anyone',
    })
    await service.ask('POST', `/plans/${plan}/gates/other/reject`, { rationale: 'not now' })
    expect((await service.ask('GET', `/plans/${plan}/gates/other`)).body).toMatchObject({
      open: false,
      state: 'failed',
      decisions: [{ verdict: 'rejected', by: 'anyone', rationale: 'not now' }],
      consent: null,
    })
  })

  test('shows stored bytes to who works or decides, and tells a viewer that there are some', async () => {
    const plan = (await make([
      { id: 'ok', gate: 'approval' },
      { id: 'a', run: 'echo secret', needs: ['ok'] },
    ])) as PlanId
    await drive(plan)
    const { engine } = service.composed
    const as = (role: Role, plans: readonly PlanId[] | null) =>
      engine.as({ actor: 'somebody' as Actor, rights: RIGHTS[role], scope: plans === null ? null : { plans } })
    const ask = { type: 'consent', plan, task: 'ok' } as const
    await expect(as('viewer', null).ask(ask)).rejects.toThrow(NotAllowed)
    expect((await as('approver', [plan]).ask(ask))?.shown.task).toBe('ok')
    expect(await as('approver', [(await make([{ id: 'a', run: 'true' }])) as PlanId]).ask(ask)).toBe(null)
  })

  test('over HTTP, a viewer sees neither what a gate would release nor what a task changed; an operator does', async () => {
    const tokens = guarded()
    const own = await served({ guard: tokens.guard })
    try {
      const [admin, viewer] = [tokens.token('ana', 'admin'), tokens.token('vera', 'viewer')]
      const document = {
        planfold: 1,
        name: 'hidden',
        tasks: [
          { id: 'write', edit: { file: 'hidden.txt', create: 'secret line\n' } },
          { id: 'ok', gate: 'approval', needs: ['write'] },
          { id: 'a', run: 'echo secret line', needs: ['ok'] },
        ],
      }
      const { body } = await own.ask('POST', '/plans?start=1', document, admin)
      await own.composed.worker.drive(body.id, { stop: new AbortController().signal })
      const [gate, task] = ['/plans/hidden/gates/ok', '/plans/hidden/tasks/write']
      expect((await own.ask('GET', gate, undefined, admin)).body).toMatchObject({
        hidden: false,
        consent: { text: expect.stringContaining('secret line') },
      })
      expect((await own.ask('GET', task, undefined, admin)).body.changes.files).toMatchObject([{ path: 'hidden.txt' }])
      const [seen, page] = [
        await own.ask('GET', gate, undefined, viewer),
        await own.ask('GET', task, undefined, viewer),
      ]
      expect([seen.status, seen.body.hidden, seen.body.consent]).toEqual([200, true, null])
      expect([page.status, page.body.changes]).toEqual([200, null])
      expect((await own.ask('POST', '/plans/hidden/fork', { from: 'write' }, viewer)).status).toBe(403)
      expect((await own.ask('POST', '/plans?dry_run=1', document, viewer)).status).toBe(403)
    } finally {
      await own.close()
    }
  })

  const waiting = async (plan: string, gate: string) =>
    (await service.composed.engine.ask({ type: 'summary', plan }))!.waiting.find(({ task }) => task === gate)!
})

describe('compression', () => {
  test('of a long answer, when the client takes it, with a tag that is known again', async () => {
    const tasks = Array.from({ length: 50 }, (_, at) => ({ id: `t${at}`, instruction: 'the same for all of them' }))
    const plan = await make(tasks)
    const path = `${service.url}/plans/${plan}/state`
    const plain = await fetch(path, { headers: { 'accept-encoding': 'identity' } })
    expect(plain.headers.get('content-encoding')).toBe(null)
    expect(plain.headers.get('vary')).toBe('accept-encoding')
    const text = await plain.text()
    for (const coding of ['br', 'gzip']) {
      const coded = await fetch(path, { headers: { 'accept-encoding': coding } })
      expect(coded.headers.get('content-encoding')).toBe(coding)
      expect(Number(coded.headers.get('content-length'))).toBeLessThan(text.length / 3)
      expect(coded.headers.get('etag')).toBe(`W/${plain.headers.get('etag')}`)
      expect(await coded.text()).toBe(text)
      const head = await fetch(path, { method: 'HEAD', headers: { 'accept-encoding': coding } })
      expect(head.headers.get('content-length')).toBe(coded.headers.get('content-length'))
      for (const tag of [coded.headers.get('etag')!, plain.headers.get('etag')!]) {
        const known = await fetch(path, { headers: { 'accept-encoding': coding, 'if-none-match': tag } })
        expect([known.status, await known.text()]).toEqual([304, ''])
      }
      const written = await service.ask('POST', `/plans/${plan}/notes`, { text: coding }, { 'if-match': 'W/"999-x"' })
      expect(written.status).toBe(409)
    }
  })

  test('never of a stream, of what is short, or of what holds a token', async () => {
    const asked = { headers: { 'accept-encoding': 'br, gzip' } }
    const stream = await fetch(`${service.url}/events`, asked)
    expect(stream.headers.get('content-encoding')).toBe(null)
    await stream.body?.cancel()
    const short = await fetch(`${service.url}/health`, asked)
    expect([short.headers.get('content-encoding'), short.headers.get('vary')]).toEqual([null, null])
    const note = 'n'.repeat(5_000)
    const plan = await make([{ id: 'a', instruction: note }])
    const claimed = await fetch(`${service.url}/plans/${plan}/tasks/a/claim`, { method: 'POST', ...asked })
    expect(claimed.headers.get('content-encoding')).toBe(null)
    expect((await claimed.text()).length).toBeGreaterThan(5_000)
  })

  test.each([
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['identity', null],
    ['', null],
    ['gzip;q=0', null],
    ['br;q=abc, gzip;q=0.001', 'gzip'],
  ])('of what is accepted (%s) takes the best: %s', (accepted, coding) => {
    expect(codingFor(accepted)).toBe(coding)
  })
})
