// The removal of a fork's folder once its work is adopted. It goes only when every byte in it is stored: what stands there must
// be what was adopted, and what was never captured (ignored files, files that are too big) must not be there, unless somebody
// says that it may go.

import { lstat, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import type { Sha256 } from '../domain/id.ts'
import type { PlanState } from '../domain/state.ts'
import { declaredScopes } from './footprint.ts'
import type { AdoptAsk } from './going-back-order.ts'
import { isGone, roomsOf } from './places.ts'
import type { Rooms } from './rooms.ts'

const NAMED_MAX = 5
const PAGE = 500

/** Null when it is gone; else why it was kept. `snapshot` is what was adopted. */
export async function removeForkFolder(
  rooms: Rooms,
  fork: PlanState,
  snapshot: Sha256 | undefined,
  ask: Pick<AdoptAsk, 'removeIgnored'>,
): Promise<string | null> {
  try {
    return await removeFolder(rooms, fork, snapshot, ask)
  } catch (error) {
    // The file system says no: nothing is lost, and ordering it again tries again.
    if (!(error instanceof Error) || !('code' in error)) throw error
    return `it could not be removed: ${error.message}`
  }
}

async function removeFolder(
  rooms: Rooms,
  fork: PlanState,
  snapshot: Sha256 | undefined,
  { removeIgnored }: Pick<AdoptAsk, 'removeIgnored'>,
): Promise<string | null> {
  const own = roomsOf(rooms, fork)
  const top = topOf(rooms, own)
  if (top === null) return 'it is not a folder that a fork made'
  if (isGone(own) && (await statOf(top)) === null) return await forget(rooms, fork, top)
  if ((await statOf(top))?.isDirectory() !== true) return 'it is no folder any more'
  if (snapshot === undefined || own.snapshots === undefined) return 'its files could not be stored'
  if (isGone(own)) return 'part of it was taken away'
  const taken = await own.snapshots.snapshot({ scopes: declaredScopes(fork.definition) })
  if (!taken.ok) return taken.failure.message
  if (taken.manifest !== snapshot) {
    const since = await own.snapshots.diff(snapshot, taken.manifest)
    if (!since.ok) return since.failure.message
    if (since.changes.length > 0) return `${named(since.changes.map(({ path }) => path))} changed there meanwhile`
  }
  const { snapshots } = own
  /** Of paths relative to the place: those whose content the snapshot does not hold. */
  const uncaptured = async (paths: readonly string[]): Promise<readonly string[]> => {
    const found: string[] = []
    for (let at = 0; at < paths.length; at += PAGE) {
      const looked = await snapshots.entries(taken.manifest, paths.slice(at, at + PAGE))
      if (!looked.ok) return paths
      for (const { path, entry } of looked.entries) if (entry === null) found.push(path)
    }
    return found
  }
  const inside = relative(top, own.root)
  if (await isWorktree(rooms, fork, top))
    return await removeWorktree({ rooms, fork, inside, uncaptured, removeIgnored })
  const lone = removeIgnored === true ? [] : await uncaptured(await filesIn(own.root))
  if (lone.length > 0) return loneWords(lone)
  // Moved first: cut off in the middle, no half of it stands where the fork worked.
  await rename(top, asideOf(fork, top))
  await rm(asideOf(fork, top), { recursive: true, force: true })
  return null
}

const asideOf = ({ id }: PlanState, top: string): string => join(dirname(top), `.removed-${id}`)

/** The folder is gone, perhaps by a removal that was cut off: whatever that left is cleared away. */
async function forget(rooms: Rooms, fork: PlanState, top: string): Promise<null> {
  await removeWorktree({ rooms, fork, inside: '', uncaptured: async paths => paths, removeIgnored: undefined })
  await rm(asideOf(fork, top), { recursive: true, force: true })
  return null
}

/** The folder below `work` that holds the place; null when the place is somewhere else. */
function topOf(rooms: Rooms, own: Rooms): string | null {
  const work = join(rooms.stateDir, 'work')
  const [first, ...rest] = relative(work, own.root).split(sep)
  if (first === undefined || first === '' || first === '..') return null
  return rest.includes('..') ? null : join(work, first)
}

async function isWorktree(rooms: Rooms, fork: PlanState, top: string): Promise<boolean> {
  const listed = await rooms.git?.listWorktrees(fork.id)
  return listed?.ok === true && (await statOf(join(top, '.git'))) !== null && listed.value.length > 0
}

interface Removing {
  readonly rooms: Rooms
  readonly fork: PlanState
  /** From the worktree to the folder the fork works in. */
  readonly inside: string
  readonly uncaptured: (paths: readonly string[]) => Promise<readonly string[]>
  readonly removeIgnored: true | undefined
}

async function removeWorktree({ rooms, fork, inside, uncaptured, removeIgnored }: Removing): Promise<string | null> {
  const listed = await rooms.git?.listWorktrees(fork.id)
  const path = listed?.ok === true ? listed.value[0]?.path : undefined
  if (rooms.git === undefined || path === undefined) return 'its worktree is not known to git'
  const prefix = inside === '' ? '' : `${inside.split(sep).join('/')}/`
  const isStored = async (paths: readonly string[]): Promise<ReadonlySet<string>> => {
    const within = paths.filter(each => each.startsWith(prefix)).map(each => each.slice(prefix.length))
    const lone = new Set(await uncaptured(within))
    return new Set(within.filter(each => !lone.has(each)).map(each => `${prefix}${each}`))
  }
  const request = { plan: fork.id, name: fork.definition.name, path, at: rooms.clock.now(), isStored }
  const removed = await rooms.git.removeWorktree(request)
  const again =
    !removed.ok && removed.list !== undefined && removeIgnored === true
      ? await rooms.git.removeWorktree({ ...request, expendable: removed.list })
      : removed
  if (again.ok) return null
  if (again.list !== undefined) return loneWords(again.list)
  return [again.failure.message, again.failure.hint ?? ''].join(' ').trim()
}

const loneWords = (paths: readonly string[]): string =>
  `it holds the only copy of ${named(paths)}, which no snapshot captures; --remove-ignored removes ignored files with it`

const named = (paths: readonly string[]): string =>
  `${paths
    .slice(0, NAMED_MAX)
    .map(path => JSON.stringify(path))
    .join(', ')}${paths.length > NAMED_MAX ? ` and ${paths.length - NAMED_MAX} more` : ''}`

const statOf = async (path: string) => await lstat(path).catch(() => null)

/** Everything in a folder that is no folder itself, by paths relative to it. */
async function filesIn(root: string): Promise<readonly string[]> {
  const found: string[] = []
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue
    found.push(relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
  }
  return found
}
