// What the plan wrote and no commit holds yet, from the journal: the last thing it left at each path. Content somebody else put
// there is not in it, and neither is what stood there before the plan began.

import type { Event } from '../domain/event.ts'
import type { Sha256 } from '../domain/id.ts'
import { inScope } from '../safety/scope.ts'
import type { Entry } from '../stores/store.ts'
import type { Change, TreeEntry } from '../workspace/workspace.ts'
import { readChanges } from './footprint.ts'
import type { Rooms } from './rooms.ts'
import { isSame } from './written.ts'

interface Pending {
  readonly first: TreeEntry | null
  /** What was left there since the last commit, oldest first, and by which visit. */
  left: { readonly by: string; readonly entry: TreeEntry | null }[]
  isCommitted: boolean
}

/** `entries` is the whole journal. `paths` are patterns; all that was written when absent. */
export async function uncommittedPaths(
  rooms: Rooms,
  entries: Iterable<Entry>,
  paths?: readonly string[],
): Promise<ReadonlyMap<string, TreeEntry | null>> {
  const known = new Map<string, Pending>()
  let takesGitBack = false
  for (const { events } of entries) {
    for (const event of events) {
      switch (event.type) {
        // Its files are set back before it is tried again.
        case 'attempt.started':
          if (event.attempt > 1 && event.preimage !== undefined) forget(known, `${event.task}/${event.visit}`)
          break
        case 'attempt.succeeded':
        case 'attempt.failed':
        case 'compensation.finished':
        case 'compensation.retried':
          add(known, visitOf(event), await changesOf(rooms, event.result.wrote?.changes))
          if ('result' in event && event.result.git?.some(({ type }) => type === 'commit.created') === true)
            settle(known, patternsOf(event))
          break
        case 'git.committed':
          if (event.failure === undefined) settleVisit(known, `${event.task}/${event.visit}`)
          break
        case 'rollback.started':
          takesGitBack =
            event.kind === 'rollback' &&
            !(
              event.keepGit === true ||
              event.filesOnly === true ||
              event.paths !== undefined ||
              event.tasks !== undefined
            )
          break
        case 'rollback.finished': {
          const changes = await changesOf(rooms, event.changes)
          if (takesGitBack) for (const { path } of changes) known.delete(path)
          else add(known, '', changes)
          break
        }
        default:
      }
    }
  }
  const found = new Map<string, TreeEntry | null>()
  for (const [path, { first, left, isCommitted }] of known) {
    const last = left.at(-1)
    if (last === undefined || (!isCommitted && isSame(last.entry, first))) continue
    if (paths === undefined || inScope(paths, path)) found.set(path, last.entry)
  }
  return found
}

function add(known: Map<string, Pending>, by: string, changes: readonly Change[]): void {
  for (const { path, before, after } of changes) {
    const seen = known.get(path)
    if (seen === undefined) known.set(path, { first: before, left: [{ by, entry: after }], isCommitted: false })
    else seen.left.push({ by, entry: after })
  }
}

function forget(known: Map<string, Pending>, visit: string): void {
  for (const seen of known.values()) seen.left = seen.left.filter(({ by }) => by !== visit)
}

/** What came before it in the same path is in the commit, too. */
function settleVisit(known: Map<string, Pending>, visit: string): void {
  for (const seen of known.values()) {
    const at = seen.left.findLastIndex(({ by }) => by === visit)
    if (at < 0) continue
    seen.left = seen.left.slice(at + 1)
    seen.isCommitted = true
  }
}

function settle(known: Map<string, Pending>, paths: readonly string[] | null): void {
  for (const [path, seen] of known) {
    if (seen.left.length === 0 || (paths !== null && !inScope(paths, path))) continue
    seen.left = []
    seen.isCommitted = true
  }
}

/** The paths a `git` task was told to commit, as it reports them; null for all. */
function patternsOf(event: Event): readonly string[] | null {
  const paths = 'result' in event ? event.result.outputs?.paths : undefined
  return Array.isArray(paths) ? paths.filter(one => typeof one === 'string') : null
}

function visitOf(event: Event & { readonly task: string }): string {
  return 'visit' in event ? `${event.task}/${event.visit}` : ''
}

async function changesOf(rooms: Rooms, id: Sha256 | null | undefined): Promise<readonly Change[]> {
  return id === null || id === undefined ? [] : await readChanges(rooms, id)
}
