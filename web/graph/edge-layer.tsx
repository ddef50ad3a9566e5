// The edges of the graph, drawn in groups of a few paths each. When states change, only groups with a changed edge are drawn
// again.

import { memo, useMemo } from 'react'
import type { LaidEdge } from '../../src/domain/views/graph-layout.ts'
import type { TaskView } from '../data/live-messages.ts'
import type { CriticalPath } from './critical-path.ts'

export interface Window {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

export interface DrawnEdge {
  readonly from: string
  readonly to: string
  readonly outcome: string | null
  readonly d: string
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

export function drawEdge({ from, to, outcome, shape, points }: LaidEdge): DrawnEdge {
  const xs = points.map(point => point.x)
  const ys = points.map(point => point.y)
  const [first, ...rest] = points
  let d = `M${first!.x} ${first!.y}`
  if (shape === 'arc') d += `C${rest.map(({ x, y }) => `${x} ${y}`).join(' ')}`
  else {
    let at = first!
    for (const point of rest) {
      const middle = (at.x + point.x) / 2
      d += at.y === point.y ? `H${point.x}` : `C${middle} ${at.y} ${middle} ${point.y} ${point.x} ${point.y}`
      at = point
    }
  }
  return {
    from,
    to,
    outcome,
    d,
    left: Math.min(...xs),
    right: Math.max(...xs),
    top: Math.min(...ys),
    bottom: Math.max(...ys),
  }
}

export const KINDS = ['outcome', 'next', 'done', 'now', 'critical-next', 'critical'] as const
export type Kind = (typeof KINDS)[number]
const AWAY = '-'
const SIGNS: { readonly [kind in Kind]: string } = {
  outcome: 'o',
  next: 'n',
  done: 'd',
  now: 'w',
  'critical-next': 'm',
  critical: 'c',
}
const GROUP = 40

export function EdgeLayer({
  edges,
  tasks,
  critical,
  view,
  hasArrows,
}: {
  readonly edges: readonly DrawnEdge[]
  readonly tasks: ReadonlyMap<string, TaskView>
  readonly critical: CriticalPath
  readonly view: Window | null
  readonly hasArrows: boolean
}) {
  const groups = useMemo(
    () => Array.from({ length: Math.ceil(edges.length / GROUP) }, (_, at) => edges.slice(at * GROUP, (at + 1) * GROUP)),
    [edges],
  )
  return (
    <svg className="edges" width="1" height="1" aria-hidden="true">
      <defs>
        <marker id="back" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M1 1l5 3-5 3" fill="none" stroke="var(--ink3)" strokeWidth="1.4" />
        </marker>
      </defs>
      {groups.map((group, at) => (
        <EdgeGroup
          // biome-ignore lint/suspicious/noArrayIndexKey: a group is its place.
          key={at}
          edges={group}
          hasArrows={hasArrows}
          signs={group.map(edge => signOf(edge, tasks, critical, view)).join('')}
        />
      ))}
    </svg>
  )
}

const EdgeGroup = memo(function EdgeGroup({
  edges,
  signs,
  hasArrows,
}: {
  readonly edges: readonly DrawnEdge[]
  readonly signs: string
  readonly hasArrows: boolean
}) {
  return KINDS.flatMap(kind => {
    const parts = edges.filter((_, at) => signs[at] === SIGNS[kind]).map(({ d }) => d)
    // A path has one arrow, at its end, so every edge with an arrow is a path of its own.
    const isArrow = kind === 'outcome' && hasArrows
    const paths = isArrow ? parts : parts.length === 0 ? [] : [parts.join('')]
    return paths.map((d, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: edges stay in their order.
      <path key={`${kind}${at}`} className={`edge ${kind}`} d={d} {...(isArrow ? { markerEnd: 'url(#back)' } : {})} />
    ))
  })
})

function signOf(
  edge: DrawnEdge,
  tasks: ReadonlyMap<string, TaskView>,
  critical: CriticalPath,
  view: Window | null,
): string {
  if (view === null || edge.left > view.right || edge.right < view.left) return AWAY
  if (edge.top > view.bottom || edge.bottom < view.top) return AWAY
  return SIGNS[kindOf(edge, tasks, critical)]
}

export function kindOf(
  { from, to, outcome }: DrawnEdge,
  tasks: ReadonlyMap<string, TaskView>,
  critical: CriticalPath,
): Kind {
  if (outcome !== null) return 'outcome'
  const [source, target] = [tasks.get(from), tasks.get(to)]
  const isDone = source?.status === 'completed' || source?.status === 'skipped'
  if (critical.edges.has(`${from}\n${to}`)) return isDone ? 'critical' : 'critical-next'
  if (!isDone) return 'next'
  const isNow =
    target?.look === 'running' ||
    target?.look === 'waiting' ||
    target?.look === 'retrying' ||
    target?.look === 'failed' ||
    target?.look === 'lost'
  return isNow ? 'now' : 'done'
}
