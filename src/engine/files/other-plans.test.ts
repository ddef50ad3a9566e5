import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { PlanId, PlanName } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { realRooms, sh } from '../rollback/perform-rollback.fixture.ts'
import { name } from '../rooms.fixture.ts'
import type { Rooms } from '../rooms.ts'
import { writtenByOthers } from './other-plans.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

async function scene() {
  const made = await realRooms()
  opened.push(made)
  mkdirSync(join(made.root, 'sc'))
  writeFileSync(join(made.root, 'sc/old'), 'old')
  const begin = async (plan: string, tasks: readonly TaskDefinition[]) => {
    const created = await made.submit({ type: 'create', definition: { name: plan as PlanName, tasks } }, null)
    if (!created.ok) throw new Error(created.refusal.message)
    const started = await made.submit({ type: 'start' }, plan)
    if (!started.ok) throw new Error(started.refusal.message)
    return created.plan
  }
  const run = async (plan: string, tasks: readonly TaskDefinition[]) => {
    const id = await begin(plan, tasks)
    return { id, driven: await made.worker.drive(id, { stop: new AbortController().signal }) }
  }
  return { ...made, begin, run }
}

/** Fails once, and is then due again only much later: its files stay captured. */
const captured = (id: string, scope: readonly string[]) =>
  sh(id, 'exit 75', {
    write: scope,
    network: [],
    effect: 'workspace',
    retry: { attempts: 3, backoffMs: { min: 3_600_000, max: 3_600_000 } },
  })

/** Takes the change set that a plan's only task left out of the content store. */
async function removeChanges({ store, stateDir }: Rooms, plan: PlanId): Promise<void> {
  const events = (await store.read(plan, { after: 0, limit: 100 })).flatMap(entry => entry.events)
  const ended = events.find(event => event.type === 'attempt.succeeded')
  const changes = ended?.result.wrote?.changes
  if (changes == null) throw new Error('it left no change set')
  rmSync(join(stateDir, 'blobs', changes.slice(0, 2), changes.slice(2)))
}

describe('what other plans completed since the files of a task were captured', () => {
  it('names what scoped and unscoped tasks of other plans left, with who wrote it, and nothing from before', async () => {
    const { begin, run, rooms, worker } = await scene()
    await run('earlier', [sh('x', 'echo e > sc/earlier', { write: ['sc/**'], network: [] })])
    const p = await begin('p', [captured('a', ['sc/**'])])
    await worker.drive(p, { stop: new AbortController().signal, patienceMs: 0 })
    const scoped = await run('scoped', [
      sh('b', 'echo q > other; rm other; echo q > two', { write: ['two'], network: [] }),
    ])
    const loose = await run('loose', [sh('c', 'echo c > sc/c; rm sc/old', { effect: 'idempotent' })])
    const state = (await rooms.store.state(p))!
    const found = await writtenByOthers(rooms, state, state.tasks.get(name('a'))!)
    expect([...found.keys()].sort()).toEqual(['sc/c', 'sc/old', 'two'])
    expect(found.get('two')).toMatchObject({ plan: scoped.id, task: 'b', declared: true, entry: { type: 'file' } })
    expect(found.get('sc/c')).toMatchObject({ plan: loose.id, task: 'c', declared: false })
    expect(found.get('sc/old')).toMatchObject({ entry: null })
  })

  it('passes over a change set of another plan that is missing, and the task is tried again', async () => {
    const { begin, run, rooms, worker, root } = await scene()
    const p = await begin('p', [
      sh('a', 'test -e on && exit 0; mkdir on; echo half > sc/half; exit 75', {
        write: ['sc/**'],
        network: [],
        retry: { attempts: 2, backoffMs: { min: 300, max: 300 } },
      }),
    ])
    await worker.drive(p, { stop: new AbortController().signal, patienceMs: 0 })
    const lost = await run('lost', [sh('b', 'echo q > two', { write: ['two'], network: [] })])
    await run('told', [sh('c', 'echo t > three', { write: ['three'], network: [] })])
    await removeChanges(rooms, lost.id)
    const state = (await rooms.store.state(p))!
    expect([...(await writtenByOthers(rooms, state, state.tasks.get(name('a'))!)).keys()]).toEqual(['three'])
    await worker.drive(p, { stop: new AbortController().signal })
    expect((await rooms.store.state(p))?.status).toBe('completed')
    expect([existsSync(join(root, 'sc/half')), existsSync(join(root, 'two'))]).toEqual([false, true])
  })

  it('and a rollback is not stopped by it either', async () => {
    const { run, rooms, worker, submit, root } = await scene()
    const { id } = await run('p', [sh('a', 'echo a > one')])
    const lost = await run('lost', [sh('b', 'echo q > two', { write: ['two'], network: [] })])
    await removeChanges(rooms, lost.id)
    expect(await submit({ type: 'rollback', to: '2', every: 'take' }, 'p')).toMatchObject({ ok: true })
    await worker.drive(id, { stop: new AbortController().signal })
    expect([existsSync(join(root, 'one')), existsSync(join(root, 'two'))]).toEqual([false, true])
  })

  it('a rollback of another plan is not the work of a task that ran meanwhile, and stays when that is rolled back', async () => {
    const { begin, run, submit, rooms, worker, root } = await scene()
    const drive = async (plan: PlanId) => await worker.drive(plan, { stop: new AbortController().signal })
    const p = await run('p', [sh('a', 'echo p > sc/p; echo p > sc/old', { write: ['sc/**'], network: [] })])
    const waits = 'mkdir on; until [ -e go ]; do sleep 0.02; done; echo q > sc/q'
    const q = await begin('q', [sh('b', waits, { write: ['sc/**'], network: [] })])
    const driven = drive(q)
    await vi.waitFor(() => expect(existsSync(join(root, 'on'))).toBe(true), 120_000)
    expect(await submit({ type: 'rollback', to: '2' }, 'p')).toMatchObject({ ok: true })
    await drive(p.id)
    const files = () =>
      ['p', 'q', 'old'].map(one => join(root, 'sc', one)).map(at => (existsSync(at) ? readFileSync(at, 'utf8') : null))
    expect(files()).toEqual([null, null, 'old'])
    mkdirSync(join(root, 'go'))
    await driven
    expect(files()).toEqual([null, 'q\n', 'old'])
    expect(await submit({ type: 'rollback', to: '2' }, 'q')).toMatchObject({ ok: true })
    await drive(q)
    expect((await rooms.store.state(q))?.rollback).toBeNull()
    expect(files()).toEqual([null, null, 'old'])
  })

  it('also where an earlier task of ours, without a scope, had seen a part of what the other plan wrote there', async () => {
    const { begin, submit, rooms, worker, root } = await scene()
    const signs = mkdtempSync(join(tmpdir(), 'signs-'))
    const drive = async (plan: PlanId) => await worker.drive(plan, { stop: new AbortController().signal })
    const give = (sign: string) => mkdirSync(join(signs, sign))
    const seen = (sign: string) => vi.waitFor(() => expect(existsSync(join(signs, sign))).toBe(true), 120_000)
    const until = (here: string, go: string) =>
      `mkdir ${join(signs, here)}; until [ -e ${join(signs, go)} ]; do sleep 0.02; done`
    const scoped = { write: ['sc/**'], network: [] }
    const p = await begin('p', [sh('a', `echo half > sc/old; ${until('half', 'whole')}; echo p > sc/old`, scoped)])
    const whole = drive(p)
    await seen('half')
    const q = await begin('q', [
      sh('loose', until('looked', 'done'), { effect: 'idempotent' }),
      sh('b', `${until('on', 'go')}; echo q > sc/q`, { ...scoped, needs: [name('loose')] }),
    ])
    const driven = drive(q)
    await seen('looked')
    give('whole')
    await whole
    give('done')
    await seen('on')
    expect(await submit({ type: 'rollback', to: '2' }, 'p')).toMatchObject({ ok: true })
    await drive(p)
    expect(readFileSync(join(root, 'sc/old'), 'utf8')).toBe('old')
    give('go')
    await driven
    expect(await submit({ type: 'rollback', to: '2', force: true }, 'q')).toMatchObject({ ok: true })
    await drive(q)
    expect((await rooms.store.state(q))?.rollback).toBeNull()
    expect([readFileSync(join(root, 'sc/old'), 'utf8'), existsSync(join(root, 'sc/q'))]).toEqual(['old', false])
    rmSync(signs, { recursive: true })
  })

  it('what appeared while an agent of another plan works there without a scope may be its work, and is not rolled back', async () => {
    const { begin, run, submit, root, worker } = await scene()
    const failing = (file: string) => [
      sh('b', `echo b > ${file}`, { effect: 'idempotent' }),
      sh('z', 'exit 9', { effect: 'pure', needs: [name('b')] }),
    ]
    const stands = (file: string) => existsSync(join(root, file))
    await begin('p', [{ id: name('e1'), action: { type: 'external' } }])
    const before = await run('before', failing('before.txt'))
    expect(await submit({ type: 'claim' }, 'p')).toMatchObject({ ok: true })
    await run('beside', failing('beside.txt'))
    // What was told before the agent began cannot be its work.
    expect(await submit({ type: 'rollback', filesOnly: true }, 'before')).toMatchObject({ ok: true })
    await worker.drive(before.id, { stop: new AbortController().signal })
    const refused = await submit({ type: 'rollback', filesOnly: true }, 'beside')
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'conflict', allowed: ['beside.txt'] } })
    expect([stands('before.txt'), stands('beside.txt')]).toEqual([false, true])
  })

  it('what another plan told while an attempt ran that was cut off stays, although nobody knows what that attempt wrote', async () => {
    const { begin, run, submit, root, worker } = await scene()
    const q = await begin('q', [sh('cut', 'echo q > q.txt; echo ready; sleep 60')])
    const force = new AbortController()
    let begun = (): void => {}
    const ready = new Promise<void>(resolve => {
      begun = resolve
    })
    const driven = worker.drive(q, { stop: force.signal, force: force.signal, onOutput: () => begun() })
    await ready
    await run('p', [sh('loose', 'echo p > p.txt', { effect: 'idempotent' })])
    force.abort()
    await driven
    expect(
      await submit({ type: 'decide', task: name('cut'), verdict: 'done', rationale: 'looked at it' }, 'q'),
    ).toMatchObject({ ok: true })
    // Also for whoever says that nobody else's work counts.
    expect(await submit({ type: 'rollback', filesOnly: true, every: 'take' }, 'q')).toMatchObject({ ok: true })
    await worker.drive(q, { stop: new AbortController().signal })
    expect([existsSync(join(root, 'p.txt')), existsSync(join(root, 'q.txt'))]).toEqual([true, false])
  })

  it('is nothing for a task whose files were not captured', async () => {
    const { run, rooms } = await scene()
    const { id } = await run('p', [sh('a', 'true', { effect: 'idempotent' })])
    const state = (await rooms.store.state(id))!
    expect((await writtenByOthers(rooms, state, state.tasks.get(name('a'))!)).size).toBe(0)
  })
})
