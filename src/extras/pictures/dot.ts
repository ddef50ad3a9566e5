// A plan for Graphviz: diamonds for gates and decisions, clusters around groups, dashed labelled edges for outcomes, a colour
// for each status. Every name stands in quotes.

import type { ActionType, PlanDefinition } from '../../domain/plan.ts'
import { type Item, oneLine, pictureOf, type Statuses } from '../../format/plan/scene.ts'
import { COLOURS } from './colours.ts'

const TITLE_MAX = 60
const OUTCOME_MAX = 40

export function dot(definition: PlanDefinition, statuses: Statuses = new Map()): string {
  const scene = pictureOf(definition, statuses)
  const lines = [
    `digraph ${quoted(definition.name)} {`,
    '  rankdir=LR',
    '  node [shape=box, style="rounded,filled", fillcolor="#ffffff"]',
  ]
  const open: (Item | string)[] = scene.top.toReversed()
  let clusters = 0
  for (let next = open.pop(), depth = 1; next !== undefined; next = open.pop()) {
    if (typeof next === 'string') {
      lines.push(`${'  '.repeat(--depth)}${next}`)
      continue
    }
    const { task, children } = next
    if (children.length > 0) {
      lines.push(
        `${'  '.repeat(depth)}subgraph "cluster_${++clusters}" {`,
        `${'  '.repeat(depth + 1)}label=${quoted(task.id)}`,
      )
      depth++
      open.push('}', ...children.toReversed())
    }
    lines.push(`${'  '.repeat(depth)}${quoted(task.id)} [${attributes(next)}]`)
  }
  for (const { from, to, outcome } of scene.edges) {
    const drawn = outcome === null ? '' : ` [style=dashed, label=${quoted(oneLine(outcome, OUTCOME_MAX))}]`
    lines.push(`  ${quoted(from)} -> ${quoted(to)}${drawn}`)
  }
  return [...lines, '}'].join('\n')
}

function attributes({ task, status }: Item): string {
  const title = task.title === undefined ? '' : oneLine(task.title, TITLE_MAX)
  // Two characters, backslash and n, which Graphviz reads as a new line; those of the text itself are doubled.
  const label = `"${inner(task.id)}${title === '' ? '' : `\\n${inner(title)}`}"`
  const colours =
    status === null ? [] : [`fillcolor=${quoted(COLOURS[status].fill)}`, `color=${quoted(COLOURS[status].stroke)}`]
  return [`label=${label}`, ...shape(task.action.type), ...colours].join(', ')
}

function shape(action: ActionType): readonly string[] {
  if (action === 'gate' || action === 'decide') return ['shape=diamond', 'style=filled']
  if (action === 'external') return ['shape=oval', 'style=filled']
  return action === 'group' || action === 'subplan' ? ['peripheries=2'] : []
}

const inner = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')
const quoted = (text: string): string => `"${inner(text)}"`
