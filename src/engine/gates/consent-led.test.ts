// Consent for what a gate leads to by its outcomes, and for what was not all known when somebody approved.

import { describe, expect, it } from 'vitest'
import type { ShownGate } from '../../domain/gates/consent.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { gate, run, type Stage, stage } from './consent.fixture.ts'

const FILES = { 'x.sh': 'echo "went $1" >> $REC\n' }
const CHANGED = 'echo changed >> $REC\n'
const shownBy = async (on: Stage, task: string): Promise<ShownGate> =>
  JSON.parse(Buffer.from((await on.rooms.store.blobs.get((await on.hash(task)) as never))!).toString()) as ShownGate

const leading = (on: TaskDefinition['on'], more: object = {}): Partial<TaskDefinition> =>
  ({ ...gate('ok', more), on }) as Partial<TaskDefinition>
const ship = run('ship', ['sh', 'x.sh', 'ship'])

describe('a task that a gate leads to', () => {
  it.each(['approved', 'success'])('by %s is shown, and carried out as it was shown', async outcome => {
    const on = await stage({ tasks: [leading({ [outcome]: ['ship'] } as never), ship] }, FILES)
    await on.drive()
    const { tasks } = await shownBy(on, 'ok')
    expect(tasks.map(({ task, files }) => [task, files.map(({ path }) => path)])).toEqual([['ship', ['x.sh']]])
    await on.decide('ok')
    await on.drive()
    expect([on.done(), (await on.state()).status]).toEqual([['went ship'], 'completed'])
    on.close()
  })

  it('is asked about again when a file it names changed after the approval', async () => {
    const on = await stage({ tasks: [leading({ approved: ['ship'] } as never), ship] }, FILES)
    await on.drive()
    await on.decide('ok')
    on.write('x.sh', CHANGED)
    await on.drive()
    expect([on.done(), await on.asks('ship')]).toEqual([[], 'consent'])
    await on.decide('ship')
    await on.drive()
    expect(on.done()).toEqual(['changed'])
    on.close()
  })

  it('is bound as a whole group, and so is what has a high impact after it', async () => {
    const group = { id: 'both', action: { type: 'subplan', tasks: [run('a', ['sh', 'x.sh', 'a'])] } }
    const tasks = [
      leading({ approved: ['both'] } as never),
      group as never,
      run('push', ['sh', 'x.sh', 'p'], { needs: ['both'], kind: 'push' }),
    ]
    const on = await stage({ tasks }, FILES)
    await on.drive()
    expect((await shownBy(on, 'ok')).tasks.map(({ task }) => task)).toEqual(['both/a', 'push'])
    on.close()
  })

  it('once more is asked about by itself: it is another visit', async () => {
    const tasks = [
      { ...leading({ approved: ['ship'] } as never), visits: 2 },
      { ...ship, on: { success: ['ok'] } } as never,
    ]
    const on = await stage({ tasks }, FILES)
    await on.drive()
    await on.decide('ok')
    await on.drive()
    expect(await shownBy(on, 'ok')).toMatchObject({ tasks: [], later: ['ship'] })
    await on.decide('ok')
    await on.drive()
    expect([on.done(), await on.asks('ship')]).toEqual([['went ship'], 'consent'])
    on.close()
  })
})

describe('a decision', () => {
  const options = [
    { id: 'here', title: 'Here' },
    { id: 'there', title: 'There' },
  ]
  const tasks = [
    leading({ here: ['ship'], there: ['send'] } as never, { gate: 'decision', options }),
    ship,
    run('send', ['sh', 'x.sh', 'send']),
  ]
  const chosen = async (on: Stage, option: string): Promise<void> => {
    await on.drive()
    const order = { type: 'decide', task: 'ok', verdict: 'chosen', option, rationale: '' } as never
    expect((await on.engine.submit(on.plan, order)).ok).toBe(true)
  }

  it('shows where each option leads, and what was chosen is carried out as it was shown', async () => {
    const on = await stage({ tasks }, FILES)
    await on.drive()
    expect(await shownBy(on, 'ok')).toMatchObject({
      leads: [
        { outcome: 'here', to: ['ship'] },
        { outcome: 'there', to: ['send'] },
      ],
      tasks: [{ task: 'ship' }, { task: 'send' }],
    })
    await chosen(on, 'there')
    await on.drive()
    expect(on.done()).toEqual(['went send'])
    // Nobody has agreed to what was not chosen.
    expect((await on.state()).tasks.get('ship' as never)?.consent).toBe(null)
    on.close()
  })

  it('is for what was shown: what changed since is asked about', async () => {
    const on = await stage({ tasks }, FILES)
    await chosen(on, 'here')
    on.write('x.sh', CHANGED)
    await on.drive()
    expect([on.done(), await on.asks('ship')]).toEqual([[], 'consent'])
    on.close()
  })
})

describe('what was not all known when it was approved', () => {
  it('is asked about again once it is', async () => {
    const tasks = [
      gate('ok'),
      gate('q', { gate: 'question', question: 'Which?' }),
      run('go', ['sh', 'x.sh', '${{ tasks.q.outputs.answer }}'], { needs: ['ok', 'q'] }),
    ]
    const on = await stage({ tasks }, FILES)
    await on.drive()
    expect((await shownBy(on, 'ok')).tasks[0]!.open).not.toBe(null)
    await on.decide('ok')
    const order = { type: 'decide', task: 'q', verdict: 'answered', answers: { answer: 'x' }, rationale: '' } as never
    expect((await on.engine.submit(on.plan, order)).ok).toBe(true)
    await on.drive()
    expect([on.done(), await on.asks('go')]).toEqual([[], 'consent'])
    expect((await on.state()).tasks.get('go' as never)?.gate?.asks).toMatchObject({
      why: 'its approval is no longer valid: not all of it was known when it was approved',
    })
    await on.decide('go')
    await on.drive()
    expect(on.done()).toEqual(['went x'])
    on.close()
  })
})
