// Removes a fork's folder once its work is adopted, and only if every byte in it is stored: its content must be what was adopted, with no
// uncaptured files (ignored or too large). Ignored files may be lost if the caller says so.

import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { plainHint } from '../../domain/hint.ts'
import type { Sha256 } from '../../domain/id.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { GitAnswer, LoneFile } from '../../workspace/git/git.ts'
import { deleteAside, type FileStamps, fileStamps, IGNORED, setAside, undoRemoval } from '../../workspace/workspace.ts'
import { isGone, roomsOf } from '../git/plan-worktree.ts'
import type { AdoptAsk } from '../orders.ts'
import { declaredScopes } from '../rollback/attempt-changes.ts'

import type { Rooms } from '../rooms.ts'

const NAMED_MAX = 5
const PAGE = 500

/** Null if it is gone; else why it was kept. `snapshot` is what was adopted. */
export async function removeForkFolder(
  rooms: Rooms,
  fork: PlanState,
  snapshot: Sha256 | undefined,
  ask: Pick<AdoptAsk, 'removeIgnored'>,
): Promise<string | null> {
  try {
    return await removeFolder(rooms, fork, snapshot, ask)
  } catch (error) {
    // The file system refused: nothing is lost, and the order can be repeated.
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
  if ((await statOf(top)) === null) await undoRemoval(top, fork.id)
  if ((await statOf(top)) === null) return await forget(rooms, fork, top)
  if ((await statOf(top))?.isDirectory() !== true) return 'it is no longer a folder'
  if (snapshot === undefined || own.snapshots === undefined) return 'its files could not be stored'
  if (isGone(own)) return 'part of it was taken away'
  // Taken first, so that any later change is noticed at the end.
  const judged = await fileStamps(top)
  const taken = await own.snapshots.snapshot({ scopes: declaredScopes(fork.definition) })
  if (!taken.ok) return taken.failure.message
  if (taken.manifest !== snapshot) {
    const since = await own.snapshots.diff(snapshot, taken.manifest)
    if (!since.ok) return since.failure.message
    if (since.changes.length > 0) return `${named(since.changes.map(({ path }) => path))} changed there meanwhile`
  }
  const stands = await worktreeAt(rooms, fork, top)
  if ('unclear' in stands) return stands.unclear
  const inside = relative(top, own.root)
  const prefix = inside === '' ? '' : `${inside.split(sep).join('/')}/`
  const removing = {
    rooms,
    fork,
    top,
    judged,
    removeIgnored,
    whyUnstored: whyUnstoredIn(own.snapshots, taken.manifest, prefix),
  }
  return stands.worktree === null
    ? await removePlainFolder(removing)
    : await removeWorktree({ ...removing, path: stands.worktree })
}

/** The folder is gone, perhaps by an interrupted removal: cleans up what that left. */
async function forget(rooms: Rooms, fork: PlanState, top: string): Promise<null> {
  const path = await listedAt(rooms, fork, top)
  if (path.ok && path.value !== null) {
    const stored = { has: async () => new Set<string>(), judged: new Map<string, string>() }
    await rooms.git?.removeWorktree({
      plan: fork.id,
      name: fork.definition.name,
      path: path.value,
      at: rooms.clock.now(),
      stored,
    })
  }
  await deleteAside(top, fork.id)
  return null
}

/** The folder below `work` that contains the place; null if it is elsewhere. */
function topOf(rooms: Rooms, own: Rooms): string | null {
  const work = join(rooms.stateDir, 'work')
  const [first, ...rest] = relative(work, own.root).split(sep)
  if (first === undefined || first === '' || first === '..') return null
  return rest.includes('..') ? null : join(work, first)
}

async function listedAt(rooms: Rooms, fork: PlanState, top: string): Promise<GitAnswer<string | null>> {
  const listed = await rooms.git?.listWorktrees(fork.id)
  if (listed === undefined) return { ok: true, value: null }
  if (!listed.ok) return listed
  const real = join(await realpath(dirname(top)).catch(() => dirname(top)), basename(top))
  return { ok: true, value: listed.value.find(({ path }) => path === real)?.path ?? null }
}

/** Only git knows which files of a worktree are committed. If git fails, the folder is kept. */
async function worktreeAt(
  rooms: Rooms,
  fork: PlanState,
  top: string,
): Promise<{ readonly worktree: string | null } | { readonly unclear: string }> {
  const hasGit = (await statOf(join(top, '.git'))) !== null
  const listed = await listedAt(rooms, fork, top)
  if (!listed.ok && hasGit)
    return { unclear: `git cannot say what of it is committed: ${listed.failure.message}; remove it yourself` }
  const worktree = listed.ok ? listed.value : null
  if (hasGit === (worktree !== null)) return { worktree }
  const what = hasGit
    ? 'it contains a .git, but git does not list it as the worktree of this fork'
    : 'git lists it as the worktree of this fork, but its .git is gone'
  return {
    unclear: `${what}, so it is unknown what of it is committed; repair it with \`git worktree repair\`, or remove it yourself`,
  }
}

interface Removing {
  readonly rooms: Rooms
  readonly fork: PlanState
  readonly top: string
  readonly judged: FileStamps
  readonly removeIgnored: true | undefined
  readonly whyUnstored: (paths: readonly string[]) => Promise<ReadonlyMap<string, string>>
}

/** The only copy of a file, and why. `ignored`: an ignore rule matches it. */
interface UnstoredFile {
  readonly path: string
  readonly why: string
  readonly ignored: boolean
}

const OUTSIDE = 'outside of where the fork worked'

/** Of these paths: those whose content the snapshot lacks, and why. `prefix` is the folder in which the fork worked. */
function whyUnstoredIn(
  snapshots: NonNullable<Rooms['snapshots']>,
  manifest: Sha256,
  prefix: string,
): Removing['whyUnstored'] {
  return async paths => {
    const found = new Map<string, string>()
    for (let at = 0; at < paths.length; at += PAGE) {
      const page = paths.slice(at, at + PAGE)
      for (const path of page) if (!path.startsWith(prefix)) found.set(path, OUTSIDE)
      const within = page.filter(path => path.startsWith(prefix))
      const looked = await snapshots.entries(
        manifest,
        within.map(path => path.slice(prefix.length)),
      )
      if (!looked.ok) for (const path of within) found.set(path, looked.failure.message)
      else
        for (const { path, entry, left } of looked.entries)
          if (entry === null) found.set(`${prefix}${path}`, left ?? 'in no snapshot')
    }
    return found
  }
}

async function removePlainFolder({ fork, top, judged, removeIgnored, whyUnstored }: Removing): Promise<string | null> {
  const unstored = [...(await whyUnstored([...judged.keys()]))].map(([path, why]) => ({
    path,
    why,
    ignored: why === IGNORED,
  }))
  const inTheWay = removeIgnored === true ? unstored.filter(({ ignored }) => !ignored) : unstored
  if (inTheWay.length > 0) return unstoredWords(inTheWay)
  const changed = await setAside(top, fork.id, judged)
  if (changed.length > 0) return `${named(changed)} changed there while it was being removed`
  await deleteAside(top, fork.id)
  return null
}

async function removeWorktree(removing: Removing & { readonly path: string }): Promise<string | null> {
  const { rooms, fork, path, judged, removeIgnored, whyUnstored } = removing
  if (rooms.git === undefined) throw new Error('bug: a worktree was listed where there is no git')
  const has = async (paths: readonly string[]): Promise<ReadonlySet<string>> => {
    const unstored = await whyUnstored(paths)
    return new Set(paths.filter(each => !unstored.has(each)))
  }
  const request = { plan: fork.id, name: fork.definition.name, path, at: rooms.clock.now(), stored: { has, judged } }
  const first = await rooms.git.removeWorktree(request)
  const unstored = await unstoredIn(removing, first)
  if (unstored === null || removeIgnored !== true) return endWords(first, unstored)
  const others = unstored.filter(({ ignored }) => !ignored)
  if (others.length > 0) return endWords(first, others)
  const mayGo = new Set(unstored.map(each => each.path))
  // Paths matched by .planfoldignore, which git does not know.
  const hasOrMayGo = async (paths: readonly string[]): Promise<ReadonlySet<string>> =>
    new Set([...(await has(paths)), ...paths.filter(each => mayGo.has(each))])
  const stored = { has: hasOrMayGo, judged }
  const again = await rooms.git.removeWorktree({ ...request, expendable: [...mayGo], stored })
  return endWords(again, await unstoredIn(removing, again))
}

/** The files for which git refused; null if it succeeded or refused for another reason. */
async function unstoredIn(
  { whyUnstored }: Removing,
  answer: GitAnswer<unknown>,
): Promise<readonly UnstoredFile[] | null> {
  if (answer.ok || answer.files === undefined) return null
  const why = await whyUnstored([...answer.files.keys()])
  return [...answer.files].map(([path, known]) => {
    const reason = why.get(path)
    // Ignore rules do not apply to committed or staged files.
    const ignored = known === 'ignored' || (known === 'untracked' && reason === IGNORED)
    const isReasonKnown = known === 'untracked' && reason !== undefined && reason !== OUTSIDE
    return { path, ignored, why: isReasonKnown ? reason : UNCOMMITTED[known] }
  })
}

const UNCOMMITTED: Readonly<Record<LoneFile, string>> = {
  ignored: IGNORED,
  untracked: 'not committed',
  changed: 'changed and not committed',
  staged: 'staged and not committed',
}

function endWords(answer: GitAnswer<unknown>, unstored: readonly UnstoredFile[] | null): string | null {
  if (answer.ok) return null
  if (unstored !== null) return unstoredWords(unstored)
  return [answer.failure.message, plainHint(answer.failure.hint ?? '')].join(' ').trim()
}

function unstoredWords(unstored: readonly UnstoredFile[]): string {
  const others = unstored.filter(({ ignored }) => !ignored)
  const ignored = unstored.filter(each => each.ignored).map(({ path }) => path)
  const sentences: string[] = []
  if (others.length > 0)
    sentences.push(
      `it contains the only copy of ${listed(others.map(({ path, why }) => `${JSON.stringify(path)} (${why})`))}, which no snapshot captures; commit or copy what you need, then remove it there`,
    )
  if (ignored.length > 0)
    sentences.push(
      `it contains the only copy of ${named(ignored)}, which no snapshot captures because the ignore rules match; --remove-ignored removes ignored files with it`,
    )
  return sentences.join('; ')
}

const named = (paths: readonly string[]): string => listed(paths.map(path => JSON.stringify(path)))

const listed = (words: readonly string[]): string =>
  `${words.slice(0, NAMED_MAX).join(', ')}${words.length > NAMED_MAX ? ` and ${words.length - NAMED_MAX} more` : ''}`

const statOf = async (path: string) => await lstat(path).catch(() => null)
