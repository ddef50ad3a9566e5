// A plan since a given time, for people who do not watch it: what completed and failed, who decided what, what runs, what waits for whom,
// and what is next. Work that was rolled back since is omitted.

import type { EventOf, GateVerdict, PlanEntry } from '../event.ts'
import { failureOf } from '../events/event-table.ts'
import type { Hint } from '../hint.ts'
import type { Millis, PlanId, TaskName } from '../id.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import type { PlanStatus } from '../status.ts'
import { explain } from './board.ts'
import { type InboxItem, inboxOf } from './inbox.ts'
import { type Progress, planStatus, progress } from './summary.ts'

export interface Digest extends Readonly<Pick<PlanState, 'reason' | 'startedAt' | 'endedAt'>> {
  readonly plan: PlanId
  readonly name: string
  readonly title: string | null
  readonly status: PlanStatus
  readonly progress: Progress
  readonly entries: number
  readonly completed: readonly Ended[]
  readonly failed: readonly (Ended & { readonly message: string; readonly handled: boolean })[]
  readonly skipped: readonly (Ended & { readonly message: string })[]
  readonly setbacks: readonly { readonly task: TaskName; readonly times: number; readonly last: string }[]
  readonly decided: readonly {
    readonly task: TaskName
    readonly verdict: GateVerdict
    readonly by: string
    readonly at: Millis
    readonly rationale: string
  }[]
  readonly revised: readonly {
    readonly revision: number
    readonly by: string
    readonly at: Millis
    readonly rationale: string
  }[]
  readonly rolledBack: readonly { readonly at: Millis; readonly by: string; readonly how: 'finished' | 'stopped' }[]
  readonly escalated: readonly {
    readonly task: TaskName
    readonly why: EventOf<'task.escalated'>['why']
    readonly to: string | null
    readonly at: Millis
  }[]
  readonly answered: readonly { readonly id: string; readonly text: string; readonly by: string; readonly at: Millis }[]
  /** Notifications that could not be delivered. */
  readonly untold: readonly {
    readonly to: string
    readonly kind: string
    readonly failure: string
    readonly at: Millis
  }[]
  readonly running: readonly { readonly task: TaskName; readonly since: Millis | null; readonly by: string | null }[]
  readonly waiting: readonly InboxItem[]
  readonly blocked: readonly { readonly task: TaskName; readonly why: Hint }[]
  readonly next: readonly { readonly task: TaskName; readonly why: Hint }[]
}

export interface Ended {
  readonly task: TaskName
  readonly title: string | null
  readonly at: Millis
  readonly attempts: number
}

type Entry = Pick<PlanEntry, 'now' | 'actor' | 'events'>

const NEXT_MAX = 10

/** `entries` are those since then, in order; `state` is the current state. */
export function digest(state: PlanState, entries: readonly Entry[], since: Millis, now: Millis): Digest {
  const works = state.order.filter(({ definition }) => definition.action.type !== 'group')
  const ended = (status: TaskState['status']): readonly TaskState[] =>
    works.filter(task => task.status === status && task.endedAt !== null && task.endedAt >= since)
  const isOver = state.endedAt !== null
  return {
    plan: state.id,
    name: state.definition.name,
    title: state.definition.title ?? null,
    status: planStatus(state),
    reason: state.reason,
    progress: progress(state),
    entries: entries.length,
    startedAt: state.startedAt,
    endedAt: state.endedAt,
    completed: ended('completed').map(endOf),
    failed: ended('failed').map(task => ({ ...endOf(task), message: task.reason ?? '', handled: task.handled })),
    skipped: ended('skipped').map(task => ({ ...endOf(task), message: task.reason ?? '' })),
    ...happened(entries),
    running: works
      .filter(({ status }) => status === 'running')
      .map(({ definition, startedAt, claim }) => ({ task: definition.id, since: startedAt, by: claim?.by ?? null })),
    waiting: inboxOf(state),
    blocked: isOver
      ? []
      : works
          .filter(({ status }) => status === 'blocked')
          .map(task => ({ task: task.definition.id, why: explain(state, task, now) })),
    next: isOver ? [] : comesNext(state, works, now),
  }
}

function endOf({ definition, endedAt, attempt }: TaskState): Ended {
  return { task: definition.id, title: definition.title ?? null, at: endedAt ?? 0, attempts: attempt }
}

type Happened = Pick<Digest, 'setbacks' | 'decided' | 'revised' | 'rolledBack' | 'escalated' | 'answered' | 'untold'>

function happened(entries: readonly Entry[]): Happened {
  const setbacks = new Map<TaskName, { times: number; last: string }>()
  const decided: Digest['decided'][number][] = []
  const revised: Digest['revised'][number][] = []
  const rolledBack: Digest['rolledBack'][number][] = []
  const escalated: Digest['escalated'][number][] = []
  const asked = new Map<string, string>()
  const answered: Digest['answered'][number][] = []
  const untold: Digest['untold'][number][] = []
  for (const { now: at, actor: by, events } of entries) {
    for (const event of events) {
      if (event.type === 'attempt.failed' || (event.type === 'attempt.lost' && event.until === undefined)) {
        const known = setbacks.get(event.task) ?? { times: 0, last: '' }
        known.times++
        known.last = failureOf(event) ?? ''
        setbacks.set(event.task, known)
      } else if (event.type === 'gate.decided')
        decided.push({ task: event.task, verdict: event.verdict, by: event.by ?? by, at, rationale: event.rationale })
      else if (event.type === 'task.escalated')
        escalated.push({ task: event.task, why: event.why, to: event.to ?? null, at })
      else if (event.type === 'question.asked') asked.set(event.id, event.text)
      else if (event.type === 'question.answered' && Object.keys(event.answers).length > 0)
        answered.push({ id: event.id, text: asked.get(event.id) ?? '', by: event.by, at })
      else if (event.type === 'notice.sent' && event.failure !== undefined)
        untold.push({ to: event.to, kind: event.kind, failure: event.failure, at })
      else if (event.type === 'plan.revised')
        revised.push({ revision: event.revision, by, at, rationale: event.rationale })
      else if (event.type === 'rollback.finished' || event.type === 'rollback.stopped')
        rolledBack.push({ at, by, how: failureOf(event) === null ? 'finished' : 'stopped' })
    }
  }
  return {
    setbacks: Array.from(setbacks, ([task, known]) => ({ task, ...known })),
    decided,
    revised,
    rolledBack,
    escalated,
    answered,
    untold,
  }
}

/** Ready tasks first, then those with the fewest open needs. */
function comesNext(state: PlanState, works: readonly TaskState[], now: Millis): Digest['next'] {
  const ready = works.filter(({ status }) => status === 'ready')
  const pending = works
    .filter(task => task.status === 'pending' && !task.dormant)
    .sort((a, b) => a.unmet - b.unmet || a.ordinal - b.ordinal)
  return [...ready, ...pending]
    .slice(0, NEXT_MAX)
    .map(task => ({ task: task.definition.id, why: explain(state, task, now) }))
}
