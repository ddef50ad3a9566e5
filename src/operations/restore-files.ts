// Bringing back what was set back: which kept versions are meant by the words of a face, and the order that restores them.

import type { PlanId } from '../domain/id.ts'
import type { Engine, KeptFile, RestoreAsk } from '../engine/engine.ts'

/** All versions of one path that are kept, oldest first. */
export interface KeptPath {
  readonly path: string
  readonly versions: readonly KeptFile[]
}

/** By path, the path whose version was replaced last at the end. */
export async function listKeptFiles(engine: Engine, plan: PlanId): Promise<readonly KeptPath[]> {
  const kept = (await engine.ask({ type: 'keptFiles', plan })) ?? []
  const byPath = new Map<string, KeptFile[]>()
  for (const one of kept) {
    const versions = byPath.get(one.path) ?? []
    // Put last, so that the order of paths is that of their latest version.
    byPath.delete(one.path)
    byPath.set(one.path, [...versions, one])
  }
  return [...byPath].map(([path, versions]) => ({ path, versions }))
}

/** `overwrite` and `merge` say what happens where something else stands by now. */
export function restoreOrder(
  paths: readonly string[],
  options: { readonly hash?: string; readonly overwrite?: boolean; readonly merge?: boolean },
): { readonly type: 'restore' } & RestoreAsk {
  const every = options.merge === true ? 'merge' : options.overwrite === true ? 'theirs' : undefined
  return {
    type: 'restore',
    paths,
    hash: options.hash,
    every,
  }
}
