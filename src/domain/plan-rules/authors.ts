// The author of each task's command. A person's own commands may run with their permissions; those of others always run in the sandbox. A
// task is known by its top-level name, and expanded tasks have its author. A change in a child counts for the whole group.

import type { TaskName } from '../id.ts'
import { same } from '../json.ts'
import type { Author, Authors, PlanDefinition, TaskDefinition, Writer } from '../plan.ts'
import { DONE_TASK } from './graph-rules.ts'
import { fieldsWhere } from './task-fields.ts'

export const NO_AUTHORS: Authors = { most: 'others', tasks: {} }

/** No task can have these names. */
export const NOTIFY = '(notify)' as TaskName
export const POLICY = '(policy)' as TaskName

export const isTask = (name: TaskName): boolean => name !== DONE_TASK && name !== NOTIFY && name !== POLICY

export function authorOf({ authors }: { readonly authors: Authors }, task: TaskName): Author {
  for (let name: string = task; ; name = name.slice(0, name.lastIndexOf('/'))) {
    if (Object.hasOwn(authors.tasks, name)) return authors.tasks[name]!
    if (!name.includes('/')) return authors.most
  }
}

export const notifyAuthor = (state: { readonly authors: Authors }): Author => authorOf(state, NOTIFY)

export const isOwn = (state: { readonly authors: Authors }, task: TaskName): boolean =>
  authorOf(state, task) === 'person'

/** The parts of a plan with other authors: tasks, final checks, notifications. */
export function othersIn(state: {
  readonly definition: PlanDefinition
  readonly authors: Authors
}): readonly TaskName[] {
  return [...state.definition.tasks.map(({ id }) => id), DONE_TASK, NOTIFY].filter(name => !isOwn(state, name))
}

/**
 * `others`: the parts that the person who brings the definition did not write: tasks of a copied plan, or tasks that are not in their file.
 */
export function authorsOfNew(writer: Writer | undefined, others: readonly TaskName[] = []): Authors {
  if (writer === undefined) return NO_AUTHORS
  return { most: authorBy(writer), tasks: Object.fromEntries(others.map(task => [task, 'others'])) }
}

/** The authors after a revision: unchanged parts keep theirs. `others`: of a whole definition, what is not the person's. */
export function authorsAfter(
  authors: Authors,
  before: PlanDefinition,
  after: PlanDefinition,
  writer: Writer | undefined,
  others: readonly TaskName[] = [],
): Authors {
  if (writer === 'items') return authors
  if (writer === 'person') return authorsOfNew(writer, others)
  const by = authorBy(writer)
  const rewritten = new Set(rewrittenTasks(before, after))
  // The sandbox policy of all tasks has changed, and not by the person.
  if (by !== 'person' && rewritten.has(POLICY)) return NO_AUTHORS
  if (authors.most === by && Object.keys(authors.tasks).length === 0) return authors
  const names = [...after.tasks.map(({ id }) => id), DONE_TASK, NOTIFY]
  return {
    ...authors,
    tasks: Object.fromEntries(
      names
        .map(name => [name, rewritten.has(name) ? by : authorOf({ authors }, name)] as const)
        .filter(([name, author]) => isKept(authors, name, author)),
    ),
  }
}

/** Recorded explicitly: it differs from the most common author, or its name has a `/`, where `authorOf` would find that of a prefix. */
const isKept = ({ most }: Authors, name: string, author: Author): boolean => author !== most || name.includes('/')

/** The parts of a revision that run commands or set limits: tasks, final checks, notifications, the policy. */
export function rewrittenTasks(before: PlanDefinition, after: PlanDefinition): readonly TaskName[] {
  const known = new Map(before.tasks.map(task => [task.id, task]))
  const limits = ({ policy }: PlanDefinition) => LIMITS.map(limit => policy?.[limit] ?? null)
  return [
    ...after.tasks.filter(task => !sameCommand(known.get(task.id), task)).map(({ id }) => id),
    ...(same(before.done, after.done) ? [] : [DONE_TASK]),
    ...(same(before.notify, after.notify) ? [] : [NOTIFY]),
    ...(same(limits(before), limits(after)) ? [] : [POLICY]),
  ]
}

export function authorsWith(
  authors: Authors,
  added: readonly Pick<TaskDefinition, 'id'>[],
  writer: Writer | undefined,
): Authors {
  const by = authorBy(writer)
  const kept = added.filter(({ id }) => isKept(authors, id, by)).map(({ id }) => [id, by] as const)
  return kept.length === 0 ? authors : { ...authors, tasks: { ...authors.tasks, ...Object.fromEntries(kept) } }
}

export function authorsApproved({ most, tasks }: Authors, approves: 'draft' | readonly TaskName[]): Authors {
  if (approves === 'draft') {
    const left = Object.entries(tasks).filter(([, author]) => author === 'others')
    return { most: most === 'draft' ? 'person' : most, tasks: Object.fromEntries(left) }
  }
  return { most, tasks: { ...tasks, ...Object.fromEntries(approves.map(task => [task, 'person'])) } }
}

const authorBy = (writer: Writer | undefined): Author =>
  writer === undefined ? 'others' : writer === 'draft' ? 'draft' : 'person'

const LIMITS = ['sandbox', 'write', 'read', 'network'] as const

/**
 * The fields that determine what runs, on which data, within which limits, and how it is judged. Titles, routes and budgets do not count.
 */
const COMMAND_FIELDS = fieldsWhere(
  ({ change, name }) =>
    ['action', 'data', 'scope', 'criteria'].includes(change) || name === 'forEach' || name === 'matrix',
)

const sameCommand = (was: TaskDefinition | undefined, is: TaskDefinition): boolean =>
  was !== undefined && (was === is || commandText(was) === commandText(withoutAgent(was, is)))

/** An external task that was handed to an agent is otherwise unchanged, so its author stays, as does that of its group. */
function withoutAgent(was: TaskDefinition, is: TaskDefinition): TaskDefinition {
  if (was.action.type === 'external' && is.action.type === 'agent')
    return { ...is, action: was.action, instruction: was.instruction ?? undefined }
  if (was.action.type !== 'subplan' || is.action.type !== 'subplan') return is
  const known = new Map(was.action.tasks.map(task => [task.id, task]))
  const tasks = is.action.tasks.map(task => {
    const before = known.get(task.id)
    return before === undefined ? task : withoutAgent(before, task)
  })
  return { ...is, action: { ...is.action, tasks } }
}

const commandText = (task: TaskDefinition): string => JSON.stringify(COMMAND_FIELDS.map(field => task[field] ?? null))
