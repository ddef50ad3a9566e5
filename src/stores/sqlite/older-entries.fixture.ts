// Entries as an older release wrote them.

import type { PlanId } from '../../domain/id.ts'
import { entryHash, GENESIS, type StoredEntry } from '../journal/entry.ts'
import { Connection } from './driver.ts'

/** The entries as the release of format 1 wrote them: the body says so, and the hash covers the position. */
export function writtenBefore(path: string, id: PlanId, offset: number): void {
  const connection = new Connection(path, { readOnly: false, busyMs: 1_000 })
  let previous = GENESIS.hash
  for (const row of connection
    .prepare('SELECT * FROM entries WHERE plan_no = (SELECT plan_no FROM plans WHERE id = ?) ORDER BY version')
    .all(id)) {
    const { body, ...rest } = row as unknown as StoredEntry
    const old = body!.replace(/^\{"v":2,/, '{"v":1,')
    const oldPosition = offset === 0 ? null : rest.position + offset
    previous = entryHash(previous, id, { ...rest, format: 1, oldPosition, body: old, blob: null })
    connection
      .prepare('UPDATE entries SET format = 1, old_position = ?, body = ?, hash = ? WHERE position = ?')
      .run(oldPosition, old, Buffer.from(previous, 'hex'), rest.position)
  }
  connection.close()
}
