// Before an attempt may start: its condition is judged, and the files it may write are captured (first attempt of a visit) or
// set back to how they were (any later one), so that every attempt begins from the same files. Recorded before it starts.

import { capturesScope } from '../domain/decisions/starting.ts'
import { scopeOf } from '../domain/effect.ts'
import type { Sha256, TaskName } from '../domain/id.ts'
import type { Failure, Prepared } from '../domain/result.ts'
import type { PlanState, TaskState } from '../domain/state.ts'
import { evaluator, truth } from './expressions.ts'
import type { Rooms } from './rooms.ts'

/** So many files are named when they are set back; the manifest holds them all. */
const FILES_TOLD_MAX = 100

export interface Preparation {
  readonly task: TaskName
  readonly visit: number
  readonly prepared: Prepared
  readonly restored: { readonly to: Sha256; readonly saved: Sha256; readonly files: readonly string[] } | null
}

/** `isHeld`: is the plan still ours? Asked immediately before files are set back. */
export async function prepare(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  isHeld: () => Promise<boolean>,
): Promise<Preparation> {
  const base = { task: task.definition.id, visit: task.visit }
  try {
    const { prepared, restored } = await made(rooms, state, task, isHeld)
    return { ...base, prepared, restored }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return {
      ...base,
      prepared: {
        failure: { class: 'resource', message: `cannot prepare '${base.task}': ${message}`, retryable: true },
      },
      restored: null,
    }
  }
}

async function made(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  isHeld: () => Promise<boolean>,
): Promise<Pick<Preparation, 'prepared' | 'restored'>> {
  const { when } = task.definition
  let judged = {}
  if (when !== undefined && task.prepared?.when === undefined) {
    const verdict = truth((await evaluator(state))(when), when)
    if ('message' in verdict)
      return {
        prepared: { failure: { class: 'logic', ...verdict, retryable: false } satisfies Failure },
        restored: null,
      }
    if (!verdict.holds) return { prepared: { when: false }, restored: null }
    judged = { when: true }
  }
  if (!capturesScope(state, task)) return { prepared: judged, restored: null }
  const preimage = task.prepared?.preimage
  if (preimage !== undefined) {
    if (!(await isHeld())) throw new Error('the plan is no longer ours')
    const restored = await rooms.workspace.restore(preimage)
    if (!restored.ok) return { prepared: { failure: restored.failure }, restored: null }
    const changed =
      restored.changed.length > 0
        ? { to: preimage, saved: restored.saved, files: restored.changed.slice(0, FILES_TOLD_MAX) }
        : null
    return { prepared: { ...judged, preimage }, restored: changed }
  }
  const captured = await rooms.workspace.capture(scopeOf(state.definition, task.definition) ?? [])
  if (!captured.ok) return { prepared: { failure: captured.failure }, restored: null }
  if (captured.left.length > 0) {
    const first = captured.left[0]!
    const message = `${captured.left.length} path(s) of its write scope cannot be captured, first '${first.path}': ${first.reason}`
    return {
      prepared: {
        failure: {
          class: 'policy',
          message,
          hint: 'narrow `write` so that everything in it can be set back',
          retryable: false,
        },
      },
      restored: null,
    }
  }
  return { prepared: { ...judged, preimage: captured.manifest }, restored: null }
}
