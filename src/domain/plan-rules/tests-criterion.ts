// What a plan says about tests: the `tests` key of a criterion.

import type { TaskName } from '../id.ts'
import type { CommandLine } from '../plan-values.ts'

/** A command that runs tests, judged test by test against what it printed before. */
export interface TestsCriterion {
  readonly type: 'tests'
  readonly command: CommandLine
  /** Where a new test is: a path or pattern of files, or a part of its name. */
  readonly new?: string
  /** The task that recorded how the tests were; the plan's own first run of the command when absent. */
  readonly baseline?: TaskName
  /** The new test must fail, and nothing else may have changed. */
  readonly red?: true
  /** Tests may be removed or skipped. */
  readonly fewer?: 'allowed'
  readonly text?: string
}
