// A run as needed to compare it with another: state, attempts, and final content of the files it wrote. A fork starts with what its origin
// had left by then.

import type { PlanId } from '../../domain/id.ts'
import { isA } from '../../domain/json.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Run } from '../../domain/views/compare.ts'
import { orElseAsync } from '../../safety/safety-refusal.ts'
import type { AttemptRow, Entry, Page } from '../../stores/store.ts'
import type { TreeEntry } from '../../workspace/workspace.ts'
import { MissingChanges, readChanges } from '../rollback/attempt-changes.ts'
import { entriesAfter, followFiles } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'

/** More origins than this would be a cycle. */
const ORIGINS_MAX = 100

export async function runOf(rooms: Rooms, state: PlanState): Promise<Run> {
  const [attempts, files] = [await allAttempts(rooms, state.id), await filesLeft(rooms, state.id)]
  return { state, attempts, files }
}

async function allAttempts(rooms: Rooms, plan: PlanId): Promise<readonly AttemptRow[]> {
  const rows: AttemptRow[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page<AttemptRow> = await rooms.store.attempts({ plan, limit: 1_000, ...(cursor && { cursor }) })
    rows.push(...page.items)
    cursor = page.next
  }
  return rows
}

async function filesLeft(rooms: Rooms, plan: PlanId): Promise<ReadonlyMap<string, string | null>> {
  const at = await followFiles(
    await entriesOf(rooms, plan),
    changes => changed(rooms, changes),
    () => true,
  )
  return new Map([...at].map(([path, entry]) => [path, contentText(entry)]))
}

async function entriesOf(rooms: Rooms, plan: PlanId): Promise<readonly Entry[]> {
  let [of, until]: [PlanId | undefined, number] = [plan, Number.POSITIVE_INFINITY]
  let all: readonly Entry[] = []
  for (let at = 0; of !== undefined && at < ORIGINS_MAX; at++) {
    const entries = await entriesAfter(rooms.store, of, 0)
    all = [...entries.filter(({ version }) => version <= until), ...all]
    const created = entries[0]?.events.find(event => event.type === 'plan.created')
    // A clone starts with nothing.
    of = created?.forkedAt === undefined ? undefined : created.origin
    until = created?.forkedAt ?? 0
  }
  return all
}

/** A pruned change set is unknown, not a failure. */
const changed = (rooms: Rooms, changes: Parameters<typeof readChanges>[1]) =>
  orElseAsync(() => readChanges(rooms, changes), [], isA(MissingChanges))

function contentText(entry: TreeEntry | null): string | null {
  if (entry === null) return null
  if (entry.type === 'file') return entry.sha256
  return entry.type === 'link' ? `link to ${entry.target}` : 'folder'
}
