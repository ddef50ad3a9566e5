// What happened, line by line: one event, one sentence. Used by `log`, by live views and by the audit trail.

import { type Event, type EventOf, type JudgementEvent, tasksOf } from '../event.ts'
import { next, type Step, type Wording } from '../hint.ts'
import type { Millis, TaskName } from '../id.ts'
import { numberOf } from '../phrases.ts'
import type { LostOutput } from '../result.ts'
import { countedVisits } from '../state/state.ts'
import { allTasks } from '../state/task-index.ts'

// What was judged, one line each: the part of the timeline that tells of recovery, gates, questions and proposals.

function judgementLine(event: JudgementEvent): string {
  switch (event.type) {
    case 'recovery.chosen': {
      const to = event.to === undefined || event.to.length === 0 ? '' : ` ${event.to.join(', ')}`
      return `${event.task}: ${event.choice}${to}: ${event.reason}`
    }
    case 'task.substituted':
      return `${event.task} is done: ${event.by} did its work`
    case 'plan.aborted':
      return `the plan is given up: ${event.reason}`
    case 'breaker.opened':
      return `nothing that needs '${event.capability}' begins for a while: ${event.failures} failures in a row`
    case 'breaker.closed':
      return `'${event.capability}' works again`
    case 'task.escalated':
      return `${event.task}: ${event.to ?? 'somebody'} is called (${ESCALATED[event.why]})`
    case 'gate.voted':
      return `${event.task} approved by ${event.by}, who is not the last that must${because(event.rationale)}`
    case 'consent.voided':
      return `${event.task}: what was approved does not hold any more: ${event.reason}`
    case 'question.asked':
      return `${event.by} asks: ${event.text}`
    case 'question.answered':
      return `${event.by} answers question ${event.id}${Object.keys(event.answers).length === 0 ? '' : `: ${JSON.stringify(event.answers)}`}`
    case 'revision.proposed':
      return `${event.by} proposes a revision (${event.hash.slice(0, 12)})${because(event.rationale)}`
    case 'revision.declined':
      return `${event.by} declines the proposed revision ${event.id}${because(event.rationale)}`
    case 'assessment.made': {
      const unmet = event.verdicts.filter(({ holds }) => holds !== true).length
      return `round ${event.round}: ${unmet === 0 ? 'all of the definition of done holds' : `${unmet} of ${numberOf(event.verdicts.length, 'criterion', 'criteria')} ${unmet === 1 ? 'does' : 'do'} not hold`}`
    }
    case 'notice.sent':
      return event.failure === undefined
        ? `${event.to} was told: ${event.kind}`
        : `${event.to} could not be told (${event.kind}): ${event.failure}`
    default:
      return event satisfies never
  }
}

/** Who decided what at a gate; what else was said with it. */
function decidedLine({ task, verdict, rationale, by, option, to }: EventOf<'gate.decided'>): string {
  const what =
    verdict === 'chosen' ? `chosen: ${option ?? ''}` : verdict === 'pushed-back' ? `sent back to ${to}` : verdict
  const who = by === undefined ? '' : ` by ${by}`
  return `${task} ${what}${who}${because(rationale)}`
}

const because = (rationale: string): string => (rationale === '' ? '' : `: ${rationale}`)

const ESCALATED = {
  waiting: 'nobody has answered',
  expired: 'the time to answer is over',
  deadline: 'its deadline has passed',
  timebox: 'its time is used up',
  heartbeat: 'whoever had it fell silent',
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

/** What is told of an entry as it happens: a gate that was decided in the same moment has asked nobody. */
export function visibleEvents(events: readonly Event[]): readonly Event[] {
  const isDecided = (task: TaskName, from: number): boolean =>
    events.slice(from).some(event => event.type === 'gate.decided' && event.task === task)
  return events.filter((event, at) => event.type !== 'gate.opened' || !isDecided(event.task, at))
}

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
      return `brought along: ${names(event.tasks.map(({ task, status }) => `${task} ${status}`))}`
    case 'plan.started':
      return 'plan started'
    case 'plan.paused':
      return `plan paused: ${event.reason}${event.cause === undefined ? '' : `. ${event.cause.hint} No task failed by it`}`
    case 'plan.resumed':
      return 'plan resumed'
    case 'plan.cancelled':
      return `plan cancelled${event.force ? ' by force' : ''}: ${event.reason}`
    case 'plan.finished':
      return `plan ${event.status}: ${event.reason}`
    case 'plan.reopened':
      return `plan reopened: ${event.reason}`
    case 'plan.archived':
      return 'plan archived'
    case 'task.readied':
      return `ready: ${names(event.tasks)}`
    case 'task.skipped':
      return `${event.task} skipped${event.by === undefined ? '' : ` by ${event.by}`}: ${event.reason}`
    case 'task.blocked':
      return `blocked by ${event.by}: ${names(event.tasks)}`
    case 'task.unblocked':
      return `no longer blocked: ${names(event.tasks)}`
    case 'task.abandoned':
      return `${event.task} abandoned: ${event.reason}`
    case 'task.failed':
      return `${event.task} failed: ${event.reason}`
    case 'task.reopened':
      return `next visit of ${names(event.tasks)}: ${event.reason}`
    case 'task.routed':
      if (event.to.includes(event.task)) return 'everything else has ended; judging the definition of done'
      return `${event.task} ${event.outcome} → ${names(event.to)}`
    case 'attempt.started':
      return `${event.task} started${again(event)}${event.claim === undefined ? '' : `, claimed by ${event.claim.by}`}${unseen(event)}`
    case 'attempt.succeeded':
      return `${event.task} succeeded${seconds(event.result.durationMs)}${strayed(event)}${overwritten(event, words)}`
    case 'attempt.failed':
      return `${event.task} failed${again(event)}: ${event.result.failure.message}${overwritten(event, words)}`
    case 'attempt.lost':
      return `${event.task} interrupted${again(event)}: ${event.reason}`
    case 'attempt.parked':
      return `${event.task} parked, needs a decision: ${event.evidence.reason}`
    case 'outputs.checked':
      return event.lost.length === 0
        ? 'all declared outputs are as they were left again'
        : `not as it was left: ${names(event.lost.map(lostWords))}`
    case 'report.refused':
      return `the report of ${event.task} is refused, and its claim stays: ${event.failure.message}`
    case 'retry.scheduled':
      return `${event.task} will be tried again`
    case 'gate.opened':
      return event.asks.type === 'edits'
        ? `${event.task} waits: somebody has edited ${names([...event.asks.paths])}, which its next attempt would set back`
        : `${event.task} asks for a decision`
    case 'gate.decided':
      return decidedLine(event)
    case 'criterion.judged':
      return `${event.task}: ${event.criterion} ${event.holds ? 'holds' : 'does not hold'}`
    case 'workspace.restored': {
      const files =
        event.files === undefined || event.files.length === 0 ? `files of ${event.task}` : names(event.files)
      const kept = (event.kept ?? []).length === 0 ? '' : `; kept as edited: ${names(event.kept ?? [])}`
      if (event.files?.length === 0) return `before ${event.task} is tried again${kept}`.replace('; ', ', ')
      return `${files} set back to before ${event.task}; what stood there is kept${words === undefined ? '' : `: ${words.word(restoring(event, words.plan))}`}${kept}`
    }
    case 'files.restored':
      return `${names(event.files)} restored by ${event.by}`
    case 'compensation.started':
      return `compensating ${event.task}`
    case 'compensation.finished':
      return `compensation of ${event.task} ${event.result.status}`
    case 'compensation.retried':
      return `compensation of ${event.task} failed and is tried again: ${event.result.failure.message}`
    case 'plan.compensating':
      return `the plan fails: ${event.reason}; what declared how is undone`
    case 'checkpoint.taken':
      return `checkpoint ${event.name}${event.standing.lacks === undefined ? '' : ` without files: ${event.standing.lacks}`}`
    case 'git.committed':
      return event.failure === undefined
        ? `${event.task} committed`
        : `${event.task} could not be committed: ${event.failure.message}`
    case 'place.made':
      return 'a worktree was made for it'
    case 'fork.adopted':
      return `adopted into ${event.name}; its folder was ${event.folder}${event.why === undefined ? '' : `: ${event.why}`}`
    case 'rollback.started':
      if (event.kind === 'adopt') return `adopting the work of ${event.adopts?.name ?? 'a fork'}`
      if (event.because === 'failure') return 'rolling back all files to before the first task, because the plan failed'
      if (event.kind === 'rollback' && event.tasks !== undefined) return `taking back what ${names(event.tasks)} wrote`
      if (event.kind === 'rollback' && event.paths !== undefined)
        return `setting ${names(event.paths)} back to ${event.checkpoint ?? `entry ${event.to}`}`
      if (event.undoes !== undefined) return `undoing the adoption of ${event.undoes}`
      return event.kind === 'undo'
        ? 'undoing the last rollback'
        : `rolling back to ${event.checkpoint ?? `entry ${event.to}`}`
    case 'rollback.finished':
      return [
        `${event.adopted === undefined ? 'rolled back' : `adopted the work of ${event.adopted}`}, ${numberOf(event.paths, 'path')} changed`,
        ...(event.left ?? []).map(({ path, reason }) => `${path} was left: ${reason}`),
        ...(event.kept ?? []).map(({ path, sha256 }) => `${path}, as somebody had it, is kept as ${sha256}`),
      ].join('; ')
    case 'rollback.stopped':
      return `the rollback was stopped: ${event.failure.message}`
    case 'note.added':
      return event.text
    case 'task.added':
      return `added: ${names(tasksOf(event))}`
    case 'plan.annotated':
      return `plan annotated by ${event.by}: ${names(Object.keys(event.set))}`
    case 'task.annotated':
      return `${event.task} annotated by ${event.by}: ${names(Object.keys(event.set))}`
    case 'task.evaluated':
      return `${event.task} evaluated by ${event.by}${evaluated(event)}`
    default:
      return judgementLine(event)
  }
}

/** It changed what it does not declare, as far as somebody looked. */
function strayed({ result }: EventOf<'attempt.succeeded'>): string {
  const stray = result.verdicts?.find(({ stage, holds }) => stage === 'effects' && holds === false)
  return stray?.evidence === undefined ? '' : `; outside its write scope it ${stray.evidence}`
}

/** It wrote over what somebody had changed since it was done before; nothing when it did not. */
function overwritten({ result }: EventOf<'attempt.succeeded' | 'attempt.failed'>, words?: PlanWording): string {
  const { paths: files = [], more = 0 } = result.wrote?.overwrote ?? {}
  if (files.length === 0) return ''
  const how = words === undefined ? '' : `: ${words.word(restoring({ files }, words.plan))}`
  return `; it wrote over edits of ${names(files)}${more === 0 ? '' : ` and ${more} more`}, and they are kept${how}`
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
  unwatched === undefined ? '' : `; nobody looked at the files before it: ${unwatched}`

function names(tasks: readonly string[]): string {
  return tasks.length <= 5 ? tasks.join(', ') : `${tasks.slice(0, 4).join(', ')} and ${tasks.length - 4} more`
}

const seconds = (ms: number | undefined): string => (ms === undefined ? '' : ` in ${(ms / 1000).toFixed(1)} s`)

function again(event: { readonly visit: number; readonly attempt: number; readonly goneBack?: number }): string {
  const visits = countedVisits({ visit: event.visit, goneBack: event.goneBack ?? 0 })
  const parts = [event.attempt > 1 ? `attempt ${event.attempt}` : '', visits > 1 ? `visit ${visits}` : ''].filter(
    Boolean,
  )
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

const lostWords = ({ task, output, file, what }: LostOutput): string =>
  `output '${output}' of ${task} (${file} is ${what})`
