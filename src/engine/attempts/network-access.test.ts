// What a command asks the network for: journaled, put to a person where the plan says so, and answered by a person only.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MemoryDisk } from '../../../sim/memory-store/memory-disk.ts'
import type { Event } from '../../domain/event.ts'
import type { PlanId, PlanName } from '../../domain/id.ts'
import type { NetworkDecision } from '../../domain/network-decision.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { httpRunner } from '../../runners/http/http-runner.ts'
import type { RunnerTools } from '../../runners/runner.ts'
import type { Sandbox } from '../../safety/sandbox/sandbox.ts'
import type { Caller } from '../engine.ts'
import { EngineLocal } from '../engine-local.ts'
import { WorkerLocal } from '../loop/worker.ts'
import { agentCaller, RIGHTS, trusted } from '../roles.ts'
import { exited, ME, name, type Script, setup } from '../rooms.fixture.ts'
import { DecisionJournal } from './network-access.ts'

let config: string
let port: number
const site = createServer((_request, response) => response.end('hello\n'))
beforeEach(async () => {
  config = mkdtempSync(join(tmpdir(), 'planfold-config-'))
  await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
  port = (site.address() as AddressInfo).port
})
afterEach(async () => {
  rmSync(config, { recursive: true, force: true })
  await new Promise(resolve => site.close(resolve))
})

const sandbox = (ok: boolean): Sandbox => ({
  check: async () =>
    ok
      ? { ok, program: '/usr/bin/bwrap', version: '1' }
      : { ok, failure: { class: 'resource', message: 'there is none', retryable: false } },
  wrap: async () => {
    throw new Error('nothing is wrapped here')
  },
})

/** `has`: is there a sandbox? On the disk of another it is another process. */
function world(script: Script, { has = true, disk = new MemoryDisk() } = {}) {
  const room = setup(script, {}, disk)
  const runners = new Map([...room.rooms.runners, ['http', httpRunner()] as const])
  const rooms = { ...room.rooms, runners, sandbox: sandbox(has), environment: { XDG_CONFIG_HOME: config } }
  const engine = new EngineLocal(rooms, room.engine.caller)
  const worker = new WorkerLocal(rooms)
  const start = async (task: Partial<TaskDefinition>, called = 'p'): Promise<PlanId> => {
    const run = { id: name('get'), action: { type: 'run', command: { argv: ['true'] } }, ...task } as TaskDefinition
    const definition = { name: called as PlanName, tasks: [run] }
    const made = await engine.submit(null, { type: 'create', definition })
    if (!made.ok) throw new Error(made.refusal.message)
    await engine.submit(made.plan, { type: 'start' })
    return made.plan
  }
  const drive = (plan: PlanId) => worker.drive(plan, { stop: new AbortController().signal })
  const asked = async () => {
    for (;;) {
      const [item] = (await engine.ask({ type: 'inbox' })).items
      if (item !== undefined) return item
      await new Promise<void>(resolve => {
        const stop = rooms.store.onChange(() => {
          stop()
          resolve()
        })
      })
    }
  }
  const answer = (plan: PlanId, id: string, answers: { readonly [name: string]: string }, caller?: Caller) =>
    (caller === undefined ? engine : engine.as(caller)).submit(plan, { type: 'answer', id, answers })
  const events = async (plan: PlanId): Promise<readonly Event[]> =>
    (await rooms.store.read(plan, {})).flatMap(entry => entry.events)
  const status = async (plan: PlanId) => (await engine.ask({ type: 'summary', plan }))?.status
  return { rooms, room, engine, start, drive, asked, answer, events, status }
}

const ASKS = { network: { allow: [], unknown: 'ask' }, effect: 'idempotent' } as const

/** So many requests at the same time through the way out that a command is given; what each was answered. */
async function fetched({ sandbox: shut, log }: RunnerTools, times = 1): Promise<readonly string[]> {
  if (typeof shut?.network !== 'function') throw new Error('there is no way out')
  const open = await shut.network(log)
  if (!open.ok || typeof open.value.network === 'string') throw new Error('there is no proxy')
  const socketPath = join(open.value.network.proxyFolder, 'proxy.sock')
  const one = () =>
    new Promise<string>((resolve, reject) => {
      const asking = request({ socketPath, path: `http://127.0.0.1:${port}/x`, agent: false }, response => {
        let text = ''
        response.on('data', chunk => {
          text += String(chunk)
        })
        response.on('end', () => resolve(text))
      })
      asking.on('error', reject)
      asking.end()
    })
  const said = await Promise.all(Array.from({ length: times }, one))
  await open.value.close()
  return said
}

describe('a request of our own', () => {
  const GET = (): Partial<TaskDefinition> => ({ action: { type: 'http', spec: `http://127.0.0.1:${port}/x` } })
  const never: Script = async () => exited(1)

  it('waits for the person who is asked, and is sent when they allow it', async () => {
    const { start, drive, asked, answer, events, status } = world(never)
    const plan = await start({ ...GET(), network: { allow: [], unknown: 'ask' } })
    const driven = drive(plan)
    const item = await asked()
    expect(item).toMatchObject({ task: 'get', asks: { text: `task 'get' asks for 127.0.0.1:${port}. Allow it?` } })
    expect(await answer(plan, item.id, { allow: 'task' })).toMatchObject({ ok: true })
    await driven
    expect(await status(plan)).toBe('completed')
    const told = (await events(plan)).flatMap(event => (event.type === 'network.decided' ? event.decisions : []))
    expect(told).toMatchObject([
      { port, method: 'GET', path: '/x', allowed: true, why: 'a person was asked, and allowed it' },
    ])
  })

  it('is refused when they say no, and where the plan says that nothing is reached', async () => {
    const { start, drive, asked, answer, events, status } = world(never)
    const plan = await start({ ...GET(), network: { allow: [], unknown: 'ask' } })
    const driven = drive(plan)
    await answer(plan, (await asked()).id, { allow: 'no' })
    await driven
    const offline = await start({ ...GET(), network: [] }, 'q')
    await drive(offline)
    expect([await status(plan), await status(offline)]).toEqual(['failed', 'failed'])
    for (const one of [plan, offline])
      expect((await events(one)).find(({ type }) => type === 'network.decided')).toMatchObject({
        decisions: [{ port, allowed: false }],
      })
  })
})

describe('a command that asks for an address', () => {
  it('asks a person once, however often it connects, and goes on with the answer; the journal is not flooded', async () => {
    const said: string[] = []
    const { start, drive, asked, answer, events, status, engine } = world(async (_attempt, tools) => {
      said.push(...(await fetched(tools, 30)), ...(await fetched(tools, 5)))
      return exited(0)
    })
    const plan = await start(ASKS)
    const driven = drive(plan)
    const item = await asked()
    expect(item).toMatchObject({ task: 'get', asks: { text: `task 'get' asks for 127.0.0.1:${port}. Allow it?` } })
    const agent = agentCaller(engine.caller, ME)
    expect(await answer(plan, item.id, { allow: 'task' }, agent)).toMatchObject({ ok: false })
    expect(await answer(plan, item.id, { allow: 'perhaps' })).toMatchObject({ ok: false })
    expect(await answer(plan, item.id, { allow: 'task' })).toMatchObject({ ok: true })
    await driven
    expect(await status(plan)).toBe('completed')
    expect(new Set(said)).toEqual(new Set(['hello\n']))
    const all = await events(plan)
    expect(all.filter(({ type }) => type === 'question.asked')).toHaveLength(1)
    const told = all.filter(event => event.type === 'network.decided')
    expect(told.length).toBeLessThanOrEqual(4)
    expect(told.flatMap(({ decisions }) => decisions).reduce((sum, { count }) => sum + count, 0)).toBe(35)
    expect(told[0]).toMatchObject({ task: 'get', visit: 1, attempt: 1, decisions: [{ allowed: true, path: '/x' }] })
    const page = await engine.ask({ type: 'taskPage', plan, task: 'get' })
    expect(page?.attempts[0]?.network.reduce((sum, { count }) => sum + count, 0)).toBe(35)
  })

  it('is refused when a person says no, also in the next attempt, without being asked again', async () => {
    const said: string[] = []
    const { start, drive, asked, answer, events } = world(async (_attempt, tools) => {
      said.push(...(await fetched(tools)))
      return exited(said.length < 2 ? 1 : 0)
    })
    const plan = await start({ ...ASKS, retry: { attempts: 2, backoffMs: { min: 0, max: 0 } } })
    const driven = drive(plan)
    await answer(plan, (await asked()).id, { allow: 'no' })
    await driven
    expect(said).toHaveLength(2)
    for (const one of said) expect(one).toContain('a person was asked, and said no')
    expect((await events(plan)).filter(({ type }) => type === 'question.asked')).toHaveLength(1)
  })

  it('is refused at once when the plan is cancelled', async () => {
    let said = ''
    const { start, drive, asked, engine, status } = world(async (_attempt, tools) => {
      said = (await fetched(tools))[0] ?? ''
      return { type: 'interrupted' }
    })
    const plan = await start(ASKS)
    const driven = drive(plan)
    await asked()
    await engine.submit(plan, { type: 'cancel' })
    await driven
    expect(said).toContain('not allowed (the plan no longer wants it)')
    expect(await status(plan)).toBe('cancelled')
  })

  it('asks no second time when its process died; an answer meanwhile counts', async () => {
    const disk = new MemoryDisk()
    const first = world(
      async (_attempt, tools) => {
        // Asks, and is never heard of again.
        void fetched(tools).catch(() => {})
        return await new Promise(() => {})
      },
      { disk },
    )
    const plan = await first.start(ASKS)
    void first.drive(plan).catch(() => {})
    const { id } = await first.asked()
    let said = ''
    const second = world(
      async (_attempt, tools) => {
        said = (await fetched(tools))[0] ?? ''
        return exited(0)
      },
      { disk },
    )
    second.room.kill(1)
    const driven = second.drive(plan)
    expect(await second.asked()).toMatchObject({ id })
    await second.answer(plan, id, { allow: 'plan' })
    await driven
    expect(said).toBe('hello\n')
    expect((await second.events(plan)).filter(({ type }) => type === 'question.asked')).toHaveLength(1)
  })

  it('is allowed on this machine by whoever it belongs to: then it is a rule of theirs', async () => {
    const { start, drive, asked, answer, events, engine } = world(async (_attempt, tools) => {
      await fetched(tools)
      return exited(0)
    })
    const plan = await start(ASKS)
    const driven = drive(plan)
    const { id } = await asked()
    const approver = { ...engine.caller, rights: RIGHTS.approver }
    expect(await answer(plan, id, { allow: 'machine' }, approver)).toMatchObject({
      ok: false,
      refusal: { hint: expect.stringContaining('allow=plan') },
    })
    expect(await answer(plan, id, { allow: 'machine' })).toMatchObject({ ok: true })
    await driven
    expect(JSON.parse(readFileSync(join(config, 'planfold/policy.json'), 'utf8'))).toEqual({
      network: { allow: [`http://127.0.0.1:${port}`] },
    })
    const other = await start(ASKS, 'q')
    await drive(other)
    expect((await events(other)).map(({ type }) => type)).not.toContain('question.asked')
  })
})

it('different answers are listed up to a number, and counted beyond it', async () => {
  const { rooms, start, events } = world(async () => exited(0))
  const plan = await start(ASKS)
  const user = { plan, task: name('get'), visit: 1, attempt: 1, isWanted: () => true }
  const journal = new DecisionJournal(rooms.store, user)
  const refused: NetworkDecision = { host: '', port: 443, method: 'CONNECT', allowed: false, why: 'no rule allows it' }
  for (let at = 0; at < 130; at++) journal.note({ ...refused, host: `n${at}.example` })
  for (let at = 0; at < 10; at++) journal.note({ ...refused, host: 'n0.example' })
  await journal.flush()
  const told = (await events(plan)).filter(event => event.type === 'network.decided')
  const decisions = told.flatMap(event => event.decisions)
  expect(new Set(decisions.map(({ host }) => host)).size).toBe(100)
  expect(decisions.reduce((sum, { count }) => sum + count, 0)).toBe(110)
  expect(told.reduce((sum, { more = 0 }) => sum + more, 0)).toBe(30)
})

it('a plan from elsewhere is recorded as such, and needs a sandbox whatever it says', async () => {
  const { rooms } = world(async () => exited(0), { has: false })
  const engine = new EngineLocal(rooms, { ...trusted(ME), isPerson: undefined })
  const task: TaskDefinition = { id: name('get'), action: { type: 'run', command: { argv: ['true'] } } }
  const definition = { name: 'p' as PlanName, policy: { sandbox: 'off' as const }, tasks: [task] }
  const made = await engine.submit(null, { type: 'create', definition })
  if (!made.ok) throw new Error(made.refusal.message)
  expect(made.events[0]).toMatchObject({ type: 'plan.created', outside: true })
  const started = await engine.submit(made.plan, { type: 'start' })
  expect(started.ok && started.events[0]).toEqual(expect.objectContaining({ sandbox: 'required' }))
  expect(started.ok && started.events[0]).not.toHaveProperty('sandboxOff')
})

describe('a machine without a sandbox', () => {
  it("runs a person's own plan without a question, and refuses what others wrote", async () => {
    const seen: (readonly [string, RunnerTools['sandbox']])[] = []
    const { rooms, start, drive, engine, status } = world(
      async ({ task }, tools) => {
        seen.push([task, tools.sandbox])
        return exited(0)
      },
      { has: false },
    )
    const plan = await start({ network: [] })
    await drive(plan)
    expect(await status(plan)).toBe('completed')
    const held = await start({ network: [] }, 'q')
    const agent = engine.as(agentCaller(engine.caller, ME))
    const added: TaskDefinition = { id: name('more'), action: { type: 'run', command: { argv: ['true'] } } }
    expect(await agent.submit(held, { type: 'add', tasks: [added] })).toMatchObject({ ok: true })
    await drive(held)
    expect(seen.map(([task, shut]) => [task, shut?.isRequired])).toEqual([
      ['get', false],
      ['get', false],
      ['more', true],
    ])
    expect((await rooms.store.state(held))?.sandbox).toBe('by-task')
  })
})
