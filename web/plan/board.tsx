// The tasks in columns by state; tasks move to the right as they progress.

import '../styles/board.css'
import { useEffect, useRef } from 'react'
import type { LivePlan } from '../data/live.ts'
import type { Look, TaskView } from '../data/live-messages.ts'
import { Glyph, signOf } from '../parts/glyph.tsx'
import { asksWord, lookWord, took } from '../parts/words.ts'
import { TerminalText } from '../terminal/terminal-text.tsx'

const COLUMNS: readonly { readonly title: string; readonly looks: readonly Look[] }[] = [
  { title: 'To come', looks: ['pending', 'blocked'] },
  { title: 'Ready', looks: ['ready', 'retrying', 'interrupted'] },
  { title: 'Running', looks: ['running'] },
  { title: 'Waiting for you', looks: ['waiting', 'lost'] },
  { title: 'Failed', looks: ['failed', 'cancelled', 'abandoned'] },
  { title: 'Done', looks: ['completed', 'skipped'] },
]
const CARDS_MAX = 100

export default function Board({
  plan,
  selected,
  onSelect,
}: {
  readonly plan: LivePlan
  readonly selected: string | null
  readonly onSelect: (task: string) => void
}) {
  // If not all columns fit, scrolls to the first of waiting, running and failed tasks.
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    const now = element?.querySelector<HTMLElement>('[data-now]')
    if (element != null && now != null && element.scrollWidth > element.clientWidth)
      element.scrollLeft = now.offsetLeft - element.offsetLeft - 12
  }, [])
  const first = ['Waiting for you', 'Running', 'Failed'].find(title =>
    COLUMNS.some(column => column.title === title && plan.tasks.some(({ look }) => column.looks.includes(look))),
  )
  return (
    <div ref={box} className="board">
      {COLUMNS.map(({ title, looks }) => {
        const found = plan.tasks.filter(({ look }) => looks.includes(look))
        const tasks = title === 'Done' ? found.toSorted((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0)) : found
        if (title === 'Failed' && tasks.length === 0) return null
        return (
          <section
            key={title}
            aria-label={`${title}, ${tasks.length}`}
            {...(title === first ? { 'data-now': true } : {})}
          >
            <h2>
              {title} <span className="num dim">{tasks.length}</span>
            </h2>
            <ul>
              {tasks.slice(0, CARDS_MAX).map(task => (
                <Card key={task.name} task={task} isSelected={task.name === selected} onSelect={onSelect} />
              ))}
            </ul>
            {tasks.length > CARDS_MAX && <p className="dim">and {tasks.length - CARDS_MAX} more</p>}
          </section>
        )
      })}
    </div>
  )
}

function Card({
  task,
  isSelected,
  onSelect,
}: {
  readonly task: TaskView
  readonly isSelected: boolean
  readonly onSelect: (task: string) => void
}) {
  const time = task.startedAt !== null && task.endedAt !== null ? took(task.endedAt - task.startedAt) : ''
  const line =
    task.asks !== null ? asksWord(task.asks) : ((task.look === 'failed' ? task.reason : null) ?? task.title ?? '')
  return (
    <li>
      <button
        type="button"
        className={`card ${task.look}${isSelected ? ' selected' : ''}`}
        aria-pressed={isSelected}
        onClick={() => onSelect(task.name)}
      >
        <Glyph sign={signOf(task)} label={lookWord(task.look)} />
        <b className="mono">{task.name}</b>
        <em>{time}</em>
        {line !== '' && (
          <span>
            <TerminalText text={line} inButton />
          </span>
        )}
      </button>
    </li>
  )
}
