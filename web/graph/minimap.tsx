// The whole plan, small, in the corner of the graph: drawn on one canvas, with a frame around the visible part.

import { type RefObject, useEffect, useRef } from 'react'
import type { GraphLayout } from '../../src/domain/views/graph-layout.ts'
import type { TaskView } from '../data/live-messages.ts'

const [WIDTH, HEIGHT] = [142, 74]
const EVERY_MS = 500
const SMALL = 4

/** Scale and offset of the map, which centre the plan in it. */
export const scaleOf = ({ width, height }: GraphLayout): number =>
  Math.min(WIDTH / Math.max(1, width), HEIGHT / Math.max(1, height))
export const offsetOf = (
  { width, height }: GraphLayout,
  k: number,
): { readonly left: number; readonly top: number } => ({
  left: (WIDTH - width * k) / 2,
  top: (HEIGHT - height * k) / 2,
})

const COLOURS: { readonly [look: string]: string } = {
  completed: '--done',
  skipped: '--line2',
  running: '--run',
  waiting: '--wait-fill',
  lost: '--wait-fill',
  retrying: '--wait-fill',
  failed: '--fail',
}

export function Minimap({
  layout,
  tasks,
  frame,
}: {
  readonly layout: GraphLayout
  readonly tasks: ReadonlyMap<string, TaskView>
  readonly frame: RefObject<HTMLDivElement | null>
}) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const drawnAt = useRef(0)
  // Draws the first time at once, later at a limited rate.
  useEffect(() => {
    const draw = (): void => {
      drawnAt.current = performance.now()
      if (canvas.current !== null) drawMap(canvas.current, layout, tasks)
    }
    const wait = drawnAt.current + EVERY_MS - performance.now()
    if (wait <= 0) return draw()
    const timer = setTimeout(draw, wait)
    return () => clearTimeout(timer)
  }, [layout, tasks])
  return (
    <div className="minimap" aria-hidden="true">
      <canvas ref={canvas} style={{ width: WIDTH, height: HEIGHT }} />
      <div ref={frame} className="minimap-frame" />
    </div>
  )
}

function drawMap(element: HTMLCanvasElement, layout: GraphLayout, tasks: ReadonlyMap<string, TaskView>): void {
  const context = element.getContext('2d')
  if (context === null) return
  const ratio = devicePixelRatio
  element.width = WIDTH * ratio
  element.height = HEIGHT * ratio
  context.scale(ratio, ratio)
  const style = getComputedStyle(element)
  const k = scaleOf(layout)
  const { left, top } = offsetOf(layout, k)
  context.translate(left, top)
  const found = new Map<string, string>()
  const colour = (name: string): string => {
    const known = found.get(name) ?? style.getPropertyValue(name)
    found.set(name, known)
    return known
  }
  for (const { id, x, y, width, height } of layout.nodes) {
    const task = tasks.get(id)
    context.fillStyle = colour(COLOURS[task?.look ?? ''] ?? '--line2')
    context.globalAlpha = task?.look === 'completed' ? 0.6 : 1
    const [wide, high] = [Math.max(2, width * k), Math.max(1, height * k * 0.6)]
    if (task?.action !== 'gate' && (wide < SMALL || high < SMALL)) {
      // Rounded corners would not be visible.
      context.fillRect(x * k, y * k + (height * k) / 5, wide, high)
      continue
    }
    context.beginPath()
    if (task?.action === 'gate') {
      const [cx, cy, r] = [(x + width / 2) * k, (y + height / 2) * k, Math.max(1.5, (width * k) / 1.8)]
      context.moveTo(cx, cy - r)
      context.lineTo(cx + r, cy)
      context.lineTo(cx, cy + r)
      context.lineTo(cx - r, cy)
    } else context.roundRect(x * k, y * k + (height * k) / 5, wide, high, 1)
    context.fill()
  }
}
