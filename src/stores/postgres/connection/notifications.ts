// Notices commits of other processes: a notification is only a doorbell, and the end of the journal is looked at anyway. The same answer has
// the time of the database.

import { NOW } from '../append.ts'
import { HORIZON } from '../rows.ts'
import { type Link, queryOn, type Row } from './connection.ts'
import type { DatabaseClock } from './database-clock.ts'

const POLL_MS = 250
/** `others` grows with every call of another process, also of one whose position is lower. */
const LOOK = `SELECT ${NOW} AS now, (SELECT max(position) FROM entries WHERE position < ${HORIZON}) AS visible,
  (SELECT coalesce(sum(position), 0)::text FROM sent WHERE writer IS DISTINCT FROM $1) AS others`
const CHANNEL = 'planfold'

interface Heard {
  /** The name under which this process appends. */
  readonly writer: () => string | null
  /** Another process has appended something. */
  readonly others: () => void
  /** There is more to read, of whomever: also what an open transaction had held back. */
  readonly more: () => void
}

/** Returns how to stop. */
export async function listen(link: Link, clock: DatabaseClock, heard: Heard): Promise<() => void> {
  let listening: unknown = null
  let seen: Row | undefined
  let isLooking = false
  const look = async () => {
    if (isLooking) return
    isLooking = true
    try {
      const client = await link.client()
      if (client !== listening) {
        listening = client
        // Our own bell says nothing new: each loop here would read its plan again.
        const own = (client as { readonly processID?: number | null }).processID
        client.on('notification', ({ processId }) => void (processId === own || look()))
        await queryOn(client)(`LISTEN ${CHANNEL}`)
      }
      const asked = clock.monotonic()
      const [row] = await link.query(LOOK, [heard.writer()])
      clock.learn(row!.now as number, asked, clock.monotonic())
      if (seen !== undefined && row!.others !== seen.others) heard.others()
      else if (seen !== undefined && row!.visible !== seen.visible) heard.more()
      seen = row
    } catch {
      // The database is away; reads and writes report it, and the next look connects again.
    } finally {
      isLooking = false
    }
  }
  await look()
  const timer = setInterval(() => void look(), POLL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Outside the commit, and at most every 20 ms. */
export function bell(link: Link): () => void {
  let due: NodeJS.Timeout | null = null
  return () => {
    if (due !== null) return
    due = setTimeout(() => {
      due = null
      link.query(`NOTIFY ${CHANNEL}`).catch(() => {})
    }, 20).unref()
  }
}
