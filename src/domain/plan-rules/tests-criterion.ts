// The `tests` key of a criterion.

import type { TaskName } from '../id.ts'
import type { CommandLine } from '../plan-values.ts'

/** A command that runs tests, compared test by test with an earlier run. */
export interface TestsCriterion {
  readonly type: 'tests'
  readonly command: CommandLine
  /** The new test: a path or pattern of files, or a part of its name. */
  readonly new?: string
  /** The task with the baseline; when absent, the plan's own first run of the command. */
  readonly baseline?: TaskName
  readonly red?: true
  readonly fewer?: 'allowed'
  readonly text?: string
}
