// Fields shared by many answers: numbers, times, pages. The generated schemas contain them inline.

/**
 * @asType integer
 * @minimum -9007199254740991
 * @maximum 9007199254740991
 */
export type Int = number

/**
 * @format date-time
 * @pattern Z$
 */
export type Time = string

/**
 * @format base64
 * @contentEncoding base64
 */
export type Base64 = string
export type Loose = { readonly [key: string]: unknown }
export type Counts = { readonly [key: string]: Int }

export interface PageOf<T> {
  readonly items: readonly T[]
  readonly next: string | null
}

export interface PlanTimes {
  readonly created_at: Time
  readonly updated_at: Time
  readonly started_at: Time | null
  readonly completed_at: Time | null
}

export type PlanNamed = { readonly plan_id: string; readonly name: string }

export interface Moved extends PlanNamed {
  /** How the plan stands now, in the words of Planfold. */
  readonly state: string
  readonly version: Int
  readonly replayed?: true
}

export interface NotePlace {
  /**
   * @minLength 1
   * @maxLength 200
   */
  readonly field?: string
  /** @minimum 1 */
  readonly line?: Int
}

// Task statuses of the PlanStore.

export type TaskWord = 'pending' | 'running' | 'blocked' | 'completed' | 'failed' | 'skipped' | 'cancelled'

// Plan and step statuses of the session task planner.

export type SessionWord = 'pending' | 'planning' | 'executing' | 'paused' | 'completed' | 'failed' | 'cancelled'
export type StepWord = 'pending' | 'running' | 'completed' | 'failed' | 'skipped' | 'retrying' | 'cancelled'
