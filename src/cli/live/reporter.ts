// Who tells what happens while a plan is driven: a live view, plain lines, or JSON lines. `drive` feeds one of them and does
// not care which.

import type { TaskName } from '../../domain/id.ts'
import type { Entry } from '../../stores/store.ts'

export interface Reporter {
  /** Can it put gates to a person? Then the drive stays while the plan waits. */
  readonly asks: boolean
  entry(entry: Entry): void
  /** Raw text of a task, in order, not necessarily whole lines. */
  output(task: TaskName, text: string): void
  /** Something the person should know now: "pausing …"; null when it no longer holds. */
  say(line: string | null): void
  /** Work that goes on without anything to tell; null when it is over. Absent where such lines go to stderr. */
  working?(line: string | null): void
  /** Stops telling and leaves the terminal as it was. */
  close(): Promise<void>
}
