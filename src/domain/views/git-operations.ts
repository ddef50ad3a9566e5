// What a plan did to the repository, in order: commits for tasks that were done, what `git` tasks did, and what rollbacks put
// back. The place a plan works in is no part of it: going back never takes that away.

import type { Event } from '../event.ts'
import type { GitOperation } from '../git-operation.ts'
import type { TaskName } from '../id.ts'

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
      if (event.type !== 'git.committed' || done.has(event.task)) found.push(...operationsOf(event))
    }
  }
  return found
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
      for (const each of event.type === 'place.made' ? event.operations : operationsOf(event))
        if ('before' in each && each.ref === ref) recorded = each.after !== null
    }
  }
  return recorded
}
