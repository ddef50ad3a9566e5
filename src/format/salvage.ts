// What is left of a document when the parts that are wrong are taken out, so that the rest is checked as well and everything that is
// wrong is told at once. Only ever looked at: nobody makes a plan of it.

import type { Json } from '../domain/json.ts'
import { complaintsOf, type SchemaComplaint } from './complaints.ts'
import { DIAGNOSTICS_MAX, type Path } from './diagnostic.ts'
import { type PlanDocument, plan as planSchema } from './schema.ts'

export interface Salvaged {
  readonly plan: PlanDocument
  /** Some task has lost its name, so a name that is not known may be that one's. */
  readonly nameless: boolean
  /** Something was taken out that says who comes before whom, or what a task makes; nothing can be said about that then. */
  readonly unrelated: boolean
}

const TRIES_MAX = 5

/** `complaints`: what the schema says about the document. Null when too little is left to look at. */
export function salvage(document: Json, complaints: readonly SchemaComplaint[]): Salvaged | null {
  // As many are told already as ever are.
  if (complaints.length >= DIAGNOSTICS_MAX) return null
  const value = structuredClone(document) as Tree
  const lost = { nameless: false, unrelated: false }
  let wrong = complaints
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (wrong.length >= DIAGNOSTICS_MAX || !wrong.every(one => takeOut(value, one, lost))) return null
    const shaped = planSchema.safeParse(value)
    if (shaped.success) return { plan: shaped.data, ...lost }
    wrong = complaintsOf(planSchema, shaped.error, { value, written: () => null })
  }
  return null
}

type Tree = { [key: string | number]: unknown }

function takeOut(
  root: Tree,
  { path, absent, meant }: SchemaComplaint,
  lost: { nameless: boolean; unrelated: boolean },
): boolean {
  if (absent === 'planfold' || path[0] === 'planfold') {
    root.planfold = 1
    return true
  }
  if (path[0] === 'tasks' && typeof path[1] === 'number') {
    const isItself = path.length === 2 || (path.length === 3 && path[2] === 'id')
    if (isItself) {
      lost.nameless = true
      const tasks = root.tasks as Tree
      const task = tasks[path[1]]
      tasks[path[1]] = { ...(isTree(task) ? task : {}), id: `unnamed-${path[1]}` }
      return true
    }
    const key = meant ?? path[2]
    if (!UNRELATED.has(String(key))) lost.unrelated = true
    if (path.includes('subplan')) lost.nameless = true
  }
  return remove(root, path)
}

/** The innermost key of a map on this path; items of a list keep their numbers, so the list goes as a whole. */
function remove(root: Tree, path: Path): boolean {
  let parent: Tree | null = null
  let key: string | null = null
  let here: unknown = root
  for (const step of path) {
    if (!isTree(here) || !Object.hasOwn(here, step)) break
    if (typeof step === 'string') {
      parent = here
      key = step
    }
    here = here[step]
  }
  if (parent === null || key === null || (parent === root && key === 'tasks')) return false
  delete parent[key]
  return true
}

const isTree = (value: unknown): value is Tree => value !== null && typeof value === 'object'

/** Keys of a task that say neither who comes before whom nor what it makes. */
const UNRELATED: ReadonlySet<string> = new Set([
  ...['title', 'description', 'kind', 'rationale', 'optional', 'timeout', 'retry', 'timebox', 'priority', 'inputs'],
  ...['write', 'read', 'network', 'env', 'cwd', 'effect', 'probe', 'expect', 'accept', 'preconditions', 'when'],
  ...['postconditions', 'effects', 'assumptions', 'risks', 'rollback', 'visits', 'owner', 'assignee', 'labels'],
  ...['milestone', 'deadline', 'estimate', 'budget', 'capabilities', 'stdin', 'show', 'extra'],
])
