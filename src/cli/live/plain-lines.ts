// Plain lines, for logs and pipes: `14:03:55 build started`, and the output of tasks beside their names.

import type { Event } from '../../domain/event.ts'
import type { TaskName } from '../../domain/id.ts'
import { sentence, toldOf } from '../../domain/views/timeline.ts'
import { escapeForTerminal } from '../../safety/text/terminal.ts'
import type { Entry } from '../../stores/store.ts'
import { withDir } from '../answer.ts'
import type { Context } from '../context.ts'
import { elapsed, timeOfDay } from '../terminal/elapsed-time.ts'
import { tint } from '../terminal/paint.ts'
import { wordsFor } from '../text/hint-text.ts'
import { OutputLines } from './output-lines.ts'
import type { Reporter } from './reporter.ts'

/** Sooner than this, a retry simply follows. */
const SOON_MS = 50

// Becoming ready and being prepared is the engine's business; a reader of a log wants what happened.
const SILENT: ReadonlySet<Event['type']> = new Set(['task.readied', 'task.unblocked'])

export class PlainReporter implements Reporter {
  readonly asks = false
  readonly #context: Context
  readonly #lines = new OutputLines()

  /** The name of the plan, for the commands that are named. */
  readonly #plan: string | undefined

  constructor(context: Context, plan?: string) {
    this.#context = context
    this.#plan = plan
  }

  entry(entry: Entry): void {
    for (const event of toldOf(entry.events)) {
      if ('task' in event && event.task !== undefined && event.type.startsWith('attempt.')) this.#flush(event.task)
      if (!SILENT.has(event.type)) this.#print(this.#told(event, entry.now), entry.now)
    }
  }

  output(task: TaskName, text: string): void {
    for (const line of this.#lines.push(task, text)) this.#printOutput(task, line)
  }

  say(line: string | null): void {
    if (line !== null) this.#print(line, this.#context.now())
  }

  async close(): Promise<void> {}

  #told(event: Event, now: number): string {
    const text = withDir(this.#context, escapeForTerminal(sentence(event, wordsFor(this.#plan))))
    if (event.type === 'retry.scheduled' && event.at - now >= SOON_MS) return `${text} in ${elapsed(event.at - now)}`
    const { paint } = this.#context
    if (event.type === 'attempt.succeeded') return tint(paint, 'completed')(text)
    if (event.type === 'attempt.failed') return tint(paint, 'failed')(text)
    return text
  }

  #flush(task: TaskName): void {
    const rest = this.#lines.end(task)
    if (rest !== '') this.#printOutput(task, rest)
  }

  #printOutput(task: TaskName, line: string): void {
    if (this.#context.settings.quiet) return
    const { paint, now } = this.#context
    this.#print(paint.dim(`${escapeForTerminal(task)} │ ${escapeForTerminal(line)}`), now())
  }

  #print(line: string, at: number): void {
    if (!this.#context.settings.quiet) this.#context.stdout.write(`${timeOfDay(at)} ${line}\n`)
  }
}
