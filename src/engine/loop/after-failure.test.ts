// What happens after a failure, driven by the real loop: the kind of a failure is found where a process ended, and decides.

import { expect, test } from 'vitest'
import { next } from '../../domain/hint.ts'
import type { RecoveryRule, TaskDefinition } from '../../domain/plan.ts'
import type { Outcome } from '../../runners/runner.ts'
import { exited, name, type Script, setup, untilStopped } from '../rooms.fixture.ts'

const step = (id: string, rest: Partial<TaskDefinition> = {}): Partial<TaskDefinition> => ({
  id: name(id),
  effect: 'pure',
  ...rest,
})
const rules = (...list: readonly RecoveryRule[]): Partial<TaskDefinition> => ({ recover: list })
const instead = (by: string, ...on: readonly string[]): RecoveryRule => ({
  ...(on.length === 0 ? {} : { on }),
  do: { type: 'alternate', task: name(by) },
})
/** Each task ends as its list says, attempt by attempt; then well. */
const ending =
  (lists: Readonly<Record<string, readonly Outcome[]>>): Script =>
  async ({ task, attempt, visit }) =>
    lists[task]?.[attempt + visit - 2] ?? exited(0, task)
const unavailable = exited(1, '', 'curl: (22) The requested URL returned error: 503\n')

type Room = ReturnType<typeof setup>
const chosen = async (room: Room, plan: Parameters<Room['events']>[0]) =>
  (await room.events(plan)).flatMap(event =>
    event.type === 'recovery.chosen' ? [`${event.task}: ${event.choice}: ${event.reason}`] : [],
  )

test('a failure is classified where it happened, and the rule for its class is followed to the end', async () => {
  const room = setup(ending({ fetch: [unavailable, unavailable], use: [] }))
  const plan = await room.plan(
    step('fetch', {
      retry: { attempts: 2, backoffMs: { min: 1, max: 1 } },
      ...rules({ on: ['logic'], do: { type: 'abort' } }, instead('mirror', 'transient')),
      outputs: { said: { from: 'stdout', as: 'text' } },
    }),
    step('mirror', { outputs: { said: { from: 'stdout', as: 'text' } } }),
    step('use', {
      needs: [name('fetch')],
      action: { type: 'run', command: { argv: ['use', '${{ tasks.fetch.outputs.said }}'] } },
    }),
  )
  expect(await room.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
  expect(await room.statuses(plan)).toEqual({
    plan: 'completed',
    fetch: 'completed',
    mirror: 'completed',
    use: 'completed',
  })
  expect(await chosen(room, plan)).toEqual([
    'fetch: retry: retrying in 0 s (attempt 2 of 2)',
    "fetch: alternate: 'mirror' runs instead (recovery rule 2, on: transient)",
  ])
  // What the other left is what whoever needs it is handed.
  const used = room.attempts.at(-1)!.action
  expect(used.type === 'run' && 'argv' in used.command ? used.command.argv : []).toEqual(['use', 'mirror'])
})

test('a critic repairs, and the next visit is handed what it said', async () => {
  const heard: (string | undefined)[] = []
  const room = setup(async attempt => {
    if (attempt.task === 'critic') return exited(0, JSON.stringify({ feedback: 'close the file' }))
    heard.push(attempt.feedback)
    return attempt.visit === 1 ? exited(1, '', 'it leaks\n') : exited(0)
  })
  const plan = await room.plan(
    step('build', rules({ do: { type: 'repair', task: name('critic') } })),
    step('critic', { outputs: { feedback: { from: 'stdout', as: 'text' } } }),
  )
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', build: 'completed', critic: 'completed' })
  expect(heard).toEqual([undefined, expect.stringContaining('close the file')])
})

test('an abort ends what runs, and the plan says why', async () => {
  const long = untilStopped()
  const room = setup(async (attempt, tools, signal) => {
    if (attempt.task === 'long') return await long.script(attempt, tools, signal)
    await long.begun
    return exited(77, '', 'no\n')
  })
  const plan = await room.plan(
    step('long'),
    step('short', rules({ on: ['policy'], do: { type: 'abort' } })),
    step('later', { needs: [name('long')] }),
  )
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({ plan: 'failed', long: 'cancelled', short: 'failed', later: 'cancelled' })
  const summary = await room.engine.ask({ type: 'summary', plan })
  expect(summary?.reason).toBe("task 'short' failed: exit 77: no")
  expect(summary?.stopped?.next).toContainEqual([next('retry', { plan: 'plan', task: 'short' })])
})

test('a timebox bounds the time of an attempt, and of all attempts together', async () => {
  const room = setup(async () => exited(75))
  const plan = await room.plan(
    step('a', { timeboxMs: 40, timeoutMs: 60_000, retry: { attempts: 99, backoffMs: { min: 15, max: 15 } } }),
  )
  await room.drive(plan)
  expect(room.attempts[0]!.timeoutMs).toBe(40)
  expect(room.attempts.length).toBeLessThan(5)
  expect((await chosen(room, plan)).at(-1)).toBe('a: block: not retried: its timebox is used up')
  expect((await room.events(plan)).some(({ type }) => type === 'task.escalated')).toBe(true)
})

test('an open breaker is waited for by the loop, and one task tries first', async () => {
  const room = setup(ending({ a: [exited(75)], b: [exited(75)] }))
  const one = { capabilities: ['net'], retry: { attempts: 9, backoffMs: { min: 1, max: 1 } } }
  const plan = await room.define({
    concurrency: 1,
    policy: { breaker: { failures: 2, cooldownMs: 30 } },
    tasks: [step('a', one), step('b', one)] as TaskDefinition[],
  })
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', a: 'completed', b: 'completed' })
  const types = (await room.events(plan)).map(({ type }) => type)
  expect(types.filter(type => type.startsWith('breaker.'))).toEqual(['breaker.opened', 'breaker.closed'])
})

test('a failure mode says what kind of failure it is, whatever it looked like', async () => {
  const room = setup(ending({ a: [exited(1, '', 'lock is held\n')] }))
  const failureModes = [
    { name: 'locked', detect: { type: 'expect', expression: "stderr.contains('lock')" }, class: 'transient' },
  ] as const
  const plan = await room.plan(step('a', { failureModes, ...rules(instead('b', 'transient')) }), step('b'))
  await room.drive(plan)
  expect(await chosen(room, plan)).toEqual(["a: alternate: 'b' runs instead (recovery rule 1, on: transient)"])
})

test('a recovery goes on after its owner died', async () => {
  const long = untilStopped()
  const room = setup(async (attempt, tools, signal) => {
    if (attempt.task === 'a') return exited(1)
    return attempt.task === 'b' && attempt.attempt === 1 ? await long.script(attempt, tools, signal) : exited(0)
  })
  const plan = await room.plan(step('a', rules(instead('b'))), step('b'), step('c', { needs: [name('a')] }))
  const stop = new AbortController()
  const driven = room.worker.drive(plan, { stop: stop.signal })
  await long.begun
  stop.abort()
  await driven
  expect(await room.statuses(plan)).toMatchObject({ a: 'failed', b: 'ready', c: 'blocked' })
  expect((await room.engine.ask({ type: 'next', plan, explain: true }))?.explained[0]?.why).toBe(
    "'a' failed: exit 1; recovery rule 1: 'b' instead (ready); the last rule",
  )
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', a: 'completed', b: 'completed', c: 'completed' })
})

test('somebody is asked, and says once more', async () => {
  const room = setup(ending({ a: [exited(1)] }))
  const plan = await room.plan(step('a', rules({ do: { type: 'ask' } })))
  expect(await room.drive(plan)).toEqual({ status: 'rested', rest: 'waiting' })
  const said = await room.engine.submit(plan, {
    type: 'decide',
    task: name('a'),
    verdict: 'again',
    rationale: 'the wind has turned',
  })
  expect(said.ok).toBe(true)
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', a: 'completed' })
})
