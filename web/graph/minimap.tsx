// The whole plan, small, in the corner of the graph: drawn on one canvas, with a frame around the visible part.

import { type RefObject, useEffect, useRef } from 'react'
import type { GraphLayout } from '../../src/domain/views/graph-layout.ts'
import type { TaskView } from '../data/live-messages.ts'
import { drawBlocks } from './task-blocks.tsx'

const [WIDTH, HEIGHT] = [142, 74]
const EVERY_MS = 500

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
  const k = scaleOf(layout)
  const { left, top } = offsetOf(layout, k)
  context.translate(left, top)
  drawBlocks(element, context, layout.nodes, tasks, k)
}
