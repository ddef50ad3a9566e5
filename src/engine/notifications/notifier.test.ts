import { afterEach, describe, expect, it } from 'vitest'
import { StoreMemory } from '../../../sim/memory-store/store-memory.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { Notify, PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { CommitUnknown } from '../../stores/store.ts'
import { systemClock } from '../clock.ts'
import { EngineLocal } from '../engine-local.ts'
import { WorkerLocal } from '../loop/worker.ts'
import { trusted } from '../roles.ts'
import { exited, ME, name, type Script, setup } from '../rooms.fixture.ts'
import type { Rooms } from '../rooms.ts'
import type { Message, Published, Publisher } from './publisher.ts'

/** Time that passes a hundred times as fast for whoever waits. */
const QUICK = { ...systemClock, after: (ms: number, ring: () => void) => systemClock.after(ms / 100, ring) }
const HOOK: Notify['send'] = { command: { argv: ['./tell'] } }
const GATE = { type: 'gate', gate: 'approval' } as const
const pure = (id: string, more: object = {}): Partial<TaskDefinition> => ({ id: name(id), effect: 'pure', ...more })
const gate = (id: string, more: object = {}): Partial<TaskDefinition> => ({ id: name(id), action: GATE, ...more })

interface Heard extends Message {
  readonly says: { readonly id: string; readonly kind: string; readonly task?: string; readonly text: string } & Record<
    string,
    unknown
  >
}

/** A publisher that writes down what it is told, and answers as the test says. */
function listening(answer: (heard: Heard, nth: number) => Promise<Published> | Published = () => ({ ok: true })) {
  const heard: Heard[] = []
  const publisher: Publisher = {
    publish: async (_to, message) => {
      const one = { ...message, says: JSON.parse(message.body) as Heard['says'] }
      heard.push(one)
      return await answer(one, heard.length)
    },
  }
  return { heard, publisher }
}

describe('notices', () => {
  const open: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close()
  })

  function house(publisher: Publisher, script: Script = async () => exited(0)) {
    const made = setup(script)
    const rooms: Rooms = { ...made.rooms, publisher, clock: QUICK }
    const [engine, worker] = [new EngineLocal(rooms, trusted(ME)), new WorkerLocal(rooms)]
    open.push(made.engine, worker)
    const define = (definition: Partial<PlanDefinition>) =>
      made.define({ notify: [{ send: HOOK }], ...definition } as Partial<PlanDefinition>)
    return {
      ...made,
      rooms,
      engine,
      worker,
      define,
      plan: (...tasks: readonly Partial<TaskDefinition>[]) => define({ tasks: tasks as TaskDefinition[] }),
      drive: (plan: PlanId, stay = false) => worker.drive(plan, { stop: new AbortController().signal, stay }),
      sent: async (plan: PlanId) =>
        (await made.events(plan)).flatMap(event => (event.type === 'notice.sent' ? [event] : [])),
      same: async (plan: PlanId) => {
        const replay = await engine.ask({ type: 'replay', plan })
        expect(replay, JSON.stringify(replay)).toMatchObject({ fault: null })
      },
    }
  }

  it('tell of a gate and of the end, each once, and the journal says so', async () => {
    const { heard, publisher } = listening()
    const { plan, drive, engine, sent, same } = house(publisher)
    const id = await plan(pure('build'), gate('review', { needs: [name('build')] }))
    await drive(id)
    expect(heard.map(({ says }) => [says.kind, says.task, says.text])).toEqual([
      ['waiting', 'review', 'review waits for approval'],
    ])
    await drive(id)
    expect(heard).toHaveLength(1)
    await engine.submit(id, { type: 'decide', task: name('review'), verdict: 'approved', rationale: '' })
    await drive(id)
    await drive(id)
    expect(heard.map(({ kind }) => kind)).toEqual(['waiting', 'completed'])
    expect(await sent(id)).toMatchObject([
      { kind: 'waiting', task: 'review', to: expect.stringMatching(/^command tell #/) },
      { kind: 'completed' },
    ])
    expect(new Set(heard.map(one => one.id)).size).toBe(2)
    await same(id)
  })

  it('never delay the plan: others run on while somebody is being told', async () => {
    let answer: (published: Published) => void = () => {}
    const told = new Promise<Published>(resolve => {
      answer = resolve
    })
    const { heard, publisher } = listening(({ kind }) => (kind === 'waiting' ? told : { ok: true }))
    const ran: string[] = []
    const { plan, drive, sent, same } = house(publisher, async ({ task }) => {
      ran.push(task)
      // The last of them lets the hook end, which has hung all the while.
      if (task === 'last') answer({ ok: true })
      return exited(0)
    })
    const id = await plan(
      gate('review'),
      pure('one', { needs: [] }),
      pure('two', { needs: [name('one')] }),
      pure('last', { needs: [name('two')] }),
    )
    await drive(id)
    expect(ran).toEqual(['one', 'two', 'last'])
    expect(heard).toHaveLength(1)
    expect(await sent(id)).toMatchObject([{ kind: 'waiting', task: 'review' }])
    await same(id)
  })

  it('are tried three times, then the journal says why nobody was told; the plan goes on', async () => {
    const { heard, publisher } = listening(() => ({ ok: false, failure: 'no route', again: true }))
    const { plan, drive, statuses, sent, same } = house(publisher)
    const id = await plan(pure('only'))
    await drive(id)
    expect(heard).toHaveLength(3)
    expect(new Set(heard.map(one => one.id)).size).toBe(1)
    expect(await statuses(id)).toMatchObject({ plan: 'completed' })
    expect(await sent(id)).toMatchObject([{ kind: 'completed', failure: 'no route' }])
    await drive(id)
    expect(heard).toHaveLength(3)
    await same(id)
  })

  it('are not tried again where that cannot help', async () => {
    const { heard, publisher } = listening(() => ({ ok: false, failure: 'gone', again: false }))
    const { plan, drive } = house(publisher)
    await drive(await plan(pure('only')))
    expect(heard).toHaveLength(1)
  })

  it('are told once more, under the same id, when the owner died before it could say so', async () => {
    const { heard, publisher } = listening()
    const { rooms, disk, plan, drive, sent, kill, same } = house(publisher)
    const id = await plan(gate('review'))
    // Another process on the same disk tells, and dies before its turn is written.
    let dead = false
    const other = new StoreMemory(disk, {
      clock: systemClock,
      host: { host: 'here', boot: 'boot', pids: 'pids', pid: 2, startTime: '2', isRunning: () => true },
      newId: () => 'dead-owner',
    })
    const theirs: Publisher = {
      publish: async (to, message, signal) => {
        const published = await publisher.publish(to, message, signal)
        dead = true
        return published
      },
    }
    const update: StoreMemory['update'] = async (...args) => {
      if (dead) return await new Promise<never>(() => {})
      return await other.update(...args)
    }
    const store = new Proxy(other, {
      get: (target, key) => (key === 'update' ? update : bound(target, key as keyof StoreMemory)),
    })
    const worker = new WorkerLocal({ ...rooms, store, publisher: theirs })
    void worker.drive(id, { stop: new AbortController().signal })
    await expect.poll(() => dead).toBe(true)
    expect(await sent(id)).toEqual([])
    kill(2)
    await drive(id)
    expect(heard.map(one => one.id)).toEqual([heard[0]!.id, heard[0]!.id])
    expect(await sent(id)).toHaveLength(1)
    await same(id)
  })

  it('are journaled once although nobody knows whether their turn was written', async () => {
    for (const isWritten of [true, false]) {
      const { heard, publisher } = listening()
      const { plan, rooms, sent } = house(publisher)
      const id = await plan(gate('review'))
      let strikes = 0
      const update: Rooms['store']['update'] = async (of, asked, options) => {
        // Exactly the turn after somebody was told.
        if (heard.length === 0 || strikes++ > 0) return await rooms.store.update(of, asked, options)
        const command = typeof asked === 'function' ? asked() : asked
        if (isWritten) await rooms.store.update(of, command, options)
        throw new CommitUnknown('nobody knows')
      }
      const store = new Proxy(rooms.store, {
        get: (target, key) => (key === 'update' ? update : bound(target, key as keyof Rooms['store'])),
      })
      const worker = new WorkerLocal({ ...rooms, store })
      open.push(worker)
      await worker.drive(id, { stop: new AbortController().signal })
      expect(strikes).toBeGreaterThan(0)
      expect(heard).toHaveLength(1)
      expect(await sent(id)).toHaveLength(1)
    }
  })

  it('of one window are held back and told as one review, when it closes or nothing else moves', async () => {
    const { heard, publisher } = listening()
    const { define, drive, engine, sent, same } = house(publisher)
    const policy = { review: { windowMs: 60 * 60_000, max: 5 } }
    const id = await define({
      policy,
      tasks: [gate('one'), pure('a'), gate('two', { needs: [name('a')] })] as TaskDefinition[],
    })
    await drive(id)
    expect(heard).toHaveLength(1)
    expect(heard[0]!.says).toMatchObject({
      text: '2 approvals wait in one review',
      tasks: ['one', 'two'],
      answers: expect.arrayContaining(['review plan']),
    })
    expect((await sent(id)).map(({ task }) => task)).toEqual(['one', 'two'])
    const reviews = await engine.ask({ type: 'reviews', plan: id })
    expect(reviews).toMatchObject([{ items: [{ task: 'one' }, { task: 'two' }], closed: false }])
    await same(id)
  })

  it('of a full window are not held back', async () => {
    const { heard, publisher } = listening()
    const stop = new AbortController()
    const { define, worker } = house(publisher)
    const policy = { review: { windowMs: 60 * 60_000, max: 2 } }
    const id = await define({ policy, tasks: [gate('one'), gate('two'), gate('three')] as TaskDefinition[] })
    const driven = worker.drive(id, { stop: stop.signal, stay: true })
    await expect.poll(() => heard.length).toBe(1)
    expect(heard[0]!.says.tasks).toHaveLength(2)
    stop.abort()
    await driven
    expect(heard).toHaveLength(1)
  })

  it('of questions reach people although nobody drives the plan', async () => {
    const { heard, publisher } = listening()
    const { plan, engine, worker, sent, same } = house(publisher)
    const id = await plan({ id: name('work'), action: { type: 'external' } })
    const form = [{ name: 'ok', type: 'boolean' }] as const
    await engine.as('agent' as Actor).submit(id, { type: 'ask', text: 'may I?', form, task: name('work') })
    await Promise.all([worker.tell(id), worker.tell(id)])
    await worker.tell(id)
    expect(heard.map(({ says }) => says.text)).toEqual(['agent, at work, asks: may I?'])
    expect(await sent(id)).toHaveLength(1)
    await same(id)
  })

  it('of what was answered meanwhile are told to nobody', async () => {
    const { heard, publisher } = listening()
    const { plan, engine, drive } = house(publisher)
    const id = await plan(gate('one'), gate('two'))
    await engine.ask({ type: 'inbox' })
    await engine.submit(id, { type: 'decide', task: name('one'), verdict: 'approved', rationale: '' })
    await drive(id)
    expect(heard.map(({ says }) => says.task)).toEqual(['two'])
  })

  it('go only to whoever wants that kind', async () => {
    const { heard, publisher } = listening()
    const { define, drive } = house(publisher)
    const notify: readonly Notify[] = [
      { on: ['failed'], send: HOOK },
      { on: ['completed', 'waiting'], send: { webhook: 'http://127.0.0.1/secret-path' } },
    ]
    const id = await define({ notify, tasks: [pure('only')] as TaskDefinition[] })
    await drive(id)
    expect(heard.map(({ kind }) => kind)).toEqual(['completed'])
  })

  it('never hold the address of a webhook, nor what moves or hides text', async () => {
    const { heard, publisher } = listening()
    const { define, drive, events } = house(publisher)
    const id = await define({
      notify: [{ send: { webhook: 'http://127.0.0.1:9/secret-path?token=abc' } }],
      tasks: [gate('review', { title: 'ok\u202egnp\u200b\u001b[2K' })] as TaskDefinition[],
    })
    await drive(id)
    expect(heard[0]!.body).not.toMatch(/\p{Cf}|\p{Cc}(?!$)/u)
    expect(heard[0]!.says.title).toBe('ok\\u{202e}gnp\\u{200b}\\u{1b}[2K')
    const sent = (await events(id)).filter(({ type }) => type === 'notice.sent')
    expect(JSON.stringify(sent)).toContain('webhook 127.0.0.1:9 #')
    expect(JSON.stringify(sent)).not.toMatch(/secret-path|abc/)
  })

  it('more than a few at once are one message', async () => {
    const { heard, publisher } = listening()
    const { plan, drive, sent } = house(publisher)
    const id = await plan(...Array.from({ length: 30 }, (_, at) => gate(`g${at}`)))
    await drive(id)
    // The first may be told alone, before the others had opened.
    expect(heard.length).toBeLessThan(15)
    const told = (await sent(id)).map(({ task }) => task)
    expect(new Set(told).size).toBe(30)
    expect(told).toHaveLength(30)
  })

  it('of escalations name the role and who has it; a digest comes by itself', async () => {
    const { heard, publisher } = listening()
    const stop = new AbortController()
    const { define, worker, same } = house(publisher)
    const id = await define({
      policy: { roles: { lead: ['bo', 'cy'] }, escalate: { afterMs: 50, to: 'lead' } },
      notify: [
        { on: ['escalated'], send: HOOK },
        { on: ['digest'], everyMs: 60, send: HOOK },
      ],
      tasks: [gate('review')] as TaskDefinition[],
    })
    const driven = worker.drive(id, { stop: stop.signal, stay: true })
    await expect.poll(() => new Set(heard.map(({ kind }) => kind)).size).toBe(2)
    stop.abort()
    await driven
    expect(heard.find(({ kind }) => kind === 'escalated')!.says).toMatchObject({
      task: 'review',
      for: 'lead',
      people: ['bo', 'cy'],
      answers: expect.arrayContaining(['approve plan review']),
    })
    expect(heard.find(({ kind }) => kind === 'digest')!.says).toMatchObject({
      waiting: ['review waits for approval'],
    })
    await same(id)
  })
})

function bound<T extends object>(target: T, key: keyof T): unknown {
  const value: unknown = target[key]
  return typeof value === 'function' ? value.bind(target) : value
}
