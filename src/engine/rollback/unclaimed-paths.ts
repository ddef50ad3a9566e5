// Paths that no task declares and that changed while a task without a scope ran. All files are compared around such a task, so its changes
// may include a person's edits. A rollback lists these paths and leaves them, unless they are explicitly included.

import type { Rollback } from '../../domain/command.ts'
import type { TaskName } from '../../domain/id.ts'
import type { TreeEntry } from '../../workspace/workspace.ts'

interface Credited {
  readonly isClaimed: boolean
  /** Recorded by a task with a scope, or changed by a rollback of the plan. */
  readonly isDeclared: boolean
  readonly looseTask: TaskName | null
  readonly states: readonly (TreeEntry | null)[]
}

/** By path: the task that ran. */
export function unclaimedIn(
  known: ReadonlyMap<string, Credited>,
  kind: Rollback['kind'] | undefined,
): ReadonlyMap<string, TaskName> {
  // A folder that contains a declared file exists for that file.
  const folders = new Set<string>()
  for (const [path, { isClaimed }] of known) if (isClaimed) for (const folder of foldersAbove(path)) folders.add(folder)
  const unclaimed = new Map<string, TaskName>()
  for (const [path, { isClaimed, looseTask, isDeclared, states }] of known) {
    const isFolder = states.every(state => state === null || state.type === 'directory')
    // Undoing a rollback restores everything that it changed.
    const isCertain = isClaimed || (kind === 'undo' && isDeclared) || (isFolder && folders.has(path))
    if (looseTask !== null && !isCertain) unclaimed.set(path, looseTask)
  }
  return unclaimed
}

export function* foldersAbove(path: string): Iterable<string> {
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) yield path.slice(0, at)
}

type Including = Pick<Rollback, 'includeUnclaimed' | 'force' | 'choices' | 'paths'>

/** Paths that were included neither by name nor all together. */
export function leftUnclaimed(
  unclaimed: ReadonlyMap<string, TaskName>,
  { includeUnclaimed, force, choices = {}, paths = [] }: Including,
): ReadonlySet<string> {
  if (includeUnclaimed === true || force === true) return new Set()
  const isNamed = (path: string) => (Object.hasOwn(choices, path) && choices[path] === 'take') || paths.includes(path)
  return new Set([...unclaimed.keys()].filter(path => !isNamed(path)))
}

/** A file that stays keeps its folders. */
export const foldersOf = (left: ReadonlySet<string>): ReadonlySet<string> =>
  new Set([...left].flatMap(path => [...foldersAbove(path)]))

export const unclaimedWords = (task: TaskName): string => `perhaps yours: it changed while ${task} ran`
