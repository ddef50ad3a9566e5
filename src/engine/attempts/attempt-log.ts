// What one attempt prints, on its way to `task_logs`: gathered into chunks of at most 64 KB or 250 ms, so that another process
// can follow live and little is lost in a crash. Its hash is sealed in the result. Nothing here is state.

import { createHash, type Hash } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import type { Sha256 } from '../../domain/id.ts'
import { TASK_OUTPUT_MAX_BYTES } from '../../domain/limits.ts'
import type { Shortage } from '../../domain/shortage.ts'
import type { LogChunk, Logs } from '../../stores/store.ts'
import type { Clock } from '../clock.ts'
import { namedShortage } from '../loop/shortage.ts'

const CHUNK_MAX_BYTES = 64 * 1024
const CHUNK_MAX_MS = 250
/** What could not be stored for want of space is tried again so often, this long after each try. */
const TRIES_MAX = 60
const TRY_AGAIN_MS = 1_000

type Stream = LogChunk['stream']

export class Logbook {
  readonly #logs: Logs
  readonly #clock: Clock
  readonly #where: Pick<LogChunk, 'plan' | 'task' | 'visit' | 'attempt'>
  readonly #onOutput: (text: string, stream: Stream) => void
  readonly #onShortage: (shortage: Shortage) => void
  /** So much is stored; what comes after it is only counted and hashed. */
  readonly #maxBytes: number
  /** Made at the first byte: most attempts print nothing, and none should pay for it. */
  #hash: Hash | null = null
  #decoders: Map<Stream, StringDecoder> | null = null
  #pending: LogChunk[] = []
  #pendingBytes = 0
  #bytes = 0
  #cancelTimer: (() => void) | null = null
  /** Handed over and not taken, for want of space. */
  #unstored: readonly LogChunk[] = []
  #tries = 0

  constructor(
    logs: Logs,
    clock: Clock,
    where: Pick<LogChunk, 'plan' | 'task' | 'visit' | 'attempt'>,
    onOutput: (text: string, stream: Stream) => void,
    onShortage: (shortage: Shortage) => void = () => {},
    maxBytes: number = TASK_OUTPUT_MAX_BYTES,
  ) {
    this.#logs = logs
    this.#clock = clock
    this.#where = where
    this.#onOutput = onOutput
    this.#onShortage = onShortage
    this.#maxBytes = maxBytes
  }

  write(stream: Stream, chunk: Uint8Array): void {
    this.#hash ??= createHash('sha256')
    this.#hash.update(chunk)
    const before = this.#bytes
    this.#bytes += chunk.length
    if (before >= this.#maxBytes) return
    this.#decoders ??= new Map()
    let decoder = this.#decoders.get(stream)
    if (decoder === undefined) {
      decoder = new StringDecoder('utf8')
      this.#decoders.set(stream, decoder)
    }
    this.#gather(stream, decoder.write(chunk))
  }

  /** Hands over what is left and seals the hash; null when nothing was printed. */
  seal(): { readonly sha256: Sha256; readonly bytes: number } | null {
    for (const [stream, decoder] of this.#decoders ?? []) this.#gather(stream, decoder.end())
    this.#flush()
    return this.#hash === null ? null : { sha256: this.#hash.digest('hex') as Sha256, bytes: this.#bytes }
  }

  #gather(stream: Stream, text: string): void {
    if (text === '') return
    // A text in the store ends at its first NUL; shown as the symbol for it, nothing behind it is lost.
    const kept = text.replaceAll('\0', '␀')
    this.#onOutput(text, stream)
    const last = this.#pending.at(-1)
    if (last?.stream === stream) this.#pending[this.#pending.length - 1] = { ...last, text: last.text + kept }
    else this.#pending.push({ ...this.#where, stream, at: this.#clock.now(), text: kept })
    this.#pendingBytes += text.length
    if (this.#pendingBytes >= CHUNK_MAX_BYTES) this.#flush()
    else this.#cancelTimer ??= this.#clock.after(CHUNK_MAX_MS, () => this.#flush())
  }

  #flush(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    if (this.#pending.length === 0 && this.#unstored.length === 0) return
    const chunks = [...this.#unstored, ...this.#pending]
    this.#unstored = []
    this.#pending = []
    this.#pendingBytes = 0
    // A store that cannot take it will say so at the commit that settles the attempt; output alone fails no task.
    this.#logs.append(chunks).catch(error => this.#keep(chunks, error))
  }

  /** Output that meets a full disk is kept for a while, bounded as all output of an attempt is. */
  #keep(chunks: readonly LogChunk[], error: unknown): void {
    const shortage = namedShortage(error, `Storing what '${this.#where.task}' prints`)
    if (shortage === null || ++this.#tries > TRIES_MAX) return
    this.#unstored = [...chunks, ...this.#unstored]
    this.#onShortage(shortage)
    this.#cancelTimer ??= this.#clock.after(TRY_AGAIN_MS, () => this.#flush())
  }
}
