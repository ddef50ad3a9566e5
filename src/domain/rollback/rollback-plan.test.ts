// Going back is exact: wherever a plan has been, its tasks stand there again as they stood, and once more before the rollback when
// that is undone. Random plans, random lives, random entries.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commandOf, type Move, moves, plans, rollbackOf } from '../../../sim/random-journals.ts'
import { ClockFake, Journal, START } from '../../testing/index.ts'
import type { CommandOf } from '../command.ts'
import type { TaskName } from '../id.ts'
import { nextActions } from '../next-actions.ts'
import { evolve } from '../state/evolve.ts'
import { newState } from '../state/fold.ts'
import { checkState } from '../state/state.fixture.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { groupOf, transitiveDependants } from '../state/task-index.ts'
import { ENDED, PLAN_ENDED } from '../status.ts'

/** More of them on request: `PLANFOLD_RUNS=20000`. */
const RUNS = Number(process.env.PLANFOLD_RUNS ?? 150)
const TIMEOUT_MS = 600_000 + RUNS * 40

describe('a rollback', () => {
  it(
    'sets every task to where it stood, and its undoing to where it stood before',
    () => {
      const seen = { rollbacks: 0, exact: 0, compensated: 0, revised: 0, ended: 0 }
      fc.assert(
        fc.property(plans, moves, fc.nat(1_000), fc.nat(2), (definition, list, pick, hand) => {
          const journal = live(definition, list)
          if (journal.state.compensating !== null || journal.state.status === 'draft') return
          const to = 2 + (pick % (journal.entries.length - 1))
          const before = foldTo(journal, journal.entries.length)
          const back = goTo(journal, to, hand)
          seen.rollbacks++
          const then = foldTo(journal, to)
          seen.exact += compare(journal.state, then, back)
          if (then.revision !== journal.state.revision) seen.revised++
          if (PLAN_ENDED.has(journal.state.status)) seen.ended++
          seen.compensated += back.compensated.size
          const forth = goTo(journal, before.version, 0, 'undo')
          compare(journal.state, before, { ...forth, touched: new Set([...forth.touched, ...back.touched]) })
        }),
        // What must be seen at least once is seen by these plans; other ones on request.
        { numRuns: RUNS, ...(process.env.PLANFOLD_RUNS === undefined ? { seed: 2 } : {}) },
      )
      // The property says nothing when nothing happens.
      expect(seen.rollbacks).toBeGreaterThan(RUNS / 3)
      expect(seen.exact).toBeGreaterThan(RUNS)
      expect(seen.ended).toBeGreaterThan(0)
      expect(seen.revised).toBeGreaterThan(0)
      expect(seen.compensated).toBeGreaterThan(0)
    },
    TIMEOUT_MS,
  )
})

/** A plan to which all kinds of things have happened. */
function live(definition: Parameters<Journal['create']>[0], list: readonly Move[]): Journal {
  const journal = new Journal(new ClockFake()).create(definition)
  journal.must({ ...START, files: 'seen' })
  for (const move of list) {
    journal.clock.advance(move.luck % 400)
    journal.submit(commandOf(journal.state, move, journal.clock.now(), journal.entries))
  }
  // A rollback that is under way is seen to its end.
  carryOut(journal, 0)
  return journal
}

interface Gone {
  /** Compensated on the way. */
  readonly compensated: ReadonlySet<TaskName>
  /** Whatever they had done is not there any more. */
  readonly touched: ReadonlySet<TaskName>
}

function goTo(journal: Journal, to: number, hand: number, kind: 'rollback' | 'undo' = 'rollback'): Gone {
  const { state, entries } = journal
  const asked = rollbackOf(state, entries, to - 1, 3, kind) as CommandOf<'rollback'>
  expect({ to: asked.to, force: asked.force }).toEqual({ to, force: true })
  const from = entries.length
  journal.must(asked)
  carryOut(journal, hand)
  const compensated = new Set<TaskName>()
  for (const { version, events } of entries)
    for (const event of events)
      if (event.type === 'compensation.finished' && version > from) compensated.add(event.task)
  const since = entries.flatMap(({ version, events }) => (version > to ? events : []))
  const touched = new Set(compensated)
  for (const event of since) if (event.type === 'compensation.finished') touched.add(event.task)
  return { compensated, touched }
}

/** What runs ends as `hand` says, compensations work, files and refs go back. */
function carryOut(journal: Journal, hand: number): void {
  const { state } = journal
  for (let turns = 0; state.rollback !== null; turns++) {
    journal.clock.advance(2_000)
    const next = nextActions(state, journal.clock.now())
    const result = [
      { status: 'interrupted', reason: 'rolled back' } as const,
      { status: 'succeeded' } as const,
      { status: 'failed', failure: { class: 'logic', message: 'no', retryable: true } } as const,
    ][hand]!
    journal.turn({
      settled: Array.from(next.perform, ({ definition, visit, attempt }) => ({
        task: definition.id,
        visit,
        attempt,
        result: definition.action.type === 'verify' && hand === 1 ? { ...result, status: 'succeeded' } : result,
      })),
      ...(next.compensate === null
        ? {}
        : { compensated: [{ task: next.compensate.task.definition.id, result: { status: 'succeeded' } }] }),
      ...(next.rollback === null ? {} : { rolledBack: { id: next.rollback.id, outcome: { changes: null, paths: 0 } } }),
    })
    expect(turns).toBeLessThan(200)
  }
}

function foldTo({ entries }: Journal, to: number): PlanState {
  const state = newState()
  for (const { version, now, events } of entries.slice(0, to)) {
    for (const event of events) evolve(state, event, now)
    state.version = version
  }
  return state
}

/** Whoever stands as it stood; returns how many do. */
function compare(now: PlanState, then: PlanState, { touched }: Gone): number {
  checkState(now)
  expect(now.rollback).toBeNull()
  expect(now.compensating).toBeNull()
  const opened = new Set<TaskName>()
  for (const name of [...touched, ...then.compensated])
    for (let task = now.tasks.get(name) ?? null; task !== null; task = groupOf(now, task))
      opened.add(task.definition.id)
  // Whoever had come as far as to wait behind one of them begins anew when that is done again.
  const behind = new Set(transitiveDependants(now.order.filter(({ definition }) => opened.has(definition.id))))
  let exact = 0
  for (const task of now.order) {
    const { id, action } = task.definition
    const was = then.tasks.get(id)
    const isParked = was?.gate?.asks.type === 'unknown-outcome' || task.gate?.asks.type === 'unknown-outcome'
    if (was === undefined) {
      expect({ id, ended: ENDED.has(task.status) }).toEqual({ id, ended: false })
      continue
    }
    if (behind.has(task) && !ENDED.has(task.status)) continue
    if (isParked || opened.has(id) || (opened.size > 0 && action.type === 'verify')) continue
    const isRevised = then.revision !== now.revision
    expect({ id, ...viewOf(task, now, isRevised) }).toEqual({ id, ...viewOf(was, now, isRevised) })
    exact++
  }
  if (opened.size === 0 && exact === now.order.length && PLAN_ENDED.has(then.status)) {
    expect({ status: now.status, reason: now.reason }).toEqual({ status: then.status, reason: then.reason })
    expect(now.completedOrder).toEqual(then.completedOrder)
  } else expect(PLAN_ENDED.has(now.status) || now.status === 'paused').toBe(true)
  return exact
}

/** Open is open: whether it is ready, blocked or waits depends on the others, and that is checked with the state. */
function viewOf(task: TaskState, now: PlanState, isRevised: boolean): object {
  const { status, result, handled, visit, goneBack, routedBy, dormant } = task
  return {
    status: ENDED.has(status) ? status : 'open',
    result,
    handled: ENDED.has(status) && handled,
    routedBy: routedBy.filter(name => now.tasks.has(name)),
    visits: visit - goneBack,
    ...(isRevised ? {} : { dormant }),
  }
}
