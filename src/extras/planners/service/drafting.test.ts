// Plans drafted for a request: by a model only when the request names one, with the keys of the service, within its caps; goals are
// split, and each part gets a draft.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { heldTest } from '../../../safety/sandbox/needs-sandbox.fixture.ts'
import { type Asked, type Served, served } from '../../../server/server.fixture.ts'
import { type ScriptedModel, type ScriptedReply, scriptedModel } from '../../../testing/scripted-model.ts'

const KEY = 'sk-never-to-be-seen-0123456789'
let service: Served
let model: ScriptedModel
let script: ScriptedReply[] = []
beforeAll(async () => {
  model = await scriptedModel(() => script.shift() ?? { error: { status: 500, message: 'not in the script' } })
  service = await served({ environment: model.environment(KEY) })
  writeFileSync(join(service.folder, 'greet.sh'), 'greet() { echo "hello $1"; }\n')
})
beforeEach(() => {
  script = []
})
afterAll(async () => {
  expect(service.errors).toEqual([])
  await service.close()
  await model.close()
})

const TASK = {
  id: 'greet-twice',
  title: 'Greet a second name',
  why: 'The goal asks for it.',
  kind: 'implement',
  how: 'work',
  instruction: 'Let greet take a second name.',
  write: ['greet.sh'],
  accept: [{ text: 'it greets both' }],
}
const INTAKE = { objective: 'Two names.', done: [{ text: 'it works' }], unknowns: [] }
const DRAFT = { title: 'A second name', rationale: 'Small.', tasks: [TASK], done: [{ text: 'it works' }] }
const GOOD = [INTAKE, DRAFT, { problems: [] }].map(one => ({ text: JSON.stringify(one) }))
const MODEL = 'anthropic/scripted'

const post = (path: string, body: object, headers = {}): Promise<Asked> => service.ask('POST', path, body, headers)
/** How many requests the model got meanwhile. */
async function asking<T>(work: () => Promise<T>): Promise<[T, number]> {
  const before = model.requests.length
  const done = await work()
  return [done, model.requests.length - before]
}

describe('a goal for which a request names a model', () => {
  test('is drafted by it, with the key of the service; the same request under its key asks nobody again', async () => {
    script = [...GOOD]
    const body = { goal: 'Greet two people', planner: 'model', model: MODEL }
    const key = { 'idempotency-key': 'two-people' }
    const [made, requests] = await asking(() => post('/plans', body, key))
    expect(made).toMatchObject({ status: 201, body: { name: 'a-second-name', status: 'draft' } })
    expect(requests).toBe(3)
    expect(model.requests.at(-1)?.headers['x-api-key']).toBe(KEY)
    const [again, more] = await asking(() => post('/plans', body, key))
    expect([again.status, again.body.id, more]).toEqual([201, made.body.id, 0])
    const other = await post('/plans', { ...body, goal: 'Another' }, key)
    expect(other.status).toBe(409)
    const document = await service.ask('GET', '/plans/a-second-name?as=planfold')
    expect(document.body).toContain('model-recording')
    expect(document.body).not.toContain(KEY)
  })

  test('in a session too: who drafted it and what was found are told', async () => {
    script = [...GOOD]
    const body = { description: 'Greet two people', model: MODEL }
    const key = { 'idempotency-key': 'in-a-session' }
    const [made, requests] = await asking(() => post('/sessions/s-1/plans', body, key))
    expect(made).toMatchObject({ status: 201, body: { planner: 'model', planned: 'Small.' } })
    expect(made.body.analysis.files[0].path).toBe('greet.sh')
    expect(requests).toBe(3)
    const [again, more] = await asking(() => post('/sessions/s-1/plans', body, key))
    expect(again).toMatchObject({ status: 201, body: { id: made.body.id, planner: 'model', planned: 'Small.' } })
    expect(more).toBe(0)
  })

  test('is not drafted where the model, its name or its planner is wrong; nothing is made, and the reason is told', async () => {
    const goal = 'Greet two people'
    const before = (await service.ask('GET', '/plans')).body.items.length
    const [unnamed, none] = await asking(() => post('/plans', { goal }))
    expect([unnamed.status, none]).toEqual([201, 0])
    const refused: readonly (readonly [object, number, string])[] = [
      [{ goal, planner: 'model' }, 422, 'no model is named'],
      [{ goal, model: 'nobody/x' }, 422, "there is no provider 'nobody'"],
      [{ goal, planner: 'heuristic', model: MODEL }, 422, "is not used by the planner 'heuristic'"],
      [{ goal, planner: 'oracle' }, 422, "there is no planner 'oracle'"],
      [{ goal, planner: 'agent' }, 501, 'the planner needs the name of an agent'],
      [{ goal, model: 7 }, 422, 'is not a name'],
    ]
    for (const [body, status, detail] of refused) {
      const said = await post('/plans', body)
      expect([said.status, said.body.detail]).toEqual([status, expect.stringContaining(detail)])
    }
    script = [{ error: { status: 401, message: 'no' } }]
    expect(await post('/plans', { goal, model: MODEL })).toMatchObject({
      status: 502,
      body: { type: 'urn:planfold:problem:model-auth' },
    })
    script = [{ error: { status: 429, message: 'slow', headers: { 'retry-after': '7' } } }]
    const busy = await post('/plans', { goal, model: MODEL })
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '7'])
    expect((await service.ask('GET', '/plans')).body.items).toHaveLength(before + 1)
  })

  test('a drafting keeps to the budget of its request, says how it goes on, and pays for nothing twice', async () => {
    script = [...GOOD]
    const body = { goal: 'Greet three people', model: MODEL }
    const [cut, first] = await asking(() => post('/plans', { ...body, budget: { calls: 1 } }))
    expect([cut.status, cut.body.type, first]).toEqual([422, 'urn:planfold:problem:model-cap', 1])
    expect(cut.body.detail).toMatch(
      /limit of 1 call is reached.*Spent so far: .* tokens in 1 call\. The answers are kept/,
    )
    expect(cut.body.hint).toBe('say it again with {"budget": {"calls": 2}}')
    const [made, second] = await asking(() => post('/plans', { ...body, budget: { calls: 3, tokens: '600k' } }))
    expect([made.status, second]).toEqual([201, 2])
    const [bad, none] = await asking(() => post('/plans', { ...body, budget: { calls: 0, cost: '3 EUR', minutes: 1 } }))
    expect([bad.status, none]).toEqual([422, 0])
    expect(bad.body.faults.map(({ path }: { path: string }) => path).sort()).toEqual([
      'budget.calls',
      'budget.cost',
      'budget.minutes',
    ])
  })

  test('a client that leaves ends the questions', async () => {
    script = [{ silent: true }]
    const before = model.requests.length
    const leaving = new AbortController()
    const asked = fetch(`${service.url}/plans`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ goal: 'Greet two people', model: 'openai/scripted' }),
      signal: leaving.signal,
    })
    await model.asked(before + 1)
    leaving.abort()
    await expect(asked).rejects.toThrow()
    const cut = async () => (await service.composed.models.calls()).at(-1)
    await expect.poll(cut).toMatchObject({ model: 'openai/scripted', status: 'cut off' })
    expect(model.requests).toHaveLength(before + 1)
  })
})

describe('a goal that is decomposed', () => {
  const set = async (title: string, more: object = {}): Promise<string> =>
    (await post('/goals', { title, ...more })).body.id

  test('has sub-goals, each with a draft; asked again it goes on where it ended, and nothing is made twice', async () => {
    const id = await set('Rename `greet` to `salute`. Add an option `--loud` to greet.sh.', { priority: 8 })
    const first = await post(`/goals/${id}/decompose`, {})
    expect(first).toMatchObject({
      status: 200,
      body: {
        id,
        progress: { goals: 2, plans: { draft: 2 } },
        parts: [
          { title: 'Rename `greet` to `salute`', state: 'draft', made: true },
          { title: 'Add an option `--loud` to greet.sh', made: true },
        ],
      },
    })
    const [one, two] = first.body.parts
    expect(one.goal_id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    expect((await service.ask('GET', `/goals/${one.goal_id}`)).body).toMatchObject({ parent_id: id, priority: 8 })
    // One of the drafts is rejected, one sub-goal is dropped, and a person sets another one.
    await service.ask('POST', `/plans/${one.plan_id}/cancel`, {})
    await service.ask('PATCH', `/goals/${two.goal_id}`, { status: 'dropped' })
    await set('Document greet.sh', { parent_id: id })
    const [again, byTwo] = await Promise.all([post(`/goals/${id}/decompose`, {}), post(`/goals/${id}/decompose`, {})])
    const titles = (said: Asked) => said.body.parts.map(({ title }: { title: string }) => title)
    expect(titles(again)).toEqual(['Rename `greet` to `salute`', 'Document greet.sh'])
    expect(byTwo.body.parts.map(({ plan_id }: { plan_id: string }) => plan_id)).toEqual(
      again.body.parts.map(({ plan_id }: { plan_id: string }) => plan_id),
    )
    expect(again.body.parts[0].plan_id).not.toBe(one.plan_id)
    const third = await post(`/goals/${id}/decompose`, {})
    expect(third.body.parts.every(({ made }: { made: boolean }) => !made)).toBe(true)
  })

  test('by a model: what it split stays when a draft fails, and the next time only that is drafted', async () => {
    const wishes = {
      wishes: [
        { title: 'Greet two', why: 'x' },
        { title: 'Count them', why: 'y' },
      ],
    }
    script = [{ text: JSON.stringify(wishes) }, ...GOOD, { error: { status: 529, message: 'busy' } }]
    const id = await set('Greet people')
    const failed = await post(`/goals/${id}/decompose`, { model: MODEL })
    expect(failed.status).toBe(503)
    script = [...GOOD]
    const [went, requests] = await asking(() => post(`/goals/${id}/decompose`, { model: MODEL }))
    expect(went.body.parts).toMatchObject([
      { title: 'Greet two', made: false },
      { title: 'Count them', made: true },
    ])
    expect(requests).toBe(3)
  })

  test('one wish is planned as it is; a goal that is closed or unknown is refused', async () => {
    const id = await set('Rename `greet` to `salute`', { id: 'the-rename', success_criteria: ['no new dependency'] })
    const whole = await post(`/goals/${id}/decompose`, {})
    expect(whole.body).toMatchObject({ children: [], parts: [{ goal_id: 'the-rename', made: true }] })
    await service.ask('PATCH', `/goals/${id}`, { status: 'achieved' })
    expect((await post(`/goals/${id}/decompose`, {})).status).toBe(409)
    expect((await post('/goals/nowhere/decompose', {})).status).toBe(404)
  })
})

test('an agent over HTTP names a model in plan_write', async () => {
  script = [...GOOD]
  const call = async (input: object): Promise<string> => {
    const params = { name: 'plan_write', arguments: { action: 'create', goal: 'Greet two', ...input } }
    const response = await fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    return await response.text()
  }
  const [made, requests] = await asking(() => call({ model: MODEL, key: 'k' }))
  expect(made).toContain('created, not started')
  expect(requests).toBe(3)
  const [, more] = await asking(() => call({ model: MODEL, key: 'k' }))
  expect(more).toBe(0)
  expect(await call({ model: 'nobody/x' })).toContain("there is no provider 'nobody'")
  expect(await call({ model: MODEL, tasks: [] })).toContain('a model drafts a plan for a goal')
  expect(await call({ look: true, tasks: [] })).toContain('a look is for a goal without tasks')
})

heldTest('what fails today is looked at only when the request asks for it', async () => {
  const makefile = join(service.folder, 'Makefile')
  writeFileSync(makefile, 'lint:\n\t@echo "greet.sh:1: no echo"; false\n')
  onTestFinished(() => rmSync(makefile))
  const goal = 'fix the lint'
  const fixOf = async ({ body }: Asked) => (await service.ask('GET', `/plans/${body.id}?as=planfold`)).body
  const made = await post('/plans', { goal, look: true })
  expect(made).toMatchObject({ status: 201 })
  expect(JSON.stringify(await fixOf(made))).toContain('status: fails')
  expect(JSON.stringify(await fixOf(await post('/plans', { goal })))).not.toContain('status: fails')
  expect(await post('/plans', { goal, look: 'yes' })).toMatchObject({
    status: 422,
    body: { faults: [{ path: 'look' }] },
  })
  expect(await post('/plans', { goal, look: true, template: 'release' })).toMatchObject({
    status: 422,
    body: { faults: [{ path: 'look', message: "is not used by the planner 'template'" }] },
  })
  // A model hears of it, and its checks are tried.
  const check = { text: 'it greets both', command: ['grep', '-q', 'hello', 'greet.sh'] }
  const red = { ...check, command: ['grep', '-q', 'second', 'greet.sh'] }
  const draft = { ...DRAFT, tasks: [{ ...TASK, accept: [check, red] }] }
  script = [INTAKE, draft, { problems: [] }].map(one => ({ text: JSON.stringify(one) }))
  const first = model.requests.length
  const drafted = await post('/plans', { goal, look: true, model: MODEL })
  expect(drafted.status).toBe(201)
  expect(model.requests[first]!.messages[0]!.text).toContain('make lint: fails today (greet.sh:1)')
  expect(JSON.stringify(await fixOf(drafted))).toContain('it greets both (passes today, too)')
})

describe('what is left of a plan', () => {
  const document = (name: string) => `planfold: 1
name: ${name}
goal: Greet two people
extra: { planning: { planner: model } }
tasks:
  - { id: look, title: Look, instruction: Look., outputs: { found: { report: text } } }
  - { id: change, title: Change it, instruction: Change it., needs: [look], write: [greet.sh] }
`
  const REST = [INTAKE, { ...DRAFT, tasks: [{ ...TASK, id: 'again' }] }, { problems: [] }]
  /** Its first task is done, the second has failed. */
  async function failed(name: string): Promise<void> {
    await service.ask('POST', '/plans?start=true', document(name), { 'content-type': 'application/yaml' })
    for (const [task, said] of [
      ['look', { status: 'done', outputs: { found: 'one caller' } }],
      ['change', { status: 'failed', error: 'greet.sh is generated' }],
    ] as const) {
      const { body } = await post(`/plans/${name}/tasks/${task}/claim`, {})
      expect(await post(`/plans/${name}/tasks/${task}/report`, { ...said, token: body.token })).toMatchObject({
        status: 200,
      })
    }
  }

  test('is drafted again by a model and proposed, once for a key; nothing changes before it is accepted', async () => {
    await failed('left')
    script = REST.map(one => ({ text: JSON.stringify(one) }))
    const body = { model: MODEL, reason: 'mind the generator' }
    const key = { 'idempotency-key': 'left-1' }
    const [made, requests] = await asking(() => post('/plans/left/replan', body, key))
    expect(made).toMatchObject({
      status: 201,
      body: { accepted: false, revision: null, state: 'failed', name: 'left', unfollowed: [] },
    })
    expect(made.body.rationale).toBe("drafted again by model: 'change' failed; mind the generator")
    expect(made.body.diff.added.map(({ task }: { task: string }) => task)).toContain('again')
    expect(requests).toBe(3)
    const [again, more] = await asking(() => post('/plans/left/replan', body, key))
    expect([again.status, again.body.id, again.body.summary, more]).toEqual([201, made.body.id, made.body.summary, 0])
    expect(await post('/plans/left/replan', { ...body, reason: 'else' }, key)).toMatchObject({ status: 409 })
    const shown = await service.ask('GET', `/plans/left/proposals/${made.body.id}`)
    expect(shown.body).toMatchObject({ fate: { status: 'waiting' }, rationale: made.body.rationale })
    expect((await service.ask('GET', '/plans/left')).body.revision).toBe(1)
    const agreed = await post(`/plans/left/proposals/${made.body.id}/accept`, { hash: shown.body.hash })
    expect(agreed).toMatchObject({ status: 200, body: { state: 'active' } })
  })

  test('is refused where nothing can be drafted, and what the planner says is told', async () => {
    await failed('kept')
    for (const [path, body, status, detail] of [
      ['kept', {}, 422, 'no model is named'],
      ['kept', { model: 'nobody/x' }, 422, "there is no provider 'nobody'"],
      ['kept', { template: 'release' }, 422, ''],
      ['kept', { worker: 'claude' }, 422, ''],
      ['nowhere', { model: MODEL }, 404, ''],
    ] as const) {
      const said = await post(`/plans/${path}/replan`, body)
      expect([said.status, said.body.detail], JSON.stringify(body)).toEqual([status, expect.stringContaining(detail)])
    }
    expect((await service.ask('GET', '/plans/kept/proposals')).body.items).toEqual([])
  })
})

describe('a draft that is commented', () => {
  test('is drafted again and told as a difference; nothing is written until it is kept', async () => {
    const made = await post('/plans', { goal: 'Rename `greet` to `salute`' })
    const { name, id } = made.body
    const before = await service.ask('GET', `/plans/${id}?as=planfold`)
    const body = { comments: [{ task: 'review', text: 'leave this out' }, { text: 'be careful with greet.sh' }] }
    const drafted = await post(`/plans/${name}/redraft`, body)
    expect(drafted).toMatchObject({ status: 200, body: { name, revision: 1, changed: true, plan_id: id } })
    expect(drafted.body.diff.removed.map(({ task }: { task: string }) => task)).toEqual(['review'])
    expect(drafted.body.rationale).toBe('drafted again: leave this out; be careful with greet.sh')
    expect((await service.ask('GET', `/plans/${id}?as=planfold`)).body).toBe(before.body)
    const { document, rationale, revision } = drafted.body
    const kept = await post(`/plans/${id}/revisions`, { document, rationale, expected_revision: revision })
    expect(kept).toMatchObject({ status: 201, body: { revision: 2, changed: true } })
    // What was said before counts for the next draft as well.
    const next = await post(`/plans/${id}/redraft`, { comments: [{ text: 'mind the README' }] })
    expect(next.body.document).not.toContain('id: review')
  })

  test('only while it is a draft, with a goal, and with words', async () => {
    const made = await post('/plans', { planfold: 1, name: 'no-goal', tasks: [{ id: 'a' }] })
    const comments = [{ text: 'else' }]
    expect((await post(`/plans/${made.body.id}/redraft`, { comments })).body.detail).toContain('the draft has no goal')
    expect((await post(`/plans/${made.body.id}/redraft`, { comments: [] })).status).toBe(422)
    await post(`/plans/${made.body.id}/execute`, {})
    expect(await post(`/plans/${made.body.id}/redraft`, { comments })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('only a draft is drafted again') },
    })
  })
})
