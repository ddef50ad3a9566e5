// Why an attempt must not be carried out, asked immediately before the world is touched: it would edit what the policy does not
// allow, or somebody must agree to it and has not, as it is now.

import { needsConsent } from '../domain/decisions/consenting.ts'
import type { Action } from '../domain/plan.ts'
import type { Failure } from '../domain/result.ts'
import type { PlanState, TaskState } from '../domain/state.ts'
import type { Attempt } from '../runners/runner.ts'
import { inScope } from '../safety/scope.ts'
import { late } from './late.ts'
import type { Rooms } from './rooms.ts'

/** Null when it may be, at once for most. `action`: it is carried out to undo the task, to which nobody agrees again. */
export function objection(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  attempt: Attempt,
  { action }: { readonly action?: Action },
): Failure | null | Promise<Failure | null> {
  const outside = beyondPolicy(state, attempt.action)
  if (outside !== null || action !== undefined || !needsConsent(state, task)) return outside
  return askConsent(rooms, state, task, attempt)
}

const askConsent = async (...asked: [Rooms, PlanState, TaskState, Attempt]): Promise<Failure | null> =>
  await (await late.consent()).objection(...asked)

/** A task may narrow the plan's `policy.write`, never widen it. For commands that is trusted until a sandbox enforces it. */
function beyondPolicy(state: PlanState, action: Action): Failure | null {
  const allowed = state.definition.policy?.write
  if (action.type !== 'edit' || allowed === undefined) return null
  const file = action.edits
    .flatMap(edit => (edit.type === 'move' ? [edit.file, edit.to] : [edit.file]))
    .find(path => !inScope(allowed, path))
  if (file === undefined) return null
  return {
    class: 'policy',
    message: `'${file}' is outside the plan's policy.write`,
    hint: 'widen policy.write in a revision, or edit another file',
    retryable: false,
  }
}
