// Nothing is executed that nobody has agreed to: an approval is for one visit of a task as it was shown, and for a time. Every case
// approves, changes one thing, and then asks the file that the command itself writes.

import { describe, expect, it } from 'vitest'
import type { PlanDefinition } from '../../domain/plan.ts'
import { changed, gate, run, type Stage, stage } from './consent.fixture.ts'

const SCRIPT = 'echo "went $1 $WORD in $(basename "$PWD")" >> $REC\n'
const FILES = { 'x.sh': SCRIPT, 'sub/x.sh': SCRIPT, 'sub/keep': '', 'made.txt': 'made\n' }

/** Approved and not begun: `go` needs the gate, and what it says comes from `pre`. */
async function approved(more: object = {}, policy: PlanDefinition['policy'] = {}): Promise<Stage> {
  const on = await stage(
    {
      policy,
      tasks: [
        run('pre', ['sh', '-c', 'cat word'], { outputs: { word: { from: 'stdout', as: 'text' } }, effect: 'pure' }),
        { ...gate('ok', more), needs: ['pre'] as never },
        run('go', ['sh', 'x.sh', '${{ tasks.pre.outputs.word }}'], { needs: ['ok', 'pre'], env: { WORD: 'one' } }),
      ],
    },
    { ...FILES, word: 'first' },
  )
  await on.drive()
  expect(await on.asks('ok')).toBe('approval')
  expect(await on.decide('ok', { hash: (await on.hash('ok'))! })).toBe('ok')
  return on
}

describe('what was approved', () => {
  it('is carried out, once', async () => {
    const on = await approved()
    await on.drive()
    expect(on.done()).toEqual(['went first one in work'])
    expect((await on.state()).status).toBe('completed')
    on.close()
  })
})

const mutations: readonly (readonly [string, (on: Stage) => unknown])[] = [
  ['the script on disk', on => on.write('x.sh', `${SCRIPT}echo more >> $REC\n`)],
  ['the arguments', on => on.revise(changed('go', () => run('go', ['sh', 'x.sh', 'other'])))],
  ['an output it is given', on => reread(on)],
  ['the environment', on => on.revise(changed('go', () => ({ env: { WORD: 'two' } })))],
  ['the folder it runs in', on => on.revise(changed('go', () => ({ cwd: 'sub' })))],
  ['the policy', on => on.revise(definition => ({ ...definition, policy: { network: ['example.com'] } }))],
  ['another task of the plan', on => on.revise(changed('pre', () => ({ title: 'Read it' })))],
  ['nothing but the time', on => on.later(25 * 60 * 60_000)],
]

/** `pre` is done again and says something else. */
async function reread(on: Stage): Promise<void> {
  on.write('word', 'second')
  const again = await on.engine.submit(on.plan, { type: 'retry', task: 'pre' as never })
  if (!again.ok) throw new Error(again.refusal.message)
}

describe('an approval is void, nothing is executed and it is asked again, when there changes', () => {
  it.each(mutations)('%s', async (_, mutate) => {
    const on = await approved()
    await mutate(on)
    await on.drive()
    expect(on.done()).toEqual([])
    const asked = (await on.asks('ok')) === null ? 'go' : 'ok'
    const gates = (await on.events()).filter(event => event.type === 'gate.decided')
    expect(gates).toHaveLength(1)
    // Asked again and approved as it is now, it goes on.
    expect(await on.asks(asked)).toBe(asked === 'go' ? 'consent' : 'approval')
    expect(await on.decide(asked, { hash: (await on.hash(asked))! })).toBe('ok')
    await on.drive()
    expect(on.done().length).toBeGreaterThan(0)
    on.close()
  })
})

describe('an answer', () => {
  it('with the hash of something else is refused, and nothing is executed', async () => {
    const on = await stage({ tasks: [gate('ok'), run('go', ['sh', 'x.sh'], { needs: ['ok'] })] }, FILES)
    await on.drive()
    const seen = (await on.hash('ok'))!
    on.write('x.sh', 'echo changed >> $REC\n')
    await on.revise(changed('go', () => ({ title: 'Go' })))
    await on.drive()
    expect(await on.hash('ok')).not.toBe(seen)
    expect(await on.decide('ok', { hash: seen })).toBe('conflict')
    await on.drive()
    expect(on.done()).toEqual([])
    expect((await on.events()).filter(event => event.type === 'gate.decided')).toEqual([])
    on.close()
  })

  it('that is given again changes nothing: one decision, one execution', async () => {
    const on = await approved()
    expect(await on.decide('ok')).toBe('not-ready')
    await on.drive()
    expect(await on.decide('ok')).not.toBe('ok')
    await on.drive()
    expect(on.done()).toHaveLength(1)
    expect((await on.events()).filter(event => event.type === 'gate.decided')).toHaveLength(1)
    on.close()
  })

  it('after the plan was cancelled is refused, and what was approved before is not begun', async () => {
    const on = await approved()
    await on.engine.submit(on.plan, { type: 'cancel' })
    expect(await on.decide('ok')).not.toBe('ok')
    await on.drive()
    expect(on.done()).toEqual([])
    on.close()
    const asking = await stage({ tasks: [gate('ok'), run('go', ['sh', 'x.sh'], { needs: ['ok'] })] }, FILES)
    await asking.drive()
    await asking.engine.submit(asking.plan, { type: 'cancel' })
    expect(await asking.decide('ok')).not.toBe('ok')
    await asking.drive()
    expect(asking.done()).toEqual([])
    expect((await asking.events()).filter(event => event.type === 'gate.decided')).toEqual([])
    asking.close()
  })

  it('that two people give at once is one decision', async () => {
    const on = await stage({ tasks: [gate('ok'), run('go', ['sh', 'x.sh'], { needs: ['ok'] })] }, FILES)
    await on.drive()
    const hash = (await on.hash('ok'))!
    const said = await Promise.all(['ana', 'bo', 'cy'].map(async by => await on.decide('ok', { hash, by })))
    expect(said.filter(answer => answer === 'ok')).toHaveLength(1)
    await on.drive()
    expect(on.done()).toHaveLength(1)
    expect((await on.events()).filter(event => event.type === 'gate.decided')).toHaveLength(1)
    on.close()
  })

  it('for one visit is none for the next', async () => {
    const on = await stage(
      {
        tasks: [
          gate('ok'),
          run('go', ['sh', 'x.sh'], { needs: ['ok'], on: { success: ['more'] }, visits: 5 }),
          run('more', ['true']),
        ],
      },
      FILES,
    )
    await on.drive()
    await on.decide('ok')
    await on.drive()
    expect(on.done()).toHaveLength(1)
    const again = await on.engine.submit(on.plan, { type: 'retry', task: 'go' as never })
    expect(again.ok ? 'ok' : again.refusal.message).toBe('ok')
    await on.drive()
    expect(on.done()).toHaveLength(1)
    expect(await on.asks('go')).toBe('consent')
    on.close()
  })
})

describe('between the turn that begins it and the runner', () => {
  it.each<readonly [string, (on: Stage) => unknown]>([
    ['the script changes', on => on.write('x.sh', 'echo changed >> $REC\n')],
    ['the plan is revised', on => on.revise(changed('pre', () => ({ title: 'Read' })))],
    ['the approval runs out', on => on.later(25 * 60 * 60_000)],
  ])('%s: nothing is executed, no retry is spent, and it is asked again', async (_, mutate) => {
    const on = await approved()
    on.onBegun('go', async () => void (await mutate(on)))
    await on.drive()
    expect(on.done()).toEqual([])
    const go = (await on.state()).tasks.get('go' as never)!
    expect([go.status, go.failures, go.attempt, go.consent]).toEqual(['waiting', 0, 1, null])
    const failed = (await on.events()).flatMap(event => (event.type === 'attempt.failed' ? [event.result.failure] : []))
    expect(failed.map(({ class: kind, code }) => [kind, code])).toEqual([['policy', 'consent']])
    expect(await on.asks('go')).toBe('consent')
    await on.decide('go')
    await on.drive()
    expect(on.done()).toHaveLength(1)
    expect((await on.state()).status).toBe('completed')
    expect(await on.engine.ask({ type: 'replay', plan: on.plan })).toMatchObject({ ok: true })
    on.close()
  })
})

describe('what is hard to take back', () => {
  const deploy = (more: object = {}) => run('ship', ['sh', 'x.sh'], { kind: 'deploy', ...more })

  it('is not begun before somebody agrees, gate or not', async () => {
    const on = await stage({ tasks: [deploy()] }, FILES)
    await on.drive()
    expect([on.done(), await on.asks('ship')]).toEqual([[], 'consent'])
    on.write('x.sh', 'echo changed >> $REC\n')
    await on.decide('ship')
    await on.drive()
    expect([on.done(), await on.asks('ship')]).toEqual([[], 'consent'])
    await on.decide('ship')
    await on.drive()
    expect(on.done()).toEqual(['changed'])
    on.close()
  })

  it('is not asked about again when a gate before it has approved exactly this', async () => {
    const on = await stage(
      { tasks: [gate('ok'), run('build', ['true'], { needs: ['ok'] }), deploy({ needs: ['build'] })] },
      FILES,
    )
    await on.drive()
    await on.decide('ok')
    await on.drive()
    expect([on.done().length, (await on.state()).status]).toEqual([1, 'completed'])
    on.close()
  })

  it('is asked about when its turn comes, when the gate could not know what it would be', async () => {
    const on = await stage(
      {
        tasks: [
          gate('ok'),
          run('build', ['sh', '-c', 'cat word'], { needs: ['ok'], outputs: { word: { from: 'stdout', as: 'text' } } }),
          run('ship', ['sh', 'x.sh', '${{ tasks.build.outputs.word }}'], { kind: 'deploy', needs: ['build'] }),
        ],
      },
      { ...FILES, word: 'v2' },
    )
    await on.drive()
    await on.decide('ok')
    await on.drive()
    expect([on.done(), await on.asks('ship')]).toEqual([[], 'consent'])
    await on.decide('ship')
    await on.drive()
    expect(on.done()).toHaveLength(1)
    on.close()
  })

  it('is begun at once where the policy asks before nothing, and never where it demands a gate', async () => {
    const off = await stage({ tasks: [deploy()], policy: { gates: { before: [] } } }, FILES)
    await off.drive()
    expect(off.done()).toHaveLength(1)
    off.close()
    const extra = { policies: { requireGateForProd: true } }
    const demanded = await stage({ tasks: [deploy()], policy: { gates: { before: [] } }, extra }, FILES)
    await demanded.drive()
    expect([demanded.done(), await demanded.asks('ship')]).toEqual([[], 'consent'])
    demanded.close()
  })

  it('is decided by whom the policy names, whoever approved at a gate before', async () => {
    const policy = { gates: { approvers: { role: 'lead' } }, roles: { lead: ['lea'] } }
    const on = await stage({ policy, tasks: [gate('ok'), deploy({ needs: ['ok'] })] }, FILES)
    await on.drive()
    await on.decide('ok')
    await on.drive()
    expect([on.done(), await on.asks('ship'), await on.decide('ship')]).toEqual([[], 'consent', 'not-allowed'])
    expect(await on.decide('ship', { by: 'lea' })).toBe('ok')
    await on.drive()
    expect(on.done()).toHaveLength(1)
    on.close()
  })
})

describe('a review of what was written', () => {
  const write = (id: string, text: string, more: object = {}) =>
    run(id, ['sh', '-c', `printf '${text}' > made.txt`], { write: ['made.txt'], network: [], ...more })
  it('holds for the files as they were seen', async () => {
    const on = await stage(
      {
        tasks: [
          write('make', 'a'),
          { ...gate('ok', { gate: 'diff' }), needs: ['make'] },
          run('go', ['sh', 'x.sh'], { needs: ['ok'] }),
        ] as never,
      },
      FILES,
    )
    await on.drive()
    await on.decide('ok')
    on.write('made.txt', 'somebody else')
    await on.drive()
    expect([on.done(), await on.asks('go')]).toEqual([[], 'consent'])
    await on.decide('go')
    await on.drive()
    expect(on.done()).toHaveLength(1)
    on.close()
  })

  it('lets a task that was approved in it change them', async () => {
    const on = await stage(
      {
        tasks: [
          write('make', 'a'),
          { ...gate('ok', { gate: 'diff' }), needs: ['make'] },
          write('also', 'b', { needs: ['ok'] }),
          run('go', ['sh', 'x.sh'], { needs: ['ok', 'also'] }),
        ] as never,
      },
      FILES,
    )
    await on.drive()
    await on.decide('ok')
    await on.drive()
    expect([on.done().length, await on.asks('go')]).toEqual([1, null])
    on.close()
  })
})
