// The audit trail of a plan: what was asked, decided, run, written and reverted, line by line, each with its entry and that entry's hash.
// Bookkeeping (ready, blocked) is left to the log.

import type { Command } from '../command.ts'
import type { Event, EventOf, PlanEntry } from '../event.ts'
import { actionWords } from '../events/event-facts.ts'
import type { Audited, EventKind } from '../events/event-row.ts'
import { rowOf } from '../events/event-table.ts'
import type { Sha256, TaskName } from '../id.ts'
import { defined, type Json, type JsonObject } from '../json.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { allTasks } from '../state/task-index.ts'
import type { Moment } from './timeline.ts'

// The facts of an event can be verified elsewhere: hashes, argument vectors, exit codes, counts. Values that tasks returned appear as
// hashes, so that a trail can be shown without them; tokens are omitted.

function factsOf(event: Event, about: Audited): JsonObject {
  const { shows = [], facts } = rowOf(event)
  return facts?.(event, about) ?? defined(Object.fromEntries(shows.map(key => [key, event[key]])))
}

export interface AuditLine extends Omit<Moment, 'type'> {
  readonly hash: Sha256
  readonly kind: EventKind | 'command'
  readonly type: string
  readonly facts: JsonObject
}

type AuditedEntry = PlanEntry & { readonly command: Command }

/** Reads entries in order, from the first, because the content of a task depends on the revision of the time. */
export class AuditReader {
  readonly #hashOf: Audited['hashOf']
  #tasks = new Map<TaskName, TaskDefinition>()
  /** The current revision, and the one of each open question. */
  #revision: Sha256 | null = null
  readonly #asked = new Map<TaskName, Sha256 | null>()
  readonly #proposed = new Set<string>()

  constructor(hashOf: Audited['hashOf']) {
    this.#hashOf = hashOf
  }

  read(entry: AuditedEntry): readonly AuditLine[] {
    const { version, now: at, actor, hash, command, events } = entry
    const place = { version, at, actor, hash }
    const lines: AuditLine[] = []
    if (!OF_THE_ENGINE.has(command.type))
      lines.push({ ...place, kind: 'command', type: command.type, ...askedOf(command) })
    for (const event of events) {
      const lapsed = this.#propose(event)
      this.#follow(event)
      const task = 'task' in event ? (event.task ?? null) : null
      const definition = task === null ? undefined : this.#tasks.get(task)
      const kind = kindOf(event, definition)
      if (kind === null) continue
      const facts = {
        ...factsOf(event, { task: definition, hashOf: this.#hashOf }),
        ...this.#decidedOn(event),
        ...voided(lapsed),
      }
      if (event.type === 'plan.revised' && event.proposal !== undefined)
        lines.push({ ...place, ...acceptedLine(event) })
      lines.push({
        ...place,
        kind,
        type: event.type,
        task,
        text: `${textOf(event, facts)}${voidWords(lapsed)}`,
        facts,
      })
    }
    return lines
  }

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
    // The revision that seals the draft has the hash.
    if (event.type === 'task.added') for (const task of event.tasks) this.#tasks.set(task.id, task)
    if (event.type === 'gate.opened') this.#asked.set(event.task, event.hash ?? this.#revision)
    if (event.type === 'attempt.parked') this.#asked.set(event.task, this.#revision)
  }

  /** A decision refers to the revision under which it was asked for. */
  #decidedOn(event: Event): JsonObject {
    const on = event.type === 'gate.decided' ? (this.#asked.get(event.task) ?? null) : null
    return on === null ? {} : { on }
  }
}

/** An accepted proposal is a decision, and its result is the revision. */
function acceptedLine({ type, proposal = '', hash, revision, rationale }: EventOf<'plan.revised'>) {
  const text = `proposal ${proposal} accepted: it becomes revision ${revision}`
  return {
    kind: 'decision',
    type,
    task: null,
    text,
    facts: { proposal, verdict: 'accepted', hash, rationale },
  } as const
}

const voided = (lapsed: readonly string[]): JsonObject => (lapsed.length === 0 ? {} : { void: lapsed })
const voidWords = (lapsed: readonly string[]): string =>
  lapsed.length === 0 ? '' : `; made void: ${lapsed.length === 1 ? 'proposal' : 'proposals'} ${lapsed.join(', ')}`

const tasksIn = (definition: PlanDefinition): Map<TaskName, TaskDefinition> =>
  new Map(allTasks(definition).map(task => [task.id, task]))

/** Commands that nobody gave: those of the engine, such as turns, and the lapse of a claim. */
const OF_THE_ENGINE: ReadonlySet<string> = new Set('turn recover lapse place adopted network reserve settle'.split(' '))

/** The command in words, without tokens. Definitions and results are in the events. */
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
  // Skipping a gate is a decision.
  if (event.type === 'task.skipped' && event.by !== undefined && definition?.action.type === 'gate') return 'decision'
  return rowOf(event).kind
}

/** The sentence of the log, and what was run. */
function textOf(event: Event, facts: JsonObject): string {
  const row = rowOf(event)
  const text = row.audited?.(event) ?? row.sentence(event)
  return facts.action === undefined ? text : `${text}: ${actionWords(facts)}`
}
