// Several real processes on one plan: one drives, the others say who; orders travel between them through the journal; signals
// pause; whoever lost its lease cannot write. Promises P15, P16, P17, P20; regressions 13, 18, 19 and 27.

import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  driverEnd,
  type Ended,
  endAll,
  Ground,
  inParallel,
  isRunning,
  Real,
  Recorder,
  until,
} from '../crash/harness.ts'

let recorder: Recorder
beforeAll(async () => {
  recorder = await Recorder.open()
})
afterEach(endAll)
afterAll(() => recorder.close())

const bash = (text: string) => JSON.stringify(['bash', '-euc', text])

/** One task that waits inside its effect until the recorder lets it go, and one after it. */
const waiting = (name: string, more = '') => `
planfold: 1
name: ${name}
tasks:
  - { id: first, effect: idempotent, run: ${bash(recorder.effect(name))}${more} }
  - { id: second, needs: [first], effect: idempotent, run: ${bash(recorder.effect(`${name}-second`))} }`

const seen = (name: string) =>
  until(`the effect '${name}'`, () => recorder.effects().find(effect => effect.name === name))

describe('several processes start the same plan', () => {
  const RACES = process.env.PLANFOLD_CRASH === 'all' ? [2, 3, 4, 2, 3, 4, 3] : [2, 3, 4]
  const races = RACES.map((processes, race) => ({ processes, race, made: race % 2 === 0 }))
  test('regression 13: exactly one drives it, every other says who does, and nothing is done twice', async () => {
    await inParallel(
      races.map(({ processes, race, made }) => async () => {
        const name = `race-${race}`
        await recorder.block(name)
        const ground = new Ground(waiting(name))
        // Some of the races are also about who makes the plan.
        if (made) expect((await ground.runPlan({}, ['--no-start']).end()).code).toBe(0)
        const runners = await Promise.all(
          Array.from({ length: processes }, async () => {
            await setTimeout(Math.random() * 150)
            return ground.runPlan()
          }),
        )
        const ends = new Map<Real, Ended>()
        for (const each of runners) void each.ended.then(end => ends.set(each, end))
        await until(`all but one to give up in ${name}`, () => ends.size >= processes - 1)
        const driver = runners.find(each => !ends.has(each))
        for (const end of ends.values()) {
          expect(end).toMatchObject({ code: 3 })
          expect(end.err).toContain(`is already running (pid ${driver?.pid}`)
        }
        await recorder.release(name)
        expect((await driver!.end()).code).toBe(0)
        const plan = ground.plan()
        expect(ground.query('SELECT id FROM plans')).toHaveLength(1)
        expect(recorder.effects(plan).map(effect => `${effect.name} ${effect.attempt}`)).toEqual([
          `${name} 1`,
          `${name}-second 1`,
        ])
        expect(ground.journal().map(({ version }) => version)).toEqual(ground.journal().map((_, at) => at + 1))
        ground.remove()
      }),
    )
  })

  test('the plan of an owner that was killed is taken over at once, long before its lease ends', async () => {
    const lease = 3_600_000
    await recorder.block('dead')
    const ground = new Ground(waiting('dead'))
    const first = ground.runPlan({ PLANFOLD_LEASE_MS: String(lease) })
    await seen('dead')
    first.kill('SIGKILL')
    await first.end()
    await recorder.release('dead')
    const began = Date.now()
    expect((await ground.planfold(['resume', 'dead']).end()).code).toBe(0)
    const again = ground.events('attempt.started').find(({ attempt }) => attempt === 2)!
    expect(again.at - began).toBeLessThan(lease / 10)
    ground.remove()
  })
})

/** By the clock that all processes of the machine share. */
const hasLapsed = (ground: Ground): boolean =>
  Number(ground.query<{ expires: number }>('SELECT expires FROM owners')[0]!.expires) <
  Number(process.hrtime.bigint() / 1_000_000n)

describe('an owner that is stopped for longer than its lease', () => {
  const LEASE = { PLANFOLD_LEASE_MS: '2000' }
  for (const wakes of ['while another drives', 'after another has ended it'] as const) {
    test(`cannot write when it wakes ${wakes}, and says so`, async () => {
      const name = wakes === 'while another drives' ? 'stopped-during' : 'stopped-after'
      await recorder.block(name)
      const ground = new Ground(waiting(name))
      const old = ground.runPlan(LEASE)
      await seen(name)
      old.kill('SIGSTOP')
      const oldFence = ground.query<{ fence: number }>('SELECT fence FROM heads')[0]!.fence
      await until('the lease to run out', () => hasLapsed(ground))
      const young = ground.planfold(['resume', name])
      await until('the take-over', () => recorder.effects(ground.plan()).length === 2)
      const wake = async () => {
        old.kill('SIGCONT')
        const ended = await old.end()
        expect(ended.code).toBe(3)
        expect(ended.err).toMatch(/is (?:already|now) running|lease/)
      }
      if (wakes === 'while another drives') await wake()
      await recorder.release(name)
      expect((await young.end()).code).toBe(0)
      if (wakes === 'after another has ended it') await wake()

      const fences = ground
        .journal()
        .map(({ fence }) => fence)
        .filter(fence => fence !== null)
      expect(fences).toEqual(fences.toSorted((a, b) => a - b))
      expect(new Set(fences)).toEqual(new Set([oldFence, oldFence + 1]))
      // The first task was seen from both owners, under the same key; the second only from the new one.
      expect(recorder.effects(ground.plan()).map(effect => `${effect.name} ${effect.attempt}`)).toEqual([
        `${name} 1`,
        `${name} 2`,
        `${name}-second 1`,
      ])
      expect((await ground.planfold(['doctor', 'store']).end()).code).toBe(0)
      ground.remove()
    })
  }

  test('is refused by the fence alone, when nothing told it that its lease is gone', async () => {
    const ground = new Ground(waiting('unused'))
    const env = { LEASE_MS: '600', UNTIL: ground.path('go') }
    const old = new Real([process.execPath, resolve(import.meta.dirname, 'busy.mjs'), ground.path('.planfold')], {
      env,
    })
    await old.says(/busy\n/)
    await until('the lease to run out', () => hasLapsed(ground))
    expect((await ground.planfold(['resume', 'busy']).end()).code).toBe(0)
    const { length } = ground.journal()
    ground.write('go', '')
    expect((await old.end()).out).toContain('{"status":"lost"}')
    expect(ground.journal()).toHaveLength(length)
    expect(ground.events('attempt.succeeded')).toMatchObject([{ attempt: 2 }])
    ground.remove()
  })

  test('but one whose event loop is busy for four times its lease keeps it', async () => {
    const ground = new Ground(waiting('unused'))
    const busy = new Real([process.execPath, resolve(import.meta.dirname, 'busy.mjs'), ground.path('.planfold')], {
      env: { LEASE_MS: '3000', BUSY_MS: '12000' },
    })
    await busy.says(/busy\n/)
    // Asked in every lease until it is free again: never another owner.
    const answers: (number | null)[] = []
    do {
      answers.push((await ground.planfold(['resume', 'busy']).end()).code)
      await setTimeout(2000)
    } while (!busy.out.includes('free'))
    expect((await busy.end()).out).toContain('{"status":"rested","rest":"ended"}')
    // The last one may have found the plan ended, before or while it asked for it; all others were refused.
    expect(answers.slice(0, -1).filter(code => code !== 3)).toEqual([])
    expect(
      new Set(
        ground
          .journal()
          .map(({ fence }) => fence)
          .filter(fence => fence !== null),
      ).size,
    ).toBe(1)
    expect(ground.events('attempt.started')).toHaveLength(1)
    ground.remove()
  })
})

describe('orders from another process', () => {
  const sleeping = (name: string) => `
planfold: 1
name: ${name}
tasks:
  - { id: sleep, effect: pure, run: ${bash('echo $$ > sleep.pid; exec sleep 60')} }
  - { id: never, needs: [sleep], effect: pure, run: "touch never" }`

  for (const [order, code, status] of [
    ['pause', 4, 'paused'],
    ['cancel', 1, 'cancelled'],
  ] as const) {
    // A machine that stands still for a moment does not do so each time; and where giving the order takes longer, so may obeying it.
    test(`regression 19: ${order} acts inside a running task within a second, once`, async () => {
      const tries: { readonly tookMs: number; readonly orderedMs: number }[] = []
      const isInTime = () => tries.some(({ tookMs, orderedMs }) => tookMs <= Math.max(1_000, orderedMs))
      while (tries.length < 5 && !isInTime()) {
        const ground = new Ground(sleeping(order))
        const driver = ground.runPlan()
        const pid = Number(await until('the task', () => ground.text('sleep.pid').trim()))
        const began = performance.now()
        expect((await ground.planfold([order, order]).end()).code).toBe(0)
        const orderedMs = performance.now() - began
        expect((await driver.end()).code).toBe(code)
        expect(isRunning(pid)).toBe(false)
        const [asked, ...more] = ground.events(`plan.${status}`)
        expect(more).toEqual([])
        const lost = ground.events('attempt.lost')
        expect(lost).toMatchObject([{ task: 'sleep', byUs: true }])
        tries.push({ tookMs: lost[0]!.at - asked!.at, orderedMs })
        expect(ground.query('SELECT status FROM plans')).toEqual([{ status }])
        expect(ground.has('never')).toBe(false)
        expect((await ground.planfold(['doctor', 'store']).end()).code).toBe(0)
        ground.remove()
      }
      expect(isInTime(), JSON.stringify(tries)).toBe(true)
    })
  }

  test('SIGTERM and SIGINT pause it resumably and say how to go on', async () => {
    for (const [signal, code] of [
      ['SIGTERM', 4],
      ['SIGINT', 130],
    ] as const) {
      const ground = new Ground(sleeping('signalled').replace('exec sleep 60', '[ -e go ] || exec sleep 60'))
      const driver = ground.runPlan()
      const pid = Number(await until('the task', () => ground.text('sleep.pid').trim()))
      driver.kill(signal)
      const ended = await driver.end()
      expect(ended.code).toBe(code)
      expect(ended.out).toContain('planfold resume signalled')
      expect(isRunning(pid)).toBe(false)
      expect(ground.query('SELECT status FROM plans')).toEqual([{ status: 'paused' }])
      ground.write('go', '')
      expect((await ground.planfold(['resume']).end()).code).toBe(0)
      expect(ground.has('never')).toBe(true)
      ground.remove()
    }
  })

  test('a second signal does not wait for what may not be run twice: it is parked', async () => {
    await recorder.block('forced')
    const ground = new Ground(`
planfold: 1
name: forced
tasks:
  - { id: unsafe, run: ${bash(recorder.effect('forced'))} }`)
    const driver = ground.runPlan()
    const { pid } = await seen('forced')
    driver.kill('SIGINT')
    await driver.says(/waiting for unsafe/)
    expect(isRunning(pid)).toBe(true)
    driver.kill('SIGINT')
    expect((await driver.end()).code).toBe(130)
    expect(isRunning(pid)).toBe(false)
    expect(ground.events('attempt.parked')).toMatchObject([{ task: 'unsafe', evidence: { effect: 'unsafe' } }])
    await recorder.release('forced')
    expect((await ground.planfold(['resume']).end()).code).toBe(4)
    expect(recorder.effects(ground.plan())).toHaveLength(1)
    ground.remove()
  })
})

describe('what is left of a task', () => {
  test('regression 18: a timeout ends the whole process tree, also a child in a session of its own', async () => {
    const plan = (seconds: number) => `
planfold: 1
name: slow
tasks:
  - id: slow
    effect: pure
    timeout: ${seconds}s
    retry: 1
    run: ${bash("setsid nohup bash -c 'echo $$ >> pids; exec sleep 60' >/dev/null 2>&1 & (echo $BASHPID >> pids; exec sleep 60) & echo $$ >> pids; trap '' TERM; wait; wait")}`
    const pids: number[] = []
    // On a busy machine it may take longer until all three are there: then they get longer.
    for (const seconds of [0.5, 5, 60]) {
      if (pids.length === 3) break
      const ground = new Ground(plan(seconds))
      const ended = await ground.runPlan().end()
      expect(ended.code).toBe(1)
      expect(ended.out).toContain(`timed out after ${seconds} s`)
      pids.splice(0, 3, ...ground.text('pids').trim().split('\n').map(Number))
      expect(pids.filter(isRunning)).toEqual([])
      ground.remove()
    }
    expect(pids).toHaveLength(3)
  })

  test('regression 27: progress, attempts and output are in the database after kill -9', async () => {
    await recorder.block('logged')
    const ground = new Ground(`
planfold: 1
name: logged
tasks:
  - { id: one, kind: build, effect: pure, run: "echo output of one" }
  - { id: two, needs: [one], effect: pure, run: ${bash(`echo output of two; ${recorder.effect('logged')}`)} }`)
    const driver = ground.drive()
    await seen('logged')
    const logs = () =>
      ground
        .query<{ text: string }>("SELECT text FROM task_logs WHERE stream = 'stdout' ORDER BY seq")
        .map(({ text }) => text)
    await until('the output', () => logs().some(text => text.includes('output of two')))
    driver.kill('SIGKILL')
    await driver.end()
    expect(logs()).toEqual(['output of one\n', 'output of two\n'])
    expect(ground.query('SELECT status, attempt FROM tasks ORDER BY ordinal')).toEqual([
      { status: 'completed', attempt: 1 },
      { status: 'running', attempt: 1 },
    ])
    expect(ground.query('SELECT status, exit FROM attempts ORDER BY ordinal')).toEqual([
      { status: 'succeeded', exit: 0 },
      { status: 'running', exit: null },
    ])
    expect(ground.query("SELECT attempts, succeeded FROM metrics WHERE kind = 'build'")).toEqual([
      { attempts: 1, succeeded: 1 },
    ])
    expect(ground.query('SELECT done FROM last_entries')).toEqual([{ done: 1 }])
    await recorder.release('logged')
    expect(driverEnd(await ground.drive().end())).toMatchObject({ status: 'completed', check: { ok: true } })
    ground.remove()
  })
})
