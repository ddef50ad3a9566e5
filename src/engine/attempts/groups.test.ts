import { describe, expect, test } from 'vitest'
import type { TaskDefinition } from '../../domain/plan.ts'
import type { Result } from '../../domain/result.ts'
import type { Outcome } from '../../runners/runner.ts'
import { external, plan, task } from '../../testing/index.ts'
import { exited, name, type Script, setup } from '../rooms.fixture.ts'

const json = (value: unknown): Outcome => exited(0, JSON.stringify(value))
const run = (...argv: readonly string[]) => ({ type: 'run', command: { argv } }) as const
const step = (id: string, rest: Partial<TaskDefinition> = {}): TaskDefinition => ({
  id: name(id),
  action: run('work', id),
  ...rest,
})
const argvOf = (action: TaskDefinition['action']): string =>
  action.type === 'run' && 'argv' in action.command ? action.command.argv.join(' ') : ''

/** `scan` finds files; `fix` is done for each of them. */
const scanAndFix = (...others: readonly TaskDefinition[]): readonly TaskDefinition[] => [
  step('scan', { outputs: { files: { from: 'stdout', as: 'json' } }, effect: 'pure' }),
  step('fix', {
    needs: [name('scan')],
    forEach: { in: 'tasks.scan.outputs.files' },
    action: run('fix', '${{ item }}', '${{ index }}'),
    outputs: { said: { from: 'stdout', as: 'text' } },
    effect: 'pure',
  }),
  ...others,
]
const finding =
  (...lists: readonly unknown[]): Script =>
  async attempt =>
    attempt.task === 'scan' ? json(lists[attempt.visit - 1]) : exited(0, `done ${argvOf(attempt.action)}`)

test('a subplan runs its tasks, then the group, which gathers what they left', async () => {
  const room = setup(async attempt => exited(0, attempt.task))
  const outputs = { said: { from: 'stdout', as: 'text' } } as const
  const plan = await room.plan(
    {
      id: name('g'),
      action: { type: 'subplan', tasks: [step('a', { outputs }), step('b', { needs: [name('a')], outputs })] },
      accept: [{ type: 'expect', expression: "outputs.items.all(i, i.status == 'completed')" }],
    },
    step('after', { needs: [name('g')], action: run('say', '${{ tasks.g.outputs.items[1].outputs.said }}') }),
  )
  expect(await room.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
  expect(room.attempts.map(({ task, action }) => [task, argvOf(action)])).toEqual([
    ['g/a', 'work a'],
    ['g/b', 'work b'],
    ['after', 'say g/b'],
  ])
  expect((await room.engine.ask({ type: 'task', plan, task: 'g' }))?.outputs).toEqual({
    items: [
      { task: 'g/a', status: 'completed', outputs: { said: 'g/a' } },
      { task: 'g/b', status: 'completed', outputs: { said: 'g/b' } },
    ],
  })
})

test('a matrix runs every combination with its values, in conditions, arguments and criteria', async () => {
  const room = setup()
  const plan = await room.plan({
    id: name('m'),
    matrix: { os: ['linux', 'windows'], node: [20, 22] },
    when: "matrix.os != 'windows' || matrix.node == 22",
    action: run('test', '${{ matrix.os }}-${{ matrix.node }}'),
    accept: [{ type: 'expect', expression: 'matrix.node >= 20 && index >= 0' }],
  })
  await room.drive(plan)
  expect(room.attempts.map(({ action }) => argvOf(action)).sort()).toEqual([
    'test linux-20',
    'test linux-22',
    'test windows-22',
  ])
  expect(await room.statuses(plan)).toEqual({
    plan: 'completed',
    m: 'completed',
    'm/1': 'completed',
    'm/2': 'completed',
    'm/3': 'skipped',
    'm/4': 'completed',
  })
})

test('for_each over what a task found makes a revision, and runs once for each item', async () => {
  const room = setup(finding(['x', 'y', 'z']))
  const plan = await room.define({ tasks: scanAndFix(step('last', { needs: [name('fix')] })) })
  await room.drive(plan)
  expect(room.attempts.map(({ task, action }) => `${task}: ${argvOf(action)}`)).toEqual([
    'scan: work scan',
    'fix/1: fix x 0',
    'fix/2: fix y 1',
    'fix/3: fix z 2',
    'last: work last',
  ])
  const revised = (await room.events(plan)).filter(event => event.type === 'plan.revised')
  expect(revised).toMatchObject([{ revision: 2, rationale: "for_each of 'fix' gives 3 items" }])
  const definition = await room.engine.ask({ type: 'definition', plan })
  expect(definition?.definition.tasks[1]?.forEach).toEqual({ in: 'tasks.scan.outputs.files', items: ['x', 'y', 'z'] })
  expect(await room.statuses(plan)).toMatchObject({ plan: 'completed', fix: 'completed', 'fix/items': 'completed' })
  const check = await room.engine.ask({ type: 'check' })
  expect(check.faults).toEqual([])
})

test('for_each over nothing is done at once', async () => {
  const room = setup(finding([]))
  const plan = await room.define({ tasks: scanAndFix() })
  await room.drive(plan)
  expect(await room.statuses(plan)).toEqual({
    plan: 'completed',
    scan: 'completed',
    fix: 'completed',
    'fix/items': 'completed',
  })
})

test.each([
  ['no list', { a: 1 }, "for_each of 'fix' gives a map, not a list"],
  ['too many', Array.from({ length: 1_001 }, () => 1), "for_each of 'fix' gives 1001 items, more than 1000"],
])('for_each over %s fails and says so', async (_, found, message) => {
  const room = setup(finding(found))
  const plan = await room.define({ tasks: scanAndFix() })
  await room.drive(plan)
  expect(await room.statuses(plan)).toMatchObject({ plan: 'failed', 'fix/items': 'failed', fix: 'blocked' })
  expect((await room.engine.ask({ type: 'task', plan, task: 'fix/items' }))?.reason).toBe(message)
})

test('for_each over an expression that cannot be evaluated fails and says so', async () => {
  const room = setup()
  const plan = await room.plan(step('f', { forEach: { in: 'tasks.f.outputs.nothing' } }))
  await room.drive(plan)
  expect((await room.engine.ask({ type: 'task', plan, task: 'f/items' }))?.reason).toMatch(
    /^for_each of 'f': 'tasks.f.outputs.nothing' cannot be evaluated: /,
  )
})

test('gone back to, for_each finds its items anew, and what is no longer among them is abandoned', async () => {
  const room = setup(finding(['x', 'y', 'z'], ['u']))
  const plan = await room.define({
    tasks: scanAndFix({
      id: name('choice'),
      needs: [name('fix')],
      action: { type: 'decide', expression: "tasks.scan.visit < 2 ? 'again' : 'on'" },
      on: { again: [name('scan')], on: [] },
    }),
  })
  await room.drive(plan)
  expect(room.attempts.map(({ action }) => argvOf(action))).toEqual([
    'work scan',
    'fix x 0',
    'fix y 1',
    'fix z 2',
    'work scan',
    'fix u 0',
  ])
  expect(await room.statuses(plan)).toEqual({
    plan: 'completed',
    scan: 'completed',
    fix: 'completed',
    'fix/items': 'completed',
    'fix/1': 'completed',
    choice: 'completed',
  })
  const events = await room.events(plan)
  expect(events.flatMap(event => (event.type === 'task.abandoned' ? [event.task] : []))).toEqual(['fix/2', 'fix/3'])
  expect((await room.engine.ask({ type: 'check' })).faults).toEqual([])
})

test('an outcome that leads to a group works through all of it again', async () => {
  const room = setup(async attempt => (attempt.task === 'g/b' && attempt.visit === 1 ? exited(1) : exited(0)))
  const plan = await room.plan(
    {
      id: name('g'),
      action: { type: 'subplan', tasks: [step('a'), step('b', { needs: [name('a')] })] },
      on: { failure: [name('mend')] },
    },
    step('mend', { on: { success: [name('g')] } }),
  )
  await room.drive(plan)
  expect(room.attempts.map(({ task, visit }) => `${task} ${visit}`)).toEqual([
    'g/a 1',
    'g/b 1',
    'mend 1',
    'g/a 2',
    'g/b 2',
  ])
  expect(await room.statuses(plan)).toEqual({
    plan: 'completed',
    g: 'completed',
    'g/a': 'completed',
    'g/b': 'completed',
    mend: 'completed',
  })
})

test('a revision that leaves found items open keeps them and what was done for them', async () => {
  const room = setup(finding(['x', 'y']))
  const gated = { id: name('ok'), needs: [name('fix')], action: { type: 'gate', gate: 'approval' } } as const
  const plan = await room.define({ tasks: scanAndFix(gated) })
  await room.drive(plan)
  const written = { name: 'plan' as never, tasks: scanAndFix({ ...gated, title: 'Really?' }) }
  const revised = await room.engine.submit(plan, { type: 'revise', definition: written, rationale: 'words' })
  expect(revised).toMatchObject({ ok: true })
  expect(await room.statuses(plan)).toMatchObject({ 'fix/1': 'completed', 'fix/2': 'completed', ok: 'waiting' })
})

test('killed at any write, for_each finds its items once, and every item is done', async () => {
  for (let at = 1; ; at++) {
    const room = setup(finding(['x', 'y']))
    const plan = await room.define({ tasks: scanAndFix(step('last', { needs: [name('fix')], effect: 'pure' })) })
    const { store } = room.rooms
    const update = store.update.bind(store)
    let writes = 0
    store.update = async (...given) => {
      if (++writes === at) throw new Error('killed')
      return await update(...given)
    }
    const outcome = await room.drive(plan).catch((error: Error) => error.message)
    if (outcome !== 'killed') {
      expect(writes).toBeGreaterThan(5)
      return
    }
    expect(await room.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
    expect(await room.statuses(plan)).toEqual({
      plan: 'completed',
      scan: 'completed',
      fix: 'completed',
      'fix/items': 'completed',
      'fix/1': 'completed',
      'fix/2': 'completed',
      last: 'completed',
    })
    const revised = (await room.events(plan)).filter(event => event.type === 'plan.revised')
    expect(revised).toHaveLength(1)
    expect((await room.engine.ask({ type: 'check' })).faults).toEqual([])
  }
})

test('a reply lost at any write changes nothing about a for_each', async () => {
  for (let at = 6; at <= 12; at++) {
    let commits = 0
    const room = setup(finding(['x', 'y']), { beforeCommit: () => (++commits === at ? 'lose-reply' : 'ok') })
    const plan = await room.define({ tasks: scanAndFix() })
    await room.drive(plan)
    expect(await room.statuses(plan)).toMatchObject({ plan: 'completed', 'fix/1': 'completed', 'fix/2': 'completed' })
    expect((await room.events(plan)).filter(event => event.type === 'plan.revised')).toHaveLength(1)
  }
})

test('items that cannot be found lead where a failure of the task leads', async () => {
  const room = setup(finding('none', ['x']))
  const [scan, fix] = scanAndFix()
  const plan = await room.plan(scan!, { ...fix!, on: { failure: [name('scan')] } })
  await room.drive(plan)
  expect(room.attempts.map(({ task, visit }) => `${task} ${visit}`)).toEqual(['scan 1', 'scan 2', 'fix/1 1'])
  expect(await room.statuses(plan)).toMatchObject({ plan: 'completed', fix: 'completed' })
})

describe('what only the children of a list lead to', () => {
  test('sleeps until there are children, and runs only when one of them leads there', async () => {
    const recover = { name: 'flaky', detect: { type: 'prose', text: 'it is flaky' }, recover: [name('tell')] } as const
    const definition = plan(
      'p',
      external('probe', { forEach: { in: '["a", "b"]' }, failureModes: [recover], on: { thin: [name('more')] } }),
      task('tell'),
      task('more'),
    )
    const room = setup(async () => exited(0))
    const id = await room.define(definition)
    await room.drive(id)
    expect(await room.statuses(id)).toMatchObject({ tell: 'pending', more: 'pending', 'probe/1': 'ready' })
    const report = (task: string, result: Result) =>
      room.engine.submit(id, { type: 'report', task: name(task), result })
    const failure = { class: 'logic', message: 'no answer', retryable: false } as const
    await report('probe/1', { status: 'failed', mode: 'flaky', failure })
    await report('probe/2', { status: 'succeeded' })
    await room.drive(id)
    expect(await room.statuses(id)).toMatchObject({ tell: 'completed', more: 'skipped' })
  })
})
