import { expect, test } from 'vitest'
import { exited, name, SAVED, setup, untilStopped } from '../rooms.fixture.ts'

test('a plan runs to its end, each task once, in the order of its needs', async () => {
  const room = setup()
  const plan = await room.plan(
    { id: name('a') },
    { id: name('b'), needs: [name('a')] },
    { id: name('c'), needs: [name('b')] },
  )
  expect(await room.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', a: 'completed', b: 'completed', c: 'completed' })
  expect(room.attempts.map(attempt => attempt.task)).toEqual(['a', 'b', 'c'])
})

test('the end of one task and the start of the next are one entry', async () => {
  const room = setup()
  const plan = await room.plan({ id: name('a') }, { id: name('b'), needs: [name('a')] })
  await room.drive(plan)
  const entries = (await room.engine.ask({ type: 'entries', plan })) ?? []
  expect(entries.map(entry => entry.events.map(event => event.type))).toEqual([
    ['plan.created'],
    ['plan.started', 'task.readied'],
    ['attempt.started'],
    ['attempt.succeeded', 'task.readied', 'attempt.started'],
    ['attempt.succeeded', 'plan.finished'],
  ])
})

test('regression 17: a retry really occurs, with the same key, and stops at the cap', async () => {
  const room = setup(async () => exited(1, '', 'no'))
  const plan = await room.plan({ id: name('a'), retry: { attempts: 3, backoffMs: { min: 1, max: 2 } } })
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({ plan: 'failed', a: 'failed' })
  expect(room.attempts.map(({ attempt, key }) => `${attempt} ${key}`)).toEqual([1, 2, 3].map(n => `${n} ${plan}/a/1`))
})

test('a gate rests the plan, blocks only its own descendants, and lets them go on when approved', async () => {
  const room = setup()
  const plan = await room.plan(
    { id: name('g'), action: { type: 'gate', gate: 'approval' } },
    { id: name('after'), needs: [name('g')] },
    { id: name('free') },
  )
  expect(await room.drive(plan)).toEqual({ status: 'rested', rest: 'waiting' })
  expect(await room.statuses(plan)).toEqual({ plan: 'blocked', g: 'waiting', after: 'pending', free: 'completed' })
  await room.engine.submit(plan, { type: 'decide', task: name('g'), verdict: 'approved', rationale: '' })
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({
    plan: 'completed',
    g: 'completed',
    after: 'completed',
    free: 'completed',
  })
})

test('regression 19: pause acts inside a running task that may be made again', async () => {
  const stopped = untilStopped()
  let first = true
  const room = setup((attempt, tools, signal) => {
    if (!first) return Promise.resolve(exited(0))
    first = false
    return stopped.script(attempt, tools, signal)
  })
  const plan = await room.plan({ id: name('a'), effect: 'pure' })
  const driving = room.drive(plan)
  await stopped.begun
  await room.engine.submit(plan, { type: 'pause' })
  expect(await driving).toEqual({ status: 'rested', rest: 'paused' })
  expect(await room.statuses(plan)).toEqual({ plan: 'paused', a: 'ready' })
  await room.engine.submit(plan, { type: 'resume' })
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', a: 'completed' })
  expect(new Set(room.attempts.map(attempt => attempt.key)).size).toBe(1)
})

test('a graceful stop waits for a task that may not be made again; force parks it', async () => {
  const stopped = untilStopped()
  const room = setup(stopped.script)
  const plan = await room.plan({ id: name('a') })
  const stop = new AbortController()
  const force = new AbortController()
  const driving = room.worker.drive(plan, { stop: stop.signal, force: force.signal })
  await stopped.begun
  stop.abort()
  const quick = await Promise.race([driving, new Promise(resolve => setTimeout(resolve, 50, 'still waiting'))])
  expect(quick).toBe('still waiting')
  force.abort()
  expect(await driving).toEqual({ status: 'stopped' })
  expect(await room.statuses(plan)).toEqual({ plan: 'blocked', a: 'waiting' })
  expect(room.attempts).toHaveLength(1)
})

test('cancel acts inside a running task and compensates what was done, last first', async () => {
  const stopped = untilStopped()
  const undone: string[] = []
  const room = setup(async (attempt, tools, signal) => {
    if (attempt.action.type === 'run' && 'script' in attempt.action.command) {
      undone.push(attempt.task)
      return exited(0)
    }
    return attempt.task === 'c' ? await stopped.script(attempt, tools, signal) : exited(0)
  })
  const compensate = { type: 'run', command: { script: 'undo' } } as const
  const plan = await room.plan(
    { id: name('a'), compensate },
    { id: name('b'), needs: [name('a')], compensate },
    { id: name('c'), needs: [name('b')], compensate },
  )
  const driving = room.drive(plan)
  await stopped.begun
  await room.engine.submit(plan, { type: 'cancel' })
  expect(await driving).toEqual({ status: 'rested', rest: 'ended' })
  expect(undone).toEqual(['b', 'a'])
  expect(await room.statuses(plan)).toEqual({ plan: 'cancelled', a: 'completed', b: 'completed', c: 'cancelled' })
})

test('cancel by force ends the plan at once and compensates nothing', async () => {
  const stopped = untilStopped()
  const room = setup(stopped.script)
  const plan = await room.plan({ id: name('a'), compensate: { type: 'run', command: { script: 'undo' } } })
  const driving = room.drive(plan)
  await stopped.begun
  await room.engine.submit(plan, { type: 'cancel', force: true })
  expect(await room.statuses(plan)).toEqual({ plan: 'cancelled', a: 'cancelled' })
  expect(await driving).toEqual({ status: 'rested', rest: 'ended' })
  expect(room.attempts).toHaveLength(1)
})

test('when nobody knows whether a commit happened, no outcome is lost and none counts twice', async () => {
  let commits = 0
  const room = setup(async () => exited(0), {
    beforeCommit: () => (++commits % 2 === 0 && commits > 6 ? 'lose-reply' : 'ok'),
  })
  const ids = ['a', 'b', 'c', 'd', 'e', 'f']
  const plan = await room.plan(
    ...ids.map((id, at) => ({ id: name(id), ...(at === 0 ? {} : { needs: [name(ids[at - 1]!)] }) })),
  )
  await room.drive(plan)
  expect(await room.statuses(plan)).toMatchObject({ plan: 'completed' })
  expect(room.attempts.map(attempt => attempt.task)).toEqual(ids)
  expect((await room.events(plan)).filter(event => event.type === 'attempt.succeeded')).toHaveLength(6)
})

test('every attempt of a workspace task begins from the same files', async () => {
  let tries = 0
  const room = setup(async () => exited(++tries === 1 ? 1 : 0))
  const plan = await room.plan({
    id: name('a'),
    write: ['src/**'],
    network: [],
    retry: { attempts: 2, backoffMs: { min: 1, max: 1 } },
  })
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', a: 'completed' })
  expect(room.asked).toEqual(['capture src/**', 'restore'])
  expect((await room.events(plan)).find(event => event.type === 'workspace.restored')).toMatchObject({
    task: 'a',
    saved: SAVED,
  })
})

test('regression 15: more ready tasks than places: all run, never more at once than the plan allows', async () => {
  let now = 0
  let most = 0
  const room = setup(async () => {
    most = Math.max(most, ++now)
    await new Promise(resolve => setImmediate(resolve))
    now--
    return exited(0)
  })
  const plan = await room.define({
    concurrency: 3,
    tasks: Array.from({ length: 20 }, (_, at) => ({ id: name(`t${at}`) })) as never,
  })
  await room.drive(plan)
  expect(await room.statuses(plan)).toMatchObject({ plan: 'completed' })
  expect([most, room.attempts.length]).toEqual([3, 20])
})

test('regression 13: driving twice at once drives once; the other is told who has it', async () => {
  const room = setup()
  const plan = await room.plan({ id: name('a') })
  const [one, two] = await Promise.all([room.drive(plan), room.drive(plan)])
  expect([one.status, two.status].sort()).toEqual(['held', 'rested'])
  expect(room.attempts).toHaveLength(1)
})
