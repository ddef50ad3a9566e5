// The trail of a plan for whoever must answer for it: what was asked, decided, run, written and taken back, line by line, each with
// the entry it stands in and that entry's hash. Bookkeeping (who became ready, who is blocked) is left to the log.

import type { Command } from '../command.ts'
import type { Event, EventOf } from '../event.ts'
import { EVENT_KINDS, type EventKind, tasksOf } from '../event-kinds.ts'
import type { Millis, Sha256, TaskName } from '../id.ts'
import { defined, type Json, type JsonObject } from '../json.ts'
import type { Action, CompensatingTask, PlanDefinition, TaskDefinition } from '../plan.ts'
import type { GitOperation } from '../plan-rules/git-operation.ts'
import type { Result, Wrote } from '../result.ts'
import { allTasks } from '../state/task-index.ts'
import { operationsOf } from './git-operations.ts'
import { sentence } from './timeline.ts'

// What an event says that can be held against something else: hashes, argument vectors, exit codes, counts. Values that tasks
// returned are named by their hash, so that a trail can be shown without them; rights (tokens) are left out.

/** The hash of a value as canonical JSON. */
type HashOf = (value: Json) => Sha256

function factsOf(event: Event, task: TaskDefinition | undefined, hashOf: HashOf): JsonObject {
  switch (event.type) {
    case 'plan.created': {
      const { hash, origin, forkedAt, place, source } = event
      return defined({ revision: 1, hash, origin, forkedAt, place, dialect: source?.dialect })
    }
    case 'plan.revised': {
      const { revision, hash, rationale, source } = event
      return defined({ revision, hash, rationale, dialect: source?.dialect })
    }
    case 'task.added':
      return { tasks: event.tasks.map(({ id }) => id), hash: hashOf(event.tasks as unknown as Json) }
    case 'plan.annotated':
    case 'task.annotated':
      return { by: event.by, keys: Object.keys(event.set), hash: hashOf(event.set) }
    case 'task.evaluated': {
      const { id, by, visit, score, passed, data } = event
      return defined({ id, by, visit, score, passed, data: data === undefined ? undefined : hashOf(data) })
    }
    case 'plan.started':
      return defined({ rules: event.rules, files: event.files })
    case 'gate.opened':
      return defined({ asks: event.asks.type, on: event.hash })
    case 'gate.decided': {
      const { verdict, rationale, by, option, answers, to, until } = event
      return defined({ verdict, rationale, by, option, answers, to, until })
    }
    case 'gate.voted':
      return defined({ by: event.by, rationale: event.rationale, on: event.hash })
    case 'consent.voided':
      return { reason: event.reason }
    case 'question.asked':
      return defined({ id: event.id, by: event.by, text: event.text, fields: event.form.map(({ name }) => name) })
    case 'question.answered':
      return { id: event.id, by: event.by, answers: event.answers }
    case 'revision.proposed': {
      const { id, hash, base, by, rationale, cause } = event
      return defined({ id, hash, base, by, rationale, cause })
    }
    case 'revision.declined':
      return { id: event.id, by: event.by, rationale: event.rationale }
    case 'recovery.chosen':
      return defined({ visit: event.visit, choice: event.choice, reason: event.reason, rule: event.rule, to: event.to })
    case 'task.escalated':
      return defined({ why: event.why, to: event.to })
    case 'notice.sent':
      return defined({ id: event.id, kind: event.kind, to: event.to, failure: event.failure })
    case 'budget.reserved':
    case 'budget.settled': {
      const { id, visit, attempt, amount } = event
      return { id, visit, attempt, amount: { ...amount } }
    }
    case 'budget.raised':
      return defined({
        add: event.add === undefined ? undefined : { ...event.add },
        unpriced: event.unpriced,
        large: event.large,
        by: event.by,
      })
    case 'network.decided': {
      const { visit, attempt, decisions, more } = event
      return defined({ visit, attempt, decisions: decisions.map(one => defined({ ...one })), more })
    }
    case 'criterion.judged':
      return defined({ criterion: event.criterion, holds: event.holds, stage: event.stage })
    case 'attempt.started': {
      const { visit, attempt, preimage, before, inputHash, claim } = event
      const told = task === undefined ? {} : toldTo(task.action)
      return defined({ visit, attempt, ...told, claimedBy: claim?.by, preimage, before, inputHash })
    }
    case 'attempt.succeeded':
    case 'attempt.failed': {
      const { visit, attempt, result } = event
      return { visit, attempt, ...resultFacts(result, hashOf) }
    }
    case 'report.refused': {
      const { visit, attempt, failure } = event
      return { visit, attempt, failure: failure.message }
    }
    case 'attempt.lost':
      return defined({ visit: event.visit, attempt: event.attempt, reason: event.reason, byUs: event.byUs })
    case 'attempt.parked':
      return { reason: event.evidence.reason, effect: event.evidence.effect, startedAt: event.evidence.startedAt }
    case 'workspace.restored':
      return defined({ to: event.to, saved: event.saved, files: event.files?.length })
    case 'outputs.checked':
      return { lost: event.lost.map(({ task, output, file, what }) => ({ task, output, file, what })) }
    case 'files.restored':
      return { saved: event.saved, changes: event.changes, paths: event.paths, by: event.by }
    case 'compensation.started':
      return { ...toldTo(event.action) }
    case 'compensation.finished':
    case 'compensation.retried':
      return resultFacts(event.result, hashOf)
    case 'checkpoint.taken': {
      const { name, why, standing } = event
      return defined({
        checkpoint: name,
        why,
        snapshot: standing.snapshot,
        files: standing.files,
        head: standing.git?.head,
      })
    }
    case 'git.committed':
    case 'place.made': {
      const operations = event.type === 'place.made' ? event.operations : operationsOf(event)
      const failure = event.type === 'git.committed' ? event.failure?.message : undefined
      return defined({ operations: operations.map(operationFacts), failure })
    }
    case 'rollback.started':
      return defined({
        kind: event.kind,
        to: event.to,
        checkpoint: event.checkpoint,
        tasks: event.resets.length,
        fork: event.adopts?.fork,
      })
    case 'fork.adopted':
      return defined({ into: event.into, version: event.version ?? undefined, folder: event.folder, why: event.why })
    case 'rollback.finished':
    case 'rollback.stopped': {
      const { changes, paths, saved, left, kept, git } = event
      const failure = event.type === 'rollback.stopped' ? event.failure.message : undefined
      const conflicts = event.type === 'rollback.stopped' ? event.conflicts : undefined
      const operations = git === undefined ? undefined : git.map(operationFacts)
      return defined({ changes, paths, saved, left: left?.length, kept: kept?.length, operations, failure, conflicts })
    }
    default:
      return {}
  }
}

/**
 * What the engine carried out, as the revision of then says. Where values flow into it (`${{ … }}`) the journal keeps only the hash
 * of what came out (`inputHash`), and `resolved` is false.
 */
function toldTo(action: Action | CompensatingTask): { readonly [key: string]: Json } {
  switch (action.type) {
    case 'run': {
      const { command } = action
      const text = 'argv' in command ? command.argv.join(' ') : command.script
      const told: JsonObject = 'argv' in command ? { argv: command.argv } : { script: command.script }
      return { action: 'run', ...told, resolved: !text.includes('${{') }
    }
    case 'edit':
      return { action: 'edit', edits: action.edits.map(({ type, file }) => `${type} ${file}`) }
    case 'task':
      return { action: 'task', by: action.task }
    default:
      return { action: action.type }
  }
}

/** What was carried out, in words. */
function toldWords({ action, argv, script, edits, by }: JsonObject): string | null {
  if (argv !== undefined) return JSON.stringify(argv)
  if (typeof script === 'string') return `sh: ${script}`
  if (Array.isArray(edits)) return edits.join(', ')
  if (typeof by === 'string') return `task ${by}`
  return typeof action === 'string' ? action : null
}

function resultFacts(result: Result, hashOf: HashOf): JsonObject {
  const { exit, durationMs, log, wrote, inputHash, outputs, verdicts, git } = result
  const told =
    result.status === 'succeeded'
      ? { outcome: result.outcome }
      : { class: result.failure.class, message: result.failure.message, mode: result.mode }
  return defined({
    status: result.status,
    ...told,
    exit,
    durationMs,
    log: log === undefined ? undefined : { sha256: log.sha256, bytes: log.bytes },
    outputs: outputs === undefined ? undefined : outputHashes(outputs, hashOf),
    wrote: wrote === undefined ? undefined : wroteFacts(wrote),
    inputHash,
    verdicts: verdicts?.map(({ criterion, holds, stage, log }) =>
      defined({ criterion, holds, stage, log: log?.sha256 }),
    ),
    operations: git?.map(operationFacts),
  })
}

const wroteFacts = ({ changes, paths, left, snapshot }: Wrote): JsonObject =>
  defined({ changes, paths, left, snapshot })

function outputHashes(outputs: JsonObject, hashOf: HashOf): JsonObject {
  return Object.fromEntries(
    Object.entries(outputs).map(([name, value]) => {
      const artifact =
        value !== null && typeof value === 'object' && 'artifact' in value ? (value as JsonObject).artifact : null
      return [name, typeof artifact === 'string' ? artifact : hashOf(value as Json)]
    }),
  )
}

function operationFacts(operation: GitOperation): JsonObject {
  const { type, ref } = operation
  if ('before' in operation) return defined({ type, ref, before: operation.before, after: operation.after })
  return { type, ref, commit: operation.commit }
}

export interface AuditLine {
  /** The entry, its time, who wrote it and its hash. */
  readonly version: number
  readonly at: Millis
  readonly actor: string
  readonly hash: Sha256
  readonly kind: EventKind | 'command'
  /** The type of the event, or of the command that was asked. */
  readonly type: string
  readonly task: TaskName | null
  readonly text: string
  /** Hashes, argument vectors, counts: what can be compared with something else. */
  readonly facts: JsonObject
}

interface AuditedEntry {
  readonly version: number
  readonly now: Millis
  readonly actor: string
  readonly hash: Sha256
  readonly command: Command
  readonly events: readonly Event[]
}

/** Reads entries in order, from the first: what a task was told to do is known from the revision of then. */
export class AuditReader {
  readonly #hashOf: HashOf
  #tasks = new Map<TaskName, TaskDefinition>()
  /** The revision in force, and the one each open question was asked under. */
  #revision: Sha256 | null = null
  readonly #asked = new Map<TaskName, Sha256 | null>()
  /** Proposed revisions nobody has decided about; the next revision makes them void. */
  readonly #proposed = new Set<string>()

  constructor(hashOf: HashOf) {
    this.#hashOf = hashOf
  }

  read(entry: AuditedEntry): readonly AuditLine[] {
    const { version, now: at, actor, hash, command, events } = entry
    const stands = { version, at, actor, hash }
    const lines: AuditLine[] = []
    if (!isOfTheEngine(command)) lines.push({ ...stands, kind: 'command', type: command.type, ...askedOf(command) })
    for (const event of events) {
      const lapsed = this.#propose(event)
      this.#follow(event)
      const task = 'task' in event ? (event.task ?? null) : null
      const definition = task === null ? undefined : this.#tasks.get(task)
      const kind = kindOf(event, definition)
      if (kind === null) continue
      const facts = { ...factsOf(event, definition, this.#hashOf), ...this.#decidedOn(event), ...voided(lapsed) }
      if (event.type === 'plan.revised' && event.proposal !== undefined)
        lines.push({ ...stands, ...acceptedLine(event) })
      lines.push({
        ...stands,
        kind,
        type: event.type,
        task,
        text: `${textOf(event, facts)}${voidWords(lapsed)}`,
        facts,
      })
    }
    return lines
  }

  /** Which proposals become void with it. */
  #propose(event: Event): readonly string[] {
    if (event.type === 'revision.proposed') this.#proposed.add(event.id)
    if (event.type === 'revision.declined') this.#proposed.delete(event.id)
    if (event.type !== 'plan.revised') return []
    const lapsed = [...this.#proposed].filter(id => id !== event.proposal)
    this.#proposed.clear()
    return lapsed
  }

  #follow(event: Event): void {
    if ('definition' in event) {
      this.#tasks = tasksIn(event.definition)
      this.#revision = event.hash
    }
    // The revision that seals the draft says its hash again.
    if (event.type === 'task.added') for (const task of event.tasks) this.#tasks.set(task.id, task)
    if (event.type === 'gate.opened') this.#asked.set(event.task, event.hash ?? this.#revision)
    if (event.type === 'attempt.parked') this.#asked.set(event.task, this.#revision)
  }

  /** A decision says on what it was made: the revision under which it was asked for. */
  #decidedOn(event: Event): JsonObject {
    const on = event.type === 'gate.decided' ? (this.#asked.get(event.task) ?? null) : null
    return on === null ? {} : { on }
  }
}

/** That a proposal was accepted is a decision, and what came of it is the revision. */
function acceptedLine(event: EventOf<'plan.revised'>): Pick<AuditLine, 'kind' | 'type' | 'task' | 'text' | 'facts'> {
  const { proposal = '', hash, revision, rationale } = event
  const text = `proposal ${proposal} accepted: it becomes revision ${revision}`
  return {
    kind: 'decision',
    type: event.type,
    task: null,
    text,
    facts: { proposal, verdict: 'accepted', hash, rationale },
  }
}

const voided = (lapsed: readonly string[]): JsonObject => (lapsed.length === 0 ? {} : { void: lapsed })
const voidWords = (lapsed: readonly string[]): string =>
  lapsed.length === 0 ? '' : `; made void: ${lapsed.length === 1 ? 'proposal' : 'proposals'} ${lapsed.join(', ')}`

const tasksIn = (definition: PlanDefinition): Map<TaskName, TaskDefinition> =>
  new Map(allTasks(definition).map(task => [task.id, task]))

/** What nobody asked for: the loop's own turns, and the end of a claim whose heartbeats stopped. */
const isOfTheEngine = ({ type }: Command): boolean =>
  type === 'turn' ||
  type === 'recover' ||
  type === 'lapse' ||
  type === 'place' ||
  type === 'adopted' ||
  type === 'network' ||
  type === 'reserve' ||
  type === 'settle'

/** Plain words of the command. Tokens are rights, and definitions and results stand in the events. */
function askedOf(command: Command): Pick<AuditLine, 'task' | 'text' | 'facts'> {
  const facts: { [key: string]: Json } = {}
  for (const [key, value] of Object.entries(command)) {
    if (key === 'type' || key === 'token') continue
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') facts[key] = value
  }
  if (command.type === 'rollback' && command.choices !== undefined) facts.choices = command.choices
  const task = 'task' in command ? (command.task ?? null) : null
  const words = [command.type, task ?? '', command.type === 'decide' ? command.verdict : ''].filter(Boolean)
  return { task, text: `asked: ${words.join(' ')}`, facts }
}

function kindOf(event: Event, definition: TaskDefinition | undefined): EventKind | null {
  // Whoever skips a gate has decided.
  if (event.type === 'task.skipped' && event.by !== undefined && definition?.action.type === 'gate') return 'decision'
  return EVENT_KINDS[event.type]
}

/** The sentence of the log; for an attempt also what is run, for a set of tasks all of them. */
function textOf(event: Event, facts: JsonObject): string {
  const tasks = tasksOf(event)
  if (event.type === 'task.reopened') return `${tasks.join(', ')} will run again: ${event.reason}`
  if (event.type === 'note.added') return `note: ${sentence(event)}`
  if (event.type !== 'attempt.started' && event.type !== 'compensation.started') return sentence(event)
  const told = toldWords(facts)
  return told === null ? sentence(event) : `${sentence(event)}: ${told}`
}
