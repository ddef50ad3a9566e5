// Notices commits of other processes: a notification is only a doorbell, and the end of the journal is looked at anyway. The same answer has
// the time of the database.

import { NOW } from '../append.ts'
import { type Link, queryOn } from './connection.ts'
import type { DatabaseClock } from './database-clock.ts'

const POLL_MS = 250
const LOOK = `SELECT max(position) AS position, ${NOW} AS now FROM entries`
const CHANNEL = 'planfold'

/** Calls back when there may be something new. Returns how to stop. */
export async function listen(link: Link, clock: DatabaseClock, called: () => void): Promise<() => void> {
  let listening: unknown = null
  let seen: unknown
  let isLooking = false
  const look = async () => {
    if (isLooking) return
    isLooking = true
    try {
      const client = await link.client()
      if (client !== listening) {
        listening = client
        client.on('notification', () => void look())
        await queryOn(client)(`LISTEN ${CHANNEL}`)
      }
      const asked = clock.monotonic()
      const [row] = await link.query(LOOK)
      clock.learn(row!.now as number, asked, clock.monotonic())
      if (seen !== undefined && row!.position !== seen) called()
      seen = row!.position
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
