// PlanStore statuses on the wire: lower case, and fewer than ours. Our own status is always beside them in `state`, so nothing is
// lost. Unknown words are refused.

import { z } from 'zod'
import { isTaskStatus, type PlanStatus, TASK_STATUSES, type TaskStatus } from '../../domain/status.ts'
import { measure } from '../plan/schema-values.ts'
import { type StatusRead, type StatusWords, statusWords } from '../text/status-words.ts'
import type { TaskWord } from './answers/fields.ts'

/** Read case-insensitively; the first word of each status is the printed one. */
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

/** All of our statuses with this PlanStore word. */
const statesCalled = (word: string): readonly TaskStatus[] => TASK_STATUSES.filter(status => TASK_WORD[status] === word)

const read = <S extends string>(words: StatusWords<S>) =>
  z.string().transform(
    measure<string, S>(word => {
      const found: StatusRead<S> = words.read(word)
      return found.ok ? { ok: true, value: found.status } : found
    }),
  )

const ASKED = 'in the words of the PlanStore, upper or lower case'

export const planStatus = read(PLAN_WORDS).describe(`${PLAN_WORDS.words.slice(0, 7).join(', ')}; ${ASKED}.`)
export const taskStatus = read(TASK_WORDS).describe(`${TASK_WORDS.words.slice(0, 7).join(', ')}; ${ASKED}.`)

/** A status filter: PlanStore words, and those of ours that it lacks. */
export const taskStates = z
  .string()
  .transform(
    measure<string, readonly TaskStatus[]>(word => {
      if (isTaskStatus(word) && TASK_WORD[word] !== word) return { ok: true, value: [word] }
      const found = TASK_WORDS.read(word)
      return found.ok ? { ok: true, value: statesCalled(TASK_WORD[found.status]) } : found
    }),
  )
  .describe(`${TASK_WORDS.words.slice(0, 7).join(', ')}, ready, waiting or abandoned.`)
