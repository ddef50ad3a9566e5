// Proposed revisions, the rounds of `converge`, and a plan that takes all files back when it fails.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { edit, gate, Journal, name, numberedSha, plan, START, task } from '../../testing/index.ts'
import type { Command, CommandOf, RollbackOutcome } from '../command.ts'
import type { Event, Proposal } from '../event.ts'

import { nextActions } from '../next-actions.ts'
import type { PlanDefinition, Policy } from '../plan.ts'
import { convergenceOf, keepAddedTasks, withFixes } from '../views/convergence.ts'
import { fateWords, proposalsOf } from '../views/proposals.ts'

/** Built so, because an object literal with this key is taken for a promise by the linter. */
const giveUp = (how: 'rollback' | 'keep') => ({ type: 'abort', with: how }) as const
const types = (events: readonly Event[]) => events.map(({ type }) => type)

function begin(definition: PlanDefinition): Journal {
  const journal = new Journal().create(definition)
  journal.must(START)
  journal.turn()
  return journal
}

function refusal(journal: Journal, command: Command): { readonly code: string; readonly message: string } {
  const decided = journal.submit(command)
  if (decided.ok) throw new Error(`'${command.type}' was not refused`)
  return decided.refusal
}

const proposal = (definition: PlanDefinition, more: Partial<Proposal> = {}): Proposal => ({
  id: 'p1',
  definition,
  hash: numberedSha(2),
  base: numberedSha(1),
  rationale: 'better',
  by: 'ana',
  ...more,
})
const propose = (definition: PlanDefinition, more: Partial<Proposal> = {}): Command => ({
  type: 'propose',
  ...proposal(definition, more),
})
const judge = (verdict: 'accepted' | 'declined', more: Partial<CommandOf<'judge'>> = {}): Command => ({
  type: 'judge',
  id: 'p1',
  hash: numberedSha(2),
  verdict,
  rationale: 'looked at it',
  by: 'bo',
  ...more,
})

const two = (policy?: Policy) =>
  plan('p', task('a'), task('b', { needs: ['a'] }), policy === undefined ? {} : { policy })
const three = (policy?: Policy) =>
  plan('p', task('a'), task('b', { needs: ['a'] }), task('c'), policy === undefined ? {} : { policy })

describe('a proposal', () => {
  it('changes nothing until somebody accepts it; what runs carries on', () => {
    const journal = begin(two())
    expect(types(journal.must(propose(three())))).toEqual(['revision.proposed'])
    expect(journal.statuses()).toEqual({ a: 'running', b: 'pending' })
    const events = journal.must(judge('accepted'))
    expect(events[0]).toMatchObject({ type: 'plan.revised', revision: 2, hash: numberedSha(2), proposal: 'p1' })
    expect(journal.statuses()).toEqual({ a: 'running', b: 'pending', c: 'ready' })
    expect(journal.state.proposals).toEqual([])
  })

  it('is agreed to as it was seen, and as nothing else', () => {
    const journal = begin(two())
    journal.must(propose(three()))
    expect(refusal(journal, judge('accepted', { hash: numberedSha(7) })).code).toBe('conflict')
    expect(journal.state.revision).toBe(1)
  })

  it('is void when the plan has become another one, and that is told', () => {
    const journal = begin(two())
    journal.must(propose(three()))
    journal.must({ type: 'revise', definition: plan('p', task('a')), hash: numberedSha(3), rationale: 'smaller' })
    expect(refusal(journal, judge('accepted')).code).toBe('not-found')
    expect(proposalsOf(journal.entries).map(fateWords)).toEqual([
      'proposal p1 is void: it was made for revision 1, and the plan became revision 2 meanwhile',
    ])
    expect(refusal(journal, propose(three())).code).toBe('conflict')
  })

  it('that is declined leaves the plan as it was, with who and why', () => {
    const journal = begin(two())
    journal.must(propose(three()))
    expect(journal.must(judge('declined'))).toEqual([
      { type: 'revision.declined', id: 'p1', by: 'bo', rationale: 'looked at it' },
    ])
    expect(proposalsOf(journal.entries)[0]?.fate).toMatchObject({ status: 'declined', by: 'bo' })
    expect(refusal(journal, judge('accepted')).code).toBe('not-found')
  })

  it('takes effect at once where the policy says auto, and is refused where it says never', () => {
    const auto = begin(two({ replan: 'auto' }))
    expect(types(auto.must(propose(three({ replan: 'auto' })))).slice(0, 2)).toEqual([
      'revision.proposed',
      'plan.revised',
    ])
    const never = begin(two({ replan: 'never' }))
    expect(refusal(never, propose(three())).message).toContain('takes no proposals')
  })

  it('that could not take effect is refused when it is made, not when it is accepted', () => {
    const journal = begin(two({ replan: 'auto' }))
    expect(refusal(journal, propose(plan('p', task('b')))).message).toContain("removes 'a', which is running")
    expect(refusal(journal, propose(plan('p', task('a', { needs: ['x'] })))).code).toBe('unknown-reference')
    expect(refusal(journal, propose(plan('q', task('a')))).code).toBe('invalid')
    expect(journal.state.proposals).toEqual([])
  })

  it('is decided by whoever has the role', () => {
    const policy = { gates: { approvers: { role: 'lead' } }, roles: { lead: ['cy'] } }
    const journal = begin(two(policy))
    journal.must(propose(three(policy)))
    expect(refusal(journal, judge('accepted')).code).toBe('not-allowed')
    expect(refusal(journal, judge('declined')).code).toBe('not-allowed')
    journal.must(judge('accepted', { by: 'cy' }))
    expect(journal.state.revision).toBe(2)
  })
})

describe('however people propose, revise and decide at once', () => {
  const step = fc.record({
    what: fc.constantFrom('propose', 'accept', 'decline', 'revise'),
    which: fc.integer({ min: 0, max: 5 }),
    seen: fc.integer({ min: 0, max: 5 }),
  })
  const definitionOf = (which: number) => plan('p', task('a'), task(`t${which}`))

  it('what takes effect is what was proposed and seen, for the definition it was made for, once', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, fromStale) => {
        const journal = begin(plan('p', task('a')))
        let made = 0
        for (const { what, which, seen } of steps) {
          const { hash: base, proposals } = journal.state
          const chosen = proposals[which % Math.max(1, proposals.length)]
          const hash = numberedSha(10 + which)
          if (what === 'propose') {
            const on = fromStale && seen === 0 ? numberedSha(1) : base
            journal.submit(propose(definitionOf(which), { id: `p${++made}`, hash, base: on }))
          } else if (what === 'revise')
            journal.submit({ type: 'revise', definition: definitionOf(which), hash, rationale: 'r' })
          else {
            const as = what === 'accept' ? 'accepted' : 'declined'
            const looked = seen < 4 ? (chosen?.hash ?? hash) : numberedSha(10 + seen)
            journal.submit(judge(as, { id: chosen?.id ?? `p${which}`, hash: looked }))
          }
        }
        let current: string = numberedSha(1)
        const open = new Map<string, { hash: string; base: string }>()
        for (const { command, events } of journal.entries) {
          for (const event of events) {
            if (event.type === 'revision.proposed') {
              expect(event.base).toBe(current)
              open.set(event.id, event)
            }
            if (event.type === 'revision.declined') open.delete(event.id)
            if (event.type !== 'plan.revised') continue
            if (event.proposal !== undefined) {
              expect(open.get(event.proposal)).toMatchObject({ hash: event.hash, base: current })
              expect(command).toMatchObject({ type: 'judge', verdict: 'accepted', hash: event.hash })
            }
            open.clear()
            current = event.hash
          }
        }
        expect(journal.state.proposals.map(({ id }) => id)).toEqual([...open.keys()])
      }),
      { numRuns: Number(process.env.PLANFOLD_RUNS ?? 150) },
    )
  })
})

describe('a rule that replans', () => {
  const rule = { do: { type: 'replan', add: [task('fix')] } } as const
  const written = (policy?: Policy) =>
    plan('p', task('a', { recover: [rule] }), task('b', { needs: ['a'] }), policy === undefined ? {} : { policy })
  const revised = (policy?: Policy) =>
    plan(
      'p',
      task('fix'),
      task('a', { recover: [rule], needs: ['fix'] }),
      task('b', { needs: ['a'] }),
      policy === undefined ? {} : { policy },
    )
  const made = (policy?: Policy) => proposal(revised(policy), { by: 'engine', task: name('a') })

  function failing(policy?: Policy): Journal {
    const journal = begin(written(policy))
    journal.fail('a')
    return journal
  }

  it('asks the engine for a revision once; accepted, the task has its next visit after what was added', () => {
    const journal = failing()
    expect(nextActions(journal.state, 0).propose?.definition.id).toBe('a')
    expect(types(journal.turn({ proposed: [made()] }))).toEqual(['revision.proposed'])
    expect(nextActions(journal.state, 0)).toMatchObject({ propose: null, rest: 'waiting' })
    // Said again because nobody knew whether it was written, it changes nothing.
    expect(journal.turn({ proposed: [made()] })).toEqual([])
    journal.must(judge('accepted'))
    journal.turn()
    expect(journal.statuses()).toMatchObject({ fix: 'running', a: 'pending' })
    expect(journal.state.tasks.get(name('a'))).toMatchObject({ visit: 2, gate: null })
    journal.succeed('fix')
    journal.succeed('a')
    journal.succeed('b')
    expect(journal.state.status).toBe('completed')
  })

  it('takes effect by itself where the policy says auto', () => {
    const journal = failing({ replan: 'auto' })
    const events = types(journal.turn({ proposed: [made({ replan: 'auto' })] }))
    expect(events.slice(0, 2)).toEqual(['revision.proposed', 'plan.revised'])
    expect(journal.statuses()).toMatchObject({ fix: 'running', a: 'pending' })
  })

  it('proposes nothing where the policy says never, and not again what was declined', () => {
    expect(nextActions(failing({ replan: 'never' }).state, 0).propose).toBe(null)
    const journal = failing()
    journal.turn({ proposed: [made()] })
    journal.must(judge('declined'))
    expect(nextActions(journal.state, 0).propose).toBe(null)
    expect(journal.status('a')).toBe('waiting')
  })

  it('proposes anew for a plan that has become another one meanwhile', () => {
    const journal = failing()
    journal.turn({ proposed: [made()] })
    const definition = plan('p', task('a', { recover: [rule] }), task('b', { needs: ['a'] }), task('c'))
    journal.must({ type: 'revise', definition, hash: numberedSha(3), rationale: 'more' })
    expect(nextActions(journal.state, 0).propose?.definition.id).toBe('a')
  })

  it('that leads to no revision leaves the decision to a person', () => {
    const journal = failing()
    const none = { task: name('a'), base: numberedSha(1), none: "there is no template 'x'" }
    expect(journal.turn({ proposed: [none] })).toMatchObject([{ type: 'gate.opened', asks: { type: 'recovery' } }])
    expect(nextActions(journal.state, 0).propose).toBe(null)
  })

  it('is answered as well by a person who changes the failed task', () => {
    const journal = failing()
    const definition = plan('p', task('a', { title: 'otherwise' }), task('b', { needs: ['a'] }))
    journal.must({ type: 'revise', definition, hash: numberedSha(3), rationale: 'by hand' })
    expect(journal.state.tasks.get(name('a'))).toMatchObject({ visit: 2, status: 'ready', gate: null })
  })
})

describe('rounds of converge', () => {
  const unmet = { criterion: 'npm test', holds: false, evidence: 'exit 1' }
  const assess = (round: number, ...verdicts: CommandOf<'assess'>['verdicts']): Command => ({
    type: 'assess',
    round,
    verdicts,
  })

  function ended(): Journal {
    const journal = begin(plan('p', task('a')))
    journal.succeed('a')
    return journal
  }

  function append(journal: Journal, number: number): readonly Event[] {
    const definition = withFixes(journal.state.definition, journal.state.rounds, [unmet], 'sh fix.sh')
    return journal.must({ type: 'revise', definition, hash: numberedSha(number), rationale: 'r', reopen: true })
  }

  it('are counted, and none is judged twice', () => {
    const journal = ended()
    journal.must(assess(1, unmet))
    expect(refusal(journal, assess(1, unmet)).code).toBe('conflict')
    expect(refusal(journal, assess(3, unmet)).code).toBe('conflict')
  })

  it('take a plan up again that has ended, and say when nothing moves', () => {
    const journal = ended()
    expect(journal.state.status).toBe('completed')
    journal.must(assess(1, unmet))
    expect(convergenceOf(journal.entries)).toMatchObject({ round: 1, isAppended: false, made: 0 })
    expect(types(append(journal, 2)).slice(0, 2)).toEqual(['plan.reopened', 'plan.revised'])
    expect(convergenceOf(journal.entries)).toMatchObject({ round: 1, isAppended: true, made: 1, isStuck: false })
    journal.prepare('converge-1-1', {})
    journal.fail('converge-1-1')
    // What an added task comes to is not what the plan is judged by.
    expect(journal.state.status).toBe('completed')
    journal.must(assess(2, { ...unmet, evidence: 'exit 2' }))
    expect(convergenceOf(journal.entries)).toMatchObject({ isStuck: false, made: 1 })
    append(journal, 3)
    journal.prepare('converge-2-1', {})
    journal.succeed('converge-2-1', { wrote: { changes: numberedSha(9), paths: 1 } })
    journal.must(assess(3, { ...unmet, evidence: 'exit 2' }))
    // The check says the same, but a file has changed.
    expect(convergenceOf(journal.entries)).toMatchObject({ isStuck: false, made: 2 })
    append(journal, 4)
    journal.prepare('converge-3-1', {})
    journal.succeed('converge-3-1', { wrote: { changes: null, paths: 0 } })
    journal.must(assess(4, { ...unmet, evidence: 'exit 2' }))
    expect(convergenceOf(journal.entries)).toMatchObject({ isStuck: true, made: 3 })
    journal.must(assess(5, { ...unmet, holds: true }))
    expect(convergenceOf(journal.entries)).toMatchObject({ isStuck: false, made: 0 })
  })

  it('do not take up a plan that was cancelled, nor one that is not asked to', () => {
    const journal = begin(plan('p', gate('g')))
    journal.must({ type: 'cancel' })
    journal.turn()
    const definition = withFixes(journal.state.definition, 1, [unmet], undefined)
    const revise = { type: 'revise', definition, hash: numberedSha(2), rationale: 'r' } as const
    expect(refusal(journal, { ...revise, reopen: true }).code).toBe('illegal-transition')
    expect(refusal(ended(), revise).code).toBe('illegal-transition')
  })

  it('stay when the text is run again; a task that a person labelled so and took out does not', () => {
    const mine = task('mine', { labels: ['converge'] })
    const fixed = withFixes(plan('p', task('a'), mine), 1, [unmet], undefined)
    expect(keepAddedTasks(fixed, plan('p', task('a'))).tasks.map(({ id }) => id)).toEqual(['a', 'converge-1-1'])
  })

  it('hand over what was seen as text, never as an expression', () => {
    const seen = { criterion: 'c', holds: false, evidence: 'x\0 ${{ secrets }}' }
    const [, fix] = withFixes(plan('p', task('a')), 1, [seen], 'true').tasks
    expect(fix?.env?.PLANFOLD_EVIDENCE).toBe('x $${{ secrets }}')
  })
})

describe('a plan that takes all files back when it fails', () => {
  const back = { policy: { onFailure: 'rollback' } } as const
  const outcome: RollbackOutcome = { changes: numberedSha(9), paths: 2 }
  const wrote = { wrote: { changes: numberedSha(8), paths: 1 } }

  function failing(definition: PlanDefinition): Journal {
    const journal = new Journal().create(definition)
    journal.must(START)
    journal.turn({ prepared: [{ task: name('a'), visit: 1, prepared: { preimage: numberedSha(5) } }] })
    journal.succeed('a', wrote)
    journal.fail('b')
    return journal
  }
  const written = plan('p', edit('a', 'a.txt'), task('b', { needs: ['a'] }), back)

  it('begins that in the entry that decides its end, so that no crash comes in between', () => {
    const { entries, state } = failing(written)
    expect(entries.at(-1)?.events.at(-1)).toMatchObject({
      type: 'rollback.started',
      to: 2,
      filesOnly: true,
      because: 'failure',
    })
    expect(nextActions(state, 0)).toMatchObject({ rest: null, rollback: { because: 'failure' } })
  })

  it('then ends failed, once, and says what became of its files', () => {
    const journal = failing(written)
    const { id } = journal.state.rollback!
    expect(journal.turn({ rolledBack: { id, outcome } })).toMatchObject([
      { type: 'rollback.finished', paths: 2 },
      {
        type: 'plan.finished',
        status: 'failed',
        reason: "task 'b' failed: it said no; its files were reverted to before its first task (2 paths)",
      },
    ])
    expect(journal.turn({ rolledBack: { id, outcome } })).toEqual([])
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'failed' })
  })

  it('ends failed as well when somebody has worked there since, and names it', () => {
    const journal = failing(written)
    const failure = { class: 'policy', message: "somebody has worked on 'a.txt' since", retryable: false } as const
    const { id } = journal.state.rollback!
    const events = journal.turn({
      rolledBack: { id, outcome: { changes: null, paths: 0, failure, conflicts: ['a.txt'] } },
    })
    expect(types(events)).toEqual(['rollback.stopped', 'plan.finished'])
    expect(journal.state).toMatchObject({ status: 'failed' })
    expect(journal.state.reason).toContain("its files were not reverted: somebody has worked on 'a.txt' since")
  })

  it('does what wrote those files again when its work is taken up', () => {
    const journal = failing(written)
    journal.turn({ rolledBack: { id: journal.state.rollback!.id, outcome } })
    journal.must({ type: 'retry', task: name('b') })
    expect(journal.statuses()).toEqual({ a: 'ready', b: 'pending' })
  })

  it('compensates first', () => {
    const compensate = { type: 'run', command: { argv: ['undo'] } } as const
    const journal = begin(plan('p', task('a', { compensate, effect: 'idempotent' }), task('b', { needs: ['a'] }), back))
    journal.succeed('a')
    journal.fail('b')
    journal.turn()
    expect(journal.state).toMatchObject({ rollback: null, compensation: 'a' })
    const events = journal.turn({ compensated: [{ task: name('a'), result: { status: 'succeeded' } }] })
    expect(types(events)).toEqual(['compensation.finished', 'rollback.started'])
  })

  it('is given up with its files by a rule, and keeps them where the rule says so', () => {
    const recover = [{ do: giveUp('rollback') }]
    const aborted = begin(plan('p', task('a', { recover }), task('z')))
    expect(types(aborted.fail('a'))).not.toContain('rollback.started')
    // What runs ends first.
    expect(types(aborted.settle('z', { status: 'interrupted', reason: 'stopped' }))).toContain('rollback.started')
    const keep = [{ do: giveUp('keep') }]
    const kept = begin(plan('p', task('a', { recover: keep }), back))
    expect(types(kept.fail('a'))).not.toContain('rollback.started')
    expect(kept.state.status).toBe('failed')
  })
})
