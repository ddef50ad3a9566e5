// The log of one task in this tab: its end first, what came before upon scrolling or searching, and what is printed from now on.

import { type Chunk, LineReader, type LogLine } from './log-lines.ts'

/** What the service is asked for. Null: there is no such task. */
export interface LogService {
  chunks(range: {
    readonly after?: number
    readonly before?: number
    readonly limit: number
  }): Promise<readonly Chunk[] | null>
  /** How many lines were printed before this chunk. */
  linesBefore(seq: number): Promise<number | null>
}
export interface Log {
  /** Null while it loads. */
  readonly lines: readonly LogLine[] | null
  /** How many lines before them are not loaded. */
  readonly before: number
}

const FIRST_PAGE = 60
const PAGE = 200

export class LogSource {
  readonly #service: LogService
  readonly #listeners = new Set<() => void>()
  #chunks: readonly Chunk[] = []
  #reader = new LineReader(0)
  #isOpen = false
  #before = 0
  #log: Log = { lines: null, before: 0 }
  /** Requests run one after the other, because each continues where the last one ended. */
  #turn: Promise<void> = Promise.resolve()
  #isMoreComing = false

  constructor(service: LogService) {
    this.#service = service
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
  readonly now = (): Log => this.#log

  /** Reads what was printed since, or the end of the log if nothing was read yet. */
  more(): void {
    if (this.#isMoreComing) return
    this.#isMoreComing = true
    this.#next(async () => {
      this.#isMoreComing = false
      if (!this.#isOpen) return await this.#open()
      for (;;) {
        const found = await this.#service.chunks({ after: this.#chunks.at(-1)?.seq ?? 0, limit: PAGE })
        if (found === null || found.length === 0) return
        for (const chunk of found) this.#reader.read(chunk)
        this.#chunks = [...this.#chunks, ...found]
        this.#tell()
        if (found.length < PAGE) return
      }
    })
  }

  /** Reads one page before the first line; up to this line, if one is named. */
  earlier(line = Number.MAX_SAFE_INTEGER): void {
    this.#next(async () => {
      do {
        const [first] = this.#chunks
        if (this.#before === 0 || first === undefined) return
        const found = (await this.#service.chunks({ before: first.seq, limit: PAGE })) ?? []
        const count = found.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
        this.#before = found.length < PAGE ? 0 : this.#before - count
        this.#chunks = [...found, ...this.#chunks]
        this.#readAgain()
      } while (this.#before >= line)
    })
  }

  async whole(): Promise<readonly LogLine[]> {
    this.earlier(1)
    await this.#turn
    return this.#reader.lines()
  }

  async #open(): Promise<void> {
    const found = (await this.#service.chunks({ before: Number.MAX_SAFE_INTEGER, limit: FIRST_PAGE })) ?? []
    const isWhole = found.length < FIRST_PAGE
    this.#before = isWhole ? 0 : ((await this.#service.linesBefore(found[0]!.seq)) ?? 0)
    this.#chunks = found
    this.#isOpen = true
    this.#readAgain()
  }

  #readAgain(): void {
    this.#reader = new LineReader(this.#before)
    for (const chunk of this.#chunks) this.#reader.read(chunk)
    this.#tell()
  }

  #tell(): void {
    this.#log = { lines: this.#reader.lines(), before: this.#before }
    for (const listener of this.#listeners) listener()
  }

  #next(run: () => Promise<void>): void {
    // If the service is away, the page says so elsewhere and asks again when it is back.
    this.#turn = this.#turn.then(run).catch(() => {})
  }
}
