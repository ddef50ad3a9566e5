// What waits for a person in a plan: each item, the answers it takes, and approvals that are reviewed together.

import type { EventOf, GateAsks, GateVerdict, Proposal, Question, Vote } from '../event.ts'
import { advise, type Hint, next, type Step, type StepOf } from '../hint.ts'
import type { CheckpointName, Millis, PlanId, Sha256, TaskName } from '../id.ts'
import type { Verdict } from '../result.ts'
import { type SemanticDiff, semanticDiff } from '../revisions/semantic-diff.ts'
import { escalationOf } from '../state/alarms.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { isClaimable } from '../state/task-index.ts'
import { PLAN_ENDED, type TaskStatus } from '../status.ts'
import { type Releases, releasesOf } from './releases.ts'

// The answers to what waits for a person: each a word, what it means, and the step that says the same without an id.

interface Asked {
  readonly plan: string
  readonly task: TaskName
  /** There is something before it that could be done again. */
  readonly mayGoBack: boolean
}

function answersTo(type: InboxAsks['type'], { plan, task, mayGoBack }: Asked): readonly InboxAnswer[] {
  const of = { plan, task }
  const why = { ...of, reason: 'why' }
  const reject = (means: string): InboxAnswer => ({ answer: 'reject', means, step: next('reject', why) })
  switch (type) {
    case 'approval':
    case 'consent':
      return [
        { answer: 'approve', means: 'go on', step: next('approve', of) },
        reject('no'),
        ...(mayGoBack
          ? [
              {
                answer: 'push-back',
                means: 'do it again',
                step: next('push-back', { ...of, reason: 'what to change' }),
              },
            ]
          : []),
      ]
    case 'verdict':
      return [{ answer: 'approve', means: 'it holds', step: next('approve', of) }, reject('it does not hold')]
    case 'unknown-outcome':
      return [
        { answer: 'done', means: 'it happened', step: next('approve', of) },
        { answer: 'again', means: 'it did not: try again', step: next('retry', of) },
        reject('give up: it failed'),
      ]
    case 'work':
      return [
        { answer: 'claim', means: 'take it in hand', step: next('claim', of) },
        { answer: 'done', means: 'it is done', step: next('done', of) },
        { answer: 'fail', means: 'it cannot be done', step: next('fail', why) },
      ]
    case 'decision':
      return [
        { answer: 'choose', means: 'take one of the options', step: next('choose', { ...why, option: 'OPTION' }) },
        reject('none of them'),
      ]
    case 'edits':
      return [
        {
          answer: 'keep',
          means: 'the edits stay; the task works on with them',
          step: next('choose', { ...of, option: 'keep' }),
        },
        {
          answer: 'take',
          means: advise`set back to before the task; the edited versions are kept: ${next('restore')}`,
          step: next('choose', { ...of, option: 'take' }),
        },
        {
          answer: 'merge',
          means: 'keep the edits, take out what the task wrote, where both join cleanly',
          step: next('choose', { ...of, option: 'merge' }),
        },
        reject('give up: the task failed'),
      ]
    case 'question':
      return [
        { answer: 'answer', means: 'fill in the form', step: next('answer', { ...of, fields: ['NAME=VALUE'] }) },
        reject('there is no answer'),
      ]
    case 'recovery':
    case 'replan':
      return [
        { answer: 'again', means: 'try again', step: next('retry', of) },
        { answer: 'skip', means: 'go on without it', step: next('skip', why) },
        reject('give up: it failed'),
      ]
    case 'agent-question':
    case 'proposal':
    case 'rollback':
      return []
    default:
      return type satisfies never
  }
}

const questionAnswers = (plan: string, id: string): readonly InboxAnswer[] => [
  { answer: 'answer', means: 'fill in the form', step: next('answer', { plan, task: id, fields: ['NAME=VALUE'] }) },
]

const proposalAnswers = (plan: string, id: string): readonly InboxAnswer[] => [
  { answer: 'accept', means: 'it becomes the plan', step: next('accept', { plan, proposal: id, reason: 'why' }) },
  { answer: 'decline', means: 'the plan stays as it is', step: next('decline', { plan, proposal: id, reason: 'why' }) },
]

/** An adoption is ordered for the fork, not for this plan: here it can only be left. */
const adoptionAnswers = (plan: string, fork: string): readonly InboxAnswer[] => [
  {
    answer: 'leave',
    means: advise`leave it at that; ${next('adopt', { plan: fork })} tries again`,
    step: next('note', { plan, reason: 'why' }),
  },
]

function rollbackAnswers(
  plan: string,
  kind: 'rollback' | 'undo' | 'adopt',
  to: number,
  { paths = [], tasks = [], filesOnly, keepGit }: RollbackBounds,
): readonly InboxAnswer[] {
  const bounds = {
    plan,
    ...(paths.length === 0 ? {} : { paths }),
    ...(tasks.length === 0 ? {} : { tasks }),
    ...(filesOnly === true && paths.length === 0 ? { filesOnly } : {}),
    ...(keepGit === true ? { keepGit } : {}),
  }
  const step = (conflicts?: StepOf<'undo'>['conflicts']): Step => {
    const all = conflicts === undefined ? bounds : { ...bounds, conflicts }
    return kind === 'undo' ? next('undo', all) : next('rollback', { ...all, to })
  }
  return [
    { answer: 'again', means: 'try it once more', step: step() },
    { answer: 'mine', means: 'keep what stands where somebody worked since', step: step('mine') },
    {
      answer: 'theirs',
      means: "take the checkpoint's side; what stands there is stored",
      step: step('theirs'),
    },
    { answer: 'merge', means: 'join both where they join cleanly', step: step('merge') },
    { answer: 'leave', means: 'leave it at that', step: next('note', { plan, reason: 'why' }) },
  ]
}

/** What the words of a gate's answers decide. */
export const VERDICTS: { readonly [word: string]: GateVerdict } = {
  approve: 'approved',
  reject: 'rejected',
  'push-back': 'pushed-back',
  choose: 'chosen',
  answer: 'answered',
  done: 'done',
  again: 'again',
  skip: 'skipped',
  keep: 'chosen',
  take: 'chosen',
  merge: 'chosen',
}

// Everything in a plan that waits for a person: gates, verdicts, unknown outcomes, failures nobody can mend, questions and proposals
// of agents, work that has somebody's name on it, and a rollback that was stopped. Each names its question so that an answer cannot
// reach another one: a key made of plan, task, visit, attempt, what is asked, since when, and the hash of what is shown.

export interface InboxItem {
  readonly key: string
  readonly plan: PlanId
  readonly name: string
  /** How many entries the plan had when it was asked. */
  readonly version: number
  readonly task: TaskName | null
  readonly title: string | null
  readonly since: Millis
  /** Whose it is, as far as the plan says. */
  readonly who: string | null
  /** The role that decides, with the people who have it; nobody is named when the plan does not say. */
  readonly role: { readonly name: string; readonly people: readonly string[] } | null
  /** Nobody answered in time, and they were called. */
  readonly called: { readonly name: string; readonly people: readonly string[] } | null
  readonly expiresAt: Millis | null
  /** Who has approved, of how many that must. */
  readonly votes: { readonly given: readonly Vote[]; readonly wanted: number } | null
  /** The stored bytes of what is asked about. */
  readonly shown: Sha256 | null
  /** Of a gate: what an answer sets going, and what waits for others as well; null for everything else. */
  readonly releases: Releases | null
  /** What was judged before anybody was asked; nobody has judged what has no verdict. */
  readonly checks: readonly Verdict[]
  readonly asks: InboxAsks
  readonly answers: readonly InboxAnswer[]
  /** What the task itself and those right before it left. */
  readonly evidence: readonly Left[]
}

type InboxAsks =
  | (GateAsks & { /** The revision it was asked under. */ readonly on: Sha256 | null })
  /** Asked by an agent or a person in the middle of their work. */
  | ({ readonly type: 'agent-question' } & Omit<Question, 'task'>)
  /** A revision that takes effect only when somebody agrees. `stale`: the plan was revised since it was made. */
  | ({ readonly type: 'proposal'; readonly stale: boolean; readonly changes: SemanticDiff } & Omit<
      Proposal,
      'definition' | 'source' | 'task'
    >)
  | { readonly type: 'work'; readonly instruction: string | null; readonly outputs: readonly string[] }
  | {
      readonly type: 'rollback'
      readonly kind: 'rollback' | 'undo' | 'adopt'
      readonly to: number
      readonly checkpoint: CheckpointName | null
      /** What it was bound to: trying again must not do more. */
      readonly only: RollbackBounds
      readonly message: string
      readonly conflicts: readonly string[]
    }

type RollbackBounds = Pick<EventOf<'rollback.started'>, 'paths' | 'tasks' | 'filesOnly' | 'keepGit'>

/** A word that answers it, what that means, and the step that says the same without an id. */
interface InboxAnswer {
  readonly answer: string
  readonly means: Hint
  readonly step: Step
}

export interface Left {
  readonly task: TaskName
  readonly status: TaskStatus
  readonly exit: number | null
  /** What it printed, by hash. */
  readonly log: Sha256 | null
  /** The change set of what it wrote, and how many paths. */
  readonly changes: Sha256 | null
  readonly paths: number | null
  readonly outputs: readonly string[]
  readonly message: string | null
}

export function inboxOf(state: PlanState): readonly InboxItem[] {
  if (state.archived) return []
  return [...state.order.flatMap(task => itemOf(state, task) ?? []), ...askedOf(state)]
}

/** Questions and proposals: they belong to the plan, and perhaps to a task. */
export function askedOf(state: PlanState): readonly InboxItem[] {
  if (state.archived || PLAN_ENDED.has(state.status)) return []
  const { name } = state.definition
  const questions = state.questions.map(({ since, task, ...question }) => ({
    ...unasked(state, since),
    key: `${state.id}/${OWN}question/${question.id}`,
    task: task ?? null,
    title: task === undefined ? null : (state.tasks.get(task)?.definition.title ?? null),
    asks: { type: 'agent-question' as const, ...question },
    answers: questionAnswers(name, question.id),
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
    },
    answers: proposalAnswers(name, proposal.id),
  }))
  return [...questions, ...proposals]
}

/** What was asked under an id of its own is known by that, everywhere. */
export function ownIdOf(key: string): string | null {
  return OWN_ID.exec(key)?.[1] ?? null
}

/** No task is called so. */
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

/** What the task waits for a person with; null when it does not. */
export function itemOf(state: PlanState, task: TaskState): InboxItem | null {
  const asks = asksOf(state, task)
  if (asks === null) return null
  const { definition, visit, attempt, gate } = task
  const { name } = state.definition
  const since = gate?.since ?? task.readiedAt ?? state.updatedAt
  const answers = answersTo(asks.type, { plan: name, task: definition.id, mayGoBack: hasBefore(task) })
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
    checks: evidence ?? [],
  }
}

/** A role with whoever has it; a name that is no role stands for itself. */
export function peopleOf({ definition }: PlanState, name: string): NonNullable<InboxItem['role']> {
  const roles = definition.policy?.roles ?? {}
  return { name, people: Object.hasOwn(roles, name) ? roles[name]! : [] }
}

/** Is it theirs, by name or by role? What has nobody's name on it is everybody's. */
export function isFor({ who, role, called }: InboxItem, name: string): boolean {
  if (who === null && role === null && called === null) return true
  return who === name || [role, called].some(one => one !== null && (one.name === name || one.people.includes(name)))
}

function asksOf(state: PlanState, task: TaskState): InboxAsks | null {
  if (task.gate !== null) return PLAN_ENDED.has(state.status) ? null : { ...task.gate.asks, on: task.gate.hash }
  const { assignee, instruction, outputs } = task.definition
  if (state.status !== 'active' || state.rollback !== null || assignee === undefined || !isClaimable(state, task))
    return null
  const reported = Object.entries(outputs ?? {}).flatMap(([name, { from }]) => (from === 'report' ? [name] : []))
  return { type: 'work', instruction: instruction ?? null, outputs: reported }
}

export interface StoppedRollback {
  /** The entry in which it was stopped. */
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

function boundsOf({ paths, tasks, filesOnly, keepGit }: RollbackBounds): RollbackBounds {
  return {
    paths,
    tasks,
    filesOnly,
    keepGit,
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
    message: result?.status === 'failed' ? result.failure.message : null,
  }
}

// Approvals that opened within one window of time are one review: looked at together, decided together, told of once. Without a
// window in the policy, everything that asks for approval now is one review.

export interface Review {
  /** What asks for approval in it, oldest first. */
  readonly items: readonly InboxItem[]
  readonly since: Millis
  /** When its window closes, or has closed; null where the policy knows no window. */
  readonly closesAt: Millis | null
  /** Nothing joins it any more. */
  readonly closed: boolean
}

/** All reviews that wait, oldest first. */
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
