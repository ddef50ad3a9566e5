// What others completed since a task's files were captured, other plans of the same workspace and other tasks of the plan: for
// each path, what the last completed visit left there. Restoring the task's files before a retry must not touch these paths.

import type { Event } from '../domain/event.ts'
import type { PlanId, Sha256, TaskName } from '../domain/id.ts'
import type { PlanState, TaskState } from '../domain/state.ts'
import type { Entry } from '../stores/store.ts'
import type { TreeEntry } from '../workspace/workspace.ts'
import { readChanges, readOthersChanges } from './footprint.ts'
import type { Rooms } from './rooms.ts'
import { entriesAfter } from './written.ts'

export interface WrittenByOther {
  /** What the other plan left at the path; null when it deleted it. */
  readonly entry: TreeEntry | null
  readonly plan: PlanId
  /** The plan and the task, for people. */
  readonly name: string
  readonly task: TaskName | null
  /**
   * True: the other task declared a scope, so the change is its own. False: it declared none and all files were compared around
   * it, so the change may also be that of a task that ran at the same time.
   */
  readonly declared: boolean
}

const PAGE = 500

/** By path, for a task whose files were captured in this visit; empty when they were not. */
export async function writtenByOthers(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
): Promise<ReadonlyMap<string, WrittenByOther>> {
  const found = new Map<string, WrittenByOther>()
  const after = await capturedAfter(rooms, state, task)
  if (after === null) return found
  const isBeside = sharesFolder(rooms, state)
  for (let at = after; ; ) {
    const page = await rooms.store.since(at, PAGE)
    const last = page.at(-1)
    if (last === undefined) return found
    at = last.position
    for (const { plan, events } of page) {
      for (const event of events) {
        const wrote = completedChanges(event)
        if (wrote === null || !(await isBeside(plan))) continue
        // Of the plan itself, what its other tasks completed.
        if (plan === state.id && (wrote.task === null || wrote.task === task.definition.id)) continue
        const name = (await rooms.store.state(plan))?.definition.name ?? plan
        const by = { plan, name, task: wrote.task, declared: wrote.declared }
        const read = plan === state.id ? readChanges : readOthersChanges
        for (const change of (await read(rooms, wrote.changes)) ?? [])
          found.set(change.path, { ...by, entry: change.after })
      }
    }
  }
}

/** The position in the journal before which the files were certainly not captured yet; null when they were not captured. */
async function capturedAfter(rooms: Rooms, state: PlanState, task: TaskState): Promise<number | null> {
  if (task.prepared?.preimage === undefined) return null
  let readied: number | null = null
  for (const entry of await entriesAfter(rooms.store, state.id, 0)) {
    if (isReadied(entry, task)) readied = entry.position
    if (isBegun(entry, task)) return readied ?? Math.max(0, entry.position - 1)
  }
  return null
}

const isReadied = ({ events }: Entry, { definition: { id } }: TaskState): boolean =>
  events.some(event => event.type === 'task.readied' && event.tasks.includes(id))

const isBegun = ({ events }: Entry, { definition: { id }, visit }: TaskState): boolean =>
  events.some(event => event.type === 'attempt.started' && event.task === id && event.visit === visit)

/** Does another plan work in the same folder? In another folder the same path is another file. */
function sharesFolder({ store }: Rooms, { place }: PlanState): (plan: PlanId) => Promise<boolean> {
  const known = new Map<PlanId, boolean>()
  return async plan => {
    const answer = known.get(plan) ?? (await store.state(plan))?.place === place
    known.set(plan, answer)
    return answer
  }
}

/** What a visit that went well changed, or a rollback or compensation that is over. */
function completedChanges(
  event: Event,
): { readonly changes: Sha256; readonly task: TaskName | null; readonly declared: boolean } | null {
  if (event.type === 'rollback.finished')
    return event.changes === null ? null : { changes: event.changes, task: null, declared: true }
  if (event.type !== 'attempt.succeeded' && event.type !== 'compensation.finished') return null
  const { wrote } = event.result
  if (wrote?.changes == null) return null
  // Only where all files were compared is there a snapshot of them.
  return { changes: wrote.changes, task: event.task, declared: wrote.snapshot === undefined }
}
