import { expect, test } from 'vitest'
import type { TaskDefinition } from '../../domain/plan.ts'
import { exited, name, setup } from '../rooms.fixture.ts'

// Tests of a plan against its own earlier run of them.

const SUITE = { argv: ['suite'] } as const
const BEFORE: Partial<TaskDefinition> = {
  id: name('before'),
  action: { type: 'run', command: SUITE },
  expect: 'exit >= 0',
}
const work = (more: object = {}): Partial<TaskDefinition> => ({
  id: name('work'),
  needs: [name('before')],
  accept: [{ type: 'tests', command: SUITE, ...more }],
})

/** What each run of the suite prints, in order: `+a -b` for a test that passes and one that fails. The last one stays. */
function suites(...runs: readonly string[]) {
  let ran = 0
  const room = setup(async ({ action }) => {
    if (action.type !== 'run' || !('argv' in action.command) || action.command.argv[0] !== 'suite') return exited(0)
    const words = runs[Math.min(ran++, runs.length - 1)]!.split(' ')
    const lines = words.map((word, at) => `${word[0] === '+' ? 'ok' : 'not ok'} ${at + 1} - ${word.slice(1)}`)
    return exited(
      words.some(word => word[0] === '-') ? 1 : 0,
      `TAP version 13\n${lines.join('\n')}\n1..${words.length}\n`,
    )
  })
  return {
    room,
    runs: () => ran,
    async ended(plan: Awaited<ReturnType<typeof room.plan>>) {
      await room.drive(plan)
      const card = (await room.engine.ask({ type: 'board', plan }))?.find(one => one.name === 'work')
      return [card?.status, card?.reason ?? null]
    },
  }
}

test('where no baseline is named, the first completed run of the command in the plan is it', async () => {
  const held = suites('+a -old', '+a -old')
  expect(await held.ended(await held.room.plan(BEFORE, work()))).toEqual(['completed', null])
  const broken = suites('+a -old', '-a -old')
  expect(await broken.ended(await broken.room.plan(BEFORE, work()))).toEqual([
    'failed',
    'check failed: suite: no test fails that did not fail before (1 test fails and did not fail before: a; 0 passed, 2 failed)',
  ])
})

test('where nothing ran before, no test may fail, and each counts as new', async () => {
  const task: Partial<TaskDefinition> = { ...work({ new: '**' }), needs: [] }
  const green = suites('+a')
  expect(await green.ended(await green.room.plan(task))).toEqual(['completed', null])
  const red = suites('+a -old')
  expect(await red.ended(await red.room.plan(task))).toMatchObject(['failed', expect.stringContaining('1 test fails')])
})

test('results that are no longer stored make neither a green nor a red: a person is asked, and told why', async () => {
  for (const [now, more] of [
    ['+a -old', {}],
    ['+b', { new: '**' }],
    ['+a -b', { new: '**', red: true }],
  ] as const) {
    const { room, ended } = suites('+a -old', now)
    const plan = await room.plan(
      BEFORE,
      { id: name('gate'), needs: [name('before')], action: { type: 'external' } },
      {
        ...work({ ...more, baseline: name('before') }),
        needs: [name('gate')],
      },
    )
    await ended(plan)
    const recorded = (await room.events(plan)).flatMap(event =>
      event.type === 'attempt.succeeded' ? (event.result.tests?.results ?? []) : [],
    )
    expect(recorded.map(id => room.disk.blobs.delete(id))).toEqual([true])
    await room.engine.submit(plan, { type: 'claim', task: name('gate') })
    await room.engine.submit(plan, { type: 'report', task: name('gate'), result: { status: 'succeeded' } })
    expect((await ended(plan))[0]).toBe('waiting')
    const settled = (await room.events(plan)).flatMap(event =>
      event.type === 'attempt.succeeded' ? (event.result.verdicts ?? []) : [],
    )
    expect(settled).toMatchObject([
      { holds: null, evidence: expect.stringContaining("recorded by 'before' are no longer stored") },
    ])
  }
})
