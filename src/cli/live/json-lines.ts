// `run --json`: one envelope a line for every event, as durable and in the order of the journal; the summary comes last.

import type { Entry } from '../../stores/store.ts'
import { envelope } from '../answer.ts'
import type { Context } from '../context.ts'
import type { Reporter } from './reporter.ts'

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
