// Who wrote the command of each task. What the person wrote may run with their permissions; what others wrote is always held in the sandbox.
// A task is known by its name at the top of the plan: a group is as foreign as the most foreign of its children.

import type { TaskName } from '../id.ts'
import { same } from '../json.ts'
import type { Author, Authors, PlanDefinition, TaskDefinition, Writer } from '../plan.ts'
import { DONE_TASK } from './graph-rules.ts'
import { fieldsWhere } from './task-fields.ts'

export const NO_AUTHORS: Authors = { most: 'others', tasks: {} }

/** Not a name that a task can have. */
const NOTIFY = '(notify)'

export const authorOf = ({ authors }: { readonly authors: Authors }, task: TaskName): Author =>
  authors.tasks[topOf(task)] ?? authors.most

/** Of the commands of `notify`. */
export const notifyAuthor = ({ authors }: { readonly authors: Authors }): Author =>
  authors.tasks[NOTIFY] ?? authors.most

export const isOwn = (state: { readonly authors: Authors }, task: TaskName): boolean =>
  authorOf(state, task) === 'person'

/** `others`: tasks of a copied plan that the person who copies it did not write. */
export function authorsOfNew(writer: Writer | undefined, others: readonly TaskName[] = []): Authors {
  if (writer === undefined) return NO_AUTHORS
  return { most: authorBy(writer), tasks: Object.fromEntries(others.map(task => [topOf(task), 'others'])) }
}

/** The authors after a revision: what says the same as before keeps its author. */
export function authorsAfter(
  authors: Authors,
  before: PlanDefinition,
  after: PlanDefinition,
  writer: Writer | undefined,
): Authors {
  if (writer === 'person') return { most: 'person', tasks: {} }
  const by = authorBy(writer)
  // How all tasks are held has changed, and not by the person.
  if (by !== 'person' && !LIMITS.every(limit => same(before.policy?.[limit], after.policy?.[limit]))) return NO_AUTHORS
  if (authors.most === by && Object.keys(authors.tasks).length === 0) return authors
  const known = new Map(before.tasks.map(task => [task.id, task]))
  const tasks: [string, Author][] = []
  const keep = (name: string, isSame: boolean): void => {
    const author = isSame ? (authors.tasks[name] ?? authors.most) : by
    if (author !== authors.most) tasks.push([name, author])
  }
  for (const task of after.tasks) keep(task.id, sameCommand(known.get(task.id), task))
  if (after.done !== undefined) keep(DONE_TASK, same(before.done, after.done))
  if (after.notify !== undefined) keep(NOTIFY, same(before.notify, after.notify))
  return { ...authors, tasks: Object.fromEntries(tasks) }
}

export function authorsWith(
  authors: Authors,
  added: readonly Pick<TaskDefinition, 'id'>[],
  writer: Writer | undefined,
): Authors {
  const by = authorBy(writer)
  if (by === authors.most) return authors
  return { ...authors, tasks: { ...authors.tasks, ...Object.fromEntries(added.map(({ id }) => [id, by])) } }
}

/** A person approved the draft of a planner, or commands that they were shown. */
export function authorsApproved({ most, tasks }: Authors, approves: 'draft' | readonly TaskName[]): Authors {
  if (approves === 'draft') {
    const left = Object.entries(tasks).filter(([, author]) => author === 'others')
    return { most: most === 'draft' ? 'person' : most, tasks: Object.fromEntries(left) }
  }
  return { most, tasks: { ...tasks, ...Object.fromEntries(approves.map(task => [topOf(task), 'person'])) } }
}

const authorBy = (writer: Writer | undefined): Author =>
  writer === undefined ? 'others' : writer === 'draft' ? 'draft' : 'person'

const topOf = (task: string): string => task.split('/', 1)[0]!

const LIMITS = ['sandbox', 'write', 'read', 'network'] as const

/** What is run, on which data, within which limits, and how it is judged. Titles, routes and budgets may be anybody's. */
const COMMAND_FIELDS = fieldsWhere(
  ({ change, name }) =>
    ['action', 'data', 'scope', 'criteria'].includes(change) || name === 'forEach' || name === 'matrix',
)

const sameCommand = (was: TaskDefinition | undefined, is: TaskDefinition): boolean =>
  was !== undefined && (was === is || commandText(was) === commandText(is))

const commandText = (task: TaskDefinition): string =>
  JSON.stringify(
    Object.fromEntries(COMMAND_FIELDS.map(field => [field, task[field]])),
    // Items that an expression finds while the plan runs are data, nobody's words.
    (key, value) => (key === 'forEach' && value?.in !== undefined ? value.in : value),
  )
