// Cuts the output of tasks, which arrives in chunks of any size, into whole lines.

import type { TaskName } from '../../domain/id.ts'

/** A line that never ends is passed on in pieces of this length. */
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

  /** What the task has begun to write on its current line. */
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
