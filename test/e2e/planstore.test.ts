// Every curl block of the PlanStore's document (seed 004), as written, against the built service. Ids of the document stand for the
// plan that was made last, and for its first or its last task: both are tried, on a fresh store each.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandLine } from './in-process.fixture.ts'
import { MAIN } from './planfold.fixture.ts'

const run = promisify(execFile)
const fixture = readFileSync(resolve(import.meta.dirname, '../fixtures/seeds/planstore.md'), 'utf8')
const blocksIn = (text: string, language: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(match => match[1]!)

/** The document itself, where it is at hand. */
const folder = process.env.PLANFOLD_SEEDS
const seed = folder === undefined ? null : readdirSync(folder).find(name => name.startsWith('004_'))
const document = seed == null ? null : readFileSync(join(folder!, seed), 'utf8')

const PLAN = '770e8400-e29b-41d4-a716-446655440002'
const TASK = '880e8400-e29b-41d4-a716-446655440003'
const GOAL = '660e8400-e29b-41d4-a716-446655440001'
const AGENT = '550e8400-e29b-41d4-a716-446655440000'

/** Each command; what stands between them are comments. */
function commandsIn(blocks: readonly string[]): readonly string[] {
  return blocks
    .flatMap(block => block.split(/^(?=curl |#)/m))
    .filter(text => text.startsWith('curl '))
    .map(text => text.trimEnd())
}

const CURL = await run('curl', ['--version']).then(
  () => true,
  () => false,
)

interface Came {
  readonly command: string
  readonly status: number
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
  readonly body: any
}

/** As written, by a shell. Where there is no curl, by a plain request with the same method, headers and body. */
async function send(command: string, address: string): Promise<Came> {
  const here = command.replaceAll('http://localhost:8011', address)
  if (CURL) {
    const script = here.replace(/^curl /, "curl -sS --max-time 20 -w '\\n%{http_code} %{content_type}' ")
    const { stdout } = await run('sh', ['-c', script])
    const at = stdout.lastIndexOf('\n')
    const [, status = '', type = ''] = /^(\d+) ?(.*)$/.exec(stdout.slice(at + 1)) ?? []
    const body = stdout.slice(0, at)
    return { command, status: Number(status), type, body: body === '' ? null : JSON.parse(body) }
  }
  const [, url = ''] = /"?(http:\/\/[^\s"]+)"?/.exec(here) ?? []
  const [, data] = /-d '(.*)'$/s.exec(here) ?? []
  const [, method = data === undefined ? 'GET' : 'POST'] = /-X (\w+)/.exec(here) ?? []
  const [, sent = 'application/x-www-form-urlencoded'] = /-H "Content-Type: ([^"]+)"/.exec(here) ?? []
  // As curl does: fetch would say that it is a browser's.
  const asking = request(url, { method, headers: data === undefined ? {} : { 'content-type': sent } }).end(data)
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  const body = JSON.parse(await text(response))
  return { command, status: response.statusCode!, type: response.headers['content-type'] ?? '', body }
}

interface Service {
  readonly address: string
  ask(method: string, path: string, body?: object): Promise<Came>
  /** Settles when the events of the plan have told this of the task. */
  heard(plan: string, event: string, task: string): Promise<void>
  /** The command beside the service, on the same state. */
  planfold(...argv: readonly string[]): Promise<{ readonly exit: number; readonly told: string }>
  /** `planfold doctor store`, while the service runs. */
  check(): Promise<object>
  close(): Promise<void>
}

async function service(): Promise<Service> {
  if (!existsSync(MAIN)) throw new Error(`there is no ${MAIN}: run npm run build first`)
  const home = await mkdtemp(join(tmpdir(), 'planfold-store-'))
  const env = { PATH: process.env.PATH, HOME: home, TZ: 'UTC', PLANFOLD_AS: 'ana@example.com' }
  const argv = [MAIN, 'serve', '--no-auth', '--port', '0', '--json']
  const child = spawn(process.execPath, argv, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text.replace(/^warning: .*\n/, '')
  })
  const line = new Promise<string>((done, fail) => {
    let head = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      head += text
      if (head.includes('\n')) done(head.slice(0, head.indexOf('\n')))
    })
    child.once('exit', code => fail(new Error(`serve ended with ${code}: ${said}`)))
  })
  const { data } = JSON.parse(await line) as { readonly data: { readonly port: number } }
  const address = `http://localhost:${data.port}`
  return {
    address,
    ask: async (method, path, body) => {
      const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      const response = await fetch(`http://127.0.0.1:${data.port}${path}`, { method, headers, ...sent })
      const text = await response.text()
      const type = response.headers.get('content-type') ?? ''
      return { command: '', status: response.status, type, body: text === '' ? null : JSON.parse(text) }
    },
    heard: async (plan, event, task) => {
      const signal = AbortSignal.timeout(120_000)
      const events = await fetch(`http://127.0.0.1:${data.port}/plans/${plan}/events?after=0`, { signal })
      let text = ''
      for await (const chunk of events.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk
        const told = text.split('\n\n').filter(one => one.includes(`event: ${event}`))
        if (told.some(one => one.includes(`"${task}"`))) return
      }
      throw new Error(`the events ended without ${event} of ${task}`)
    },
    planfold: async (...argv) => {
      let told = ''
      const exit = await commandLine({ cwd: home, environment: env }, argv, (_, text) => {
        told += text
      })
      return { exit, told }
    },
    check: async () => {
      let told = ''
      const exit = await commandLine({ cwd: home, environment: env }, ['doctor', 'store', '--json'], (_, text) => {
        told += text
      })
      expect(exit, told).toBe(0)
      return (JSON.parse(told) as { readonly data: object }).data
    },
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      await rm(home, { recursive: true, force: true })
    },
  }
}

test('the copy of the blocks is the document’s own (needs PLANFOLD_SEEDS)', context => {
  if (document === null) return context.skip('PLANFOLD_SEEDS names no folder with seed 004; the copy is used as it is')
  expect(blocksIn(fixture, 'bash')).toEqual(blocksIn(document, 'bash'))
  expect(blocksIn(fixture, 'json')).toEqual(blocksIn(document, 'json'))
})

describe.each(['first', 'last'] as const)(
  `every block, by ${CURL ? 'curl' : 'plain requests (curl is not installed)'}`,
  which => {
    const commands = commandsIn(blocksIn(document ?? fixture, 'bash'))
    let here: Service
    let came: Came[] = []
    let made: { plans: Came['body'][]; tasks: Came['body'][] }

    beforeAll(async () => {
      here = await service()
      made = { plans: [], tasks: [] }
      came = []
      for (const command of commands) {
        const plan = made.plans.at(-1)?.id ?? PLAN
        const tasks = made.tasks.filter(task => task.plan_id === plan)
        const task = (which === 'first' ? tasks[0] : tasks.at(-1))?.id ?? TASK
        const answer = await send(command.replaceAll(PLAN, plan).replaceAll(TASK, task), here.address)
        came.push(answer)
        if (answer.status === 201) (answer.body.plan_id === undefined ? made.plans : made.tasks).push(answer.body)
      }
    })
    afterAll(() => here.close())

    test(`is answered well, with the ${which} task of the plan`, () => {
      expect(commands).toHaveLength(17)
      expect(came.map(({ status }) => status)).toEqual([
        201,
        201,
        201,
        ...Array(7).fill(200),
        201,
        200,
        200,
        201,
        200,
        200,
        200,
      ])
      for (const { type } of came) expect(type).toBe('application/json; charset=utf-8')
    })

    test('1: a plan is made with all its fields', () => {
      const [{ body }] = came as [Came]
      expect(body).toMatchObject({
        goal_id: GOAL,
        agent_id: AGENT,
        plan_type: 'sequential',
        steps: sentBy(commands[0]!).steps,
        status: 'draft',
        current_step: 0,
        started_at: null,
        completed_at: null,
        extra: {},
      })
      expect(body.steps).toHaveLength(5)
      expect(Date.parse(body.created_at)).not.toBeNaN()
      expect(body.updated_at).toBe(body.created_at)
    })

    test('2: tasks are made with all their fields', () => {
      for (const at of [1, 2]) {
        const { body } = came[at]!
        const { plan_id: _, ...sent } = sentBy(commands[at]!)
        expect(body).toMatchObject({
          ...sent,
          plan_id: made.plans[0].id,
          status: 'pending',
          output_data: null,
          depends_on: [],
          started_at: null,
          completed_at: null,
          extra: {},
        })
      }
      // Data called so is data: nothing waits for it.
      expect(came[2]!.body.input_data.depends_on).toBe('analysis_output')
    })

    test('3: a task runs and is completed; the times of client and server stand side by side', () => {
      const [running, completed] = [came[3]!.body, came[4]!.body]
      expect(running).toMatchObject({
        status: 'running',
        state: 'running',
        claimed_by: 'anyone',
        client: { started_at: '2026-01-24T10:00:00Z', completed_at: null },
      })
      expect(running.started_at).not.toBe(running.client.started_at)
      expect(completed).toMatchObject({
        id: running.id,
        status: 'completed',
        output_data: sentBy(commands[4]!).output_data,
        started_at: running.started_at,
        client: { started_at: '2026-01-24T10:00:00Z', completed_at: '2026-01-24T10:30:00Z' },
      })
      expect(Date.parse(completed.completed_at)).toBeGreaterThanOrEqual(Date.parse(running.started_at))
    })

    test('4: the plan is followed and ended; what was open is passed over by the caller', async () => {
      const [shown, stepped, ended] = [came[5]!.body, came[6]!.body, came[7]!.body]
      expect(shown).toMatchObject({ id: made.plans[0].id, status: 'active', current_step: 1 })
      expect(shown.progress).toMatchObject({ total: 2, done: 1, ratio: 0.5 })
      expect(stepped).toEqual({ ...shown, current_step: 2, version: shown.version + 1, updated_at: stepped.updated_at })
      expect(ended).toMatchObject({ status: 'completed', state: 'completed', current_step: 2 })
      const { items } = (await here.ask('GET', `/tasks?plan_id=${ended.id}`)).body
      expect(items.map((task: Came['body']) => task.status).sort()).toEqual(['completed', 'skipped'])
      expect(items.find((task: Came['body']) => task.status === 'skipped').reason).toBe(
        'a client marked the plan as completed',
      )
    })

    test('5: tasks are listed by sequence in a plan, newest first across plans', () => {
      const [ofPlan, recent] = [came[8]!.body, came[9]!.body]
      expect(ofPlan.next).toBe(null)
      expect(ofPlan.items.map((task: Came['body']) => task.sequence_order)).toEqual([1, 2])
      expect(ofPlan.items.map((task: Came['body']) => task.id)).toEqual(made.tasks.slice(0, 2).map(({ id }) => id))
      expect(recent.items.map((task: Came['body']) => task.id)).toEqual(
        made.tasks
          .slice(0, 2)
          .map(({ id }) => id)
          .reverse(),
      )
    })

    test('6: the examples in a row: a plan, started, and a task of it that runs', () => {
      const [plan, shown, active, task, seen, running, list] = came.slice(10).map(({ body }) => body)
      expect(shown).toEqual(plan)
      expect(active).toMatchObject({ id: plan.id, status: 'active', steps: sentBy(commands[10]!).steps })
      expect(task).toMatchObject({
        plan_id: plan.id,
        agent_id: AGENT,
        description: 'Research existing implementations',
        sequence_order: 1,
        status: 'pending',
      })
      expect(seen).toEqual(task)
      expect(running).toMatchObject({ id: task.id, status: 'running', claim: { token: expect.any(String) } })
      expect(list.items.map((one: Came['body']) => one.id)).toContain(task.id)
      // Three steps became tasks when the plan was started, and one was added.
      expect(list.items).toHaveLength(4)
    })

    test('what is stored is sound afterwards', async () => {
      expect(await here.check()).toMatchObject({ ok: true, plans: 2, faults: [] })
    })
  },
)

describe('by JSON', () => {
  let here: Service
  beforeAll(async () => {
    here = await service()
  })
  afterAll(() => here.close())

  describe('the step structures of the document', () => {
    const bodies = blocksIn(fixture, 'json').map(text => JSON.parse(text))

    test('sequential steps become tasks one after the other', async () => {
      const { body: plan } = await here.ask('POST', '/plans', { goal_id: GOAL, ...bodies[0] })
      expect(plan).toMatchObject({ plan_type: 'sequential', steps: bodies[0].steps })
      expect((await here.ask('PATCH', `/plans/${plan.id}`, { status: 'active' })).status).toBe(200)
      const { items } = (await here.ask('GET', `/tasks?plan_id=${plan.id}`)).body
      expect(items.map((task: Came['body']) => [task.name, task.task_type, task.depends_on])).toEqual([
        ['analyze', 'analyze', []],
        ['implement', 'implement', ['analyze']],
        ['test', 'test', ['implement']],
      ])
    })

    test('parallel groups become tasks side by side', async () => {
      const { body: plan } = await here.ask('POST', '/plans', { goal_id: GOAL, ...bodies[1] })
      expect(plan).toMatchObject({ plan_type: 'parallel', steps: bodies[1].steps })
      expect((await here.ask('PATCH', `/plans/${plan.id}`, { status: 'active' })).status).toBe(200)
      const { items } = (await here.ask('GET', `/tasks?plan_id=${plan.id}`)).body
      const build = items.find((task: Came['body']) => task.task_type === 'build')
      expect(build).toMatchObject({ status: 'pending', depends_on: ['group-a'] })
      const inside = items.filter((task: Came['body']) => task.name.startsWith('group-a/'))
      expect(inside.map((task: Came['body']) => [task.name, task.agent_id, task.state])).toEqual([
        ['group-a/lint', 'linter', 'ready'],
        ['group-a/typecheck', 'typechecker', 'ready'],
      ])
      for (const task of inside)
        expect((await here.ask('PATCH', `/tasks/${task.id}`, { status: 'completed' })).status).toBe(200)
      // The service itself gathers what a group has left; it says so when it has.
      await here.heard(plan.id, 'task.readied', build.name)
      expect((await here.ask('GET', `/tasks/${build.id}`)).body.state).toBe('ready')
    })

    test('input and output data are kept as they are', async () => {
      const { body: plan } = await here.ask('POST', '/plans', { goal_id: GOAL })
      const { input_data, output_data } = bodies[2]
      const { body: task } = await here.ask('POST', '/tasks', { plan_id: plan.id, description: 'work', input_data })
      const { body: done } = await here.ask('PATCH', `/tasks/${task.id}`, { status: 'completed', output_data })
      expect(done).toMatchObject({ input_data, output_data, status: 'completed' })
    })
  })

  describe('a plan that was sent over HTTP', () => {
    /** What the guide sends. */
    const guide = readFileSync(resolve(import.meta.dirname, '../../docs/guide/planstore.md'), 'utf8')
    const sent = JSON.parse(/ -d '(\{"plan_name".*?\})' /s.exec(guide)![1]!)

    test('as the guide does is run by its name: its tasks wait for whoever claims them', async () => {
      expect((await here.ask('POST', '/plans', sent)).status).toBe(201)
      expect(guide).toContain(`planfold run ${sent.plan_name} `)
      const { exit, told } = await here.planfold('run', sent.plan_name)
      expect({ exit, told }).toMatchObject({ exit: 4, told: expect.stringContaining('planfold claim first') })
      expect((await here.ask('GET', `/plans/${sent.plan_name}`)).body).toMatchObject({
        state: 'active',
        progress: { total: 2 },
      })
    })

    test('as an outline gets the tasks of its steps when it is run by hand', async () => {
      const body = { goal_id: GOAL, plan_name: 'outlined', steps: sent.steps }
      expect((await here.ask('POST', '/plans', body)).body.progress.total).toBe(0)
      expect((await here.planfold('run', 'outlined')).exit).toBe(4)
      const { items } = (await here.ask('GET', '/tasks?plan_id=outlined')).body
      expect(items.map((one: Came['body']) => [one.name, one.state])).toEqual([
        ['analyze', 'ready'],
        ['implement', 'pending'],
      ])
    })

    test('with steps that cannot be tasks is refused by hand, too, and stays a draft', async () => {
      const steps = [{ step: 1, action: 'a', depends_on: 9 }]
      await here.ask('POST', '/plans', { goal_id: GOAL, plan_name: 'crooked', steps })
      const { exit, told } = await here.planfold('run', 'crooked')
      expect({ exit, told }).toMatchObject({ exit: 2, told: expect.stringContaining("the steps of 'crooked'") })
      expect((await here.ask('GET', '/plans/crooked')).body.state).toBe('draft')
    })
  })
})

/** The body that a command sends. */
function sentBy(command: string): Came['body'] {
  return JSON.parse(/-d '(.*)'$/s.exec(command)![1]!)
}
