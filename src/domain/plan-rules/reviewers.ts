// The reviewers of a plan. `review` on a task makes another task, which looks at its work when its checks have passed; a plan may also name
// one of its own tasks. A task that needs the reviewed one waits for its reviewer too.
//
//   fix (review: { by: grok })   ->  fix ← fix/review;   what needs `fix` needs `fix/review` as well
//
// A `fail` sends the task back with the findings, at most `times` times; then a person decides (`rules/review.ts`).

import type { TaskName } from '../id.ts'
import type { RecoveryRule, Retry, TaskDefinition } from '../plan.ts'
import { type Judge, judgeAction, judgeIn, VERDICT, WORK_FIELDS } from './judge.ts'

export const REVIEW_TIMES_DEFAULT = 2
const ASKED_MAX = 100

/** Adds reviewers to expanded tasks; a plan without reviews is returned as it is. */
export function withReviewers(tasks: readonly TaskDefinition[]): readonly TaskDefinition[] {
  if (!tasks.some(({ review }) => review !== undefined)) return tasks
  const names = new Set(tasks.map(({ id }) => id))
  /** By the name of the reviewed task. */
  const reviewers = new Map<TaskName, TaskName>()
  const reviewed = new Map<TaskName, TaskDefinition>()
  for (const task of tasks) {
    const by = reviewerOf(task, name => names.has(name))
    if (by === null || reviewed.has(by)) continue
    reviewers.set(task.id, by)
    reviewed.set(by, task)
  }
  return tasks.flatMap(task => {
    const by = reviewers.get(task.id)
    const of = reviewed.get(task.id)
    const needing = withNeeds(task, reviewers, of?.id)
    const made = of === undefined ? needing : asReviewer(needing, of)
    if (by === undefined) return [made]
    const { success: _, ...on } = made.on ?? {}
    const alone: TaskDefinition = made.on === undefined ? made : { ...made, on }
    const judge = judgeIn(task.review!.by)!
    return judge.type === 'task' ? [alone] : [alone, asReviewer(newReviewer(task, by, judge), task)]
  })
}

/** The full name of the reviewer of a task; null if it has none, or one that does not exist. */
export function reviewerOf({ id, review }: TaskDefinition, has: (name: TaskName) => boolean): TaskName | null {
  const judge = review === undefined ? null : judgeIn(review.by)
  if (judge === null) return null
  if (judge.type !== 'task') return `${id}/review` as TaskName
  // As with outcome edges: the nearest task of this name, among the siblings or those of a group around it.
  for (let at = id.lastIndexOf('/'); ; at = id.lastIndexOf('/', at - 1)) {
    const name = `${id.slice(0, at + 1)}${judge.task}` as TaskName
    if (has(name) && name !== id) return name
    if (at < 0) return null
  }
}

function withNeeds(
  task: TaskDefinition,
  reviewers: ReadonlyMap<TaskName, TaskName>,
  reviews: TaskName | undefined,
): TaskDefinition {
  const also = (task.needs ?? []).flatMap(name => (name === reviews ? [] : (reviewers.get(name) ?? [])))
  const missing = also.filter(name => name !== task.id && task.needs?.includes(name) !== true)
  return missing.length === 0 ? task : { ...task, needs: [...(task.needs ?? []), ...missing] }
}

/** What makes a task a reviewer: it comes after the work, is skipped with it, and leads back to it. */
function asReviewer(task: TaskDefinition, of: TaskDefinition): TaskDefinition {
  const { times = REVIEW_TIMES_DEFAULT, capped = 'ask' } = of.review!
  const done = `tasks['${of.id}'].status == 'completed'`
  const next = of.on !== undefined && Object.hasOwn(of.on, 'success') ? of.on.success : undefined
  const own = task.on?.success ?? []
  return {
    ...task,
    needs: [...new Set([...(task.needs ?? []), of.id])],
    when: task.when === undefined ? done : `(${task.when}) && (${done})`,
    on: { ...task.on, ...(next === undefined ? {} : { success: [...own, ...next] }), fail: [of.id] },
    ...(task.recover === undefined && capped === 'ask' ? { recover: ASK } : {}),
    reviews: { of: of.id, times },
  }
}

/** Each time, however often a person sends the work back. */
const ASK: readonly RecoveryRule[] = [{ times: ASKED_MAX, do: { type: 'ask' } }]
/** A judge that does not answer is asked once more. */
const RETRY: Retry = { attempts: 2, backoffMs: { min: 1_000, max: 10_000 } }

function newReviewer(of: TaskDefinition, id: TaskName, judge: Exclude<Judge, { type: 'task' }>): TaskDefinition {
  const { optional, priority, milestone, timeoutMs, bound, review } = of
  const { instruction, vote } = review!
  const own = instruction === undefined ? [] : [`What to look for besides (the criterion 'review'): ${instruction}`]
  const parts = [WORDS, ...own, ...(judge.type === 'model' ? [WORK] : [])]
  return {
    id,
    title: `Review of ${of.title ?? of.id}`,
    kind: 'review',
    action: judgeAction(judge, VERDICT, vote)!,
    instruction: parts.join('\n\n'),
    write: [],
    retry: RETRY,
    ...(optional === undefined ? {} : { optional }),
    ...(priority === undefined ? {} : { priority }),
    ...(milestone === undefined ? {} : { milestone }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(bound === undefined ? {} : { bound }),
  }
}

const WORDS = `Review the work of somebody else. You are shown what it was told, what it changed, its checks, which passed, and its earlier attempts.
Answer 'fail' only if something is wrong by its own criteria, else 'pass'. Every finding names a changed file, the line, what is wrong and what to do about it, and the criterion that it breaks by its name: 'task' for what it was told, or c1, c2 and so on. Other findings are kept as notes and hold nothing up. Change nothing.`

const WORK = WORK_FIELDS.map(part => `\${{ work.${part} }}`).join('\n\n')
