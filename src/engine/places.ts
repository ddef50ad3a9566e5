// Where a plan works: in the workspace, or in a place of its own, a folder that a fork or a worktree made for it. Everything
// that looks at a plan's files goes through here, so that no plan ever works in the folder of another.

import { statSync } from 'node:fs'
import type { PlanState } from '../domain/state.ts'
import type { Rooms } from './rooms.ts'

/** The rooms with the plan's own folder as their workspace. */
export function roomsOf(rooms: Rooms, { place }: Pick<PlanState, 'place'>): Rooms {
  if (place === null) return rooms
  if (rooms.at === undefined) throw new Error(`bug: these rooms cannot be moved to ${place}`)
  return rooms.at(place)
}

/** Is the folder a plan works in no longer there? */
export function isGone({ root }: Pick<Rooms, 'root'>): boolean {
  return statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true
}
