// The artifacts of a plan: what its tasks left as named outputs or uploaded, version by version, and where each came from. A fold of the
// journal; contents are in the content store, or in the journal if they are small.

import { actionFacts } from '../actions/actions.ts'
import type { AttemptOf, Event, EventOf, PlanEntry } from '../event.ts'
import { auditedAction } from '../events/event-facts.ts'
import type { Millis, Sha256, TaskName } from '../id.ts'
import { defined, isMap, type Json, type JsonObject } from '../json.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { isConfidential } from '../plan-rules/confidential.ts'
import { programWords, type Result } from '../result.ts'
import { evolve } from '../state/evolve.ts'
import { newState } from '../state/fold.ts'
import type { PlanState } from '../state/state.ts'
import { type Declaration, declarationOf, type Published, publishedIn, readRetention } from './declaration.ts'
import { isStored, isUrl } from './output-type.ts'

/** One content under one name. It never changes; other content is the next version. */
export interface Artifact extends Omit<Declaration, 'isDeclared' | 'cites'>, AttemptOf {
  readonly name: string
  /** From 1. */
  readonly version: number
  readonly sha256: Sha256
  /** Null if the report that named it does not say. */
  readonly bytes: number | null
  readonly file: string | null
  readonly at: Millis
  readonly by: string
  readonly how: 'output' | 'upload' | 'import'
  /** When its content is removed; null for as long as the plan is kept. */
  readonly expires: Millis | null
  readonly confidential: boolean
  /** The sources that it names. */
  readonly cites: readonly string[]
}

export interface Provenance {
  readonly revision: number
  /** What its task did, as the revision of that time says. */
  readonly did: JsonObject
  /** SHA-256 of the resolved action, inputs, environment and folder. */
  readonly inputHash: Sha256 | null
  /** The artifacts that its task read. */
  readonly inputs: readonly { readonly address: string; readonly sha256: Sha256 }[]
  readonly environment: { readonly runs: string | null; readonly programs: readonly string[] }
  readonly model: { readonly model: string; readonly calls: number; readonly recording: Sha256 } | null
  readonly approvals: readonly Decided[]
  /** Decisions at gates, and choices between tasks, that directly needed its task. */
  readonly ledTo: readonly Decided[]
}

interface Decided {
  readonly task: TaskName
  readonly what: string
  readonly by: string
  readonly at: Millis
  readonly rationale?: string
}

/** `value`: the content, if it is in the journal. */
export interface FoundArtifact extends Artifact {
  readonly value?: Json
  readonly provenance: Provenance
}

export interface Measured {
  readonly sha256: Sha256
  readonly bytes: number
}

/** The content of an output that is kept in the journal. */
export const contentOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

export const addressOf = (plan: string, { task, name, version }: Pick<Artifact, 'task' | 'name' | 'version'>): string =>
  `${plan}/${task}/${name}@${version}`

type Kept = { -readonly [K in keyof FoundArtifact]: FoundArtifact[K] }
type Begun = Pick<Provenance, 'inputHash' | 'approvals' | 'inputs'> & {
  readonly runs: string | null
  by: string | null
}

/** In the order in which they appeared. `measure` hashes the text of outputs that are in the journal. */
export function artifactsOf(
  entries: readonly PlanEntry[],
  measure: (text: string) => Measured,
): readonly FoundArtifact[] {
  const reader = new ArtifactReader(measure)
  for (const entry of entries) reader.read(entry)
  return reader.artifacts
}

class ArtifactReader {
  readonly artifacts: Kept[] = []
  readonly #measure: (text: string) => Measured
  readonly #state: PlanState = newState()
  readonly #last = new Map<string, Kept>()
  readonly #ofTask = new Map<TaskName, Set<string>>()
  readonly #begun = new Map<TaskName, Begun>()
  readonly #decided = new Map<TaskName, Decided>()
  #published: { readonly of: PlanDefinition | null; readonly list: readonly Published[] } = { of: null, list: [] }

  constructor(measure: (text: string) => Measured) {
    this.#measure = measure
  }

  read({ now, actor, events }: PlanEntry): void {
    for (const event of events) {
      if (event.type === 'attempt.started') this.#start(event)
      evolve(this.#state, event, now)
      this.#add(event, now, actor)
    }
  }

  #start(event: EventOf<'attempt.started'>): void {
    const task = this.#state.tasks.get(event.task)
    const { definition, consent = null } = task ?? {}
    const gates = (definition?.needs ?? []).flatMap(need => this.#decided.get(need) ?? [])
    const given = consent === null ? undefined : this.#decided.get(consent.gate)
    this.#begun.set(event.task, {
      inputHash: event.inputHash ?? null,
      inputs: definition === undefined ? [] : this.#readBy(definition),
      approvals: given === undefined || gates.includes(given) ? gates : [...gates, given],
      runs: event.runs ?? null,
      by: event.claim?.by ?? null,
    })
  }

  /** The outputs that its expressions name, as they are now. */
  #readBy(definition: TaskDefinition): Provenance['inputs'] {
    const text = JSON.stringify(definition)
    if (!text.includes('tasks')) return []
    const keys = Array.from(text.matchAll(READS), ([, dotted, quoted, name, other]) => [
      dotted ?? quoted,
      name ?? other,
    ])
    return [...new Set(keys.map(([task, name]) => `${task}\0${name}`))].flatMap(key => {
      const found = this.#last.get(key)
      return found === undefined
        ? []
        : [{ address: addressOf(this.#state.definition.name, found), sha256: found.sha256 }]
    })
  }

  #add(event: Event, at: Millis, actor: string): void {
    switch (event.type) {
      case 'attempt.succeeded':
        this.#leave(event, event.result, 'output', { at, by: this.#begun.get(event.task)?.by ?? actor })
        if (event.result.outcome !== undefined) this.#lead(event.task, event.result.outcome, { at, by: actor })
        return
      case 'task.imported':
        for (const { task, result } of event.tasks)
          if (result?.status === 'succeeded')
            this.#leave({ task, visit: 1, attempt: 0 }, result, 'import', { at, by: actor })
        return
      case 'artifact.uploaded': {
        if (event.from + event.partBytes < event.bytes) return
        const { name, sha256, bytes, ...of } = event
        this.#keep(of, name, { artifact: sha256, bytes }, 'upload', {
          at,
          by: this.#begun.get(event.task)?.by ?? actor,
        })
        return
      }
      case 'gate.decided': {
        const { task, verdict, option, rationale, by = actor } = event
        const decided = { task, what: option ?? verdict, by, at, ...(rationale === '' ? {} : { rationale }) }
        this.#decided.set(task, decided)
        this.#lead(task, decided.what, decided)
        return
      }
      default:
        return
    }
  }

  #leave(of: AttemptOf, result: Result, how: Artifact['how'], made: Pick<Artifact, 'at' | 'by'>): void {
    for (const [name, value] of Object.entries(result.outputs ?? {})) this.#keep(of, name, value, how, made, result)
  }

  #keep(
    { task: id, visit, attempt }: AttemptOf,
    name: string,
    value: Json,
    how: Artifact['how'],
    made: Pick<Artifact, 'at' | 'by'>,
    result?: Result,
  ): void {
    const { definition, tasks, revision } = this.#state
    const task = tasks.get(id)?.definition
    if (task === undefined) return
    const { isDeclared, cites, ...declared } = declarationOf(definition, task, name, this.#publishedNow())
    const stored = isStored(value) && /^[0-9a-f]{64}$/.test(value.artifact) ? value : null
    // Other outputs are values for expressions: the exit code of a request, its rows.
    if (!isDeclared && stored === null) return
    const key = `${id}\0${name}`
    const content = stored === null ? this.#measure(contentOf(value)) : measuredIn(stored)
    const retention = readRetention(declared.retention)
    const expires = typeof retention === 'object' && retention !== null ? made.at + retention.ms : null
    const before = this.#last.get(key)
    if (before?.sha256 === content.sha256) {
      // The same content again: kept for as long as the last one asks.
      before.expires = expires
      return
    }
    const begun = this.#begun.get(id)
    const { programs, model } = result ?? {}
    const found: Kept = {
      ...{ task: id, name, version: (before?.version ?? 0) + 1, ...content, ...declared, visit, attempt, how, ...made },
      file: stored !== null && typeof stored.file === 'string' ? stored.file : null,
      expires,
      confidential: isConfidential(definition, task),
      cites: cites ? linksIn(value) : [],
      ...(stored === null ? { value } : {}),
      provenance: {
        revision,
        did: auditedAction(task.action),
        inputHash: result?.inputHash ?? begun?.inputHash ?? null,
        inputs: begun?.inputs ?? [],
        environment: {
          runs: begun?.runs ?? null,
          programs: Object.entries(programs ?? this.#state.programs ?? {}).map(one => programWords(...one)),
        },
        model: model === undefined ? null : { model: model.model, calls: model.calls, recording: model.recording },
        approvals: begun?.approvals ?? [],
        ledTo: [],
      },
    }
    this.#last.set(key, found)
    this.#ofTask.set(id, (this.#ofTask.get(id) ?? new Set()).add(key))
    this.artifacts.push(found)
  }

  /** A decision of `task` is recorded with the artifacts of what it directly needs. */
  #lead(task: TaskName, what: string, { at, by, rationale }: Pick<Decided, 'at' | 'by' | 'rationale'>): void {
    const definition = this.#state.tasks.get(task)?.definition
    const { isFree, isStructure } = definition === undefined ? {} : actionFacts(definition.action)
    if (definition === undefined || isFree !== true || isStructure === true) return
    for (const need of definition.needs ?? [])
      for (const key of this.#ofTask.get(need) ?? []) {
        const found = this.#last.get(key)!
        const decided = { task, what, by, at, ...defined({ rationale }) }
        found.provenance = { ...found.provenance, ledTo: [...found.provenance.ledTo, decided] }
      }
  }

  #publishedNow(): readonly Published[] {
    const { definition } = this.#state
    if (this.#published.of !== definition) this.#published = { of: definition, list: publishedIn(definition) }
    return this.#published.list
  }
}

const READS = /\btasks(?:\.(\w+)|\['([^']+)'\])\.outputs(?:\.(\w+)|\['([^']+)'\])/g

const measuredIn = ({ artifact, bytes }: JsonObject): { readonly sha256: Sha256; readonly bytes: number | null } => ({
  sha256: artifact as Sha256,
  bytes: typeof bytes === 'number' ? bytes : null,
})

/** Links in a value: it itself, its items, or their `url`. */
function linksIn(value: Json): readonly string[] {
  if (typeof value === 'string') return isUrl(value) ? [value] : []
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(linksIn)
  return isMap(value) && typeof value.url === 'string' ? linksIn(value.url) : []
}

export type ArtifactAddress = {
  readonly plan: string
  readonly task: string
  readonly name: string
  readonly version?: string
}

/** `plan/task/name@version`, where names of tasks may contain `/`; null if it is no address. The version is a number, or a hash or its beginning. */
export function readAddress(text: string): ArtifactAddress | null {
  const [, plan, task, name, version] = /^([^/]+)\/(.+)\/([^/@]+)(?:@([^/@]+))?$/.exec(text) ?? []
  if (plan === undefined || task === undefined || name === undefined) return null
  return { plan, task, name, ...(version === undefined ? {} : { version }) }
}

/** The requested version, by default the last. */
export function findArtifact<A extends Artifact>(
  all: readonly A[],
  { task, name, version }: Omit<ArtifactAddress, 'plan'>,
): A | undefined {
  const named = all.filter(one => one.task === task && one.name === name)
  if (version === undefined) return named.at(-1)
  const wanted = version.replace(/^sha256:/, '')
  return named.find(one => String(one.version) === wanted || (wanted.length >= 8 && one.sha256.startsWith(wanted)))
}
