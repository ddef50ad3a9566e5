// The graph of a plan. Only what is near the viewport is in the document; panning moves one element without rendering.

import '../styles/graph.css'
import { select } from 'd3-selection'
import { type D3ZoomEvent, type ZoomBehavior, zoom, zoomIdentity, zoomTransform } from 'd3-zoom'
import {
  type Ref,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { type GraphLayout, LAYOUT, layoutGraph, type Place } from '../../src/domain/views/graph-layout.ts'
import type { LivePlan } from '../data/live.ts'
import type { TaskView } from '../data/live-messages.ts'
import { type CriticalPath, criticalPath } from './critical-path.ts'
import { drawEdge, EdgeLayer, type Window } from './edge-layer.tsx'
import { focusOf, neighbour } from './graph-keys.ts'
import { type Detail, NodeLayer } from './graph-nodes.tsx'
import { Minimap, offsetOf, scaleOf } from './minimap.tsx'
import { BlockCanvas, CANVAS_FROM } from './task-blocks.tsx'

const SCALE_MIN = 0.06
const SCALE_MAX = 1.6
const MARGIN = 28
/** If the whole plan fits only below this scale, the view opens at the current task instead. */
const READABLE = 0.85

const detailAt = (scale: number): Detail => (scale >= 0.6 ? 'full' : scale >= 0.3 ? 'name' : 'blocks')

interface Seen extends Window {
  readonly detail: Detail
  readonly scale: number
}

const isCanvas = (detail: Detail, { nodes }: GraphLayout): boolean => detail === 'blocks' && nodes.length >= CANVAS_FROM

export interface GraphHandle {
  zoomBy(factor: number): void
  fit(): void
  show(task: string): void
}

export interface GraphProps {
  readonly plan: LivePlan
  readonly selected: string | null
  readonly folded: ReadonlySet<string>
  readonly critical: CriticalPath
  readonly onSelect: (task: string | null) => void
  readonly onFold: (group: string) => void
  readonly onScale: (scale: number) => void
  readonly ref: Ref<GraphHandle>
}

/** For plans of this size, it is computed at most once per second instead of for every event. */
const LARGE = 200
const LARGE_EVERY_MS = 1_000

export function useCritical(plan: LivePlan): CriticalPath {
  const [taken, take] = useState(plan)
  const takenAt = useRef(0)
  useEffect(() => {
    if (plan.tasks.length < LARGE || plan.tasks === taken.tasks) return
    const wait = Math.max(0, takenAt.current + LARGE_EVERY_MS - performance.now())
    const timer = setTimeout(() => {
      takenAt.current = performance.now()
      take(plan)
    }, wait)
    return () => clearTimeout(timer)
  }, [plan, taken])
  const { tasks, byName } = plan.tasks.length < LARGE || plan.shape !== taken.shape ? plan : taken
  return useMemo(() => criticalPath(tasks, byName), [tasks, byName])
}

export function GraphView({ plan, selected, folded, critical, onSelect, onFold, onScale, ref }: GraphProps) {
  const outer = useRef<HTMLDivElement>(null)
  const inner = useRef<HTMLDivElement>(null)
  const frame = useRef<HTMLDivElement>(null)
  const behaviour = useRef<ZoomBehavior<HTMLDivElement, unknown> | null>(null)
  const [view, setView] = useState<Seen | null>(null)
  const visible = useMemo(() => foldGroups(plan.tasks, plan.byName, folded), [plan.tasks, plan.byName, folded])
  const layout = useStableLayout(visible.tasks, plan.shape, folded)
  const places = useMemo(() => new Map(layout.nodes.map(place => [place.id, place])), [layout])
  const edges = useMemo(() => layout.edges.map(drawEdge), [layout])
  const laid = useRef({ layout, places })
  laid.current = { layout, places }

  const apply = useCallback(() => {
    const element = outer.current
    if (element === null || inner.current === null) return
    const { k, x, y } = zoomTransform(element)
    inner.current.style.transform = `translate(${x}px,${y}px) scale(${k})`
    const { clientWidth: width, clientHeight: height } = element
    const [left, top, right, bottom] = [-x / k, -y / k, (width - x) / k, (height - y) / k]
    if (frame.current !== null) placeFrame(frame.current, laid.current.layout, { left, top, right, bottom })
    const detail = detailAt(k)
    // No dots when zoomed out: repainting them in every frame would cost more than all tasks.
    if (detail !== 'blocks') element.style.backgroundPosition = `${x}px ${y}px`
    setView(before => {
      const isInside =
        before !== null && left >= before.left && top >= before.top && right <= before.right && bottom <= before.bottom
      const isClose =
        before !== null &&
        before.right - before.left < 3 * (right - left) &&
        (k === before.scale || !isCanvas(detail, laid.current.layout))
      if (isInside && isClose && before.detail === detail) return before
      const [mx, my] = [(right - left) * 0.4, (bottom - top) * 0.4]
      return { left: left - mx, top: top - my, right: right + mx, bottom: bottom + my, detail, scale: k }
    })
    onScale(k)
  }, [onScale])

  const go = useCallback((to: { readonly k: number; readonly x: number; readonly y: number }, isAtOnce = false) => {
    const element = outer.current
    const zooming = behaviour.current
    if (element === null || zooming === null) return
    const target = zoomIdentity.translate(to.x, to.y).scale(to.k)
    // On the way, each frame of a very large plan would be drawn anew.
    if (
      isAtOnce ||
      laid.current.layout.nodes.length >= CANVAS_FROM ||
      matchMedia('(prefers-reduced-motion: reduce)').matches
    ) {
      select(element).call(zooming.transform, target)
      return
    }
    const from = zoomTransform(element)
    const began = performance.now()
    const step = (now: number): void => {
      const t = Math.min(1, (now - began) / 240)
      const eased = 1 - (1 - t) ** 3
      const mix = (a: number, b: number): number => a + (b - a) * eased
      select(element).call(
        zooming.transform,
        zoomIdentity.translate(mix(from.x, target.x), mix(from.y, target.y)).scale(mix(from.k, target.k)),
      )
      if (t < 1) requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  }, [])

  const fitting = useCallback((): { k: number; x: number; y: number } => {
    const element = outer.current!
    const { layout } = laid.current
    const [width, height] = [element.clientWidth, element.clientHeight]
    const k = Math.max(
      SCALE_MIN,
      Math.min(1, (width - 2 * MARGIN) / layout.width, (height - 2 * MARGIN) / (layout.height + LAYOUT.label)),
    )
    return { k, x: (width - layout.width * k) / 2, y: (height - layout.height * k) / 2 }
  }, [])

  const centred = useCallback((name: string, k: number): { k: number; x: number; y: number } | null => {
    const place = laid.current.places.get(name)
    const element = outer.current
    if (place === undefined || element === null) return null
    const [x, y] = [place.x + place.width / 2, place.y + place.height / 2]
    return { k, x: element.clientWidth / 2 - x * k, y: element.clientHeight / 2 - y * k }
  }, [])

  useImperativeHandle(ref, () => ({
    zoomBy: factor => {
      const element = outer.current!
      const { k, x, y } = zoomTransform(element)
      const next = Math.min(SCALE_MAX, Math.max(SCALE_MIN, k * factor))
      const [cx, cy] = [element.clientWidth / 2, element.clientHeight / 2]
      go({ k: next, x: cx - ((cx - x) / k) * next, y: cy - ((cy - y) / k) * next })
    },
    fit: () => go(fitting()),
    show: name => {
      const { k } = zoomTransform(outer.current!)
      const to = centred(visible.shownAs(name), Math.max(READABLE, k))
      if (to !== null) go(to)
    },
  }))

  // biome-ignore lint/correctness/useExhaustiveDependencies: the camera is set once; afterwards only a person moves it.
  useLayoutEffect(() => {
    const element = outer.current!
    const zooming = zoom<HTMLDivElement, unknown>()
      .scaleExtent([SCALE_MIN, SCALE_MAX])
      .filter(event => (event.type === 'wheel' ? true : !event.button && !event.ctrlKey))
      .wheelDelta(event => -event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.002) * (event.ctrlKey ? 4 : 1))
      .on('zoom', (_: D3ZoomEvent<HTMLDivElement, unknown>) => apply())
    behaviour.current = zooming
    select(element).call(zooming).on('dblclick.zoom', null)
    const fit = fitting()
    const first = selected ?? focusOf(plan.tasks)
    const near = fit.k >= READABLE || first === null ? null : centred(visible.shownAs(first), READABLE)
    go(near === null ? fit : inside(near, laid.current.layout, element), true)
    const watching = new ResizeObserver(() => apply())
    watching.observe(element)
    return () => {
      watching.disconnect()
      select(element).on('.zoom', null)
    }
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: other places, other things in view.
  useEffect(apply, [layout, apply])

  const isInView = useCallback(
    ({ x, y, width, height }: Place): boolean =>
      view !== null &&
      x + width > view.left &&
      x < view.right &&
      y + height + LAYOUT.label > view.top &&
      y < view.bottom,
    [view],
  )
  const shownByName = useMemo(() => new Map(visible.tasks.map(task => [task.name, task])), [visible])
  const move = (event: React.KeyboardEvent): void => {
    const from = event.target instanceof HTMLElement ? event.target.dataset.task : undefined
    const to = from === undefined ? null : neighbour(from, event.key, layout, shownByName)
    if (to === null) return
    event.preventDefault()
    outer.current?.querySelector<HTMLElement>(`[data-task="${CSS.escape(to)}"]`)?.focus({ preventScroll: true })
    const place = places.get(to)
    if (place !== undefined && view !== null && outer.current !== null) {
      const { k, x, y } = zoomTransform(outer.current)
      const [px, py] = [place.x * k + x, place.y * k + y]
      if (
        px < 0 ||
        py < 0 ||
        px + place.width * k > outer.current.clientWidth ||
        py + place.height * k > outer.current.clientHeight
      ) {
        const next = centred(to, k)
        if (next !== null) go(next)
      }
    }
  }
  /** The task under the pointer, where tasks are no elements. */
  const blockAt = (event: React.MouseEvent): string | null => {
    if (view === null || !isCanvas(view.detail, layout)) return null
    const box = event.currentTarget.getBoundingClientRect()
    const { k, x, y } = zoomTransform(event.currentTarget)
    const [px, py] = [(event.clientX - box.left - x) / k, (event.clientY - box.top - y) / k]
    const isUnder = (one: Place): boolean =>
      px >= one.x && px <= one.x + one.width && py >= one.y && py <= one.y + one.height
    return layout.nodes.find(isUnder)?.id ?? null
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a click beside the tasks lets go of the one that is open; Escape does the same.
    <div
      ref={outer}
      className="canvas"
      data-detail={view?.detail ?? 'full'}
      onKeyDown={move}
      onClick={event => {
        if ((event.target as Element).closest('[data-task]') === null) onSelect(blockAt(event))
      }}
      onDoubleClick={event => {
        const name = blockAt(event)
        if (name !== null && shownByName.get(name)?.children != null) onFold(name)
      }}
    >
      <div ref={inner} className="sheet">
        <div className="ground" style={{ width: layout.width, height: layout.height }} />
        {view === null ? null : isCanvas(view.detail, layout) ? (
          <BlockCanvas
            places={places}
            tasks={shownByName}
            edges={edges}
            critical={critical}
            selected={selected}
            view={view}
            scale={view.scale}
          />
        ) : (
          <>
            <EdgeLayer
              edges={edges}
              tasks={shownByName}
              critical={critical}
              view={view}
              hasArrows={view.detail !== 'blocks'}
            />
            <NodeLayer
              tasks={visible.tasks}
              places={places}
              isInView={isInView}
              detail={view.detail}
              selected={selected}
              folded={folded}
              onSelect={onSelect}
              onFold={onFold}
            />
          </>
        )}
      </div>
      <Minimap layout={layout} tasks={shownByName} frame={frame} />
    </div>
  )
}

/** Leaves no side empty while there is more on the other. */
function inside(
  { k, x, y }: { readonly k: number; readonly x: number; readonly y: number },
  { width, height }: GraphLayout,
  { clientWidth, clientHeight }: HTMLElement,
) {
  const along = (at: number, size: number, room: number): number =>
    size + 2 * MARGIN <= room ? (room - size) / 2 : Math.min(MARGIN, Math.max(room - MARGIN - size, at))
  return { k, x: along(x, width * k, clientWidth), y: along(y, height * k, clientHeight) }
}

/** Keeps positions when a revision or a fold adds or removes tasks. */
function useStableLayout(tasks: readonly TaskView[], shape: number, folded: ReadonlySet<string>): GraphLayout {
  const before = useRef<GraphLayout | undefined>(undefined)
  const width = useRef<number | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: states change with every event, places only with the shape.
  return useMemo(() => {
    const layoutAt = (wide: number | null): GraphLayout =>
      layoutGraph(
        tasks.map(({ name, needs, action, on }) => ({
          id: name,
          needs,
          isGate: action === 'gate',
          leads: Object.entries(on).flatMap(([outcome, names]) => names.map(to => ({ outcome, to }))),
          ...(wide === null || action === 'gate' ? {} : { width: wide }),
        })),
        before.current,
      )
    // Measured once: a wider window must not move the tasks of a plan that is being watched.
    width.current ??= tasks.length > WIDENED_MAX ? LAYOUT.width : widthFor(tasks, layoutAt(null))
    const layout = layoutAt(width.current)
    before.current = layout
    return layout
  }, [shape, folded])
}

/** Larger plans fill the view anyway. */
const WIDENED_MAX = 60
const WIDTH_MAX = 240
/** Glyph, gaps and padding of a task; then the width of a letter of its title. */
const [FRAME_WIDTH, LETTER_WIDTH] = [50, 5.9]
const [RAIL_WIDTH, DRAWER_WIDTH] = [52, 376]

/** Wide enough for the longest title, if the view has room for that. */
function widthFor(tasks: readonly TaskView[], { nodes, width }: GraphLayout): number {
  const columns = new Set(nodes.map(node => node.x + node.width / 2)).size
  const room = (innerWidth - RAIL_WIDTH - DRAWER_WIDTH - 2 * MARGIN) / READABLE - width
  const longest = Math.max(0, ...tasks.map(({ title }) => title?.length ?? 0))
  const wished = Math.min(WIDTH_MAX, Math.ceil(FRAME_WIDTH + longest * LETTER_WIDTH))
  return Math.max(LAYOUT.width, Math.floor(Math.min(wished, LAYOUT.width + room / columns)))
}

function placeFrame(
  element: HTMLElement,
  layout: GraphLayout,
  seen: { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number },
): void {
  // There is nothing to find on a map of what is in view.
  const isAll = seen.left <= 0 && seen.top <= 0 && seen.right >= layout.width && seen.bottom >= layout.height
  element.parentElement!.hidden = isAll
  const k = scaleOf(layout)
  const offset = offsetOf(layout, k)
  const clip = (value: number, max: number): number => Math.min(max, Math.max(0, value))
  const [left, right] = [clip(seen.left * k + offset.left, 142), clip(seen.right * k + offset.left, 142)]
  const [top, bottom] = [clip(seen.top * k + offset.top, 74), clip(seen.bottom * k + offset.top, 74)]
  Object.assign(element.style, {
    left: `${left}px`,
    top: `${top}px`,
    width: `${right - left}px`,
    height: `${bottom - top}px`,
  })
}

// The tasks as the graph shows them: a folded group stands for its tasks.

interface Visible {
  readonly tasks: readonly TaskView[]
  readonly shownAs: (name: string) => string
}

function foldGroups(
  tasks: readonly TaskView[],
  byName: ReadonlyMap<string, TaskView>,
  folded: ReadonlySet<string>,
): Visible {
  if (folded.size === 0) return { tasks, shownAs: name => name }
  const inside = new Map<string, string>()
  for (const name of folded) for (const child of byName.get(name)?.children ?? []) inside.set(child, name)
  const shownAs = (name: string): string => {
    let at = name
    for (let up = inside.get(at); up !== undefined; up = inside.get(at)) at = up
    return at
  }
  const needs = new Map<string, Set<string>>()
  for (const task of tasks) {
    const own = shownAs(task.name)
    const set = needs.get(own) ?? new Set<string>()
    for (const need of task.needs) if (shownAs(need) !== own) set.add(shownAs(need))
    needs.set(own, set)
  }
  const shown = tasks
    .filter(({ name }) => !inside.has(name))
    .map(task =>
      folded.has(task.name) ? { ...task, needs: [...(needs.get(task.name) ?? [])] } : mapped(task, shownAs),
    )
  return { tasks: shown, shownAs }
}

function mapped(task: TaskView, shownAs: (name: string) => string): TaskView {
  const needs = [...new Set(task.needs.map(shownAs))]
  return needs.length === task.needs.length && needs.every((need, at) => need === task.needs[at])
    ? task
    : { ...task, needs }
}
