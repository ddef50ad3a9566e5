// The output of one attempt on its way to `task_logs`: collected into chunks of at most 64 KB or 250 ms, so that another process can follow
// live and a crash loses little. The result holds its hash. None of this is state.

import { createHash, type Hash } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import type { Sha256 } from '../../domain/id.ts'
import { TASK_OUTPUT_MAX_BYTES } from '../../domain/limits.ts'
import type { Shortage } from '../../domain/shortage.ts'
import type { LogChunk, Logs } from '../../stores/store.ts'
import type { Clock } from '../clock.ts'
import { shortageOfError } from '../loop/shortage.ts'

const CHUNK_MAX_BYTES = 64 * 1024
const CHUNK_MAX_MS = 250
const TRIES_MAX = 60
const TRY_AGAIN_MS = 1_000

type Stream = LogChunk['stream']

export class Logbook {
  readonly #logs: Logs
  readonly #clock: Clock
  readonly #where: Pick<LogChunk, 'plan' | 'task' | 'visit' | 'attempt'>
  readonly #onOutput: (text: string, stream: Stream) => void
  readonly #onShortage: (shortage: Shortage) => void
  /** Output beyond this is counted and hashed, but not stored. */
  readonly #maxBytes: number
  /** Created at the first byte: most attempts print nothing. */
  #hash: Hash | null = null
  #decoders: Map<Stream, StringDecoder> | null = null
  #pending: LogChunk[] = []
  #pendingBytes = 0
  #bytes = 0
  #cancelTimer: (() => void) | null = null
  /** Chunks that could not be stored for a shortage; tried again at most `TRIES_MAX` times, then dropped. */
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

  seal(): { readonly sha256: Sha256; readonly bytes: number } | null {
    for (const [stream, decoder] of this.#decoders ?? []) this.#gather(stream, decoder.end())
    this.#flush()
    return this.#hash === null ? null : { sha256: this.#hash.digest('hex') as Sha256, bytes: this.#bytes }
  }

  #gather(stream: Stream, text: string): void {
    if (text === '') return
    // SQLite ends a text at its first NUL, so NULs are replaced by the visible symbol.
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
    // If the store is broken, the commit that settles the attempt fails and reports it. Lost output alone fails no task.
    this.#logs.append(chunks).catch(error => this.#keep(chunks, error))
  }

  #keep(chunks: readonly LogChunk[], error: unknown): void {
    const shortage = shortageOfError(error, `Storing what '${this.#where.task}' prints`)
    if (shortage === null || ++this.#tries > TRIES_MAX) return
    this.#unstored = [...chunks, ...this.#unstored]
    this.#onShortage(shortage)
    this.#cancelTimer ??= this.#clock.after(TRY_AGAIN_MS, () => this.#flush())
  }
}
