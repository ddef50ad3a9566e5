// Questions during a task, and their answers.

import { answerBudget } from '../budget/budget-rules.ts'
import type { CommandOf } from '../command.ts'
import { advise, quoted } from '../hint.ts'
import { fillIn, formFault } from '../plan-rules/form.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { type DecisionDraft, emit, unknownTask } from '../rules/decision.ts'
import { illegal, resume } from '../rules/lifecycle.ts'
import { PLAN_ENDED } from '../status.ts'

const QUESTIONS_MAX = 100

export function ask(draft: DecisionDraft, command: CommandOf<'ask'>): Refusal | undefined {
  const { state } = draft
  if (PLAN_ENDED.has(state.status)) return illegal(state, 'ask', 'the plan has ended')
  if (command.task !== undefined && !state.tasks.has(command.task)) return unknownTask(draft, command.task)
  if (state.questions.some(({ id }) => id === command.id)) return undefined
  if (command.text.trim() === '') return refuse('invalid', 'the question is empty', 'write what you want to know')
  const fault = formFault(command.form)
  if (fault !== null) return refuse('invalid', fault, 'correct the form, then ask')
  if (state.questions.length >= QUESTIONS_MAX)
    return refuse('limit', `${QUESTIONS_MAX} questions wait for an answer already`, 'answer some first')
  const { type: _, ...question } = command
  emit(draft, { type: 'question.asked', ...question })
  return undefined
}

export function answer(draft: DecisionDraft, command: CommandOf<'answer'>): Refusal | undefined {
  const question = draft.state.questions.find(({ id }) => id === command.id)
  if (question === undefined)
    return refuse('not-found', `no question '${command.id}' waits for an answer`, advise`see ${quoted('inbox')}`)
  if (PLAN_ENDED.has(draft.state.status)) return illegal(draft.state, 'answer', 'the plan has ended')
  const filled = fillIn(question.form, command.answers)
  if (!filled.ok) return filled.refusal
  emit(draft, { type: 'question.answered', id: command.id, answers: filled.answers, by: command.by })
  if (question.budget !== undefined) answerBudget(draft, question, filled.answers.more === 'yes', command.by)
  // The plan was paused only for this question.
  if (question.sandbox === true && filled.answers.run === 'yes') return resume(draft, { type: 'resume' })
  return undefined
}
