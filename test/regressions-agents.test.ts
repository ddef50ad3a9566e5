// Regressions 1 to 10 as agents meet them: each over MCP and over HTTP, on one service with a real store. The number is in the name.
// Needs the extras: planners

import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PLAN_STATUSES } from '../src/domain/status.ts'
import { proposedPlan } from '../src/extras/planners/goals/plan-goal.ts'
import { planningIn } from '../src/extras/planners/open-planners.ts'
import { raisePlan } from '../src/format/plan/definition-to-document.ts'
import { mcpFactory } from '../src/mcp/server.ts'
import { listen } from '../src/server/listening.fixture.ts'
import { type Asked, type Served, served } from '../src/server/server.fixture.ts'

const NONE = Object.fromEntries(PLAN_STATUSES.map(status => [status, 0]))

let service: Served
const closing: (() => Promise<void>)[] = []
beforeAll(async () => {
  service = await served()
  closing.push(() => service.close())
})
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

interface Said {
  readonly text: string
  readonly error: boolean
}
type Call = (input?: object) => Promise<Said>

/** An agent on the store of a service, by the official client. */
async function agentOf(
  { composed }: Served,
  as = 'agent',
  compat = false,
): Promise<{ read: Call; write: Call; manage: Call }> {
  const { engine, now } = composed
  const { planners, repository } = planningIn(composed, {})
  const planner = planners.get('heuristic')!
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const open = async () => ({
    engine,
    now,
    templates: composed.stateDir,
    propose: (goal: string) => proposedPlan({ planner, repository }, goal),
  })
  const server = serveStdio(mcpFactory({ open, version: '0', environment: {}, as, compat }), {
    transport: ours as never,
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(theirs)
  closing.push(async () => {
    await client.close()
    await server.close()
  })
  const call =
    (name: string): Call =>
    async (input = {}) => {
      const { content, isError } = await client.callTool({ name, arguments: { ...input } })
      return { text: (content as { text: string }[])[0]?.text ?? '', error: isError === true }
    }
  return { read: call('plan_read'), write: call('plan_write'), manage: call('manage_plan') }
}

const ask = async (
  method: string,
  path: string,
  body?: object,
  headers?: { readonly [name: string]: string },
): Promise<Asked> => await service.ask(method, path, body, headers)

let plans = 0
/** A started plan with these tasks. */
async function plan(...tasks: readonly (string | object)[]): Promise<string> {
  const name = `plan-${++plans}`
  const documents = tasks.map(one => (typeof one === 'string' ? { id: one } : one))
  const made = await ask(
    'POST',
    '/plans',
    tasks.length === 0 ? { goal_id: 'g', name } : { planfold: 1, name, tasks: documents },
  )
  expect(made.status).toBe(201)
  if (tasks.length > 0) expect((await ask('PATCH', `/plans/${name}`, { status: 'active' })).status).toBe(200)
  return name
}

const summaryOf = async (name: string) => (await service.composed.engine.ask({ type: 'summary', plan: name }))!
const namesIn = async (name: string) =>
  (await service.composed.engine.ask({ type: 'board', plan: name }))!.map(card => card.name as string)
const unchanged = async (name: string, body: () => Promise<void>) => {
  const { version } = await summaryOf(name)
  await body()
  expect((await summaryOf(name)).version).toBe(version)
}

interface Regression {
  readonly number: number
  readonly what: string
  mcp(): Promise<void>
  http(): Promise<void>
}

const REGRESSIONS: readonly Regression[] = [
  {
    number: 1,
    what: 'removing what is there and what is not does exactly what it says',
    async mcp() {
      const name = await plan('a', 'b')
      const { write } = await agentOf(service)
      await unchanged(name, async () => {
        const said = await write({ action: 'edit', plan: name, remove: ['a', 'missing'] })
        expect(said.error).toBe(true)
        expect(said.text).toContain("remove: the plan has no task 'missing'")
      })
      expect((await write({ action: 'edit', plan: name, remove: ['a'] })).error).toBe(false)
      expect(await namesIn(name)).toEqual(['b'])
    },
    async http() {
      const name = await plan('a')
      const { status, body } = await ask('DELETE', '/plans', { ids: [name, 'missing-plan'] })
      expect({ status, ...body }).toEqual({ status: 200, archived: [name], missing: ['missing-plan'], refused: [] })
      expect((await summaryOf(name)).archived).toBe(true)
    },
  },
  {
    number: 2,
    what: 'an empty plan is never complete and never put away as completed',
    async mcp() {
      const name = await plan()
      const { read } = await agentOf(service)
      expect((await read({ what: 'completed', plan: name })).text).toMatch(/^no: .* 0 of 0 tasks are done/)
      const { manage } = await agentOf(service, 'agent', true)
      expect(JSON.parse((await manage({ action: 'compact_plans' })).text).compacted).not.toContain(name)
      expect((await summaryOf(name)).archived).toBe(false)
    },
    async http() {
      const name = await plan()
      const { status, body } = await ask('PATCH', `/plans/${name}`, { status: 'completed' })
      expect(status).toBe(409)
      expect(body.detail).toContain('an empty plan is never complete')
    },
  },
  {
    number: 3,
    what: 'every field that is sent comes back',
    async mcp() {
      const { write } = await agentOf(service)
      await write({ action: 'create', name: 'fields-mcp', tasks: [FIELDS] })
      expect(await definitionOf('fields-mcp')).toEqual(FIELDS)
    },
    async http() {
      await ask('POST', '/plans', { planfold: 1, name: 'fields-http', tasks: [FIELDS] })
      expect(await definitionOf('fields-http')).toEqual(FIELDS)
    },
  },
  {
    number: 4,
    what: 'a status that nobody knows is refused, not coerced',
    async mcp() {
      const name = await plan('a')
      const { write } = await agentOf(service)
      await unchanged(name, async () => {
        const said = await write({ action: 'status', plan: name, task: 'a', status: 'complete' })
        expect(said.error).toBe(true)
        expect(said.text).toContain('status')
      })
    },
    async http() {
      const name = await plan('a')
      await unchanged(name, async () => {
        const { status, body } = await ask('PATCH', `/tasks/${name}:a`, { status: 'complete' })
        expect({ status, hint: body.hint }).toEqual({ status: 422, hint: "did you mean 'completed'?" })
      })
    },
  },
  {
    number: 5,
    what: 'reordering follows the list, and unknown ids are named',
    async mcp() {
      const name = await plan('a', 'b', 'c')
      const { write } = await agentOf(service)
      await unchanged(name, async () => {
        const said = await write({ action: 'edit', plan: name, order: ['c', 'x'] })
        expect(said).toMatchObject({ error: true, text: expect.stringContaining("order: the plan has no task 'x'") })
      })
      await write({ action: 'edit', plan: name, order: ['c', 'b'] })
      expect(await namesIn(name)).toEqual(['c', 'b', 'a'])
    },
    async http() {
      const name = await plan('a', 'b', 'c')
      await unchanged(name, async () => {
        const { status, body } = await ask('POST', `/plans/${name}/reorder`, { order: ['c', 'x'] })
        expect({ status, unknown: body.unknown }).toEqual({ status: 422, unknown: ['x'] })
      })
      const { body } = await ask('POST', `/plans/${name}/reorder`, { order: ['c', 'b'] })
      expect(body.order).toEqual(['c', 'b', 'a'])
    },
  },
  {
    number: 6,
    what: 'what is not accepted is an error, although it is recorded',
    async mcp() {
      const name = await plan(JUDGED)
      const { write } = await agentOf(service)
      const said = await write({ action: 'report', plan: name, task: 'a', status: 'done', outputs: { n: 1 } })
      expect(said.error).toBe(true)
      expect(said.text).toContain('a is not accepted as done')
      expect(said.text).toContain('outputs.n is 1')
    },
    async http() {
      const name = await plan(JUDGED)
      const { status, body } = await ask('POST', `/tasks/${name}:a/report`, { status: 'done', outputs: { n: 1 } })
      expect(status).toBe(422)
      expect(body).toMatchObject({
        type: 'urn:planfold:problem:not-accepted',
        verdicts: [{ evidence: 'outputs.n is 1' }],
      })
    },
  },
  {
    number: 7,
    what: 'lists work with none, one and many plans',
    async mcp() {
      await withEmpty(async empty => {
        const { read, write } = await agentOf(empty)
        expect((await read({ what: 'list' })).text).toBe('There are no plans.')
        for (let made = 1; made <= 25; made++) {
          await write({ action: 'create', name: `p${made}`, tasks: [{ id: 'a' }] })
          if (made === 1) expect((await read({ what: 'list' })).text).toBe('- p1: draft, 0 of 1 done')
        }
        const first = (await read({ what: 'list' })).text
        const page = /"page":"([^"]+)"/.exec(first)?.[1]
        const rest = (await read({ what: 'list', page })).text
        expect(`${first}\n${rest}`.match(/^- p\d+:/gm)).toHaveLength(25)
      })
    },
    async http() {
      await withEmpty(async empty => {
        expect((await empty.ask('GET', '/plans')).body).toEqual({
          items: [],
          next: null,
          total: 0,
          complete: true,
          states: NONE,
        })
        const ids: string[] = []
        for (let made = 1; made <= 7; made++) {
          ids.unshift((await empty.ask('POST', '/plans', { goal_id: 'g' })).body.id)
          if (made === 1) expect((await empty.ask('GET', '/plans')).body.items).toMatchObject([{ id: ids[0] }])
        }
        const first = (await empty.ask('GET', '/plans?limit=4')).body
        const rest = (await empty.ask('GET', `/plans?limit=4&cursor=${first.next}`)).body
        expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(ids)
      })
    },
  },
  {
    number: 8,
    what: 'an id that is there twice is named, and nothing is written',
    async mcp() {
      const name = await plan('a')
      const { read, write } = await agentOf(service)
      await unchanged(name, async () => {
        const said = await write({ action: 'edit', plan: name, tasks: [{ id: 'x' }, { id: 'x' }] })
        expect(said).toMatchObject({ error: true, text: expect.stringContaining("'x' is listed twice in tasks") })
      })
      const made = await write({ action: 'create', name: 'twice-mcp', tasks: [{ id: 'x' }, { id: 'x' }] })
      expect(made).toMatchObject({ error: true, text: expect.stringContaining("'x'") })
      expect((await read({ what: 'plan', plan: 'twice-mcp' })).text).toContain("there is no plan 'twice-mcp'")
    },
    async http() {
      const name = await plan('a')
      await unchanged(name, async () => {
        const { status, body } = await ask('POST', '/tasks', { plan_id: name, name: 'a' })
        expect({ status, detail: body.detail }).toEqual({ status: 422, detail: "two tasks are called 'a'" })
      })
      const made = await ask('POST', '/plans', { planfold: 1, name: 'twice-http', tasks: [{ id: 'x' }, { id: 'x' }] })
      expect(made).toMatchObject({ status: 422, body: { faults: [{ path: 'tasks[1].id' }] } })
      expect((await ask('GET', '/plans/twice-http')).status).toBe(404)
    },
  },
  {
    number: 9,
    what: 'of two writers with one revision the slower gets a conflict with the newer plan, and no update is lost',
    async mcp() {
      const name = await plan('a')
      const agents = await Promise.all(['one', 'two', 'three'].map(as => agentOf(service, as)))
      const said = await Promise.all(
        agents.map(({ write }, at) =>
          write({ action: 'edit', plan: name, tasks: [{ id: `by-${at}` }], expected_revision: 1 }),
        ),
      )
      const winner = said.findIndex(({ error }) => !error)
      expect(said.filter(({ error }) => error)).toHaveLength(2)
      for (const lost of said.filter(({ error }) => error)) {
        expect(lost.text).toContain('the plan is at revision 2, not 1')
        expect(lost.text).toContain(`- [ ] by-${winner}`)
      }
      expect(await namesIn(name)).toEqual(['a', `by-${winner}`])
    },
    async http() {
      const name = await plan('a')
      const answers = await Promise.all(
        [0, 1, 2].map(at =>
          ask('POST', `/plans/${name}/revisions`, {
            document: { planfold: 1, name, tasks: [{ id: 'a' }, { id: `by-${at}` }] },
            expected_revision: 1,
          }),
        ),
      )
      const winner = answers.findIndex(({ status }) => status === 201)
      const lost = answers.filter(({ status }) => status === 409)
      expect(lost).toHaveLength(2)
      for (const { body } of lost) {
        expect(body.detail).toBe('the plan is at revision 2, not 1')
        expect(body.current).toMatchObject({ revision: 2, state: 'active', more: 0 })
        expect(body.current.tasks.map((task: { name: string }) => task.name)).toEqual(['a', `by-${winner}`])
      }
      expect(await namesIn(name)).toEqual(['a', `by-${winner}`])
    },
  },
  {
    number: 10,
    what: 'whoever follows a plan never sees an older revision after a newer one',
    async mcp() {
      const name = await plan('a')
      await busy(name, async isOver => {
        const { read } = await agentOf(service, 'reader')
        const seen: { revision: number; version: number }[] = []
        let since = 0
        for (let isLast = false; !isLast; ) {
          // Everything is in one process here: the writers get their turn.
          await new Promise(setImmediate)
          isLast = isOver()
          const { text } = await read({ what: 'changes', plan: name, since, max_tokens: 20_000 })
          const [, revision, version] = /revision (\d+), version (\d+)/.exec(text) ?? []
          seen.push({ revision: Number(revision), version: Number(version) })
          const told = [...text.matchAll(/^- (\d+) /gm)].map(([, at]) => Number(at))
          expect(told.every(at => at > since)).toBe(true)
          expect(told).toEqual(told.toSorted((a, b) => a - b))
          since = told.at(-1) ?? since
        }
        return seen
      })
    },
    async http() {
      const name = await plan('a')
      const listeners = [1, 2, 3].map(() => listen(`${service.url}/plans/${name}/events`))
      closing.push(async () => void (await Promise.all(listeners.map(one => one.close()))))
      await Promise.all(listeners.map(({ open }) => open))
      await busy(name, async () => {
        const last = WRITERS * WRITES + 1
        for (const listener of listeners) {
          const revisions = () => listener.heard.flatMap(({ data }) => data.event?.revision ?? data.revision ?? [])
          await listener.until('the last revision', () => revisions().includes(last))
          expect(revisions()).toEqual(revisions().toSorted((a, b) => a - b))
          const versions = listener.heard.map(({ data }) => data.version)
          expect(versions).toEqual(versions.toSorted((a, b) => a - b))
        }
        return []
      })
    },
  },
]

describe.each(REGRESSIONS)('regression $number: $what', ({ mcp, http }) => {
  test('over MCP', mcp)
  test('over HTTP', http)
})

const FIELDS = {
  id: 'a',
  title: 'Ä title with "quotes" and 表',
  description: 'line one\nline two',
  kind: 'implement',
  labels: ['x', 'y'],
  priority: 7,
  assignee: 'bo',
  inputs: { n: 1, list: [true, null], deep: { a: 'b' } },
  write: ['src/**'],
  accept: [{ check: 'true' }, 'it reads well'],
  retry: { attempts: 2, backoff: '1s..30s' },
}

async function definitionOf(name: string): Promise<unknown> {
  const found = await service.composed.engine.ask({ type: 'definition', plan: name })
  const { tasks } = raisePlan(found!.definition) as { readonly tasks: readonly unknown[] }
  return tasks[0]
}

const JUDGED = { id: 'a', outputs: { n: { report: true } }, accept: [{ expect: 'outputs.n > 3' }] }

async function withEmpty(body: (empty: Served) => Promise<void>): Promise<void> {
  const empty = await served()
  closing.push(() => empty.close())
  await body(empty)
}

const WRITERS = 3
const WRITES = 5

/** Several agents revise a plan at once while somebody follows it; what was seen never goes back. */
async function busy(
  name: string,
  follow: (isOver: () => boolean) => Promise<readonly { readonly revision: number; readonly version: number }[]>,
): Promise<void> {
  let isOver = false
  const following = follow(() => isOver)
  const agents = await Promise.all(Array.from({ length: WRITERS }, (_, at) => agentOf(service, `writer-${at}`)))
  const written = await Promise.all(
    agents.map(async ({ write }, writer) => {
      const said: Said[] = []
      for (let at = 0; at < WRITES; at++)
        said.push(await write({ action: 'edit', plan: name, tasks: [{ id: `w${writer}-${at}` }] }))
      return said
    }),
  ).finally(() => {
    isOver = true
  })
  expect(written.flat().filter(({ error }) => error)).toEqual([])
  const seen = await following
  expect(seen).toEqual(seen.toSorted((a, b) => a.version - b.version || a.revision - b.revision))
  const revisions = seen.map(({ revision }) => revision)
  expect(revisions).toEqual(revisions.toSorted((a, b) => a - b))
}
