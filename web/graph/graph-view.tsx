// The graph of a plan. Only what is near the window is in the document; panning moves one element and renders nothing. Edges are a
// handful of paths, however many there are.

import '../styles/graph.css'
import { select } from 'd3-selection'
import { type D3ZoomEvent, type ZoomBehavior, zoom, zoomIdentity, zoomTransform } from 'd3-zoom'
import {
  memo,
  type Ref,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import {
  type GraphLayout,
  LAYOUT,
  type LaidEdge,
  layoutGraph,
  type Place,
} from '../../src/domain/views/graph-layout.ts'
import type { LivePlan } from '../data/live.ts'
import type { TaskView } from '../data/live-messages.ts'
import { useNow } from '../parts/clock.ts'
import { Glyph, signOf } from '../parts/glyph.tsx'
import { clock, lookWord, span, took } from '../parts/words.ts'
import { type CriticalPath, criticalPath } from './critical-path.ts'
import { foldGroups } from './fold-groups.ts'
import { Minimap, offsetOf, scaleOf } from './minimap.tsx'

const SCALE_MIN = 0.06
const SCALE_MAX = 1.6
const MARGIN = 28
/** Below this a whole plan is not shown at once: the page opens where something happens. */
const READABLE = 0.85

type Detail = 'full' | 'name' | 'blocks'
const detailAt = (scale: number): Detail => (scale >= 0.6 ? 'full' : scale >= 0.3 ? 'name' : 'blocks')

interface Window {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
  readonly detail: Detail
}

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

const useCritical = (plan: LivePlan): CriticalPath =>
  useMemo(() => criticalPath(plan.tasks, plan.byName), [plan.tasks, plan.byName])

export { useCritical }

export function GraphView({ plan, selected, folded, critical, onSelect, onFold, onScale, ref }: GraphProps) {
  const outer = useRef<HTMLDivElement>(null)
  const inner = useRef<HTMLDivElement>(null)
  const frame = useRef<HTMLDivElement>(null)
  const behaviour = useRef<ZoomBehavior<HTMLDivElement, unknown> | null>(null)
  const [view, setView] = useState<Window | null>(null)
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
    // From afar there are no dots: to paint them anew in every frame costs more than all tasks.
    if (detail !== 'blocks') element.style.backgroundPosition = `${x}px ${y}px`
    setView(before => {
      const isInside =
        before !== null && left >= before.left && top >= before.top && right <= before.right && bottom <= before.bottom
      const isClose = before !== null && before.right - before.left < 3 * (right - left)
      if (isInside && isClose && before.detail === detail) return before
      const [mx, my] = [(right - left) * 0.4, (bottom - top) * 0.4]
      return { left: left - mx, top: top - my, right: right + mx, bottom: bottom + my, detail }
    })
    onScale(k)
  }, [onScale])

  const go = useCallback((to: { readonly k: number; readonly x: number; readonly y: number }, isAtOnce = false) => {
    const element = outer.current
    const zooming = behaviour.current
    if (element === null || zooming === null) return
    const target = zoomIdentity.translate(to.x, to.y).scale(to.k)
    if (isAtOnce || matchMedia('(prefers-reduced-motion: reduce)').matches) {
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

  const inView = useMemo(() => {
    if (view === null) return []
    return visible.tasks.filter(({ name }) => {
      const place = places.get(name)
      return (
        place !== undefined &&
        place.x + place.width > view.left &&
        place.x < view.right &&
        place.y + place.height + LAYOUT.label > view.top &&
        place.y < view.bottom
      )
    })
  }, [visible, places, view])
  const shownByName = useMemo(() => new Map(visible.tasks.map(task => [task.name, task])), [visible])
  const paths = useMemo(() => pathsOf(edges, shownByName, critical, view), [edges, shownByName, critical, view])
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
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a click beside the tasks lets go of the one that is open; Escape does the same.
    <div
      ref={outer}
      className="canvas"
      data-detail={view?.detail ?? 'full'}
      onKeyDown={move}
      onClick={event => {
        if (event.target === event.currentTarget) onSelect(null)
      }}
    >
      <div ref={inner} className="sheet">
        <svg className="edges" width="1" height="1" aria-hidden="true">
          <defs>
            <marker id="back" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path d="M1 1l5 3-5 3" fill="none" stroke="var(--ink3)" strokeWidth="1.4" />
            </marker>
          </defs>
          {paths.map(({ kind, d }) => (
            <path
              key={kind}
              className={`edge ${kind}`}
              d={d}
              {...(kind === 'outcome' ? { markerEnd: 'url(#back)' } : {})}
            />
          ))}
        </svg>
        {inView.map(task => (
          <Node
            key={task.name}
            task={task}
            place={places.get(task.name)!}
            detail={view!.detail}
            isSelected={task.name === selected}
            isFolded={folded.has(task.name)}
            onSelect={onSelect}
            onFold={onFold}
          />
        ))}
      </div>
      <Minimap layout={layout} tasks={shownByName} frame={frame} />
    </div>
  )
}

/** No room is left empty on one side while there is more on the other. */
function inside(
  { k, x, y }: { readonly k: number; readonly x: number; readonly y: number },
  { width, height }: GraphLayout,
  { clientWidth, clientHeight }: HTMLElement,
) {
  const along = (at: number, size: number, room: number): number =>
    size + 2 * MARGIN <= room ? (room - size) / 2 : Math.min(MARGIN, Math.max(room - MARGIN - size, at))
  return { k, x: along(x, width * k, clientWidth), y: along(y, height * k, clientHeight) }
}

/** Places are kept when a revision or a fold adds or takes away tasks. */
function useStableLayout(tasks: readonly TaskView[], shape: number, folded: ReadonlySet<string>): GraphLayout {
  const before = useRef<GraphLayout | undefined>(undefined)
  // biome-ignore lint/correctness/useExhaustiveDependencies: states change with every event, places only with the shape.
  return useMemo(() => {
    const layout = layoutGraph(
      tasks.map(({ name, needs, action, on }) => ({
        id: name,
        needs,
        isGate: action === 'gate',
        leads: Object.entries(on).flatMap(([outcome, names]) => names.map(to => ({ outcome, to }))),
      })),
      before.current,
    )
    before.current = layout
    return layout
  }, [shape, folded])
}

/** What the page opens on: what waits or failed, else what runs, else what comes next. */
export function focusOf(tasks: readonly TaskView[]): string | null {
  for (const looks of [['failed'], ['waiting', 'lost'], ['running'], ['retrying', 'ready']])
    for (const task of tasks) if (looks.includes(task.look)) return task.name
  return tasks[0]?.name ?? null
}

interface DrawnEdge {
  readonly from: string
  readonly to: string
  readonly outcome: string | null
  readonly d: string
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

function drawEdge({ from, to, outcome, shape, points }: LaidEdge): DrawnEdge {
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

const KINDS = ['outcome', 'next', 'done', 'now', 'critical-next', 'critical'] as const
type Kind = (typeof KINDS)[number]

function pathsOf(
  edges: readonly DrawnEdge[],
  tasks: ReadonlyMap<string, TaskView>,
  critical: CriticalPath,
  view: Window | null,
): readonly { readonly kind: Kind; readonly d: string }[] {
  const parts: Record<Kind, string[]> = { outcome: [], next: [], done: [], now: [], 'critical-next': [], critical: [] }
  if (view !== null)
    for (const edge of edges) {
      if (edge.left > view.right || edge.right < view.left || edge.top > view.bottom || edge.bottom < view.top) continue
      parts[kindOf(edge, tasks, critical)].push(edge.d)
    }
  return KINDS.map(kind => ({ kind, d: parts[kind].join('') }))
}

function kindOf({ from, to, outcome }: DrawnEdge, tasks: ReadonlyMap<string, TaskView>, critical: CriticalPath): Kind {
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
          <span>{title ?? secondLine(task)}</span>
          {look === 'running' && <i className="bar" />}
        </>
      )}
    </button>
  )
})

function secondLine({ look, reason, action, by }: TaskView): string {
  if (by !== null) return by
  if (look === 'failed' && reason !== null) return reason
  return ACTIONS[action] ?? action
}

const ACTIONS: { readonly [action: string]: string } = {
  run: 'runs a command',
  edit: 'edits files',
  external: 'for an agent or person',
  group: 'group',
  verify: 'final checks',
  decide: 'decides',
  checkpoint: 'checkpoint',
  git: 'git',
  model: 'asks a model',
  items: 'finds its items',
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

/** Left and right along edges, up and down in the column. */
function neighbour(
  from: string,
  key: string,
  layout: GraphLayout,
  tasks: ReadonlyMap<string, TaskView>,
): string | null {
  const at = layout.nodes.find(({ id }) => id === from)
  if (at === undefined) return null
  const nearest = (found: readonly Place[]): string | null =>
    found.toSorted((a, b) => Math.abs(a.y - at.y) - Math.abs(b.y - at.y))[0]?.id ?? null
  switch (key) {
    case 'ArrowLeft': {
      const needs = new Set(tasks.get(from)?.needs)
      return nearest(layout.nodes.filter(({ id }) => needs.has(id)))
    }
    case 'ArrowRight':
      return nearest(layout.nodes.filter(({ id }) => tasks.get(id)?.needs.includes(from) === true))
    case 'ArrowUp':
    case 'ArrowDown': {
      const isDown = key === 'ArrowDown'
      const middle = at.x + at.width / 2
      return nearest(
        layout.nodes.filter(
          one => Math.abs(one.x + one.width / 2 - middle) < 20 && (isDown ? one.y > at.y : one.y < at.y),
        ),
      )
    }
    default:
      return null
  }
}

/** The part that is seen, on the small map. */
function placeFrame(
  element: HTMLElement,
  layout: GraphLayout,
  seen: { readonly left: number; readonly top: number; readonly right: number; readonly bottom: number },
): void {
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
