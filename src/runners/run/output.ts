// The output of a child: live to the log up to a limit, and its head and tail in memory for evaluating the attempt.

import { TASK_OUTPUT_MAX_BYTES } from '../../domain/limits.ts'
import { byteStreamRedactor, type Redacting } from '../../safety/secrets/redaction.ts'
import type { RunnerTools } from '../runner.ts'

// Output of unknown length, kept as a bounded head and tail. The middle is only counted, so that endless output takes a fixed amount of
// memory.

class BoundedOutput {
  readonly #headMax: number
  readonly #tailMax: number
  readonly #head: Buffer[] = []
  #headBytes = 0
  // A ring buffer, created when the head is full: once full, `#ring[#next]` is the oldest byte.
  #ring: Buffer | null = null
  #next = 0
  #tailBytes = 0

  constructor(bounds: { readonly headMax: number; readonly tailMax: number }) {
    this.#headMax = bounds.headMax
    this.#tailMax = bounds.tailMax
  }

  write(chunk: Buffer): void {
    const head = chunk.subarray(0, this.#headMax - this.#headBytes)
    if (head.length > 0) {
      this.#head.push(head)
      this.#headBytes += head.length
    }
    if (head.length < chunk.length) this.#writeTail(chunk.subarray(head.length))
  }

  get leftOut(): number {
    return Math.max(0, this.#tailBytes - this.#tailMax)
  }

  tail(): Buffer {
    if (this.#ring === null) return Buffer.alloc(0)
    if (this.#tailBytes <= this.#tailMax) return this.#ring.subarray(0, this.#tailBytes)
    return Buffer.concat([this.#ring.subarray(this.#next), this.#ring.subarray(0, this.#next)])
  }

  /** As text, with a line that gives the size of the gap. Invalid UTF-8 becomes U+FFFD. */
  text(): string {
    if (this.leftOut === 0) return Buffer.concat([...this.#head, this.tail()]).toString('utf8')
    const head = Buffer.concat(this.#head)
    const tail = this.tail()
    const cut = head.length - unfinishedBytes(head)
    const begin = leadingRestBytes(tail)
    const missing = this.leftOut + (head.length - cut) + begin
    return `${head.toString('utf8', 0, cut)}\n${leftOutLine(missing)}\n${tail.toString('utf8', begin)}`
  }

  #writeTail(chunk: Buffer): void {
    this.#ring ??= Buffer.allocUnsafe(this.#tailMax)
    this.#tailBytes += chunk.length
    const kept = chunk.subarray(Math.max(0, chunk.length - this.#tailMax))
    const first = kept.copy(this.#ring, this.#next)
    kept.copy(this.#ring, 0, first)
    this.#next = (this.#next + kept.length) % this.#tailMax
  }
}

const leftOutLine = (bytes: number): string => `… ${bytes} bytes left out …`

/** How many bytes at the end begin an incomplete UTF-8 character; 0 to 3. */
function unfinishedBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}

/** How many bytes at the start continue an earlier character; 0 to 3. */
function leadingRestBytes(bytes: Buffer): number {
  let rest = 0
  while (rest < 3 && rest < bytes.length && (bytes[rest]! & 0xc0) === 0x80) rest++
  return rest
}

// Sends the output of a child live to the log, in whole characters and up to a limit, and keeps a bounded copy in memory. Beyond the limit
// it is drained and dropped; only its tail follows at the end.

const RETURNED_MAX_BYTES = 1024 * 1024
const LOG_HEAD_MAX_BYTES = (TASK_OUTPUT_MAX_BYTES / 2) * 0.8
const LOG_TAIL_MAX_BYTES = (TASK_OUTPUT_MAX_BYTES / 2) * 0.2

/** For stdout or stderr. Each has half of the limit. */
export class OutputTap {
  readonly #stream: 'stdout' | 'stderr'
  readonly #log: RunnerTools['log']
  readonly #returned = new BoundedOutput({ headMax: RETURNED_MAX_BYTES / 2, tailMax: RETURNED_MAX_BYTES / 2 })
  readonly #logTail = new BoundedOutput({ headMax: 0, tailMax: LOG_TAIL_MAX_BYTES })
  readonly #redacting: Redacting<Buffer> | null
  #loggedBytes = 0
  #unfinished: Buffer = Buffer.alloc(0)

  constructor(stream: 'stdout' | 'stderr', log: RunnerTools['log'], secrets: readonly string[] = []) {
    this.#stream = stream
    this.#log = log
    this.#redacting = secrets.length === 0 ? null : byteStreamRedactor(secrets, { parts: true })
  }

  write(chunk: Buffer): void {
    this.#take(this.#redacting === null ? chunk : this.#redacting.next(chunk))
  }

  #take(chunk: Buffer): void {
    this.#returned.write(chunk)
    const now = chunk.subarray(0, LOG_HEAD_MAX_BYTES - this.#loggedBytes)
    this.#loggedBytes += now.length
    this.#forward(now)
    if (now.length < chunk.length) this.#logTail.write(chunk.subarray(now.length))
  }

  /** After the last chunk: sends what was held back. */
  end(): void {
    if (this.#redacting !== null) this.#take(this.#redacting.end())
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
