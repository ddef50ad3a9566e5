// Draws lines in place at the bottom of the terminal, leaving what was printed before alone. Hides the cursor while it
// draws and gives it back when closed, whatever happens in between.

import type { Sink, Terminal } from '../context.ts'
import { width } from '../width.ts'

const HIDE = '\u001b[?25l'
const SHOW = '\u001b[?25h'
const CLEAR_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[J'

export class Screen {
  readonly #sink: Sink
  readonly #terminal: Terminal
  #drawn: readonly string[] = []
  #hidden = false

  constructor(sink: Sink, terminal: Terminal) {
    this.#sink = sink
    this.#terminal = terminal
  }

  /** Replaces what was drawn last. The whole frame goes out in one write, so that it never shows half. */
  draw(lines: readonly string[]): void {
    const start = this.#hidden ? '' : HIDE
    this.#hidden = true
    const frame = lines.map(line => `${line}${CLEAR_LINE}\n`).join('')
    this.#sink.write(`${start}${this.#home()}${frame}${CLEAR_BELOW}`)
    this.#drawn = lines
  }

  /** Leaves these lines in place of the drawing and gives the cursor back. */
  close(last: readonly string[] = []): void {
    if (!this.#hidden && last.length === 0) return
    const frame = last.map(line => `${line}${CLEAR_LINE}\n`).join('')
    this.#sink.write(`${this.#home()}${frame}${CLEAR_BELOW}${SHOW}`)
    this.#hidden = false
    this.#drawn = []
  }

  /** To the first row of the last drawing; after a resize its lines may have been wrapped into several rows each. */
  #home(): string {
    const columns = Math.max(1, this.#terminal.columns())
    const rows = this.#drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(width(unpainted(line)) / columns)), 0)
    return rows === 0 ? '' : `\u001b[${rows}A\r`
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are our own colours, put on after escaping.
const unpainted = (line: string): string => line.replace(/\u001b\[[0-9;]*m/g, '')
