// Who may decide about a task, or pass over it: also by commands that are no answer to a gate.

import { describe, expect, it } from 'vitest'
import { external, Journal, name, numberedSha, plan, started, task } from '../../testing/index.ts'
import type { Approvers, PlanDefinition, TaskDefinition } from '../plan.ts'
import { taskOf } from '../state/evolve.ts'
import { AuditReader } from '../views/audit.ts'
import { handoff } from '../views/handoff.ts'
import { releasedByRevising } from './gate-bypass.ts'
import { decided, refusal } from './gates.fixture.ts'

const gate = (id: string, approvers?: Approvers, needs: readonly string[] = []): TaskDefinition =>
  task(id, { needs, action: { type: 'gate', gate: 'approval', ...(approvers && { approvers }) } })
const LEAD = { role: 'lead' } as const
const ROLES = { roles: { lead: ['ana', 'bo'] } }
const skip = (id: string, by?: string) =>
  ({ type: 'skip', task: name(id), reason: 'in a hurry', ...(by === undefined ? {} : { by }) }) as const
const retry = (id: string, by: string) => ({ type: 'retry', task: name(id), by }) as const

describe('reviewers of a plan', () => {
  const reviewed: Partial<PlanDefinition> = {
    reviewers: ['ana'],
    policy: { roles: { reviewer: ['eve'], lead: ['bo'] } },
  }

  it('alone answer a gate with the role reviewer, whatever the plan claims about an approval', () => {
    const journal = started(plan('p', gate('go', { role: 'reviewer' }), { ...reviewed, approval: { by: ['eve'] } }))
    journal.ask('go')
    expect(journal.status('go')).toBe('waiting')
    expect(refusal(journal, decided('go', 'approved', { by: 'eve' }))).toMatchObject({
      message: "only the role 'reviewer' (ana) may decide about 'go'; you are 'eve'",
    })
    journal.must(decided('go', 'approved', { by: 'ana' }))
    expect(journal.status('go')).toBe('completed')
  })

  it('cannot be changed around a gate that waits', () => {
    const before = plan('p', gate('go', { role: 'reviewer' }), external('ship', { needs: ['go'] }), reviewed)
    const now = { definition: before, statuses: new Map(), approved: new Set<never>() }
    expect(releasedByRevising(now as never, { ...before, reviewers: ['eve'] })).toMatchObject({ part: 'roles' })
    expect(releasedByRevising(now as never, { ...before, impacted: ['all'] })).toBeNull()
  })
})

describe('passing over a gate', () => {
  const guarded = plan('p', gate('go', LEAD), external('ship', { needs: ['go'] }), { policy: ROLES })

  it('is for whoever has its role, whether it asks already, not yet, or was rejected', () => {
    const no = {
      code: 'not-allowed',
      message: "only the role 'lead' (ana, bo) may decide about 'go'; you are 'eve'",
      hint: 'ask ana, bo',
    }
    const journal = started(guarded)
    expect(refusal(journal, skip('go', 'eve'))).toMatchObject(no)
    journal.ask('go')
    expect(refusal(journal, skip('go', 'eve'))).toMatchObject(no)
    journal.must(decided('go', 'rejected'))
    expect(refusal(journal, skip('go', 'eve'))).toMatchObject(no)
    journal.must(skip('go', 'bo'))
    expect(journal.statuses()).toEqual({ go: 'skipped', ship: 'ready' })
  })

  it('is so before the plan is started, and with the group the gate stands in', () => {
    const draft = new Journal().create(guarded)
    expect(refusal(draft, skip('go', 'eve')).code).toBe('not-allowed')
    const tasks = [gate('go', LEAD), external('a', { needs: ['go'] })]
    const inside = plan('p', task('all', { action: { type: 'subplan', tasks } }), { policy: ROLES })
    const journal = started(inside)
    expect(refusal(journal, skip('all', 'eve')).code).toBe('not-allowed')
    journal.must(skip('all', 'ana'))
    expect(journal.status('all/go')).toBe('skipped')
  })

  it('is for nobody alone where several must approve', () => {
    const journal = started(plan('p', gate('go', { ...LEAD, count: 2 }), { policy: ROLES }))
    expect(refusal(journal, skip('go', 'ana'))).toMatchObject({
      code: 'not-allowed',
      message: "2 people must approve 'go', so one person cannot skip it",
    })
  })

  it('is for anybody where no role is named, and in journals that do not say who asked', () => {
    const free = started(plan('p', gate('go')))
    free.must(skip('go', 'eve'))
    const old = started(guarded)
    expect(old.must(skip('go'))[0]).toEqual({ type: 'task.skipped', task: 'go', reason: 'in a hurry' })
  })

  it('is a decision for whoever reads of it later; what no outcome led to was decided by nobody', () => {
    const journal = started(plan('p', gate('go', LEAD), external('a'), { policy: ROLES }))
    journal.must(skip('go', 'bo'))
    journal.must(skip('a', 'bo'))
    const reader = new AuditReader(() => numberedSha(1))
    const entries = journal.entries.map(entry => ({ ...entry, hash: numberedSha(entry.version) }))
    const told = entries.flatMap(entry => reader.read(entry)).filter(({ type }) => type === 'task.skipped')
    expect(told.map(({ kind, text }) => [kind, text])).toEqual([
      ['decision', 'go skipped by bo: in a hurry'],
      ['task', 'a skipped by bo: in a hurry'],
    ])
    expect(handoff(entries).decisions).toMatchObject([
      { task: 'go', by: 'bo', verdict: 'skipped', rationale: 'in a hurry' },
    ])
  })
})

describe('a task that needs the consent of a role', () => {
  const deploys = plan('p', task('ship', { kind: 'deploy' }), {
    policy: { ...ROLES, gates: { approvers: LEAD } },
  })
  const SEEN = numberedSha(7)
  const found = (journal: Journal) =>
    journal.turn({
      prepared: [{ task: name('ship'), visit: 1, prepared: { consent: { from: journal.state.hash, hash: SEEN } } }],
    })

  /** Approved, begun, and nobody knows how it ended. */
  function parked(definition: PlanDefinition = deploys): Journal {
    const journal = started(definition)
    found(journal)
    journal.must(decided('ship', 'approved'))
    found(journal)
    journal.must({ type: 'recover', reason: 'its process died' })
    expect(taskOf(journal.state, name('ship')).gate?.asks.type).toBe('unknown-outcome')
    return journal
  }

  it('is passed over by that role only, before and while it asks', () => {
    const journal = started(deploys)
    expect(refusal(journal, skip('ship', 'eve')).code).toBe('not-allowed')
    found(journal)
    expect(refusal(journal, skip('ship', 'eve')).code).toBe('not-allowed')
    journal.must(skip('ship', 'ana'))
  })

  it('is judged by that role only, when nobody knows how it ended', () => {
    const journal = parked()
    for (const verdict of ['done', 'again', 'rejected'] as const)
      expect(refusal(journal, decided('ship', verdict, { by: 'eve' })).code).toBe('not-allowed')
    expect(refusal(journal, retry('ship', 'eve')).code).toBe('not-allowed')
    expect(refusal(journal, skip('ship', 'eve')).code).toBe('not-allowed')
    journal.must(decided('ship', 'done', { by: 'bo' }))
    expect(journal.status('ship')).toBe('completed')
  })

  it('asks again when it is to be done again: the approval was used', () => {
    const journal = parked()
    const reason = 'an attempt with unknown outcome used it'
    expect(journal.must(retry('ship', 'bo'))).toContainEqual({ type: 'consent.voided', task: 'ship', reason })
    expect(found(journal)).toMatchObject([
      { type: 'gate.opened', asks: { type: 'consent', why: `it deploys; its approval is no longer valid: ${reason}` } },
    ])
    journal.must(decided('ship', 'approved', { by: 'bo' }))
    expect(found(journal)).toMatchObject([{ type: 'attempt.started', attempt: 2 }])
  })

  it('is judged by anybody where no role is named', () => {
    const journal = parked(plan('p', task('ship', { kind: 'deploy' })))
    journal.must(decided('ship', 'rejected', { by: 'eve' }))
    expect(journal.status('ship')).toBe('failed')
  })
})

describe('a failure about which one is asked', () => {
  const failed = (to?: string): Journal => {
    const recover = [{ do: { type: 'ask', ...(to === undefined ? {} : { to }) } }] as const
    const journal = started(plan('p', task('a', { recover }), { policy: ROLES }))
    journal.fail('a')
    expect(journal.status('a')).toBe('waiting')
    return journal
  }

  it('is answered by that role or name only', () => {
    for (const [to, who] of [
      ['lead', 'bo'],
      ['cy', 'cy'],
    ] as const) {
      const journal = failed(to)
      for (const verdict of ['again', 'skipped', 'rejected'] as const)
        expect(refusal(journal, decided('a', verdict, { by: 'eve' })).code).toBe('not-allowed')
      expect(refusal(journal, retry('a', 'eve')).code).toBe('not-allowed')
      expect(refusal(journal, skip('a', 'eve')).code).toBe('not-allowed')
      journal.must(retry('a', who))
      expect(journal.status('a')).toBe('ready')
    }
  })

  it('is answered by anybody where nobody is named', () => {
    const journal = failed()
    journal.must(retry('a', 'eve'))
  })
})

describe('a name', () => {
  it('is the same however it is written: it is no second vote, and has the same role', () => {
    const journal = started(
      plan('p', gate('go', { ...LEAD, count: 2 }), { policy: { roles: { lead: ['Ána', 'bo'] } } }),
    )
    journal.ask('go')
    journal.must(decided('go', 'approved', { by: 'ána' }))
    for (const by of ['ána ', 'ÁNA', 'A\u0301na'])
      expect(refusal(journal, decided('go', 'approved', { by })).message).toBe(`'${by}' has approved 'go' already`)
    journal.must(decided('go', 'approved', { by: 'BO' }))
    expect(journal.status('go')).toBe('completed')
  })
})
