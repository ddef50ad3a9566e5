// While many files are looked at, before and after a task, nothing else happens that could be shown: a line each second says
// that it goes on. A workspace of few files says nothing, however slow the machine.

import type { FileProgress } from '../../workspace/workspace.ts'
import { printNote } from '../answer.ts'
import type { Context } from '../context.ts'

const EVERY_MS = 900
const ENTRIES_MIN = 256

export class FileProgressLines {
  readonly #show: (line: string | null) => void
  readonly #under = new Map<object, number>()
  #timer: NodeJS.Timeout | null = null
  #isShown = false

  constructor(context: Context, show?: (line: string | null) => void) {
    this.#show = show ?? (line => line !== null && printNote(context, line))
  }

  tell({ work, entries, done }: FileProgress): void {
    if (done === true) this.#under.delete(work)
    else this.#under.set(work, entries)
    if (this.#under.size === 0) this.close()
    else this.#timer ??= setInterval(() => this.#tick(), EVERY_MS).unref()
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    if (this.#isShown) this.#show(null)
    this.#isShown = false
  }

  #tick(): void {
    const entries = Math.max(...this.#under.values())
    if (entries < ENTRIES_MIN) return
    this.#isShown = true
    this.#show(`looking at the files of the workspace: ${entries.toLocaleString('en-US')} so far`)
  }
}
