// A plan as a tree of text: its milestones, their tasks, the children of groups, with what each needs and where its outcomes
// lead. For terminals, logs and mails; the caller may give a sign for each status and a colour for what is beside the name.

import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import type { TaskStatus } from '../../domain/status.ts'
import { type Item, oneLine, pictureOf, type Scene, type Statuses } from './scene.ts'

export interface TreeStyle {
  readonly sign?: (status: TaskStatus) => string
  readonly dim?: (text: string) => string
  /** Lines below a task, in place of the name of its action; they begin so many columns from the left. */
  readonly below?: (task: TaskDefinition, indent: number) => readonly string[]
}

const TITLE_MAX = 80
const NEEDS_MAX = 6

export function tree(
  definition: PlanDefinition,
  statuses: Statuses = new Map(),
  style: TreeStyle = {},
): readonly string[] {
  const scene = pictureOf(definition, statuses)
  const dim = style.dim ?? same
  const title = oneLine(definition.title ?? definition.goal ?? '', TITLE_MAX)
  const lines = [`${definition.name}${title === '' ? '' : dim(` — ${title}`)}`]
  const leads = leadsOf(scene)
  const open: { readonly branch: Branch; readonly lead: string; readonly isLast: boolean }[] = []
  const push = (branches: readonly Branch[], lead: string): void => {
    for (const [at, branch] of [...branches.entries()].reverse())
      open.push({ branch, lead, isLast: at === branches.length - 1 })
  }
  push(byMilestone(scene.top), '')
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { branch, lead, isLast } = next
    const inner = `${lead}${isLast ? '   ' : '│  '}`
    const margin = `${inner}${branch.children.length === 0 ? '  ' : '│ '}`
    const below = typeof branch.item === 'string' ? [] : (style.below?.(branch.item.task, margin.length) ?? [])
    const text = typeof branch.item === 'string' ? branch.item : described(branch.item, leads, style, below.length > 0)
    lines.push(`${dim(`${lead}${isLast ? '└─ ' : '├─ '}`)}${text}`, ...below.map(line => `${dim(margin)}${line}`))
    push(branch.children, inner)
  }
  return lines
}

interface Branch {
  /** A task, or the name of a milestone. */
  readonly item: Item | string
  readonly children: readonly Branch[]
}

const branchOf = (item: Item): Branch => ({ item, children: item.children.map(branchOf) })

/** Tasks of no milestone come first. */
function byMilestone(items: readonly Item[]): readonly Branch[] {
  const loose: Branch[] = []
  const milestones = new Map<string, Branch[]>()
  for (const item of items) {
    const { milestone } = item.task
    if (milestone === undefined) loose.push(branchOf(item))
    else if (milestones.has(milestone)) milestones.get(milestone)!.push(branchOf(item))
    else milestones.set(milestone, [branchOf(item)])
  }
  return [
    ...loose,
    ...[...milestones].map(([name, children]) => ({ item: `milestone ${oneLine(name, TITLE_MAX)}`, children })),
  ]
}

function described(
  { task, status }: Item,
  leads: ReadonlyMap<string, readonly string[]>,
  style: TreeStyle,
  isTold: boolean,
): string {
  const dim = style.dim ?? same
  const sign = status === null ? '' : `${style.sign?.(status) ?? `[${status}]`} `
  const title = task.title === undefined ? '' : ` ${oneLine(task.title, TITLE_MAX)}`
  const action = isTold ? '' : dim(` (${task.action.type})`)
  const needs = (task.needs ?? []).filter(need => !need.startsWith(`${task.id}/`))
  const shown =
    needs.slice(0, NEEDS_MAX).join(', ') + (needs.length > NEEDS_MAX ? `, +${needs.length - NEEDS_MAX}` : '')
  const outcomes = (leads.get(task.id) ?? []).map(lead => dim(`; ${lead}`)).join('')
  return `${sign}${task.id}${title}${action}${needs.length === 0 ? '' : dim(` ← ${shown}`)}${outcomes}`
}

function leadsOf({ edges }: Scene): ReadonlyMap<string, readonly string[]> {
  const leads = new Map<string, string[]>()
  for (const { from, to, outcome } of edges) {
    if (outcome === null) continue
    const text = `${oneLine(outcome, TITLE_MAX)} → ${to}`
    if (leads.has(from)) leads.get(from)!.push(text)
    else leads.set(from, [text])
  }
  return leads
}

const same = (text: string): string => text
