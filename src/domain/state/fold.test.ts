// Random plans, random commands, and everything that must be true after every one of them (promises.md §5.5).

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commandOf, kindCommand, type Move, moves, plans } from '../../../sim/random-journals.ts'
import { ClockFake, create, Journal, plan, START, started, task } from '../../testing/index.ts'
import type { Command } from '../command.ts'
import { decide } from '../decide.ts'
import type { Event } from '../event.ts'
import type { TaskName } from '../id.ts'
import { nextActions } from '../next-actions.ts'
import { remediesOf } from '../plan-rules/expand.ts'
import { SATISFIES } from '../status.ts'
import { evolve } from './evolve.ts'
import { newState, packFold, unpackFold } from './fold.ts'
import { checkState, stored } from './state.fixture.ts'
import type { PlanState, TaskState } from './state.ts'
import { openNeeds } from './task-index.ts'

/** More of them on request: `PLANFOLD_RUNS=20000`. */
const RUNS = Number(process.env.PLANFOLD_RUNS ?? 80)
/** Only what hangs is ended by it: how long a run takes depends on who else is at work. */
const TIMEOUT_MS = 600_000 + RUNS * 1_000

describe('every step of every run', () => {
  it(
    'leaves a state that is the fold of the journal, keeps every promise, and can be stored and opened again',
    () => {
      fc.assert(
        fc.property(plans, moves, (definition, list) => {
          const journal = new Journal(new ClockFake())
          const shadow = newState()
          const step = (command: Parameters<typeof decide>[1]) => {
            const before = journal.state.revision === 0 ? null : stored(journal.state)
            const twin = before === null ? newState() : unpackFold(before, journal.state.definition)
            const now = journal.clock.now()
            const decided = journal.submit(command)
            // A state opened from its stored fold decides the same.
            expect(decide(twin, command, now)).toEqual(decided)
            if (!decided.ok) {
              if (before !== null) expect(stored(journal.state)).toEqual(before)
              return
            }
            expect(JSON.parse(JSON.stringify(decided.events))).toEqual(decided.events)
            for (const event of decided.events) {
              checkBefore(shadow, event)
              evolve(shadow, event, now)
            }
            shadow.version = journal.state.version
            expect(stored(shadow)).toEqual(stored(journal.state))
            checkState(journal.state)
            const opened = unpackFold(stored(journal.state), journal.state.definition)
            expect(stored(opened)).toEqual(stored(journal.state))
            expect(actions(opened, now)).toEqual(actions(journal.state, now))
          }
          step(create(definition))
          step(startOf(list))
          for (const move of list) {
            journal.clock.advance(move.luck % 400)
            step(commandOf(journal.state, move, journal.clock.now(), journal.entries))
          }
        }),
        { numRuns: RUNS },
      )
    },
    TIMEOUT_MS,
  )

  it(
    'leads, in a kind world, to an end',
    () => {
      fc.assert(
        fc.property(plans, moves, (definition, list) => {
          const journal = new Journal(new ClockFake()).create(definition)
          journal.must(startOf(list))
          for (const move of list) {
            journal.clock.advance(move.luck % 400)
            journal.submit(commandOf(journal.state, move, journal.clock.now(), journal.entries))
          }
          for (let steps = 0; ; steps++) {
            const command = kindCommand(journal.state, journal.clock.now())
            if (command === null) break
            // While a breaker is open nobody gets a task; time passes.
            if (command.type === 'claim') journal.submit(command)
            else journal.must(command)
            journal.clock.advance(500)
            if (steps > 5_000)
              throw new Error(
                `no end in sight: ${JSON.stringify(journal.statuses())} ${JSON.stringify(journal.entries.slice(-5))}`,
              )
          }
          expect(nextActions(journal.state, journal.clock.now())).toMatchObject({
            turn: false,
            wakeAt: null,
            rest: 'ended',
          })
        }),
        { numRuns: RUNS },
      )
    },
    TIMEOUT_MS,
  )
})

/** Most are started where all files are looked at. */
function startOf(list: readonly Move[]): Command {
  return (list[0]?.luck ?? 0) % 6 === 0 ? START : { ...START, files: 'seen' }
}

/** What an event may rely on, asked of the state before it. */
function checkBefore(state: PlanState, event: Event): void {
  if (event.type === 'attempt.started') {
    const started = state.tasks.get(event.task)!
    expect({ event, status: started.status, ...openNeeds(state, started) }).toEqual({
      event,
      status: 'ready',
      unmet: 0,
      blockers: 0,
    })
    expect(started.attempt + 1).toBe(event.attempt)
    expect(started.visit).toBe(event.visit)
  }
  if (event.type === 'plan.finished' && event.status === 'completed') {
    for (const task of state.order) {
      const { id, optional } = task.definition
      const handled = (task.status === 'failed' && task.handled) || isInHandledGroup(state, id)
      const good = SATISFIES.has(task.status) || handled || optional === true || isSpare(state, task)
      expect({ id, status: task.status, good }).toEqual({ id, status: task.status, good: true })
    }
  }
}

/** A group around it failed, and that was taken up, or another task has done its work. */
function isInHandledGroup(state: PlanState, id: string): boolean {
  const groups = id.split('/').map((_, at, parts) => state.tasks.get(parts.slice(0, at).join('/') as TaskName))
  return groups.some(
    group =>
      group?.definition.action.type === 'group' &&
      (group.handled || isSpare(state, group) || SATISFIES.has(group.status)),
  )
}

/** There only to help somebody who has come through without it. */
function isSpare(state: PlanState, { definition: { id }, routedBy }: TaskState): boolean {
  const helped = routedBy.map(name => state.tasks.get(name))
  return (
    helped.length > 0 &&
    helped.every(
      one =>
        one !== undefined &&
        remediesOf(one.definition).includes(id) &&
        (SATISFIES.has(one.status) || one.definition.optional === true || one.handled),
    )
  )
}

function actions(state: PlanState, now: number): unknown {
  const { perform, prepare, compensate, ...rest } = nextActions(state, now)
  return {
    ...rest,
    perform: Array.from(perform, task => task.definition.id).sort(),
    prepare: prepare.map(task => task.definition.id),
    compensate: compensate?.task.definition.id ?? null,
  }
}

describe('a stored fold', () => {
  it('shares nothing that changes with the state it came from, nor with states opened from it (regression 31: no shared mutable state)', () => {
    const compensate = { type: 'edit', edits: [] } as const
    const journal = started(
      plan('p', task('a', { compensate }), task('b', { compensate, needs: ['a'] }), task('c', { needs: ['b'] })),
    )
    journal.succeed('a')
    const fold = packFold(journal.state)
    const written = JSON.stringify(fold)
    const one = unpackFold(fold, journal.state.definition)
    const other = unpackFold(fold, journal.state.definition)
    const settled = [
      { task: one.order[1]!.definition.id, visit: 1, attempt: 1, result: { status: 'succeeded' } },
    ] as const
    decide(one, { type: 'turn', settled }, 0)
    journal.succeed('b')
    expect(JSON.stringify(fold)).toBe(written)
    expect(JSON.stringify(packFold(other))).toBe(written)
    expect(one.completedOrder).toEqual(['a', 'b'])
  })

  it('lists of an untouched task only its ordinal', () => {
    const journal = new Journal().create(plan('p', task('a'), task('b', { needs: ['a'] })))
    expect(packFold(journal.state).tasks).toEqual([{ ordinal: 1 }, { ordinal: 2 }])
  })
})
