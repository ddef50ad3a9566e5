// Opens a gate with a prepared question: who is asked, or whether its checks decide it. The engine has evaluated checks and hashes before;
// they are not verified here.

import type { GateAsks, GateQuestion } from '../event.ts'
import type { Field, GateAction } from '../plan.ts'
import type { Verdict } from '../result.ts'
import { type DecisionDraft, emit } from '../rules/decision.ts'
import { afterFailure, afterSuccess, loopLimitReached } from '../rules/settle.ts'
import type { TaskState } from '../state/state.ts'
import { ENGINE } from './gate-timeouts.ts'

/** What the engine prepared for a gate, or for a task that needs an approval. */
export interface Asking {
  readonly question: GateQuestion
  /** Why an earlier approval is void. */
  readonly voids?: string
}

/** Opens a gate with its question; one that its checks decide is decided at once. */
export function openPrepared(draft: DecisionDraft, task: TaskState, { question, voids }: Asking): void {
  const { id, action } = task.definition
  if (voids !== undefined) emit(draft, { type: 'consent.voided', task: id, reason: voids })
  const expiresMs = action.type === 'gate' ? action.expiresMs : undefined
  emit(draft, {
    type: 'gate.opened',
    task: id,
    ...question,
    ...(expiresMs === undefined ? {} : { expiresAt: draft.now + expiresMs }),
  })
  if (action.type === 'gate') decideByChecks(draft, task, action, question.evidence ?? [])
}

/** For a question without a form. */
const ANSWER: readonly Field[] = [{ name: 'answer', type: 'text' }]

export function asksOf(action: GateAction): GateAsks {
  const { gate, show = [], approvers, options = [], question = '', form = ANSWER } = action
  const who = approvers === undefined ? {} : { approvers }
  const shown = show.length === 0 ? {} : { show }
  switch (gate) {
    case 'decision':
      return { type: 'decision', options, ...shown, ...who }
    case 'question':
      return { type: 'question', question, form, ...shown, ...who }
    case 'approval':
      return { type: 'approval', show, ...who }
    default:
      return { type: 'approval', show, gate, ...who }
  }
}

/** These are decided by their checks alone, unless a check is prose or a person may overrule it. */
const AUTOMATIC: ReadonlySet<GateAction['gate']> = new Set(['schema', 'invariant', 'tests', 'budget'])

function decideByChecks(draft: DecisionDraft, task: TaskState, action: GateAction, evidence: readonly Verdict[]): void {
  const unmet = evidence.filter(({ holds }) => holds === false)
  if (unmet.length > 0) {
    if (action.unmet !== 'ask') reject(draft, task, unmet.map(verdictText).join('; '))
    return
  }
  // Without checks, or with one that only a person can judge, a person is asked.
  const isClear = evidence.length > 0 && evidence.every(({ holds }) => holds === true)
  if (!AUTOMATIC.has(action.gate) || !isClear) return
  const over = loopLimitReached(draft, task)
  if (over === null) {
    decided(
      draft,
      task,
      'approved',
      evidence.length === 1 ? 'its check passed' : `its ${evidence.length} checks passed`,
    )
    afterSuccess(draft, task)
  } else reject(draft, task, `it leads back to '${over.target}', which has used all of its ${over.visits} runs`)
}

function reject(draft: DecisionDraft, task: TaskState, rationale: string): void {
  decided(draft, task, 'rejected', rationale)
  afterFailure(draft, task, ['rejected', 'failure'])
}

function decided(draft: DecisionDraft, task: TaskState, verdict: 'approved' | 'rejected', rationale: string): void {
  const { hash = null } = task.gate ?? {}
  const decided = { type: 'gate.decided', task: task.definition.id, verdict, rationale, by: ENGINE } as const
  emit(draft, { ...decided, ...(hash === null ? {} : { hash }) })
}

const verdictText = ({ criterion, evidence }: Verdict): string =>
  `check failed: ${criterion}${evidence === undefined ? '' : ` (${evidence})`}`
