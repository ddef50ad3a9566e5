// `git`: commits, tags or merges on the plan's own branch; it never pushes.

import type { TaskName } from '../id.ts'
import type { Json } from '../json.ts'
import { commandText } from '../plan-rules/criterion-text.ts'
import type { GitAction } from '../plan-values.ts'
import { type ActionFacts, type AnyAction, PLAIN_OUTCOMES } from './action-facts.ts'

// What a git task does. Before git and checkpoint tasks were carried out, anything could stand there as `spec`; such a plan
// could be stored, never started. Whoever looks at a stored action asks here, so that it is shown and compared, not tripped over.

export interface GitTask {
  readonly type: 'git'
  readonly git: GitAction
}

/** Null for an action that is none of git, or says nothing that can be carried out. */
export function gitOf(action: AnyAction): GitAction | null {
  return action.type === 'git' && specOf(action) === null ? (action as GitTask).git : null
}

/** The task whose branch it merges. */
export function mergedBy(action: AnyAction): TaskName | null {
  const git = gitOf(action)
  return git?.do === 'merge' ? git.task : null
}

/** The same action, merging the branch of another task. */
export function mergeOf<A extends AnyAction>(action: A, task: TaskName): A | GitTask {
  const git = gitOf(action)
  return git?.do === 'merge' && git.task !== task ? { type: 'git', git: { ...git, task } } : action
}

/** What an action of the old kind said; null for all others. */
export function specOf(action: AnyAction): Json | null {
  return 'spec' in action ? ((action as { readonly spec: Json }).spec ?? null) : null
}

export const GIT: ActionFacts<GitTask> = {
  // Each commit bears the key of its task, so one that was made is found and not made again.
  effect: () => 'idempotent',
  acts: true,
  // Judged as the command of git that does the same.
  command: action => {
    const git = gitOf(action)
    if (git === null) return null
    const word = git.do === 'tag' ? git.name : git.do === 'merge' ? git.task : null
    return { argv: ['git', git.do, ...(word === null ? [] : [word])] }
  },
  isUnderstood: action => gitOf(action) !== null,
  fields: { git: 'values' },
  outputs: ({ action }) => {
    const git = gitOf(action)
    return git === null ? null : OUTPUTS[git.do]
  },
  outcomes: () => PLAIN_OUTCOMES,
  agreed: ({ action }) => ({ type: 'git', git: action.git }),
  named: () => 'words',
  line: ({ action }) => commandText(GIT.command?.(action) ?? { argv: ['git'] }),
}

const OUTPUTS = {
  commit: ['branch', 'commit', 'status', 'paths', 'ignored'],
  tag: ['tag', 'target'],
  merge: ['commit', 'status'],
} as const
