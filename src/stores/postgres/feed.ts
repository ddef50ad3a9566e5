// Notices commits of other processes: a notification is only a doorbell, and the end of the journal is looked at anyway.

import type pg from 'pg'
import { queryOn } from './connection.ts'

const POLL_MS = 250
const CHANNEL = 'planfold'

/** Calls back when there may be something new. Returns how to stop. */
export async function listen(client: pg.Client, called: () => void): Promise<() => void> {
  const query = queryOn(client)
  let seen: unknown
  let isLooking = false
  const look = async () => {
    if (isLooking) return
    isLooking = true
    try {
      const [row] = await query('SELECT max(position) AS position FROM entries')
      if (seen !== undefined && row!.position !== seen) called()
      seen = row!.position
    } catch {
      // The connection is gone; reads and writes report it.
    } finally {
      isLooking = false
    }
  }
  client.on('notification', () => void look())
  await query(`LISTEN ${CHANNEL}`)
  await look()
  const timer = setInterval(() => void look(), POLL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Outside the commit, and at most every 20 ms. */
export function bell(client: pg.Client): () => void {
  let _due: NodeJS.Timeout | null = null
  return () => {
    _due ??= setTimeout(() => {
      _due = null
      client.query(`NOTIFY ${CHANNEL}`).catch(() => {})
    }, 20).unref()
  }
}
