// The worktree of a plan with `git: {worktree: plan}`: a folder below the state folder with the plan's branch checked out. Named when the
// plan is created, made when it is first driven, and made again after an orderly removal, since everything was committed then. The result
// is recorded once.

import { statSync } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { Actor, PlanId, PlanName } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { usesTaskWorktrees } from '../../domain/plan-rules/effect.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Failure } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { isRefRecorded } from '../../domain/views/git-operations.ts'
import { failure } from '../../safety/safety-refusal.ts'
import type { Entry } from '../../stores/store.ts'
import { entriesAfter } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'

/**
 * The rooms with the plan's own folder as workspace. All access to a plan's files goes through here, so that no plan works in the folder of
 * another.
 */
export function roomsOf(rooms: Rooms, { place }: Pick<PlanState, 'place'>): Rooms {
  if (place === null) return rooms
  if (rooms.at === undefined) throw new Error(`bug: these rooms cannot be moved to ${place}`)
  return rooms.at(place)
}

export function isGone({ root }: Pick<Rooms, 'root'>): boolean {
  return statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true
}

const ENGINE = 'engine' as Actor
const PAGE = 100

type Placed = { readonly ok: true } | { readonly ok: false; readonly failure: Failure }

/** For `create`: the folder of a plan with its own worktree, or the one given in the order, relative to the workspace. */
export async function placeFor(
  rooms: Rooms,
  { name, git }: Pick<PlanDefinition, 'name' | 'git'>,
  folder?: string,
): Promise<{ readonly place?: string }> {
  if (folder !== undefined) return { place: relative(await realpath(rooms.root), folder) }
  if (git?.worktree !== 'plan') return {}
  const ground = await rooms.git?.ground()
  // If the workspace is a folder of the repository, the same folder of the worktree.
  const inside = ground?.ok === true ? relative(ground.value.top, await realpath(rooms.root)) : ''
  return { place: relative(rooms.root, join(worktreeOf(rooms, name), inside)) }
}

/** Task worktrees need a commit to start from. Checked before the start, so that nothing runs in the workspace instead. */
export async function refuseGroundless(rooms: Rooms, plan: PlanId): Promise<Refusal | null> {
  const definition = (await rooms.store.state(plan))?.definition
  if (definition === undefined) return null
  const isApart = usesTaskWorktrees(definition)
  if (!isApart && definition.git?.base === undefined) return null
  const base = definition.git?.base ?? 'HEAD'
  const found = await rooms.git?.diffstat({ from: base, to: base })
  if (found?.ok === true) return null
  const { message, hint } = found?.failure ?? { message: 'git is not used here', hint: 'open the engine with git' }
  const what = isApart ? 'its tasks cannot work in worktrees of their own' : `the plan cannot begin at '${base}'`
  return refuse('not-ready', `${what}: ${message}`, hint)
}

const worktreeOf = ({ stateDir }: Pick<Rooms, 'stateDir'>, name: PlanName): string => join(stateDir, 'work', name)

/** `rooms` are those of the workspace. Does nothing for a plan without a worktree of ours. */
export async function ensurePlace(rooms: Rooms, state: PlanState): Promise<Placed> {
  const { id, place, definition } = state
  if (place === null || definition.git?.worktree !== 'plan') return { ok: true }
  const path = join(rooms.root, place)
  const isRecorded = await isPlaceRecorded(rooms, id)
  if (isRecorded && !isGone({ root: path })) return { ok: true }
  if (rooms.git === undefined)
    return { ok: false, failure: failure('logic', 'git is not used here', 'open the engine with git') }
  const added = await rooms.git.addWorktree({
    plan: id,
    name: definition.name,
    base: definition.git.base ?? 'HEAD',
    folder: dirname(worktreeOf(rooms, definition.name)),
    at: rooms.clock.now(),
  })
  if (!added.ok) return added
  await mkdir(path, { recursive: true })
  const [branch, worktree] = added.value.operations
  const known = isRecorded && isRefRecorded(await entriesAfter(rooms.store, id, 0), branch?.ref ?? '')
  const operations = [known ? [] : (branch ?? []), worktree ?? []].flat()
  const recorded = await rooms.store.update(id, { type: 'place', operations }, { actor: ENGINE })
  if (recorded.ok) return { ok: true }
  return { ok: false, failure: failure('logic', recorded.refusal.message, recorded.refusal.hint) }
}

/** If it is recorded, it is among the first entries. */
async function isPlaceRecorded({ store }: Rooms, plan: PlanId): Promise<boolean> {
  for (let after = 0; ; ) {
    const page: readonly Entry[] = await store.read(plan, { after, limit: PAGE })
    if (page.some(({ events }) => events.some(({ type }) => type === 'place.made'))) return true
    const last = page.at(-1)
    if (last === undefined) return false
    after = last.version
  }
}
