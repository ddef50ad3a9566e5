// Executes a difference, in an order that may be interrupted anywhere and resumed:
//
//   make parents writable ─▶ remove obstacles, children first ─▶ remove extra directories that are empty
//     ─▶ make directories, files and links, parents first ─▶ set modes, children first
//
// Every step checks that what it replaces is what was seen and stored; a file changed since then stops the work.

import type { Directory } from '../../safety/files/directory.ts'
import { removeFile, replaceFile } from '../../safety/files/regular-file.ts'
import { ignoring, refuse } from '../../safety/safety-refusal.ts'
import type { Change, CurrentFiles, Difference } from '../snapshots/difference.ts'
import { type BytePath, bytesOf, type Entry, textOf } from '../snapshots/manifest.ts'

export interface Restoring {
  readonly root: Directory
  readonly scan: CurrentFiles
  readonly contentOf: (file: Entry & { readonly type: 'file' }) => Promise<Uint8Array>
}

export async function carryOut(
  { changes, extraDirectories }: Difference,
  restoring: Restoring,
): Promise<readonly BytePath[]> {
  const done = new Set(changes.map(change => change.path))
  const modes = await openParents([...changes.map(change => change.path), ...extraDirectories], restoring)

  const removals: { readonly path: BytePath; readonly change: Change | null }[] = [
    ...changes.filter(isInTheWay).map(change => ({ path: change.path, change })),
    ...extraDirectories.map(path => ({ path, change: null })),
  ]
  for (const { path, change } of removals.sort((a, b) => (a.path < b.path ? 1 : -1))) {
    await within(restoring.root, path, async (parent, name) => {
      if (change !== null) await remove(parent, name, change)
      else if (await ignoring(['ENOTEMPTY', 'EEXIST', 'ENOENT'], () => parent.removeDirectory(name).then(() => true)))
        done.add(path)
    })
  }
  for (const change of changes) {
    if (change.want === null) continue
    await within(restoring.root, change.path, (parent, name) => make(parent, name, change, restoring))
    if (change.want.type === 'directory') modes.set(change.path, change.want.mode)
  }
  for (const [path, mode] of [...modes].sort(([a], [b]) => (a < b ? 1 : -1))) {
    const setMode = async (parent: Directory, name: Buffer) => {
      if ((await parent.look(name))?.isDirectory()) await parent.chmod(name, mode)
    }
    await ignoring(['ENOENT', 'ENOTDIR'], () => within(restoring.root, path, setMode))
  }
  return [...done].sort()
}

/** A rename replaces a file by a file; everything else has to be removed first. */
const isInTheWay = ({ have, want }: Change): boolean =>
  have !== null && (have.type !== want?.type || have.type === 'link')

/** Makes read-only directories writable; returns their final modes. */
async function openParents(paths: readonly BytePath[], { root, scan }: Restoring): Promise<Map<BytePath, number>> {
  const modes = new Map<BytePath, number>()
  for (const parent of new Set(
    paths.filter(path => path.includes('/')).map(path => path.slice(0, path.lastIndexOf('/'))),
  )) {
    const found = scan.found.get(parent)
    if (found?.type !== 'directory' || (found.mode & 0o300) === 0o300) continue
    modes.set(parent, found.mode)
    await within(root, parent, (above, name) => above.chmod(name, found.mode | 0o700))
  }
  return modes
}

async function remove(parent: Directory, name: Buffer, { path, have }: Change): Promise<void> {
  if (have?.type === 'directory') return await parent.removeDirectory(name)
  if (have?.type === 'file') return await removeFile(parent, name, have.sha256)
  const stat = await parent.look(name)
  const asSeen =
    have?.type === 'link'
      ? stat?.isSymbolicLink() && (await parent.readLink(name)).toString('latin1') === have.target
      : stat !== null && !stat.isFile() && !stat.isDirectory() && !stat.isSymbolicLink()
  if (!asSeen) refuse('transient', `${JSON.stringify(textOf(path))} has changed since it was stored`, 'restore again')
  await parent.unlink(name)
  await parent.sync()
}

async function make(parent: Directory, name: Buffer, { have, want }: Change, restoring: Restoring): Promise<void> {
  if (want === null) return
  switch (want.type) {
    case 'directory':
      return await (await parent.make(name)).close()
    case 'link':
      await parent.makeLink(name, bytesOf(want.target))
      return await parent.sync()
    case 'file': {
      const current = have?.type === 'file' ? have : null
      // A mode applies to all hard links of a file, and only one of them is ours to change.
      const alone = current?.sha256 === want.sha256 && (await parent.look(name))?.nlink === 1n
      if (alone) return await parent.chmod(name, want.mode)
      const bytes = await restoring.contentOf(want)
      return await replaceFile(parent, name, { bytes, mode: want.mode, expect: current?.sha256 ?? null, links: 'part' })
    }
    default:
      want satisfies never
  }
}

async function within(
  root: Directory,
  path: BytePath,
  act: (parent: Directory, name: Buffer) => Promise<unknown>,
): Promise<void> {
  const names = path.split('/').map(bytesOf)
  const leaf = names.pop()!
  let here = await root.reopen()
  try {
    for (const name of names) {
      const next = await here.enter(name)
      await here.close()
      here = next
    }
    await act(here, leaf)
  } finally {
    await here.close()
  }
}
