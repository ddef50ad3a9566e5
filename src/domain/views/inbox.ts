// What waits for a person in a plan: items with their possible answers, and approvals grouped into reviews.

import type { EventOf, GateAsks, Proposal, Question, Vote } from '../event.ts'
import type { CheckpointName, Millis, PlanId, Sha256, TaskName } from '../id.ts'
import { rewrittenTasks } from '../plan-rules/authors.ts'
import { membersOf } from '../policy/plan-roles.ts'
import { type Result, resultNotes, type Verdict } from '../result.ts'
import { type SemanticDiff, semanticDiff } from '../revisions/semantic-diff.ts'
import { escalationOf } from '../state/alarms.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { isClaimable } from '../state/task-index.ts'
import { PLAN_ENDED, type TaskStatus } from '../status.ts'
import {
  adoptionAnswers,
  formOf,
  gateAnswers,
  type InboxAnswer,
  proposalAnswers,
  questionAnswers,
  type RollbackBounds,
  rollbackAnswers,
  workAnswers,
} from './gate-answers.ts'
import { type Releases, releasesOf } from './gate-releases.ts'
import { spokenAsks } from './gate-text.ts'
import { commandLines } from './pages/foreign-text.ts'
import { tickedChecks } from './ticked-checks.ts'

// Everything in a plan that waits for a person: gates, verdicts, unknown outcomes, failures without recovery, questions and proposals of
// agents, assigned work, and stopped rollbacks. The key of an item identifies its question, so that an answer cannot reach another one:
// plan, task, visit, attempt, question, time, and the hash of what is shown.

export interface InboxItem {
  readonly key: string
  readonly plan: PlanId
  readonly name: string
  /** The version of the plan in which it waits. */
  readonly version: number
  readonly task: TaskName | null
  readonly title: string | null
  readonly since: Millis
  readonly who: string | null
  /** The role that decides, and its members; nobody when the plan does not say. */
  readonly role: { readonly name: string; readonly people: readonly string[] } | null
  readonly called: { readonly name: string; readonly people: readonly string[] } | null
  readonly expiresAt: Millis | null
  readonly votes: { readonly given: readonly Vote[]; readonly wanted: number } | null
  readonly shown: Sha256 | null
  /** For a gate: what an answer releases, and what keeps waiting; null for everything else. */
  readonly releases: Releases | null
  readonly checks: readonly Verdict[]
  readonly asks: InboxAsks
  readonly answers: readonly InboxAnswer[]
  readonly evidence: readonly Left[]
}

type InboxAsks =
  | (GateAsks & { /** The revision it was asked under. */ readonly on: Sha256 | null })
  | ({ readonly type: 'agent-question' } & Omit<Question, 'task'>)
  /** A proposed revision. `stale`: the plan was revised since. `runs`: the commands it contains. */
  | ({
      readonly type: 'proposal'
      readonly stale: boolean
      readonly changes: SemanticDiff
      readonly runs: readonly string[]
    } & Omit<Proposal, 'definition' | 'source' | 'task'>)
  | { readonly type: 'work'; readonly instruction: string | null; readonly outputs: readonly string[] }
  | {
      readonly type: 'rollback'
      readonly kind: 'rollback' | 'undo' | 'adopt'
      readonly to: number
      readonly checkpoint: CheckpointName | null
      /** The limits of the rollback, which a retry must keep. */
      readonly only: RollbackBounds
      readonly message: string
      readonly conflicts: readonly string[]
    }

export interface Left {
  readonly task: TaskName
  readonly status: TaskStatus
  readonly exit: number | null
  readonly log: Sha256 | null
  readonly changes: Sha256 | null
  readonly paths: number | null
  readonly outputs: readonly string[]
  readonly message: string | null
}

export function inboxOf(state: PlanState): readonly InboxItem[] {
  if (state.archived) return []
  return [...state.order.flatMap(task => itemOf(state, task) ?? []), ...askedOf(state)]
}

export function askedOf(state: PlanState): readonly InboxItem[] {
  if (state.archived || PLAN_ENDED.has(state.status)) return []
  const { name } = state.definition
  const questions = state.questions.map(({ since, task, ...question }) => ({
    ...unasked(state, since),
    key: `${state.id}/${OWN}question/${question.id}`,
    task: task ?? null,
    title: task === undefined ? null : (state.tasks.get(task)?.definition.title ?? null),
    asks: { type: 'agent-question' as const, ...question },
    answers: questionAnswers(name, question.id, question.form),
  }))
  const proposals = state.proposals.map(({ since, task, definition, source: _, ...proposal }) => ({
    ...unasked(state, since),
    key: `${state.id}/${OWN}proposal/${proposal.id}`,
    task: task ?? null,
    title: null,
    asks: {
      type: 'proposal' as const,
      ...proposal,
      stale: proposal.base !== state.hash,
      changes: semanticDiff(state.definition, definition),
      runs: commandLines(
        definition.tasks.filter(({ id }) => rewrittenTasks(state.definition, definition).includes(id)),
      ),
    },
    answers: proposalAnswers(name, proposal.id),
  }))
  return [...questions, ...proposals]
}

/** The id of a question or a proposal with an id of its own. */
export function ownIdOf(key: string): string | null {
  return OWN_ID.exec(key)?.[1] ?? null
}

/** Not valid in task names. */
const OWN = '~'
const OWN_ID = /\/~(?:question|proposal)\/(.+)$/

function unasked(state: PlanState, since: Millis): Omit<InboxItem, 'key' | 'task' | 'title' | 'asks' | 'answers'> {
  return {
    plan: state.id,
    name: state.definition.name,
    version: state.version,
    since,
    who: state.definition.owner ?? null,
    role: null,
    called: null,
    expiresAt: null,
    votes: null,
    shown: null,
    releases: null,
    checks: [],
    evidence: [],
  }
}

/** Null when it does not wait for a person. */
export function itemOf(state: PlanState, task: TaskState): InboxItem | null {
  const asks = asksOf(state, task)
  if (asks === null) return null
  const { definition, visit, attempt, gate } = task
  const { name } = state.definition
  const since = gate?.since ?? task.readiedAt ?? state.updatedAt
  const asked = { plan: name, task: definition.id }
  const answers =
    asks.type === 'work'
      ? workAnswers(asked)
      : gateAnswers(asks.type, { ...asked, mayGoBack: hasBefore(task), form: formOf(asks) })
  return {
    ...unasked(state, since),
    key: [state.id, definition.id, visit, attempt, asks.type, ...(gate === null ? [] : [since, gate.hash ?? ''])].join(
      '/',
    ),
    task: definition.id,
    title: definition.title ?? null,
    who: definition.assignee ?? definition.owner ?? state.definition.owner ?? null,
    ...(gate === null ? {} : gateFacts(state, task, gate)),
    asks,
    answers,
    evidence: evidenceOf(state, task),
  }
}

const hasBefore = ({ definition: { needs = [], on } }: TaskState): boolean =>
  needs.length > 0 || on?.rejected !== undefined

function gateFacts(
  state: PlanState,
  task: TaskState,
  { asks, votes = [], expiresAt, shown, evidence }: NonNullable<TaskState['gate']>,
): Pick<InboxItem, 'role' | 'called' | 'expiresAt' | 'votes' | 'shown' | 'releases' | 'checks'> {
  const approvers = 'approvers' in asks ? asks.approvers : undefined
  const wanted = approvers?.count ?? 1
  const to = task.escalated.length === 0 ? undefined : escalationOf(state, task)?.to
  const role = approvers?.role ?? ('to' in asks ? asks.to : undefined)
  return {
    role: role === undefined ? null : peopleOf(state, role),
    called: to === undefined ? null : peopleOf(state, to),
    expiresAt: expiresAt ?? null,
    votes: wanted === 1 ? null : { given: votes, wanted },
    shown: shown ?? null,
    releases: releasesOf(state, task),
    checks: evidence ?? tickedChecks(task, asks),
  }
}

/** The members of a role; a name that is no role stands for itself. */
export function peopleOf({ definition }: PlanState, name: string): NonNullable<InboxItem['role']> {
  return { name, people: membersOf(definition, name) ?? [] }
}

/** Is it theirs, by name or by role? An item without an assignee is everyone's. */
export function isFor({ who, role, called }: InboxItem, name: string): boolean {
  if (who === null && role === null && called === null) return true
  return who === name || [role, called].some(one => one !== null && (one.name === name || one.people.includes(name)))
}

function asksOf(
  state: PlanState,
  task: TaskState,
): Extract<InboxAsks, { readonly type: GateAsks['type'] | 'work' }> | null {
  if (task.gate !== null)
    return PLAN_ENDED.has(state.status) ? null : { ...spokenAsks(task.definition, task.gate.asks), on: task.gate.hash }
  const { assignee, instruction, outputs } = task.definition
  if (state.status !== 'active' || state.rollback !== null || assignee === undefined || !isClaimable(state, task))
    return null
  const reported = Object.entries(outputs ?? {}).flatMap(([name, { from }]) => (from === 'report' ? [name] : []))
  return { type: 'work', instruction: instruction ?? null, outputs: reported }
}

export interface StoppedRollback {
  readonly version: number
  readonly at: Millis
  readonly started: (Pick<EventOf<'rollback.started'>, 'kind' | 'to' | 'checkpoint' | 'adopts'> & RollbackBounds) | null
  readonly stopped: EventOf<'rollback.stopped'>
}

export function rollbackItem(state: PlanState, { version, at, started, stopped }: StoppedRollback): InboxItem {
  const { name } = state.definition
  const { kind = 'rollback', to = 0, checkpoint = null } = started ?? {}
  const only = boundsOf(started ?? {})
  return {
    ...unasked(state, at),
    key: `${state.id}/rollback/${version}`,
    task: null,
    title: null,
    asks: {
      type: 'rollback',
      kind,
      to,
      checkpoint,
      only,
      message: stopped.failure.message,
      conflicts: stopped.conflicts ?? [],
    },
    answers:
      started?.adopts === undefined
        ? rollbackAnswers(name, kind, to, only)
        : adoptionAnswers(name, started.adopts.name),
  }
}

function boundsOf({ paths, tasks, filesOnly, keepGit, includeUnclaimed }: RollbackBounds): RollbackBounds {
  return {
    paths,
    tasks,
    filesOnly,
    keepGit,
    ...(includeUnclaimed === true ? { includeUnclaimed } : {}),
  }
}

function evidenceOf(state: PlanState, task: TaskState): readonly Left[] {
  const needs = (task.definition.needs ?? []).flatMap(name => state.tasks.get(name) ?? [])
  return [...(task.result === null ? [] : [task]), ...needs].map(leftBy)
}

function leftBy({ definition, status, result }: TaskState): Left {
  return {
    task: definition.id,
    status,
    exit: result?.exit ?? null,
    log: result?.log?.sha256 ?? null,
    changes: result?.wrote?.changes ?? null,
    paths: result?.wrote?.paths ?? null,
    outputs: Object.keys(result?.outputs ?? {}),
    message: messageOf(definition.id, result),
  }
}

/** Why it failed, and unexpected changes beside its scope. */
function messageOf(task: TaskName, result: Result | null): string | null {
  const parts = [
    ...(result?.status === 'failed' ? [result.failure.message] : []),
    ...(result === null ? [] : resultNotes(task, result)),
  ]
  return parts.length === 0 ? null : parts.join('; ')
}

// Approvals that opened within one time window form a review, which is shown, decided and announced together. Without a window in the
// policy, all open approvals are one review.

export interface Review {
  readonly items: readonly InboxItem[]
  readonly since: Millis
  readonly closesAt: Millis | null
  readonly closed: boolean
}

export function reviewsOf(state: PlanState, now: Millis): readonly Review[] {
  const items = inboxOf(state)
    .filter(({ asks }) => asks.type === 'approval' || asks.type === 'consent')
    .sort((a, b) => a.since - b.since)
  const { windowMs = null, max = Number.POSITIVE_INFINITY } = state.definition.policy?.review ?? {}
  const reviews: { items: InboxItem[]; since: Millis }[] = []
  for (const item of items) {
    const last = reviews.at(-1)
    const joins =
      last !== undefined && (windowMs === null || (item.since < last.since + windowMs && last.items.length < max))
    if (joins) last.items.push(item)
    else reviews.push({ items: [item], since: item.since })
  }
  return reviews.map(review => {
    const closesAt = windowMs === null ? null : review.since + windowMs
    return { ...review, closesAt, closed: closesAt === null || closesAt <= now || review.items.length >= max }
  })
}
