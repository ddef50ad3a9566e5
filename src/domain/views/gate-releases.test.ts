// What a gate says it releases: only what waits for nobody else.

import { describe, expect, it } from 'vitest'
import { create, external, gate, Journal, name, numberedSha, plan, task } from '../../testing/index.ts'
import type { GateAsks } from '../event.ts'
import type { TaskName } from '../id.ts'
import type { TaskDefinition } from '../plan.ts'
import { releasesOf } from './gate-releases.ts'
import { inboxOf } from './inbox.ts'
import { summary } from './summary.ts'

const ASKS: GateAsks = { type: 'approval', show: [] }

/** Started, with these gates open. */
function asking(tasks: readonly TaskDefinition[], ...gates: readonly string[]): Journal {
  const journal = new Journal()
  journal.must(create(plan('p', ...tasks)))
  journal.must({ type: 'start', rules: 4 })
  for (const one of gates) open(journal, one)
  return journal
}
const open = (journal: Journal, one: string, binds: { readonly [task: string]: ReturnType<typeof numberedSha> } = {}) =>
  journal.believe([{ type: 'gate.opened', task: name(one), asks: ASKS, hash: numberedSha(7), binds } as never])
const at = (journal: Journal, one: string) => releasesOf(journal.state, journal.state.tasks.get(name(one))!)

describe('a gate', () => {
  const two = [
    gate('g1'),
    gate('g2'),
    task('alone', { needs: ['g1'] }),
    task('both', { needs: ['g1', 'g2'] }),
    external('agent', { needs: ['g1'] }),
    task('later', { needs: ['both'] }),
  ]

  it('releases what it alone holds back; what another gate holds too also waits for that', () => {
    const journal = asking(two, 'g1', 'g2')
    expect(at(journal, 'g1')).toEqual({ begins: ['alone', 'agent'], waits: [{ task: 'both', for: ['g2'] }], more: 0 })
    expect(at(journal, 'g2')).toEqual({ begins: [], waits: [{ task: 'both', for: ['g1'] }], more: 0 })
  })

  it('alone holds back what the other was asked about, once that is answered', () => {
    const journal = asking(two, 'g1', 'g2')
    journal.must({ type: 'decide', task: name('g2'), verdict: 'approved', rationale: '', by: 'ana' })
    expect(at(journal, 'g1')).toMatchObject({ begins: ['alone', 'both', 'agent'], waits: [] })
    expect(at(journal, 'g2')).toBeNull()
  })

  it('names tasks that must end first, and gates before them', () => {
    const journal = asking(
      [
        gate('g1'),
        gate('g2'),
        task('a', { needs: ['g2'] }),
        task('b', { needs: ['a'] }),
        task('t', { needs: ['g1', 'b'] }),
      ],
      'g1',
    )
    expect(at(journal, 'g1')?.waits).toEqual([{ task: 't', for: ['b', 'g2'] }])
  })

  it('that agrees to a task further on says what comes before it', () => {
    const journal = asking([gate('g1'), task('build', { needs: ['g1'] }), task('ship', { needs: ['build'] })])
    open(journal, 'g1', { ship: numberedSha(8) })
    expect(at(journal, 'g1')).toEqual({ begins: ['build'], waits: [{ task: 'ship', for: ['build'] }], more: 0 })
  })

  it('that asks a question names what begins behind it, also where its answer leads', () => {
    const question = gate('q', { on: { success: ['led' as TaskName] } })
    const asked = { ...question, action: { type: 'gate', gate: 'question', question: 'which?' } } as TaskDefinition
    const journal = asking([asked, task('a', { needs: ['q'] }), task('led')], 'q')
    expect(at(journal, 'q')?.begins).toEqual(['a', 'led'])
  })

  it('is told the same in the summary and in the inbox; other questions release nothing', () => {
    const journal = asking(two, 'g1')
    const told = at(journal, 'g1')
    expect(summary(journal.state).waiting[0]?.releases).toEqual(told)
    expect(inboxOf(journal.state)[0]?.releases).toEqual(told)
    expect(releasesOf(journal.state, journal.state.tasks.get(name('alone'))!)).toBeNull()
  })

  it('with very many behind it counts those it does not name', () => {
    const many = Array.from({ length: 5_000 }, (_, index) => task(`t${index}`, { needs: ['g1', 'g2'] }))
    const journal = asking([gate('g1'), gate('g2'), ...many], 'g1')
    const told = at(journal, 'g1')!
    expect([told.begins.length, told.waits.length, told.more]).toEqual([0, 100, 4_900])
  })
})
