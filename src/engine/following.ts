// What stood at every path a plan wrote, followed through its journal: what it had left there by some entry, and what stood
// there before it came where it came later.

import type { Event } from '../domain/event.ts'
import type { Sha256, TaskName } from '../domain/id.ts'
import type { Entry } from '../stores/store.ts'
import type { Change, TreeEntry } from '../workspace/workspace.ts'
import { changesOf } from './written.ts'

/** `stands`: has this event happened, in what is followed? All that come after the first that has not, have not either. */
export async function followFiles(
  entries: Iterable<Entry>,
  read: (changes: Sha256) => Promise<readonly Change[]>,
  stands: (entry: Entry, event: Event) => boolean,
): Promise<Map<string, TreeEntry | null>> {
  const at = new Map<string, TreeEntry | null>()
  /** What failed attempts wrote, until it is set back before the next one. */
  const failed = new Map<TaskName, Change[]>()
  for (const entry of entries) {
    for (const event of entry.events) {
      if (event.type === 'workspace.restored' && stands(entry, event)) {
        for (const { path, before } of failed.get(event.task)?.toReversed() ?? []) at.set(path, before)
        failed.delete(event.task)
      }
      const changes = changesOf(event)
      if (changes === null) continue
      const happened = stands(entry, event)
      const all = await read(changes)
      for (const { path, before, after } of all) {
        if (happened) at.set(path, after)
        else if (!at.has(path)) at.set(path, before)
      }
      if (event.type === 'attempt.failed' && happened)
        failed.set(event.task, [...(failed.get(event.task) ?? []), ...all])
      if (event.type === 'attempt.succeeded') failed.delete(event.task)
    }
  }
  return at
}
