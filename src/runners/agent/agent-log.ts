// What an agent says and does, as it comes: its words in whole lines, a line for each tool it calls, and never one for each token.

import { OutputTap } from '../run/output.ts'
import type { RunnerTools } from '../runner.ts'

export class AgentLog {
  readonly #tap: OutputTap
  readonly #log: RunnerTools['log']
  #line = ''
  #last = ''
  #words = ''

  constructor(log: RunnerTools['log'], secrets: readonly string[]) {
    this.#log = log
    this.#tap = new OutputTap('stdout', log, secrets)
  }

  /** A part of what it says. */
  say(text: string): void {
    this.#words += text
    const lines = `${this.#line}${text}`.split('\n')
    this.#line = lines.pop() ?? ''
    // A paragraph without an end is shown as well.
    if (this.#line.length > LINE_MAX) lines.push(this.#line.slice(0, LINE_MAX))
    if (this.#line.length > LINE_MAX) this.#line = this.#line.slice(LINE_MAX)
    for (const line of lines) this.#tap.write(Buffer.from(`${line}\n`))
  }

  /** It does something; what it says next begins anew. */
  act(text: string): void {
    this.#end()
    this.#tap.write(Buffer.from(`→ ${text.replaceAll('\n', ' ').slice(0, LINE_MAX)}\n`))
  }

  /** What we say about it. */
  note(text: string): void {
    this.#log('engine', Buffer.from(`${text}\n`))
  }

  /** Everything is written; what it said last, without what it did before that. */
  close(): string {
    this.#end()
    this.#tap.end()
    return this.#last.trim().slice(-TEXT_MAX)
  }

  #end(): void {
    if (this.#line !== '') this.#tap.write(Buffer.from(`${this.#line}\n`))
    this.#line = ''
    if (this.#words.trim() !== '') this.#last = this.#words
    this.#words = ''
  }
}

const LINE_MAX = 2_000
const TEXT_MAX = 20_000
