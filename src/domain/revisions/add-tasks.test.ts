// Tasks that come one by one: refusals, what they cost nobody else, and a random mix of clients held against a naive model.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { external, Journal, name, numberedSha, plan, START, task } from '../../testing/index.ts'
import type { Command } from '../command.ts'
import { decide } from '../decide.ts'
import type { PlanName } from '../id.ts'
import { TASKS_MAX } from '../limits.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { evolve } from '../state/evolve.ts'
import { newState, unpackFold } from '../state/fold.ts'
import { checkState, stored } from '../state/state.fixture.ts'
import type { PlanState } from '../state/state.ts'
import { isOpenTo } from './add-tasks.ts'

/** More of them on request: `PLANFOLD_RUNS=20000`. */
const RUNS = Number(process.env.PLANFOLD_RUNS ?? 150)

const empty = (more: Omit<PlanDefinition, 'name' | 'tasks'> = {}): Journal =>
  new Journal().create({ ...more, name: 'p' as PlanName, tasks: [] })
const add = (...tasks: readonly TaskDefinition[]): Command => ({ type: 'add', tasks })
const seal = (journal: Journal, hash = 2): Command => ({
  type: 'revise',
  definition: { ...journal.state.definition, tasks: [...journal.state.definition.tasks] },
  hash: numberedSha(hash),
  rationale: 'sealed',
})

/** Refused, and nothing of it is seen anywhere. */
function refused(journal: Journal, command: Command): string {
  const before = stored(journal.state)
  const decided = journal.submit(command)
  expect(stored(journal.state)).toEqual(before)
  if (decided.ok) throw new Error(`'${command.type}' was not refused`)
  expect(decided.refusal.hint).toBeTruthy()
  return `${decided.refusal.code}: ${decided.refusal.message}`
}

describe('an empty draft', () => {
  it('can be made, takes tasks, is sealed and started', () => {
    const journal = empty()
    expect(journal.must(add(external('a')))).toEqual([{ type: 'task.added', tasks: [external('a')] }])
    journal.must(add(external('b', { needs: ['a'] }), external('c', { needs: ['b'] })))
    expect(journal.state).toMatchObject({ revision: 1, hash: '', status: 'draft' })
    expect(journal.state.definition.tasks.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(refused(journal, START)).toContain('conflict: tasks were added')
    journal.must(seal(journal))
    expect(journal.state).toMatchObject({ revision: 2, hash: numberedSha(2) })
    journal.must(START)
    expect(journal.statuses()).toEqual({ a: 'ready', b: 'pending', c: 'pending' })
  })

  it('regression 2: cannot be started, and is never complete', () => {
    const journal = empty()
    expect(refused(journal, START)).toBe('invalid: the plan has no tasks')
    const finish = {
      type: 'finish',
      as: 'completed',
      reason: 'all done',
      by: 'ana',
      start: { rules: START.rules },
    } as const
    expect(refused(journal, finish)).toContain('illegal-transition: cannot complete: the plan has no tasks')
    // The definition of done alone is no work either.
    const judged = empty({ done: [{ type: 'prose', text: 'good' }] })
    expect(refused(judged, START)).toBe('invalid: the plan has no tasks')
    expect(refused(judged, finish)).toContain('illegal-transition')
  })

  it('is emptied again by a revision only while it is a draft', () => {
    const journal = empty()
    journal.must(add(external('a')))
    const definition = { ...journal.state.definition, tasks: [] }
    journal.must({ type: 'revise', definition, hash: numberedSha(7), rationale: 'anew' })
    expect(journal.statuses()).toEqual({})
    journal.must(add(external('b')))
    journal.must(seal(journal, 8))
    journal.must(START)
    const nothing: Command = { type: 'revise', definition, hash: numberedSha(9), rationale: 'anew' }
    expect(refused(journal, nothing)).toBe('invalid: the plan has no tasks')
  })

  it('can be cancelled or archived without being sealed', () => {
    const [one, other] = [empty(), empty()]
    for (const journal of [one, other]) journal.must(add(external('a')))
    one.must({ type: 'cancel' })
    other.must({ type: 'archive' })
    expect([one.state.status, other.state.archived]).toEqual(['cancelled', true])
    expect(refused(other, add(external('b')))).toBe('illegal-transition: the plan is archived')
  })
})

describe('what is added', () => {
  it('regression 8: a task id that is there already is refused precisely, and nothing of the batch is written', () => {
    const journal = empty()
    journal.must(add(external('a')))
    expect(refused(journal, add(external('a')))).toBe("duplicate: two tasks are called 'a'")
    expect(refused(journal, add(external('b'), external('c'), external('b')))).toBe(
      "duplicate: two tasks are called 'b'",
    )
    expect(journal.statuses()).toEqual({ a: 'pending' })
  })

  it('needs only what is there, or came before it', () => {
    const journal = empty()
    journal.must(add(external('build')))
    expect(refused(journal, add(external('a', { needs: ['buidl'] })))).toBe(
      "unknown-reference: task 'a' needs 'buidl', which does not exist",
    )
    expect(refused(journal, add(external('a', { needs: ['b'] }), external('b')))).toContain('unknown-reference')
    expect(refused(journal, add(external('a', { needs: ['a'] })))).toContain('cycle: dependency cycle: a → a')
    journal.must(add(external('a', { needs: ['build', 'build'] })))
    expect(journal.state.tasks.get(name('a'))).toMatchObject({ unmet: 1 })
  })

  it('has a name, and keeps to what the plan may write', () => {
    const journal = empty({ policy: { write: ['src/**'] } })
    expect(refused(journal, add({ ...external('a'), id: '__proto__' as never }))).toContain('invalid')
    expect(refused(journal, add(task('a', { write: ['docs/x'] })))).toContain("not-allowed: task 'a' wants to write")
    journal.must(add(task('a', { write: ['src/x'] })))
  })

  it('is the 20,000th task, and not the 20,001st', () => {
    const tasks = Array.from({ length: TASKS_MAX - 1 }, (_, at) => external(`t${at}`))
    const journal = new Journal().create({ name: 'p' as PlanName, tasks })
    expect(refused(journal, add(external('a'), external('b')))).toBe('limit: the plan has 20001 tasks, more than 20000')
    journal.must(add(external('a')))
    expect(refused(journal, add(external('b')))).toBe('limit: the plan has 20001 tasks, more than 20000')
  })

  it('is plain, and the plan is a draft of plain tasks; everything else is a revision', () => {
    const { state } = empty()
    const odd: readonly TaskDefinition[] = [
      task('a', { forEach: { items: [1] } }),
      task('a', { matrix: { os: ['x'] } }),
      task('a', { on: { failure: 'b' } }),
      task('a', { recover: [{ do: { type: 'ask' } }] }),
      task('a', { failureModes: [{ name: 'x', detect: { type: 'prose', text: 'x' }, recover: [name('b')] }] }),
      task('a', { compensate: { type: 'task', task: name('b') } }),
      task('a', { action: { type: 'subplan', tasks: [] } }),
      task('a', { action: { type: 'group', children: [] } }),
      external('a/b'),
    ]
    expect(odd.filter(one => isOpenTo(state, [external('x'), one]))).toEqual([])
    expect(isOpenTo(state, [task('a', { compensate: { type: 'edit', edits: [] }, needs: ['x'] })])).toBe(true)
    const grouped = new Journal().create(plan('p', task('g', { action: { type: 'subplan', tasks: [task('x')] } })))
    const judged = new Journal().create(plan('p', task('x'), { done: [{ type: 'prose', text: 'good' }] }))
    const begun = new Journal().create(plan('p', task('x')))
    begun.must(START)
    for (const journal of [grouped, judged, begun]) {
      expect(isOpenTo(journal.state, [external('a')])).toBe(false)
      expect(refused(journal, add(external('a')))).toContain('conflict')
    }
  })

  it('does not change what was sealed or told before', () => {
    const journal = empty()
    const [first] = journal.must(add(external('a')))
    const [sealed] = journal.must(seal(journal))
    journal.must(add(external('b')))
    journal.must(add(external('c')))
    expect(first).toEqual({ type: 'task.added', tasks: [external('a')] })
    expect(sealed).toMatchObject({ type: 'plan.revised', definition: { tasks: [external('a')] } })
  })

  it('remembers when each task came', () => {
    const journal = empty()
    const at = journal.clock.now()
    journal.clock.advance(1_000)
    journal.must(add(external('a')))
    journal.clock.advance(1_000)
    journal.must(add(external('b')))
    journal.must(seal(journal))
    const opened = unpackFold(stored(journal.state), journal.state.definition)
    for (const state of [journal.state, opened])
      expect(state.order.map(({ addedAt }) => addedAt - at)).toEqual([1_000, 2_000])
  })
})

describe('a random mix of clients', () => {
  const id = fc.integer({ min: 0, max: 9 }).map(at => `t${at}`)
  const aTask = fc
    .record({ id, needs: fc.array(id, { maxLength: 2 }), sequence: fc.integer({ min: -2, max: 9 }) })
    .map(({ id, needs, sequence }) =>
      external(id, { ...(needs.length === 0 ? {} : { needs }), extra: { sequence_order: sequence } }),
    )
  const move = fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('add' as const), tasks: fc.array(aTask, { maxLength: 3 }) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('seal' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), at: fc.nat(9) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('annotate' as const), key: id, value: fc.option(fc.nat(9)) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('skip' as const), task: id }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('start' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('claim' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('finish' as const), as: fc.constantFrom('completed', 'failed') }),
    },
  )

  it('leaves what a naive list of tasks says, in memory, from the journal, and from a stored fold', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 30 }), list => {
        const journal = empty()
        const model = { tasks: [] as TaskDefinition[], notes: new Map<string, number>(), isSealed: true, isDraft: true }
        let hashes = 1
        for (const one of list) {
          journal.clock.advance(500)
          const { state } = journal
          const isEnded = ['completed', 'failed'].includes(state.status)
          switch (one.do) {
            case 'add': {
              const known = new Set<string>(model.tasks.map(({ id }) => id))
              const isFit = one.tasks.every(({ id, needs = [] }) => {
                const fits = !known.has(id) && needs.every(need => known.has(need) && need !== id)
                known.add(id)
                return fits
              })
              const decided = journal.submit(add(...one.tasks))
              expect(decided.ok).toBe(isFit && model.isDraft)
              if (!decided.ok || one.tasks.length === 0) break
              model.tasks.push(...one.tasks)
              model.isSealed = false
              break
            }
            case 'seal':
              if (isEnded || (!model.isDraft && model.tasks.length === 0)) break
              journal.must(seal(journal, ++hashes))
              model.isSealed = true
              break
            case 'drop': {
              if (!model.isDraft) break
              const gone = model.tasks[one.at]?.id
              const tasks = model.tasks.filter(({ id }) => id !== gone)
              const definition = { ...state.definition, tasks }
              const decided = journal.submit({
                type: 'revise',
                definition,
                hash: numberedSha(++hashes),
                rationale: 'x',
              })
              expect(decided.ok).toBe(tasks.every(({ needs = [] }) => !needs.some(need => need === gone)))
              if (decided.ok) Object.assign(model, { tasks: [...tasks], isSealed: true })
              break
            }
            case 'annotate':
              journal.must({ type: 'annotate', set: { [one.key]: one.value }, by: 'ana' })
              if (one.value === null) model.notes.delete(one.key)
              else model.notes.set(one.key, one.value)
              break
            case 'skip':
              journal.submit({ type: 'skip', task: name(one.task), reason: 'no', by: 'ana' })
              break
            case 'start': {
              const decided = journal.submit(START)
              expect(decided.ok).toBe(model.isDraft && model.isSealed && model.tasks.length > 0)
              if (decided.ok) model.isDraft = false
              break
            }
            case 'claim':
              journal.submit({ type: 'claim', token: 'k', by: 'bo', ...(hashes % 2 === 0 ? { alone: true } : {}) })
              break
            case 'finish': {
              const as = one.as as 'completed' | 'failed'
              const command = {
                type: 'finish',
                as,
                reason: 'said so',
                by: 'ana',
                start: { rules: START.rules },
              } as const
              const decided = journal.submit(command)
              expect(decided.ok).toBe(!isEnded && model.isSealed && (as === 'failed' || model.tasks.length > 0))
              if (!decided.ok) break
              expect(state.status).toBe(as)
              model.isDraft = false
              break
            }
          }
          expect(journal.state.definition.tasks).toEqual(model.tasks)
          expect(journal.state.order.map(({ definition }) => definition)).toEqual(model.tasks)
          expect(journal.state.annotations).toEqual(Object.fromEntries(model.notes))
          expect(journal.state.hash === '').toBe(!model.isSealed)
          checkState(journal.state)
          expect(graphOf(journal.state)).toEqual(graphOf(linkedAnew(journal.state)))
        }
        const folded = newState()
        const redecided = newState()
        for (const { version, now, command, events } of journal.entries) {
          for (const event of events) evolve(folded, event, now)
          expect(decide(redecided, command, now)).toEqual({ ok: true, events })
          folded.version = redecided.version = version
        }
        const opened = unpackFold(stored(journal.state), journal.state.definition)
        for (const other of [folded, redecided, opened]) {
          expect(stored(other)).toEqual(stored(journal.state))
          expect(other.definition).toEqual(journal.state.definition)
        }
      }),
      { numRuns: RUNS },
    )
  })
})

/** Opened from its fold, every index is made anew. */
const linkedAnew = (state: PlanState): PlanState => unpackFold(stored(state), state.definition)

const graphOf = (state: PlanState) =>
  state.order.map(({ definition, ordinal, unmet, blockers, dependants, dormant }) => ({
    id: definition.id,
    ordinal,
    unmet,
    blockers,
    dormant,
    dependants: dependants.map(each => each.definition.id),
  }))
