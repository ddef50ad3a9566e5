// Plain lines, for logs and pipes: `14:03:55 build started`, and the output of tasks, cut into whole lines, beside their names.

import type { Event } from '../../domain/event.ts'
import type { TaskName } from '../../domain/id.ts'
import { sentence, visibleEvents } from '../../domain/views/timeline.ts'
import { escapeForTerminal, indentedLines } from '../../safety/text/terminal.ts'
import type { Entry } from '../../stores/store.ts'
import { withDir } from '../answer.ts'
import type { Context } from '../context.ts'
import { elapsed, timeOfDay } from '../terminal/elapsed-time.ts'
import { tint } from '../terminal/paint.ts'
import { wordsFor } from '../text/hint-text.ts'
import type { Reporter } from './reporter.ts'

// Cuts the output of tasks, which arrives in chunks of any size, into whole lines.

const LINE_MAX = 4_000

export class OutputLines {
  readonly #rest = new Map<TaskName, string>()

  /** The lines that are complete now. A carriage return begins the line again, as progress bars mean it. */
  push(task: TaskName, text: string): readonly string[] {
    const lines = ((this.#rest.get(task) ?? '') + text).split('\n')
    let rest = lines.pop() ?? ''
    while (rest.length > LINE_MAX) {
      lines.push(rest.slice(0, LINE_MAX))
      rest = rest.slice(LINE_MAX)
    }
    if (rest === '') this.#rest.delete(task)
    else this.#rest.set(task, rest)
    return lines.map(shown)
  }

  current(task: TaskName): string {
    return shown(this.#rest.get(task) ?? '')
  }

  /** The last line of a task that ended without a line feed; empty when there is none. */
  end(task: TaskName): string {
    const rest = this.current(task)
    this.#rest.delete(task)
    return rest
  }
}

function shown(line: string): string {
  const text = line.replace(/\r+$/, '')
  return text.slice(text.lastIndexOf('\r') + 1)
}

// Plain lines, for logs and pipes: `14:03:55 build started`, and the output of tasks beside their names.

const SOON_MS = 50

// Becoming ready and being prepared is the engine's business; a reader of a log wants what happened.
const SILENT: ReadonlySet<Event['type']> = new Set(['task.readied', 'task.unblocked'])

export class PlainReporter implements Reporter {
  readonly asks = false
  readonly #context: Context
  readonly #lines = new OutputLines()

  readonly #plan: string | undefined

  constructor(context: Context, plan?: string) {
    this.#context = context
    this.#plan = plan
  }

  entry(entry: Entry): void {
    for (const event of visibleEvents(entry.events)) {
      if ('task' in event && event.task !== undefined && event.type.startsWith('attempt.')) this.#flush(event.task)
      if (!SILENT.has(event.type)) this.#print(this.#lineOf(event, entry.now), entry.now)
    }
  }

  output(task: TaskName, text: string): void {
    for (const line of this.#lines.push(task, text)) this.#printOutput(task, line)
  }

  say(line: string | null): void {
    if (line !== null) this.#print(line, this.#context.now())
  }

  async close(): Promise<void> {}

  #lineOf(event: Event, now: number): string {
    const text = withDir(this.#context, indentedLines(sentence(event, wordsFor(this.#plan)), 9))
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
