// The handoff at the end of a plan: what was done, how it was judged, and its artifacts.

import type { Event, EventOf, GateVerdict, NotePlace, PlanEntry, RecoveryChoice } from '../event.ts'
import { failureOf } from '../events/event-table.ts'
import type { Hint } from '../hint.ts'
import type { Millis, PlanId, Sha256, TaskName } from '../id.ts'
import { type JsonObject, pick } from '../json.ts'
import type { Criterion } from '../plan.ts'
import { CONFIDENTIAL, confidentialMask, isConfidential } from '../plan-rules/confidential.ts'
import type { FailureClass, Verdict } from '../result.ts'
import { evolve } from '../state/evolve.ts'
import { newState } from '../state/fold.ts'
import { countedVisits, type PlanState, type TaskState } from '../state/state.ts'
import { ENDED, type PlanStatus, type TaskStatus } from '../status.ts'
import { reasonNow } from './board.ts'
import { type Checkpoint, checkpointsOf } from './checkpoints.ts'
import { judgedVerdicts } from './contract.ts'
import { operationsOf } from './git-operations.ts'
import { type InboxItem, inboxOf } from './inbox.ts'
import { planStatus } from './summary.ts'

// The decisions in a handoff: questions and answers, recoveries, escalations, proposed revisions.

interface Judged {
  readonly questions: readonly {
    readonly id: string
    readonly at: Millis
    readonly by: string
    readonly task: TaskName | null
    readonly text: string
    readonly answer: { readonly by: string; readonly at: Millis; readonly answers: JsonObject } | null
  }[]
  readonly recoveries: readonly {
    readonly at: Millis
    readonly task: TaskName
    readonly choice: RecoveryChoice
    readonly reason: string
  }[]
  readonly escalations: readonly {
    readonly at: Millis
    readonly task: TaskName
    readonly why: EventOf<'task.escalated'>['why']
    readonly to: string | null
  }[]
  readonly proposals: readonly {
    readonly id: string
    readonly at: Millis
    readonly by: string
    readonly rationale: string
    /** Null while it is open; void: another revision came first. */
    readonly fate: {
      readonly by: string
      readonly how: 'accepted' | 'declined' | 'void'
      readonly rationale: string
    } | null
  }[]
  readonly aborted: string | null
}

// What a person or agent who takes over a plan must know, from its journal alone: requests, work, decisions, failures and reasons,
// durations, locations. The same journal yields the same bytes on any machine, at any time.

type StoredFacts = 'reason' | 'origin' | 'place' | 'version' | 'createdAt' | 'startedAt' | 'endedAt'

/** Made from the journal up to `version`, the number of its entries. */
export interface Handoff extends Judged, Readonly<Pick<PlanState, StoredFacts>> {
  readonly plan: PlanId
  readonly name: string
  readonly title: string | null
  readonly goal: string | null
  readonly status: PlanStatus
  /** The hash of the last entry. */
  readonly head: string
  readonly askedBy: string
  readonly lastAt: Millis
  readonly done: readonly Criterion[]
  readonly revisions: readonly {
    readonly revision: number
    readonly at: Millis
    readonly by: string
    readonly hash: Sha256
    readonly rationale: string | null
  }[]
  readonly tasks: readonly HandedTask[]
  readonly decisions: readonly {
    readonly version: number
    readonly at: Millis
    readonly by: string
    /** Null for a proposed revision. */
    readonly task: TaskName | null
    readonly proposal?: string
    readonly verdict: GateVerdict | 'accepted' | 'declined'
    readonly rationale: string
    /** The chosen option, the answer, or the task it was sent back to. */
    readonly said: string | null
  }[]
  readonly setbacks: readonly Setback[]
  readonly rollbacks: readonly {
    readonly version: number
    readonly at: Millis
    readonly by: string
    readonly kind: 'rollback' | 'undo' | 'adopt'
    readonly to: string
    readonly how: 'finished' | 'stopped' | 'under way'
    readonly paths: number
    readonly saved: Sha256 | null
    readonly message: string | null
  }[]
  readonly compensations: readonly {
    readonly at: Millis
    readonly task: TaskName
    readonly status: 'succeeded' | 'failed'
    readonly message: string | null
  }[]
  readonly notes: readonly {
    readonly at: Millis
    readonly by: string
    readonly task: TaskName | null
    readonly text: string
    readonly place?: NotePlace
    /** A lesson: the attempt that it is about. */
    readonly about?: { readonly visit: number; readonly attempt: number }
  }[]
  readonly checkpoints: readonly Checkpoint[]
  /** The number of automatic checkpoints, one after each task. */
  readonly automatic: number
  /** The final value of each ref that the plan changed; null: deleted again. */
  readonly refs: readonly { readonly ref: string; readonly commit: string | null }[]
  readonly waiting: readonly {
    readonly task: TaskName | null
    readonly asks: InboxItem['asks']['type']
    readonly since: Millis
  }[]
  readonly workMs: number
}

export interface HandedTask {
  readonly task: TaskName
  readonly title: string | null
  readonly status: TaskStatus
  readonly optional: boolean
  readonly handled: boolean
  readonly reason: string | null
  readonly visits: number
  readonly attempts: number
  readonly retries: number
  readonly workMs: number
  readonly outputs: readonly string[]
  readonly artifacts: readonly { readonly output: string; readonly sha256: string }[]
  readonly log: { readonly sha256: Sha256; readonly bytes: number } | null
  readonly changes: Sha256 | null
  readonly paths: number
  /** Tasks without a scope that ran in parallel: the changes cannot be attributed. */
  readonly beside?: readonly TaskName[]
  readonly verdicts: readonly Verdict[]
}

interface Setback {
  readonly at: Millis
  readonly task: TaskName
  readonly visit: number
  readonly attempt: number
  readonly class: FailureClass | 'lost'
  readonly message: string
  readonly hint: Hint | null
}

export function handoff(entries: readonly PlanEntry[]): Handoff {
  const state = newState()
  const story = newStory()
  for (const { version, now, actor, events } of entries) {
    for (const event of events) {
      evolve(state, event, now)
      if (event.type === 'task.skipped' && event.by !== undefined && isGate(state.tasks.get(event.task)))
        story.decisions.push({ version, at: now, by: event.by, ...passedOver(event) })
      addEvent(story, event, { version, at: now, by: actor })
    }
    state.version = version
  }
  const { tries, refs, unscoped: _, ...facts } = story
  const last = entries.at(-1)
  const checkpoints = checkpointsOf(entries)
  const { definition } = state
  return withoutConfidential(state, {
    plan: state.id,
    name: definition.name,
    title: definition.title ?? null,
    goal: state.goal ?? definition.goal ?? null,
    status: planStatus(state),
    ...pick(state, 'reason', 'origin', 'place', 'version'),
    head: last?.hash ?? '',
    askedBy: entries[0]?.actor ?? '',
    ...pick(state, 'createdAt', 'startedAt', 'endedAt'),
    lastAt: last?.now ?? state.createdAt,
    done: definition.done ?? [],
    tasks: state.order.map(task => taskFacts(task, tries.get(task.definition.id) ?? NONE)),
    ...facts,
    checkpoints: checkpoints.filter(({ why }) => why !== 'after'),
    automatic: checkpoints.filter(({ why }) => why === 'after').length,
    refs: Array.from(refs, ([ref, commit]) => ({ ref, commit })),
    waiting: inboxOf(state).map(({ task, asks, since }) => ({ task, asks: asks.type, since })),
    workMs: Array.from(tries.values()).reduce((sum, { workMs }) => sum + workMs, 0),
  })
}

/** Others read a handoff: of a confidential task it says that it failed, not how. */
function withoutConfidential(state: PlanState, facts: Handoff): Handoff {
  const kept = new Set<TaskName>()
  for (const { definition } of state.order) if (isConfidential(state.definition, definition)) kept.add(definition.id)
  if (kept.size === 0) return facts
  const left = facts.setbacks.flatMap(({ task, message }) => (kept.has(task) ? [message] : []))
  const known = confidentialMask(state)
  const mask = (text: string | null): string | null =>
    text === null ? null : left.reduce((masked, one) => masked.replaceAll(one, CONFIDENTIAL), known(text))
  const redacted = <T extends { readonly task: TaskName }>(list: readonly T[], change: (one: T) => Partial<T>): T[] =>
    list.map(one => (kept.has(one.task) ? { ...one, ...change(one) } : one))
  return {
    ...facts,
    reason: mask(facts.reason),
    aborted: mask(facts.aborted),
    tasks: redacted(facts.tasks, ({ reason, verdicts }) => ({
      reason: reason === null ? null : CONFIDENTIAL,
      verdicts: verdicts.map(({ evidence, ...one }) =>
        evidence === undefined ? one : { ...one, evidence: CONFIDENTIAL },
      ),
    })),
    setbacks: redacted(facts.setbacks, () => ({ message: CONFIDENTIAL, hint: null })),
    compensations: redacted(facts.compensations, ({ message }) => ({
      message: message === null ? null : CONFIDENTIAL,
    })),
    recoveries: redacted(facts.recoveries, () => ({ reason: CONFIDENTIAL })),
  }
}

interface Tries {
  attempts: number
  retries: number
  workMs: number
  /** Of the last attempt with output or changes, even if the task was reopened. */
  log: HandedTask['log']
  beside: readonly TaskName[]
}
const NONE: Tries = { attempts: 0, retries: 0, workMs: 0, log: null, beside: [] }
type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] }
type Story = Mutable<
  Judged & Pick<Handoff, 'revisions' | 'decisions' | 'setbacks' | 'rollbacks' | 'compensations' | 'notes'>
> & {
  readonly tries: Map<TaskName, Tries>
  readonly refs: Map<string, string | null>
  /** Running tasks around which all files are compared. */
  readonly unscoped: Set<TaskName>
}

const newStory = (): Story => ({
  revisions: [],
  decisions: [],
  setbacks: [],
  rollbacks: [],
  compensations: [],
  notes: [],
  questions: [],
  recoveries: [],
  escalations: [],
  proposals: [],
  aborted: null,
  tries: new Map(),
  refs: new Map(),
  unscoped: new Set(),
})

function addEvent(story: Story, event: Event, { version, at, by }: { version: number; at: Millis; by: string }): void {
  for (const operation of operationsOf(event)) if ('before' in operation) story.refs.set(operation.ref, operation.after)
  switch (event.type) {
    case 'plan.created':
      story.revisions.push({ revision: 1, at, by, hash: event.hash, rationale: null })
      return
    case 'plan.revised': {
      const { revision, hash, rationale, proposal } = event
      story.revisions.push({ revision, at, by, hash, rationale })
      if (proposal !== undefined) {
        const accepted = { version, at, by, task: null, proposal, verdict: 'accepted', rationale } as const
        story.decisions.push({ ...accepted, said: `revision ${revision}` })
        settleProposal(story, proposal, { by, how: 'accepted', rationale })
      }
      for (const { id } of story.proposals)
        settleProposal(story, id, { by, how: 'void', rationale: `revision ${revision} came first` })
      return
    }
    case 'plan.aborted':
      story.aborted = event.reason
      return
    case 'question.asked': {
      const { id, by, task = null, text } = event
      story.questions.push({ id, at, by, task, text, answer: null })
      return
    }
    case 'question.answered': {
      const { id, by, answers } = event
      story.questions = story.questions.map(one => (one.id === id ? { ...one, answer: { by, at, answers } } : one))
      return
    }
    case 'recovery.chosen':
      story.recoveries.push({ at, task: event.task, choice: event.choice, reason: event.reason })
      return
    case 'task.escalated':
      story.escalations.push({ at, task: event.task, why: event.why, to: event.to ?? null })
      return
    case 'revision.proposed':
      story.proposals.push({ id: event.id, at, by: event.by, rationale: event.rationale, fate: null })
      return
    case 'revision.declined': {
      const { id, by, rationale } = event
      const declined = { version, at, by, task: null, proposal: id, verdict: 'declined', rationale } as const
      story.decisions.push({ ...declined, said: null })
      settleProposal(story, id, { by, how: 'declined', rationale })
      return
    }
    case 'gate.decided':
      story.decisions.push({ version, at, by: event.by ?? by, ...saidIn(event) })
      return
    case 'attempt.started':
      if (event.begun === false) return
      triesOf(story, event.task).attempts++
      if (event.attempt > 1) triesOf(story, event.task).retries++
      if (event.before !== undefined) addParallel(story, event.task)
      return
    case 'attempt.succeeded':
    case 'attempt.failed':
    case 'attempt.lost': {
      const { task, visit, attempt } = event
      story.unscoped.delete(task)
      if ('result' in event) {
        const tries = triesOf(story, task)
        tries.workMs += event.result.durationMs ?? 0
        tries.log = event.result.log ?? tries.log
      }
      const message = failureOf(event)
      if (message === null) return
      const { class: kind, hint = null } = event.type === 'attempt.failed' ? event.result.failure : LOST
      story.setbacks.push({ at, task, visit, attempt, class: kind, message, hint })
      return
    }
    case 'compensation.finished':
      story.compensations.push({ at, task: event.task, status: event.result.status, message: failureOf(event) })
      return
    case 'rollback.started': {
      const to = event.adopts?.name ?? event.checkpoint ?? `entry ${event.to}`
      const begun = { kind: event.kind, to, how: 'under way', paths: 0, saved: null, message: null } as const
      story.rollbacks.push({ version, at, by, ...begun })
      return
    }
    case 'rollback.finished':
    case 'rollback.stopped': {
      const begun = story.rollbacks.pop()
      if (begun === undefined) return
      const message = failureOf(event)
      const how = message === null ? 'finished' : 'stopped'
      story.rollbacks.push({ ...begun, how, paths: event.paths, saved: event.saved ?? null, message })
      return
    }
    case 'note.added':
      story.notes.push({
        ...{ at, by: event.by ?? by, task: event.task ?? null, text: event.text, place: event.place },
        ...(event.about === undefined ? {} : { about: event.about }),
      })
      return
    default:
      return
  }
}

const LOST: { readonly class: 'lost'; readonly hint?: Hint } = { class: 'lost' }

/** The first fate of a proposal is final. */
function settleProposal(story: Story, id: string, fate: NonNullable<Judged['proposals'][number]['fate']>): void {
  story.proposals = story.proposals.map(one => (one.id === id && one.fate === null ? { ...one, fate } : one))
}

/** Skipping a gate is a decision. */
const isGate = (task: TaskState | undefined): boolean => task?.definition.action.type === 'gate'

const passedOver = ({ task, reason }: EventOf<'task.skipped'>) =>
  ({ task, verdict: 'skipped', rationale: reason, said: null }) as const

function saidIn({ task, verdict, rationale, option, answers, to }: EventOf<'gate.decided'>) {
  const choice = option ?? (answers === undefined ? (to ?? null) : JSON.stringify(answers))
  return { task, verdict, rationale, said: choice }
}

/** Each of the parallel tasks sees the writes of the other. */
function addParallel(story: Story, task: TaskName): void {
  const meet = (one: TaskName, other: TaskName): void => {
    const tries = triesOf(story, one)
    if (!tries.beside.includes(other)) tries.beside = [...tries.beside, other]
  }
  for (const other of story.unscoped) {
    meet(task, other)
    meet(other, task)
  }
  story.unscoped.add(task)
}

function triesOf({ tries }: Story, task: TaskName): Tries {
  const known = tries.get(task) ?? { ...NONE }
  tries.set(task, known)
  return known
}

function taskFacts(task: TaskState, { attempts, retries, workMs, log, beside }: Tries): HandedTask {
  const { definition, status, result, handled } = task
  const outputs = Object.entries(result?.outputs ?? {})
  return {
    task: definition.id,
    title: definition.title ?? null,
    status,
    optional: definition.optional ?? false,
    handled,
    reason: reasonNow(task) ?? (status === 'failed' && result?.status === 'failed' ? result.failure.message : null),
    visits: countedVisits(task),
    attempts,
    retries,
    workMs,
    outputs: outputs.map(([name]) => name),
    artifacts: outputs.flatMap(([output, value]) => {
      const sha256 = value !== null && typeof value === 'object' && 'artifact' in value ? value.artifact : null
      return typeof sha256 === 'string' ? [{ output, sha256 }] : []
    }),
    log: log ?? result?.log ?? null,
    changes: result?.wrote?.changes ?? null,
    paths: result?.wrote?.paths ?? 0,
    ...(beside.length === 0 ? {} : { beside }),
    verdicts: judgedVerdicts(task),
  }
}

/** Neither done nor deliberately given up. */
export const isLeftOpen = ({ status, handled, optional }: HandedTask): boolean =>
  !ENDED.has(status) || ((status === 'failed' || status === 'abandoned') && !handled && !optional)

// The paths of artifacts in a handoff folder: one file for each content, named after the first task and output that produced it. Names
// consist of safe characters, so that no output can choose its location.

export interface ArtifactFile {
  readonly sha256: Sha256
  readonly path: string
}

const NAME_MAX = 80

export function artifactFiles({ tasks }: Pick<Handoff, 'tasks'>): readonly ArtifactFile[] {
  const files = new Map<string, ArtifactFile>()
  for (const { task, artifacts } of tasks) {
    for (const { output, sha256 } of artifacts) {
      if (files.has(sha256) || !/^[0-9a-f]{64}$/.test(sha256)) continue
      const name = `${task}.${output}`
        .replace(/[^A-Za-z0-9._-]+/g, '-')
        .replace(/^\.+/, '')
        .slice(0, NAME_MAX)
      files.set(sha256, { sha256: sha256 as Sha256, path: `artifacts/${sha256.slice(0, 12)}-${name}` })
    }
  }
  return [...files.values()]
}
