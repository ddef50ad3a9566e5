// The PlanStore's words for statuses as they go over the wire: lower case, and fewer than ours. The canonical word always stands
// beside them in `state`, so that nothing is lost; a word nobody knows is refused, never taken for the nearest one.

import { z } from 'zod'
import { isTaskStatus, type PlanStatus, TASK_STATUSES, type TaskStatus } from '../../domain/status.ts'
import { measure } from '../plan/schema-values.ts'
import { type StatusRead, type StatusWords, statusWords } from '../text/status-words.ts'
import type { TaskWord } from './answers/fields.ts'

/** Read in upper or lower case; the first word of a status is the one that is printed. */
export const TASK_WORDS: StatusWords<TaskStatus> = statusWords({
  pending: 'pending',
  running: 'running',
  completed: 'completed',
  failed: 'failed',
  blocked: 'blocked',
  skipped: 'skipped',
  cancelled: 'cancelled',
  ready: 'pending',
  assigned: 'pending',
  executing: 'running',
})

export const PLAN_WORDS: StatusWords<PlanStatus> = statusWords({
  draft: 'draft',
  active: 'active',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  paused: 'paused',
  blocked: 'blocked',
  created: 'draft',
  validated: 'draft',
  approved: 'draft',
  pending: 'draft',
  planning: 'draft',
  executing: 'active',
  running: 'active',
})

/** What each of our own words is there. */
const TASK_WORD: { readonly [status in TaskStatus]: TaskWord } = {
  pending: 'pending',
  ready: 'pending',
  running: 'running',
  waiting: 'running',
  blocked: 'blocked',
  completed: 'completed',
  failed: 'failed',
  abandoned: 'failed',
  skipped: 'skipped',
  cancelled: 'cancelled',
}

export const taskWord = (status: TaskStatus): TaskWord => TASK_WORD[status]

/** Every status of ours that is called so there. */
const statesCalled = (word: string): readonly TaskStatus[] => TASK_STATUSES.filter(status => TASK_WORD[status] === word)

const read = <S extends string>(words: StatusWords<S>) =>
  z.string().transform(
    measure<string, S>(word => {
      const found: StatusRead<S> = words.read(word)
      return found.ok ? { ok: true, value: found.status } : found
    }),
  )

const ASKED = 'in the words of the PlanStore, upper or lower case'

/** What a plan is to become. */
export const planStatus = read(PLAN_WORDS).meta({
  description: `${PLAN_WORDS.words.slice(0, 7).join(', ')}; ${ASKED}.`,
})
/** What a task is to become. */
export const taskStatus = read(TASK_WORDS).meta({
  description: `${TASK_WORDS.words.slice(0, 7).join(', ')}; ${ASKED}.`,
})

/** Which tasks are asked for: those called so there, or by one of our own words that it does not have. */
export const taskStates = z
  .string()
  .transform(
    measure<string, readonly TaskStatus[]>(word => {
      if (isTaskStatus(word) && TASK_WORD[word] !== word) return { ok: true, value: [word] }
      const found = TASK_WORDS.read(word)
      return found.ok ? { ok: true, value: statesCalled(TASK_WORD[found.status]) } : found
    }),
  )
  .meta({ description: `${TASK_WORDS.words.slice(0, 7).join(', ')}, ready, waiting or abandoned.` })
