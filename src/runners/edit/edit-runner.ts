// Carries out edits of files. All of them are worked out in memory first, so one that does not fit changes nothing; then
// each file takes its new content in one step, only where the content still is the one that was read.

import type { Json } from '../../domain/json.ts'
import type { Edit } from '../../domain/plan.ts'
import { openGate, type PathGate } from '../../safety/path-gate.ts'
import { type Answer, answering } from '../../safety/refused.ts'
import type { Attempt, Runner, RunnerTools } from '../runner.ts'
import { commitChanges } from './commit-changes.ts'
import { type Change, draftEdits } from './draft.ts'
import { shownChanges } from './shown-changes.ts'

export function editRunner(): Runner {
  return {
    action: 'edit',
    async preview(attempt, tools) {
      const drafted = await drafting(attempt, tools, async changes => await shownChanges(changes))
      return { text: drafted.ok ? drafted.value : `${drafted.failure.message} ${drafted.failure.hint ?? ''}` }
    },
    async attempt(attempt, tools, stop) {
      if (stop.aborted) return { type: 'interrupted' }
      const edited = await drafting(attempt, tools, async (changes, gate) => {
        if (stop.aborted) return 'interrupted'
        return { changes, failure: await commitChanges(changes, gate) }
      })
      if (!edited.ok) return { type: 'failed', failure: edited.failure }
      if (edited.value === 'interrupted') return { type: 'interrupted' }
      const { changes, failure } = edited.value
      return failure === null
        ? { type: 'done', outputs: { files: changes.map(asOutput) } }
        : { type: 'failed', failure }
    },
  }
}

async function drafting<T>(
  attempt: Attempt,
  tools: RunnerTools,
  use: (changes: readonly Change[], gate: PathGate) => Promise<T>,
): Promise<Answer<T>> {
  const gate = await openGate(tools)
  if (!gate.ok) return gate
  try {
    return await answering('Editing', async () => {
      return await use(await draftEdits(editsOf(attempt), gate.value, tools.write, tools.imagined), gate.value)
    })
  } finally {
    await gate.value.close()
  }
}

function editsOf({ action }: Attempt): readonly Edit[] {
  if (action.type !== 'edit') throw new TypeError(`not an edit: ${action.type}`)
  return action.edits
}

/** Hashes before and after; null where there is no file. */
const asOutput = ({ path, before, after }: Change): Json => ({
  path,
  before: before?.sha256 ?? null,
  after: after?.sha256 ?? null,
})
