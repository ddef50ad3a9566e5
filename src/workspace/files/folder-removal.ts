// The removal of a folder, in steps that may be interrupted. The folder is first moved aside, so that it is never half deleted in its
// place. Then it is checked again, and put back if a file changed since the removal was approved. Only under its last name is it deleted
// unconditionally.
//
//   folder ──► .removing-<plan> ──► .removed-<plan> ──► gone
//     ▲               │ a file changed
//     └───────────────┘

import { lstat, readdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { PlanId } from '../../domain/id.ts'
import { removeTree } from '../../safety/files/directory.ts'
import { ignoring } from '../../safety/safety-refusal.ts'
import type { BytePath } from '../snapshots/manifest.ts'
import { pathText } from './path-text.ts'

/** Every file, link and special file of a folder by its relative path, with stamps that change whenever it does. */
export type FileStamps = ReadonlyMap<string, string>

export async function fileStamps(folder: string): Promise<FileStamps> {
  const found = new Map<string, string>()
  const open: { readonly at: Buffer; readonly path: BytePath }[] = [{ at: Buffer.from(folder), path: '' }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { at, path } = next
    // As bytes: two names that are not UTF-8 must not become equal.
    const entries = await ignoring(['ENOENT'], () => readdir(at, { withFileTypes: true, encoding: 'buffer' }))
    await Promise.all(
      (entries ?? []).map(async entry => {
        const below = { at: Buffer.concat([at, SLASH, entry.name]), path: `${path}${entry.name.toString('latin1')}` }
        if (entry.isDirectory()) {
          open.push({ ...below, path: `${below.path}/` })
          return
        }
        const stat = await ignoring(['ENOENT'], () => lstat(below.at, { bigint: true }))
        if (stat === null) return
        const { ino, mode, size, mtimeNs, ctimeNs } = stat
        found.set(pathText(below.path), [ino, mode, size, mtimeNs, ctimeNs].join(' '))
      }),
    )
  }
  return found
}

const SLASH = Buffer.from('/')

/** Moves the folder aside unless files changed since `judged`; returns the changed ones. With none, `deleteAside` may follow. */
export async function setAside(path: string, plan: PlanId, judged: FileStamps): Promise<readonly string[]> {
  const { looking, removed } = namesFor(path, plan)
  await deleteAside(path, plan)
  await rename(path, looking)
  let changed: readonly string[] | null = null
  try {
    changed = differing(judged, await fileStamps(looking))
  } finally {
    await rename(looking, changed?.length === 0 ? removed : path)
  }
  return changed
}

/** Puts the folder back after a removal that was interrupted before its second check. */
export async function undoRemoval(path: string, plan: PlanId): Promise<void> {
  await ignoring(['ENOENT'], () => rename(namesFor(path, plan).looking, path))
}

/** Deletes what was set aside, now or by an interrupted removal. */
export async function deleteAside(path: string, plan: PlanId): Promise<void> {
  await removeTree(namesFor(path, plan).removed)
}

/** Beside the folder, and never a plan's own: no name of a plan begins with a dot. */
const namesFor = (path: string, plan: PlanId) => ({
  looking: join(dirname(path), `.removing-${plan}`),
  removed: join(dirname(path), `.removed-${plan}`),
})

function differing(before: FileStamps, now: FileStamps): readonly string[] {
  const paths = new Set([...before.keys(), ...now.keys()])
  return [...paths].filter(path => before.get(path) !== now.get(path)).toSorted()
}
