import { expect, test } from 'vitest'
import { advise, quoted } from '../../domain/hint.ts'
import type { FailureMode, TaskDefinition } from '../../domain/plan.ts'
import { exited, name, setup } from '../rooms.fixture.ts'

const when = (expression: string): FailureMode['detect'] => ({ type: 'expect', expression })
const run = (id: string, rest: Partial<TaskDefinition> = {}): Partial<TaskDefinition> => ({ id: name(id), ...rest })
const modes: readonly FailureMode[] = [
  { name: 'no-disk', detect: when("stderr.contains('ENOSPC')"), recover: [name('clean')], advice: 'free some space' },
  { name: 'flaky', detect: when('exit == 7'), advice: 'run it alone' },
  { name: 'broken', detect: when("failure_class == 'logic' && error.contains('exit 9')"), recover: [name('mend')] },
  { name: 'odd', detect: { type: 'prose', text: 'the moon is full' }, advice: 'wait a night' },
]

test('a failure is recognised by the first mode that holds, and its recover tasks run', async () => {
  const room = setup(async ({ task, visit }) =>
    task === 'a' && visit === 1 ? exited(1, '', 'ENOSPC: full') : exited(0),
  )
  const plan = await room.plan(
    run('a', { failureModes: modes }),
    run('clean', { on: { success: [name('a')] } }),
    run('mend'),
    run('after', { needs: [name('a')] }),
  )
  expect(await room.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
  expect(room.attempts.map(({ task, visit }) => `${task} ${visit}`)).toEqual(['a 1', 'clean 1', 'a 2', 'after 1'])
  expect(await room.statuses(plan)).toEqual({
    plan: 'completed',
    a: 'completed',
    clean: 'completed',
    mend: 'skipped',
    after: 'completed',
  })
  const events = await room.events(plan)
  expect(events.find(event => event.type === 'attempt.failed')).toMatchObject({
    result: {
      mode: 'no-disk',
      failure: {
        message: 'exit 1: ENOSPC: full',
        hint: advise`see ${quoted('log', { output: true })}; no-disk: free some space`,
      },
    },
  })
  expect(events.find(event => event.type === 'task.routed')).toEqual({
    type: 'task.routed',
    task: 'a',
    outcome: 'no-disk',
    to: ['clean'],
  })
})

test('the edge of its own name comes before recover, and on.failure takes what neither does', async () => {
  const on = { broken: [name('x')], failure: [name('y')] }
  for (const [exit, reached] of [
    [9, 'x'],
    [7, 'y'],
    [3, 'y'],
  ] as const) {
    const room = setup(async ({ task }) => exited(task === 'a' ? exit : 0))
    const plan = await room.plan(run('a', { failureModes: modes, on }), run('x'), run('y'), run('clean'), run('mend'))
    await room.drive(plan)
    expect(room.attempts.map(({ task }) => task)).toEqual(['a', reached])
  }
})

test('retries come first, and a way back is taken only as often as visits allow', async () => {
  const room = setup(async ({ task }) => exited(task === 'a' ? 9 : 0))
  const plan = await room.plan(
    run('a', { failureModes: modes, visits: 2, retry: { attempts: 2, backoffMs: { min: 1, max: 1 } } }),
    run('clean'),
    run('mend', { on: { success: [name('a')] } }),
  )
  await room.drive(plan)
  expect(room.attempts.map(({ task, visit, attempt }) => `${task} ${visit}/${attempt}`)).toEqual([
    'a 1/1',
    'a 1/2',
    'mend 1/1',
    'a 2/1',
    'a 2/2',
    'mend 2/1',
  ])
  expect(await room.statuses(plan)).toMatchObject({ plan: 'failed' })
})

test('prose is never assumed: it stands in the hint, and a person may name the mode', async () => {
  const room = setup()
  const plan = await room.plan(
    run('e', { action: { type: 'external' }, failureModes: [modes[3]!, { ...modes[2]!, detect: modes[3]!.detect }] }),
    run('mend'),
  )
  await room.drive(plan)
  const failure = { class: 'logic', message: 'it went wrong', retryable: false } as const
  const report = (mode: string) =>
    room.engine.submit(plan, { type: 'report', task: name('e'), result: { status: 'failed', failure, mode } })
  expect(await report('brokn')).toMatchObject({
    ok: false,
    refusal: { code: 'unknown-reference', hint: "did you mean 'broken'?" },
  })
  expect(await report('broken')).toMatchObject({ ok: true })
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', e: 'failed', mend: 'completed' })
})

test('a failure nobody recognised says in its hint what it might be', async () => {
  const room = setup(async () => exited(3))
  const plan = await room.plan(run('a', { failureModes: modes }), run('clean'), run('mend'))
  await room.drive(plan)
  expect((await room.engine.ask({ type: 'task', plan, task: 'a' }))?.hint).toEqual(
    advise`see ${quoted('log', { output: true })}; is it 'odd' (the moon is full)? then: wait a night`,
  )
})
