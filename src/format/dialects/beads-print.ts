// How Beads writes issues: one on a line, its keys in their order, links to blockers as records of their own.

import type { TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { ENDED, type TaskStatus } from '../../domain/status.ts'
import { raiseTask } from '../raise.ts'
import { readDuration } from '../units.ts'
import {
  assemble,
  keptBy,
  type Layout,
  type Nearest,
  type Standing,
  same,
  sparse,
  statusWord,
  writtenNeeds,
} from './backlogs.ts'
import { criteriaOf, endingOf, rank, STATUS } from './beads-words.ts'
import type { StatusOf } from './dialect.ts'
import { isList, isMap } from './source.ts'

export const NAME = 'beads'

/** What is written for a status Beads has no word for; a closing that was no success gives its reason. */
const NEAREST: Nearest = {
  ready: 'pending',
  waiting: 'blocked',
  failed: 'blocked',
  skipped: 'completed',
  abandoned: 'completed',
  cancelled: 'completed',
}
const REASONS: ReadonlySet<TaskStatus> = new Set(['skipped', 'abandoned', 'cancelled'])

/** Links that block. */
export const HARD = ['blocks', 'waits-for']

/** The order of keys in Beads' own files. */
export const ISSUE: Layout = {
  order:
    'id title description design acceptance_criteria notes spec_id status priority issue_type assignee owner estimated_minutes created_at created_by updated_at closed_at close_reason due_at defer_until external_ref labels dependencies comments'.split(
      ' ',
    ),
  spare: { title: '', status: 'open' },
}
/** What the task says for itself, word for word. */
const SAID = ['title', 'description', 'design', 'issue_type', 'assignee', 'labels', 'due_at', 'estimated_minutes']

export interface Member {
  readonly name: TaskName
  readonly parents: readonly TaskName[]
  readonly hard: readonly TaskName[]
}

export function standings(members: readonly Member[]): readonly Standing[] {
  const children = new Map<TaskName, TaskName[]>()
  const hard = new Map(members.map(member => [member.name, member.hard]))
  for (const { name, parents } of members)
    for (const parent of parents) {
      const others = children.get(parent)
      if (others === undefined) children.set(parent, [name])
      else others.push(name)
    }
  return members.map(member => ({
    name: member.name,
    hard: member.hard,
    soft: [...(children.get(member.name) ?? []), ...member.parents.flatMap(parent => hard.get(parent) ?? [])],
  }))
}

/** The ids on the other end of links of these types. */
export function blockers(links: Json | undefined, types: readonly string[]): readonly string[] {
  if (!isList(links)) return []
  return links.flatMap(link =>
    isMap(link) && typeof link.depends_on_id === 'string' && types.includes(String(link.type ?? 'blocks'))
      ? [link.depends_on_id]
      : [],
  )
}

/** An issue when nothing is remembered; `task` is in the words of the document. */
export function record(
  id: string,
  task: JsonObject,
  status: TaskStatus,
  links: readonly Json[],
): { [key: string]: Json } {
  const { accept, priority, estimate } = task
  const minutes = typeof estimate === 'string' ? readDuration(estimate) : null
  return sparse({
    id,
    title: task.title ?? '',
    description: task.description,
    design: task.instruction,
    acceptance_criteria: isList(accept) ? criteriaText(accept) : undefined,
    status: statusWord(STATUS, NEAREST, status),
    priority: typeof priority === 'number' ? Math.min(4, Math.max(0, 2 - Math.round(priority / 10))) : undefined,
    issue_type: task.kind,
    assignee: task.assignee,
    estimated_minutes: minutes?.ok === true && minutes.value % 60_000 === 0 ? minutes.value / 60_000 : undefined,
    due_at: task.deadline,
    close_reason: REASONS.has(status) ? status : undefined,
    labels: task.labels,
    dependencies: links.length === 0 ? undefined : links,
  })
}

export function linksTo(id: string, blocking: readonly string[]): readonly Json[] {
  return blocking.map(other => ({ issue_id: id, depends_on_id: other, type: 'blocks' }))
}

function criteriaText(accept: readonly Json[]): string | undefined {
  if (!accept.every(criterion => typeof criterion === 'string')) return undefined
  return accept.length === 1 ? (accept[0] as string) : accept.map(criterion => `- ${criterion}`).join('\n')
}

export function printIssues(definition: PlanDefinition, status: StatusOf): string {
  const tasks = definition.tasks.filter(task => task.action.type !== 'verify')
  const kept = new Map(tasks.map(task => [task.id, keptBy(NAME, task)]))
  const idOf = (name: TaskName): string => {
    const id = kept.get(name)?.id
    return typeof id === 'string' ? id : name
  }
  const names = new Map(tasks.map(({ id }) => [idOf(id), id]))
  const named = (ids: readonly string[]): readonly TaskName[] => ids.map(id => names.get(id) ?? (id as TaskName))
  const parents = new Map(tasks.map(({ id }) => [id, named(blockers(kept.get(id)!.dependencies, ['parent-child']))]))
  const children = new Map<TaskName, Set<TaskName>>(tasks.map(({ id }) => [id, new Set()]))
  for (const [name, above] of parents) for (const parent of above) children.get(parent)?.add(name)
  const { hard, moved } = writtenNeeds(
    tasks,
    new Map(
      tasks.map(({ id }) => [
        id,
        isList(kept.get(id)!.dependencies) ? named(blockers(kept.get(id)!.dependencies, HARD)) : null,
      ]),
    ),
    (name, said) => [...children.get(name)!, ...parents.get(name)!.flatMap(parent => said.get(parent) ?? [])],
  )

  /** The remembered links as far as they hold, and new ones for what is needed since. */
  function linksOf(name: TaskName): readonly Json[] {
    const links = kept.get(name)!.dependencies
    const wanted = new Set(hard.get(name)!)
    const holds = (isList(links) ? links : []).filter(link =>
      named(blockers([link], HARD)).every(other => wanted.has(other)),
    )
    for (const linked of named(blockers(holds, HARD))) wanted.delete(linked)
    return [...holds, ...linksTo(idOf(name), [...wanted].map(idOf))]
  }

  const lines = tasks.map(task => {
    const rest = kept.get(task.id)!
    const now = status(task.id)
    const said = raiseTask(task)
    const values = record(idOf(task.id), said, now, linksOf(task.id))
    const still: { [key: string]: Json } = { ...rest }
    if (moved.has(task.id)) delete still.dependencies
    if (rest.status !== undefined) {
      const then = endingOf(rest)
      if (then !== null && then === now) delete values.close_reason
      else if (then !== null || statusWord(STATUS, NEAREST, now, rest.status) !== rest.status) delete still.status
    }
    if (values.close_reason !== undefined || !ENDED.has(now)) delete still.close_reason
    if (!ENDED.has(now)) delete still.closed_at
    for (const key of SAID) if (values[key] !== undefined && values[key] !== '') delete still[key]
    if (values.priority !== undefined && rank(still.priority) !== task.priority) delete still.priority
    if (values.acceptance_criteria !== undefined && !same(criteriaOf(still.acceptance_criteria), said.accept))
      delete still.acceptance_criteria
    return assemble(values, still, ISSUE)
  })
  for (const other of othersOf(definition).toReversed()) lines.splice(other.at, 0, other.record)
  return lines.map(line => `${oneLine(line)}\n`).join('')
}

function othersOf(definition: PlanDefinition): readonly { readonly at: number; readonly record: JsonObject }[] {
  const { others } = keptBy(NAME, definition)
  if (!isList(others)) return []
  return others.flatMap(other =>
    isMap(other) && typeof other.at === 'number' && isMap(other.record) ? [{ at: other.at, record: other.record }] : [],
  )
}

/** As Go's encoder writes it, which Beads is written in: what is special in HTML is escaped. */
function oneLine(value: Json): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
