// A command that tells whether a goal has been reached: it fails today, and succeeds after a correct change.

import type { FoundCommand } from '../planner.ts'

export interface EndCheck {
  /** For `sh -eu`. */
  readonly script: string
  /** What it shows when it succeeds. */
  readonly text: string
  /** The command of the repository that it runs. It may succeed already: the goal says that something fails, not what. */
  readonly command?: FoundCommand
}
