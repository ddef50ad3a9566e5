import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cpuMs } from '../cpu-time.fixture.ts'
import { type GraphLayout, LAYOUT, type LayoutNode, layoutGraph } from './graph-layout.ts'

const node = (id: string, needs: readonly string[] = [], more: Partial<LayoutNode> = {}): LayoutNode => ({
  id,
  needs,
  isGate: false,
  ...more,
})
const at = ({ nodes }: GraphLayout, id: string) => nodes.find(place => place.id === id)!

/** Tasks in the order of their number; each needs some of the fifty before it, and one in ten leads somewhere. */
function graph(count: number, next: (max: number) => number): readonly LayoutNode[] {
  return Array.from({ length: count }, (_, number) => {
    const needs = Array.from({ length: number === 0 ? 0 : next(3) }, () => `t${Math.max(0, number - 1 - next(50))}`)
    const leads = next(10) === 0 ? [{ outcome: 'failure', to: `t${next(count)}` }] : []
    return { id: `t${number}`, needs, leads, isGate: next(12) === 0 }
  })
}

function seeded(seed: number): (max: number) => number {
  let state = seed
  return max => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * max)
  }
}

const random = fc
  .tuple(fc.integer({ min: 0, max: 60 }), fc.integer())
  .map(([count, seed]) => graph(count, seeded(seed)))

/** Of a gate, with its name below. */
const boxes = (nodes: readonly LayoutNode[], layout: GraphLayout) =>
  layout.nodes.map((place, at) => ({ ...place, height: place.height + (nodes[at]!.isGate ? LAYOUT.label : 0) }))

function overlaps(nodes: readonly LayoutNode[], layout: GraphLayout): readonly string[] {
  const all = boxes(nodes, layout)
  return all.flatMap((a, index) =>
    all
      .slice(index + 1)
      .filter(b => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height)
      .map(b => `${a.id} lies on ${b.id}`),
  )
}

/** Tasks that a level piece of a line runs through; slants stand between columns, where nothing else is. */
function hidden(layout: GraphLayout): readonly string[] {
  return layout.edges.flatMap(({ from, to, shape, points }) =>
    shape === 'arc'
      ? []
      : points.slice(1).flatMap((end, index) => {
          const start = points[index]!
          return layout.nodes
            .filter(({ id }) => id !== from && id !== to)
            .filter(({ x, y, width, height }) => {
              const isBeside = end.x <= x || start.x >= x + width
              const isAway = Math.max(start.y, end.y) <= y || Math.min(start.y, end.y) >= y + height
              return !isBeside && !isAway
            })
            .map(({ id }) => `${from} → ${to} behind ${id}`)
        }),
  )
}

describe('the layout of a graph', () => {
  it('puts a task right of what it needs, a lone chain on one line, and a gate in the middle of its column', () => {
    const layout = layoutGraph([node('a'), node('ok', ['a'], { isGate: true }), node('b', ['ok', 'nobody'])])
    expect(layout).toEqual({
      nodes: [
        { id: 'a', x: 0, y: 0, width: 168, height: 48 },
        { id: 'ok', x: 294, y: 2, width: 44, height: 44 },
        { id: 'b', x: 464, y: 0, width: 168, height: 48 },
      ],
      edges: [
        {
          from: 'a',
          to: 'ok',
          outcome: null,
          shape: 'line',
          points: [
            { x: 168, y: 24 },
            { x: 232, y: 24 },
            { x: 294, y: 24 },
          ],
        },
        {
          from: 'ok',
          to: 'b',
          outcome: null,
          shape: 'line',
          points: [
            { x: 338, y: 24 },
            { x: 400, y: 24 },
            { x: 464, y: 24 },
          ],
        },
      ],
      width: 632,
      height: 78,
    })
    expect(layoutGraph([])).toEqual({ nodes: [], edges: [], width: 0, height: 0 })
  })

  it('draws what leads back as an arc, and does not let it decide columns', () => {
    const layout = layoutGraph([
      node('build'),
      node('review', ['build'], {
        leads: [
          { outcome: 'rejected', to: 'build' },
          { outcome: 'failure', to: 'mend' },
        ],
      }),
      node('mend', [], {
        leads: [
          { outcome: 'success', to: 'review' },
          { outcome: 'failure', to: 'mend' },
        ],
      }),
    ])
    expect(layout.nodes.map(({ x }) => x / (LAYOUT.width + LAYOUT.columnGap))).toEqual([0, 1, 2])
    expect(layout.edges.map(({ from, to, shape }) => `${from} ${to} ${shape}`)).toEqual([
      'build review line',
      'review build arc',
      'review mend line',
      'mend review arc',
      'mend mend arc',
    ])
    for (const { points } of layout.edges) for (const { y } of points) expect(y).toBeLessThanOrEqual(layout.height)
  })

  it('survives needs that go in a circle', () => {
    const layout = layoutGraph([node('a', ['b']), node('b', ['a', 'b']), node('c', ['b'])])
    expect(layout.edges.filter(({ shape }) => shape === 'arc')).toHaveLength(2)
    expect(overlaps([node('a'), node('b'), node('c')], layout)).toEqual([])
  })

  it('puts no task on another and no edge behind a task, whatever the graph', () => {
    fc.assert(
      fc.property(random, nodes => {
        const layout = layoutGraph(nodes)
        expect(overlaps(nodes, layout)).toEqual([])
        expect(hidden(layout)).toEqual([])
        for (const { from, to, shape } of layout.edges)
          if (shape === 'line') expect(at(layout, from).x).toBeLessThan(at(layout, to).x)
        for (const { x, y, width, height } of boxes(nodes, layout)) {
          expect(Math.min(x, y)).toBeGreaterThanOrEqual(0)
          expect(x + width).toBeLessThanOrEqual(layout.width)
          expect(y + height).toBeLessThanOrEqual(layout.height)
        }
        expect(layoutGraph(structuredClone(nodes))).toEqual(layout)
      }),
      { numRuns: 60 },
    )
  })

  it('leaves tasks where they were when others are added, removed or renamed', () => {
    fc.assert(
      fc.property(random, fc.integer(), (nodes, seed) => {
        const next = seeded(seed)
        const before = layoutGraph(nodes)
        const kept = nodes.filter(() => next(10) > 0)
        // What nobody needs moves no column.
        const added = Array.from({ length: 5 }, (_, number) =>
          node(`new${number}`, nodes.length === 0 ? [] : [`t${next(nodes.length)}`]),
        )
        const after = layoutGraph([...nodes, ...added], before)
        for (const place of before.nodes) expect(at(after, place.id)).toEqual(place)
        const fewer = layoutGraph(kept, before)
        for (const place of fewer.nodes)
          if (place.x === at(before, place.id).x) expect(place).toEqual(at(before, place.id))
        for (const [list, layout] of [
          [[...nodes, ...added], after],
          [kept, fewer],
        ] as const) {
          expect(overlaps(list, layout)).toEqual([])
          expect(hidden(layout)).toEqual([])
        }
      }),
      { numRuns: 40 },
    )
  })

  it('takes well under a tenth of a second for a thousand tasks', () => {
    const nodes = graph(1_000, seeded(1))
    layoutGraph(nodes)
    expect(cpuMs(() => layoutGraph(nodes), 100)).toBeLessThan(100)
  })
})
