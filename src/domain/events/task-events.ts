// The state changes of tasks, without those of attempts.

import type { EventOf } from '../event.ts'
import { defined, type Json } from '../json.ts'
import { latestTicked, tickedIn } from '../views/ticked-checks.ts'
import { type RowsOf, tasksOf } from './event-row.ts'
import { isOrAre, names } from './event-words.ts'

export const TASK_EVENTS: RowsOf<'task'> = {
  'task.added': {
    kind: 'revision',
    sentence: event => `added: ${names(tasksOf(event))}`,
    facts: (event, { hashOf }) => ({ tasks: tasksOf(event), hash: hashOf(event.tasks as unknown as Json) }),
    rows: () => 'tasks',
  },
  'task.annotated': {
    kind: 'note',
    sentence: annotatedLine,
    facts: ({ by, set }, { hashOf }) => ({ by, keys: Object.keys(set), hash: hashOf(set) }),
  },
  'task.evaluated': {
    kind: 'decision',
    sentence: ({ task, by, passed, score }) => {
      const words = [
        passed === undefined ? '' : passed ? 'passed' : 'not passed',
        score === undefined ? '' : `score ${score}`,
      ].filter(Boolean)
      return `${task} evaluated by ${by}${words.length === 0 ? '' : `: ${words.join(', ')}`}`
    },
    facts: ({ id, by, visit, score, passed, data }, { hashOf }) =>
      defined({ id, by, visit, score, passed, data: data === undefined ? undefined : hashOf(data) }),
  },
  'task.imported': {
    kind: 'task',
    sentence: ({ tasks }) => `imported: ${names(tasks.map(({ task, status }) => `${task} ${status}`))}`,
    rows: () => 'tasks',
  },
  'task.readied': {
    kind: null,
    sentence: ({ tasks }) => `ready: ${names(tasks)}`,
    rows: () => 'tasks',
    // An assigned task now waits for its assignee; other ready tasks need no notification.
    notice: () => 'waiting',
  },
  'task.skipped': {
    kind: 'task',
    sentence: ({ task, by, reason }) => `${task} skipped${by === undefined ? '' : ` by ${by}`}: ${reason}`,
    rows: () => 'tasks',
  },
  'task.blocked': {
    kind: null,
    sentence: ({ tasks, by }) => `${names(tasks)} ${isOrAre(tasks)} blocked by ${by}`,
    setback: true,
    rows: () => 'tasks',
  },
  'task.unblocked': {
    kind: null,
    sentence: ({ tasks }) => `${names(tasks)} ${isOrAre(tasks)} no longer blocked`,
    rows: () => 'tasks',
  },
  'task.abandoned': {
    kind: 'task',
    sentence: ({ task, reason }) => `${task} cancelled: ${reason}`,
    failure: ({ reason }) => reason,
    rows: () => 'tasks',
  },
  'task.failed': {
    kind: 'task',
    sentence: ({ task, reason }) => `${task} failed: ${reason}`,
    failure: ({ reason }) => reason,
    setback: true,
    rows: () => 'tasks',
  },
  'task.reopened': {
    kind: 'task',
    sentence: ({ tasks, reason }) => `${names(tasks)} will run again: ${reason}`,
    audited: ({ tasks, reason }) => `${tasks.join(', ')} will run again: ${reason}`,
    rows: () => 'tasks',
  },
  'task.substituted': {
    kind: 'recovery',
    sentence: ({ task, by }) => `${task} completed: ${by} did its work`,
    rows: () => 'tasks',
  },
  'task.escalated': {
    kind: 'recovery',
    // Without a recipient nobody is called because of a lapsed claim: the task can be claimed again.
    sentence: ({ task, why, to }) =>
      `${task}: ${ESCALATED[why]}${to !== undefined || why !== 'heartbeat' ? '; escalated' : ''}${to === undefined ? '' : ` to ${to}`}`,
    shows: ['why', 'to'],
    notice: () => 'escalated',
  },
  'task.routed': {
    kind: 'task',
    sentence: ({ task, outcome, to }) =>
      to.includes(task)
        ? 'all other tasks have finished; running the final checks'
        : `${task} ${outcome} → ${names(to)}`,
  },
}

const ESCALATED = {
  waiting: 'not answered yet',
  expired: 'not answered in time',
  deadline: 'its deadline has passed',
  timebox: 'its timebox is used up',
  heartbeat: 'claim expired (no heartbeat)',
} as const

/** Confirmed criteria are annotations with a sentence of their own. */
function annotatedLine({ task, set, by }: EventOf<'task.annotated'>): string {
  const ticked = latestTicked(tickedIn({ annotations: set }))
  const others = Object.keys(set).filter(key => ticked.length === 0 || key !== 'ticked')
  return [
    ...(ticked.length === 0
      ? []
      : [`${task}: ${ticked.length === 1 ? 'criterion' : 'criteria'} ticked by ${by}: ${ticked.join('; ')}`]),
    ...(others.length === 0 && ticked.length > 0 ? [] : [`${task} annotated by ${by}: ${names(others)}`]),
  ].join('; ')
}
