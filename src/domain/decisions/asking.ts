// Questions in the middle of somebody's work, proposed revisions, and the definition of done judged in between.

import type { CommandOf } from '../command.ts'
import { fillIn } from '../form.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { PLAN_ENDED } from '../status.ts'
import { type Draft, emit } from './draft.ts'
import { illegal } from './lifecycle.ts'
import { revise } from './revise.ts'
import { unknownTask } from './unknown.ts'

const QUESTIONS_MAX = 100
const PROPOSALS_MAX = 20

export function ask(draft: Draft, command: CommandOf<'ask'>): Refusal | undefined {
  const { state } = draft
  if (PLAN_ENDED.has(state.status)) return illegal(state, 'ask', 'the plan has ended')
  if (command.task !== undefined && !state.tasks.has(command.task)) return unknownTask(draft, command.task)
  if (state.questions.some(({ id }) => id === command.id)) return undefined
  if (state.questions.length >= QUESTIONS_MAX)
    return refuse('limit', `${QUESTIONS_MAX} questions wait for an answer already`, 'answer some first')
  const { type: _, ...question } = command
  emit(draft, { type: 'question.asked', ...question })
  return undefined
}

export function answer(draft: Draft, command: CommandOf<'answer'>): Refusal | undefined {
  const question = draft.state.questions.find(({ id }) => id === command.id)
  if (question === undefined)
    return refuse('not-found', `no question '${command.id}' waits for an answer`, 'see `planfold inbox`')
  const filled = fillIn(question.form, command.answers)
  if (!filled.ok) return filled.refusal
  emit(draft, { type: 'question.answered', id: command.id, answers: filled.answers, by: command.by })
  return undefined
}

export function propose(draft: Draft, command: CommandOf<'propose'>): Refusal | undefined {
  const { state } = draft
  if (PLAN_ENDED.has(state.status) || state.compensating !== null)
    return illegal(state, 'propose', 'the plan has ended')
  if (command.base !== state.hash)
    return refuse('conflict', 'the plan was revised since this proposal was made', 'read it again, then propose')
  if (command.hash === state.hash) return refuse('invalid', 'the proposal changes nothing', 'change the document first')
  if (state.proposals.some(({ hash }) => hash === command.hash)) return undefined
  if (state.proposals.length >= PROPOSALS_MAX)
    return refuse('limit', `${PROPOSALS_MAX} proposals wait for a decision already`, 'decide about some first')
  const { type: _, ...proposal } = command
  emit(draft, { type: 'revision.proposed', ...proposal })
  return undefined
}

/** The agreement is to one hash, made for one definition; anything else was not agreed to. */
export function judge(draft: Draft, command: CommandOf<'judge'>): Refusal | undefined {
  const proposal = draft.state.proposals.find(({ id }) => id === command.id)
  if (proposal === undefined)
    return refuse('not-found', `no proposal '${command.id}' waits for a decision`, 'see `planfold inbox`')
  if (proposal.hash !== command.hash)
    return refuse('conflict', 'the proposal is not the one that was seen', 'look at it again, then decide')
  if (command.verdict === 'declined') {
    emit(draft, { type: 'revision.declined', id: command.id, by: command.by, rationale: command.rationale })
    return undefined
  }
  const { definition, hash, rationale, id } = proposal
  return revise(
    draft,
    { type: 'revise', definition, hash, rationale: `${rationale} (${command.rationale})` },
    { proposal: id },
  )
}

export function assess(draft: Draft, command: CommandOf<'assess'>): Refusal | undefined {
  emit(draft, { type: 'assessment.made', round: command.round, verdicts: command.verdicts })
  return undefined
}
