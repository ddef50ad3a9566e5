// Every type of event, and what it is about.

import type { Event, EventType } from './event.ts'
import type { TaskName } from './id.ts'

/** What an event is about; the audit trail is sorted by it. */
export type EventKind =
  | 'revision'
  | 'decision'
  | 'plan'
  | 'task'
  | 'attempt'
  | 'files'
  | 'checkpoint'
  | 'rollback'
  | 'git'
  | 'compensation'
  | 'recovery'
  | 'network'
  | 'budget'
  | 'note'

/** Every event there is, and its kind. Null: bookkeeping that the audit trail leaves out. The compiler checks that none is missing. */
export const EVENT_KINDS: { readonly [T in EventType]: EventKind | null } = {
  'plan.created': 'revision',
  'plan.revised': 'revision',
  'plan.started': 'plan',
  'plan.paused': 'plan',
  'plan.resumed': 'plan',
  'plan.cancelled': 'plan',
  'plan.finished': 'plan',
  'plan.reopened': 'plan',
  'plan.archived': 'plan',
  'plan.compensating': 'compensation',
  'plan.aborted': 'plan',
  'plan.annotated': 'note',
  'task.imported': 'task',
  'task.added': 'revision',
  'task.annotated': 'note',
  'task.evaluated': 'decision',
  'task.readied': null,
  'task.skipped': 'task',
  'task.blocked': null,
  'task.unblocked': null,
  'task.abandoned': 'task',
  'task.failed': 'task',
  'task.reopened': 'task',
  'task.routed': 'task',
  'task.substituted': 'recovery',
  'task.escalated': 'recovery',
  'attempt.started': 'attempt',
  'attempt.succeeded': 'attempt',
  'attempt.failed': 'attempt',
  'attempt.lost': 'attempt',
  'attempt.parked': 'attempt',
  'report.refused': 'attempt',
  'retry.scheduled': 'attempt',
  'recovery.chosen': 'recovery',
  'breaker.opened': 'recovery',
  'breaker.closed': 'recovery',
  'gate.opened': 'decision',
  'gate.voted': 'decision',
  'gate.decided': 'decision',
  'consent.voided': 'decision',
  'question.asked': 'decision',
  'question.answered': 'decision',
  'revision.proposed': 'revision',
  'revision.declined': 'decision',
  'assessment.made': 'decision',
  'outputs.checked': 'files',
  'criterion.judged': 'decision',
  'workspace.restored': 'files',
  'files.restored': 'files',
  'compensation.started': 'compensation',
  'compensation.finished': 'compensation',
  'compensation.retried': 'compensation',
  'checkpoint.taken': 'checkpoint',
  'git.committed': 'git',
  'place.made': 'git',
  'fork.adopted': 'rollback',
  'rollback.started': 'rollback',
  'rollback.finished': 'rollback',
  'rollback.stopped': 'rollback',
  'network.decided': 'network',
  'budget.reserved': 'budget',
  'budget.settled': 'budget',
  'budget.raised': 'budget',
  'notice.sent': 'note',
  'note.added': 'note',
}

export const EVENT_TYPES = Object.keys(EVENT_KINDS) as readonly EventType[]

/** The tasks an event is about. */
export function tasksOf(event: Event): readonly TaskName[] {
  if (event.type === 'task.imported') return event.tasks.map(({ task }) => task)
  if (event.type === 'task.added') return event.tasks.map(({ id }) => id)
  if ('tasks' in event && event.tasks !== undefined) return event.tasks
  return 'task' in event && event.task !== undefined ? [event.task] : []
}
