// What happened, line by line: one event, one sentence. Used by `log`, by live views and by the audit trail.

import { amountsText, raisedText } from '../budget/budget-text.ts'
import type { Event, EventOf, JudgementEvent, NotePlace } from '../event.ts'
import { tasksOf } from '../event-kinds.ts'
import { next, type Step, type Wording } from '../hint.ts'
import type { Millis, TaskName } from '../id.ts'
import { decisionWords, type NetworkDecided } from '../network-decision.ts'
import { numberOf, reasonBesides } from '../phrases.ts'
import type { PolicyLayer } from '../policy/policy-layer.ts'
import { isPlainBlock } from '../recovery/choose-recovery.ts'
import { type LostOutput, resultNotes } from '../result.ts'
import { countedVisits } from '../state/state.ts'
import { allTasks } from '../state/task-index.ts'
import { spendOf, spendWords } from './pages/agent-lines.ts'
import { latestTicked, tickedIn } from './ticked-checks.ts'

// What was judged, one line each: the part of the timeline that tells of recovery, gates, questions and proposals.

function judgementLine(event: JudgementEvent): string {
  switch (event.type) {
    case 'recovery.chosen':
      return `${event.task}: ${event.reason}`
    case 'task.substituted':
      return `${event.task} completed: ${event.by} did its work`
    case 'plan.aborted':
      return `plan aborted: ${event.reason}`
    case 'breaker.opened':
      return `'${event.capability}' failed ${event.failures} times in a row: tasks that need it wait`
    case 'breaker.closed':
      return `'${event.capability}' works again`
    case 'task.escalated':
      return escalatedLine(event)
    case 'gate.voted':
      return `${event.task} approved by ${event.by}; more approvals are needed${because(event.rationale)}`
    case 'consent.voided':
      return `${event.task}: the approval is no longer valid: ${event.reason}`
    case 'question.asked':
      return `${event.by} asks: ${event.text}`
    case 'question.answered':
      if (event.by === 'planfold' && Object.keys(event.answers).length === 0)
        return `question ${event.id} was withdrawn: nobody needs to answer it any more`
      return `${event.by} answered question ${event.id}${Object.keys(event.answers).length === 0 ? '' : `: ${JSON.stringify(event.answers)}`}`
    case 'revision.proposed':
      return `${event.by} proposes a revision (${event.hash.slice(0, 12)})${because(event.rationale)}`
    case 'revision.declined':
      return `${event.by} declined the proposed revision ${event.id}${because(event.rationale)}`
    case 'assessment.made': {
      const unmet = event.verdicts.filter(({ holds }) => holds !== true).length
      return `round ${event.round}: ${unmet === 0 ? 'all final checks passed' : `${unmet} of ${numberOf(event.verdicts.length, 'final check')} did not pass`}`
    }
    case 'notice.sent':
      return event.failure === undefined
        ? `notified ${event.to}: ${event.kind}`
        : `could not notify ${event.to} (${event.kind}): ${event.failure}`
    default:
      return event satisfies never
  }
}

/** Where nobody is named, nobody is called because of a claim: the task can be claimed again. */
function escalatedLine({ task, why, to }: EventOf<'task.escalated'>): string {
  const isCalled = to !== undefined || why !== 'heartbeat'
  return `${task}: ${ESCALATED[why]}${isCalled ? '; escalated' : ''}${to === undefined ? '' : ` to ${to}`}`
}

/** Who decided what at a gate; what else was said with it. */
function decidedLine({ task, verdict, rationale, by, option, to }: EventOf<'gate.decided'>): string {
  const who = by === undefined ? '' : ` by ${by}`
  const why = because(rationale)
  switch (verdict) {
    case 'chosen':
      return by === undefined ? `${task}: ${option ?? ''} chosen${why}` : `${task}: ${by} chose ${option ?? ''}${why}`
    case 'pushed-back':
      return `${task}: changes requested${who}, back to ${to}${why}`
    case 'done':
      return `${task} confirmed as completed${who}${why}`
    case 'again':
      return `${task}: retry ordered${who}${why}`
    default:
      return `${task} ${verdict}${who}${why}`
  }
}

const because = (rationale: string): string => (rationale === '' ? '' : `: ${rationale}`)

const ESCALATED = {
  waiting: 'not answered yet',
  expired: 'not answered in time',
  deadline: 'its deadline has passed',
  timebox: 'its timebox is used up',
  heartbeat: 'claim expired (no heartbeat)',
} as const

export interface Moment {
  readonly at: Millis
  readonly version: number
  readonly actor: string
  readonly type: Event['type']
  readonly task: TaskName | null
  readonly text: string
}

export function timeline(
  entry: {
    readonly now: Millis
    readonly version: number
    readonly actor: string
    readonly events: readonly Event[]
  },
  words?: PlanWording,
): readonly Moment[] {
  return entry.events.map(event => ({
    at: entry.now,
    version: entry.version,
    actor: entry.actor,
    type: event.type,
    task: 'task' in event ? (event.task ?? null) : null,
    text: sentence(event, words),
  }))
}

/**
 * What is told of an entry as it happens. A gate that was decided in the same moment has asked nobody; a retry is told once; that a
 * task without `retry` is not retried goes without saying.
 */
export function visibleEvents(events: readonly Event[]): readonly Event[] {
  const isDecided = (task: TaskName, from: number): boolean =>
    events.slice(from).some(event => event.type === 'gate.decided' && event.task === task)
  const isChosen = (task: TaskName): boolean =>
    events.some(event => event.type === 'recovery.chosen' && event.task === task && event.choice === 'retry')
  const isToConfirm = (task: TaskName, from: number): boolean =>
    events
      .slice(from)
      .some(event => event.type === 'gate.opened' && event.task === task && event.asks.type === 'verdict') &&
    !isDecided(task, from)
  return events.filter((event, at) => {
    if (event.type === 'gate.opened') return !isDecided(event.task, at)
    if (event.type === 'retry.scheduled') return !isChosen(event.task)
    // Whose checks a person has to confirm is not completed yet.
    if (event.type === 'attempt.succeeded') return !isToConfirm(event.task, at)
    // Who adds to the budget answers the question about it as well.
    if (event.type === 'question.answered') return !events.slice(0, at).some(isRaise)
    return event.type !== 'recovery.chosen' || !isPlainBlock(event)
  })
}

const isRaise = ({ type }: Event): boolean => type === 'budget.raised'

/** How steps of this plan are said; without it, none is named. */
export interface PlanWording {
  readonly plan: string
  readonly word: Wording
}

export function sentence(event: Event, words?: PlanWording): string {
  switch (event.type) {
    case 'plan.created':
      return `plan ${event.definition.name} created with ${numberOf(allTasks(event.definition).length, 'task')}`
    case 'plan.revised':
      return `revision ${event.revision}: ${event.rationale}`
    case 'task.imported':
      return `imported: ${names(event.tasks.map(({ task, status }) => `${task} ${status}`))}`
    case 'plan.started':
      return `plan started${
        event.sandboxOff === true ? '; policy.sandbox is off: its commands run with your permissions' : ''
      }${underPolicy(event.policy)}`
    case 'plan.paused':
      return `plan paused${reasonUnless('paused', event.reason)}${event.cause === undefined ? '' : `. ${event.cause.hint} No task failed`}`
    case 'plan.resumed':
      return `plan resumed${underPolicy(event.policy, event.changed)}`
    case 'plan.cancelled':
      return `cancelling the plan${event.force ? ' without undo steps' : ''}${reasonUnless('cancelled', event.reason)}`
    case 'plan.finished':
      return `plan ${event.status}${reasonUnless(event.status, event.reason)}`
    case 'plan.reopened':
      return `plan reopened: ${event.reason}${underPolicy(event.policy, event.changed)}`
    case 'plan.archived':
      return 'plan archived'
    case 'task.readied':
      return `ready: ${names(event.tasks)}`
    case 'task.skipped':
      return `${event.task} skipped${event.by === undefined ? '' : ` by ${event.by}`}: ${event.reason}`
    case 'task.blocked':
      return `${names(event.tasks)} ${isOrAre(event.tasks)} blocked by ${event.by}`
    case 'task.unblocked':
      return `${names(event.tasks)} ${isOrAre(event.tasks)} no longer blocked`
    case 'task.abandoned':
      return `${event.task} cancelled: ${event.reason}`
    case 'task.failed':
      return `${event.task} failed: ${event.reason}`
    case 'task.reopened':
      return `${names(event.tasks)} will run again: ${event.reason}`
    case 'task.routed':
      if (event.to.includes(event.task)) return 'all other tasks have finished; running the final checks'
      return `${event.task} ${event.outcome} → ${names(event.to)}`
    case 'attempt.started':
      if (event.begun === false) return `${event.task} cannot start${again(event)}`
      return `${event.task} started${again(event)}${event.claim === undefined ? '' : `, claimed by ${event.claim.by}`}${unseen(event)}`
    case 'attempt.succeeded':
      return `${event.task} completed${seconds(event.result.durationMs)}${spentIn(event)}${strayed(event)}${besides(event)}${overwritten(event, words)}`
    case 'attempt.failed':
      return `${event.task} failed${again(event)}: ${event.result.failure.message}${spentIn(event)}${besides(event)}${overwritten(event, words)}`
    case 'attempt.lost':
      return `${event.task} interrupted${again(event)}: ${event.reason}`
    case 'network.decided':
      return networkLine(event)
    case 'budget.reserved':
      return `${event.task} reserved ${amountsText(event.amount)}`
    case 'budget.settled':
      return `${event.task} spent ${amountsText(event.amount)}`
    case 'budget.raised':
      return raisedText(event)
    case 'attempt.parked':
      return `${event.task}: outcome unknown, needs your decision: ${event.evidence.reason}`
    case 'outputs.checked':
      return event.lost.length === 0
        ? 'all declared outputs are unchanged again'
        : `changed or missing: ${names(event.lost.map(lostWords))}`
    case 'report.refused':
      return `report of ${event.task} not accepted, the claim stays: ${event.failure.message}`
    case 'retry.scheduled':
      return `${event.task} will be retried`
    case 'gate.opened':
      return event.asks.type === 'edits'
        ? `${event.task} needs your decision: ${names([...event.asks.paths])} edited outside the plan; the next attempt would revert it`
        : `${event.task} ${WAITS_FOR[event.asks.type]}`
    case 'gate.decided':
      return decidedLine(event)
    case 'criterion.judged':
      return `${event.task}: check ${event.holds ? 'passed' : 'failed'}: ${event.criterion}`
    case 'workspace.restored': {
      const files =
        event.files === undefined || event.files.length === 0 ? `files of ${event.task}` : names(event.files)
      const kept = (event.kept ?? []).length === 0 ? '' : `; edits kept: ${names(event.kept ?? [])}`
      if (event.files?.length === 0) return `before retrying ${event.task}${kept}`.replace('; ', ', ')
      return `${files} reverted to before ${event.task}; the previous version is backed up${words === undefined ? '' : `: ${words.word(restoring(event, words.plan))}`}${kept}`
    }
    case 'files.restored':
      return `${names(event.files)} restored by ${event.by}`
    case 'compensation.started':
      return `running the undo step of ${event.task}`
    case 'compensation.finished':
      return `undo step of ${event.task} ${event.result.status === 'failed' ? `failed: ${event.result.failure.message}` : 'completed'}`
    case 'compensation.retried':
      return `undo step of ${event.task} failed and will be retried: ${event.result.failure.message}`
    case 'plan.compensating':
      return `plan failing: ${event.reason}; running undo steps`
    case 'checkpoint.taken':
      return `checkpoint ${event.name}${event.standing.lacks === undefined ? '' : ` without files: ${event.standing.lacks}`}`
    case 'git.committed':
      return event.failure === undefined
        ? `${event.task} committed`
        : `${event.task} could not be committed: ${event.failure.message}`
    case 'place.made':
      return 'worktree created'
    case 'fork.adopted':
      return `adopted into ${event.name}; its folder was ${event.folder}${event.why === undefined ? '' : `: ${event.why}`}`
    case 'rollback.started':
      if (event.kind === 'adopt') return `adopting the work of ${event.adopts?.name ?? 'a fork'}`
      if (event.because === 'failure') return 'rolling back all files to before the first task, because the plan failed'
      if (event.kind === 'rollback' && event.tasks !== undefined) return `reverting what ${names(event.tasks)} wrote`
      if (event.kind === 'rollback' && event.paths !== undefined)
        return `reverting ${names(event.paths)} to ${event.checkpoint ?? `entry ${event.to}`}`
      if (event.undoes !== undefined) return `undoing the adoption of ${event.undoes}`
      return event.kind === 'undo'
        ? 'undoing the last rollback'
        : `rolling back to ${event.checkpoint ?? `entry ${event.to}`}`
    case 'rollback.finished':
      return [
        `${event.adopted === undefined ? 'rollback finished' : `adopted the work of ${event.adopted}`}: ${numberOf(event.paths, 'path')} changed`,
        ...leftWords(event.left ?? []),
        ...(event.kept ?? []).map(({ path, sha256 }) => `the edited version of ${path} is backed up as ${sha256}`),
      ].join('; ')
    case 'rollback.stopped':
      return `rollback stopped: ${event.failure.message}`
    case 'note.added':
      return event.place === undefined ? event.text : `${event.text} (${placeText(event.place)})`
    case 'task.added':
      return `added: ${names(tasksOf(event))}`
    case 'plan.annotated':
      return `plan annotated by ${event.by}: ${names(Object.keys(event.set))}`
    case 'task.annotated':
      return annotatedLine(event)
    case 'task.evaluated':
      return `${event.task} evaluated by ${event.by}${evaluated(event)}`
    default:
      return judgementLine(event)
  }
}

/** Which part a note is about. */
export const placeText = ({ field, line }: NotePlace): string =>
  [...(field === undefined ? [] : [`at ${field}`]), ...(line === undefined ? [] : [`line ${line}`])].join(', ')

/** Whose policy holds around the plan from now on, and where it has changed; nothing when that was not said. */
function underPolicy(layers: readonly PolicyLayer[] | undefined, changed: readonly string[] = []): string {
  if (layers === undefined) return ''
  const since = changed.length === 0 ? '' : `; the policy has changed in ${names(changed)}`
  if (layers.length === 0) return `${since}; under no policy but its own`
  return `${since}; under the policy of ${names([...new Set(layers.map(({ file, from }) => file ?? from))])}`
}

function networkLine({ task, decisions, more = 0 }: NetworkDecided): string {
  const told = decisions.slice(0, DECISIONS_SHOWN).map(decisionWords)
  const left = decisions.length - told.length + more
  return `${task} ${[...told, ...(left === 0 ? [] : [`and ${left} more`])].join('; ')}`
}

const DECISIONS_SHOWN = 5

/** Ticked criteria are annotations too, and are told by what they say. */
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

const LEFT_MAX = 5

function leftWords(left: NonNullable<EventOf<'rollback.finished'>['left']>): readonly string[] {
  const shown = left.slice(0, LEFT_MAX).map(({ path, reason }) => `${path} not changed: ${reason}`)
  return left.length > LEFT_MAX ? [...shown, `${left.length - LEFT_MAX} more not changed`] : shown
}

/** What it does not declare changed while it ran, as far as somebody looked. */
function strayed({ result }: EventOf<'attempt.succeeded'>): string {
  const stray = result.verdicts?.find(({ stage, holds }) => stage === 'effects' && holds === false)
  return stray?.evidence === undefined ? '' : `; outside its write scope ${stray.evidence}`
}

/** What appeared or changed beside its scope, nobody knows by whom, and what was not saved. */
function besides({ task, result }: EventOf<'attempt.succeeded' | 'attempt.failed'>): string {
  return resultNotes(task, result)
    .map(line => `; ${line}`)
    .join('')
}

/** What models used for it; nothing when none was asked. */
function spentIn({ result: { model } }: EventOf<'attempt.succeeded' | 'attempt.failed'>): string {
  return model === undefined ? '' : `; models: ${spendWords(spendOf(model))}`
}

/** It wrote over what somebody had changed since it was done before; nothing when it did not. */
function overwritten({ result }: EventOf<'attempt.succeeded' | 'attempt.failed'>, words?: PlanWording): string {
  const { paths: files = [], more = 0 } = result.wrote?.overwrote ?? {}
  if (files.length === 0) return ''
  const how = words === undefined ? '' : `: ${words.word(restoring({ files }, words.plan))}`
  return `; it overwrote edits of ${names(files)}${more === 0 ? '' : ` and ${more} more`}, which are backed up${how}`
}

/** Brings it back, one file or all of them. */
function restoring({ files = [] }: Pick<EventOf<'workspace.restored'>, 'files'>, plan: string): Step {
  return next('restore', files.length === 1 ? { plan, file: files[0]! } : { plan })
}

/** Something failed, was lost, or stands until somebody decides about it. */
export function isSetback(event: Event): boolean {
  switch (event.type) {
    case 'attempt.failed':
    case 'attempt.lost':
    case 'attempt.parked':
    case 'task.failed':
    case 'task.blocked':
    case 'compensation.retried':
    case 'plan.compensating':
    case 'rollback.stopped':
      return true
    case 'plan.finished':
      return event.status === 'failed'
    case 'compensation.finished':
      return event.result.status === 'failed'
    case 'criterion.judged':
      return !event.holds
    case 'git.committed':
      return event.failure !== undefined
    default:
      return false
  }
}

function evaluated({ passed, score }: EventOf<'task.evaluated'>): string {
  const said = [
    passed === undefined ? '' : passed ? 'passed' : 'not passed',
    score === undefined ? '' : `score ${score}`,
  ]
  const words = said.filter(Boolean).join(', ')
  return words === '' ? '' : `: ${words}`
}

/** Whatever it writes can then not be taken back by itself. */
const unseen = ({ unwatched }: { readonly unwatched?: string }): string =>
  unwatched === undefined ? '' : `; its files were not captured before: ${unwatched}`

function names(tasks: readonly string[]): string {
  return tasks.length <= 5 ? tasks.join(', ') : `${tasks.slice(0, 4).join(', ')} and ${tasks.length - 4} more`
}

const seconds = (ms: number | undefined): string => (ms === undefined ? '' : ` in ${(ms / 1000).toFixed(1)}s`)

function again(event: { readonly visit: number; readonly attempt: number; readonly goneBack?: number }): string {
  const runs = countedVisits({ visit: event.visit, goneBack: event.goneBack ?? 0 })
  if (runs > 1) return ` (run ${runs}, attempt ${event.attempt})`
  return event.attempt > 1 ? ` (attempt ${event.attempt})` : ''
}

/** A reason that only repeats the verb is left out. */
const reasonUnless = (verb: string, reason: string): string => because(reasonBesides(verb, reason))
const isOrAre = (tasks: readonly string[]): string => (tasks.length === 1 ? 'is' : 'are')

/** What a task waits for, in the words of every view. */
const WAITS_FOR: { readonly [asks in Exclude<EventOf<'gate.opened'>['asks']['type'], 'edits'>]: string } = {
  approval: 'waits for approval',
  consent: 'waits for approval',
  verdict: 'waits for a person to confirm its checks',
  decision: 'waits for a decision',
  question: 'waits for an answer',
  'unknown-outcome': 'needs your decision',
  recovery: 'failed and waits for a decision',
  replan: 'failed and waits for a changed plan',
}

const lostWords = ({ task, output, file, what }: LostOutput): string =>
  `output '${output}' of ${task} (${file} is ${what})`
