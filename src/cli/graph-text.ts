// A plan's graph as people and tools read it: text in the order of work, Mermaid, Graphviz. Pure.

import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import type { TaskStatus } from '../domain/status.ts'
import { type Paint, symbol } from './paint.ts'
import { padded, width } from './width.ts'

type Statuses = ReadonlyMap<string, TaskStatus>

/** One task a line, with how many stand before it on the longest way; what it needs; where its outcomes lead. */
export function text({ tasks }: PlanDefinition, statuses: Statuses, paint: Paint): readonly string[] {
  const depths = depthsOf(tasks)
  const nameColumns = Math.min(40, Math.max(...tasks.map(task => width(task.id))))
  const inOrder = tasks.toSorted((a, b) => depths.get(a.id)! - depths.get(b.id)!)
  return inOrder.map(task => {
    const status = statuses.get(task.id)
    const needs = task.needs?.length ? ` ${paint.dim('←')} ${task.needs.join(', ')}` : ''
    const on = Object.entries(task.on ?? {}).map(([outcome, targets]) =>
      paint.dim(`  ${outcome} → ${targets.join(', ')}`),
    )
    return `${paint.dim(String(depths.get(task.id)! + 1).padStart(4))} ${status === undefined ? '' : `${symbol(paint, status)} `}${padded(task.id, nameColumns)}${needs}${on.join('')}`.trimEnd()
  })
}

export function mermaid({ tasks }: PlanDefinition, statuses: Statuses): string {
  const ids = numbered(tasks)
  const lines = ['flowchart TD']
  for (const task of tasks) {
    const [open, close] = task.action.type === 'gate' || task.action.type === 'decide' ? ['{{', '}}'] : ['[', ']']
    const status = statuses.get(task.id)
    lines.push(`  ${ids.get(task.id)}${open}"${task.id}"${close}${status === undefined ? '' : `:::${status}`}`)
  }
  for (const task of tasks) {
    for (const need of task.needs ?? []) lines.push(`  ${ids.get(need)} --> ${ids.get(task.id)}`)
    for (const [outcome, targets] of Object.entries(task.on ?? {})) {
      for (const target of targets)
        lines.push(`  ${ids.get(task.id)} -. "${outcome.replaceAll('"', '#quot;')}" .-> ${ids.get(target)}`)
    }
  }
  if (statuses.size > 0) {
    lines.push(
      '  classDef completed fill:#d4f4dd,stroke:#2a7',
      '  classDef failed fill:#fadbd8,stroke:#c33',
      '  classDef running fill:#d6eaf8,stroke:#27c',
      '  classDef waiting fill:#fcf3cf,stroke:#b80',
    )
  }
  return lines.join('\n')
}

const DOT_COLOURS: Partial<Record<TaskStatus, string>> = {
  completed: '#d4f4dd',
  failed: '#fadbd8',
  running: '#d6eaf8',
  waiting: '#fcf3cf',
}

export function dot({ name, tasks }: PlanDefinition, statuses: Statuses): string {
  const lines = [
    `digraph ${quoted(name)} {`,
    '  rankdir=LR',
    '  node [shape=box, style="rounded,filled", fillcolor=white]',
  ]
  for (const task of tasks) {
    const colour = DOT_COLOURS[statuses.get(task.id) ?? 'pending']
    lines.push(`  ${quoted(task.id)}${colour === undefined ? '' : ` [fillcolor=${quoted(colour)}]`}`)
  }
  for (const task of tasks) {
    for (const need of task.needs ?? []) lines.push(`  ${quoted(need)} -> ${quoted(task.id)}`)
    for (const [outcome, targets] of Object.entries(task.on ?? {})) {
      for (const target of targets)
        lines.push(`  ${quoted(task.id)} -> ${quoted(target)} [style=dashed, label=${quoted(outcome)}]`)
    }
  }
  return [...lines, '}'].join('\n')
}

const quoted = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
const numbered = (tasks: readonly TaskDefinition[]): ReadonlyMap<string, string> =>
  new Map(tasks.map((task, at) => [task.id, `t${at + 1}`]))

/** How long the longest way to each task is; without recursion, a chain may be 20,000 long. */
function depthsOf(tasks: readonly TaskDefinition[]): ReadonlyMap<string, number> {
  const depths = new Map<string, number>(tasks.map(task => [task.id, 0]))
  const dependants = new Map<string, string[]>()
  const unmet = new Map<string, number>()
  for (const task of tasks) {
    const needs = new Set(task.needs ?? [])
    unmet.set(task.id, needs.size)
    for (const need of needs) dependants.set(need, [...(dependants.get(need) ?? []), task.id])
  }
  const free = tasks.filter(task => unmet.get(task.id) === 0).map(task => task.id as string)
  for (const name of free) {
    for (const dependant of dependants.get(name) ?? []) {
      depths.set(dependant, Math.max(depths.get(dependant)!, depths.get(name)! + 1))
      const left = unmet.get(dependant)! - 1
      unmet.set(dependant, left)
      if (left === 0) free.push(dependant)
    }
  }
  return depths
}
