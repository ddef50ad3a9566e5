// What people do over HTTP: the inbox, questions, proposals, reviews, revisions; and what they look at afterwards.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { lacks } from '../../composition/missing-extra.fixture.ts'
import type { PlanId } from '../../domain/id.ts'
import { heldTest } from '../../safety/sandbox/needs-sandbox.fixture.ts'
import { servedHere } from '../server.fixture.ts'

const service = servedHere()

let count = 0
const make = async (tasks: readonly object[], more: object = {}, start = true) => {
  const document = { planfold: 1, name: `people-${++count}`, tasks, ...more }
  const { status, body } = await service.ask('POST', `/session/p/plan`, { document, auto_execute: start })
  expect(status, JSON.stringify(body)).toBe(201)
  return { id: body.id as PlanId, name: body.name as string, document }
}
const drive = (plan: PlanId) => service.composed.worker.drive(plan, { stop: new AbortController().signal })
const inboxOf = async (plan: PlanId) => (await service.ask('GET', `/inbox?plan_id=${plan}`)).body.items

describe('the inbox', () => {
  test('what waits is listed, answered once, and then said to be over', async () => {
    const { id } = await make([
      { id: 'ok', gate: 'approval', title: 'Ship it?' },
      { id: 'b', instruction: 'x', needs: ['ok'] },
    ])
    const [item] = await inboxOf(id)
    expect(item).toMatchObject({
      plan_id: id,
      task: 'ok',
      title: 'Ship it?',
      asks: 'approval',
      hash: expect.any(String),
      answers: [{ answer: 'approve', means: 'continue' }, { answer: 'reject' }],
    })
    expect((await service.ask('POST', `/inbox/${item.id}/answer`, { answer: 'aprove' })).body.faults[0].hint).toContain(
      'approve',
    )
    expect(
      (await service.ask('POST', `/inbox/${item.id}/answer`, { answer: 'approve', hash: '0'.repeat(64) })).status,
    ).toBe(409)
    const key = { 'idempotency-key': `in-${id}` }
    const ask = (headers = {}) =>
      service.ask('POST', `/inbox/${item.id}/answer`, { answer: 'approve', rationale: 'fine', unseen: true }, headers)
    expect((await ask(key)).body).toMatchObject({
      id: item.id,
      answer: 'approve',
      plan_id: id,
      told: [expect.any(String), expect.any(String)],
    })
    expect((await ask(key)).body).toMatchObject({ replayed: true })
    const late = await ask()
    expect(late.status).toBe(409)
    expect(late.body.became).toMatchObject({ task: 'ok', asks: 'approval', by: { actor: 'anyone' } })
    expect((await service.ask('POST', '/inbox/zzzzzzzz/answer', { answer: 'approve' })).status).toBe(404)
    expect(await inboxOf(id)).toEqual([])
  })

  test('decisions, forms, and work with a name on it are answered there', async () => {
    const choose = await make([{ id: 'which', gate: { type: 'decision', options: [{ id: 'x' }, { id: 'y' }] } }])
    const [decision] = await inboxOf(choose.id)
    expect((await service.ask('POST', `/inbox/${decision.id}/answer`, { answer: 'y' })).body).toMatchObject({
      answer: 'choose',
      state: 'completed',
    })
    const form = await make([
      { id: 'q', gate: { type: 'question', question: 'How many?', form: [{ name: 'n', type: 'number' }] } },
    ])
    const [question] = await inboxOf(form.id)
    expect(
      (await service.ask('POST', `/inbox/${question.id}/answer`, { answer: 'answer', answers: { n: 2 } })).body,
    ).toMatchObject({ state: 'completed' })
    const work = await make([{ id: 'w', instruction: 'do', assignee: 'ana' }])
    const [todo] = await inboxOf(work.id)
    expect((await service.ask('GET', '/inbox?for=ana')).body.items.map((one: { id: string }) => one.id)).toContain(
      todo.id,
    )
    expect((await service.ask('GET', '/inbox?for=ben')).body.items.map((one: { id: string }) => one.id)).not.toContain(
      todo.id,
    )
    expect((await service.ask('POST', `/inbox/${todo.id}/answer`, { answer: 'fail' })).status).toBe(422)
    expect((await service.ask('POST', `/inbox/${todo.id}/answer`, { answer: 'claim' })).body).toMatchObject({
      claim: { task: 'w', token: expect.any(String) },
    })
  })
})

describe('questions and proposals in the inbox', () => {
  test('are answered there, too, under their own ids', async () => {
    const { id, document } = await make([{ id: 'a', instruction: 'x' }])
    const asked = (await service.ask('POST', `/plans/${id}/questions`, { text: 'Why?' })).body
    const next = { ...document, tasks: [{ id: 'a', instruction: 'y' }] }
    const made = (await service.ask('POST', `/plans/${id}/proposals`, { document: next, rationale: 'r' })).body
    expect((await inboxOf(id)).map((item: { id: string; asks: string }) => [item.id, item.asks]).sort()).toEqual(
      [
        [asked.id, 'agent-question'],
        [made.id, 'proposal'],
      ].sort(),
    )
    const answer = { answer: 'answer', answers: { answer: 'because' } }
    expect((await service.ask('POST', `/inbox/${asked.id}/answer`, answer)).status).toBe(200)
    expect((await service.ask('POST', `/inbox/${made.id}/answer`, { answer: 'decline' })).status).toBe(422)
    expect(
      (await service.ask('POST', `/inbox/${made.id}/answer`, { answer: 'approve', unseen: true })).body.answer,
    ).toBe('accept')
    expect((await service.ask('GET', `/plans/${id}/revisions`)).body.items).toHaveLength(2)
  })
})

describe('questions', () => {
  test('one is asked in the middle of work, found, and answered', async () => {
    const { id } = await make([{ id: 'a', instruction: 'x' }])
    const form = [{ name: 'colour', type: 'choice', choices: ['red', 'blue'] }]
    const asked = await service.ask('POST', `/plans/${id}/questions`, { text: 'Which one?', form, task: 'a' })
    expect(asked.status).toBe(201)
    expect(asked.body).toMatchObject({ text: 'Which one?', form, task: 'a', by: 'anyone', answer: null, plan_id: id })
    const at = `/plans/${id}/questions/${asked.body.id}`
    expect((await service.ask('GET', `/plans/${id}/questions`)).body.items).toEqual([asked.body])
    expect((await service.ask('POST', `${at}/answer`, { answers: { colour: 'green' } })).status).toBe(422)
    const done = await service.ask('POST', `${at}/answer`, { answers: { colour: 'red' } })
    expect(done.body.answer).toMatchObject({ answers: { colour: 'red' }, by: 'anyone' })
    expect((await service.ask('GET', at)).body).toEqual(done.body)
    expect((await service.ask('GET', `/plans/${id}/questions/none`)).status).toBe(404)
    expect((await service.ask('POST', `/plans/${id}/questions`, { text: 'x', task: 'nobody' })).status).toBe(404)
    const open = { text: 'x', form: [{ name: 'region', choices: ['eu', 'us'] }] }
    const refused = await service.ask('POST', `/plans/${id}/questions`, open)
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      422,
      expect.stringContaining('add \\"type\\": \\"choice\\"'),
    ])
  })
})

describe('revisions and proposals', () => {
  test('a revision is made, compared and shown; a stale one is a conflict', async () => {
    const { id, document } = await make([{ id: 'a', instruction: 'x' }], {}, false)
    const next = { ...document, tasks: [...document.tasks, { id: 'b', instruction: 'y', needs: ['a'] }] }
    const dry = await service.ask('POST', `/plans/${id}/revisions`, { document: next, dry_run: true })
    expect(dry.body).toMatchObject({ dry_run: true, changed: false, revision: 1, diff: { added: [{ task: 'b' }] } })
    const made = await service.ask(
      'POST',
      `/plans/${id}/revisions`,
      { document: next, rationale: 'more', expected_revision: 1 },
      { 'idempotency-key': `r-${id}` },
    )
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      revision: 2,
      changed: true,
      fates: [
        { task: 'a', fate: 'kept' },
        { task: 'b', fate: 'new' },
      ],
    })
    const again = await service.ask(
      'POST',
      `/plans/${id}/revisions`,
      { document: next, rationale: 'more', expected_revision: 1 },
      { 'idempotency-key': `r-${id}` },
    )
    expect(again.body).toMatchObject({ revision: 2, replayed: true })
    expect((await service.ask('POST', `/plans/${id}/revisions`, { document, expected_revision: 1 })).status).toBe(409)
    expect((await service.ask('POST', `/plans/${id}/revisions`, { document: next })).status).toBe(200)
    expect(
      (
        await service.ask('POST', `/plans/${id}/revisions`, {
          document: { planfold: 1, tasks: [{ id: 'c', instruction: 'z' }] },
          merge: true,
        })
      ).body,
    ).toMatchObject({ revision: 3 })
    const list = await service.ask('GET', `/plans/${id}/revisions`)
    expect(list.body.items).toMatchObject([
      { revision: 1, rationale: null, tasks: 1, verified: true, summary: 'made' },
      { revision: 2, rationale: 'more', tasks: 2, by: 'anyone' },
      { revision: 3, tasks: 3 },
    ])
    const diff = await service.ask('GET', `/plans/${id}/diff?from=1&to=2`)
    expect(diff.body).toMatchObject({
      from: 1,
      to: 2,
      diff: { added: [{ task: 'b', action: 'external' }] },
      text: '+ task b (external)',
    })
    expect((await service.ask('GET', `/plans/${id}/revisions/2`)).body).toMatchObject({
      revision: 2,
      document: { planfold: 1, tasks: [{ id: 'a' }, { id: 'b', needs: ['a'] }] },
    })
    expect((await service.ask('GET', `/plans/${id}/revisions/9`)).status).toBe(404)
    expect((await service.ask('GET', `/plans/${id}/diff?from=9`)).status).toBe(404)
  })

  test('a proposal waits, shows what it changes, and is accepted or declined', async () => {
    const { id, document } = await make([{ id: 'a', instruction: 'x' }])
    const next = (text: string) => ({ ...document, tasks: [{ id: 'a', instruction: text }] })
    const one = await service.ask('POST', `/plans/${id}/proposals`, {
      document: next('y'),
      rationale: 'better',
      cause: 'seen',
    })
    expect(one.status).toBe(201)
    expect(one.body).toMatchObject({ accepted: false, revision: null, id: expect.any(String) })
    expect((await service.ask('GET', `/plans/${id}/proposals/${one.body.id}`)).body).toMatchObject({
      rationale: 'better',
      cause: 'seen',
      on: 1,
      fate: { status: 'waiting' },
      diff: { changed: [{ task: 'a', changes: [{ key: 'instruction', before: 'x', after: 'y' }] }] },
    })
    expect((await service.ask('POST', `/plans/${id}/proposals/${one.body.id}/decline`, {})).status).toBe(422)
    expect(
      (await service.ask('POST', `/plans/${id}/proposals/${one.body.id}/decline`, { rationale: 'no' })).body,
    ).toMatchObject({ verdict: 'declined' })
    expect((await service.ask('POST', `/plans/${id}/proposals/${one.body.id}/accept`)).status).toBe(409)
    const two = await service.ask('POST', `/plans/${id}/proposals`, { document: next('z'), rationale: 'best' })
    expect(
      (await service.ask('POST', `/plans/${id}/proposals/${two.body.id}/accept`, { rationale: 'yes', unseen: true }))
        .body,
    ).toMatchObject({ verdict: 'accepted', by: 'anyone' })
    const items = (await service.ask('GET', `/plans/${id}/proposals`)).body.items
    expect(items).toMatchObject([{ fate: { status: 'declined' } }, { fate: { status: 'accepted', revision: 2 } }])
    expect((await service.ask('GET', `/plans/${id}/proposals/none`)).status).toBe(404)
  })

  test('a review is decided as a whole, as it was seen', async () => {
    const { id } = await make([
      { id: 'a', gate: 'approval' },
      { id: 'b', gate: 'approval' },
    ])
    const [review] = (await service.ask('GET', `/plans/${id}/reviews`)).body.items
    expect(review).toMatchObject({ closed: true, items: [{ task: 'a' }, { task: 'b' }] })
    expect(
      (await service.ask('POST', `/plans/${id}/review`, { verdict: 'approve', hash: '0'.repeat(64) })).status,
    ).toBe(409)
    expect(
      (await service.ask('POST', `/plans/${id}/review`, { verdict: 'approve', hash: review.hash })).body,
    ).toMatchObject({ verdict: 'approved', gates: ['a', 'b'], state: 'completed' })
    expect((await service.ask('POST', `/plans/${id}/review`, { verdict: 'approve' })).status).toBe(409)
  })

  test('regression 10 over HTTP: whoever reads while others revise never sees an older revision after a newer one', async () => {
    const { id, document } = await make([{ id: 'a', instruction: 'x' }], {}, false)
    let isOver = false
    const seen: number[][] = [[], [], []]
    const readers = seen.map(async versions => {
      while (!isOver) {
        const { body } = await service.ask('GET', `/plan/${id}`)
        versions.push(body.revision)
      }
    })
    for (let n = 1; n <= 12; n++)
      expect(
        (await service.ask('POST', `/plans/${id}/revisions`, { document: { ...document, goal: `goal ${n}` } })).body
          .revision,
      ).toBe(n + 1)
    isOver = true
    await Promise.all(readers)
    for (const versions of seen) expect(versions).toEqual([...versions].sort((a, b) => a - b))
  })
})

describe('looking back', () => {
  heldTest('entries, logs, attempts and artifacts are told page by page, and bytes as an attachment', async () => {
    const { id } = await make([
      {
        id: 'a',
        run: "echo out; echo err >&2; head -c 70000 /dev/zero | tr '\\0' 'x' > big.txt",
        write: ['big.txt'],
        network: [],
        outputs: { big: { file: 'big.txt' } },
      },
    ])
    await drive(id)
    const first = await service.ask('GET', `/plans/${id}/entries?limit=1`)
    expect(first.body).toMatchObject({
      items: [{ version: 1, actor: 'anyone', command: { type: 'create' }, events: [{ type: 'plan.created' }] }],
      next: '1',
    })
    const rest = await service.ask('GET', `/plans/${id}/entries?after=1`)
    expect(rest.body.next).toBeNull()
    expect(rest.body.items[0]).toMatchObject({ version: 2, told: expect.any(Array) })
    const logs = await service.ask('GET', `/plans/${id}/logs`)
    expect(logs.body.items.map((one: { level: string }) => one.level).sort()).toEqual(['debug', 'info', 'warning'])
    expect((await service.ask('GET', `/plans/${id}/logs?level=info`)).body.items).toMatchObject([{ text: 'out\n' }])
    expect((await service.ask('GET', `/tasks/${id}:a/logs?level=warning`)).body.items).toMatchObject([
      { text: 'err\n', stream: 'stderr' },
    ])
    expect((await service.ask('GET', `/plans/${id}/logs?level=loud`)).status).toBe(422)
    expect((await service.ask('GET', `/plans/${id}/logs?task=nobody`)).status).toBe(404)
    expect((await service.ask('GET', `/plans/${id}/attempts`)).body).toMatchObject({
      items: [{ task: 'a', status: 'succeeded', exit: 0 }],
      next: null,
    })
    const [artifact] = (await service.ask('GET', `/plans/${id}/artifacts`)).body.items
    expect(artifact).toMatchObject({ task: 'a', output: 'big', bytes: 70_000, file: 'big.txt' })
    for (const path of [artifact.href, `/blobs/${artifact.sha256}`]) {
      const { status, headers, body } = await service.ask('GET', path)
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('application/octet-stream')
      expect(headers.get('content-disposition')).toMatch(/^attachment/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(body).toBe(readFileSync(`${service.folder}/big.txt`, 'utf8'))
    }
    expect((await service.ask('GET', `/blobs/${'0'.repeat(64)}`)).status).toBe(404)
    expect((await service.ask('GET', '/blobs/..%2F..%2Fetc')).status).toBe(404)
  })

  heldTest('trail, digest, handoff, contract, replay, graph and board tell of the same plan', async () => {
    const { id, name } = await make([
      { id: 'a', run: 'true', accept: [{ expect: 'exit == 0' }] },
      { id: 'b', instruction: 'x', needs: ['a'] },
    ])
    await drive(id)
    const said = await service.ask('POST', `/plans/${id}/notes`, { text: 'by the way', task: 'b' })
    expect(said.body).toMatchObject({ text: 'by the way', task: 'b', place: null, by: 'anyone' })
    const place = { field: 'instruction', line: 1 }
    const placed = await service.ask('POST', `/plans/${id}/notes`, { text: 'say more', task: 'b', place })
    expect(placed.body).toMatchObject({ place })
    const { items } = (await service.ask('GET', placed.headers.get('location')!)).body
    expect(items[0].events).toEqual([{ type: 'note.added', text: 'say more', task: 'b', place }])
    expect((await service.ask('POST', `/plans/${id}/notes`, { text: 'x', place: { line: 0 } })).status).toBe(422)
    const trail = await service.ask('GET', `/plans/${id}/audit`)
    expect(trail.body).toMatchObject({ plan_id: id, name, fault: null })
    expect(trail.body.lines.map((line: { type: string }) => line.type)).toContain('note.added')
    expect((await service.ask('GET', `/plans/${id}/audit?since=2999-01-01`)).body.lines).toEqual([])
    expect((await service.ask('GET', `/plans/${id}/audit?since=yesterday`)).status).toBe(422)
    expect((await service.ask('GET', `/plans/${id}/digest`)).body).toMatchObject({
      plan_id: id,
      completed: [{ task: 'a' }],
    })
    expect((await service.ask('GET', `/plans/${id}/handoff`)).body).toMatchObject({
      plan_id: id,
      readme: expect.stringContaining(name),
    })
    expect((await service.ask('GET', `/plans/${id}/contract`)).body).toMatchObject({
      counts: { holds: 1, broken: 0, open: 0 },
    })
    expect((await service.ask('GET', `/plans/${id}/replay`)).body).toMatchObject({ ok: true, fault: null })
    if (!lacks('pictures')) {
      expect((await service.ask('GET', `/plans/${id}/graph`)).body).toContain('flowchart')
      expect((await service.ask('GET', `/plans/${id}/graph?as=dot`)).body).toContain('digraph')
    }
    expect((await service.ask('GET', `/plans/${id}/graph?as=tree`)).body).toContain('└─')
    expect((await service.ask('GET', `/plans/${id}/board`)).body.items).toMatchObject([
      { name: 'a', status: 'completed' },
      { name: 'b', status: 'ready' },
    ])
    for (const word of [
      'audit',
      'digest',
      'handoff',
      'contract',
      'replay',
      'graph',
      'board',
      'entries',
      'logs',
      'artifacts',
    ])
      expect((await service.ask('GET', `/plans/nobody/${word}`)).status, word).toBe(404)
  })

  test.skipIf(lacks('memory'))('memory is kept, recalled by key and by words, and forgotten', async () => {
    const put = (body: object) => service.ask('PUT', '/memory', body)
    expect(await put({ key: 'http3.key_claims', value: ['QUIC'] })).toMatchObject({
      status: 200,
      body: { status: 'kept', key: 'http3.key_claims', scope: 'project', plan_id: null },
    })
    await put({ key: 'mine', value: 'about quic too', scope: 'user', expires_in_seconds: 60 })
    const { body } = await service.ask('GET', '/memory?keys=http3.key_claims&q=quic')
    expect(body).toMatchObject({
      items: [
        { key: 'http3.key_claims', scope: 'project', value: ['QUIC'], trust: 'trusted', expires_at: null },
        { key: 'mine', scope: 'user' },
      ],
      ...{ next: null, found_by: 'words', model: null, note: null },
    })
    expect((await put({ key: 'big', value: 'x'.repeat(70_000) })).status).toBe(422)
    const forgotten = await service.ask('DELETE', '/memory?key=http3.key_claims')
    expect(forgotten.body).toMatchObject({ removed: true, note: expect.stringContaining('journals of plans') })
    expect((await service.ask('GET', '/memory?keys=http3.key_claims')).body).toMatchObject({ items: [] })
  })

  test('a halt stops everything until it is lifted', async () => {
    const { id } = await make([{ id: 'a', instruction: 'x' }], {}, false)
    expect((await service.ask('GET', '/halt')).body).toEqual({ halted: false, halt: null })
    expect((await service.ask('POST', '/halt', {})).status).toBe(422)
    expect((await service.ask('POST', '/halt', { reason: 'fire' })).body).toMatchObject({
      reason: 'fire',
      by: 'anyone',
    })
    expect((await service.ask('POST', `/plan/${id}/execute`)).status).toBe(409)
    expect((await service.ask('GET', '/halt')).body).toMatchObject({ halted: true, halt: { reason: 'fire' } })
    expect((await service.ask('DELETE', '/halt')).body).toMatchObject({ lifted: { reason: 'fire' } })
    expect((await service.ask('POST', `/plan/${id}/execute`)).status).toBe(202)
  })
})
