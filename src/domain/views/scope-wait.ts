// Why a task waits for another plan, as a sentence with the plan, the task, the files, and what ends the wait.

import { advise, type Hint, joinHints, quoted } from '../hint.ts'

export interface ScopeWaitFacts {
  readonly task: string
  readonly by: readonly {
    readonly name: string
    readonly task: string
    readonly paths: readonly string[]
    readonly driven: boolean
  }[]
}

const SHOWN_MAX = 3

/** `plan 'p' (task 'a') has locked src/**`, for each holder. Plans that the caller may not see are not in `by`. */
export function scopeHolders({ by }: ScopeWaitFacts): string {
  if (by.length === 0) return 'a task of another plan has locked them'
  const shown = by.slice(0, SHOWN_MAX).map(({ name, task, paths }) => {
    const more = paths.length > SHOWN_MAX ? ` and ${paths.length - SHOWN_MAX} more` : ''
    return `plan '${name}' (task '${task}') has locked ${paths.slice(0, SHOWN_MAX).join(', ')}${more}`
  })
  return by.length > SHOWN_MAX ? `${shown.join('; ')}; and ${by.length - SHOWN_MAX} more` : shown.join('; ')
}

/** Plans without a driver, which must be resumed or cancelled to release their files. */
export const stalledPlans = (waits: readonly ScopeWaitFacts[]): readonly string[] => [
  ...new Set(waits.flatMap(({ by }) => by.filter(({ driven }) => !driven).map(({ name }) => name))),
]

export function explainScopeWait(wait: ScopeWaitFacts): Hint {
  const stalled = stalledPlans([wait])
  const ways = stalled.map(
    name =>
      advise`'${name}' is not running: ${quoted('resume', { plan: name })} continues it, ${quoted('cancel', { plan: name })} cancels it`,
  )
  const end = ways.length === 0 ? 'it starts when that has finished' : joinHints(ways, '; ')
  return advise`'${wait.task}' is ready, but waits for files: ${scopeHolders(wait)}; ${end}`
}
