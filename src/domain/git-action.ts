// What a git task does. Before git and checkpoint tasks were carried out, anything could stand there as `spec`; such a plan
// could be stored, never started. Whoever looks at a stored action asks here, so that it is shown and compared, not tripped over.

import type { TaskName } from './id.ts'
import type { Json } from './json.ts'
import type { Action, GitAction } from './plan.ts'

/** Null for an action that is none of git, or says nothing that can be carried out. */
export function gitOf(action: Action): GitAction | null {
  return action.type === 'git' && specOf(action) === null ? action.git : null
}

/** The task whose branch it merges. */
export function mergedBy(action: Action): TaskName | null {
  const git = gitOf(action)
  return git?.do === 'merge' ? git.task : null
}

/** The same action, merging the branch of another task. */
export function mergeOf(action: Action, task: TaskName): Action {
  const git = gitOf(action)
  return git?.do === 'merge' && git.task !== task ? { type: 'git', git: { ...git, task } } : action
}

/** What an action of the old kind said; null for all others. */
export function specOf(action: Action): Json | null {
  return 'spec' in action ? ((action as { readonly spec: Json }).spec ?? null) : null
}
