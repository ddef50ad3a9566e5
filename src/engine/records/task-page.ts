// What a page shows of one task, read from the whole journal: attempts, decisions, criteria, the end of its output; and what an attempt
// changed in files, line by line.

import type { Sha256 } from '../../domain/id.ts'
import { agentRequest } from '../../domain/plan-rules/agent-request.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { tryName } from '../../domain/tries/race.ts'
import { card, explain } from '../../domain/views/board.ts'
import { contractOf } from '../../domain/views/contract.ts'
import { agentSteps } from '../../domain/views/pages/agent-lines.ts'
import { taskHistory } from '../../domain/views/pages/task-page.ts'
import { patchBetween } from '../../format/text/consent-contents.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import type { ChangesShown, FileShown, TaskPage } from '../queries.ts'
import { readOthersChanges } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'
import { wholeJournal } from './verify-chain.ts'

const LOG_CHUNKS = 200

/** Who a task is given to: its agent by name, or the program it starts. */
export function agentOf(
  { definition: { defaults } }: Pick<PlanState, 'definition'>,
  { definition: { action } }: Pick<TaskState, 'definition'>,
): string | null {
  const { use, command } = agentRequest(action) ?? { use: null, command: null }
  return command?.[0] ?? use ?? defaults?.agent ?? null
}

export async function taskPage(
  { store, clock }: Rooms,
  state: PlanState,
  task: TaskState,
): Promise<Omit<TaskPage, 'preview'>> {
  const { id: name } = task.definition
  const now = {
    name: state.definition.name,
    version: state.version,
    card: card(state, task),
    race: task.race ?? null,
    definition: task.definition,
    neededBy: task.dependants.map(({ definition }) => definition.id),
    why: explain(state, task, clock.now()),
  }
  const entries = await wholeJournal(store, state.id)
  const log = await store.logs.read({
    plan: state.id,
    task: name,
    before: Number.POSITIVE_INFINITY,
    limit: LOG_CHUNKS + 1,
  })
  return {
    ...now,
    ...taskHistory(entries, name, agentOf(state, task)),
    criteria: contractOf(entries).lines.filter(line => line.task === name),
    log: log.slice(-LOG_CHUNKS),
    isLogCut: log.length > LOG_CHUNKS,
  }
}

const STEP_CHUNKS = 2_000

export async function stepsOf({ store }: Rooms, { id: plan }: PlanState, { definition }: TaskState) {
  const about = { plan, task: definition.id, before: Number.POSITIVE_INFINITY }
  return agentSteps(await store.logs.read({ ...about, limit: STEP_CHUNKS }))
}

const FILES_MAX = 500
/** Limit of patch text in one answer; beyond it files are only named. */
const PATCH_CHARS_MAX = 2_000_000

export async function taskChanges(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  which: { readonly visit?: number; readonly attempt?: number; readonly tried?: string },
): Promise<ChangesShown | null> {
  if (which.tried !== undefined) return await triedChanges(rooms, task, which.tried)
  const { attempts } = taskHistory(await wholeJournal(rooms.store, state.id), task.definition.id)
  const isRequested = (one: (typeof attempts)[number]): boolean =>
    which.visit === undefined && which.attempt === undefined
      ? one.changes !== null
      : (which.visit === undefined || one.visit === which.visit) &&
        (which.attempt === undefined || one.attempt === which.attempt)
  const found = attempts.findLast(isRequested)
  if (found === undefined) return null
  const { visit, attempt, changes } = found
  return { visit, attempt, ...(await filesShown(rooms, await storedChanges(rooms, changes))) }
}

/** What one of its tries changed. */
async function triedChanges(rooms: Rooms, { race, attempt }: TaskState, name: string): Promise<ChangesShown | null> {
  const tried = race?.tried.find(one => tryName(one) === name)
  if (race === undefined || tried === undefined) return null
  return { visit: race.visit, attempt, ...(await filesShown(rooms, await storedChanges(rooms, tried.changes))) }
}

const storedChanges = async (rooms: Rooms, changes: Sha256 | null): Promise<readonly Change[]> =>
  changes === null ? [] : ((await readOthersChanges(rooms, changes)) ?? [])

export async function filesShown(rooms: Rooms, all: readonly Change[]): Promise<Pick<ChangesShown, 'files' | 'more'>> {
  const files: FileShown[] = []
  let left = PATCH_CHARS_MAX
  for (const change of all.slice(0, FILES_MAX)) {
    const file = await fileShown(rooms, change, left > 0)
    left -= file.patch?.reduce((sum, line) => sum + line.length + 1, 0) ?? 0
    files.push(file)
  }
  return { files, more: all.length - files.length }
}

async function fileShown({ store }: Rooms, change: Change, isWanted: boolean): Promise<FileShown> {
  const { path, before, after } = change
  const file = {
    path,
    change: before === null ? ('created' as const) : after === null ? ('deleted' as const) : ('changed' as const),
    before: sizeOf(before),
    after: sizeOf(after),
  }
  const without = (why: string): FileShown => ({ ...file, patch: null, why })
  if (!isWanted) return without('too many changes to show all of them')
  if (isOther(before) || isOther(after)) return without('not a file')
  const hashes = { before: hashOf(before), now: hashOf(after) }
  if (hashes.before === hashes.now) return without('only its mode changed')
  const patch = await patchBetween(hashes, sha256 => store.blobs.get(sha256))
  if (patch === null) return without('too large to store: only its hash is known')
  return patch.type === 'text' ? { ...file, patch: patch.lines, why: null } : without(patch.why)
}

const isOther = (entry: TreeEntry | null): boolean => entry !== null && entry.type !== 'file'
const hashOf = (entry: TreeEntry | null): Sha256 | null => (entry?.type === 'file' ? entry.sha256 : null)
const sizeOf = (entry: TreeEntry | null): number | null => (entry?.type === 'file' ? entry.size : null)
