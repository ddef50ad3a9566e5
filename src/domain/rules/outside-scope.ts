// Changes outside the write scope of a claimed task, found with its report. Nothing is reverted: the report is refused, the claim stays,
// and the paths must be explained first. The claimant reverts them or says that they are by others; meanwhile a person is asked whether
// they belong to the task.

import { advise, quoted } from '../hint.ts'
import { numberOf } from '../phrases.ts'
import type { Field } from '../plan.ts'
import type { Failure } from '../result.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { type DecisionDraft, emit } from './decision.ts'

const NAMED_MAX = 5

function named(paths: readonly string[]): string {
  const more = paths.length - NAMED_MAX
  return `${paths.slice(0, NAMED_MAX).join(', ')}${more > 0 ? ` and ${numberOf(more, 'other path')}` : ''}`
}

function outsideFailure({ definition: plan }: PlanState, task: TaskState, paths: readonly string[]): Failure {
  const { id, write = [] } = task.definition
  const scope = write.length === 0 ? 'it may write nothing' : `it may write ${named(write)}`
  return {
    class: 'policy',
    code: 'outside-scope',
    message: `changed outside its write scope since it was first claimed: ${named(paths)} (${scope})`,
    hint: advise`take back what you changed there and report again; leave what somebody else changed, and say so: ${quoted('not-mine', { plan: plan.name, task: id, paths: paths.slice(0, NAMED_MAX) })}; if the task needs the change, a person was asked to agree: report again after the answer`,
    retryable: true,
  }
}

/** Refuses the report. Asks a person, but only once about the same paths. */
export function refuseOutside(draft: DecisionDraft, task: TaskState, paths: readonly string[]): void {
  const { state } = draft
  const { id } = task.definition
  const failure = outsideFailure(state, task, paths)
  emit(draft, { type: 'report.refused', task: id, visit: task.visit, attempt: task.attempt, failure, verdicts: [] })
  const open = state.questions.find(({ outside, task: of }) => outside !== undefined && of === id)
  if (open?.outside?.paths.join('\0') === paths.join('\0')) return
  withdrawOutside(draft, [task])
  emit(draft, {
    type: 'question.asked',
    id: `outside-${state.id.slice(19, 23)}${state.id.slice(24, 28)}-${id}-${state.version}`,
    text: `'${id}' is reported as done, and files outside its write scope have changed since it was first claimed: ${named(paths)}. Do these changes belong to the task?`,
    form: FORM,
    task: id,
    by: 'planfold',
    outside: { paths },
  })
}

const FORM: readonly Field[] = [
  {
    name: 'whose',
    label:
      'other: somebody else made them, and they stay. task: they are part of its work, and a rollback reverts them',
    type: 'choice',
    choices: ['other', 'task'],
  },
]

/** The tasks have ended or were released, so the question is closed. */
export function withdrawOutside(draft: DecisionDraft, tasks: readonly TaskState[]): void {
  const names = new Set<string | undefined>(tasks.map(({ definition }) => definition.id))
  const asked = draft.state.questions.filter(({ outside, task }) => outside !== undefined && names.has(task))
  for (const { id } of asked) emit(draft, { type: 'question.answered', id, answers: {}, by: 'planfold' })
}
