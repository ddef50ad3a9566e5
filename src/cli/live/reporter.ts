// Who tells what happens while a plan is driven: a live view, plain lines, or JSON lines (`run --json`, here).

import type { TaskName } from '../../domain/id.ts'
import type { Entry } from '../../stores/store.ts'
import { envelope } from '../answer.ts'
import type { Context } from '../context.ts'

/** `drive` feeds one of them and does not care which. */
export interface Reporter {
  /** Can it put gates to a person? Then the drive stays while the plan waits. */
  readonly asks: boolean
  entry(entry: Entry): void
  output(task: TaskName, text: string): void
  note?(task: TaskName, text: string): void
  /** Something the person should know now: "pausing …"; null when it no longer holds. */
  say(line: string | null): void
  /** Work that goes on without anything to tell; null when it is over. Absent where such lines go to stderr. */
  working?(line: string | null): void
  close(): Promise<void>
}

// `run --json`: one envelope a line for every event, as durable and in the order of the journal; the summary comes last.

export class JsonReporter implements Reporter {
  readonly asks = false
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  entry({ plan, version, position, now, actor, events }: Entry): void {
    const lines = events.map(event =>
      envelope({ data: { type: 'event', plan, version, position, at: now, actor, event } }),
    )
    if (lines.length > 0) this.#context.stdout.write(lines.join(''))
  }

  // Output is not part of the stream: it is stored, and `planfold log --output --json` reads it.
  output(): void {}
  say(): void {}
  async close(): Promise<void> {}
}
