import { expect, it } from 'vitest'
import { BLOCKS, ENDED, isPlanStatus, isTaskStatus, PLAN_STATUSES, SATISFIES, TASK_STATUSES } from './status.ts'

it('regression 4: an unknown status is rejected, not coerced', () => {
  for (const text of ['', 'DONE', 'Completed', 'success', 'toString', ' ready']) {
    expect([isTaskStatus(text), isPlanStatus(text)]).toEqual([false, false])
  }
  expect(TASK_STATUSES.every(isTaskStatus) && PLAN_STATUSES.every(isPlanStatus)).toBe(true)
})

it('what has ended either satisfies a need or blocks it, never both', () => {
  for (const status of ENDED) expect(SATISFIES.has(status)).toBe(!BLOCKS.has(status))
  expect(TASK_STATUSES.filter(status => BLOCKS.has(status) && !ENDED.has(status))).toEqual(['blocked'])
})
