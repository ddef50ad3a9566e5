// The tasks of the graph, in groups: when states change, only groups with a changed task are rendered.

import { memo, useMemo } from 'react'
import { actionFacts } from '../../src/domain/actions/actions.ts'
import type { Place } from '../../src/domain/views/graph-layout.ts'
import type { TaskView } from '../data/live-messages.ts'
import { useNow } from '../parts/clock.ts'
import { Glyph, signOf } from '../parts/glyph.tsx'
import { clock, lookWord, span, took } from '../parts/words.ts'
import { TerminalText } from '../terminal/terminal-text.tsx'

export type Detail = 'full' | 'name' | 'blocks'

export interface NodeLayerProps {
  readonly tasks: readonly TaskView[]
  readonly places: ReadonlyMap<string, Place>
  readonly isInView: (place: Place) => boolean
  readonly detail: Detail
  readonly selected: string | null
  readonly folded: ReadonlySet<string>
  readonly onSelect: (task: string) => void
  readonly onFold: (group: string) => void
}

const GROUP = 40

export function NodeLayer({ tasks, selected, ...rest }: NodeLayerProps) {
  const groups = useMemo(
    () => Array.from({ length: Math.ceil(tasks.length / GROUP) }, (_, at) => tasks.slice(at * GROUP, (at + 1) * GROUP)),
    [tasks],
  )
  return groups.map((group, at) => (
    <NodeGroup
      // biome-ignore lint/suspicious/noArrayIndexKey: a group is its place.
      key={at}
      tasks={group}
      selected={group.some(({ name }) => name === selected) ? selected : null}
      {...rest}
    />
  ))
}

const NodeGroup = memo(
  function NodeGroup({ tasks, places, isInView, detail, selected, folded, onSelect, onFold }: NodeLayerProps) {
    return tasks.map(task => {
      const place = places.get(task.name)
      return place === undefined || !isInView(place) ? null : (
        <Node
          key={task.name}
          task={task}
          place={place}
          detail={detail}
          isSelected={task.name === selected}
          isFolded={folded.has(task.name)}
          onSelect={onSelect}
          onFold={onFold}
        />
      )
    })
  },
  (before, { tasks, ...now }) =>
    tasks.length === before.tasks.length &&
    tasks.every((task, at) => task === before.tasks[at]) &&
    (Object.keys(now) as (keyof typeof now)[]).every(key => now[key] === before[key]),
)

interface NodeProps {
  readonly task: TaskView
  readonly place: Place
  readonly detail: Detail
  readonly isSelected: boolean
  readonly isFolded: boolean
  readonly onSelect: (task: string) => void
  readonly onFold: (group: string) => void
}

const Node = memo(function Node({ task, place, detail, isSelected, isFolded, onSelect, onFold }: NodeProps) {
  const isGate = task.action === 'gate'
  const { name, title, look } = task
  const label = `${name}${title === null ? '' : `, ${title}`}: ${lookWord(look)}`
  const classes = `${isGate ? 'gate' : 'node'} ${look}${isSelected ? ' selected' : ''}${isFolded ? ' folded' : ''}`
  const style = { left: place.x, top: place.y, width: place.width, height: place.height }
  const shared = {
    type: 'button' as const,
    'data-task': name,
    className: classes,
    style,
    'aria-pressed': isSelected,
    onClick: () => onSelect(name),
    ...(task.children === null ? {} : { onDoubleClick: () => onFold(name) }),
  }
  if (detail === 'blocks') return <button {...shared} aria-label={label} />
  if (isGate)
    return (
      <button {...shared}>
        <svg width="44" height="44" viewBox="0 0 44 44" aria-hidden="true">
          <rect x="7" y="7" width="30" height="30" rx="6" transform="rotate(45 22 22)" />
          {look === 'completed' && <path d="m15.5 22.5 4.5 4.5 8.5-9" />}
          {look === 'waiting' && <path d="M22 14v9.5M22 29.4v.2" />}
          {look === 'failed' && <path d="m17.5 17.5 9 9m0-9-9 9" />}
        </svg>
        <span className="gate-label">
          <b>{name}</b>
          {detail === 'full' && look === 'waiting' ? (
            <span>asks you</span>
          ) : (
            <span className="hidden">{lookWord(look)}</span>
          )}
        </span>
      </button>
    )
  return (
    <button {...shared}>
      <Glyph sign={signOf(task)} label={lookWord(look)} />
      <b>{name}</b>
      {detail === 'full' && (
        <>
          <em>{task.children === null ? <Took task={task} /> : `${task.childrenDone} of ${task.children.length}`}</em>
          <span>{title ?? <TerminalText text={secondLine(task)} inButton />}</span>
          {look === 'running' && <i className="bar" />}
        </>
      )}
    </button>
  )
})

function secondLine({ look, reason, action, by }: TaskView): string {
  if (by !== null) return by
  if (look === 'failed' && reason !== null) return reason
  return actionFacts({ type: action }).words ?? action
}

function Took({ task }: { readonly task: TaskView }) {
  if (task.look === 'running' || task.look === 'retrying') return <Ticking task={task} />
  return task.startedAt === null || task.endedAt === null ? null : took(task.endedAt - task.startedAt)
}

function Ticking({ task }: { readonly task: TaskView }) {
  const now = useNow()
  if (task.look === 'retrying' && task.retryAt !== null) return `in ${span(task.retryAt - now)}`
  return task.startedAt === null ? null : clock(now - task.startedAt)
}
