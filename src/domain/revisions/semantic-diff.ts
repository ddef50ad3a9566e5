// The meaning of a change of a definition: added, removed and renamed tasks, and for every other task the changed fields by kind. Pure and
// total: equal definitions have an empty diff, and every differing key is in the diff or follows from a renaming. Keys and values are those
// of the definition (durations in milliseconds).

import { mergedBy, mergeOf } from '../actions/git-action.ts'
import type { TaskName } from '../id.ts'
import { type Json, same, stableText, wordList } from '../json.ts'
import type { ActionType, ChangeKind, PlanDefinition, TaskDefinition } from '../plan.ts'
import { compensatorOf, withRemedies } from '../plan-rules/expand.ts'
import { withReviewer } from '../plan-rules/judge.ts'
import { fieldOf } from '../plan-rules/task-fields.ts'

// Kinds of changes, and one-line summaries.

/** In the order in which changes are listed, the most important first. */
const CHANGE_KINDS = wordList('action scope criteria route budget data wording other') satisfies readonly ChangeKind[]

export const KIND_WORDS: Readonly<Record<ChangeKind, string>> = {
  action: 'action',
  scope: 'scope',
  criteria: 'checks',
  route: 'routing',
  budget: 'limits',
  data: 'data',
  wording: 'text',
  other: 'other keys',
}

const PLAN_KEYS = keys({
  action: 'git git.commits git.worktree git.message git.base policy.checkpoints',
  scope:
    'policy policy.write policy.read policy.network policy.commands policy.data policy.sandbox policy.gates policy.roles place reviewers',
  criteria: 'done',
  route: 'policy.onFailure policy.replan policy.escalate policy.review policy.retention notify recovery recovery.edits',
  budget:
    'policy.budget policy.breaker policy.limits concurrency defaults defaults.timeoutMs defaults.retry defaults.model defaults.agent',
  data: 'session hypotheses memory artifacts',
  wording: 'name title goal owner stakeholders impacted approval labels',
})

const kindOfTaskKey = (key: string): ChangeKind => fieldOf(key)?.change ?? 'other'
const kindOfPlanKey = (key: string): ChangeKind => PLAN_KEYS.get(key) ?? 'other'
const rank = (kind: ChangeKind): number => CHANGE_KINDS.indexOf(kind)

export function summarise(diff: SemanticDiff): string {
  const parts = [
    phrase(
      'added',
      diff.added.map(({ task }) => task),
    ),
    phrase(
      'removed',
      diff.removed.map(({ task }) => task),
    ),
    phrase(
      'renamed',
      diff.renamed.map(({ from, to }) => `${from} → ${to}`),
    ),
    ...CHANGE_KINDS.map(kind =>
      phrase(
        `changed ${KIND_WORDS[kind]} of`,
        diff.changed.filter(({ changes }) => changes.some(change => change.kind === kind)).map(({ task }) => task),
      ),
    ),
    diff.reordered.length === 0 ? '' : 'reordered',
    phrase(
      'plan',
      diff.plan.map(({ key }) => key),
    ),
  ].filter(text => text !== '')
  return parts.length === 0 ? 'no change' : parts.join('; ')
}

const NAMES_SHOWN_MAX = 3

function phrase(word: string, names: readonly string[]): string {
  if (names.length === 0) return ''
  const shown = names.slice(0, names.length > NAMES_SHOWN_MAX + 1 ? NAMES_SHOWN_MAX : names.length)
  const left = names.length - shown.length
  return `${word} ${shown.join(', ')}${left > 0 ? ` and ${left} more` : ''}`
}

function keys(words: { readonly [K in ChangeKind]?: string }): ReadonlyMap<string, ChangeKind> {
  const found = new Map<string, ChangeKind>()
  for (const kind of CHANGE_KINDS) for (const key of words[kind]?.split(' ') ?? []) found.set(key, kind)
  return found
}

export interface SemanticDiff {
  /** Keys of the plan; those of `policy`, `defaults` and `git` separately, e.g. `policy.write`. */
  readonly plan: readonly KeyChange[]
  readonly removed: readonly NamedTask[]
  readonly added: readonly NamedTask[]
  /** The same content under another id, which for the run is another task. */
  readonly renamed: readonly { readonly from: TaskName; readonly to: TaskName }[]
  /** By their new names; a task of a sub-plan is `<task>/<child>`. */
  readonly changed: readonly TaskChange[]
  /** Where the order of common tasks differs: null for the plan, else the task with the sub-plan. */
  readonly reordered: readonly (TaskName | null)[]
}

export interface NamedTask {
  readonly task: TaskName
  readonly action: ActionType
  readonly title?: string
}

interface TaskChange {
  readonly task: TaskName
  readonly changes: readonly KeyChange[]
}

/** `before` is absent for a new key, `after` for a removed one. */
export interface KeyChange {
  readonly kind: ChangeKind
  readonly key: string
  readonly before?: Json
  readonly after?: Json
}

export function semanticDiff(before: PlanDefinition, after: PlanDefinition): SemanticDiff {
  const found: Found = { removed: [], added: [], renamed: [], changed: [], reordered: [] }
  compareTasks(found, before.tasks, after.tasks, null, null)
  return { plan: changesOf(headOf(before), headOf(after), kindOfPlanKey), ...found }
}

export function isEmpty(diff: SemanticDiff): boolean {
  return Object.values(diff).every((part: readonly unknown[]) => part.length === 0)
}

type Found = {
  -readonly [K in Exclude<keyof SemanticDiff, 'plan'>]: SemanticDiff[K][number][]
}

function compareTasks(
  found: Found,
  before: readonly TaskDefinition[],
  after: readonly TaskDefinition[],
  parentBefore: TaskName | null,
  parentAfter: TaskName | null,
): void {
  const old = new Map(before.map(task => [task.id, task]))
  const now = new Map(after.map(task => [task.id, task]))
  const removed = [...old.values()].filter(task => !now.has(task.id))
  const come = [...now.values()].filter(task => !old.has(task.id))
  const renames = renamesAmong(removed, come)
  const origins = new Map([...renames].map(([from, to]) => [to, from]))
  for (const task of removed) if (!renames.has(task.id)) found.removed.push(named(task, parentBefore))
  for (const task of come) if (!origins.has(task.id)) found.added.push(named(task, parentAfter))
  for (const [from, to] of renames) found.renamed.push({ from: path(parentBefore, from), to: path(parentAfter, to) })

  for (const task of now.values()) {
    const was = old.get(origins.get(task.id) ?? task.id)
    if (was === undefined || (renames.size === 0 && JSON.stringify(was) === JSON.stringify(task))) continue
    const name = path(parentAfter, task.id)
    const followed = renames.size === 0 ? was : withReferences(was, renames)
    const changes = changesOf(parts(followed, task), parts(task, followed), kindOfTaskKey)
    if (changes.length > 0) found.changed.push({ task: name, changes })
    if (was.action.type === 'subplan' && task.action.type === 'subplan')
      compareTasks(found, was.action.tasks, task.action.tasks, path(parentBefore, was.id), name)
  }

  const kept = [...now.keys()].map(id => origins.get(id) ?? id).filter(id => old.has(id))
  const oldOrder = [...old.keys()].filter(id => now.has(id) || renames.has(id))
  if (oldOrder.some((id, at) => id !== kept[at])) found.reordered.push(parentAfter)
}

/** Removed and added tasks with equal content apart from names. Ambiguous or empty tasks do not count. */
function renamesAmong(
  gone: readonly TaskDefinition[],
  come: readonly TaskDefinition[],
): ReadonlyMap<TaskName, TaskName> {
  const renames = new Map<TaskName, TaskName>()
  if (gone.length === 0 || come.length === 0) return renames
  const byContent = groups(come)
  for (const [content, [from, ...others]] of groups(gone)) {
    const [to, ...rivals] = byContent.get(content) ?? []
    if (from !== undefined && to !== undefined && others.length === 0 && rivals.length === 0) renames.set(from, to)
  }
  return renames
}

function groups(tasks: readonly TaskDefinition[]): ReadonlyMap<string, readonly TaskName[]> {
  const found = new Map<string, TaskName[]>()
  for (const task of tasks) {
    const { id, needs: _needs, on: _on, failureModes, ...rest } = withReferences(task, NAMELESS)
    if (task.action.type === 'external' && Object.keys(rest).length === 1) continue
    const content = stableText([rest, failureModes?.map(({ recover: _, ...mode }) => mode)])
    const list = found.get(content)
    if (list === undefined) found.set(content, [id])
    else list.push(id)
  }
  return found
}

/** Maps all references to one name, so that names do not matter for equality. */
const NAMELESS: Pick<ReadonlyMap<TaskName, TaskName>, 'get'> = { get: () => 'x' as TaskName }

/** The task as if only the names of its references had changed. */
function withReferences(task: TaskDefinition, renames: Pick<ReadonlyMap<TaskName, TaskName>, 'get'>): TaskDefinition {
  const named = (names: readonly TaskName[]): readonly TaskName[] => names.map(name => renames.get(name) ?? name)
  const [by, merged] = [compensatorOf(task), mergedBy(task.action)]
  return {
    ...task,
    ...(by === null ? {} : { compensate: { type: 'task', task: renames.get(by) ?? by } }),
    ...(merged === null ? {} : { action: mergeOf(task.action, renames.get(merged) ?? merged) }),
    ...(task.needs === undefined ? {} : { needs: named(task.needs) }),
    ...(task.on === undefined
      ? {}
      : { on: Object.fromEntries(Object.entries(task.on).map(([outcome, to]) => [outcome, named(to)])) }),
    ...(task.review === undefined ? {} : { review: withReviewer(task.review, name => renames.get(name) ?? name) }),
    ...(task.recover === undefined
      ? {}
      : {
          recover: withRemedies(
            task.recover,
            name => renames.get(name) ?? name,
            tasks => followed(tasks, renames),
          ),
        }),
    ...(task.failureModes === undefined
      ? {}
      : {
          failureModes: task.failureModes.map(mode =>
            mode.recover === undefined ? mode : { ...mode, recover: named(mode.recover) },
          ),
        }),
  }
}

/** Tasks that a rule would add have names of their own, which are not renamed. */
function followed(
  tasks: readonly TaskDefinition[],
  renames: Pick<ReadonlyMap<TaskName, TaskName>, 'get'>,
): readonly TaskDefinition[] {
  const own = new Set(tasks.map(({ id }) => id))
  return tasks.map(task => withReferences(task, { get: name => (own.has(name) ? name : renames.get(name)) }))
}

type Parts = ReadonlyMap<string, unknown>

/** The keys to compare. If both sides have a sub-plan, its tasks are compared separately. */
function parts(task: TaskDefinition, other: TaskDefinition): Parts {
  const { id: _, action, ...rest } = task
  const bothSubplans = action.type === 'subplan' && other.action.type === 'subplan'
  return new Map<string, unknown>([...Object.entries(rest), ...(bothSubplans ? [] : [['action', action] as const])])
}

function headOf(plan: PlanDefinition): Parts {
  const { tasks: _, policy, defaults, git, ...rest } = plan
  return new Map<string, unknown>([
    ...Object.entries(rest),
    ...opened('policy', policy),
    ...opened('defaults', defaults),
    ...opened('git', git),
  ])
}

/** The members of a map as separate keys; an empty map is still a value. */
function opened(key: string, value: object | undefined): readonly (readonly [string, unknown])[] {
  if (value === undefined) return []
  const members = Object.entries(value).filter(([, item]) => item !== undefined)
  return members.length === 0 ? [[key, {}]] : members.map(([name, item]) => [`${key}.${name}`, item] as const)
}

function changesOf(before: Parts, after: Parts, kindOf: (key: string) => ChangeKind): readonly KeyChange[] {
  const changes: KeyChange[] = []
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(key), after.get(key)]
    if (was === undefined ? is === undefined : is !== undefined && same(was, is)) continue
    changes.push({
      kind: kindOf(key),
      key,
      before: was as Json | undefined,
      after: is as Json | undefined,
    })
  }
  return changes.sort((a, b) => rank(a.kind) - rank(b.kind) || (a.key < b.key ? -1 : 1))
}

function named(task: TaskDefinition, parent: TaskName | null): NamedTask {
  const { id, action, title } = task
  return { task: path(parent, id), action: action.type, title }
}

const path = (parent: TaskName | null, id: TaskName): TaskName =>
  parent === null ? id : (`${parent}/${id}` as TaskName)
