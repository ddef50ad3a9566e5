// How an adoption is carried out, besides its files: what shall stand at each path, and the commit on the plan's branch when the
// plan commits the work of its tasks.

import type { Adoption } from '../../domain/command.ts'
import type { Actor } from '../../domain/id.ts'
import type { GitOperation } from '../../domain/plan-rules/git-operation.ts'
import type { PlanState, RollbackUnderWay } from '../../domain/state/state.ts'
import { commitMessage } from '../../workspace/git/git.ts'
import type { Change, LeftOut } from '../../workspace/workspace.ts'
import { late } from '../lazy-imports.ts'
import { readChanges } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'

const ENGINE = 'engine' as Actor

/** Each path with what shall stand there, and what stood there when the fork began, as a rollback has them. */
export async function toAdopt(rooms: Rooms, { changes }: Adoption): Promise<readonly Change[]> {
  const all = await readChanges(rooms, changes)
  return all.map(({ path, before, after }) => ({ path, before: after, after: before }))
}

/** Under a key of its own: carried out twice, it is one commit. A no of git is told; the files are adopted all the same. */
export async function commitAdopted(
  rooms: Rooms,
  state: PlanState,
  under: RollbackUnderWay,
  changed: readonly Change[],
): Promise<{ readonly done: readonly GitOperation[]; readonly left: readonly LeftOut[] }> {
  const { git } = state.definition
  if (git?.commits !== 'task' || changed.length === 0) return { done: [], left: [] }
  const { commitEntries, guarded } = await late.committing()
  const title = `adopt ${under.adopts?.name ?? 'a fork'}`
  const message = commitMessage({ title, ...(git.message === undefined ? {} : { template: git.message }) })
  const entries = changed.map(({ path, after }) => [path, after] as const)
  const key = `${state.id}/adopt/${under.id}`
  const made = await guarded(rooms, () =>
    commitEntries(rooms, state, { entries, message, actor: ENGINE, at: under.at, key }),
  )
  if (made.ok) return { done: made.value.operations, left: [] }
  return { done: made.done, left: [{ path: '.git', reason: `not committed: ${made.failure.message}` }] }
}
