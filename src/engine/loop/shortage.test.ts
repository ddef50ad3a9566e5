// What our side lacks fails no task: the plan pauses with the cause, results that are known stay known, and it goes on later.

import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import { failure } from '../../safety/safety-refusal.ts'
import { type Store, StoreFull, SyncFailed } from '../../stores/store.ts'
import type { Workspace } from '../../workspace/workspace.ts'
import { replay } from '../replay/replay.ts'
import { exited, name, type Script, setup } from '../rooms.fixture.ts'
import { missingFolder } from './shortage.ts'

const RUN = { type: 'run', command: { argv: ['true'] } } as const
const PUBLISH = { id: name('publish'), effect: 'unsafe', compensate: RUN } as const
const BUILD = { id: name('build'), needs: [name('publish')], effect: 'workspace', write: ['src/**'] } as const
const FULL = {
  ok: false,
  failure: { ...failure('resource', 'Capturing: the disk is full.'), code: 'errno:ENOSPC', shortage: 'disk-full' },
} as const

const stops: AbortController[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort()
})

function room(script?: Script) {
  const made = setup(script)
  const { rooms, worker, engine } = made
  mkdirSync(rooms.stateDir)
  return {
    ...made,
    workspace: (other: Partial<Workspace>) => Object.assign(rooms.workspace, other),
    store: (other: Partial<Pick<Store, 'update'>>) => Object.assign(rooms.store, other),
    driveHolding: (plan: PlanId, holdMs: number) => worker.drive(plan, { stop: new AbortController().signal, holdMs }),
    resume: async (plan: PlanId) => await engine.submit(plan, { type: 'resume' }),
    types: async (plan: PlanId) => (await made.events(plan)).map(({ type }) => type),
    shortage: async (plan: PlanId) => (await engine.ask({ type: 'summary', plan }))?.shortage,
  }
}

/** Meets a full disk so often, then works. */
function shortTimes<T extends unknown[], R>(times: number, short: R, works: (...args: T) => Promise<R>) {
  let left = times
  return async (...args: T): Promise<R> => (left-- > 0 ? short : await works(...args))
}

describe('a capture that meets a full disk', () => {
  test('pauses the plan with the cause; nothing completed is undone, and resume completes it', async () => {
    const it = room()
    const { capture } = it.rooms.workspace
    it.workspace({ capture: shortTimes(1, FULL, capture) })
    const plan = await it.plan(PUBLISH, BUILD)
    expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'paused' })
    expect(await it.statuses(plan)).toEqual({ plan: 'paused', publish: 'completed', build: 'ready' })
    expect(await it.shortage(plan)).toEqual({
      kind: 'disk-full',
      code: 'ENOSPC',
      message: 'Capturing: the disk is full.',
      hint: 'Free some space.',
    })
    expect(await it.types(plan)).not.toContain('compensation.started')
    expect(await it.types(plan)).not.toContain('attempt.failed')
    await it.resume(plan)
    expect(await it.shortage(plan)).toBeUndefined()
    expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
    expect(await it.statuses(plan)).toEqual({ plan: 'completed', publish: 'completed', build: 'completed' })
    expect(it.attempts.map(({ task }) => task)).toEqual(['publish', 'build'])
    expect(await replay(it.rooms.store, plan, 'plan')).toMatchObject({ ok: true })
  })

  test('is no failure however it is told: thrown by the content store, as an error of SQLite or of the system', async () => {
    const errors = [
      new StoreFull('the disk is full; nothing was written'),
      Object.assign(new Error('database or disk is full'), { errcode: 13 }),
      Object.assign(new Error('EDQUOT'), { code: 'EDQUOT', syscall: 'write' }),
      Object.assign(new Error('EMFILE'), { code: 'EMFILE', syscall: 'open' }),
      Object.assign(new Error('ENOTCONN'), { code: 'ENOTCONN', syscall: 'scandir' }),
    ]
    const kinds: (string | undefined)[] = []
    for (const error of errors) {
      const it = room()
      it.workspace({ capture: () => Promise.reject(error) })
      const plan = await it.plan(PUBLISH, BUILD)
      await it.drive(plan)
      expect(await it.statuses(plan)).toEqual({ plan: 'paused', publish: 'completed', build: 'ready' })
      kinds.push((await it.shortage(plan))?.kind)
    }
    expect(kinds).toEqual(['disk-full', 'disk-full', 'disk-full', 'open-files', 'unavailable'])
  })

  test('lets what runs beside it go on to its end', async () => {
    let release = () => {}
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    const it = room(async (_attempt, _tools, signal) => {
      await Promise.race([released, new Promise(resolve => signal.addEventListener('abort', resolve))])
      return signal.aborted ? { type: 'interrupted' } : exited(0)
    })
    const { capture } = it.rooms.workspace
    const short = shortTimes(1, FULL, capture)
    it.workspace({
      capture: async patterns => {
        await expect.poll(() => it.attempts.length).toBe(1)
        return await short(patterns)
      },
    })
    const plan = await it.plan({ id: name('long'), effect: 'pure' }, { ...BUILD, needs: [] })
    const driven = it.drive(plan)
    await expect.poll(async () => (await it.statuses(plan)).plan).toBe('paused')
    release()
    expect(await driven).toEqual({ status: 'rested', rest: 'paused' })
    expect(await it.statuses(plan)).toEqual({ plan: 'paused', long: 'completed', build: 'ready' })
  })
})

describe('a result that is known', () => {
  const WRITES = { id: name('deploy'), effect: 'workspace', write: ['out/**'] } as const
  const seen = (it: ReturnType<typeof room>, times: number) => {
    it.workspace({ changesSince: shortTimes(times, FULL, it.rooms.workspace.changesSince) })
  }
  const FILES = { tasks: [WRITES, { id: name('after'), needs: [name('deploy')] }] as never }

  test('is held while what it wrote cannot be stored, and told once when it can', async () => {
    const it = room()
    seen(it, 3)
    const plan = await it.define(FILES)
    expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'paused' })
    expect(await it.statuses(plan)).toEqual({ plan: 'paused', deploy: 'completed', after: 'ready' })
    const events = await it.events(plan)
    expect(events.find(({ type }) => type === 'attempt.succeeded')).toMatchObject({ result: { wrote: { paths: 0 } } })
    expect(events.findIndex(({ type }) => type === 'plan.paused')).toBeLessThan(
      events.findIndex(({ type }) => type === 'attempt.succeeded'),
    )
    await it.resume(plan)
    expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
    expect(it.attempts.map(({ task }) => task)).toEqual(['deploy', 'after'])
  })

  test('is told without what it wrote when that cannot be stored for long; it is neither repeated nor parked', async () => {
    const it = room()
    seen(it, Number.POSITIVE_INFINITY)
    const plan = await it.define(FILES)
    expect(await it.driveHolding(plan, 150)).toEqual({ status: 'rested', rest: 'paused' })
    const succeeded = (await it.events(plan)).find(({ type }) => type === 'attempt.succeeded')
    expect(succeeded).toBeDefined()
    expect(JSON.stringify(succeeded)).not.toContain('wrote')
    expect(it.attempts).toHaveLength(1)
  })

  test('stays in flight while the journal cannot be written, and is told once', async () => {
    const it = room()
    const { store } = it.rooms
    const update = store.update.bind(store)
    let writes = 0
    it.store({
      update: async (...args: Parameters<Store['update']>) => {
        // From the end of the first task on, four writes in a row.
        writes++
        if (writes >= 3 && writes < 7) {
          const [, command] = args
          if (typeof command === 'function') command()
          throw new StoreFull('the disk is full; nothing was written')
        }
        return await update(...args)
      },
    })
    const plan = await it.plan(PUBLISH, { ...BUILD, effect: 'pure', write: [] })
    writes = 0
    expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
    expect(writes).toBeGreaterThan(7)
    expect(await it.statuses(plan)).toEqual({ plan: 'completed', publish: 'completed', build: 'completed' })
    expect(it.attempts.map(({ task }) => task)).toEqual(['publish', 'build'])
  })

  test('is given up when the journal cannot be written for long; then resume goes on as after a crash', async () => {
    const it = room()
    const { store } = it.rooms
    const update = store.update.bind(store)
    const plan = await it.plan({ id: name('a'), effect: 'idempotent' }, { id: name('b'), needs: [name('a')] })
    let full = false
    Object.assign(it.rooms.runners.get('run')!, {
      attempt: async (attempt: Parameters<Script>[0]) => {
        it.attempts.push(attempt)
        full = it.attempts.length === 1
        return exited(0)
      },
    })
    it.store({
      update: (...args: Parameters<Store['update']>) =>
        full ? Promise.reject(new StoreFull('the disk is full; nothing was written')) : update(...args),
    })
    expect(await it.driveHolding(plan, 200)).toMatchObject({ status: 'short', shortage: { kind: 'disk-full' } })
    full = false
    expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
    expect(it.attempts.map(({ task, attempt }) => `${task} ${attempt}`)).toEqual(['a 1', 'a 2', 'b 1'])
  })
})

describe('an attempt that could not begin', () => {
  const none: Script = async () => ({
    type: 'failed',
    failure: {
      ...failure('resource', 'Starting "x": too many open files.'),
      code: 'errno:EMFILE',
      shortage: 'open-files',
    },
    begun: false,
  })

  test('for want of handles is neither failed nor parked, whatever its effect class', async () => {
    let first = true
    const it = room(async (...args) => {
      const isFirst = first
      first = false
      return isFirst ? await none(...args) : exited(0)
    })
    // Nor does a cap count it.
    const deploy = { id: name('deploy'), effect: 'unsafe' }
    const plan = await it.define({ policy: { limits: { attempts: 1 } }, tasks: [deploy] as never })
    expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'paused' })
    expect(await it.statuses(plan)).toEqual({ plan: 'paused', deploy: 'ready' })
    expect((await it.events(plan)).find(({ type }) => type === 'attempt.lost')).toMatchObject({ begun: false })
    await it.resume(plan)
    expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
    expect(await it.statuses(plan)).toEqual({ plan: 'completed', deploy: 'completed' })
    expect(await replay(it.rooms.store, plan, 'plan')).toMatchObject({ ok: true })
  })

  test("a command's own complaint about a full disk is the failure of its task", async () => {
    const it = room(async () => exited(1, '', 'cp: cannot write: No space left on device'))
    const plan = await it.plan({ id: name('copy') })
    expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
    expect(await it.statuses(plan)).toEqual({ plan: 'failed', copy: 'failed' })
  })
})

test('a workspace that vanishes pauses the plan, and back in its place it goes on', async () => {
  const it = room(async ({ task }) => {
    if (task === 'publish') renameSync(it.rooms.root, `${it.rooms.root}.away`)
    return exited(0)
  })
  const plan = await it.plan(PUBLISH, { id: name('after'), needs: [name('publish')], effect: 'unsafe' })
  expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'paused' })
  expect(await it.statuses(plan)).toEqual({ plan: 'paused', publish: 'completed', after: 'ready' })
  expect(await it.shortage(plan)).toMatchObject({ kind: 'unavailable', code: 'ENOENT' })
  renameSync(`${it.rooms.root}.away`, it.rooms.root)
  await it.resume(plan)
  expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
  expect(it.attempts.map(({ task }) => task)).toEqual(['publish', 'after'])
})

test('the folder that is missing is named, also where the state folder is inside the workspace', () => {
  const { store, root } = room().rooms
  const folders = { store, root, stateDir: join(root, 'inner', 'state') }
  const missing = () => missingFolder(folders)?.message
  mkdirSync(folders.stateDir, { recursive: true })
  expect([missing(), missing()]).toEqual([undefined, undefined])
  renameSync(join(root, 'inner'), join(root, 'away'))
  expect(missing()).toBe(`the state folder "${folders.stateDir}" is gone`)
  renameSync(root, `${root}-away`)
  expect(missing()).toBe(`the workspace "${root}" is gone`)
  renameSync(`${root}-away`, root)
  renameSync(join(root, 'away'), join(root, 'inner'))
  expect(missing()).toBeUndefined()
})

test('a sync that fails is no shortage: driving ends with it', async () => {
  const it = room()
  it.workspace({ capture: () => Promise.reject(new SyncFailed('the disk failed while a file was synced')) })
  const plan = await it.plan(PUBLISH, BUILD)
  await expect(it.drive(plan)).rejects.toThrow(SyncFailed)
  expect(await it.types(plan)).not.toContain('attempt.failed')
})

describe('in a service', () => {
  const attended = (it: ReturnType<typeof room>) => {
    const stop = new AbortController()
    stops.push(stop)
    return it.worker.attend({ stop: stop.signal, everyMs: 20, graceMs: 0 }).finally(() => stop.abort())
  }

  test('a plan goes on by itself when there is room again', async () => {
    const it = room()
    it.workspace({ capture: shortTimes(2, FULL, it.rooms.workspace.capture) })
    const plan = await it.plan(PUBLISH, BUILD)
    const attending = attended(it)
    await expect.poll(async () => (await it.statuses(plan)).plan, { timeout: 120_000 }).toBe('completed')
    expect((await it.types(plan)).filter(type => type === 'plan.resumed')).toHaveLength(2)
    stops.at(-1)?.abort()
    await attending
  })

  test('one that somebody pauses meanwhile stays paused', async () => {
    const it = room()
    it.workspace({ capture: shortTimes(1, FULL, it.rooms.workspace.capture) })
    const plan = await it.plan(PUBLISH, BUILD)
    await it.drive(plan)
    await it.engine.submit(plan, { type: 'pause', reason: 'not today' })
    expect(await it.shortage(plan)).toBeUndefined()
    const other = await it.define({ name: 'other' as never, tasks: [{ id: name('x') }] as never })
    const attending = attended(it)
    await expect.poll(async () => (await it.statuses(other)).plan).toBe('completed')
    expect(await it.statuses(plan)).toEqual({ plan: 'paused', publish: 'completed', build: 'ready' })
    stops.at(-1)?.abort()
    await attending
  })
})

describe('what is being undone', () => {
  const BACK = { id: name('deploy'), effect: 'idempotent', compensate: RUN } as const
  const short = {
    type: 'failed',
    failure: {
      ...failure('resource', 'Starting "x": too many open files.'),
      code: 'errno:EMFILE',
      shortage: 'open-files',
    },
    begun: false,
  } as const

  test('goes on when there is room again: a compensation that could not begin has not failed', async () => {
    let compensations = 0
    const it = room(async ({ task }) => {
      if (task === 'fails') return exited(1, '', 'no')
      return it.attempts.filter(one => one.task === 'deploy').length > 1 && ++compensations < 3 ? short : exited(0)
    })
    const plan = await it.define({
      policy: { onFailure: 'compensate' } as never,
      tasks: [BACK, { id: name('fails'), needs: [name('deploy')] }] as never,
    })
    expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
    const finished = (await it.events(plan)).filter(({ type }) => type === 'compensation.finished')
    expect(finished).toMatchObject([{ task: 'deploy', result: { status: 'succeeded' } }])
  })

  test('stops being driven when there is none for long, and is finished later', async () => {
    let isShort = true
    const it = room(async ({ task }) => {
      if (task === 'fails') return exited(1, '', 'no')
      return it.attempts.filter(one => one.task === 'deploy').length > 1 && isShort ? short : exited(0)
    })
    const plan = await it.define({ tasks: [BACK, { id: name('fails'), needs: [name('deploy')] }] as never })
    expect(await it.drive(plan)).toMatchObject({ status: 'short', shortage: { kind: 'open-files' } })
    isShort = false
    expect(await it.drive(plan)).toEqual({ status: 'rested', rest: 'ended' })
    const finished = (await it.events(plan)).filter(({ type }) => type === 'compensation.finished')
    expect(finished).toMatchObject([{ task: 'deploy', result: { status: 'succeeded' } }])
  })
})
