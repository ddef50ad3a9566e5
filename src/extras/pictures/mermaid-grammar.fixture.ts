// A strict grammar of the part of Mermaid we print: narrower than Mermaid's own, so that whatever passes here is read there as
// it was meant. Throws at the first line that is none.

export interface ReadChart {
  readonly nodes: ReadonlyMap<
    string,
    { readonly shape: string; readonly label: string; readonly status: string | null }
  >
  readonly frames: ReadonlyMap<string, readonly string[]>
  readonly edges: readonly { readonly from: string; readonly to: string; readonly label: string | null }[]
}

const TEXT = String.raw`((?:[^"\n\r#<>&%${'`'}\\;]|#\d+;|<br\/>)*)`
const SHAPES: readonly (readonly [string, RegExp])[] = [
  ['round', new RegExp(String.raw`^ *(t\d+)\(\["${TEXT}"\]\)(?::::([a-z]+))?$`)],
  ['double', new RegExp(String.raw`^ *(t\d+)\[\["${TEXT}"\]\](?::::([a-z]+))?$`)],
  ['box', new RegExp(String.raw`^ *(t\d+)\["${TEXT}"\](?::::([a-z]+))?$`)],
  ['diamond', new RegExp(String.raw`^ *(t\d+)\{"${TEXT}"\}(?::::([a-z]+))?$`)],
]
const FRAME = new RegExp(String.raw`^ *subgraph (t\d+)\["${TEXT}"\]$`)
const EDGE = new RegExp(String.raw`^ {2}(t\d+) (?:-->|-\.->\|"${TEXT}"\|) (t\d+)$`)
const CLASS = /^ {2}class (t\d+) ([a-z]+)$/
const CLASS_DEF = /^ {2}classDef ([a-z]+) fill:#[0-9a-f]{6},stroke:#[0-9a-f]{6}$/

export function readChart(text: string): ReadChart {
  const [head, ...lines] = text.split('\n')
  if (head !== 'flowchart TD') throw new Error(`no flowchart: ${head}`)
  const nodes = new Map<string, { shape: string; label: string; status: string | null }>()
  const frames = new Map<string, string[]>()
  const edges: { from: string; to: string; label: string | null }[] = []
  const classes = new Set<string>()
  const used = new Set<string>()
  const open: string[] = []
  for (const line of lines) {
    const frame = FRAME.exec(line)
    const shaped = SHAPES.map(([shape, pattern]) => ({ shape, match: pattern.exec(line) })).find(({ match }) => match)
    const edge = EDGE.exec(line)
    const classed = CLASS.exec(line)
    const defined = CLASS_DEF.exec(line)
    if (frame !== null) {
      enter(frame[1]!)
      frames.set(frame[1]!, [])
      open.push(frame[1]!)
    } else if (shaped?.match) {
      const [, id, label, status] = shaped.match
      enter(id!)
      nodes.set(id!, { shape: shaped.shape, label: readable(label!), status: status ?? null })
      if (status !== undefined) used.add(status)
    } else if (line.trim() === 'end' && open.length > 0) open.pop()
    else if (edge !== null)
      edges.push({ from: edge[1]!, to: edge[3]!, label: edge[2] === undefined ? null : readable(edge[2]) })
    else if (classed !== null) used.add(classed[2]!)
    else if (defined !== null) classes.add(defined[1]!)
    else throw new Error(`no line of a chart: ${line}`)
  }
  if (open.length > 0) throw new Error(`a frame is never closed: ${open.join()}`)
  for (const { from, to } of edges)
    for (const end of [from, to]) if (!nodes.has(end) && !frames.has(end)) throw new Error(`nobody is called ${end}`)
  for (const status of used) if (!classes.has(status)) throw new Error(`no colour for ${status}`)
  return { nodes, frames, edges }

  function enter(id: string): void {
    if (nodes.has(id) || frames.has(id)) throw new Error(`twice: ${id}`)
    const around = open.at(-1)
    if (around !== undefined) frames.get(around)!.push(id)
  }
}

function readable(label: string): string {
  return label.replaceAll('<br/>', '\n').replace(/#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
}
