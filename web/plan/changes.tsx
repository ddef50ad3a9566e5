// The file changes of a task: a preview before it ran, and the diff of an attempt afterwards.

import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { actionFacts } from '../../src/domain/actions/actions.ts'
import { defined } from '../../src/domain/json.ts'
import { taskPage } from '../data/api.ts'
import type { TaskDetail } from '../data/live-messages.ts'
import { Diff, DiffModes, useDiffMode } from '../parts/diff.tsx'
import { FileDiffs } from '../parts/file-diffs.tsx'
import { Empty, Skeleton, Trouble } from '../parts/states.tsx'
import { count } from '../parts/words.ts'

export function useTaskPage(
  plan: string,
  detail: TaskDetail,
  which: { visit?: number; attempt?: number; tried?: string } = {},
) {
  const { name, status, visit, attempt } = detail.view
  return useQuery({
    queryKey: ['task', plan, name, status, visit, attempt, which],
    queryFn: () => taskPage(plan, name, which),
    placeholderData: before => before,
  })
}

export function Changes({ plan, detail }: { readonly plan: string; readonly detail: TaskDetail }) {
  const { attempt, visit } = useSearch({ from: '/plans/$plan' })
  const which = defined({ attempt, visit })
  const { data, error } = useTaskPage(plan, detail, which)
  const [mode, setMode] = useDiffMode()
  if (error !== null) return <Trouble error={error} />
  if (data === undefined) return <Skeleton height={90} />
  const { changes, preview } = data
  if (changes !== null && changes.files.length > 0)
    return (
      <section className="changes">
        <div className="changes-head">
          <span className="dim">
            {count(changes.files.length + changes.more, 'file')}, attempt {changes.attempt}
            {changes.visit > 1 && ` of visit ${changes.visit}`}
          </span>
          <span className="space" />
          <DiffModes mode={mode} onMode={setMode} />
        </div>
        <FileDiffs files={changes.files} mode={mode} />
        {changes.more > 0 && <p className="dim">and {changes.more} more</p>}
      </section>
    )
  if (preview !== null && actionFacts({ type: detail.view.action }).edits !== undefined)
    return (
      <section className="changes">
        <div className="changes-head">
          <h3>Would change</h3>
          <span className="space" />
          <DiffModes mode={mode} onMode={setMode} />
        </div>
        <Diff text={preview} mode={mode} />
      </section>
    )
  return (
    <Empty title="No changes">
      {detail.wrotePaths === null ? <p>Its file changes were not tracked.</p> : <p>It changed no files.</p>}
    </Empty>
  )
}
