// The inner door to the data that is caught up from the journal on demand: search texts, and steps. Everything but the marks is a pure
// function of the journal up to a position (`index-entry.ts`), and of the output up to a number.

import type { Millis, PlanId, PlanName, TaskName } from '../../domain/id.ts'
import type { PlanSet, Position, SearchHit, StepsQuery } from '../store.ts'

/** How far it is caught up: the position of an entry, and the number of a chunk of output. */
export interface Marks {
  readonly position: Position
  readonly log: number
}

/** The searchable text of a plan (`task` is null) or of a task. */
export interface Doc {
  readonly task: TaskName | null
  readonly kind: string | null
  /** Those that the task needs, else its action type. */
  readonly capabilities: readonly string[]
  readonly text: string
}

export interface Step {
  readonly task: TaskName
  readonly visit: number
  readonly attempt: number
  readonly startedAt: Millis
  readonly agent: string
  readonly kind: string | null
  readonly capabilities: readonly string[]
  readonly ended: StepEnd | null
}

export interface StepEnd {
  readonly at: Millis
  readonly ms: number
  readonly outcome: 'succeeded' | 'failed' | 'lost'
  readonly files: number
  readonly bytes: number
  readonly tokensIn: number | null
  readonly tokensOut: number | null
  readonly tokens: number | null
  readonly cost: number | null
  readonly tools: readonly string[]
}

export interface EndedStep extends Step {
  readonly no: number
  readonly plan: PlanId
  readonly ended: StepEnd
}

export interface UnreadLog {
  readonly seq: number
  readonly no: number
  readonly ordinal: number
  readonly text: string
}

export type StepsWhere = Pick<StepsQuery, 'agent' | 'capability' | 'kind' | 'since' | 'until'> & {
  readonly no?: number | undefined
}

export interface SearchWhere {
  readonly words: readonly string[]
  readonly no: number | null
  readonly within: PlanSet | null
  readonly archived: boolean
}

/** A hit with its whole text. The next page begins below `key`. */
export interface FoundText extends Pick<SearchHit, 'at' | 'log'> {
  readonly key: number
  readonly plan: PlanId
  readonly name: PlanName
  readonly task: TaskName | null
  readonly text: string
}

export interface IndexTable {
  marks(): Marks
  mark(marks: Marks): void

  doc(no: number, task: TaskName | null): Doc | null
  docs(no: number): readonly Doc[]
  putDoc(no: number, doc: Doc): void
  dropDoc(no: number, task: TaskName | null): void
  step(no: number, task: TaskName, visit: number, attempt: number): Step | null
  steps(no: number): readonly Step[]
  putStep(no: number, step: Step): void

  lastLog(): number
  unreadLogs(after: number, limit: number): readonly UnreadLog[]
  logBytes(no: number, ordinal: number): number
  addLog(log: UnreadLog, bytes: number): void

  /** Newest first, with a key below `before`. */
  find(kind: SearchHit['kind'], where: SearchWhere, before: number, limit: number): readonly FoundText[]
  /** Oldest first, after the given one. */
  ended(where: StepsWhere, after: EndedStep | null, limit: number): readonly EndedStep[]

  clear(): void
  /** Internal contradictions, without comparing with the journal. */
  faults(): readonly string[]
}
