// The lines of a log, from the pieces in which it was stored: a line may come in several pieces, between those of another stream.

import { PLAIN, readTerminalLine, type Style } from '../terminal/terminal-line.ts'

export interface Chunk {
  readonly seq: number
  readonly at: number
  readonly stream: string
  readonly visit: number
  readonly attempt: number
  readonly text: string
}
export interface LogLine {
  /** Counts the lines of the task from its first attempt on, in the order in which they ended. */
  readonly number: number
  readonly at: number
  readonly stream: string
  readonly visit: number
  readonly attempt: number
  /** As it was printed, with the escape sequences of a terminal. */
  readonly text: string
  /** As the line before it on this stream left it. */
  readonly style: Style
}

/** Reads chunks in order. `before`: how many lines came before the first one. */
export class LineReader {
  #ended: LogLine[] = []
  #count: number
  /** By stream: the line that has not ended, and the style in which the next one begins. */
  #open = new Map<string, { chunk: Chunk; text: string }>()
  #styles = new Map<string, Style>()
  #attempt = ''

  constructor(before: number) {
    this.#count = before
  }

  read(chunk: Chunk): void {
    const attempt = `${chunk.visit}.${chunk.attempt}`
    if (attempt !== this.#attempt) {
      // The attempt ended without a line feed. Such lines are not counted, so that numbers stay the same wherever reading began.
      this.#ended.push(...this.#unended())
      this.#open.clear()
      this.#styles.clear()
      this.#attempt = attempt
    }
    const parts = ((this.#open.get(chunk.stream)?.text ?? '') + chunk.text).split('\n')
    const rest = parts.pop()!
    for (const text of parts) this.#ended.push(this.#line(chunk, text, ++this.#count))
    if (rest === '') this.#open.delete(chunk.stream)
    else this.#open.set(chunk.stream, { chunk, text: rest })
  }

  /** All lines so far, those that have not ended last. */
  lines(): readonly LogLine[] {
    return [...this.#ended, ...this.#unended()]
  }

  #unended(): readonly LogLine[] {
    return [...this.#open.values()].map(({ chunk, text }, at) => this.#line(chunk, text, this.#count + at + 1))
  }

  #line({ at, stream, visit, attempt }: Chunk, text: string, number: number): LogLine {
    const style = this.#styles.get(stream) ?? PLAIN
    if (text.includes('\u001b[')) this.#styles.set(stream, readTerminalLine(text, style).style)
    return { number, at, stream, visit, attempt, text, style }
  }
}

/** The index of the addressed line. Without an attempt, the first with this number. */
export function findLine(
  lines: readonly LogLine[],
  wanted: { readonly line: number; readonly attempt?: number; readonly visit?: number },
): number {
  return lines.findIndex(
    ({ number, attempt, visit }) =>
      number === wanted.line && attempt === (wanted.attempt ?? attempt) && visit === (wanted.visit ?? visit),
  )
}
