// A lesson of an earlier plan: what a critic, a review or a person said about the work of a task, and whether it still holds.

import type { Millis, PlanId, TaskName } from '../id.ts'

/** `doubtful`: its lines were moved, or its file was renamed. `dropped`: they were changed since, or its time is up. */
type Standing = 'valid' | 'doubtful' | 'dropped'

export interface Lesson {
  readonly plan: PlanId
  readonly name: string
  readonly task: TaskName
  /** The run of the task that it is about. */
  readonly visit: number
  readonly text: string
  readonly by: string
  /** When the task that learnt it ended. */
  readonly at: Millis
  readonly files: readonly FileOfLesson[]
  readonly standing: Standing
  /** Why it is not valid; null if it is. */
  readonly why: string | null
}

export interface FileOfLesson {
  readonly path: string
  /** Where the file is now; null if it no longer holds there. */
  readonly now: string | null
  readonly standing: Standing
  readonly why: string | null
}

/** How many a brief or a planner gets. */
const CHOSEN_MAX = 5
const RANK = { valid: 0, doubtful: 1, dropped: 2 } as const

/** Those that hold, for these files, the surest first; those about no file come last. */
export function chosenLessons(found: readonly Lesson[], isWanted: (path: string) => boolean): readonly Lesson[] {
  const rank = ({ standing, files }: Lesson): number => RANK[standing] * 2 + (files.length === 0 ? 1 : 0)
  return found
    .filter(({ standing }) => standing !== 'dropped')
    .filter(({ files }) => files.length === 0 || files.some(({ now }) => now !== null && isWanted(now)))
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, CHOSEN_MAX)
}

/** Whose words they are, and about what. */
export function lessonHead({ by, files, standing, why }: Lesson): string {
  const about = files.flatMap(({ now }) => now ?? []).join(', ')
  const doubt = standing === 'doubtful' ? `; doubtful: ${why}` : ''
  return `what '${by}' said about earlier work${about === '' ? '' : ` in ${about}`}${doubt}`.replaceAll('\n', ' ')
}
