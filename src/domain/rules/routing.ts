// Outcome edges: which tasks an outcome activates. They may point backwards; then the target and everything after it open their next visit.
// Loops are bounded by the visit limit of the source, or else of the target.

import type { Feedback } from '../event.ts'
import type { TaskName } from '../id.ts'
import { VISITS_DEFAULT } from '../limits.ts'
import { effectOf, mayRunAgain } from '../plan-rules/effect.ts'
import { wordsIn } from '../recovery/explanation.ts'
import { LESSONS } from '../rules-version.ts'
import { goneBackIn, type TaskState } from '../state/state.ts'
import { transitiveDependants } from '../state/task-index.ts'
import { ENDED } from '../status.ts'
import { type DecisionDraft, emit } from './decision.ts'
import { blockHeld, markReady, unblock } from './readiness.ts'

export function edges(
  draft: DecisionDraft,
  task: TaskState,
  outcomes: readonly string[],
): { outcome: string; to: readonly TaskState[] } | null {
  const { on } = task.definition
  if (on === undefined) return null
  for (const outcome of outcomes) {
    // An outcome is free text: `constructor` must not find an inherited property.
    const targets = Object.hasOwn(on, outcome) ? on[outcome] : undefined
    if (targets === undefined) continue
    const to = [...new Set(targets)].map(name => draft.state.tasks.get(name)).filter(target => target !== undefined)
    return { outcome, to }
  }
  return null
}

export function recovery(draft: DecisionDraft, task: TaskState, mode: string | undefined): ReturnType<typeof edges> {
  const known = task.definition.failureModes?.find(one => one.name === mode)
  if (mode === undefined || known === undefined) return null
  const edge = edges(draft, task, [mode])
  if (edge !== null) return edge
  const to = [...new Set(known.recover)].map(name => draft.state.tasks.get(name)).filter(one => one !== undefined)
  return to.length === 0 ? null : { outcome: mode, to }
}

/** The reason of a later visit of a task that was left alone when its needs were reopened. */
export const NEEDS_OPEN = 'a task that it needs runs again'

/** The start of the reason of an attempt that was stopped because its task was reopened. */
export const OPENED_AGAIN = 'it will run again'

/** The first target without visits left; null for none. */
export function exhausted(source: TaskState, to: readonly TaskState[]): { target: TaskName; visits: number } | null {
  for (const target of to) {
    if (!wouldReopen(target)) continue
    const visits = source.definition.visits || target.definition.visits || VISITS_DEFAULT
    // A skipped visit does not count.
    const had = (target.status === 'skipped' ? target.visit - 1 : target.visit) - target.goneBack
    if (had >= visits) return { target: target.definition.id, visits }
  }
  return null
}

export function route(draft: DecisionDraft, source: TaskState, outcome: string, to: readonly TaskState[]): void {
  const { id } = source.definition
  const back = to.filter(target => wouldReopen(target) && !isLetAlone(draft, target))
  const words = wordsFor(draft, source, outcome)
  const feedback = words === null ? {} : { feedback: { from: id, by: id, text: words } }
  for (const target of words === null ? [] : back) keepLesson(draft, target, id, words!)
  reopen(draft, back, `'${id}' ended with outcome '${outcome}'`)
  emit(draft, { type: 'task.routed', task: id, outcome, to: to.map(target => target.definition.id), ...feedback })
  unblock(draft, to)
  markReady(draft, to)
}

/** What the task that decided says; a decision by an expression has the words of what it decides about. Null when it went on well. */
function wordsFor({ state }: DecisionDraft, source: TaskState, outcome: string): string | null {
  if (state.rules < LESSONS || WELL.has(outcome)) return null
  const { action, needs = [] } = source.definition
  if (outcome === 'rejected') return source.reason === '' ? null : source.reason
  if (source.result?.status !== 'succeeded') return null
  const about = action.type === 'decide' ? needs.toReversed().map(name => state.tasks.get(name)) : []
  return [source, ...about].map(task => wordsIn(task?.result ?? null)).find(words => words !== null) ?? null
}

/** These lead on, or to a remedy, which looks at the failure itself. */
const WELL: ReadonlySet<string> = new Set(['success', 'approved', 'alternate', 'repair'])

/** Notes what was said about the last attempt of a task, before its next visit is opened. */
function keepLesson(draft: DecisionDraft, { definition, visit, attempt }: TaskState, by: string, text: string): void {
  if (draft.state.rules < LESSONS) return
  emit(draft, { type: 'note.added', text, task: definition.id, kind: 'lesson', about: { visit, attempt }, by })
}

/** Opens the next visit of these tasks and all after them, except `stays` and tasks in progress or parked that are unsafe to repeat. */
export function reopen(
  draft: DecisionDraft,
  roots: readonly TaskState[],
  reason: string,
  feedback?: Feedback,
  stays: ReadonlySet<TaskName> = NONE,
): void {
  if (roots.length === 0) return
  const after = transitiveDependants(roots)
  const again = [
    ...roots,
    ...after.filter(
      task =>
        !isLetAlone(draft, task) &&
        !stays.has(task.definition.id) &&
        (wouldReopen(task) || task.status === 'running' || task.status === 'ready'),
    ),
  ]
  for (const task of again) {
    if (task.status !== 'running') continue
    emit(draft, {
      type: 'attempt.lost',
      task: task.definition.id,
      visit: task.visit,
      attempt: task.attempt,
      reason: `${OPENED_AGAIN}: ${reason}`,
      byUs: true,
      ...goneBackIn(task),
    })
  }
  const [first] = roots
  if (feedback !== undefined && first !== undefined) keepLesson(draft, first, feedback.by, feedback.text)
  const about = feedback === undefined || draft.state.rules < LESSONS ? feedback : { ...feedback, visit: first!.visit }
  emit(draft, {
    type: 'task.reopened',
    tasks: again.map(task => task.definition.id),
    reason,
    feedback: about,
  })
  unblock(draft, after)
  blockHeld(draft, again)
  markReady(draft, [...roots, ...after])
}

const NONE: ReadonlySet<TaskName> = new Set()

/** In progress or parked, and unsafe to repeat. */
export function isLetAlone({ state }: Pick<DecisionDraft, 'state'>, task: TaskState): boolean {
  const isOpen = task.status === 'running' || task.gate?.asks.type === 'unknown-outcome'
  return isOpen && !mayRunAgain(effectOf(state.definition, task.definition))
}

export const wouldReopen = (task: TaskState): boolean => ENDED.has(task.status) || task.status === 'waiting'
