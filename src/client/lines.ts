// A stream of bytes as lines. What stands behind the last line break is no line: it was cut off.

export interface LinesOptions {
  /** Without a byte for so long, the line is taken for dead. */
  readonly silentMs: number
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>
}

export async function* linesOf(
  stream: ReadableStream<Uint8Array>,
  { silentMs, wait }: LinesOptions,
): AsyncIterable<string> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  const parts: string[] = []
  try {
    for (;;) {
      const heard = new AbortController()
      const read = reader.read().finally(() => heard.abort())
      const silence = wait(silentMs, heard.signal).then(() => null)
      const got = (await Promise.race([read, silence])) ?? (heard.signal.aborted ? await read : null)
      if (got === null || got.done) return
      const pieces = decoder.decode(got.value, { stream: true }).split('\n')
      // Only the first piece goes on with what came before.
      for (const piece of pieces.slice(0, -1)) {
        yield parts.join('') + piece
        parts.length = 0
      }
      parts.push(pieces.at(-1)!)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
