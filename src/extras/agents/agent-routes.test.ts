// Coding agents over HTTP: listed without telling of the machine, and chosen to work the tasks of a plan.

import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KnownAgent } from '../../runners/runner.ts'
import { type Served, served } from '../../server/server.fixture.ts'
import { recordPass } from './passed-tests.ts'

const agent = (name: KnownAgent['name'], version: string | null): KnownAgent => ({
  ...{ name, title: name.toUpperCase(), version, tested: '1.0', wire: 'openai-chat', install: `${name}-cli` },
  ...{ needsModel: name === 'qwen', from: 'planfold', hasLogin: false },
  status: version === null ? 'missing' : 'installed',
  road: version === null ? null : 'acp',
  program: version === null ? null : `/opt/${name}/bin/${name}`,
})

let service: Served
beforeAll(async () => {
  service = await served({
    agents: async () => [agent('opencode', '1.0'), agent('grok', '1.1'), agent('codex', null), agent('qwen', '1.0')],
  })
})
afterAll(async () => {
  expect(service.errors).toEqual([])
  await service.close()
})

const ask: Served['ask'] = (...given) => service.ask(...given)
const make = async (name: string, start = false) =>
  await ask('POST', `/plans${start ? '?start=true' : ''}`, {
    planfold: 1,
    name,
    tasks: [
      { id: 'one', title: 'Do one', write: ['a.txt'] },
      { id: 'two', instruction: 'Do two', needs: [], assignee: 'ana' },
      { id: 'three' },
    ],
  })
const actions = async (plan: string): Promise<unknown> => {
  const { definition } = (await service.composed.engine.ask({ type: 'definition', plan }))!
  return Object.fromEntries(
    definition.tasks.map(({ id, action }) => [id, 'spec' in action ? action.spec : action.type]),
  )
}

test('agents are listed with what is installed and what passed a test here, and with no paths', async () => {
  const place = {
    environment: { HOME: service.folder, XDG_CONFIG_HOME: `${service.folder}-settings` },
    root: '/elsewhere',
  }
  expect((await ask('GET', '/agents')).body.items.map((one: { passed_at: unknown }) => one.passed_at)).toEqual([
    null,
    null,
    null,
    null,
  ])
  Object.assign(service.rooms.environment, place.environment)
  await recordPass(place, { name: 'grok', version: '1.1' }, 1_000)
  await recordPass(place, { name: 'opencode', version: '0.9' }, 2_000)
  const { status, body } = await ask('GET', '/agents')
  expect(status).toBe(200)
  expect(body.items).toMatchObject([
    { name: 'opencode', installed: true, version: '1.0', passed_at: null },
    { name: 'grok', installed: true, passed_at: '1970-01-01T00:00:01.000Z' },
    { name: 'codex', installed: false, install: 'codex-cli' },
    { name: 'qwen', installed: true, needs_model: true },
  ])
  expect(JSON.stringify(body)).not.toContain('/opt/')
})

test('an agent works all open tasks of a draft, once under one key', async () => {
  await make('all')
  const key = { 'idempotency-key': 'k-all' }
  const said = { agent: 'opencode', model: 'local/scripted' }
  const first = await ask('POST', '/plans/all/worker', said, key)
  expect(first).toMatchObject({ status: 200, body: { agent: 'opencode', tasks: ['one', 'three'], state: 'draft' } })
  expect(await ask('POST', '/plans/all/worker', said, key)).toMatchObject({
    status: 200,
    body: { tasks: ['one', 'three'], replayed: true },
  })
  expect((await ask('POST', '/plans/all/worker', { agent: 'grok' }, key)).status).toBe(409)
  const use = { use: 'opencode', model: 'local/scripted' }
  expect(await actions('all')).toEqual({ one: use, two: 'external', three: use })
  expect((await ask('GET', '/agents')).body.preferred).toBe('opencode')
})

test('one task of a running plan is worked by an agent; what somebody has claimed stays theirs', async () => {
  await make('some', true)
  expect((await ask('POST', '/plans/some/tasks/one/claim', {})).status).toBe(200)
  expect(await ask('POST', '/plans/some/worker', { agent: 'grok', task: 'one' })).toMatchObject({
    status: 422,
    body: { detail: "'one' does not wait for grok" },
  })
  expect(await ask('POST', '/plans/some/worker', { agent: 'grok', task: 'three' })).toMatchObject({
    status: 200,
    body: { tasks: ['three'], state: 'active' },
  })
  expect(await actions('some')).toEqual({ one: 'external', two: 'external', three: 'grok' })
})

test('an agent that is unknown or not installed is refused, with what to do', async () => {
  await make('none')
  const hint = (word: string) => expect.stringContaining(word)
  for (const [name, status, said] of [
    ['hal', 422, 'opencode'],
    ['planfold', 422, 'opencode'],
    ['codex', 409, 'npm install -g codex-cli'],
    ['qwen', 409, 'PROVIDER/NAME'],
  ] as const) {
    const refused = { status, body: { hint: hint(said) } }
    expect(await ask('POST', '/plans/none/worker', { agent: name })).toMatchObject(refused)
    expect(await ask('POST', '/plans', { goal: 'Fix the sum', worker: name })).toMatchObject(refused)
  }
  expect((await ask('POST', '/plans/nothing/worker', { agent: 'grok' })).status).toBe(404)
})

test('a goal may come with the agent that works it: the draft has no task left to claim', async () => {
  const { status, body } = await ask('POST', '/plans', { goal: 'Fix the sum in sum.js: it subtracts', worker: 'grok' })
  expect(status).toBe(201)
  const found = Object.values((await actions(body.name)) as object)
  expect(found).toContain('grok')
  expect(found).not.toContain('external')
})

test('what the review of a draft approves is committed where the workspace is a repository, and only there', async () => {
  const review = { id: 'review', needs: ['one'], gate: 'approval' }
  const last = async (name: string): Promise<unknown> => {
    await ask('POST', '/plans', { planfold: 1, name, tasks: [{ id: 'one', write: ['a.txt'] }, review] })
    expect((await ask('POST', `/plans/${name}/worker`, { agent: 'grok', commit: true })).status).toBe(200)
    return Object.keys((await actions(name)) as object).at(-1)
  }
  expect(await last('plain-folder')).toBe('review')
  const git = (...words: string[]) => execFileSync('git', words, { cwd: service.composed.root })
  git('init', '-q')
  git('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-q', '--allow-empty', '-m', 'first')
  expect(await last('repository')).toBe('commit')
})
