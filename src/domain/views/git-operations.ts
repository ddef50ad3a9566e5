// What a plan did to the repository, in order: commits for tasks that were done, what `git` tasks did, and what rollbacks put
// back. The places a plan and its tasks work in are no part of it: going back never takes them away.

import type { Event } from '../event.ts'
import { rowOf } from '../events/event-table.ts'
import type { TaskName } from '../id.ts'
import type { GitOperation, RefOperation } from '../plan-rules/git-operation.ts'

interface Told {
  readonly events: readonly Event[]
}

export function gitOperationsOf(entries: Iterable<Told>): readonly GitOperation[] {
  const found: GitOperation[] = []
  for (const { events } of entries) for (const event of events) found.push(...withoutPlace(event))
  return found
}

/** What going back to an entry takes back. A commit for a task that was done by then belongs to what is gone back to, and stays. */
export function gitOperationsSince(entries: Iterable<Told>): readonly GitOperation[] {
  const done = new Set<TaskName>()
  const found: GitOperation[] = []
  for (const { events } of entries) {
    for (const event of events) {
      // A person's verdict may be what makes it done.
      if (event.type === 'attempt.succeeded' || event.type === 'gate.decided') done.add(event.task)
      if (event.type !== 'git.committed' || done.has(event.task)) found.push(...withoutPlace(event).filter(isLasting))
    }
  }
  return inOrder(found)
}

/** The worktree of a task, and the branch it is on until that is merged, are where it works. */
function isLasting(operation: GitOperation): boolean {
  if (operation.type === 'worktree.added' || operation.type === 'worktree.removed') return false
  return !('ref' in operation && /^refs\/heads\/plan\/[^+]+\+/.test(operation.ref))
}

/** In the order in which they happened: lost merges are found in any order, and each begins where another ended. */
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
  // What does not fit is not made to: whoever reads the chain sees the gap.
  return left.size === 0 ? found : chain
}

/** What one event says was done to the repository. */
export const operationsOf = (event: Event): readonly GitOperation[] => rowOf(event).operations?.(event) ?? []

/** The place a plan works in stays when it goes back. */
const withoutPlace = (event: Event): readonly GitOperation[] => (event.type === 'place.made' ? [] : operationsOf(event))

/** Whether the making of a ref is recorded, wherever, and not taken back since. */
export function isRefRecorded(entries: Iterable<Told>, ref: string): boolean {
  let recorded = false
  for (const { events } of entries) {
    for (const event of events) {
      for (const each of operationsOf(event)) {
        if (!('before' in each) || each.ref !== ref) continue
        // Work that was found again may be told of before the making that came first.
        if (each.after === null) recorded = false
        else if (each.before === null) recorded = true
      }
    }
  }
  return recorded
}
