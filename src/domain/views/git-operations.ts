// The changes of a plan in the repository, in order: commits of tasks, `git` tasks, and rollbacks. Without the worktrees of the plan and
// its tasks, which a rollback keeps.

import type { Event, PlanEntry } from '../event.ts'
import { rowOf } from '../events/event-table.ts'
import type { TaskName } from '../id.ts'
import type { GitOperation, RefOperation } from '../plan-rules/git-operation.ts'

type Entry = Pick<PlanEntry, 'events'>

export function gitOperationsOf(entries: Iterable<Entry>): readonly GitOperation[] {
  const found: GitOperation[] = []
  for (const { events } of entries) for (const event of events) found.push(...withoutPlace(event))
  return found
}

/** The operations that a rollback to an entry must undo. A later commit for a task that was done by then stays. */
export function gitOperationsSince(entries: Iterable<Entry>): readonly GitOperation[] {
  const done = new Set<TaskName>()
  const found: GitOperation[] = []
  for (const { events } of entries) {
    for (const event of events) {
      // A person's verdict may complete it.
      if (event.type === 'attempt.succeeded' || event.type === 'gate.decided') done.add(event.task)
      if (event.type !== 'git.committed' || done.has(event.task)) found.push(...withoutPlace(event).filter(isLasting))
    }
  }
  return inOrder(found)
}

/** False for the worktree and the branch of a task: it works there, and a rollback keeps them. */
function isLasting(operation: GitOperation): boolean {
  if (operation.type === 'worktree.added' || operation.type === 'worktree.removed') return false
  return !('ref' in operation && /^refs\/heads\/plan\/[^+]+\+/.test(operation.ref))
}

/** In order of execution: recovered merges are found in any order, and each begins at the commit where another ended. */
function inOrder(operations: readonly GitOperation[]): readonly GitOperation[] {
  const sorted = new Map<string, RefOperation[]>()
  for (const one of operations) if ('before' in one) sorted.set(one.ref, [...(sorted.get(one.ref) ?? []), one])
  for (const [ref, chain] of sorted) sorted.set(ref, linked(chain))
  return operations.map(one => ('before' in one ? sorted.get(one.ref)!.shift()! : one))
}

function linked(chain: RefOperation[]): RefOperation[] {
  if (chain.every((one, at) => at === 0 || one.before === chain[at - 1]!.after)) return chain
  const left = new Set(chain)
  const first = chain.find(one => !chain.some(other => other.after === one.before)) ?? chain[0]!
  const found: RefOperation[] = []
  for (let next: RefOperation | undefined = first; next !== undefined; ) {
    left.delete(next)
    found.push(next)
    const { after }: RefOperation = next
    next = [...left].find(one => one.before === after)
  }
  // If some do not fit, the order stays as recorded, so that the reader sees the gap.
  return left.size === 0 ? found : chain
}

export const operationsOf = (event: Event): readonly GitOperation[] => rowOf(event).operations?.(event) ?? []

const withoutPlace = (event: Event): readonly GitOperation[] => (event.type === 'place.made' ? [] : operationsOf(event))

/** Is the creation of a ref recorded, and not undone since? */
export function isRefRecorded(entries: Iterable<Entry>, ref: string): boolean {
  let recorded = false
  for (const { events } of entries) {
    for (const event of events) {
      for (const each of operationsOf(event)) {
        if (!('before' in each) || each.ref !== ref) continue
        // Recovered operations may be recorded before an earlier creation.
        if (each.after === null) recorded = false
        else if (each.before === null) recorded = true
      }
    }
  }
  return recorded
}
