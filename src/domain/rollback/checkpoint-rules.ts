// Named checkpoints: by hand, by a checkpoint task, and by policy before a task. The position after each task needs none: the journal has
// it, see views/checkpoints.ts.

import { actionFacts } from '../actions/actions.ts'
import type { CommandOf } from '../command.ts'
import { advise, next } from '../hint.ts'
import { type CheckpointName, checkpointName } from '../id.ts'
import { effectOf } from '../plan-rules/effect.ts'
import { type Refusal, refuse } from '../refusal.ts'
import type { WorkspaceStamp } from '../result.ts'
import { type DecisionDraft, emit } from '../rules/decision.ts'
import type { PlanState, TaskState } from '../state/state.ts'

export function takeCheckpoint(draft: DecisionDraft, command: CommandOf<'checkpoint'>): Refusal | undefined {
  if (draft.state.status === 'draft')
    return refuse(
      'illegal-transition',
      'cannot take a checkpoint: the plan was not started',
      advise`start it first: ${next('run')}`,
    )
  emit(draft, { type: 'checkpoint.taken', name: command.name, why: command.why ?? 'asked', standing: command.standing })
  return undefined
}

/** Why policy takes a checkpoint before this visit; null when it does not. */
export function dueBefore(state: PlanState, task: TaskState): 'every' | 'risky' | null {
  if (state.files !== 'seen' || task.attempt > 0 || !isWork(task)) return null
  const { every, before = 'risky' } = state.definition.policy?.checkpoints ?? {}
  const { definition } = task
  if (before === 'risky' && (definition.risks?.length ?? 0) > 0) return 'risky'
  if (before === 'unsafe' && effectOf(state.definition, definition) === 'unsafe') return 'risky'
  return every !== undefined && every > 0 && state.sinceCheckpoint >= every ? 'every' : null
}

export function takenBefore(draft: DecisionDraft, task: TaskState, stamp: WorkspaceStamp | undefined): void {
  const why = stamp === undefined ? null : dueBefore(draft.state, task)
  if (stamp === undefined || why === null) return
  const name = checkpointName(`before-${task.definition.id}` as TaskState['definition']['id'], draft.now)
  emit(draft, { type: 'checkpoint.taken', name, why, task: task.definition.id, standing: stamp })
}

export function takenBy(draft: DecisionDraft, { definition }: TaskState, stamp: WorkspaceStamp | undefined): void {
  if (stamp === undefined || actionFacts(definition.action).takesCheckpoint !== true) return
  const name = (('name' in definition.action ? definition.action.name : undefined) ??
    checkpointName(definition.id, draft.now)) as CheckpointName
  emit(draft, { type: 'checkpoint.taken', name, why: 'task', task: definition.id, standing: stamp })
}

/** A task that neither changes files nor runs a command needs no checkpoint before it. */
function isWork({ definition }: TaskState): boolean {
  const { changesFiles, command } = actionFacts(definition.action)
  return changesFiles === true || command !== undefined
}
