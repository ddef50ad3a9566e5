// The tasks as a list, top to bottom; finished tasks fold into one row, so that the current ones stand out.

import { ChevronDown, ChevronRight } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import type { LivePlan } from '../data/live.ts'
import type { TaskView } from '../data/live-messages.ts'
import { useNow } from '../parts/clock.ts'
import { Glyph, signOf } from '../parts/glyph.tsx'
import { useRowWindow } from '../parts/row-window.ts'
import { asksWord, clock, count, lookWord, span, took } from '../parts/words.ts'
import { TerminalText } from '../terminal/terminal-text.tsx'

const DONE_SHOWN = 2
const ROW_HEIGHT = 52

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
  const box = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLUListElement>(null)
  const done = plan.tasks.filter(({ look }) => look === 'completed' || look === 'skipped')
  const isOver = done.length === plan.tasks.length
  const isFolded = !isAll && !isOver && done.length > DONE_SHOWN
  const shown = isFolded ? plan.tasks.filter(({ look }) => look !== 'completed' && look !== 'skipped') : plan.tasks
  const sum = done.reduce(
    (all, { startedAt, endedAt }) => all + (startedAt === null || endedAt === null ? 0 : endedAt - startedAt),
    0,
  )
  const { rows, items, padding } = useRowWindow({ box, list, count: shown.length, estimate: ROW_HEIGHT })
  const selectedAt = shown.findIndex(({ name }) => name === selected)
  // Keys choose tasks that are not drawn, too.
  useEffect(() => {
    if (selectedAt !== -1) rows.scrollToIndex(selectedAt, { align: 'auto' })
  }, [rows, selectedAt])
  return (
    <div ref={box} className="outline-scroll">
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
      </ul>
      <ul ref={list} className="outline" style={padding} aria-label={count(shown.length, 'task')}>
        {items.map(({ index }) => (
          <Row
            key={shown[index]!.name}
            ref={rows.measureElement}
            index={index}
            task={shown[index]!}
            isSelected={index === selectedAt}
            onSelect={onSelect}
          />
        ))}
      </ul>
    </div>
  )
}

function Row({
  ref,
  index,
  task,
  isSelected,
  onSelect,
}: {
  readonly ref: (element: HTMLElement | null) => void
  readonly index: number
  readonly task: TaskView
  readonly isSelected: boolean
  readonly onSelect: (task: string) => void
}) {
  return (
    <li ref={ref} data-index={index} className={`${task.look}${isSelected ? ' selected' : ''}`}>
      <button type="button" aria-pressed={isSelected} onClick={() => onSelect(task.name)}>
        <Glyph sign={signOf(task)} label={lookWord(task.look)} />
        <span className="outline-text">
          <b className="mono">{task.name}</b>
          <span>
            <TerminalText text={lineOf(task)} inButton />
          </span>
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
