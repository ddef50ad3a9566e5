// Follows the journal while the service runs, so that its numbers tell of what other processes did as well.

import type { ServerRooms } from './rooms.ts'

/** Until the service stops. Never fails: numbers are worth less than the service. */
export async function followJournal({ engine, meter, log, stopping }: ServerRooms): Promise<void> {
  try {
    const after = await engine.ask({ type: 'position' })
    for await (const entry of engine.watch({ after, signal: stopping })) meter.entry(entry)
  } catch (error) {
    if (!stopping.aborted) log.error({ error: String(error) }, 'the journal is not followed any more')
  }
}
