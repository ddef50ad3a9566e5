import { describe, expect, it } from 'vitest'
import { Journal, name, plan, START, started, task } from '../../testing/index.ts'
import { nextActions } from '../next-actions.ts'
import { evolve } from './evolve.ts'
import type { TaskState } from './state.ts'

describe('evolve', () => {
  it('an event that names a task the plan does not have is a bug, and loud', () => {
    const journal = started(plan('p', task('a')))
    expect(() => evolve(journal.state, { type: 'task.skipped', task: name('ghost'), reason: '' }, 0)).toThrow(
      "bug: the journal names task 'ghost', which the plan does not have",
    )
  })

  it('law L7: one task more or less under way costs the same in a plan of a hundred tasks and of ten thousand', () => {
    // Work is counted, not timed: how often any status of any task is looked at while one attempt ends and the next starts.
    const looks = (size: number): number => {
      const journal = new Journal().create(
        plan(
          'p',
          ...Array.from({ length: size }, (_, at) => task(`t${at}`, at === 0 ? {} : { needs: [`t${at - 1}`] })),
        ),
      )
      journal.must(START)
      journal.turn()
      let count = 0
      for (const one of journal.state.order) watch(one, () => count++)
      for (let at = 0; at < 50; at++) {
        journal.succeed(`t${at}`)
        nextActions(journal.state, journal.clock.now())
      }
      return count
    }
    expect(looks(10_000)).toBe(looks(100))
  })
})

function watch(one: TaskState, onLook: () => void): void {
  let status = one.status
  Object.defineProperty(one, 'status', {
    get() {
      onLook()
      return status
    },
    set(value: TaskState['status']) {
      status = value
    },
  })
}
