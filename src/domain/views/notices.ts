// The notifications of a plan, from its journal: an item waits for a person, an escalation, a timeout, the end of the plan. Each is sent
// once; those about waiting items only while they wait, and those of one review together.

import type { Event, PlanEntry } from '../event.ts'
import { rowOf } from '../events/event-table.ts'
import { next, type Step, type Wording, wordHint } from '../hint.ts'
import type { Millis, TaskName } from '../id.ts'
import type { Json, JsonObject } from '../json.ts'
import type { NoticeKind } from '../plan.ts'
import { confidentialMask, maskJson } from '../plan-rules/confidential.ts'
import { escalationOf } from '../state/alarms.ts'
import type { PlanState } from '../state/state.ts'
import type { Digest } from './digest.ts'
import { askedSentence, type Say } from './gate-text.ts'
import { type InboxItem, inboxOf, peopleOf, reviewsOf } from './inbox.ts'

import { sentence } from './timeline.ts'

/** A due notification; `id` is that of the event: its entry and its place there. */
export interface Due {
  readonly id: string
  readonly kind: NoticeKind
  readonly at: Millis
  readonly event: Event
  readonly task?: TaskName
}

type Entry = Pick<PlanEntry, 'version' | 'now' | 'events'>

/** The notifications that an entry triggers. */
export function dueIn({ version, now, events }: Entry): readonly Due[] {
  return events.flatMap((event, place) => {
    const kind = rowOf(event).notice?.(event) ?? null
    if (kind === null) return []
    const due = { kind, at: now, event }
    // One event may ready many tasks, each with its own notification.
    if (event.type === 'task.readied')
      return event.tasks.map((task, at) => ({ ...due, id: `${version}.${place}.${at}`, task }))
    const task = 'task' in event ? event.task : undefined
    return [{ ...due, id: `${version}.${place}`, task }]
  })
}

export interface Notice {
  readonly kind: NoticeKind
  readonly ids: readonly { readonly id: string; readonly task?: TaskName }[]
  readonly says: JsonObject
}

export interface Sorted {
  readonly notices: readonly Notice[]
  /** Postponed, because their review window is open. */
  readonly held: readonly Due[]
  readonly until: Millis | null
}

/** Escapes foreign text, and words the steps. */
export interface Telling {
  readonly say: Say
  readonly word: Wording
}

/** More than this many are combined into one message. */
const APART_MAX = 10

/** What is due now; `resting`: nothing else runs, so no window stays open. Items that no longer wait are skipped. */
export function noticesFor(...asked: Parameters<typeof sortedNotices>): Sorted {
  const { notices, ...rest } = sortedNotices(...asked)
  const mask = confidentialMask(asked[0])
  return { ...rest, notices: notices.map(one => ({ ...one, says: maskJson(one.says, mask) })) }
}

function sortedNotices(
  state: PlanState,
  due: readonly Due[],
  now: Millis,
  { resting, ...telling }: Telling & { readonly resting: boolean },
): Sorted {
  const events = due.filter(({ kind }) => kind !== 'waiting').map(one => eventNotice(state, one, telling))
  const waiting = due.filter(({ kind }) => kind === 'waiting')
  if (waiting.length === 0) return { notices: events, held: [], until: null }
  const items = inboxOf(state)
  const found = new Map<InboxItem, Due>()
  for (const one of waiting) {
    const item = items.find(each => isOf(each, one))
    if (item !== undefined) found.set(item, one)
  }
  const stopped = waiting.filter(({ event }) => event.type === 'rollback.stopped' && state.status === 'paused')
  const held: Due[] = []
  const notices = [...events, ...stopped.map(one => eventNotice(state, one, telling))]
  let until: Millis | null = null
  const windows = state.definition.policy?.review === undefined ? [] : reviewsOf(state, now)
  for (const { items: members, closed, closesAt } of windows) {
    const keys = new Set(members.map(({ key }) => key))
    const ours = [...found].filter(([{ key }]) => keys.has(key))
    for (const [item] of ours) found.delete(item)
    if (ours.length === 0) continue
    if (closed || resting) notices.push(waitingNotice(state, ours, telling, 'review'))
    else {
      held.push(...ours.map(([, one]) => one))
      until = Math.min(until ?? Number.POSITIVE_INFINITY, closesAt ?? now)
    }
  }
  const rest = [...found]
  if (rest.length > APART_MAX) notices.push(waitingNotice(state, rest, telling, 'inbox'))
  else notices.push(...rest.map(one => waitingNotice(state, [one], telling, 'inbox')))
  return { notices, held, until }
}

/** Is this the wait that the event began? The task may wait again for something else. */
function isOf({ asks, task, since }: InboxItem, { event, at, task: about }: Due): boolean {
  switch (event.type) {
    case 'question.asked':
      return asks.type === 'agent-question' && asks.id === event.id
    case 'revision.proposed':
      return asks.type === 'proposal' && asks.id === event.id
    case 'task.readied':
      return asks.type === 'work' && task === about && since === at
    case 'gate.opened':
      return 'on' in asks && task === about && since === at
    default:
      return false
  }
}

function waitingNotice(
  state: PlanState,
  ours: readonly (readonly [InboxItem, Due])[],
  { say, word }: Telling,
  where: 'review' | 'inbox',
): Notice {
  const { name } = state.definition
  const ids = ours.map(([, { id, task }]) => ({ id, task }))
  const [first] = ours
  const since = Math.min(...ours.map(([item]) => item.since))
  if (ours.length === 1 && first !== undefined) {
    const [item] = first
    const recipient = item.called ?? item.role
    return {
      kind: 'waiting',
      ids,
      says: {
        ...head(state, 'waiting', since, say),
        task: item.task,
        text: askedSentence(item, say),
        asks: item.asks.type,
        title: item.title === null ? null : say(item.title),
        for: recipient === null ? (item.who === null ? null : say(item.who)) : say(recipient.name),
        people: recipient === null ? [] : recipient.people.map(say),
        answers: item.answers.map(({ step }) => say(word(step))),
      },
    }
  }
  const answers =
    where === 'review'
      ? [
          next('review', { plan: name }),
          next('review', { plan: name, verdict: 'approve', reason: 'why' }),
          next('review', { plan: name, verdict: 'reject', reason: 'why' }),
        ]
      : [next('inbox')]
  return {
    kind: 'waiting',
    ids,
    says: {
      ...head(state, 'waiting', since, say),
      task: null,
      tasks: ours.map(([item]) => item.task),
      text: `${ours.length} ${where === 'review' ? 'approvals wait in one review' : 'things wait for a person'}`,
      items: ours.map(([item]) => askedSentence(item, say)),
      answers: answers.map(word),
    },
  }
}

function eventNotice(state: PlanState, { id, kind, at, event, task }: Due, { say, word }: Telling): Notice {
  const { name } = state.definition
  const to = event.type === 'task.escalated' ? event.to : kind === 'expired' ? deciderOf(state, task) : undefined
  const recipient = to === undefined ? null : peopleOf(state, to)
  const open = task === undefined ? [] : (inboxOf(state).find(item => item.task === task)?.answers ?? [])
  const more: readonly Step[] =
    event.type === 'plan.finished'
      ? [next('handoff', { plan: name }), next('log', { plan: name })]
      : open.length > 0
        ? open.map(({ step }) => step)
        : [next('status', { plan: name })]
  return {
    kind,
    ids: [{ id, task }],
    says: {
      ...head(state, kind, at, say),
      task: task ?? null,
      text: say(sentence(event)),
      ...(recipient === null ? {} : { for: say(recipient.name), people: recipient.people.map(say) }),
      answers: more.map(step => say(word(step))),
    },
  }
}

function deciderOf(state: PlanState, name: TaskName | undefined): string | undefined {
  const task = name === undefined ? undefined : state.tasks.get(name)
  if (task === undefined) return undefined
  const { action, owner } = task.definition
  const role = action.type === 'gate' ? action.approvers?.role : undefined
  return escalationOf(state, task)?.to ?? role ?? owner ?? state.definition.owner
}

export function digestNotice(
  state: PlanState,
  id: string,
  since: Millis,
  summary: Digest,
  { say, word }: Telling,
): Notice {
  const { progress, completed, failed, waiting, blocked } = summary
  const names = (tasks: readonly { readonly task: TaskName }[]): Json => tasks.map(({ task }) => task)
  return {
    kind: 'digest',
    ids: [{ id }],
    says: {
      ...head(state, 'digest', since, say),
      task: null,
      text: `${summary.status}, ${progress.done} of ${progress.total} done; ${waiting.length} wait for a person, ${blocked.length} blocked`,
      completed: names(completed),
      failed: failed.map(({ task, message }) => `${task}: ${say(message)}`),
      waiting: waiting.map(item => askedSentence(item, say)),
      blocked: blocked.map(({ why }) => say(wordHint(why, word))),
      next: summary.next.map(({ why }) => say(wordHint(why, word))),
      answers: [next('digest', { plan: state.definition.name }), next('inbox')].map(word),
    },
  }
}

function head({ id, definition }: PlanState, kind: NoticeKind, since: Millis, say: Say): JsonObject {
  return {
    planfold: 1,
    kind,
    plan: id,
    name: definition.name,
    plan_title: definition.title === undefined ? null : say(definition.title),
    since,
  }
}
