// Reads comments on a draft without a model: unwanted tasks, named files, a preferred test command. Other comments are added to
// the task's instruction or reported.

import { BASELINE } from './draft/work-tasks.ts'
import type { PlanComment, PlanProposal } from './planner.ts'

/** `external`: the worker reads instructions; `command`: changes files without reading any. */
export type TaskKind = 'external' | 'command' | 'gate' | 'other'

export interface FollowedComments {
  readonly dropped: ReadonlySet<string>
  /** Additional paths to work on, and paths to leave alone. */
  readonly also: readonly string[]
  readonly not: readonly string[]
  readonly testCommand: readonly string[] | null
  /** Text for the instructions, by task; null for all of them. */
  readonly remarks: ReadonlyMap<string | null, readonly string[]>
  /** Comments that only an instruction can address. */
  readonly instructions: ReadonlySet<PlanComment>
  readonly unfollowed: PlanProposal['unfollowed']
}

const DROPS =
  /^\W*(please\s+)?(skip|drop|remove|delete|leave (this|it) out|not needed|no need|unnecessary|don'?t need)\b/i
const LEAVES = /\b(not|don'?t|do not|never|without|except|leave)\b/i
const TESTS = /\btests?\b.*`([^`]+)`|`([^`]+)`.*\btests?\b|\buse `([^`]+)`/i

/** `tasks`: the possible tasks of a draft, by name. */
export function readComments(
  comments: readonly PlanComment[],
  known: { readonly paths: readonly string[]; readonly tasks: ReadonlyMap<string, TaskKind> },
): FollowedComments {
  const dropped = new Set<string>()
  const remarks = new Map<string | null, string[]>()
  const also: string[] = []
  const not: string[] = []
  const instructions = new Set<PlanComment>()
  const unfollowed: { comment: PlanComment; why: string }[] = []
  let testCommand: readonly string[] | null = null
  for (const comment of comments) {
    const { task, text } = comment
    const kind = task === null ? null : (known.tasks.get(task) ?? null)
    if (task !== null && DROPS.test(text)) {
      if (kind === 'gate' && task.startsWith('approve-'))
        unfollowed.push({ comment, why: 'the approval before an irreversible task cannot be removed' })
      else if (kind === null) unfollowed.push({ comment, why: `the draft has no task '${task}'` })
      else dropped.add(task)
      continue
    }
    const files = known.paths.filter(path => mentions(text, path))
    const isLeft = LEAVES.test(text)
    if (files.length > 0) (isLeft ? not : also).push(...files)
    const command = TESTS.exec(text)
      ?.slice(1)
      .find(found => found !== undefined)
    const isAboutTests = task === BASELINE || task === 'tests-before' || /\btest/i.test(text)
    const isTestCommand = command !== undefined && isAboutTests && !/[;&|<>$]/.test(command)
    if (isTestCommand) testCommand = command.trim().split(/\s+/)
    const isFollowed = isTestCommand || (files.length > 0 && (isLeft || kind !== 'command'))
    if (task === null && !isFollowed) instructions.add(comment)
    if (task === null || kind === 'external') remarks.set(task, [...(remarks.get(task) ?? []), text])
    else if (kind === null) unfollowed.push({ comment, why: `the draft has no task '${task}'` })
    else if (!isFollowed)
      unfollowed.push({ comment, why: 'this task has no instructions, so a comment cannot change it: edit the plan' })
  }
  return { dropped, also, not, testCommand, remarks, instructions, unfollowed }
}

/** The whole path, and not as part of a longer one. */
function mentions(text: string, path: string): boolean {
  const at = text.indexOf(path)
  return at >= 0 && !/[\w/]/.test(text[at - 1] ?? '') && !/[\w/]/.test(text[at + path.length] ?? '')
}
