// Agents and people at work over HTTP: claims, reports, gates, and single tasks advanced by hand.

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Actor, PlanId } from '../../domain/id.ts'
import { heldTest } from '../../safety/sandbox/needs-sandbox.fixture.ts'
import type { Guard, Who } from '../auth/guard.ts'
import { type Served, served } from '../server.fixture.ts'

let service: Served
/** `x-who` says who calls; `x-plan` and `x-session` what they may see. */
const guard: Guard = {
  admit: ({ headers }) => {
    const [plan, session] = [headers['x-plan'], headers['x-session']]
    const scope =
      plan === undefined && session === undefined
        ? null
        : {
            ...(plan === undefined ? {} : { plans: [plan as PlanId] }),
            ...(session === undefined ? {} : { sessions: [String(session)] }),
          }
    return { actor: (headers['x-who'] ?? 'anyone') as Actor, role: 'admin', scope, token: '' } satisfies Who
  },
  takesAnyType: () => true,
}

beforeAll(async () => {
  service = await served({ guard })
})
afterAll(async () => {
  expect(service.errors).toEqual([])
  await service.close()
})

let count = 0
const make = async (
  tasks: readonly object[],
  { start = true, ...more }: { start?: boolean; session?: string; [key: string]: unknown } = {},
) => {
  const { session = `c${++count}`, ...rest } = more
  const document = { planfold: 1, name: `work-${++count}`, tasks, ...rest }
  const { status, body } = await service.ask('POST', `/session/${session}/plan`, { document, auto_execute: start })
  expect(status, JSON.stringify(body)).toBe(201)
  return { id: body.id as PlanId, name: body.name as string, session }
}
const drive = (plan: PlanId) => service.composed.worker.drive(plan, { stop: new AbortController().signal })

describe('work that cannot be taken back', () => {
  const ship = { id: 'ship', kind: 'deploy', instruction: 'ship it' }

  test('is not claimed, run or reported before somebody has approved it', async () => {
    const { id, name, session } = await make([ship])
    const refused = {
      status: 409,
      body: {
        detail: "'ship' must be approved before it can be claimed: it deploys",
        hint: `\`GET /inbox\` shows what it would do; \`POST /plans/${name}/gates/ship/approve\` approves it`,
      },
    }
    expect(await service.ask('POST', `/plans/${id}/tasks/ship/claim`, {})).toMatchObject(refused)
    expect((await service.ask('POST', '/tasks/claim', { session_id: session })).status).toBe(204)
    expect(await service.ask('POST', `/plans/${id}/tasks/ship/report`, { status: 'succeeded' })).toMatchObject(refused)
    expect((await service.ask('GET', `/plans/${id}/next`)).body.items).toEqual([])
    const { items } = (await service.ask('GET', `/plans/${id}/gates`)).body
    expect(items).toMatchObject([{ gate: 'ship', asks: 'consent', answers: ['approve', 'reject', 'push-back'] }])
    expect((await service.ask('POST', `/plans/${id}/gates/ship/approve`, { unseen: true })).status).toBe(200)
    expect((await service.ask('POST', '/tasks/claim', { session_id: session })).body.task.name).toBe('ship')
  })

  heldTest('that is completed and unsafe is tried again only by whoever says so', async () => {
    const { id, name } = await make([{ id: 'mail', run: ['true'] }])
    await drive(id)
    expect(await service.ask('POST', `/plans/${id}/tasks/mail/retry`, {})).toMatchObject({
      status: 409,
      body: {
        detail: "'mail' is completed and would be done a second time; its effect is unsafe to repeat",
        hint: `to do that on purpose: \`POST /plans/${name}/tasks/mail/retry with {"repeat": true}\``,
      },
    })
    expect((await service.ask('POST', `/plans/${id}/tasks/mail/retry`, { repeat: true })).status).toBe(200)
  })

  test('behind two gates is released by neither alone, and a question names what begins', async () => {
    const { id } = await make([
      { id: 'g1', gate: 'approval' },
      { id: 'g2', gate: 'approval' },
      { id: 'q', gate: { type: 'question', question: 'where to?' } },
      { id: 'go', needs: ['g1', 'g2'], run: ['true'] },
      { id: 'note', needs: ['q'] },
    ])
    await drive(id)
    const { items } = (await service.ask('GET', `/plans/${id}/gates`)).body
    expect(items.map((one: { gate: string; releases: unknown }) => [one.gate, one.releases])).toEqual([
      ['g1', { begins: [], waits: [{ task: 'go', for: ['g2'] }], more: 0 }],
      ['g2', { begins: [], waits: [{ task: 'go', for: ['g1'] }], more: 0 }],
      ['q', { begins: ['note'], waits: [], more: 0 }],
    ])
    expect(await service.ask('POST', `/plans/${id}/gates/q/approve`, {})).toMatchObject({
      status: 409,
      body: { hint: expect.stringContaining('/gates/q/answer') },
    })
  })
})

describe('claims', () => {
  heldTest('the words of a task are told with what earlier tasks left; so is a question', async () => {
    const found = { id: 'find', run: ['echo', 'src/a.ts'], effect: 'pure', outputs: { file: 'stdout' } }
    const words = {
      title: 'Mend ${{ inputs.file }}',
      description: 'It is ${{ tasks.find.outputs.file }}',
      instruction: 'open ${{ inputs.file }}, not $${{ github.ref }}',
      inputs: { file: '${{ tasks.find.outputs.file }}' },
    }
    const question = { type: 'question', question: 'Is ${{ tasks.find.outputs.file }} mended?' }
    const { id } = await make([
      found,
      { id: 'mend', needs: ['find'], ...words },
      { id: 'ask', needs: ['find'], title: 'About ${{ tasks.find.outputs.file }}', gate: question },
    ])
    const title = async (): Promise<string | null | undefined> =>
      (await service.composed.engine.ask({ type: 'task', plan: id, task: 'mend' }))?.title
    expect(await title()).toBe(words.title)
    await drive(id)
    expect(await title()).toBe('Mend src/a.ts')
    expect((await service.ask('POST', `/plans/${id}/tasks/mend/claim`, {})).body.briefing).toMatchObject({
      title: 'Mend src/a.ts',
      description: 'It is src/a.ts',
      instruction: 'open src/a.ts, not ${{ github.ref }}',
      unresolved: [],
    })
    const inbox = await service.composed.engine.ask({ type: 'inbox' })
    expect(inbox.items.find(item => item.plan === id && item.task === 'ask')).toMatchObject({
      title: 'About src/a.ts',
      asks: { question: 'Is src/a.ts mended?' },
    })
  })

  test('the next ready task is claimed with its briefing, kept, and reported', async () => {
    const { id, session } = await make([
      {
        id: 'a',
        title: 'First',
        instruction: 'do it well',
        kind: 'research',
        inputs: { x: 1 },
        outputs: { answer: { report: true } },
      },
      { id: 'b', instruction: 'then this', needs: ['a'] },
    ])
    const next = await service.ask('GET', `/plans/${id}/next?explain=true`)
    expect(next.body).toMatchObject({
      items: [{ name: 'a', state: 'ready' }],
      explained: [{ task: 'a' }, { task: 'b' }],
    })
    const claimed = await service.ask(
      'POST',
      '/tasks/claim',
      { session_id: session, agent_id: 'bot-1', kinds: ['research'], lease_seconds: 60 },
      { 'x-who': 'ana' },
    )
    expect(claimed.status).toBe(200)
    expect(claimed.body).toMatchObject({
      plan_id: id,
      agent_id: 'bot-1',
      expires_in_seconds: 60,
      place: null,
      task: { name: 'a', state: 'running', claimed_by: 'ana' },
      briefing: {
        task: 'a',
        title: 'First',
        instruction: 'do it well',
        inputs: { x: 1 },
        outputs: { answer: { from: 'report' } },
      },
    })
    const { token, task } = claimed.body
    expect((await service.ask('POST', '/tasks/claim', { session_id: session })).status).toBe(204)
    expect((await service.ask('POST', `/tasks/${task.id}/heartbeat`, { token, lease_seconds: 90 })).body).toMatchObject(
      { expires_in_seconds: 90 },
    )
    expect((await service.ask('POST', `/tasks/${task.id}/heartbeat`, { token: 'other' })).status).toBe(409)
    expect((await service.ask('POST', `/tasks/${task.id}/report`, { status: 'done' }, { 'x-who': 'ben' })).status).toBe(
      422,
    )
    expect(
      (
        await service.ask(
          'POST',
          `/tasks/${task.id}/report`,
          { status: 'done', outputs: { answer: 1 } },
          { 'x-who': 'ben' },
        )
      ).status,
    ).toBe(409)
    const done = await service.ask('POST', `/tasks/${task.id}/report`, {
      status: 'completed',
      token,
      output_data: { answer: 42 },
    })
    expect(done.body).toMatchObject({ state: 'active', task: { state: 'completed', output_data: { answer: 42 } } })
    const rest = await service.ask('POST', `/tasks/${id}:b/report`, {
      status: 'failed',
      error: { message: 'no way', hint: 'x' },
    })
    expect(rest.body).toMatchObject({ state: 'failed', task: { state: 'failed', reason: 'no way' } })
  })

  test('regression 6 over HTTP: a report that is not accepted is an error, though it is recorded', async () => {
    const { id } = await make([
      { id: 'a', instruction: 'x', outputs: { n: { report: true } }, accept: [{ expect: 'outputs.n > 3' }] },
    ])
    const { status, body } = await service.ask('POST', `/tasks/${id}:a/report`, { status: 'done', outputs: { n: 1 } })
    expect(status).toBe(422)
    expect(body).toMatchObject({
      type: 'urn:planfold:problem:not-accepted',
      task: { state: 'running' },
      verdicts: [{ holds: false, evidence: 'outputs.n is 1' }],
      claim_kept: true,
      hint: expect.stringContaining('still yours'),
    })
    // The claim it has from then on is reported again, also by its name alone.
    const again = await service.ask('POST', `/tasks/${id}:a/report`, {
      status: 'done',
      outputs: { n: 4 },
      token: body.token,
    })
    expect(again).toMatchObject({ status: 200, body: { task: { state: 'completed' } } })
  })

  test('the next who claims it is told why earlier attempts came to nothing, and where it may write', async () => {
    const { id } = await make([
      {
        id: 'a',
        instruction: 'x',
        write: ['out/**'],
        retry: { attempts: 3, backoff: '1ms..1ms' },
        accept: [{ expect: 'outputs.n > 3' }],
      },
    ])
    const first = await service.ask('POST', `/tasks/${id}:a/claim`)
    const { token } = first.body
    expect(first.body.briefing).toMatchObject({ write: ['out/**'], earlier: [] })
    await service.ask('POST', `/tasks/${id}:a/report`, { status: 'done', outputs: { n: 1 }, token })
    const error = { message: 'I cannot', retryable: true }
    await service.ask('POST', `/tasks/${id}:a/report`, { status: 'failed', error, token })
    const claim = () => service.ask('POST', `/tasks/${id}:a/claim`, {}, { 'x-who': 'agent-2' })
    await expect.poll(async () => (await claim()).status, { interval: 5, timeout: 120_000 }).toBe(200)
    const told = (await service.composed.engine.ask({ type: 'briefing', plan: id, task: 'a' }))!
    expect(told.earlier).toMatchObject([
      {
        attempt: 1,
        how: 'refused',
        why: 'check failed: outputs.n > 3 (outputs.n is 1)',
        unmet: [{ criterion: 'outputs.n > 3', evidence: 'outputs.n is 1' }],
      },
      { attempt: 1, how: 'failed', why: 'I cannot' },
    ])
  })

  test('of many at once, each task is claimed by one', async () => {
    const { session } = await make([1, 2, 3, 4, 5].map(n => ({ id: `t${n}`, instruction: 'x' })))
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        service.ask('POST', '/tasks/claim', { session_id: session }, { 'x-who': `agent-${n}` }),
      ),
    )
    const names = all.flatMap(({ status, body }) => (status === 200 ? [body.task.name] : []))
    expect(names.sort()).toEqual(['t1', 't2', 't3', 't4', 't5'])
    expect(all.filter(({ status }) => status === 204)).toHaveLength(3)
  })

  test('under one key, one task is claimed, with the same token', async () => {
    const { session } = await make([1, 2].map(n => ({ id: `t${n}`, instruction: 'x' })))
    const ask = () =>
      service.ask(
        'POST',
        '/tasks/claim',
        { session_id: session },
        { 'idempotency-key': `claim-${session}`, 'x-who': 'keyed' },
      )
    const [a, b] = [await ask(), await ask()]
    expect([b.body.token, b.body.task.name, b.body.replayed]).toEqual([a.body.token, a.body.task.name, true])
    await service.ask('POST', `/tasks/${a.body.task.id}/report`, { status: 'done', token: a.body.token })
    expect((await ask()).status).toBe(409)
  })

  test('work with a name on it is offered to that agent only; steps of a sequential plan come one after the other', async () => {
    const { session } = await make([{ id: 'hers', instruction: 'x', assignee: 'bot-2' }])
    expect((await service.ask('POST', '/tasks/claim', { session_id: session })).status).toBe(204)
    expect((await service.ask('POST', '/tasks/claim', { session_id: session, agent_id: 'bot-2' })).body.task.name).toBe(
      'hers',
    )
    const other = await make(
      [1, 2].map(n => ({ id: `t${n}`, instruction: 'x' })),
      { extra: { plan_type: 'sequential' } },
    )
    const first = await service.ask('POST', '/tasks/claim', { plan_id: other.name })
    expect(first.body.task.name).toBe('t1')
    expect((await service.ask('POST', '/tasks/claim', { plan_id: other.name })).status).toBe(204)
    await service.ask('POST', `/tasks/${first.body.task.id}/report`, { status: 'done' })
    expect((await service.ask('POST', '/tasks/claim', { plan_id: other.name })).body.task.name).toBe('t2')
  })

  test('what is more urgent is offered first, and what may be tried again is offered again', async () => {
    const { id, session } = await make([
      { id: 'later', instruction: 'x' },
      { id: 'sooner', instruction: 'x', priority: 5, retry: { attempts: 2, backoff: '1ms' } },
    ])
    expect((await service.ask('GET', `/plans/${id}/next`)).body.items.map((one: { name: string }) => one.name)).toEqual(
      ['sooner', 'later'],
    )
    const first = await service.ask('POST', '/tasks/claim', { session_id: session })
    expect(first.body.task.name).toBe('sooner')
    const error = { message: 'not now', retryable: true }
    const failed = await service.ask('POST', `/tasks/${first.body.task.id}/report`, { status: 'failed', error })
    expect(failed.body.task).toMatchObject({ state: 'ready', attempt: 1 })
    const { retryAt } = (await service.rooms.engine.ask({ type: 'task', plan: id, task: 'sooner' }))!
    await vi.waitUntil(() => service.rooms.now() >= retryAt!, { timeout: 120_000 })
    expect((await service.ask('POST', '/tasks/claim', { session_id: session })).body.task).toMatchObject({
      name: 'sooner',
      attempt: 2,
    })
  })

  test('a task is skipped with a reason, and tried again', async () => {
    const { id } = await make([
      { id: 'a', instruction: 'x' },
      { id: 'b', instruction: 'y', needs: ['a'] },
    ])
    expect((await service.ask('POST', `/plans/${id}/tasks/a/skip`, {})).status).toBe(422)
    expect((await service.ask('POST', `/plans/${id}/tasks/a/skip`, { reason: 'not needed' })).body.task).toMatchObject({
      state: 'skipped',
    })
    expect((await service.ask('POST', `/plans/${id}/tasks/a/retry`)).body.task).toMatchObject({
      state: 'ready',
      visit: 2,
    })
    expect((await service.ask('POST', `/plans/${id}/tasks/nobody/retry`)).status).toBe(404)
  })

  test('what is outside the scope of a token is not offered, not found and not claimed (A69)', async () => {
    const mine = await make([{ id: 'a', instruction: 'x' }])
    const theirs = await make([{ id: 'a', instruction: 'x' }])
    const scoped = { 'x-session': mine.session }
    expect((await service.ask('POST', '/tasks/claim', {}, scoped)).body.plan_id).toBe(mine.id)
    expect((await service.ask('POST', '/tasks/claim', {}, scoped)).status).toBe(204)
    for (const path of ['claim', 'retry', 'run'])
      expect((await service.ask('POST', `/tasks/${theirs.id}:a/${path}`, {}, scoped)).status).toBe(404)
    expect((await service.ask('GET', `/plans/${theirs.name}/gates`, undefined, scoped)).status).toBe(404)
    expect((await service.ask('POST', `/session/${theirs.session}/plan`, { description: 'x' }, scoped)).status).toBe(
      404,
    )
    expect((await service.ask('POST', '/sessions', { id: 'new-one' }, scoped)).status).toBe(403)
  })
})

describe('a token for one session only (A69)', () => {
  test('sees nothing of other sessions in what belongs to all of them', async () => {
    const mine = await make([{ id: 'ok', gate: 'approval' }])
    const theirs = await make([{ id: 'ok', gate: 'approval' }])
    const scoped = { 'x-session': mine.session }
    const all = (await service.ask('GET', '/inbox')).body.items as { id: string; plan_id: string }[]
    const [own, other] = [mine, theirs].map(({ id }) => all.find(item => item.plan_id === id)!)
    const seen = (await service.ask('GET', '/inbox', undefined, scoped)).body.items as { id: string }[]
    expect(seen.map(({ id }) => id)).toEqual([own!.id])
    const answer = { answer: 'approve', unseen: true }
    expect((await service.ask('POST', `/inbox/${other!.id}/answer`, answer, scoped)).status).toBe(404)
    expect((await service.ask('POST', `/inbox/${own!.id}/answer`, answer, scoped)).status).toBe(200)
    const sessions = (await service.ask('GET', '/sessions?limit=1000', undefined, scoped)).body.items as {
      id: string
    }[]
    expect(sessions.map(({ id }) => id)).toEqual([mine.session])
    expect((await service.ask('GET', `/session/${theirs.session}/plans`, undefined, scoped)).status).toBe(404)
    expect((await service.ask('POST', '/halt', { reason: 'x' }, scoped)).status).toBe(403)
    expect((await service.ask('POST', `/plan/${mine.id}/clone`, { session_id: theirs.session }, scoped)).status).toBe(
      403,
    )
    const { shown } = (await service.rooms.engine.ask({ type: 'summary', plan: theirs.id }))!.waiting[0]!
    expect((await service.ask('GET', `/blobs/${shown}`)).status).toBe(200)
    expect((await service.ask('GET', `/blobs/${shown}`, undefined, scoped)).status).toBe(404)
  })
})

describe('advancing one task by hand', () => {
  test('an external task is claimed for the caller; the draft is started for it, with the inputs that were given', async () => {
    const { id } = await make(
      [
        { id: 'a', instruction: 'x', inputs: { p: 1, q: 2 } },
        { id: 'b', instruction: 'y', needs: ['a'] },
      ],
      { start: false },
    )
    const early = await service.ask('POST', `/plans/${id}/tasks/b/run`, { inputs: {} })
    expect(early.status).toBe(409)
    expect(early.body).toMatchObject({ missing: [{ task: 'a', status: 'pending' }] })
    expect(await service.rooms.engine.ask({ type: 'summary', plan: id })).toMatchObject({ status: 'draft' })
    const { status, body } = await service.ask('POST', `/plans/${id}/tasks/a/run`, { inputs: { q: 3 } })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: 'claimed',
      token: expect.any(String),
      state: 'active',
      briefing: { inputs: { p: 1, q: 3 } },
    })
    expect((await service.ask('POST', `/plans/${id}/tasks/a/run`)).status).toBe(409)
    await service.ask('POST', `/plans/${id}/tasks/a/report`, { status: 'done' })
    expect((await service.ask('POST', `/plans/${id}/tasks/a/run`)).body).toMatchObject({ allowed: ['retry'] })
    expect((await service.ask('POST', `/plans/${id}/tasks/b/run`)).status).toBe(200)
  })

  test('what it needs is hinted at as what can be done now: a task to run, or a gate that asks', async () => {
    const { id, name } = await make([
      { id: 'a', instruction: 'x' },
      { id: 'g', gate: 'approval', needs: ['a'] },
      { id: 'pub', instruction: 'y', needs: ['g'] },
    ])
    const early = async () => (await service.ask('POST', `/plans/${id}/tasks/pub/run`, {})).body
    const missing = (status: string) => ({ detail: "'pub' still needs 'g'", missing: [{ task: 'g', status }] })
    expect(await early()).toMatchObject({
      ...missing('pending'),
      hint: `run what it needs first: POST /plans/${name}/tasks/a/run`,
    })
    await service.ask('POST', `/plans/${id}/tasks/a/run`, {})
    await service.ask('POST', `/plans/${id}/tasks/a/report`, { status: 'done' })
    expect(await early()).toMatchObject({
      ...missing('waiting'),
      hint: `'g' waits for a decision; see what it asks: GET /plans/${name}/gates`,
    })
    expect((await service.ask('GET', `/plans/${name}/gates`)).body.items).toMatchObject([{ gate: 'g' }])
  })

  test('what is given is data: nothing in it is an expression', async () => {
    const { id } = await make([{ id: 'a', instruction: 'x' }], { start: false })
    const inputs = { one: '${{ 1 + 1 }}', two: ['$${{ x }}', { three: 'costs $5 ${{' }] }
    expect((await service.ask('POST', `/plans/${id}/tasks/a/run`, { inputs })).body.briefing).toMatchObject({
      inputs,
      unresolved: [],
    })
  })

  test('what the engine carries out is left to it', async () => {
    const { id } = await make([{ id: 'a', run: 'true' }], { start: false })
    const { status, body } = await service.ask('POST', `/plans/${id}/tasks/a/run`, {})
    expect(status).toBe(202)
    expect(body).toMatchObject({ status: 'queued', task: { name: 'a' }, state: 'active' })
    await drive(id)
    expect((await service.ask('POST', `/plans/${id}/tasks/a/run`, {})).status).toBe(409)
  })
})

const no = ({ type: _, ...decision }: { readonly type: string }) => decision

describe('gates', () => {
  test('a gate is listed with its hash, refused for another one, approved by the name of the token', async () => {
    const { id } = await make([
      { id: 'ok', gate: 'approval' },
      { id: 'after', instruction: 'x', needs: ['ok'] },
    ])
    const { body } = await service.ask('GET', `/plans/${id}/gates`)
    expect(body.items).toMatchObject([
      { gate: 'ok', asks: 'approval', answers: ['approve', 'reject', 'push-back'], plan_id: id },
    ])
    const [{ hash }] = body.items
    expect((await service.ask('POST', `/plans/${id}/gates/ok/approve`, { hash: 'f'.repeat(64) })).status).toBe(409)
    const done = await service.ask(
      'POST',
      `/plans/${id}/gates/ok/approve`,
      { rationale: 'looks good', hash },
      { 'x-who': 'boss' },
    )
    expect(done.status).toBe(200)
    expect(done.body).toMatchObject({
      gate: 'ok',
      verdict: 'approved',
      by: 'boss',
      counts: true,
      task_state: 'completed',
    })
    const entries = (await service.rooms.engine.ask({ type: 'entries', plan: id })) ?? []
    expect(entries.flatMap(({ events }) => events)).toContainEqual(
      expect.objectContaining({ type: 'gate.decided', rationale: 'looks good', by: 'boss' }),
    )
    expect((await service.ask('POST', `/plans/${id}/gates/ok/approve`)).status).toBe(409)
    expect((await service.ask('POST', `/plans/${id}/gates/nobody/approve`)).status).toBe(404)
  })

  test('an approval names what was shown or says that it was not seen, and the journal keeps which', async () => {
    const decided = async (id: string) => {
      const entries = (await service.rooms.engine.ask({ type: 'entries', plan: id })) ?? []
      return entries.flatMap(({ events }) => events).filter(({ type }) => type === 'gate.decided')
    }
    const { id } = await make([{ id: 'ok', gate: 'approval' }])
    const [item] = (await service.ask('GET', `/inbox?plan_id=${id}`)).body.items
    const order = { type: 'decide', task: 'ok', verdict: 'approved', rationale: '' }
    for (const said of [
      await service.ask('POST', `/plans/${id}/gates/ok/approve`, { rationale: 'looks good' }),
      await service.ask('POST', `/inbox/${item.id}/answer`, { answer: 'approve' }),
      await service.ask('POST', `/plans/${id}/review`, { verdict: 'approve' }),
      await service.ask('POST', '/engine/orders', { plan: id, order }),
      await service.ask('POST', '/engine/orders', { plan: id, order: { type: 'review', decisions: [no(order)] } }),
    ])
      expect(said).toMatchObject({
        status: 422,
        body: { hint: "add the 'hash' of what was shown, or 'unseen: true' to approve it without having seen it" },
      })
    expect(await decided(id)).toEqual([])
    expect((await service.ask('POST', `/plans/${id}/gates/ok/approve`, { hash: item.hash })).status).toBe(200)
    expect(await decided(id)).toMatchObject([{ verdict: 'approved', hash: item.hash }])
    expect((await decided(id))[0]).not.toHaveProperty('unseen')
    const other = await make([{ id: 'ok', gate: 'approval' }])
    expect((await service.ask('POST', `/plans/${other.id}/gates/ok/approve`, { unseen: true })).status).toBe(200)
    expect(await decided(other.id)).toMatchObject([{ verdict: 'approved', unseen: true }])
  })

  test('rejecting, sending back, choosing and answering say what they mean', async () => {
    const no = await make([{ id: 'ok', gate: 'approval' }])
    expect((await service.ask('POST', `/plans/${no.id}/gates/ok/reject`, { rationale: 'no' })).body).toMatchObject({
      verdict: 'rejected',
      state: 'failed',
    })
    const back = await make([
      { id: 'draft', instruction: 'write' },
      { id: 'ok', gate: 'approval', needs: ['draft'] },
    ])
    await service.ask('POST', `/tasks/${back.id}:draft/report`, { status: 'done' })
    expect((await service.ask('POST', `/plans/${back.id}/gates/ok/push-back`, {})).status).toBe(422)
    expect(
      (await service.ask('POST', `/plans/${back.id}/gates/ok/push-back`, { rationale: 'shorter', to: 'draft' })).body,
    ).toMatchObject({ verdict: 'pushed-back' })
    const choose = await make([
      {
        id: 'which',
        gate: {
          type: 'decision',
          options: [
            { id: 'x', title: 'X' },
            { id: 'y', title: 'Y' },
          ],
        },
      },
    ])
    expect((await service.ask('POST', `/plans/${choose.id}/gates/which/choose`, { option: 'z' })).status).toBe(422)
    expect((await service.ask('POST', `/plans/${choose.id}/gates/which/choose`, { option: 'y' })).body).toMatchObject({
      verdict: 'chosen',
      task_state: 'completed',
    })
    const question = await make([
      { id: 'q', gate: { type: 'question', question: 'How many?', form: [{ name: 'n', type: 'number' }] } },
    ])
    expect((await service.ask('GET', `/plans/${question.id}/gates`)).body.items[0].asked).toMatchObject({
      form: [{ name: 'n', type: 'number' }],
    })
    expect((await service.ask('POST', `/plans/${question.id}/gates/q/answer`, { answers: { n: 'x' } })).status).toBe(
      422,
    )
    expect(
      (await service.ask('POST', `/plans/${question.id}/gates/q/answer`, { answers: { n: 3 } })).body,
    ).toMatchObject({ verdict: 'answered' })
  })

  test('a gate may be approved with edits, which become a revision', async () => {
    const { id, name } = await make([
      { id: 'ok', gate: 'approval' },
      { id: 'after', instruction: 'x', needs: ['ok'] },
    ])
    const document = {
      planfold: 1,
      name,
      tasks: [
        { id: 'ok', gate: 'approval' },
        { id: 'after', instruction: 'y', needs: ['ok'] },
      ],
    }
    expect((await service.ask('POST', `/plans/${id}/gates/ok/approve`, { document, unseen: true })).status).toBe(200)
    expect(await service.rooms.engine.ask({ type: 'summary', plan: id })).toMatchObject({ revision: 2 })
  })

  test('approving twice under one key decides once', async () => {
    const { id } = await make([{ id: 'ok', gate: 'approval' }])
    const ask = () =>
      service.ask(
        'POST',
        `/plans/${id}/gates/ok/approve`,
        { rationale: 'y', unseen: true },
        { 'idempotency-key': `g-${id}` },
      )
    expect((await ask()).body).toMatchObject({ verdict: 'approved' })
    expect((await ask()).body).toMatchObject({ verdict: 'approved', replayed: true })
  })
})
