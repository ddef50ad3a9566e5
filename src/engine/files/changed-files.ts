// Files that a plan left different from how it found them, read from its whole journal.

import { isAttemptEnd } from '../../domain/event.ts'
import type { PlanId, Sha256 } from '../../domain/id.ts'
import type { Entry } from '../../stores/store.ts'
import type { ChangedFile } from '../queries.ts'
import { readOthersChanges } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'
import { changesOf } from './other-plans.ts'

const PAGE = 500

export async function changedFiles(rooms: Rooms, plan: PlanId): Promise<readonly ChangedFile[]> {
  const files = new Map<string, ChangedFile['change']>()
  for (let after = 0; ; ) {
    const entries = await rooms.store.read(plan, { after, limit: PAGE })
    for (const sha256 of changeSetsIn(entries)) await addChanges(rooms, sha256, files)
    const last = entries.at(-1)
    if (last === undefined) break
    after = last.version
  }
  const all = Array.from(files, ([path, change]) => ({ path, change }))
  return all.sort((a, b) => (a.path < b.path ? -1 : 1))
}

function changeSetsIn(entries: readonly Entry[]): readonly Sha256[] {
  return entries.flatMap(({ events }) =>
    events.flatMap(event =>
      isAttemptEnd(event) || event.type === 'rollback.finished' ? (changesOf(event) ?? []) : [],
    ),
  )
}

/** The last change of a path counts; one that was created and deleted again is not listed. */
async function addChanges(rooms: Rooms, sha256: Sha256, files: Map<string, ChangedFile['change']>): Promise<void> {
  for (const { path, before, after } of (await readOthersChanges(rooms, sha256)) ?? []) {
    const known = files.get(path)
    const wasThere = known === undefined ? before !== null : known !== 'created'
    if (after === null && !wasThere) files.delete(path)
    else files.set(path, after === null ? 'deleted' : wasThere ? 'changed' : 'created')
  }
}
