// What a `git` task may do to the repository, for one attempt: commits, tags and merges on the branches of its own plan, each with
// the key of the visit, so that an attempt after a crash finds what the one before it did.

import type { GitOperation } from '../domain/git-operation.ts'
import type { Actor } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import type { PlanState } from '../domain/state.ts'
import type { Attempt, GitDone, GitHand } from '../runners/runner.ts'
import { refuse } from '../safety/refused.ts'
import { patternError } from '../safety/scope.ts'
import { commitMessage } from '../workspace/git/git.ts'
import { commitEntries, demandGit, guarded, taken } from './committing.ts'
import type { Rooms } from './rooms.ts'
import { uncommittedPaths } from './uncommitted.ts'
import { entriesAfter } from './written.ts'

const ENGINE = 'engine' as Actor
const TOLD_MAX = 100

export function gitHand(rooms: Rooms, state: PlanState, attempt: Attempt): { readonly git?: GitHand } {
  if (rooms.git === undefined) return {}
  const { definition } = attempt
  const { name, git: use } = state.definition
  const owner = { plan: state.id, name }
  const words = (text: string): string => {
    const [subject = '', ...body] = text.split('\n')
    const template = TYPED.test(subject) ? '{title}' : use?.message
    return commitMessage({
      title: subject,
      body: body.join('\n'),
      ...(definition.kind === undefined ? {} : { kind: definition.kind }),
      ...(template === undefined ? {} : { template }),
    })
  }
  const settle = async (
    work: () => Promise<{ readonly operations: readonly GitOperation[]; readonly outputs: JsonObject }>,
  ): Promise<GitDone> => {
    const done = await guarded(rooms, work)
    return done.ok ? { ok: true, ...done.value } : { ok: false, failure: done.failure, operations: done.done }
  }
  return {
    git: {
      commit: async ({ message, paths }) =>
        await settle(async () => {
          for (const path of paths ?? []) demandInside(path)
          const entries = await uncommittedPaths(rooms, await entriesAfter(rooms.store, state.id, 0), paths)
          const { committed, branch, operations } = await commitEntries(rooms, state, {
            entries,
            message: words(message),
            actor: ENGINE,
            at: rooms.clock.now(),
            task: attempt.task,
            key: attempt.key,
          })
          const left = committed.status === 'found' ? [] : committed.left
          return {
            operations,
            outputs: {
              branch,
              commit: committed.commit,
              status: committed.status === 'unchanged' ? 'unchanged' : 'committed',
              ...(paths === undefined ? {} : { paths: [...paths] }),
              ...(left.length === 0 ? {} : { ignored: left.slice(0, TOLD_MAX) }),
            },
          }
        }),
      tag: async ({ name: tag, message }) =>
        await settle(async () => {
          const git = demandGit(rooms)
          const operation = taken(
            await git.createTag({
              plan: state.id,
              name: tag,
              target: `refs/heads/plan/${name}`,
              at: rooms.clock.now(),
              ...(message === undefined ? {} : { message }),
            }),
          )
          return { operations: [operation], outputs: { tag, target: operation.after } }
        }),
      merge: async ({ task, message = `merge the work of ${task}` }) =>
        await settle(async () => {
          const git = demandGit(rooms)
          const merged = taken(
            await git.mergeBack({
              ...owner,
              task,
              message: words(message),
              actor: ENGINE,
              at: rooms.clock.now(),
              key: attempt.key,
              whenGone: 'already',
            }),
          )
          if (merged.status === 'conflict') {
            const shown = merged.paths.slice(0, 20).join(', ')
            return refuse('logic', `the work of ${task} conflicts with the plan's in ${shown}.`, merged.hint)
          }
          return {
            operations: merged.status === 'already' ? [] : [merged.operation],
            outputs: { commit: merged.commit, status: merged.status === 'already' ? 'already' : 'merged' },
          }
        }),
    },
  }
}

/** A subject that names its type already, as in `feat(plan): …` or `docs: …`. */
const TYPED = /^[a-z]+(?:\([^()]*\))?!?: \S/

/** A path may have been computed, and is known only now. */
function demandInside(path: string): void {
  const fault = patternError(path)
  if (fault !== null)
    refuse('policy', `${JSON.stringify(path.slice(0, 200))} cannot be committed: it ${fault}.`, OUTSIDE_HINT)
}

const OUTSIDE_HINT = 'Name paths of the workspace, with forward slashes, for instance src/**.'
