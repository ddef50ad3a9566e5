// `watch` over a wire: entries as the service sends them, line by line. A line that is cut is taken up again behind the last whole
// entry, as often as it takes, until the caller has had enough.

import type { Entry, Position } from '../stores/store.ts'
import { linesOf } from './lines.ts'
import { type Connection, headersOf } from './transport.ts'
import { problemIn, troubleOf } from './trouble.ts'

export interface EntriesWish {
  readonly plan?: string
  readonly after: Position
  readonly signal: AbortSignal
}

const BACKOFF_MS = 100
const BACKOFF_MAX_MS = 5_000
/** The service says every 15 seconds that it is there. */
const SILENT_MS = 45_000
/** These will not go away by asking again. */
const FOR_GOOD = new Set([400, 401, 403, 404, 405, 421, 422])

export async function* remoteEntries(
  connection: Connection,
  { plan, after, signal }: EntriesWish,
): AsyncIterable<Entry> {
  let position = after
  for (let failures = 0; !signal.aborted; ) {
    const cut = new AbortController()
    const until = AbortSignal.any([signal, cut.signal])
    try {
      const lines = await open(connection, { ...(plan === undefined ? {} : { plan }), after: position, signal: until })
      for await (const line of linesOf(lines, { silentMs: SILENT_MS, wait: connection.wait })) {
        failures = 0
        if (line === '') continue
        const entry = JSON.parse(line) as Entry
        position = entry.position
        yield entry
        if (signal.aborted) return
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ForGood) throw error.trouble
    } finally {
      cut.abort()
    }
    await connection.wait(Math.min(BACKOFF_MS * 2 ** failures++, BACKOFF_MAX_MS), signal)
  }
}

class ForGood extends Error {
  readonly trouble: Error
  constructor(trouble: Error) {
    super(trouble.message)
    this.trouble = trouble
  }
}

async function open(connection: Connection, { plan, after, signal }: EntriesWish): Promise<ReadableStream<Uint8Array>> {
  const about = plan === undefined ? '' : `&plan=${encodeURIComponent(plan)}`
  const response = await connection.fetch(`${connection.url}/engine/entries?after=${after}${about}`, {
    headers: { accept: 'application/x-ndjson', ...headersOf(connection) },
    signal,
  })
  if (response.ok && response.body !== null) return response.body
  const problem = problemIn(response.status, await response.json().catch(() => null))
  const trouble = problem === null ? new Error(`answered ${response.status}`) : troubleOf(problem)
  throw FOR_GOOD.has(response.status) ? new ForGood(trouble) : trouble
}
