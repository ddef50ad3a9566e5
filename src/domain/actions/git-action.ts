// `git`: commits, tags or merges on the plan's own branch; it never pushes.

import type { TaskName } from '../id.ts'
import type { Json } from '../json.ts'
import { commandText } from '../plan-rules/criterion-text.ts'
import type { GitAction } from '../plan-values.ts'
import { type ActionFacts, type AnyAction, PLAIN_OUTCOMES } from './action-facts.ts'

// Releases that could not run git and checkpoint tasks yet stored any `spec`. Such plans can be shown and compared, never started, so
// stored actions are parsed here.

export interface GitTask {
  readonly type: 'git'
  readonly git: GitAction
}

/** Null for another kind of action, or one that cannot be run. */
export function gitOf(action: AnyAction): GitAction | null {
  return action.type === 'git' && specOf(action) === null ? (action as GitTask).git : null
}

export function mergedBy(action: AnyAction): TaskName | null {
  const git = gitOf(action)
  return git?.do === 'merge' ? git.task : null
}

export function mergeOf<A extends AnyAction>(action: A, task: TaskName): A | GitTask {
  const git = gitOf(action)
  return git?.do === 'merge' && git.task !== task ? { type: 'git', git: { ...git, task } } : action
}

/** The stored text of an action from an earlier release; null for all others. */
export function specOf(action: AnyAction): Json | null {
  return 'spec' in action ? ((action as { readonly spec: Json }).spec ?? null) : null
}

export const GIT: ActionFacts<GitTask> = {
  // A commit carries the key of its task, so a repeated attempt finds it instead of committing twice.
  effect: () => 'idempotent',
  acts: true,
  // Policies see the equivalent git command.
  command: action => {
    const git = gitOf(action)
    if (git === null) return null
    const word = git.do === 'tag' ? git.name : git.do === 'merge' ? git.task : null
    return { argv: ['git', git.do, ...(word === null ? [] : [word])] }
  },
  isSupported: action => gitOf(action) !== null,
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
