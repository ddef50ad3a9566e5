// All files of the model, looked at and set back. A rollback takes several steps, and its process may die between any two of
// them: what is left to do stands on the disk, so whoever comes next finishes it.

import type { Sha256 } from '../src/domain/id.ts'
import type { Blobs, Change, Preview, RolledBack, Snapshots, TreeEntry } from '../src/workspace/workspace.ts'

/** What stands on the disk about a rollback until it is recorded elsewhere. */
export interface Unsettled {
  readonly about: string | null
  readonly saved: Sha256
  readonly changed: readonly (Change & { readonly content: string | null })[]
  done: number
}

export interface Shelf {
  readonly files: Map<string, string>
  unsettled: Unsettled | null
}

/** Lets time pass in the process that asks; it may be dead by then, and then nothing comes after. */
export type Pass = () => Promise<void>

export function simSnapshots(shelf: Shelf, blobs: Blobs, pass: Pass): Snapshots {
  const entryOf = async (content: string | undefined): Promise<TreeEntry | null> =>
    content === undefined
      ? null
      : { type: 'file', mode: 0o644, size: content.length, sha256: await blobs.put(Buffer.from(content)) }
  const now = async (path: string) => await entryOf(shelf.files.get(path))
  const keep = async (list: readonly (readonly [string, TreeEntry | null])[]) =>
    await blobs.put(Buffer.from(JSON.stringify([...list].sort(([a], [b]) => (a < b ? -1 : 1)))))
  const read = async (manifest: Sha256): Promise<Map<string, TreeEntry | null>> =>
    new Map(JSON.parse(Buffer.from((await blobs.get(manifest))!).toString()) as [string, TreeEntry | null][])
  const all = async () => await Promise.all([...shelf.files.keys()].map(async path => [path, await now(path)] as const))
  const preview: Snapshots['preview'] = async (target, writeSet) => {
    const wanted = await read(target)
    const paths: Preview[] = []
    for (const [path, left] of writeSet) {
      const [stands, to] = [await now(path), wanted.get(path) ?? null]
      const will = isSame(stands, to) ? 'leave' : to === null ? 'delete' : stands === null ? 'create' : 'restore'
      const conflict = will === 'leave' || isSame(stands, left) ? {} : { conflict: 'edited since' as const }
      paths.push({ path, will, ...conflict })
    }
    return { ok: true, paths }
  }
  const finish = async (work: Unsettled): Promise<RolledBack> => {
    for (; work.done < work.changed.length; work.done++) {
      const { path, content } = work.changed[work.done]!
      if (content === null) shelf.files.delete(path)
      else shelf.files.set(path, content)
      await pass()
    }
    const changed = work.changed.map(({ content: _, ...change }) => change)
    return { ok: true, saved: work.saved, changed, left: [], merged: [], kept: [], about: work.about }
  }
  return {
    snapshot: async () => {
      const manifest = await keep(await all())
      await pass()
      return { ok: true, manifest, files: shelf.files.size, bytes: 0, stored: 0, left: [] }
    },
    diff: async (a, b) => {
      const before = await read(a)
      const after = b === 'now' ? new Map(await all()) : await read(b)
      await pass()
      const changes: Change[] = []
      for (const path of new Set([...before.keys(), ...after.keys()])) {
        const change = { path, before: before.get(path) ?? null, after: after.get(path) ?? null }
        if (!isSame(change.before, change.after)) changes.push(change)
      }
      return { ok: true, changes, left: [] }
    },
    compose: async entries => ({ ok: true, manifest: await keep([...entries]) }),
    entries: async (snapshot, paths) => {
      const held = await read(snapshot)
      return { ok: true, entries: paths.map(path => ({ path, entry: held.get(path) ?? null })) }
    },
    materialise: async () => ({ ok: true, files: 0, left: [] }),
    preview,
    rollback: async (target, writeSet, { choices = [], about = null } = {}) => {
      const chosen = new Map(choices)
      const wanted = await read(target)
      const previewed = await preview(target, writeSet)
      if (!previewed.ok) return previewed
      const conflicts = previewed.paths.filter(({ path, conflict }) => conflict !== undefined && !chosen.has(path))
      if (conflicts.length > 0) {
        const message = `somebody has worked on ${conflicts.map(({ path }) => path).join(' ')}`
        return { ok: false, failure: { class: 'policy', message, retryable: false }, conflicts }
      }
      const changed: Unsettled['changed'][number][] = []
      for (const { path, will } of previewed.paths) {
        if (will === 'leave' || chosen.get(path) === 'keep') continue
        const after = wanted.get(path) ?? null
        const content = after?.type === 'file' ? Buffer.from((await blobs.get(after.sha256))!).toString() : null
        changed.push({ path, before: await now(path), after, content })
      }
      const saved = await keep(changed.map(({ path, before }) => [path, before] as const))
      await pass()
      shelf.unsettled = { about, saved, changed, done: 0 }
      return await finish(shelf.unsettled)
    },
    resume: async () => (shelf.unsettled === null ? null : await finish(shelf.unsettled)),
    settled: async () => {
      shelf.unsettled = null
    },
  }
}

const isSame = (a: TreeEntry | null, b: TreeEntry | null): boolean => JSON.stringify(a) === JSON.stringify(b)
