// What a rollback will do with each path of the write set. Compares the plan's result, the current file, and the snapshot. A current file
// that equals neither of the others was edited since.

import { codeOf } from '../../safety/safety-refusal.ts'
import { ANY_TIME, type CurrentFile, parentOf, readCurrentFile, within } from '../files/current-file.ts'
import { LEFT, type OpenFolder } from '../files/open-folder.ts'
import { pathBytes, pathText } from '../files/path-text.ts'
import type { BytePath } from '../snapshots/manifest.ts'
import { isSafeRelativePath } from '../snapshots/partial-snapshot.ts'
import { isSameEntry, lookUp, type Recorded, type Side } from '../snapshots/read-snapshot.ts'
import type { Conflict, Preview, TreeEntry, WriteSet } from '../workspace.ts'

export interface Assessed {
  readonly path: BytePath
  readonly left: TreeEntry | null
  readonly have: CurrentFile
  readonly want: Recorded
  readonly preview: Preview
}

export interface Assessing {
  readonly root: OpenFolder
  readonly target: Side
  readonly state: readonly string[] | null
  readonly now: () => number
  readonly keep?: (entry: TreeEntry & { readonly type: 'file' }, bytes: Uint8Array) => void
  readonly yieldTurn: () => Promise<void>
}

export async function assess(room: Assessing, writeSet: WriteSet): Promise<readonly Assessed[]> {
  const left = new Map<BytePath, TreeEntry | null>()
  for (const [path, entry] of writeSet) left.set(pathBytes(path), entry)
  const assessed: Assessed[] = []
  for (const path of [...left.keys()].sort()) {
    if (!isSafeRelativePath(path)) continue
    const want = await lookUp(room.target, path, room.state)
    const wasLeft = left.get(path) ?? null
    const have = currentEntry(room, path, wasLeft)
    if ('entry' in have && have.entry?.type === 'file') room.keep?.(have.entry, have.bytes!)
    const found = 'entry' in have ? withoutBytes(have) : have
    const preview = previewOf(room, left, path, wasLeft, found, want)
    assessed.push({ path, left: wasLeft, have: found, want, preview })
    if (assessed.length % 32 === 0) await room.yieldTurn()
  }
  return assessed
}

const withoutBytes = ({ bytes: _, ...have }: Extract<CurrentFile, { readonly entry: unknown }>): CurrentFile => have

/** When it is what the plan left, one read is enough: a torn read does not match its hash. */
function currentEntry({ root, now }: Assessing, path: BytePath, left: TreeEntry | null): CurrentFile {
  const have = readCurrentFile(root, path, ANY_TIME)
  const isOther = 'entry' in have && have.entry?.type === 'file' && !isSameEntry(have.entry, left)
  return isOther ? readCurrentFile(root, path, now()) : have
}

function previewOf(
  room: Assessing,
  writeSet: ReadonlyMap<BytePath, TreeEntry | null>,
  path: BytePath,
  left: TreeEntry | null,
  have: CurrentFile,
  want: Recorded,
): Preview {
  const shown = pathText(path)
  if ('left' in want) return { path: shown, will: 'leave', why: want.left }
  if ('blocked' in have) return { path: shown, will: 'leave', why: have.blocked }
  const { entry } = have
  if (isSameEntry(entry, want.entry)) return { path: shown, will: 'leave' }
  const conflict = isSameEntry(entry, left) ? {} : { conflict: conflictOf(entry, left) }
  const why = inTheWay(room, writeSet, path, entry, want.entry)
  if (why !== null) return { path: shown, will: 'leave', why, ...conflict }
  return { path: shown, will: willOf(entry, want.entry), ...conflict }
}

function conflictOf(entry: TreeEntry | null, left: TreeEntry | null): Conflict {
  if (entry === null) return 'gone'
  return left === null ? 'appeared' : 'edited since'
}

function willOf(have: TreeEntry | null, want: TreeEntry | null): Preview['will'] {
  if (want === null) return 'delete'
  if (have === null) return 'create'
  if (have.type === 'directory' && want.type === 'directory') return 'chmod'
  return have.type === 'file' && want.type === 'file' && have.sha256 === want.sha256 ? 'chmod' : 'restore'
}

/** Why it would affect paths outside the write set; null when it does not. */
function inTheWay(
  { root }: Assessing,
  writeSet: ReadonlyMap<BytePath, unknown>,
  path: BytePath,
  have: TreeEntry | null,
  want: TreeEntry | null,
): string | null {
  if (have?.type === 'directory' && want?.type !== 'directory') {
    const names = namesIn(root, path)
    if (names === LEFT.unreadable) return names
    if (names.some(name => !writeSet.has(`${path}/${name}`)))
      return 'the folder contains files that are not in the write set'
  }
  if (have === null && want !== null) {
    for (let above = parentOf(path); above !== ''; above = parentOf(above)) {
      const stat = within(root, above, (folder, name) => folder.look(name))
      if (stat !== null && !stat.isDirectory() && !writeSet.has(above)) return 'its folder is no longer a folder'
      if (stat !== null) break
    }
  }
  return null
}

function namesIn(root: OpenFolder, path: BytePath): readonly BytePath[] | typeof LEFT.unreadable {
  try {
    const names = within(root, path, (folder, name) => {
      const held = folder.enter(name)
      try {
        return held.names()
      } finally {
        held.close()
      }
    })
    return names ?? []
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes(codeOf(error) ?? '')) throw error
    return LEFT.unreadable
  }
}
