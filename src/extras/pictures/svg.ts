// A plan as an SVG picture that needs nothing else: no fonts, styles, scripts or addresses, only shapes and text. Places are those of
// domain/views/graph-layout.ts, so that every face shows the same picture.

import type { PlanDefinition } from '../../domain/plan.ts'
import { type LaidEdge, type LayoutNode, layoutGraph, type Place, type Point } from '../../domain/views/graph-layout.ts'
import { type Item, oneLine, pictureOf, type Scene, type Statuses } from '../../format/plan/scene.ts'
import { COLOURS } from './colours.ts'

const MARGIN = 24
const HEAD = 40
const NAME_MAX = 21
const TITLE_MAX = 22
const LABEL_MAX = 24
const INK = '#1b1d23'
const FAINT = '#646872'
const LINE = '#a8a59c'
const PAPER = '#faf9f7'
const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace'
const SANS = 'system-ui, -apple-system, Segoe UI, sans-serif'

export function svg(definition: PlanDefinition, statuses: Statuses = new Map()): string {
  const scene = pictureOf(definition, statuses)
  const { nodes, edges, width, height } = layoutGraph(layoutNodes(scene))
  const items = new Map(scene.items.map(item => [item.task.id as string, item]))
  const title = oneLine(definition.title ?? definition.name, 100)
  const [w, h] = [Math.ceil(width) + 2 * MARGIN, Math.ceil(height) + 2 * MARGIN + HEAD]
  const wide = Math.max(w, 320)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${h}" viewBox="0 0 ${wide} ${h}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${wide}" height="${h}" fill="${PAPER}"/>`,
    `<text x="${MARGIN}" y="${MARGIN + 14}" font-family="${SANS}" font-size="15" font-weight="600" fill="${INK}">${escaped(title)}</text>`,
    `<g transform="translate(${MARGIN} ${MARGIN + HEAD})">`,
    ...edges.map(edgeShape),
    ...nodes.map(place => nodeShape(place, items.get(place.id)!)),
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

/** The tasks of a picture as the layout takes them. */
export function layoutNodes({ items, edges }: Scene): readonly LayoutNode[] {
  const leads = new Map<string, { outcome: string; to: string }[]>()
  for (const { from, to, outcome } of edges) {
    if (outcome === null) continue
    const known = leads.get(from)
    if (known === undefined) leads.set(from, [{ outcome, to }])
    else known.push({ outcome, to })
  }
  return items.map(({ task }) => ({
    id: task.id,
    needs: task.needs ?? [],
    isGate: isDiamond(task.action.type),
    leads: leads.get(task.id) ?? [],
  }))
}

const isDiamond = (action: string): boolean => action === 'gate' || action === 'decide'

function edgeShape({ shape, points, outcome, to, from }: LaidEdge): string {
  const path = shape === 'arc' ? curve(points) : smooth(points)
  const dash = outcome === null ? '' : ' stroke-dasharray="4 3"'
  const words = outcome === null ? `${from} → ${to}` : `${from}: ${oneLine(outcome, LABEL_MAX)} → ${to}`
  return `<path d="${path}" fill="none" stroke="${LINE}" stroke-width="1.4"${dash}><title>${escaped(words)}</title></path>${arrow(points, shape)}${outcomeLabel(points, outcome)}`
}

const curve = ([a, b, c, d]: readonly Point[]): string => `M${xy(a!)}C${xy(b!)} ${xy(c!)} ${xy(d!)}`

/** Slants between columns become curves that leave and arrive level. */
function smooth(points: readonly Point[]): string {
  let path = `M${xy(points[0]!)}`
  for (const [at, to] of points.slice(1).entries()) {
    const from = points[at]!
    const middle = round((from.x + to.x) / 2)
    path += from.y === to.y ? `H${round(to.x)}` : `C${middle} ${round(from.y)} ${middle} ${round(to.y)} ${xy(to)}`
  }
  return path
}

function arrow(points: readonly Point[], shape: LaidEdge['shape']): string {
  const { x, y } = points.at(-1)!
  const [a, b] =
    shape === 'arc'
      ? [
          { x: x - 4, y: y + 7 },
          { x: x + 4, y: y + 7 },
        ]
      : [
          { x: x - 7, y: y - 4 },
          { x: x - 7, y: y + 4 },
        ]
  return `<path d="M${xy({ x, y })}L${xy(a)} ${xy(b)}Z" fill="${LINE}"/>`
}

function outcomeLabel(points: readonly Point[], outcome: string | null): string {
  if (outcome === null) return ''
  const [a, b] = points.length === 4 ? [points[1]!, points[2]!] : [points[0]!, points[1]!]
  const at = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 - 5 }
  return textShape(at, oneLine(outcome, LABEL_MAX), `text-anchor="middle" font-size="11" fill="${FAINT}"`)
}

function nodeShape(place: Place, { task, status }: Item): string {
  const { x, y, width, height } = place
  const { fill, stroke } = status === null ? COLOURS.pending : COLOURS[status]
  const isToCome = status === null || status === 'pending'
  const look = `fill="${fill}" stroke="${stroke}" stroke-width="1.4"${isToCome ? ' stroke-dasharray="4 3"' : ''}`
  const name = oneLine(task.id, NAME_MAX)
  const title = oneLine(task.title ?? '', 200)
  const about = escaped([task.id, ...(title === '' ? [] : [title]), ...(status === null ? [] : [status])].join(' · '))
  const [cx, cy] = [x + width / 2, y + height / 2]
  const mono = `font-size="12" font-weight="500" fill="${INK}"`
  if (isDiamond(task.action.type)) {
    const corners = [xy({ x: cx, y }), xy({ x: x + width, y: cy }), xy({ x: cx, y: y + height }), xy({ x, y: cy })]
    const label = textShape({ x: cx, y: y + height + 14 }, name, `text-anchor="middle" ${mono}`, MONO)
    return `<g><title>${about}</title><polygon points="${corners.join(' ')}" ${look}/>${sign(status, { x: cx, y: cy })}${label}</g>`
  }
  const behind =
    task.action.type === 'group' || task.action.type === 'subplan'
      ? `<rect x="${round(x + 4)}" y="${round(y + 4)}" width="${width}" height="${height}" rx="10" fill="#ffffff" stroke="${stroke}"/>`
      : ''
  const left = x + 30
  const lines =
    title === ''
      ? textShape({ x: left, y: cy + 4 }, name, mono, MONO)
      : textShape({ x: left, y: cy - 3 }, name, mono, MONO) +
        textShape({ x: left, y: cy + 13 }, oneLine(title, TITLE_MAX), `font-size="11" fill="${FAINT}"`)
  return `<g><title>${about}</title>${behind}<rect x="${round(x)}" y="${round(y)}" width="${width}" height="${height}" rx="10" ${look}/>${sign(status, { x: x + 16, y: cy })}${lines}</g>`
}

/** The state as a shape, so that it is not told by colour alone. */
function sign(status: Item['status'], { x, y }: Point): string {
  if (status === null) return ''
  const { stroke } = COLOURS[status]
  const line = (path: string): string =>
    `<path d="${path}" fill="none" stroke="${stroke}" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/>`
  const ring = (more = ''): string =>
    `<circle cx="${round(x)}" cy="${round(y)}" r="5.5" fill="none" stroke="${stroke}" stroke-width="1.6"${more}/>`
  switch (status) {
    case 'completed':
      return line(`M${xy({ x: x - 5, y })}l3.5 4 7 -8`)
    case 'failed':
      return line(`M${xy({ x: x - 4, y: y - 4 })}l8 8m0 -8l-8 8`)
    case 'running':
      return `${ring()}<circle cx="${round(x)}" cy="${round(y)}" r="2.4" fill="${stroke}"/>`
    case 'waiting':
      return line(`M${xy({ x, y: y - 6 })}v7m0 4v0.1`)
    case 'blocked':
      return ring() + line(`M${xy({ x: x - 3, y })}h6`)
    case 'skipped':
      return line(`M${xy({ x: x - 5, y: y - 4 })}l4 4 -4 4m5 -8l4 4 -4 4`)
    case 'cancelled':
    case 'abandoned':
      return ring() + line(`M${xy({ x: x - 4, y: y + 4 })}l8 -8`)
    case 'ready':
      return ring()
    case 'pending':
      return ring(' stroke-dasharray="1.5 2.5"')
    default:
      return status satisfies never
  }
}

const textShape = ({ x, y }: Point, text: string, look: string, font = SANS): string =>
  `<text x="${round(x)}" y="${round(y)}" font-family="${font}" ${look}>${escaped(text)}</text>`

const round = (value: number): number => Math.round(value * 10) / 10
const xy = ({ x, y }: Point): string => `${round(x)} ${round(y)}`

/** As text or an attribute in quotes; characters that XML does not know are left out. */
const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '')
