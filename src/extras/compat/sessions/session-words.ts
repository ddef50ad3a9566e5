// How plans and tasks stand, in the words of seed 001, whose clients know sessions, plans and steps. Answers and live events say it
// with these, so that one never contradicts the other.

import type { TaskState } from '../../../domain/state/state.ts'
import type { PlanStatus, TaskStatus } from '../../../domain/status.ts'
import type { SessionWord, StepWord } from '../../../format/wire/answers/fields.ts'

const PLAN: { readonly [status in PlanStatus]: SessionWord } = {
  draft: 'pending',
  active: 'executing',
  blocked: 'executing',
  paused: 'paused',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
}
const STEP: { readonly [status in TaskStatus]: StepWord } = {
  pending: 'pending',
  ready: 'pending',
  blocked: 'pending',
  running: 'running',
  waiting: 'running',
  completed: 'completed',
  failed: 'failed',
  abandoned: 'failed',
  skipped: 'skipped',
  cancelled: 'cancelled',
}

export const planWord = (status: PlanStatus): SessionWord => PLAN[status]
export const stepWord = ({ status, retryAt }: Pick<TaskState, 'status' | 'retryAt'>): StepWord =>
  status === 'ready' && retryAt !== null ? 'retrying' : STEP[status]
