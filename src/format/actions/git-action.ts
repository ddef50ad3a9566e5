// `git`: a commit, a tag or a merge on the plan's own branch.

import { z } from 'zod'
import { gitOf, specOf } from '../../domain/actions/git-action.ts'
import { isMap } from '../../domain/json.ts'
import type { Action, GitAction } from '../../domain/plan.ts'
import { record, variants } from '../plan/codec.ts'
import * as value from '../plan/schema-values.ts'
import { type ActionFormat, isComputed, keyed } from './action-format.ts'

type Git = Extract<Action, { readonly type: 'git' }>
type GitOf<T extends GitAction['do']> = Extract<GitAction, { readonly do: T }>

const message = value.line.optional()
const git = variants<GitAction, 'do'>('do', {
  commit: record<GitOf<'commit'>>()(
    { message: 'commit' },
    { commit: value.line, paths: z.array(value.line).min(1).optional() },
    { always: { do: 'commit' } },
  ),
  tag: record<GitOf<'tag'>>()({ name: 'tag' }, { tag: value.tagName, message }, { always: { do: 'tag' } }),
  merge: record<GitOf<'merge'>>()({ task: 'merge' }, { merge: value.taskName, message }, { always: { do: 'merge' } }),
}).meta({
  description: "On the plan's own branch: commit what it has written, tag it, or merge the branch of a task.",
  examples: [{ commit: 'Update the notes' }],
})

export const GIT: ActionFormat<Git> = {
  ...keyed<Git>('git', { git: ['git', git] }),
  // Definitions of earlier releases are printed as they were written.
  print: action => ({ git: specOf(action) ?? action.git }),
  /** Paths outside of the workspace are refused; computed paths are checked at run time. */
  *rules({ git }, path) {
    const paths = isMap(git) && Array.isArray(git.paths) ? (git.paths as readonly unknown[]) : []
    for (const [index, pattern] of paths.entries()) {
      if (typeof pattern !== 'string' || isComputed(pattern)) continue
      const isOutside = /^(?:\/|~|[a-z]:)/i.test(pattern) || pattern.split(/[\\/]/).includes('..')
      const isGit = pattern.split('/')[0]?.toLowerCase() === '.git'
      if (!isOutside && !isGit) continue
      yield {
        path: [...path, 'git', 'paths', index],
        message: `'${pattern.slice(0, 200)}' ${isGit ? 'is the repository itself, which cannot be committed' : 'is outside of the workspace'}`,
        hint: "name paths of the workspace, for instance 'src/**'",
      }
    }
  },
  words(action, { text, code, codes }) {
    const request = gitOf(action)
    if (request === null) return 'git'
    if (request.do === 'tag') return `tags ${code(request.name)}`
    if (request.do === 'merge') return `merges the branch of ${code(request.task)}`
    return `commits ${request.paths === undefined ? 'what the plan has written' : codes(request.paths)}: ${text(request.message)}`
  },
}
