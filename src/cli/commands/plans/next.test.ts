// What `next --explain` prints about the tasks of a plan.

import { expect, it } from 'vitest'
import { name } from '../../../testing/plan.ts'
import { explainedLines } from './next.ts'

it('children of one task share a line where the same is said of them', () => {
  const said = (task: string, why: string) => ({ task: name(task), why: `'${task}' ${why}` })
  const eight = Array.from({ length: 8 }, (_, at) => said(`test/${at + 1}`, "needs 'lint'"))
  expect(
    explainedLines([
      said('lint', 'is running'),
      ...eight,
      said('test/9', 'is ready to claim'),
      said('b/x', 'is running'),
    ]),
  ).toEqual(["'lint' is running", "'test/*' (8 tasks) needs 'lint'", "'test/9' is ready to claim", "'b/x' is running"])
})
