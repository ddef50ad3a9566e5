// Killed inside an effect, not between two commits: what may not be repeated is parked (P05), and nothing of an old attempt
// lives when the next one starts (P08).

import { statSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { command } from './command.ts'
import { driverEnd, endAll, Ground, isRunning, Recorder, until } from './harness.ts'
import { someOf } from './kill-points.ts'
import { Successor } from './successor.ts'

const successor = new Successor()
let recorder: Recorder
beforeAll(async () => {
  recorder = await Recorder.open()
})
afterEach(endAll)
afterAll(async () => {
  await successor.close()
  await recorder.close()
})

const bash = (text: string) => JSON.stringify(['bash', '-euc', text])

describe('an unsafe task killed in the middle', () => {
  test('is parked with evidence and not run again; "it happened" leads to the end', async () => {
    await recorder.block('pay')
    const ground = new Ground(`
planfold: 1
name: pay
tasks:
  - { id: pay, run: ${bash(recorder.effect('pay'))} }
  - { id: after, needs: [pay], run: ${bash(recorder.effect('after'))} }`)
    const first = ground.runPlan()
    await until('the effect', () => recorder.effects().some(({ name }) => name === 'pay'))
    first.kill('SIGKILL')
    await first.end()
    const effects = () => recorder.effects(ground.plan()).map(({ name }) => name)

    for (let again = 0; again < 2; again++) {
      const resumed = await command(ground, ['resume', 'pay'])
      expect(resumed.code).toBe(4)
      expect(resumed.out).toContain('pay: outcome unknown, needs your decision')
      expect(resumed.out).toContain('planfold approve pay pay')
      expect(effects()).toEqual(['pay'])
    }
    const [parked, ...more] = ground.events('attempt.parked')
    expect(more).toEqual([])
    expect(parked).toMatchObject({
      task: 'pay',
      evidence: {
        effect: 'unsafe',
        reason: expect.stringContaining('the process running it died'),
        startedAt: ground.events('attempt.started')[0]!.at,
      },
    })

    expect((await command(ground, ['approve', 'pay', 'pay', '-m', 'seen in the account'])).code).toBe(0)
    expect((await command(ground, ['resume', 'pay'])).code).toBe(0)
    expect(effects()).toEqual(['pay', 'after'])
    expect((await command(ground, ['doctor', 'store', '--read-data'])).code).toBe(0)
    await recorder.release('pay')
    ground.remove()
  })

  test('that had not happened yet is run by "try again", once', async () => {
    const ground = new Ground(`
planfold: 1
name: late
tasks:
  - { id: late, run: ${bash(`touch begun; [ -e go ] || sleep 60; ${recorder.effect('late')}`)} }`)
    const first = ground.runPlan()
    await until('the task', () => ground.has('begun'))
    first.kill('SIGKILL')
    await first.end()
    expect((await command(ground, ['resume'])).code).toBe(4)
    ground.write('go', '')
    expect((await command(ground, ['retry', 'late', 'late'])).code).toBe(0)
    expect((await command(ground, ['resume'])).code).toBe(0)
    expect(recorder.effects(ground.plan()).map(({ attempt }) => attempt)).toEqual([2])
    ground.remove()
  })

  test('twenty at once are all parked, none is run again, and one decision each leads to the end', async () => {
    const names = Array.from({ length: 20 }, (_, at) => `unsafe-${at}`)
    await recorder.block('many')
    const ground = new Ground(`
planfold: 1
name: many
concurrency: 20
tasks: [${names.map(id => `{ id: ${id}, run: ${bash(recorder.effect('many'))} }`).join(', ')}]`)
    const first = ground.drive()
    await until('all effects', () => recorder.effects().filter(({ name }) => name === 'many').length === 20)
    first.kill('SIGKILL')
    await first.end()
    const resumed = driverEnd(await successor.go('drive', ground))
    expect(resumed.parked.map(({ task }) => task)).toEqual(names)
    expect(resumed.status).toBe('blocked')
    const decided = driverEnd(await successor.go('drive', ground, { CRASH_VERDICT: 'done' }))
    expect(decided).toMatchObject({ status: 'completed', check: { ok: true } })
    expect(recorder.effects(decided.plan)).toHaveLength(20)
    await recorder.release('many')
    ground.remove()
  })
})

describe('a child that left its session', () => {
  // Appends for ever, in a session of its own; the first attempt never ends, the second looks whether anybody still writes.
  const plan = `
planfold: 1
name: orphan
tasks:
  - id: orphan
    effect: idempotent
    run: ${bash(`
      if [ "$PLANFOLD_ATTEMPT" = 1 ]; then
        setsid nohup bash -c 'echo $$ > child.pid; while :; do echo x >> grown.txt; sleep 0.05; done' >/dev/null 2>&1 &
        sleep 60
      fi
      stat -c %s grown.txt; sleep 0.2; stat -c %s grown.txt`)}
    outputs: { sizes: stdout }`

  const killedToo = [['after:2'], ['before:2', 'after:2', 'after:3']]
  const stages: readonly (readonly string[])[] = [[], ...someOf(killedToo, 1)]
  for (const between of stages) {
    const name = between.length === 0 ? '' : `, also when those who take over are killed at ${between.join(', ')}`
    test(`writes no more when the next attempt starts${name}`, async () => {
      const ground = new Ground(plan)
      const first = ground.drive()
      await until('the child', () => ground.has('grown.txt') && statSync(ground.path('grown.txt')).size > 4)
      const child = Number(ground.text('child.pid'))
      first.kill('SIGKILL')
      await first.end()
      expect(isRunning(child)).toBe(true)
      for (const at of between)
        expect((await ground.drive({ PLANFOLD_FAILPOINT: `store.commit:${at}` }).end()).signal).toBe('SIGKILL')
      const end = driverEnd(await successor.go('drive', ground))
      expect(end).toMatchObject({ status: 'completed', check: { ok: true } })
      expect(isRunning(child)).toBe(false)
      const again = ground.events('attempt.started').at(-1)!
      expect(again.attempt).toBeGreaterThan(1)
      expect(statSync(ground.path('grown.txt')).mtimeMs).toBeLessThanOrEqual(again.at + 1)
      const [before, after] = (end.outputs.orphan as { sizes: string }).sizes.split('\n')
      expect(after).toBe(before)
      ground.remove()
    })
  }
})
