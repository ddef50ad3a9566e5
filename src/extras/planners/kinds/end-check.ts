// A command that verifies the goal: fails today, succeeds after a correct change.

import type { FoundCommand } from '../planner.ts'

export interface EndCheck {
  /** For `sh -eu`. */
  readonly script: string
  /** What success shows, in words. */
  readonly text: string
  /** The repository's command behind it. It may pass today: a goal may say that something fails without saying what. */
  readonly command?: FoundCommand
}
