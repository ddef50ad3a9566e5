// What a plan did to the repository, in order: commits for tasks that were done, what `git` tasks did, and what rollbacks put
// back. The places a plan and its tasks work in are no part of it: going back never takes them away.

import type { Event } from '../event.ts'
import type { TaskName } from '../id.ts'
import type { GitOperation, RefOperation } from '../plan-rules/git-operation.ts'

interface Told {
  readonly events: readonly Event[]
}

export function gitOperationsOf(entries: Iterable<Told>): readonly GitOperation[] {
  const found: GitOperation[] = []
  for (const { events } of entries) for (const event of events) found.push(...operationsOf(event))
  return found
}

/**
 * What going back to an entry takes back, from the entries behind it. A commit comes after its task is done: one for a task that
 * was done by then belongs to what is gone back to, and stays.
 */
export function gitOperationsSince(entries: Iterable<Told>): readonly GitOperation[] {
  const done = new Set<TaskName>()
  const found: GitOperation[] = []
  for (const { events } of entries) {
    for (const event of events) {
      // A person's verdict may be what makes it done.
      if (event.type === 'attempt.succeeded' || event.type === 'gate.decided') done.add(event.task)
      if (event.type !== 'git.committed' || done.has(event.task)) found.push(...operationsOf(event).filter(isLasting))
    }
  }
  return inOrder(found)
}

/** The worktree of a task, and the branch it is on until that is merged, are where it works. */
function isLasting(operation: GitOperation): boolean {
  if (operation.type === 'worktree.added' || operation.type === 'worktree.removed') return false
  return !('ref' in operation && /^refs\/heads\/plan\/[^+]+\+/.test(operation.ref))
}

/**
 * In the order in which they happened. Two tasks that were merged one after the other and then lost together are told of in any
 * order by those that find their work again; each begins where the one before it ended.
 */
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
export function operationsOf(event: Event): readonly GitOperation[] {
  switch (event.type) {
    case 'git.committed':
      return event.operations
    case 'attempt.succeeded':
    case 'attempt.failed':
    case 'compensation.finished':
    case 'compensation.retried':
      return event.result.git ?? []
    case 'rollback.finished':
    case 'rollback.stopped':
      return event.git ?? []
    default:
      return []
  }
}

/** Whether the making of a ref is recorded, wherever, and not taken back since. */
export function isRefRecorded(entries: Iterable<Told>, ref: string): boolean {
  let recorded = false
  for (const { events } of entries) {
    for (const event of events) {
      for (const each of event.type === 'place.made' ? event.operations : operationsOf(event)) {
        if (!('before' in each) || each.ref !== ref) continue
        // Work that was found again may be told of before the making that came first.
        if (each.after === null) recorded = false
        else if (each.before === null) recorded = true
      }
    }
  }
  return recorded
}
