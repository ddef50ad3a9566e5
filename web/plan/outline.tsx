// The tasks as a list, top to bottom; finished tasks fold into one row, so that the current ones stand out.

import { ChevronDown, ChevronRight } from 'lucide-react'
import { useState } from 'react'
import type { LivePlan } from '../data/live.ts'
import type { TaskView } from '../data/live-messages.ts'
import { Button } from '../parts/button.tsx'
import { useNow } from '../parts/clock.ts'
import { Glyph, signOf } from '../parts/glyph.tsx'
import { asksWord, clock, lookWord, span, took } from '../parts/words.ts'

const DONE_SHOWN = 2
const ROWS_MAX = 400

export function Outline({
  plan,
  selected,
  onSelect,
}: {
  readonly plan: LivePlan
  readonly selected: string | null
  readonly onSelect: (task: string) => void
}) {
  const [isAll, setAll] = useState(false)
  const [rows, setRows] = useState(ROWS_MAX)
  const done = plan.tasks.filter(({ look }) => look === 'completed' || look === 'skipped')
  const isOver = done.length === plan.tasks.length
  const isFolded = !isAll && !isOver && done.length > DONE_SHOWN
  const shown = isFolded ? plan.tasks.filter(({ look }) => look !== 'completed' && look !== 'skipped') : plan.tasks
  const sum = done.reduce(
    (all, { startedAt, endedAt }) => all + (startedAt === null || endedAt === null ? 0 : endedAt - startedAt),
    0,
  )
  return (
    <div className="outline-scroll">
      <ul className="outline">
        {!isOver && done.length > DONE_SHOWN && (
          <li className="past">
            <button type="button" aria-expanded={!isFolded} onClick={() => setAll(!isAll)}>
              <Glyph sign="completed" />
              <b>{done.length} done</b>
              <em>{clock(sum)}</em>
              {isFolded ? <ChevronRight size={15} aria-hidden="true" /> : <ChevronDown size={15} aria-hidden="true" />}
            </button>
          </li>
        )}
        {shown.slice(0, rows).map(task => (
          <Row key={task.name} task={task} isSelected={task.name === selected} onSelect={onSelect} />
        ))}
      </ul>
      {shown.length > rows && <Button onClick={() => setRows(rows + 1_000)}>Show {shown.length - rows} more</Button>}
    </div>
  )
}

function Row({
  task,
  isSelected,
  onSelect,
}: {
  readonly task: TaskView
  readonly isSelected: boolean
  readonly onSelect: (task: string) => void
}) {
  return (
    <li className={`${task.look}${isSelected ? ' selected' : ''}`}>
      <button type="button" aria-pressed={isSelected} onClick={() => onSelect(task.name)}>
        <Glyph sign={signOf(task)} label={lookWord(task.look)} />
        <span className="outline-text">
          <b className="mono">{task.name}</b>
          <span>{lineOf(task)}</span>
        </span>
        <em>
          <When task={task} />
        </em>
      </button>
    </li>
  )
}

function lineOf({ title, look, asks, reason, by }: TaskView): string {
  if (asks !== null) return asksWord(asks)
  if ((look === 'failed' || look === 'blocked' || look === 'retrying') && reason !== null) return reason
  if (by !== null) return `${by} works on it`
  return title ?? ''
}

function When({ task }: { readonly task: TaskView }) {
  const now = useNow()
  if (task.since !== null && task.status === 'waiting') return span(now - task.since)
  if (task.look === 'retrying' && task.retryAt !== null) return `in ${span(task.retryAt - now)}`
  if (task.look === 'running' && task.startedAt !== null) return clock(now - task.startedAt)
  return task.startedAt === null || task.endedAt === null ? '' : took(task.endedAt - task.startedAt)
}
