// A plan as a Mermaid flowchart: diamonds for gates and decisions, frames around groups, dashed labelled edges for outcomes,
// a colour for each status. Tasks are numbered, so no name of a plan is ever read as a word of Mermaid; all other text stands
// in quotes, with everything that Mermaid or HTML could take for its own written as an entity.

import type { TaskName } from '../../domain/id.ts'
import type { ActionType, PlanDefinition } from '../../domain/plan.ts'
import { TASK_STATUSES } from '../../domain/status.ts'
import { type Item, oneLine, pictureOf, type Statuses } from '../../format/plan/scene.ts'
import { COLOURS } from './colours.ts'

const TITLE_MAX = 60
const OUTCOME_MAX = 40

export function mermaid(definition: PlanDefinition, statuses: Statuses = new Map()): string {
  const scene = pictureOf(definition, statuses)
  const ids = new Map<TaskName, string>(scene.items.map(({ task }, at) => [task.id, `t${at + 1}`]))
  const lines = ['flowchart TD']
  const coloured: string[] = []
  // A stack instead of recursion; a text on it closes a frame.
  const open: (Item | string)[] = scene.top.toReversed()
  for (let next = open.pop(), depth = 1; next !== undefined; next = open.pop()) {
    if (typeof next === 'string') {
      lines.push(`${'  '.repeat(--depth)}${next}`)
      continue
    }
    const { task, status, children } = next
    const id = ids.get(task.id)!
    const indent = '  '.repeat(depth)
    if (children.length > 0) {
      lines.push(`${indent}subgraph ${id}["${label(next)}"]`)
      depth++
      open.push('end', ...children.toReversed())
      if (status !== null) coloured.push(`  class ${id} ${status}`)
    } else {
      const [left, right] = shape(task.action.type)
      lines.push(`${indent}${id}${left}"${label(next)}"${right}${status === null ? '' : `:::${status}`}`)
    }
  }
  const frames = new Set(scene.items.filter(({ children }) => children.length > 0).map(({ task }) => task.id))
  for (const { from, to, outcome, isInside } of scene.edges) {
    // A frame holds its children already, and an edge between the two cannot be drawn.
    if (isInside || (frames.has(to) && from.startsWith(`${to}/`)) || (frames.has(from) && to.startsWith(`${from}/`)))
      continue
    const arrow = outcome === null ? '-->' : `-.->|"${escaped(oneLine(outcome, OUTCOME_MAX))}"|`
    lines.push(`  ${ids.get(from)} ${arrow} ${ids.get(to)}`)
  }
  const used = new Set(scene.items.map(({ status }) => status))
  const classes = TASK_STATUSES.filter(status => used.has(status)).map(
    status => `  classDef ${status} fill:${COLOURS[status].fill},stroke:${COLOURS[status].stroke}`,
  )
  return [...lines, ...coloured, ...classes].join('\n')
}

function label({ task }: Item): string {
  const title = task.title === undefined ? '' : oneLine(task.title, TITLE_MAX)
  return title === '' ? escaped(task.id) : `${escaped(task.id)}<br/>${escaped(title)}`
}

function shape(action: ActionType): readonly [string, string] {
  if (action === 'gate' || action === 'decide') return ['{', '}']
  if (action === 'external') return ['([', '])']
  return action === 'group' || action === 'subplan' ? ['[[', ']]'] : ['[', ']']
}

/** As numbered entities: quotes end a text, `#` begins an entity, `%` a comment, a backquote Markdown, the rest HTML. */
function escaped(text: string): string {
  return text.replace(/["#%&<>`\\;]/g, sign => `#${sign.codePointAt(0)};`)
}
