// Cards and summaries for the tests of views, with everything that does not matter filled in.

import type { TaskName } from '../../domain/id.ts'
import { TASK_STATUSES, type TaskStatus } from '../../domain/status.ts'
import type { Card } from '../../domain/views/board.ts'
import type { Progress, Summary } from '../../domain/views/summary.ts'

export function cardOf(name: string, status: TaskStatus, more: Partial<Card> = {}): Card {
  return {
    id: '01900000-0000-7000-8000-000000000001' as Card['id'],
    name: name as TaskName,
    title: null,
    kind: null,
    action: 'run',
    runs: null,
    author: 'person',
    effect: 'pure',
    status,
    optional: false,
    needs: [],
    visit: 1,
    visits: 1,
    attempt: 0,
    startedAt: null,
    endedAt: null,
    retryAt: null,
    addedAt: 0,
    sequence: 1,
    assignee: null,
    claimedBy: null,
    reason: null,
    hint: null,
    outputs: null,
    annotations: {},
    exit: null,
    ...more,
  }
}

export function progressOf(cards: readonly Card[]): Progress {
  const counts = Object.fromEntries(
    TASK_STATUSES.map(status => [status, cards.filter(card => card.status === status).length]),
  ) as Record<TaskStatus, number>
  const done = counts.completed + counts.skipped
  return {
    total: cards.length,
    done,
    ended: done,
    ratio: cards.length === 0 ? 0 : done / cards.length,
    successRate: null,
    counts,
  }
}

export function summaryOf(cards: readonly Card[], more: Partial<Summary> = {}): Summary {
  return {
    id: '01900000-0000-7000-8000-000000000000' as Summary['id'],
    name: 'demo',
    title: null,
    goal: null,
    goalId: null,
    session: null,
    agent: null,
    archived: false,
    updatedAt: 0,
    annotations: {},
    status: 'active',
    reason: null,
    revision: 1,
    version: 1,
    createdAt: 0,
    startedAt: 0,
    endedAt: null,
    progress: progressOf(cards),
    running: [],
    waiting: [],
    failed: [],
    origin: null,
    place: null,
    claimable: 0,
    ...more,
  }
}
