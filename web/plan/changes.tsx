// The file changes of a task: a preview before it ran, and the diff of an attempt afterwards.

import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { actionFacts } from '../../src/domain/actions/actions.ts'
import { type Hint, partsOf, plainStep } from '../../src/domain/hint.ts'
import { defined } from '../../src/domain/json.ts'
import { whyLines } from '../../src/domain/views/pages/why-lines.ts'
import { engine, taskPage } from '../data/api.ts'
import type { TaskDetail } from '../data/live-messages.ts'
import { visible } from '../parts/argv.tsx'
import { Diff, DiffModes, useDiffMode } from '../parts/diff.tsx'
import { FileDiffs } from '../parts/file-diffs.tsx'
import { Empty, Skeleton, Trouble } from '../parts/states.tsx'
import { count, dateOf, timeOf } from '../parts/words.ts'

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

const hintText = (hint: Hint): string =>
  partsOf(hint)
    .map(part => (typeof part === 'string' ? part : 'may' in part ? part.may : `planfold ${plainStep(part)}`))
    .join('')

/** Which task, person or commit stands behind the lines of the file as it is now. */
function WhyFile({ plan, path }: { readonly plan: string; readonly path: string }) {
  const [isOpen, setOpen] = useState(false)
  const ask = () => engine.ask({ type: 'why', path, plan })
  const { data, error } = useQuery({ queryKey: ['why', plan, path], queryFn: ask, enabled: isOpen })
  const words = { text: visible, time: (at: number) => `${dateOf(at)} ${timeOf(at)}`, hint: hintText }
  const lines = data == null ? [] : data.ok ? whyLines(data.why, words) : [data.refusal.message]
  return (
    <details className="why-file" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>Why are its lines there?</summary>
      {error !== null && <Trouble error={error} />}
      {isOpen && data === undefined && error === null && <Skeleton height={40} />}
      <ul>
        {lines.map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines are in order.
          <li key={at}>{line}</li>
        ))}
      </ul>
    </details>
  )
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
        <FileDiffs files={changes.files} mode={mode} about={path => <WhyFile plan={plan} path={path} />} />
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
