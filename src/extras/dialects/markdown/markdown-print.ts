// Prints a plan as Markdown. How a task begins, and whether tasks stand in sections, differs from kind to kind; what is written
// below a title is the same for all.

import type { TaskName } from '../../../domain/id.ts'
import { isMap, type Json } from '../../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import type { StatusOf } from '../../../format/plan/dialect.ts'
import { slug } from '../../../format/text/slug.ts'
import { isList } from '../../../format/text/source.ts'
import { printDuration } from '../../../format/text/units.ts'
import { idsToWrite } from '../names.ts'
import { needsByRank, sameNeeds } from '../planstore/plan-steps-order.ts'
import { criterionLine } from '../planstore/plan-steps-words.ts'
import { PLAN_WORDS, printList, printProse, printTitle, TASK_WORDS } from './markdown-words.ts'

/** Everything but the plan's own last task. */
export function tasksOf(definition: PlanDefinition): readonly TaskDefinition[] {
  return definition.tasks.filter(({ action }) => action.type !== 'verify')
}

/** Title, name and goal. */
export function printHead(definition: PlanDefinition, heading: string): readonly string[] {
  const { title, name, goal, owner, reviewers = [], impacted = [], approval = {}, session, labels } = definition
  const words = [
    ...(title !== undefined && (slug(title) as string | null) === name ? [] : [`Name: ${name}`]),
    ...(owner === undefined ? [] : [`Owner: ${oneLine(owner)}`]),
    ...(reviewers.length === 0 ? [] : [`Reviewers: ${printList(reviewers)}`]),
    ...(impacted.length === 0 ? [] : [`Impacted users: ${printList(impacted)}`]),
    ...((approval.by ?? []).length === 0 ? [] : [`Approved by: ${printList(approval.by!)}`]),
    ...(approval.date === undefined ? [] : [`Approval date: ${oneLine(approval.date)}`]),
    ...(session === undefined ? [] : [`Session: ${oneLine(session)}`]),
    ...(labels === undefined || labels.length === 0 ? [] : [`Tags: ${printList(labels)}`]),
  ]
  return [
    heading,
    '',
    ...(words.length === 0 ? [] : [...words, '']),
    ...(goal === undefined ? [] : [...printProse(goal, PLAN_WORDS), '']),
  ]
}

/** `# Plan: Dark mode`. */
export function planHeading({ title }: PlanDefinition): string {
  return title === undefined ? '# Plan' : `# Plan: ${oneLine(title)}`
}

/** Definition of done, and the sections that hold no tasks. */
export function printTail(definition: PlanDefinition, placed: ReadonlySet<Section>): readonly string[] {
  const done = (definition.done ?? []).map(one => `- ${oneLine(criterionLine(one))}`)
  const sections = sectionsOf(definition).filter(section => !placed.has(section))
  return [
    ...(done.length === 0 ? [] : ['## Definition of Done', '', ...done, '']),
    ...sections.flatMap(({ title, text }) => [title === '' ? '---' : `## ${oneLine(title)}`, '', ...sectionText(text)]),
  ]
}

export interface Section {
  readonly title: string
  readonly text: string
}

/** Sections of the text this plan was read from. */
export function sectionsOf(definition: PlanDefinition): readonly Section[] {
  const sections = definition.extra?.sections
  if (!isList(sections)) return []
  return sections.flatMap((section: Json) =>
    isMap(section) && typeof section.title === 'string' && typeof section.text === 'string'
      ? [section as unknown as Section]
      : [],
  )
}

export function sectionText(text: string): readonly string[] {
  return text === '' ? [] : [...printProse(text, []), '']
}

/** What each task must say about its needs, given those that are understood without words; null for nothing. */
export function dependsLines(
  tasks: readonly TaskDefinition[],
  unsaid: ReadonlyMap<TaskName, readonly TaskName[]> | null,
  numbers: readonly string[] | null,
): readonly (string | null)[] {
  const ids = new Set<string>(tasks.map(({ id }) => id))
  const words = new Map(
    tasks.map(({ id }, index) => {
      const number = numbers?.[index]
      return [id, number !== undefined && !ids.has(number) ? number : plainly(id)] as const
    }),
  )
  const chain = unsaid ?? needsByRank(tasks.map(({ id }) => [id]))
  const same = (task: TaskDefinition) => sameNeeds(task.needs, chain.get(task.id))
  // In a list, one that says what it depends on makes all others independent.
  if (unsaid === null && tasks.every(same)) return tasks.map(() => null)
  return tasks.map(task => {
    if (unsaid !== null && same(task)) return null
    const needs = task.needs ?? []
    return needs.length === 0 ? 'none' : needs.map(need => words.get(need) ?? plainly(need)).join(', ')
  })
}

/** An id that reads like "nothing". */
function plainly(id: string): string {
  return /^(?:none|nothing|n\/a)$/i.test(id) ? `Step ${id}` : id
}

/** How a task begins: its title, or its id in backticks. */
export function titleText(task: TaskDefinition, as: 'plain' | 'bold'): string {
  if (task.title !== undefined) return printTitle(task.title, as)
  return as === 'bold' ? `**\`${task.id}\`**` : `\`${task.id}\``
}

/** The ids that titles do not give away. */
export function writtenIds(tasks: readonly TaskDefinition[]): ReadonlySet<TaskName> {
  const titled = tasks.map(({ id, title }) => ({ id, text: title ?? '' }))
  const written = idsToWrite(titled)
  // One without a title shows its id as it is, and so takes it from the others.
  const shown = new Set(tasks.filter(({ title }) => title === undefined).map(({ id }) => id))
  return new Set([...written].filter(id => !shown.has(id)))
}

export const BOXES: { readonly [status in TaskStatus]: string } = {
  pending: ' ',
  ready: ' ',
  blocked: ' ',
  running: '~',
  waiting: '~',
  completed: 'x',
  skipped: '-',
  failed: '!',
  abandoned: ' ',
  cancelled: ' ',
}

export interface Below {
  readonly depends: string | null
  readonly named: boolean
  readonly milestone: boolean
  /** The status as a word, where no box says it. */
  readonly status: TaskStatus | null
}

/** What stands below a title. */
export function bodyLines(task: TaskDefinition, below: Below): readonly string[] {
  const files = task.extra?.files
  const values: { readonly [key: string]: string | undefined } = {
    id: below.named ? task.id : undefined,
    write: joined([...(task.write ?? []), ...(isList(files) ? files.filter(file => typeof file === 'string') : [])]),
    needs: below.depends ?? undefined,
    labels: joined(task.labels),
    kind: task.kind,
    assignee: task.assignee,
    owner: task.owner,
    milestone: below.milestone ? task.milestone : undefined,
    priority: task.priority === undefined ? undefined : String(task.priority),
    estimate: task.estimateMs === undefined ? undefined : printDuration(task.estimateMs),
    deadline: task.deadline,
    capabilities: joined(task.capabilities),
    status: below.status ?? undefined,
  }
  const words = TASK_WORDS.flatMap(({ key, names }) => {
    const value = values[key]
    return value === undefined ? [] : [`${names[0]}: ${oneLine(value)}`]
  })
  const accept = (task.accept ?? []).map(one => `- ${oneLine(criterionLine(one))}`)
  return [
    ...(task.description === undefined ? [] : printProse(task.description, TASK_WORDS)),
    ...words,
    ...(accept.length === 0 ? [] : ['Acceptance Criteria:', ...accept]),
  ]
}

/** Tasks as a list with boxes; tasks inside tasks are indented. */
export function checklist(
  tasks: readonly TaskDefinition[],
  prefix: string,
  status: StatusOf,
  milestone: boolean,
): readonly string[][] {
  const depends = dependsLines(tasks, null, null)
  const written = writtenIds(tasks)
  return tasks.map((task, index) => {
    const name = `${prefix}${task.id}` as TaskName
    const now = status(name)
    const below = { depends: depends[index]!, named: written.has(task.id), milestone, status: wordFor(now) }
    const inner = [...bodyLines(task, below), ...childLines(task, name, status)]
    return [`- [${BOXES[now]}] ${titleText(task, 'plain')}`, ...indented(inner, 2)]
  })
}

export function childLines(task: TaskDefinition, name: TaskName, status: StatusOf): readonly string[] {
  return task.action.type === 'subplan' ? checklist(task.action.tasks, `${name}/`, status, true).flat() : []
}

/** The statuses for which there is no box. */
export function wordFor(status: TaskStatus): TaskStatus | null {
  return status === 'cancelled' || status === 'abandoned' ? status : null
}

export function indented(lines: readonly string[], columns: number): readonly string[] {
  return lines.map(line => (line === '' ? '' : `${' '.repeat(columns)}${line}`))
}

/** The text, with one line break at the end. */
export function page(lines: readonly string[]): string {
  return `${lines.join('\n').replace(/\n+$/, '')}\n`
}

function joined(items: readonly string[] | undefined): string | undefined {
  return items === undefined || items.length === 0 ? undefined : printList(items)
}

export function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, ' ')
}
