import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { GateAction, TaskDefinition } from '../../domain/plan.ts'
import { external, name, type TaskOptions, task } from '../../testing/index.ts'
import { exited } from '../rooms.fixture.ts'
import { BO, gateRooms, HOUR, MINUTE } from './gates.fixture.ts'

const gate = (id: string, action: Partial<GateAction> = {}, options: TaskOptions = {}): TaskDefinition =>
  task(id, { ...options, action: { type: 'gate', gate: 'approval', ...action } })
/** Harmless, so that nobody is asked before it begins. */
const run = (id: string, options: TaskOptions = {}) => task(id, { effect: 'pure', ...options })
const approve = (id: string) => ({ type: 'decide', task: name(id), verdict: 'approved', rationale: '' }) as const

describe('a gate that waits', () => {
  it('for an hour of fake time on one branch delays no other branch', async () => {
    const begun = signals()
    const room = await gateRooms(async attempt => {
      await new Promise<void>(resolve => {
        room.clock.after(10 * MINUTE, resolve)
        begun.ring(attempt.task)
      })
      return exited(0)
    })
    const plan = await room.define({
      concurrency: 1,
      tasks: [
        gate('g'),
        run('after', { needs: ['g'] }),
        run('a'),
        run('b', { needs: ['a'] }),
        run('c', { needs: ['b'] }),
      ],
    })
    const { driven } = room.stay(plan)
    await room.until(plan, state => state.counts.waiting === 1)
    for (const id of ['a', 'b', 'c']) {
      await begun.heard(id)
      room.clock.advance(10 * MINUTE)
      await room.until(plan, state => state.tasks.get(name(id))?.status === 'completed')
    }
    const ends = (await room.events(plan)).filter(event => event.type === 'attempt.succeeded')
    expect(ends.map(({ at }) => at)).toEqual([10 * MINUTE, 20 * MINUTE, 30 * MINUTE])
    room.clock.advance(30 * MINUTE)
    expect(await room.statuses(plan)).toMatchObject({ g: 'waiting', after: 'pending', c: 'completed' })
    expect(await room.engine.submit(plan, approve('g'))).toMatchObject({ ok: true })
    await begun.heard('after')
    room.clock.advance(10 * MINUTE)
    expect(await driven).toEqual({ status: 'rested', rest: 'ended' })
    expect(await room.replays(plan)).toBe(true)
  })

  it('runs out and calls for somebody by itself, without anybody sleeping', async () => {
    const room = await gateRooms()
    const plan = await room.define({
      policy: { escalate: { afterMs: HOUR, to: 'boss' } },
      tasks: [gate('g', { expiresMs: 2 * HOUR }), external('x')],
    })
    const { stop } = room.stay(plan)
    await room.until(plan, state => state.counts.waiting === 1)
    room.clock.advance(HOUR)
    await room.until(plan, state => state.tasks.get(name('g'))?.escalated.length === 1)
    room.clock.advance(HOUR)
    await room.until(plan, state => state.tasks.get(name('g'))?.status === 'failed')
    await stop()
    const told = (await room.events(plan)).filter(({ type }) => type === 'task.escalated' || type === 'gate.decided')
    expect(told).toMatchObject([
      { type: 'task.escalated', task: 'g', why: 'waiting', to: 'boss', at: HOUR },
      { type: 'gate.decided', task: 'g', verdict: 'rejected', by: 'engine', at: 2 * HOUR },
    ])
    expect(await room.replays(plan)).toBe(true)
  })

  it('is seen to by whoever looks or answers next, when nobody drives the plan', async () => {
    const room = await gateRooms()
    const plan = await room.define({
      tasks: [
        gate('g', { expiresMs: HOUR }),
        gate('h', { gate: 'question', question: 'Why?', form: [] }),
        external('x'),
      ],
    })
    const waiting = (await room.engine.ask({ type: 'summary', plan }))?.waiting.map(each => each.task)
    expect(waiting).toEqual(['g', 'h'])
    room.clock.advance(HOUR)
    expect(await room.engine.submit(plan, approve('g'))).toMatchObject({
      ok: false,
      refusal: { code: 'not-ready' },
    })
    expect(await room.statuses(plan)).toMatchObject({ g: 'failed', h: 'waiting' })
    expect((await room.engine.ask({ type: 'inbox' })).items.map(item => item.task)).toContain('h')
    expect(await room.replays(plan)).toBe(true)
  })

  it('with checks that must be run waits for whoever drives the plan', async () => {
    const room = await gateRooms()
    const plan = await room.define({
      tasks: [gate('g', { gate: 'tests', checks: [{ type: 'check', command: { argv: ['true'] } }] })],
    })
    expect((await room.engine.ask({ type: 'summary', plan }))?.waiting).toEqual([])
    expect(await room.statuses(plan)).toEqual({ g: 'ready' })
    await room.drive(plan)
    expect(await room.statuses(plan)).toEqual({ g: 'completed' })
  })
})

describe('the checks of a gate', () => {
  it('are commands and expressions over what the plan has found; each is kept with its evidence', async () => {
    const room = await gateRooms(async ({ action }) =>
      exited(action.type === 'run' && JSON.stringify(action).includes('false') ? 1 : 0, '7'),
    )
    const plan = await room.define({
      tasks: [
        run('count', { outputs: { n: { from: 'stdout', as: 'json' } } }),
        gate(
          'good',
          {
            gate: 'invariant',
            checks: [
              { type: 'expect', expression: 'tasks.count.outputs.n == 7' },
              { type: 'check', command: { argv: ['true'] } },
            ],
          },
          { needs: ['count'] },
        ),
        gate(
          'bad',
          { gate: 'tests', checks: [{ type: 'check', command: { argv: ['false'] } }] },
          { needs: ['count'], optional: true },
        ),
        gate(
          'ask',
          { gate: 'tests', unmet: 'ask', checks: [{ type: 'check', command: { argv: ['false'] } }] },
          { needs: ['count'] },
        ),
      ],
    })
    await room.drive(plan)
    expect(await room.statuses(plan)).toEqual({ count: 'completed', good: 'completed', bad: 'failed', ask: 'waiting' })
    const [waiting] = (await room.engine.ask({ type: 'summary', plan }))?.waiting ?? []
    expect(waiting?.evidence).toEqual([{ criterion: 'false', holds: false, evidence: 'exit 1' }])
    const rejected = (await room.events(plan)).find(event => event.type === 'gate.decided' && event.task === 'bad')
    expect(rejected).toMatchObject({ rationale: 'check failed: false (exit 1)', by: 'engine' })
    expect(await room.replays(plan)).toBe(true)
  })

  it('are a JSON file against its schema, with the place of what is wrong', async () => {
    const room = await gateRooms()
    const schema = { file: 'out.json', against: 'schema.json' }
    writeFileSync(
      join(room.root, 'schema.json'),
      JSON.stringify({ type: 'object', required: ['port'], properties: { port: { type: 'integer' } } }),
    )
    writeFileSync(join(room.root, 'out.json'), '{"port": "http"}')
    const plan = await room.define({
      tasks: [
        gate('g', { gate: 'schema', schema, unmet: 'ask' }),
        gate('h', { gate: 'schema', schema: { ...schema, file: 'none.json' }, unmet: 'ask' }),
      ],
    })
    await room.drive(plan)
    const evidence = async () =>
      (await room.engine.ask({ type: 'summary', plan }))?.waiting.map(each => each.evidence?.[0]?.evidence)
    expect(await evidence()).toEqual(['$.port: is string, not integer', "there is no file 'none.json'"])
    writeFileSync(join(room.root, 'out.json'), '{"port": 80}')
    await room.engine.submit(plan, { type: 'decide', task: name('g'), verdict: 'rejected', rationale: '' })
    await room.engine.submit(plan, { type: 'retry', task: name('g') })
    await room.drive(plan)
    expect(await room.statuses(plan)).toEqual({ g: 'completed', h: 'waiting' })
  })

  it('of a schema never leave the workspace', async () => {
    const room = await gateRooms()
    const plan = await room.define({
      tasks: [gate('g', { gate: 'schema', schema: { file: '../../etc/passwd', against: 'schema.json' } })],
    })
    await room.drive(plan)
    expect(await room.statuses(plan)).toEqual({ g: 'failed' })
  })

  it('are what was used up by then', async () => {
    const room = await gateRooms()
    const plan = await room.define({
      tasks: [
        run('a'),
        gate('few', { gate: 'budget', within: { attempts: 1, timeMs: HOUR } }, { needs: ['a'] }),
        external('x'),
        gate('late', { gate: 'budget', within: { timeMs: HOUR }, unmet: 'ask' }, { needs: ['x'] }),
        gate('many', { gate: 'budget', within: { attempts: 1 } }, { needs: ['x'], optional: true }),
      ],
    })
    await room.drive(plan)
    expect(await room.statuses(plan)).toMatchObject({ few: 'completed' })
    room.clock.advance(2 * HOUR)
    await room.engine.submit(plan, { type: 'report', task: name('x'), result: { status: 'succeeded' } })
    await room.drive(plan)
    expect(await room.statuses(plan)).toMatchObject({ late: 'waiting', many: 'failed' })
    const [waiting] = (await room.engine.ask({ type: 'summary', plan }))?.waiting ?? []
    expect(waiting?.evidence).toEqual([
      { criterion: 'within 3600 s of its start', holds: false, evidence: '7200 s so far' },
    ])
  })
})

describe('two decisions at once', () => {
  it('from two processes on one store record one', async () => {
    const room = await gateRooms()
    const other = await room.open()
    for (let round = 1; round <= 20; round++) {
      const plan = await room.define({ name: `p${round}` as never, tasks: [gate('g'), external('x')] })
      await room.engine.ask({ type: 'summary', plan })
      const answers = await Promise.all([
        room.engine.submit(plan, approve('g')),
        other.engine.as(BO).submit(plan, round % 2 === 0 ? approve('g') : { ...approve('g'), verdict: 'rejected' }),
      ])
      expect(answers.map(({ ok }) => ok).sort()).toEqual([false, true])
      expect((await room.events(plan)).filter(({ type }) => type === 'gate.decided')).toHaveLength(1)
    }
  })

  it('are a quorum only of two people', async () => {
    const room = await gateRooms()
    const other = await room.open()
    const plan = await room.define({ tasks: [gate('g', { approvers: { count: 2 } }), external('x')] })
    await room.engine.ask({ type: 'summary', plan })
    const twice = await Promise.all([room.engine.submit(plan, approve('g')), other.engine.submit(plan, approve('g'))])
    expect(twice.map(({ ok }) => ok).sort()).toEqual([false, true])
    expect(await room.statuses(plan)).toMatchObject({ g: 'waiting' })
    expect(await other.engine.as(BO).submit(plan, approve('g'))).toMatchObject({ ok: true })
    expect(await room.statuses(plan)).toMatchObject({ g: 'completed' })
  })
})

describe('what somebody says who sends it back', () => {
  it('reaches the next visit: its environment, its expressions, its briefing', async () => {
    const seen: (string | undefined)[] = []
    const room = await gateRooms(async attempt => {
      seen.push(`${attempt.feedback ?? ''}|${JSON.stringify(attempt.inputs)}|${JSON.stringify(attempt.action)}`)
      return exited(0)
    })
    const plan = await room.define({
      tasks: [
        run('write', {
          inputs: { said: '${{ feedback }}' },
          action: { type: 'run', command: { argv: ['write', '${{ feedback }}'] } },
        }),
        external('check', { needs: ['write'] }),
        gate('g', {}, { needs: ['write', 'check'] }),
      ],
    })
    await room.drive(plan)
    await room.engine.submit(plan, { type: 'report', task: name('check'), result: { status: 'succeeded' } })
    await room.drive(plan)
    const back = (to: string, rationale: string) =>
      room.engine
        .as(BO)
        .submit(plan, { type: 'decide', task: name('g'), verdict: 'pushed-back', rationale, to: name(to) })
    expect(await back('write', 'kürzer 界')).toMatchObject({ ok: true })
    await room.drive(plan)
    expect(seen).toEqual([
      '|{"said":""}|{"type":"run","command":{"argv":["write",""]}}',
      'kürzer 界|{"said":"kürzer 界"}|{"type":"run","command":{"argv":["write","kürzer 界"]}}',
    ])
    await room.engine.submit(plan, { type: 'report', task: name('check'), result: { status: 'succeeded' } })
    await room.drive(plan)
    await back('check', 'look closer')
    const briefing = await room.engine.ask({ type: 'briefing', plan, task: 'check' })
    expect(briefing?.feedback).toEqual([{ from: 'g', by: 'bo', text: 'look closer', visit: 2 }])
    expect(await room.replays(plan)).toBe(true)
  })
})

describe('approving with edits', () => {
  it('makes a revision and goes on with it', async () => {
    const ran: string[] = []
    const room = await gateRooms(async ({ action }) => {
      ran.push(JSON.stringify(action))
      return exited(0)
    })
    const tasks = (word: string) => [
      gate('g'),
      run('a', { needs: ['g'], action: { type: 'run', command: { argv: ['echo', word] } } }),
    ]
    const plan = await room.define({ tasks: tasks('old') })
    await room.drive(plan)
    const definition = { name: 'plan' as never, tasks: tasks('new') }
    const lost = { ...definition, tasks: [run('a')] }
    expect(await room.engine.submit(plan, { ...approve('g'), edits: { definition: lost } })).toMatchObject({
      ok: false,
      refusal: { message: "the revision removes 'g', which is waiting" },
    })
    expect(await room.engine.submit(plan, { ...approve('g'), edits: { definition } })).toMatchObject({ ok: true })
    await room.drive(plan)
    expect(ran).toEqual(['{"type":"run","command":{"argv":["echo","new"]}}'])
    expect((await room.events(plan)).filter(({ type }) => type === 'plan.revised')).toHaveLength(1)
    expect(await room.replays(plan)).toBe(true)
  })
})

it('a revision while a gate is open makes it ask about the new one; an answer to the old one is refused', async () => {
  const room = await gateRooms()
  const plan = await room.define({ tasks: [gate('g'), run('a', { needs: ['g'] })] })
  await room.drive(plan)
  const hash = (await room.engine.ask({ type: 'summary', plan }))?.waiting[0]?.hash
  const definition = { name: 'plan' as never, tasks: [gate('g'), run('a', { needs: ['g'], title: 'other' })] }
  await room.engine.as(BO).submit(plan, { type: 'revise', definition, rationale: 'better' })
  expect(await room.engine.submit(plan, { ...approve('g'), hash: hash! })).toMatchObject({
    ok: false,
    refusal: { code: 'conflict' },
  })
  expect((await room.engine.ask({ type: 'summary', plan }))?.waiting[0]?.hash).not.toBe(hash)
})

/** One promise for each name, kept when somebody rings first. */
function signals() {
  const rung = new Map<string, { readonly heard: Promise<void>; readonly ring: () => void }>()
  const of = (id: string) => {
    let signal = rung.get(id)
    if (signal === undefined) {
      let ring = () => {}
      const heard = new Promise<void>(resolve => {
        ring = resolve
      })
      signal = { heard, ring }
      rung.set(id, signal)
    }
    return signal
  }
  return { ring: (id: string) => of(id).ring(), heard: (id: string) => of(id).heard }
}
