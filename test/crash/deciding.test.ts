// `planfold approve` killed at each of its commits, before and after it: the decision is recorded once, or not at all and can be
// made again; what it releases happens once. And a gate that its checks decide, killed at every commit of who drives it.

import { afterEach, describe, expect, test } from 'vitest'
import { command } from './command.ts'
import { endAll, Ground, inParallel } from './harness.ts'
import { ALL } from './kill-points.ts'

const PLAN = `planfold: 1
name: gated
policy: { gates: { before: [] } }
tasks:
  - id: write
    run: [sh, -c, 'echo first >> trace.txt']
    effect: idempotent
  - id: tests
    needs: [write]
    gate: { type: tests, checks: [{ check: [test, -s, trace.txt] }] }
  - id: review
    needs: [tests]
    gate: { type: approval, count: 2 }
  - id: ship
    needs: [review]
    run: [sh, -c, 'echo shipped >> trace.txt']
    effect: idempotent
`

afterEach(endAll)

const as = (actor: string, env: Readonly<Record<string, string>> = {}) => ({ PLANFOLD_AS: actor, ...env })

/** Up to the gate that asks, and so many have voted. */
async function reached(votes: number): Promise<Ground> {
  const ground = new Ground(PLAN)
  expect((await command(ground, ['run', '../plan.yaml'])).code).toBe(4)
  if (votes === 1) expect((await command(ground, ['approve', 'gated', 'review'], as('ana'))).code).toBe(0)
  return ground
}

/** From wherever it stands to the end, whoever has approved already. */
async function finish(ground: Ground): Promise<void> {
  for (const actor of ['ana', 'bo']) {
    const voted = [...ground.events('gate.voted'), ...ground.events('gate.decided')].some(({ by }) => by === actor)
    const { code } = await command(ground, ['approve', 'gated', 'review'], as(actor))
    expect(code, `${actor} ${voted}`).toBe(voted ? 3 : 0)
  }
  expect((await command(ground, ['resume', 'gated'])).code).toBe(0)
  const decided = ground.events('gate.decided').map(({ task, verdict }) => `${task} ${verdict}`)
  expect(decided).toEqual(['tests approved', 'review approved'])
  expect(ground.events('gate.voted')).toHaveLength(1)
  expect(
    ground
      .text('trace.txt')
      .trim()
      .split('\n')
      .filter(line => line === 'shipped'),
  ).toHaveLength(1)
  if (ALL) expect((await command(ground, ['doctor', 'store', '--read-data'])).code).toBe(0)
  expect((await command(ground, ['audit', 'replay', 'gated'])).code).toBe(0)
  ground.remove()
}

describe('a decision', () => {
  const moments = ['before', 'after'].flatMap(moment => [1, 2, 3].map(k => ({ moment, k })))
  // One commit holds it; those behind it fire nothing, and all is as if nobody had killed anything.
  const points = ALL ? moments : moments.filter(({ k }) => k === 1)

  for (const votes of ALL ? [0, 1] : [1])
    test(`that is killed around its commit is recorded once (${votes} voted before)`, async () => {
      const template = await reached(votes)
      const kills = await inParallel(
        points.map(({ moment, k }) => async () => {
          const ground = template.copy()
          const env = as(votes === 1 ? 'bo' : 'ana', { PLANFOLD_FAILPOINT: `store.commit:${moment}:${k}` })
          const { signal, code } = await ground.planfold(['approve', 'gated', 'review', '-m', 'yes 界'], env).end()
          if (signal === null) expect(code).toBe(0)
          await finish(ground)
          return signal === 'SIGKILL' ? 1 : 0
        }),
      )
      expect(kills.reduce((sum: number, kill) => sum + kill, 0)).toBeGreaterThanOrEqual(2)
      template.remove()
    })
})

describe('a gate that its checks decide', () => {
  const all = ['before', 'after'].flatMap(moment => [3, 4, 5, 6, 7].map(k => `${moment}:${k}`))
  test('is decided once, wherever whoever drives it is killed', async () => {
    const kills = await inParallel(
      (ALL ? all : ['before:5', 'after:5']).map(at => async () => {
        const ground = new Ground(PLAN)
        const { signal } = await ground.runPlan({ PLANFOLD_FAILPOINT: `store.commit:${at}` }).end()
        expect((await command(ground, ['resume', 'gated'])).code).toBe(4)
        await finish(ground)
        return signal === 'SIGKILL' ? 1 : 0
      }),
    )
    expect(kills.reduce((sum: number, kill) => sum + kill, 0)).toBeGreaterThanOrEqual(2)
  })
})
