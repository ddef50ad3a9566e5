// `planfold graph PLAN|FILE`: who needs whom, as text, a tree, a document, or for a program that draws. A file is only read.

import { wavesOf } from '../../../domain/analysis/waves.ts'
import { workGraph } from '../../../domain/analysis/work-graph.ts'
import { openExtra } from '../../../extras.ts'
import { oneLine, pictureOf, type Scene } from '../../../format/plan/scene.ts'
import { tree } from '../../../format/plan/tree.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answerDocument, type Context, EXIT, usage } from '../../command.ts'
import { type Paint, symbol } from '../../terminal/paint.ts'
import { padded, width } from '../../terminal/table.ts'
import { lookAt } from './analyze.ts'

// A plan's graph as text in the order of work: one task a line, with its wave, its title, what it needs, and where its outcomes lead.

const NAME_COLUMNS_MAX = 40
const OUTCOME_MAX = 40
const TITLE_MAX = 40

export function text(scene: Scene, paint: Paint): readonly string[] {
  const { items, definition } = scene
  const { waveOf } = wavesOf(
    workGraph(
      definition,
      items.map(({ task }) => task),
    ),
  )
  const columns = items.reduce((most, { task }) => Math.max(most, width(task.id)), 0)
  const titles = items.map(({ task }) => oneLine(task.title ?? '', TITLE_MAX))
  const titleColumns = titles.reduce((most, title) => Math.max(most, width(title)), 0)
  const leads = new Map<string, string[]>()
  for (const { from, to, outcome } of scene.edges) {
    if (outcome === null) continue
    const shown = paint.dim(`  ${oneLine(outcome, OUTCOME_MAX)} → ${to}`)
    if (leads.has(from)) leads.get(from)!.push(shown)
    else leads.set(from, [shown])
  }
  const order = [...items.keys()].sort((a, b) => rank(waveOf[a]!) - rank(waveOf[b]!) || a - b)
  return order.map(at => {
    const { task, status } = items[at]!
    const wave = waveOf[at] === -1 ? '?' : String(waveOf[at]! + 1)
    const sign = status === null ? '' : `${symbol(paint, status)} `
    const needs = task.needs?.length ? ` ${paint.dim('←')} ${task.needs.join(', ')}` : ''
    const name = padded(task.id, Math.min(NAME_COLUMNS_MAX, columns))
    const title = titleColumns === 0 ? '' : ` ${paint.dim(padded(titles[at]!, titleColumns))}`
    return `${paint.dim(wave.padStart(4))} ${sign}${name}${title}${needs}${(leads.get(task.id) ?? []).join('')}`.trimEnd()
  })
}

const rank = (wave: number): number => (wave === -1 ? Number.MAX_SAFE_INTEGER : wave)

const PICTURES = ['text', 'tree', 'mermaid', 'dot', 'markdown', 'svg'] as const
export type GraphOptions = { readonly [picture in (typeof PICTURES)[number]]?: boolean }

export async function graph(context: Context, word: string | undefined, options: GraphOptions): Promise<number> {
  const [picture = 'text', ...others] = PICTURES.filter(name => options[name] === true)
  if (others.length > 0) throw usage(`--${picture} and --${others[0]} cannot be shown at once`, 'ask for one of them')
  const { definition, statuses } = await lookAt(context, word, { check: null })
  const scene = pictureOf(definition, statuses)
  const nodes = scene.items.map(({ task, status }) => ({
    name: task.id,
    title: task.title ?? null,
    action: task.action.type,
    status,
  }))
  const edges = scene.edges.map(({ from, to, outcome }) => ({ from, to, on: outcome }))
  const drawn =
    picture === 'text' || picture === 'tree' ? '' : (await openExtra('pictures'))[picture](definition, statuses)
  answerDocument(context, { name: definition.name, nodes, edges }, () => {
    const { paint } = context
    if (picture === 'text') return text(scene, paint)
    if (picture === 'tree') return tree(definition, statuses, { sign: status => symbol(paint, status), dim: paint.dim })
    return escapeForTerminal(drawn.trimEnd(), { keepLines: true })
  })
  return EXIT.done
}
