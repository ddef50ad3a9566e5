// What an entry adds to search and steps: texts of plans and tasks, and attempts with their use. A pure function of the journal, so that it
// can be computed at any time, by any process, and checked.

import type { Event } from '../../domain/event.ts'
import type { Millis, TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import type { Result } from '../../domain/result.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import type { Doc, Step, StepEnd } from './search-tables.ts'
import { keptOrNull, keptText } from './storable-text.ts'

const TEXT_MAX = 64 * 1024
const NAMES_MAX = 50
const NAME_MAX = 100
/** A lone surrogate; stored text has none. */
const HALF = /\p{Surrogate}/gu

/** The known facts of a plan, and where to read others. */
export interface PlanSource {
  doc(task: TaskName | null): Doc | null
  docs(): readonly Doc[]
  step(task: TaskName, visit: number, attempt: number): Step | null
}

export class PlanIndexing {
  readonly #source: PlanSource
  readonly #docs = new Map<TaskName | null, Doc | null>()
  readonly #steps = new Map<string, Step>()
  readonly #changed = new Set<TaskName | null>()
  /** Read when the next attempt needs it, or at the end: of several revisions only the last counts. */
  #definition: PlanDefinition | null = null
  #added: TaskDefinition[] = []

  constructor(source: PlanSource) {
    this.#source = source
  }

  apply(events: readonly Event[], now: Millis): void {
    for (const event of events) {
      switch (event.type) {
        case 'plan.created':
        case 'plan.revised':
          this.#definition = event.definition
          this.#added = []
          break
        case 'task.added':
          this.#added.push(...event.tasks)
          break
        case 'attempt.started': {
          this.#define()
          const { task, visit, attempt, claim } = event
          this.#keep({
            task,
            visit,
            attempt,
            startedAt: now,
            agent: keptText(claim?.by ?? ENGINE),
            ...this.#definedBy(task),
          })
          break
        }
        case 'attempt.succeeded':
        case 'attempt.failed':
        case 'attempt.lost': {
          this.#define()
          const { task, visit, attempt } = event
          const key = keyOf(event)
          const open = this.#steps.get(key) ?? this.#source.step(task, visit, attempt)
          // An end without a start does both.
          const step = open ?? { task, visit, attempt, startedAt: now, agent: ENGINE, ...this.#definedBy(task) }
          const result = event.type === 'attempt.lost' ? null : event.result
          this.#keep({ ...step, ended: endOf(result, now, now - step.startedAt) })
          break
        }
        default:
      }
    }
  }

  /** Changed or removed (null) texts; and steps. */
  changes(): { readonly docs: readonly (readonly [TaskName | null, Doc | null])[]; readonly steps: Iterable<Step> } {
    this.#define()
    return {
      docs: Array.from(this.#changed, task => [task, this.#docs.get(task) ?? null]),
      steps: this.#steps.values(),
    }
  }

  all(): { readonly docs: readonly Doc[]; readonly steps: readonly Step[] } {
    this.#define()
    return { docs: [...this.#docs.values()].filter(doc => doc !== null), steps: [...this.#steps.values()] }
  }

  #define(): void {
    const definition = this.#definition
    this.#definition = null
    if (definition !== null) {
      for (const doc of this.#source.docs()) if (!this.#docs.has(doc.task)) this.#docs.set(doc.task, doc)
      const gone = new Set<TaskName | null>()
      for (const [task, doc] of this.#docs) if (doc !== null) gone.add(task)
      const put = (doc: Doc) => {
        gone.delete(doc.task)
        this.#put(doc)
      }
      put(planDoc(definition))
      for (const task of allTasks(definition)) put(taskDoc(task))
      for (const task of gone) {
        this.#docs.set(task, null)
        this.#changed.add(task)
      }
    }
    for (const task of this.#added) this.#put(taskDoc(task))
    this.#added = []
  }

  #put(doc: Doc): void {
    const before = this.#doc(doc.task)
    if (before !== null && sameDoc(before, doc)) return
    this.#docs.set(doc.task, doc)
    this.#changed.add(doc.task)
  }

  #doc(task: TaskName | null): Doc | null {
    let doc = this.#docs.get(task)
    if (doc === undefined) {
      doc = this.#source.doc(task)
      this.#docs.set(task, doc)
    }
    return doc
  }

  #keep(step: Omit<Step, 'ended'> & { readonly ended?: StepEnd | null }): void {
    this.#steps.set(keyOf(step), { ...step, ended: step.ended ?? null })
  }

  #definedBy(task: TaskName): Pick<Step, 'kind' | 'capabilities'> {
    const doc = this.#doc(task)
    return { kind: doc?.kind ?? null, capabilities: doc?.capabilities ?? [] }
  }
}

const ENGINE = 'engine'

const keyOf = ({ task, visit, attempt }: Pick<Step, 'task' | 'visit' | 'attempt'>) => `${visit} ${attempt} ${task}`

const sameDoc = (a: Doc, b: Doc): boolean =>
  a.text === b.text && a.kind === b.kind && a.capabilities.join('\n') === b.capabilities.join('\n')

function planDoc({ name, title, goal, labels }: PlanDefinition): Doc {
  return { task: null, kind: null, capabilities: [], text: textOf(name, title, goal, ...(labels ?? [])) }
}

function taskDoc(task: TaskDefinition): Doc {
  const { id, title, description, instruction, kind, labels, capabilities, action } = task
  const named = names(capabilities ?? [])
  return {
    task: id,
    kind: keptOrNull(kind),
    capabilities: named.length > 0 ? named : [action.type],
    text: textOf(id, title, description, instruction, kind, ...(labels ?? [])),
  }
}

/** Stored text contains no NUL and no lone surrogates. */
const textOf = (...parts: readonly (string | undefined)[]): string =>
  parts
    .filter(part => part !== undefined && part !== '')
    .join('\n')
    .slice(0, TEXT_MAX)
    .replaceAll('\0', '␀')
    .replaceAll(HALF, '\ufffd')

function endOf(result: Result | null, at: Millis, between: number): StepEnd {
  const outputs = result?.outputs ?? {}
  const use = result?.model === undefined ? reportedUse(outputs) : countedUse(result.model)
  const tokensIn = whole(use.input_tokens)
  const tokensOut = whole(use.output_tokens)
  const sum = tokensIn === null && tokensOut === null ? null : (tokensIn ?? 0) + (tokensOut ?? 0)
  return {
    at,
    ms: whole(result?.durationMs) ?? Math.max(0, between),
    outcome: result?.status ?? 'lost',
    files: whole(result?.wrote?.paths) ?? 0,
    bytes: whole(result?.log?.bytes) ?? 0,
    tokensIn,
    tokensOut,
    tokens: whole(use.tokens) ?? sum,
    cost: amount(use.cost_usd) ?? amount(use.cost),
    tools: names(outputs.tools ?? outputs.tools_used),
  }
}

const reportedUse = (outputs: JsonObject): JsonObject => ({ ...objectOf(outputs.metrics), ...objectOf(outputs.usage) })

/** Measured use of a model task, because its outputs are only the model's words. */
const countedUse = ({ usage, cost }: NonNullable<Result['model']>): JsonObject => ({
  input_tokens: usage.inputTokens,
  output_tokens: usage.outputTokens,
  cost_usd: cost.known ? cost.usd : null,
})

const objectOf = (value: Json | undefined): JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as JsonObject) : {}

/** Agents may report anything: null unless it is a finite number of at least 0. */
const amount = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.min(value, Number.MAX_SAFE_INTEGER) : null

function whole(value: unknown): number | null {
  const found = amount(value)
  return found === null ? null : Math.round(found)
}

function names(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return []
  const found = new Set<string>()
  for (const item of value) {
    const name: unknown = typeof item === 'string' ? item : objectOf(item as Json).name
    if (typeof name === 'string' && name !== '')
      found.add(name.slice(0, NAME_MAX).replaceAll('\0', '␀').replaceAll(HALF, '\ufffd'))
    if (found.size === NAMES_MAX) break
  }
  return [...found]
}
