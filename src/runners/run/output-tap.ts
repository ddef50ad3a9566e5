// Where the output of a child goes: live to the log, in whole characters and up to a bound, and bounded into memory for
// whoever judges the attempt. Beyond the bound it is drained and dropped; only its last part follows when it has ended.

import { TASK_OUTPUT_MAX_BYTES } from '../../domain/limits.ts'
import type { RunnerTools } from '../runner.ts'
import { BoundedOutput, leftOutLine, unfinishedBytes } from './bounded-output.ts'

const RETURNED_MAX_BYTES = 1024 * 1024
const LOG_HEAD_MAX_BYTES = (TASK_OUTPUT_MAX_BYTES / 2) * 0.8
const LOG_TAIL_MAX_BYTES = (TASK_OUTPUT_MAX_BYTES / 2) * 0.2

/** One of stdout and stderr. Each has half of what a task may print. */
export class OutputTap {
  readonly #stream: 'stdout' | 'stderr'
  readonly #log: RunnerTools['log']
  readonly #returned = new BoundedOutput({ headMax: RETURNED_MAX_BYTES / 2, tailMax: RETURNED_MAX_BYTES / 2 })
  readonly #logTail = new BoundedOutput({ headMax: 0, tailMax: LOG_TAIL_MAX_BYTES })
  #loggedBytes = 0
  #unfinished: Buffer = Buffer.alloc(0)

  constructor(stream: 'stdout' | 'stderr', log: RunnerTools['log']) {
    this.#stream = stream
    this.#log = log
  }

  write(chunk: Buffer): void {
    this.#returned.write(chunk)
    const now = chunk.subarray(0, LOG_HEAD_MAX_BYTES - this.#loggedBytes)
    this.#loggedBytes += now.length
    this.#forward(now)
    if (now.length < chunk.length) this.#logTail.write(chunk.subarray(now.length))
  }

  /** After the last chunk: sends what was held back. */
  end(): void {
    const missing = this.#logTail.leftOut
    if (missing === 0) {
      this.#send(Buffer.concat([this.#unfinished, this.#logTail.tail()]))
    } else {
      this.#send(this.#unfinished)
      this.#log('engine', Buffer.from(`\n${leftOutLine(missing)} (${this.#stream})\n`))
      this.#send(this.#logTail.tail())
    }
  }

  get truncated(): boolean {
    return this.#returned.leftOut > 0
  }

  text(): string {
    return this.#returned.text()
  }

  #forward(chunk: Buffer): void {
    const joined = this.#unfinished.length === 0 ? chunk : Buffer.concat([this.#unfinished, chunk])
    const cut = joined.length - unfinishedBytes(joined)
    this.#unfinished = joined.subarray(cut)
    this.#send(joined.subarray(0, cut))
  }

  #send(chunk: Buffer): void {
    if (chunk.length > 0) this.#log(this.#stream, chunk)
  }
}
