// What a `git` task may do to the repository: commits, tags and merges on the branches of its own plan. Each operation carries the key of
// the visit, so that a retry after a crash finds what was done.

import type { Event } from '../../domain/event.ts'
import type { Actor, Sha256 } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { GitOperation } from '../../domain/plan-rules/git-operation.ts'
import { wroteIn } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Attempt, GitDone, GitHand } from '../../runners/runner.ts'
import { refuse } from '../../safety/safety-refusal.ts'
import { inScope, patternError } from '../../safety/scope.ts'
import type { Entry } from '../../stores/store.ts'
import { commitMessage } from '../../workspace/git/git.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import { readChanges } from '../rollback/attempt-changes.ts'
import { entriesAfter, isSame } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import { commitEntries, demandGit, guarded, taken } from './task-commits.ts'

// What the plan wrote and has not committed, from the journal: the last content it left at each path. Without content that others put
// there, and without content from before the plan.

interface Pending {
  readonly first: TreeEntry | null
  /** Versions since the last commit, oldest first, each with its visit. */
  left: { readonly by: string; readonly entry: TreeEntry | null }[]
  isCommitted: boolean
}

/** `entries` is the whole journal. `paths` are patterns; everything if absent. */
export async function uncommittedPaths(
  rooms: Rooms,
  entries: Iterable<Entry>,
  paths?: readonly string[],
): Promise<ReadonlyMap<string, TreeEntry | null>> {
  const known = new Map<string, Pending>()
  let takesGitBack = false
  for (const { events } of entries) {
    for (const event of events) {
      switch (event.type) {
        // A retry restores the files first; a new claimant finds them as they were left.
        case 'attempt.started':
          if (event.attempt > 1 && event.preimage !== undefined && event.claim === undefined)
            forget(known, `${event.task}/${event.visit}`)
          break
        case 'attempt.succeeded':
        case 'attempt.failed':
        case 'compensation.finished':
        case 'compensation.retried':
        case 'attempt.lost':
          add(known, visitOf(event), await changesOf(rooms, wroteIn(event)?.changes))
          if ('result' in event && event.result.git?.some(({ type }) => type === 'commit.created') === true)
            settle(known, patternsOf(event))
          break
        case 'git.committed':
          if (event.failure === undefined) settleVisit(known, `${event.task}/${event.visit}`)
          break
        case 'rollback.started':
          takesGitBack =
            event.kind === 'rollback' &&
            !(
              event.keepGit === true ||
              event.filesOnly === true ||
              event.paths !== undefined ||
              event.tasks !== undefined
            )
          break
        case 'rollback.finished': {
          const changes = await changesOf(rooms, event.changes)
          if (takesGitBack) for (const { path } of changes) known.delete(path)
          else add(known, '', changes)
          break
        }
        default:
      }
    }
  }
  const found = new Map<string, TreeEntry | null>()
  for (const [path, { first, left, isCommitted }] of known) {
    const last = left.at(-1)
    if (last === undefined || (!isCommitted && isSame(last.entry, first))) continue
    if (paths === undefined || inScope(paths, path)) found.set(path, last.entry)
  }
  return found
}

function add(known: Map<string, Pending>, by: string, changes: readonly Change[]): void {
  for (const { path, before, after } of changes) {
    const seen = known.get(path)
    if (seen === undefined) known.set(path, { first: before, left: [{ by, entry: after }], isCommitted: false })
    else seen.left.push({ by, entry: after })
  }
}

function forget(known: Map<string, Pending>, visit: string): void {
  for (const seen of known.values()) seen.left = seen.left.filter(({ by }) => by !== visit)
}

/** Earlier changes of the same paths are in the commit, too. */
function settleVisit(known: Map<string, Pending>, visit: string): void {
  for (const seen of known.values()) {
    const at = seen.left.findLastIndex(({ by }) => by === visit)
    if (at < 0) continue
    seen.left = seen.left.slice(at + 1)
    seen.isCommitted = true
  }
}

function settle(known: Map<string, Pending>, paths: readonly string[] | null): void {
  for (const [path, seen] of known) {
    if (seen.left.length === 0 || (paths !== null && !inScope(paths, path))) continue
    seen.left = []
    seen.isCommitted = true
  }
}

function patternsOf(event: Event): readonly string[] | null {
  const paths = 'result' in event ? event.result.outputs?.paths : undefined
  return Array.isArray(paths) ? paths.filter(one => typeof one === 'string') : null
}

function visitOf(event: Event & { readonly task: string }): string {
  return 'visit' in event ? `${event.task}/${event.visit}` : ''
}

async function changesOf(rooms: Rooms, id: Sha256 | null | undefined): Promise<readonly Change[]> {
  return id === null || id === undefined ? [] : await readChanges(rooms, id)
}

const ENGINE = 'engine' as Actor
const NAMED_MAX = 100

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
      kind: definition.kind,
      template,
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
            attempt: attempt.attempt,
          })
          const left = committed.status === 'found' ? [] : committed.left
          return {
            operations,
            outputs: {
              branch,
              commit: committed.commit,
              status: committed.status === 'unchanged' ? 'unchanged' : 'committed',
              ...(paths === undefined ? {} : { paths: [...paths] }),
              ...(left.length === 0 ? {} : { ignored: left.slice(0, NAMED_MAX) }),
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
              message,
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
            return refuse('logic', `the work of ${task} conflicts with the plan's in ${shown}`, merged.hint)
          }
          return {
            operations: merged.status === 'already' ? [] : [merged.operation],
            outputs: { commit: merged.commit, status: merged.status === 'already' ? 'already' : 'merged' },
          }
        }),
    },
  }
}

/** A subject that has a type already, such as `feat(plan): …` or `docs: …`. */
const TYPED = /^[a-z]+(?:\([^()]*\))?!?: \S/

/** A computed path can be checked only now. */
function demandInside(path: string): void {
  const fault = patternError(path)
  if (fault !== null)
    refuse('policy', `${JSON.stringify(path.slice(0, 200))} cannot be committed: it ${fault}`, OUTSIDE_HINT)
}

const OUTSIDE_HINT = 'name paths of the workspace, with forward slashes, for instance src/**'
