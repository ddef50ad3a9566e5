// The layout of a plan as a picture: columns from left to right, a task to the right of everything it needs. Long edges get positions of
// their own in the columns between, so that no edge runs behind a task. Back edges do not affect columns and are drawn as arcs. Pure and
// deterministic: the same tasks always have the same layout.

export interface LayoutNode {
  readonly id: string
  readonly needs: readonly string[]
  /** Drawn as a diamond with its name below. */
  readonly isGate: boolean
  readonly leads?: readonly { readonly outcome: string; readonly to: string }[]
  readonly width?: number
  readonly height?: number
}

export interface Place {
  readonly id: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface Point {
  readonly x: number
  readonly y: number
}

export interface LaidEdge {
  readonly from: string
  readonly to: string
  readonly outcome: string | null
  /** `line`: a polyline. `arc`: a back edge; start, two control points and end of a cubic curve. */
  readonly shape: 'line' | 'arc'
  readonly points: readonly Point[]
}

export interface GraphLayout {
  readonly nodes: readonly Place[]
  readonly edges: readonly LaidEdge[]
  readonly width: number
  readonly height: number
}

export const LAYOUT = {
  width: 168,
  height: 48,
  gate: 44,
  label: 32,
  columnGap: 64,
  rowGap: 20,
  passing: 12,
} as const

/** Above this number, the longest edges are drawn straight, since no picture of that size is readable. */
const PASSING_MAX = 50_000
const SWEEPS = 8
/** Straight edges take precedence over centring tasks between their neighbours. */
const PASSING_WEIGHT = 4

/** A task, or the position where an edge passes a column. */
interface Spot {
  /** The index of the task; for an edge, of the task where it starts. */
  readonly node: number
  readonly isPassing: boolean
  readonly column: number
  readonly width: number
  readonly height: number
  /** The height with the label below. */
  readonly room: number
  readonly left: Spot[]
  readonly right: Spot[]
  /** The centre. */
  y: number
  /** The position in the column, and in the best order so far. */
  at: number
  best: number
  /** The position its neighbours suggest. */
  wish: number
}

interface Link {
  readonly from: number
  readonly to: number
  readonly outcome: string | null
}

/** `before`: an earlier layout. Tasks in the same column keep their position; new ones go where there is space. */
export function layoutGraph(nodes: readonly LayoutNode[], before?: Pick<GraphLayout, 'nodes'>): GraphLayout {
  const links = linksOf(nodes)
  const back = backLinks(nodes.length, links)
  const ahead = links.filter(link => !back.has(link))
  const column = columnsOf(nodes.length, ahead)
  const { spots, chains } = spotsOf(nodes, ahead, column)
  const columns = columnsIn(spots)
  const xs = columnPlaces(columns)
  const fixed = fixedPlaces(nodes, spots, xs, before)
  if (fixed.size > 0) placeAround(columns, fixed)
  else {
    orderColumns(columns)
    placeColumns(columns)
  }
  return drawn(nodes, { links, back, spots, chains, xs })
}

function linksOf(nodes: readonly LayoutNode[]): readonly Link[] {
  const index = new Map<string, number>()
  for (const [at, { id }] of nodes.entries()) if (!index.has(id)) index.set(id, at)
  const links: Link[] = []
  for (const [at, { needs }] of nodes.entries())
    for (const need of new Set(needs)) {
      const from = index.get(need)
      if (from !== undefined) links.push({ from, to: at, outcome: null })
    }
  for (const [at, { leads = [] }] of nodes.entries()) {
    const seen = new Set<string>()
    for (const { outcome, to } of leads) {
      const target = index.get(to)
      if (target === undefined || seen.has(`${outcome}\n${to}`)) continue
      seen.add(`${outcome}\n${to}`)
      links.push({ from: at, to: target, outcome })
    }
  }
  return links
}

/** The links that would close a cycle, `needs` first, by incremental topological ordering (Pearce and Kelly). */
function backLinks(count: number, links: readonly Link[]): ReadonlySet<Link> {
  const [out, into]: [number[][], number[][]] = [lists(count), lists(count)]
  // Fast path: `needs` rarely has cycles.
  const rank: number[] = []
  for (const [at, node] of sortedBy(
    count,
    links.filter(({ outcome }) => outcome === null),
  ).entries())
    rank[node] = at
  const found = new Set<Link>()
  const reach = (from: number, next: readonly number[][], inside: (node: number) => boolean): number[] => {
    const seen = new Set([from])
    for (const node of seen) for (const other of next[node]!) if (inside(other)) seen.add(other)
    return [...seen].sort((a, b) => rank[a]! - rank[b]!)
  }
  for (const link of links) {
    const { from, to } = link
    const [low, high] = [rank[to]!, rank[from]!]
    if (low <= high) {
      const ahead = from === to ? [from] : reach(to, out, node => rank[node]! <= high)
      if (ahead.includes(from)) {
        found.add(link)
        continue
      }
      const moved = [...reach(from, into, node => rank[node]! >= low), ...ahead]
      const ranks = moved.map(node => rank[node]!).sort((a, b) => a - b)
      for (const [at, node] of moved.entries()) rank[node] = ranks[at]!
    }
    out[from]!.push(to)
    into[to]!.push(from)
  }
  return found
}

/** Topological order; nodes in or behind a cycle come last, in the given order. */
function sortedBy(count: number, links: readonly Link[]): readonly number[] {
  const out: number[][] = lists(count)
  const open = new Array<number>(count).fill(0)
  for (const { from, to } of links) {
    out[from]!.push(to)
    open[to]!++
  }
  const sorted = [...open.keys()].filter(node => open[node] === 0)
  for (let at = 0; at < sorted.length; at++) for (const to of out[sorted[at]!]!) if (--open[to]! === 0) sorted.push(to)
  return sorted.length === count ? sorted : [...new Set([...sorted, ...open.keys()])]
}

/** The longest path from a root: the column is the wave. */
function columnsOf(count: number, links: readonly Link[]): readonly number[] {
  const into: number[][] = lists(count)
  for (const { from, to } of links) into[to]!.push(from)
  const column = new Array<number>(count).fill(0)
  for (const node of sortedBy(count, links))
    for (const from of into[node]!) column[node] = Math.max(column[node]!, column[from]! + 1)
  return column
}

interface Spots {
  /** Tasks first, in the given order, so that their index is that of the node. */
  readonly spots: readonly Spot[]
  /** For each task, the positions its edges pass, by column; edges of one task share them. */
  readonly chains: readonly (readonly Spot[])[]
}

function spotsOf(nodes: readonly LayoutNode[], links: readonly Link[], column: readonly number[]): Spots {
  const spots: Spot[] = nodes.map((node, at) => {
    const width = node.width ?? (node.isGate ? LAYOUT.gate : LAYOUT.width)
    const height = node.height ?? (node.isGate ? LAYOUT.gate : LAYOUT.height)
    const room = height + (node.isGate ? LAYOUT.label : 0)
    return newSpot(at, column[at]!, { isPassing: false, width, height, room })
  })
  const chains: Spot[][] = lists(nodes.length)
  for (const { from, to } of links.toSorted((a, b) => lengthOf(a, column) - lengthOf(b, column))) {
    const chain = chains[from]!
    const length = lengthOf({ from, to }, column) - 1
    while (chain.length < length && spots.length - nodes.length < PASSING_MAX) {
      const before = chain.at(-1) ?? spots[from]!
      const spot = newSpot(from, before.column + 1, PASSING)
      join(before, spot)
      chain.push(spot)
      spots.push(spot)
    }
    if (chain.length >= length) join(length === 0 ? spots[from]! : chain[length - 1]!, spots[to]!)
  }
  return { spots, chains }
}

const PASSING = { isPassing: true, width: 0, height: 0, room: LAYOUT.passing } as const

function newSpot(
  node: number,
  column: number,
  { isPassing, width, height, room }: Pick<Spot, 'isPassing' | 'width' | 'height' | 'room'>,
): Spot {
  return { node, isPassing, column, width, height, room, left: [], right: [], y: 0, at: 0, best: 0, wish: 0 }
}

const lengthOf = ({ from, to }: Pick<Link, 'from' | 'to'>, column: readonly number[]): number =>
  column[to]! - column[from]!

function join(left: Spot, right: Spot): void {
  left.right.push(right)
  right.left.push(left)
}

function columnsIn(spots: readonly Spot[]): readonly Spot[][] {
  const columns: Spot[][] = lists(spots.reduce((most, spot) => Math.max(most, spot.column + 1), 0))
  for (const spot of spots) spot.at = columns[spot.column]!.push(spot) - 1
  return columns
}

/** The left and right side of each column, at least as wide as a standard task, so that a new task moves none. */
function columnPlaces(
  columns: readonly (readonly Spot[])[],
): readonly { readonly x: number; readonly width: number }[] {
  let x = 0
  return columns.map(spots => {
    const width = spots.reduce<number>((most, spot) => Math.max(most, spot.width), LAYOUT.width)
    const place = { x, width }
    x += width + LAYOUT.columnGap
    return place
  })
}

// The order within columns, by the barycentre method: sweeps to the right and back, keeping the order with the fewest crossings.

function orderColumns(columns: readonly Spot[][]): void {
  let fewest = Number.POSITIVE_INFINITY
  let idle = 0
  for (let sweep = 0; sweep < SWEEPS && idle < IDLE_MAX; sweep++) {
    const found = crossings(columns)
    if (found < fewest) for (const column of columns) for (const spot of column) spot.best = spot.at
    idle = found < fewest ? 0 : idle + 1
    fewest = Math.min(fewest, found)
    if (fewest === 0) break
    const isRight = sweep % 2 === 0
    for (let at = 1; at < columns.length; at++)
      sortColumn(columns[isRight ? at : columns.length - 1 - at]!, isRight ? 'left' : 'right')
  }
  for (const column of columns) {
    column.sort((a, b) => a.best - b.best)
    number(column)
  }
}

/** Stops after so many rounds without improvement. */
const IDLE_MAX = 2

function sortColumn(column: Spot[], side: 'left' | 'right'): void {
  for (const spot of column) {
    const others = spot[side]
    let sum = 0
    for (const other of others) sum += other.at
    spot.wish = others.length === 0 ? spot.at : sum / others.length
  }
  column.sort((a, b) => a.wish - b.wish || a.at - b.at)
  number(column)
}

function number(column: readonly Spot[]): void {
  for (let at = 0; at < column.length; at++) column[at]!.at = at
}

/** Counted for each column with a tree of sums (Barth, Jünger, Mutzel). */
function crossings(columns: readonly (readonly Spot[])[]): number {
  const sums = new Int32Array(1 + columns.reduce((most, { length }) => Math.max(most, length), 0))
  let count = 0
  for (let at = 0; at + 1 < columns.length; at++) {
    const size = columns[at + 1]!.length
    sums.fill(0)
    let added = 0
    for (const { right } of columns[at]!) {
      for (const target of right) {
        count += added
        for (let i = target.at + 1; i > 0; i -= i & -i) count -= sums[i]!
      }
      for (const target of right) for (let i = target.at + 1; i <= size; i += i & -i) sums[i]!++
      added += right.length
    }
  }
  return count
}

// Vertical positions: each spot moves towards the centre of its neighbours, and overlapping spots share the difference.

function placeColumns(columns: readonly (readonly Spot[])[]): void {
  for (const column of columns) {
    let y = 0
    for (const spot of column) {
      spot.y = y + spot.height / 2
      y += spot.room + LAYOUT.rowGap
    }
  }
  const ways = [...columns.keys()]
  for (let round = 0; round < 2; round++) {
    for (const at of ways.slice(1)) settle(columns[at]!, 'left')
    for (const at of ways.slice(0, -1).reverse()) settle(columns[at]!, 'right')
  }
  for (const at of ways.slice(1)) settle(columns[at]!, 'both')
  let top = Number.POSITIVE_INFINITY
  for (const column of columns) for (const spot of column) top = Math.min(top, spot.y - spot.height / 2)
  for (const column of columns) for (const spot of column) spot.y = Math.round((spot.y - top) * 2) / 2
}

/** The positions nearest to the preferred ones that keep order and distance (pool adjacent violators). */
function settle(column: readonly Spot[], side: 'left' | 'right' | 'both'): void {
  // Blocks of touching spots: weighted sum, weight, and end of each.
  const [sums, weights, ends]: [number[], number[], number[]] = [[], [], []]
  let offset = 0
  for (let at = 0; at < column.length; at++) {
    const spot = column[at]!
    if (at > 0) offset += distance(column[at - 1]!, spot)
    const wished = wishOf(spot, side)
    let weight = wished === null ? LOOSE_WEIGHT : spot.isPassing ? PASSING_WEIGHT : 1
    let sum = ((wished ?? spot.y) - offset) * weight
    while (sums.length > 0 && sums.at(-1)! / weights.at(-1)! > sum / weight) {
      sum += sums.pop()!
      weight += weights.pop()!
      ends.pop()
    }
    sums.push(sum)
    weights.push(weight)
    ends.push(at)
    spot.wish = offset
  }
  let at = 0
  for (let block = 0; block < sums.length; block++)
    for (const y = sums[block]! / weights[block]!; at <= ends[block]!; at++) column[at]!.y = y + column[at]!.wish
}

const LOOSE_WEIGHT = 0.1

function wishOf({ left, right }: Spot, side: 'left' | 'right' | 'both'): number | null {
  let [sum, count] = [0, 0]
  if (side !== 'right') for (const { y } of left) sum += y
  if (side !== 'right') count += left.length
  if (side !== 'left') for (const { y } of right) sum += y
  if (side !== 'left') count += right.length
  return count === 0 ? null : sum / count
}

const distance = (above: Spot, below: Spot): number =>
  above.room - above.height / 2 + gapBetween(above, below) + below.height / 2

const gapBetween = (a: Spot, b: Spot): number => (a.isPassing && b.isPassing ? 0 : LAYOUT.rowGap)

// With an earlier layout: tasks in the same column keep their position.

function fixedPlaces(
  nodes: readonly LayoutNode[],
  spots: readonly Spot[],
  xs: readonly { readonly x: number; readonly width: number }[],
  before: Pick<GraphLayout, 'nodes'> | undefined,
): ReadonlySet<Spot> {
  const known = new Map(before?.nodes.map(place => [place.id, place]))
  const fixed = new Set<Spot>()
  if (known.size === 0) return fixed
  for (const [at, { id }] of nodes.entries()) {
    const [spot, place] = [spots[at]!, known.get(id)]
    if (place === undefined || place.height !== spot.height || place.x !== leftOf(spot, xs)) continue
    spot.y = place.y + place.height / 2
    fixed.add(spot)
  }
  return fixed
}

const leftOf = ({ column, width }: Spot, xs: readonly { readonly x: number; readonly width: number }[]): number =>
  xs[column]!.x + (xs[column]!.width - width) / 2

/** Everything else goes to the free position nearest to its neighbours, never above the top. */
function placeAround(columns: readonly (readonly Spot[])[], fixed: ReadonlySet<Spot>): void {
  for (const column of columns) {
    const taken = column.filter(spot => fixed.has(spot)).sort((a, b) => a.y - b.y)
    for (const spot of column) {
      if (fixed.has(spot)) continue
      const sure = [...spot.left, ...spot.right.filter(other => fixed.has(other))]
      const last = taken.at(-1)
      const end = last === undefined ? spot.height / 2 : last.y + distance(last, spot)
      const wish = sure.length === 0 ? end : sure.reduce((sum, { y }) => sum + y, 0) / sure.length
      spot.y = freeNear(taken, spot, wish)
      taken.splice(taken.findIndex(other => other.y > spot.y) >>> 0, 0, spot)
    }
  }
}

function freeNear(taken: readonly Spot[], spot: Spot, wish: number): number {
  let best = Number.POSITIVE_INFINITY
  for (let at = 0; at <= taken.length; at++) {
    const [above, below] = [taken[at - 1], taken[at]]
    const low = above === undefined ? spot.height / 2 : above.y + distance(above, spot)
    const high = below === undefined ? Number.POSITIVE_INFINITY : below.y - distance(spot, below)
    if (low > high) continue
    const y = Math.min(high, Math.max(low, wish))
    if (Math.abs(y - wish) < Math.abs(best - wish)) best = y
  }
  return Math.round(best * 2) / 2
}

interface Laid extends Spots {
  readonly links: readonly Link[]
  readonly back: ReadonlySet<Link>
  readonly xs: readonly { readonly x: number; readonly width: number }[]
}

function drawn(nodes: readonly LayoutNode[], { links, back, spots, chains, xs }: Laid): GraphLayout {
  const places = nodes.map(({ id }, at) => {
    const spot = spots[at]!
    return { id, x: leftOf(spot, xs), y: spot.y - spot.height / 2, width: spot.width, height: spot.height }
  })
  const edges = links.map((link): LaidEdge => {
    const { from, to, outcome } = link
    const ends = { from: nodes[from]!.id, to: nodes[to]!.id, outcome }
    if (back.has(link))
      return {
        ...ends,
        shape: 'arc',
        points: arc(bottom(spots[from]!, places[from]!), bottom(spots[to]!, places[to]!)),
      }
    const passed = chains[from]!.slice(0, Math.max(0, spots[to]!.column - spots[from]!.column - 1))
    return { ...ends, shape: 'line', points: line([spots[from]!, ...passed, spots[to]!], xs) }
  })
  let [width, height] = [0, 0]
  for (const { column, y, height: own, room } of spots) {
    width = Math.max(width, xs[column]!.x + xs[column]!.width)
    height = Math.max(height, y - own / 2 + room)
  }
  for (const { shape, points } of edges) if (shape === 'arc') height = Math.max(height, points[1]!.y)
  return { nodes: places, edges, width, height }
}

/** Slanted only between columns, level across a column. */
function line(spots: readonly Spot[], xs: readonly { readonly x: number; readonly width: number }[]): readonly Point[] {
  const points: Point[] = []
  const add = (x: number, y: number): void => {
    const last = points.at(-1)
    if (last === undefined || last.x !== x || last.y !== y) points.push({ x, y })
  }
  for (const [at, spot] of spots.entries()) {
    const { x, width } = xs[spot.column]!
    const own = leftOf(spot, xs)
    if (at > 0) add(x, spot.y)
    if (spot.isPassing) add(x + width, spot.y)
    else if (at === 0) {
      add(own + spot.width, spot.y)
      add(x + width, spot.y)
    } else add(own, spot.y)
  }
  return points
}

/** Below both ends; longer arcs are deeper. */
function arc(start: Point, end: Point): readonly Point[] {
  const depth = Math.max(start.y, end.y) + Math.min(140, 36 + Math.abs(end.x - start.x) / 10)
  const spread = start.x === end.x && start.y === end.y ? LOOP_WIDTH : 0
  return [
    { x: start.x + spread, y: start.y },
    { x: start.x + spread, y: depth },
    { x: end.x - spread, y: depth },
    { x: end.x - spread, y: end.y },
  ]
}

const LOOP_WIDTH = LAYOUT.width / 3

/** Below its label, which no arc may cross. */
const bottom = ({ room, height }: Spot, { x, y, width }: Place): Point => ({
  x: x + width / 2,
  y: y + Math.max(height, room),
})

const lists = <T>(count: number): T[][] => Array.from({ length: count }, () => [])
