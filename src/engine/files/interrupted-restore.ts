// A rollback or restore of files that was cut off: the workspace finishes it and tells how it ended, until that is in the journal
// of the plan it belongs to. Whoever begins the next one settles that first, so that what it replaced is never forgotten.

import type { Actor, PlanId } from '../../domain/id.ts'
import type { RolledBack } from '../../workspace/workspace.ts'
import { type Writing, write } from '../orders.ts'
import { keepChanges } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'

type Finished = Extract<RolledBack, { ok: true }>

/** Whose it was: a rollback of a plan, or a restore that somebody ordered. */
interface About {
  readonly plan?: PlanId
  readonly rollback?: string
  readonly restore?: PlanId
  readonly by?: Actor
}

const FILES_TOLD_MAX = 100

export const aboutRestore = (plan: PlanId, by: Actor): string => JSON.stringify({ restore: plan, by } satisfies About)

/**
 * Settles one that was cut off. The name of the plan whose rollback has to be finished first; null when nothing is left in the way.
 */
export async function settleUnfinished(rooms: Rooms, { about, ...done }: Finished): Promise<string | null> {
  const { plan, rollback, restore, by } = JSON.parse(about ?? '{}') as About
  if (restore !== undefined) {
    await tellRestore(rooms, restore, { about, ...done }, { actor: by ?? ('engine' as Actor) })
    return null
  }
  const state = plan === undefined ? null : await rooms.store.state(plan)
  if (state !== null && state.rollback?.id === rollback) return state.definition.name
  await rooms.snapshots?.settled()
  return null
}

/** Writes down what a restore changed; null when it changed nothing. */
export async function tellRestore(rooms: Rooms, plan: PlanId, { changed, saved }: Finished, writing: Writing) {
  const changes = await keepChanges(rooms, changed)
  if (changes === null) {
    await rooms.snapshots?.settled()
    return null
  }
  const files = changed.slice(0, FILES_TOLD_MAX).map(({ path }) => path)
  const { actor, once } = writing
  const command = { type: 'restore', changes, saved, paths: changed.length, files, by: actor as string } as const
  const told = await write(rooms, plan, command, { actor, ...(once === undefined ? {} : { once }) })
  if (told.ok) await rooms.snapshots?.settled()
  return told
}
