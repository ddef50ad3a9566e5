import { expect, test } from 'vitest'
import type { Criterion, TaskDefinition } from '../../domain/plan.ts'
import { exited, name, type Script, setup } from '../rooms.fixture.ts'
import { systemFacts } from './preconditions.ts'

const expects = (expression: string, text?: string): Criterion => ({
  type: 'expect',
  expression,
  text,
})
const prose = (text: string): Criterion => ({ type: 'prose', text })
const check = (...argv: readonly string[]): Criterion => ({ type: 'check', command: { argv } })
const retry = { attempts: 3, backoffMs: { min: 1, max: 1 } }
const isCheck = (attempt: Parameters<Script>[0]): boolean =>
  attempt.action.type === 'run' && 'argv' in attempt.action.command && attempt.action.command.argv[0] === 'is-up'

function withFacts(room: ReturnType<typeof setup>, online: () => boolean, has_space = 1_000): void {
  Object.assign(room.rooms, { facts: async () => ({ memory: { has_space }, network: { online: online() } }) })
}

test('a precondition that does not hold fails the attempt before it starts, says what was seen, and is tried again', async () => {
  let looks = 0
  const room = setup()
  withFacts(room, () => ++looks === 3)
  const plan = await room.plan({ id: name('a'), retry, preconditions: [expects('network.online', 'we are online')] })
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', a: 'completed' })
  expect(room.attempts).toHaveLength(1)
  const failed = (await room.events(plan)).filter(event => event.type === 'attempt.failed')
  expect(failed).toHaveLength(2)
  expect(failed[0]).toMatchObject({
    result: {
      failure: {
        class: 'resource',
        message: "precondition failed: 'we are online: network.online' (network.online is false)",
        retryable: true,
      },
    },
  })
})

test('space is asked of the disk the state is on, a check is run, and both are judged before each attempt', async () => {
  let up = false
  const room = setup(async attempt => {
    if (!isCheck(attempt)) return exited(0)
    up = !up
    return exited(up ? 1 : 0)
  })
  withFacts(room, () => true)
  const plan = await room.plan(
    { id: name('a'), preconditions: [expects('memory.has_space >= 1e6')] },
    { id: name('b'), retry, preconditions: [expects('memory.has_space >= 1000.0'), check('is-up', 'db')] },
  )
  await room.drive(plan)
  expect(await room.statuses(plan)).toMatchObject({ a: 'failed', b: 'completed' })
  expect((await room.engine.ask({ type: 'task', plan, task: 'a' }))?.reason).toBe(
    "precondition failed: 'memory.has_space >= 1e6' (memory.has_space is 1000)",
  )
  expect((await room.events(plan)).filter(event => event.type === 'criterion.judged')).toEqual([
    {
      type: 'criterion.judged',
      task: 'b',
      criterion: 'memory.has_space >= 1000.0',
      holds: true,
      stage: 'precondition',
    },
    {
      type: 'criterion.judged',
      task: 'b',
      criterion: 'is-up db',
      holds: true,
      evidence: 'exit 0',
      stage: 'precondition',
    },
  ])
})

test('prose is asked of a person before the task begins, once for a visit, and nothing starts without a yes', async () => {
  const room = setup(async ({ attempt }) => exited(attempt === 1 ? 1 : 0))
  const plan = await room.plan({ id: name('a'), retry, preconditions: [prose('the old server is off')] })
  expect(await room.drive(plan)).toEqual({ status: 'rested', rest: 'waiting' })
  expect(room.attempts).toEqual([])
  expect((await room.engine.ask({ type: 'summary', plan }))?.waiting).toMatchObject([
    { task: 'a', asks: { type: 'verdict', criteria: ['the old server is off'], before: true } },
  ])
  await room.engine.submit(plan, { type: 'decide', task: name('a'), verdict: 'approved', rationale: 'I looked' })
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', a: 'completed' })
  expect(room.attempts).toHaveLength(2)
})

test('prose that a person rejects fails the task without an attempt, and leads where that leads', async () => {
  const room = setup()
  const plan = await room.plan(
    { id: name('a'), preconditions: [prose('ready?')], on: { rejected: [name('mend')] } },
    { id: name('mend') },
  )
  await room.drive(plan)
  await room.engine.submit(plan, { type: 'decide', task: name('a'), verdict: 'rejected', rationale: 'no' })
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', a: 'failed', mend: 'completed' })
  expect(room.attempts.map(({ task }) => task)).toEqual(['mend'])
})

test('an external task can be claimed only when its preconditions hold; a gate opens only then', async () => {
  let online = false
  const room = setup()
  withFacts(room, () => online)
  const preconditions = [expects('network.online')]
  const plan = await room.plan(
    { id: name('e'), action: { type: 'external' }, preconditions, retry } as TaskDefinition,
    { id: name('g'), action: { type: 'gate', gate: 'approval' }, preconditions, retry } as TaskDefinition,
  )
  const claim = () => room.engine.submit(plan, { type: 'claim', task: name('e') })
  expect(await claim()).toMatchObject({ ok: false, refusal: { code: 'not-ready' } })
  online = true
  await room.drive(plan)
  expect(await room.statuses(plan)).toMatchObject({ e: 'ready', g: 'waiting' })
  expect(await claim()).toMatchObject({ ok: true })
})

test('a workspace task asks first and captures its files only then', async () => {
  const room = setup()
  const plan = await room.plan({
    id: name('a'),
    write: ['src/**'],
    network: [],
    preconditions: [prose('nobody else works here')],
  })
  await room.drive(plan)
  expect(room.asked).toEqual([])
  await room.engine.submit(plan, { type: 'decide', task: name('a'), verdict: 'approved', rationale: '' })
  await room.drive(plan)
  expect(room.asked).toEqual(['capture src/**'])
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', a: 'completed' })
})

test('stopping does not wait for a check', async () => {
  const stop = new AbortController()
  const room = setup(
    (_attempt, _tools, signal) =>
      new Promise(resolve => {
        signal.addEventListener('abort', () => resolve({ type: 'interrupted' }), { once: true })
        stop.abort()
      }),
  )
  const plan = await room.plan({ id: name('a'), preconditions: [check('is-up')] })
  expect(await room.worker.drive(plan, { stop: stop.signal })).toEqual({ status: 'stopped' })
  expect(await room.statuses(plan)).toEqual({ plan: 'active', a: 'ready' })
})

test('this machine has space, also where the folder of the state is not there yet', async () => {
  const facts = await systemFacts('/tmp/planfold-not-there/at/all')
  expect(facts.memory.has_space).toBeGreaterThan(0)
  expect(typeof facts.network.online).toBe('boolean')
})

test('a successful report must hold every output that was asked for', async () => {
  const room = setup()
  const plan = await room.plan({
    id: name('e'),
    action: { type: 'external' },
    outputs: { sources: { from: 'report', type: 'list[url]' }, notes: { from: 'report' } },
  })
  const sources = ['https://example.org/a']
  const report = (outputs: Record<string, string | string[]>) =>
    room.engine.submit(plan, { type: 'report', task: name('e'), result: { status: 'succeeded', outputs } })
  expect(await report({ sources })).toMatchObject({
    ok: false,
    refusal: { code: 'invalid', message: "the report of 'e' is missing 'notes'" },
  })
  expect(await report({ sources, notes: 'y' })).toMatchObject({ ok: true })
})
