// A name nobody knows: refused with the nearest that somebody does.

import type { TaskName } from '../id.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { suggest } from '../suggest.ts'
import type { Draft } from './draft.ts'

export function unknownTask(draft: Draft, name: TaskName): Refusal {
  const near = suggest(name, draft.state.tasks.keys())
  return refuse(
    'not-found',
    `the plan has no task '${name}'`,
    near === null ? 'see `planfold show`' : `did you mean '${near}'?`,
  )
}
