// The checkpoints of a plan: after each task, and wherever one was taken. A checkpoint is an entry; the state there is the fold up to it.

import type { PlanEntry } from '../event.ts'
import { type CheckpointName, checkpointName, type Millis, type TaskName } from '../id.ts'
import type { GitStanding, WorkspaceStamp } from '../result.ts'

export interface Checkpoint {
  readonly name: CheckpointName
  readonly version: number
  readonly at: Millis
  readonly task: TaskName | null
  /** `after`: automatic, when a task was done. */
  readonly why: 'after' | 'asked' | 'task' | 'every' | 'risky' | 'ended'
  /** How many paths the task changed; null when not measured. */
  readonly paths: number | null
  readonly standing: WorkspaceStamp
}

/** A checkpoint other than `after` precedes what its entry started, so its state is that of the previous entry. */
type Entry = Pick<PlanEntry, 'version' | 'now' | 'events'>

export function checkpointsOf(entries: Iterable<Entry>): Checkpoint[] {
  const found: Checkpoint[] = []
  const unseen = new Map<TaskName, string>()
  for (const { version, now, events } of entries) {
    for (const event of events) {
      if (event.type === 'attempt.started') {
        if (event.unwatched !== undefined) unseen.set(event.task, event.unwatched)
        else if (event.attempt === 1) unseen.delete(event.task)
      } else if (event.type === 'attempt.succeeded') {
        const { wrote } = event.result
        const { snapshot, git, left } = wrote ?? {}
        const stamp = {
          ...some('snapshot', snapshot),
          ...some('git', git),
          ...some('left', left),
          ...some('lacks', wrote === undefined ? unseen.get(event.task) : undefined),
        }
        const paths = wrote === undefined ? null : wrote.paths
        found.push({
          name: checkpointName(event.task, now),
          version,
          at: now,
          task: event.task,
          why: 'after',
          paths,
          standing: stamp,
        })
      } else if (event.type === 'checkpoint.taken') {
        const { name, why, task = null, standing } = event
        found.push({ name, version, at: now, task, why, paths: null, standing })
      }
    }
  }
  return found
}

export function findCheckpoint(all: readonly Checkpoint[], reference: string): Checkpoint | null {
  return all.findLast(one => one.name === reference) ?? null
}

const some = <K extends string, V>(key: K, value: V | undefined) =>
  value === undefined ? {} : ({ [key]: value } as { readonly [key in K]: V })

export type { GitStanding, WorkspaceStamp }
