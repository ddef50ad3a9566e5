// What a task changes in files: what it would do, while it has not, and what it wrote.

import { useQuery } from '@tanstack/react-query'
import { taskPreview } from '../data/api.ts'
import type { TaskDetail } from '../data/live-messages.ts'
import { Diff } from '../parts/diff.tsx'
import { Empty, Skeleton } from '../parts/states.tsx'
import { count } from '../parts/words.ts'

export function Changes({ plan, detail }: { readonly plan: string; readonly detail: TaskDetail }) {
  const { name, status, attempt } = detail.view
  const isDone = status === 'completed'
  const preview = useQuery({
    queryKey: ['preview', plan, name, status, attempt],
    queryFn: () => taskPreview(plan, name),
    enabled: !isDone && detail.view.action === 'edit',
  })
  if (detail.wrotePaths !== null && detail.wrotePaths > 0)
    return (
      <section>
        <p className="dim">It changed {count(detail.wrotePaths, 'file')}.</p>
      </section>
    )
  if (preview.isLoading) return <Skeleton height={90} />
  if (preview.data != null)
    return (
      <section>
        <h3>Would change</h3>
        <Diff text={preview.data.text} />
      </section>
    )
  return (
    <Empty title="No changes">
      {detail.wrotePaths === null ? <p>Nobody looked at what it writes.</p> : <p>It changed no file.</p>}
    </Empty>
  )
}
