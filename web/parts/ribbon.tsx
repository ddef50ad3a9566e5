// A plan in one line: one tick per task, tall for current and low for future tasks.

import { memo } from 'react'
import type { Look, TaskView } from '../data/live-messages.ts'

const TICKS_MAX = 120
/** If several tasks share a tick, the most important one decides its look. */
const WEIGHT: readonly Look[] = [
  'waiting',
  'lost',
  'failed',
  'running',
  'interrupted',
  'retrying',
  'ready',
  'pending',
  'blocked',
  'completed',
  'skipped',
  'cancelled',
  'abandoned',
]

function Ticks({
  looks,
  label,
  max = TICKS_MAX,
}: {
  readonly looks: readonly Look[]
  readonly label: string
  readonly max?: number
}) {
  const shown = looks.length <= max ? looks : binned(looks, max)
  return (
    <span className={`ribbon${shown.length > 32 ? ' dense' : ''}`} role="img" aria-label={label}>
      {shown.map((look, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a tick is its place.
        <i key={at} className={look} />
      ))}
    </span>
  )
}

function binned(looks: readonly Look[], max: number): readonly Look[] {
  return Array.from({ length: max }, (_, at) => {
    const part = looks.slice(Math.floor((at * looks.length) / max), Math.floor(((at + 1) * looks.length) / max))
    return WEIGHT.find(look => part.includes(look)) ?? 'pending'
  })
}

export const Ribbon = memo(function Ribbon({
  tasks,
  max,
}: {
  readonly tasks: readonly TaskView[]
  readonly max?: number
}) {
  const counts: Partial<Record<Look, number>> = {}
  for (const { look } of tasks) counts[look] = (counts[look] ?? 0) + 1
  return <CountRibbon counts={counts} max={max ?? TICKS_MAX} />
})

const ORDER: readonly Look[] = [
  'completed',
  'skipped',
  'failed',
  'cancelled',
  'abandoned',
  'waiting',
  'lost',
  'running',
  'interrupted',
  'retrying',
  'ready',
  'blocked',
  'pending',
]

export const CountRibbon = memo(function CountRibbon({
  counts,
  max = 40,
}: {
  readonly counts: Readonly<Record<string, number>>
  readonly max?: number
}) {
  const looks = ORDER.flatMap(look => new Array<Look>(counts[look] ?? 0).fill(look))
  return <Ticks looks={looks} label="progress" max={max} />
})
