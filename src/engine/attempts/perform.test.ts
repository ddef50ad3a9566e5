import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { TaskDefinition } from '../../domain/plan.ts'
import { exited, ME, name, type Script, setup } from '../rooms.fixture.ts'

async function endOf(task: Partial<TaskDefinition>, script: Script) {
  const room = setup(script)
  const plan = await room.plan({ id: name('a'), ...task })
  await room.drive(plan)
  const [card] = (await room.engine.ask({ type: 'board', plan })) ?? []
  const ended = (await room.events(plan)).find(
    event => event.type === 'attempt.succeeded' || event.type === 'attempt.failed',
  )
  return {
    status: card?.status,
    reason: card?.reason,
    result: ended !== undefined && 'result' in ended ? ended.result : null,
    room,
    plan,
  }
}

describe('how an attempt ended is classified once', () => {
  test('exit 0 succeeds, any other exit fails with its last words', async () => {
    expect(await endOf({}, async () => exited(0))).toMatchObject({ status: 'completed' })
    expect(await endOf({}, async () => exited(3, '', 'first\nno such table\n'))).toMatchObject({
      status: 'failed',
      reason: 'exit 3: no such table',
      result: { failure: { class: 'logic' } },
    })
    expect(await endOf({}, async () => exited(75))).toMatchObject({ result: { failure: { class: 'transient' } } })
  })

  test('regression 25: output that contains "Error:" is not a failure', async () => {
    expect(await endOf({}, async () => exited(0, 'Error: all is well'))).toMatchObject({ status: 'completed' })
  })

  test('a runner that throws is a bug of ours, told as a failure and never retried', async () => {
    const { status, reason, room } = await endOf(
      { retry: { attempts: 5, backoffMs: { min: 1, max: 1 } } },
      async () => {
        throw new Error('oops')
      },
    )
    expect([status, reason, room.attempts.length]).toEqual(['failed', "bug: carrying out 'a' threw: oops", 1])
  })

  test('`expect` decides instead of the exit code', async () => {
    expect(
      await endOf({ expect: 'exit == 1 && stdout.contains("2 failing")' }, async () => exited(1, '2 failing')),
    ).toMatchObject({ status: 'completed' })
    expect(await endOf({ expect: 'exit == 1' }, async () => exited(0))).toMatchObject({
      status: 'failed',
      reason: 'check failed: exit == 1 (exit 0)',
    })
  })

  test('regression 37: a condition that cannot be evaluated fails the task instead of passing', async () => {
    expect(await endOf({ expect: 'outputs.missing > 3' }, async () => exited(0))).toMatchObject({ status: 'failed' })
    expect(await endOf({ when: 'tasks.a.outputs.nothing == 1' }, async () => exited(0))).toMatchObject({
      status: 'failed',
    })
    expect(await endOf({ when: '1 + 1' }, async () => exited(0))).toMatchObject({ status: 'failed' })
  })

  test('a false condition skips the task', async () => {
    expect(await endOf({ when: '1 == 2' }, async () => exited(0))).toMatchObject({ status: 'skipped' })
  })
})

describe('criteria are never silently true', () => {
  test('a check that fails fails the task', async () => {
    const accept = [{ type: 'check', command: { argv: ['lint'] } }] as const
    const { status, reason } = await endOf({ accept }, async attempt =>
      exited(
        attempt.action.type === 'run' && 'argv' in attempt.action.command && attempt.action.command.argv[0] === 'lint'
          ? 2
          : 0,
      ),
    )
    expect([status, reason]).toEqual(['failed', 'check failed: lint (exit 2)'])
  })

  test('a check that has a title is called by it', async () => {
    const accept = [{ type: 'check', command: { argv: ['lint', '--all'] }, text: 'the code is clean' }] as const
    const { status, reason } = await endOf({ accept }, async attempt =>
      exited(attempt.action.type === 'run' && JSON.stringify(attempt.action).includes('lint') ? 2 : 0),
    )
    expect([status, reason]).toEqual(['failed', 'check failed: the code is clean (exit 2)'])
  })

  test('prose waits for a person, who may say no', async () => {
    const accept = [{ type: 'prose', text: 'It reads well' }] as const
    const { status, room, plan } = await endOf({ accept }, async () => exited(0))
    expect(status).toBe('waiting')
    await room.engine.submit(plan, { type: 'decide', task: name('a'), verdict: 'rejected', rationale: 'it does not' })
    expect(await room.statuses(plan)).toEqual({ plan: 'failed', a: 'failed' })
  })

  test('the definition of done is judged before the plan completes', async () => {
    const room = setup()
    const plan = await room.define({
      tasks: [{ id: name('a') }] as never,
      done: [{ type: 'expect', expression: "tasks.a.status == 'completed' && 1 > 2" }],
    })
    await room.drive(plan)
    expect(await room.statuses(plan)).toEqual({ plan: 'failed', a: 'completed', done: 'failed' })
  })
})

describe('values flow from task to task', () => {
  const produce = { id: name('make'), outputs: { n: { from: 'stdout', as: 'json' } } } as const

  test('outputs arrive as one argument, whatever they hold', async () => {
    const room = setup(async attempt => exited(0, attempt.task === 'make' ? JSON.stringify('$(id); rm -rf / "x"') : ''))
    const plan = await room.plan(produce, {
      id: name('use'),
      needs: [name('make')],
      action: { type: 'run', command: { argv: ['echo', 'v=${{ tasks.make.outputs.n }}'] } },
    })
    await room.drive(plan)
    expect(room.attempts[1]?.action).toEqual({ type: 'run', command: { argv: ['echo', 'v=$(id); rm -rf / "x"'] } })
  })

  test('what flowed in is hashed: the same values give the same hash, others another', async () => {
    const hashOf = async (value: string) => {
      const room = setup(async attempt => exited(0, attempt.task === 'make' ? value : ''))
      const plan = await room.plan(produce, {
        id: name('use'),
        needs: [name('make')],
        cwd: 'src',
        action: { type: 'run', command: { argv: ['echo', '${{ tasks.make.outputs.n }}'] } },
      })
      await room.drive(plan)
      const ended = (await room.events(plan)).filter(event => event.type === 'attempt.succeeded')
      return ended.map(event => event.result.inputHash)
    }
    const [one, same, other] = [await hashOf('1'), await hashOf('1'), await hashOf('2')]
    expect(one).toEqual([undefined, expect.stringMatching(/^[0-9a-f]{64}$/)])
    expect(same).toEqual(one)
    expect(other).not.toEqual(one)
  })

  test('into a script they arrive as environment, never spliced into its text', async () => {
    const room = setup(async attempt => exited(0, attempt.task === 'make' ? '"; id"' : ''))
    const plan = await room.plan(produce, {
      id: name('use'),
      needs: [name('make')],
      action: { type: 'run', command: { script: 'echo ${{ tasks.make.outputs.n }}' } },
    })
    await room.drive(plan)
    expect(room.attempts[1]).toMatchObject({
      action: { command: { script: 'echo ${PLANFOLD_VALUE_1}' } },
      env: { PLANFOLD_VALUE_1: '; id' },
    })
  })

  test('a decision over outputs takes its edge', async () => {
    const room = setup(async attempt => exited(0, attempt.task === 'make' ? '12' : ''))
    const plan = await room.plan(
      produce,
      {
        id: name('choose'),
        needs: [name('make')],
        action: { type: 'decide', expression: "tasks.make.outputs.n > 10 ? 'big' : 'small'" },
        on: { big: [name('big')], small: [name('small')] },
      },
      { id: name('big') },
      { id: name('small') },
    )
    await room.drive(plan)
    expect(await room.statuses(plan)).toEqual({
      plan: 'completed',
      make: 'completed',
      choose: 'completed',
      big: 'completed',
      small: 'skipped',
    })
  })

  test('a declared file is parsed when it is JSON and kept as an artifact when it is not', async () => {
    const room = setup(async (_attempt, tools) => {
      writeFileSync(join(tools.root, 'report.json'), '{"total": 12}')
      writeFileSync(join(tools.root, 'notes.txt'), 'hello')
      return exited(0)
    })
    const plan = await room.plan({
      id: name('a'),
      outputs: { report: { from: 'file', file: 'report.json' }, notes: { from: 'file', file: 'notes.txt' } },
    })
    await room.drive(plan)
    const [card] = (await room.engine.ask({ type: 'board', plan })) ?? []
    expect(card?.outputs).toMatchObject({ report: { total: 12 }, notes: { bytes: 5, file: 'notes.txt' } })
  })

  test('standard output that could not be taken whole is no output', async () => {
    const cut = { ...exited(0, 'head … 9 bytes left out … tail'), truncated: true } as const
    expect(await endOf({ outputs: { t: { from: 'stdout', as: 'text' } } }, async () => cut)).toMatchObject({
      status: 'failed',
      reason: "output 't' cannot be taken: it printed more than can be taken whole",
    })
  })

  test('what is printed behind a NUL is kept', async () => {
    const { room, plan } = await endOf({}, async (_attempt, tools) => {
      tools.log('stdout', Buffer.from('before\0after\n'))
      return exited(0)
    })
    expect(await room.engine.ask({ type: 'logs', plan })).toMatchObject([{ text: 'before␀after\n' }])
  })

  test('regression 35: a declared output cannot leave the workspace', async () => {
    for (const file of ['../../etc/passwd', '/etc/passwd', '.planfold/planfold.db']) {
      expect(await endOf({ outputs: { x: { from: 'file', file } } }, async () => exited(0))).toMatchObject({
        status: 'failed',
        result: { failure: { class: 'policy' } },
      })
    }
  })

  test('regression 36: a failed attempt is an event, with its class and its words', async () => {
    const { room, plan } = await endOf({}, async () => exited(2, '', 'boom'))
    expect((await room.events(plan)).filter(event => event.type === 'attempt.failed')).toMatchObject([
      { task: 'a', visit: 1, attempt: 1, result: { exit: 2, failure: { class: 'logic', message: 'exit 2: boom' } } },
    ])
  })

  test('regression 34: a task whose declared output is missing fails; nothing returns mock success', async () => {
    expect(
      await endOf({ outputs: { report: { from: 'file', file: 'report.json' } } }, async () => exited(0)),
    ).toMatchObject({ status: 'failed', reason: "output 'report' cannot be taken: it left no file 'report.json'" })
  })
})

describe('external tasks', () => {
  test('are claimed with a token, reported with it, and judged like any other', async () => {
    const room = setup(async () => exited(1))
    const plan = await room.plan({
      id: name('a'),
      action: { type: 'external' },
      accept: [{ type: 'check', command: { argv: ['lint'] } }],
    })
    const claimed = await room.engine.submit(plan, { type: 'claim' })
    if (!claimed.ok || claimed.claim === undefined) throw new Error('not claimed')
    const wrong = await room.engine.submit(plan, {
      type: 'report',
      task: name('a'),
      token: 'wrong',
      result: { status: 'succeeded' },
    })
    expect(wrong).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
    await room.engine.submit(plan, {
      type: 'report',
      task: name('a'),
      token: claimed.claim.token,
      result: { status: 'succeeded' },
    })
    // Not accepted: whoever has it may mend it.
    expect(await room.statuses(plan)).toEqual({ plan: 'active', a: 'running' })
    await room.engine.submit(plan, {
      type: 'report',
      task: name('a'),
      token: claimed.claim.token,
      result: { status: 'failed', failure: { class: 'logic', message: 'no', retryable: false } },
    })
    expect(await room.statuses(plan)).toEqual({ plan: 'failed', a: 'failed' })
  })
})

describe('a retry of an external task', () => {
  test('needs no engine: whoever claims after the wait finds it ready', async () => {
    const room = setup()
    const plan = await room.plan({
      id: name('a'),
      action: { type: 'external' },
      retry: { attempts: 3, backoffMs: { min: 1, max: 1 } },
    })
    const failure = { class: 'logic', message: 'no', retryable: true } as const
    await room.engine.submit(plan, { type: 'report', task: name('a'), result: { status: 'failed', failure } })
    await expect
      .poll(() => room.engine.submit(plan, { type: 'claim' }))
      .toMatchObject({ ok: true, claim: { task: 'a' } })
  })
})

describe('an outcome nobody knows', () => {
  test('of a probed task is asked for first, and not made twice when it had happened', async () => {
    const room = setup(async attempt =>
      exited(
        attempt.action.type === 'run' && 'argv' in attempt.action.command && attempt.action.command.argv[0] === 'probe'
          ? 0
          : 1,
      ),
    )
    const plan = await room.plan({ id: name('a'), effect: 'probed', probe: { argv: ['probe'] } })
    const owner = await room.rooms.store.leases.open({ leaseMs: 60_000 })
    const claimed = await room.rooms.store.leases.claim(plan, owner)
    if (!claimed.ok) throw new Error('not claimed')
    // An owner that started the attempt and died.
    await room.rooms.store.update(plan, { type: 'turn' }, { actor: ME, lease: claimed.lease })
    await room.rooms.store.leases.release(plan, owner)
    await room.drive(plan)
    expect(await room.statuses(plan)).toEqual({ plan: 'completed', a: 'completed' })
    expect(room.attempts.map(attempt => attempt.action)).toEqual([{ type: 'run', command: { argv: ['probe'] } }])
  })
})
