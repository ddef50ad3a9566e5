// Tasks as blocks in the colour of their state, drawn on a canvas: for the small map, and for plans so large that a document with an
// element for each task could not be moved thirty times a second.

import { useLayoutEffect, useRef } from 'react'
import type { Place } from '../../src/domain/views/graph-layout.ts'
import type { TaskView } from '../data/live-messages.ts'
import type { CriticalPath } from './critical-path.ts'
import { type DrawnEdge, KINDS, type Kind, kindOf, type Window } from './edge-layer.tsx'

/** Plans of this size are drawn on one canvas where their tasks are blocks. */
export const CANVAS_FROM = 1_500

/** Name of a colour, and how opaque it is. */
const BLOCKS: { readonly [look: string]: readonly [string, number] } = {
  completed: ['--done', 0.62],
  skipped: ['--done', 0.28],
  running: ['--run', 1],
  waiting: ['--wait-fill', 1],
  lost: ['--wait-fill', 1],
  retrying: ['--wait-fill', 1],
  failed: ['--fail', 1],
}
const EDGES: { readonly [kind in Kind]: { readonly colour: string; readonly width: number; readonly dash: number[] } } =
  {
    outcome: { colour: '--line2', width: 1, dash: [2, 3] },
    next: { colour: '--line2', width: 1, dash: [3, 4] },
    done: { colour: '--line2', width: 1, dash: [] },
    now: { colour: '--ink3', width: 1, dash: [] },
    'critical-next': { colour: '--ink3', width: 1.5, dash: [5, 4] },
    critical: { colour: '--ink', width: 1.5, dash: [] },
  }
/** Rounded corners of smaller blocks would not be visible. */
const SMALL = 4

/** Reads the colours of the present theme, each once. */
function coloursOf(element: Element): (name: string) => string {
  const style = getComputedStyle(element)
  const found = new Map<string, string>()
  return name => {
    const known = found.get(name) ?? style.getPropertyValue(name)
    found.set(name, known)
    return known
  }
}

/** `scale`: from the units of the layout to those of the canvas. */
export function drawBlocks(
  element: HTMLCanvasElement,
  context: CanvasRenderingContext2D,
  places: Iterable<Place>,
  tasks: ReadonlyMap<string, TaskView>,
  scale: number,
): void {
  const colour = coloursOf(element)
  for (const { id, x, y, width, height } of places) {
    const task = tasks.get(id)
    const [name, alpha] = BLOCKS[task?.look ?? ''] ?? ['--line2', 1]
    context.fillStyle = colour(name)
    context.globalAlpha = alpha
    const [left, top] = [x * scale, y * scale]
    const [wide, high] = [Math.max(2, width * scale), Math.max(1, height * scale)]
    if (task?.action !== 'gate' && (wide < SMALL || high < SMALL)) {
      context.fillRect(left, top, wide, high)
      continue
    }
    context.beginPath()
    if (task?.action === 'gate') {
      const [cx, cy, r] = [left + wide / 2, top + high / 2, Math.max(1.5, wide / 1.8)]
      context.moveTo(cx, cy - r)
      context.lineTo(cx + r, cy)
      context.lineTo(cx, cy + r)
      context.lineTo(cx - r, cy)
    } else context.roundRect(left, top, wide, high, Math.min(10 * scale, high / 4))
    context.fill()
  }
  context.globalAlpha = 1
}

export function BlockCanvas({
  places,
  tasks,
  edges,
  critical,
  selected,
  view,
  scale,
}: {
  readonly places: ReadonlyMap<string, Place>
  readonly tasks: ReadonlyMap<string, TaskView>
  readonly edges: readonly DrawnEdge[]
  readonly critical: CriticalPath
  readonly selected: string | null
  readonly view: Window
  readonly scale: number
}) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useLayoutEffect(() => {
    const element = canvas.current
    const draw = (): void => {
      const context = element?.getContext('2d')
      if (element == null || context == null) return
      const sharp = scale * devicePixelRatio
      element.width = Math.ceil((view.right - view.left) * sharp)
      element.height = Math.ceil((view.bottom - view.top) * sharp)
      context.translate(-view.left * sharp, -view.top * sharp)
      drawEdges(element, context, edges, tasks, critical, view, sharp)
      const seen = (one: Place): boolean =>
        one.x < view.right && one.x + one.width > view.left && one.y < view.bottom && one.y + one.height > view.top
      drawBlocks(element, context, [...places.values()].filter(seen), tasks, sharp)
      const place = selected === null ? undefined : places.get(selected)
      if (place === undefined) return
      context.strokeStyle = coloursOf(element)('--run')
      context.lineWidth = 2 * devicePixelRatio
      context.strokeRect(place.x * sharp - 3, place.y * sharp - 3, place.width * sharp + 6, place.height * sharp + 6)
    }
    draw()
    const theme = new MutationObserver(draw)
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => theme.disconnect()
  }, [places, tasks, edges, critical, selected, view, scale])
  return (
    <canvas
      ref={canvas}
      className="blocks"
      role="img"
      aria-label={`${tasks.size} tasks; their names are in the outline, and here at a larger scale`}
      style={{ left: view.left, top: view.top, width: view.right - view.left, height: view.bottom - view.top }}
    />
  )
}

function drawEdges(
  element: Element,
  context: CanvasRenderingContext2D,
  edges: readonly DrawnEdge[],
  tasks: ReadonlyMap<string, TaskView>,
  critical: CriticalPath,
  view: Window,
  scale: number,
): void {
  const colour = coloursOf(element)
  const paths: { [kind in Kind]?: string[] } = {}
  for (const edge of edges) {
    if (edge.left > view.right || edge.right < view.left || edge.top > view.bottom || edge.bottom < view.top) continue
    const kind = kindOf(edge, tasks, critical)
    paths[kind] ??= []
    paths[kind].push(edge.d)
  }
  context.save()
  context.scale(scale, scale)
  for (const kind of KINDS) {
    const { colour: name, width, dash } = EDGES[kind]
    const found = paths[kind]
    if (found === undefined) continue
    context.strokeStyle = colour(name)
    context.lineWidth = (width * devicePixelRatio) / scale
    context.setLineDash(found.length > CANVAS_FROM ? [] : dash.map(length => length / scale))
    context.stroke(new Path2D(found.join('')))
  }
  context.restore()
}
