// A plan's graph as text in the order of work: one task a line, with its wave, its title, what it needs, and where its outcomes lead.

import { wavesOf } from '../domain/analysis/waves.ts'
import { workGraph } from '../domain/analysis/work-graph.ts'
import { oneLine, type Scene } from '../format/pictures/scene.ts'
import { type Paint, symbol } from './paint.ts'
import { padded, width } from './width.ts'

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
  // What has no wave, because it is in a circle or nothing leads there, comes last.
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
