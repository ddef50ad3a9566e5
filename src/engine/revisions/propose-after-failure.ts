// The revision that a recovery rule proposes after a failure: the plan with additional tasks, written in the rule or made from a template.
// They are placed beside the failed task, whose next visit needs them.

import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { NoProposal } from '../../domain/command.ts'
import type { Proposal } from '../../domain/event.ts'
import type { TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import { DOCUMENT_MAX_BYTES } from '../../domain/limits.ts'
import type { PlanDefinition, Recovery, TaskDefinition } from '../../domain/plan.ts'
import { isMultiplied } from '../../domain/plan-rules/expand.ts'
import { checkGraph } from '../../domain/plan-rules/graph-rules.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { instantiate, readTemplate } from '../../extras/templates/templates.ts'
import { definitionHash } from '../../format/plan/hash.ts'
import { renameTasks } from '../../format/plan/rename-tasks.ts'
import { inboxId } from '../gates/inbox-id.ts'
import { entriesAfter } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'

type Replan = Extract<Recovery, { readonly type: 'replan' }>
type Made<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string }

/** The same from `src/engine` and from `dist/engine`. */
const STOCK = fileURLToPath(new URL('../../../templates/', import.meta.url))

export async function propose(rooms: Rooms, state: PlanState, task: TaskState): Promise<Proposal | NoProposal> {
  // The state is live; read it before the first await.
  const { id: plan, definition, hash: base, version } = state
  const { id, recover = [] } = task.definition
  const asks = task.gate?.asks
  const failure = asks?.type === 'replan' ? asks.failure : null
  const none = (why: string): NoProposal => ({ task: id, base, none: why })
  try {
    const rule = await lastRule(rooms, state, id)
    const recovery = recover[rule ?? -1]?.do
    if (recovery?.type !== 'replan' || failure === null) return none('no rule says which tasks to add')
    const about = { plan: definition.name, task: id, failure: failure.message, class: failure.class }
    const made = await tasksOf(rooms, recovery, about)
    if (!made.ok) return none(made.why)
    const added = withAdded(definition, id, made.value)
    if (!added.ok) return none(added.why)
    const [fault] = checkGraph(added.value.definition)
    if (fault !== undefined) return none(fault.message)
    const hash = definitionHash(added.value.definition)
    const origin = recovery.template === undefined ? '' : ` of the template '${recovery.template}'`
    return {
      id: inboxId(`${plan}/proposal/${version}/${hash}`),
      definition: added.value.definition,
      hash,
      base,
      rationale: `'${id}' failed; its rule adds ${added.value.names.map(name => `'${name}'`).join(', ')}${origin} before it is retried`,
      by: 'engine',
      cause: `'${id}' failed: ${failure.message}`,
      task: id,
    }
  } catch (error) {
    return none(error instanceof Error ? error.message : String(error))
  }
}

async function lastRule(rooms: Rooms, { id: plan }: PlanState, task: TaskName): Promise<number | null> {
  let rule: number | null = null
  for (const { events } of await entriesAfter(rooms.store, plan, 0))
    for (const event of events)
      if (event.type === 'recovery.chosen' && event.task === task && event.choice === 'replan')
        rule = event.rule ?? null
  return rule
}

async function tasksOf(
  rooms: Rooms,
  { add = [], template }: Replan,
  about: JsonObject,
): Promise<Made<readonly TaskDefinition[]>> {
  if (template === undefined)
    return add.length === 0 ? { ok: false, why: 'the rule names no tasks' } : { ok: true, value: add }
  const text = await templateText(rooms, template)
  if (text === null) return { ok: false, why: `there is no template '${template}'` }
  const read = readTemplate(text)
  if (!read.ok) return { ok: false, why: `the template '${template}' is wrong: ${read.diagnostics[0]?.message ?? ''}` }
  const known = new Set(read.template.parameters.map(({ name }) => name))
  const given = Object.fromEntries(Object.entries(about).filter(([name]) => known.has(name)))
  const made = instantiate(read.template, given)
  if (made.ok) return { ok: true, value: [...made.definition.tasks, ...add] }
  const why = made.problems[0]?.message ?? made.diagnostics[0]?.message ?? 'it makes no plan'
  return { ok: false, why: `the template '${template}' cannot be used here: ${why}` }
}

/** A user's template wins over a stock one. Only a valid name becomes part of a path. */
async function templateText({ stateDir }: Rooms, name: string): Promise<string | null> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)) return null
  for (const folder of [join(stateDir, 'templates'), STOCK]) {
    const path = join(folder, `${name}.yaml`)
    const there = await lstat(path).catch(() => null)
    if (there?.isFile() === true && there.size <= DOCUMENT_MAX_BYTES) return await readFile(path, 'utf8')
  }
  return null
}

/** The plan with these tasks beside the failed one, renamed where necessary; it needs all of them. */
export function withAdded(
  definition: PlanDefinition,
  failed: TaskName,
  add: readonly TaskDefinition[],
): Made<{ readonly definition: PlanDefinition; readonly names: readonly TaskName[] }> {
  const names: TaskName[] = []
  const tasks = within(definition.tasks, failed.split('/'), (siblings, at) => {
    const taken = new Set(siblings.map(({ id }) => id))
    const renames = new Map<TaskName, TaskName>()
    for (const { id } of add) {
      const free = freeName(id, taken)
      taken.add(free)
      if (free !== id) renames.set(id, free)
    }
    const added = renameTasks({ name: definition.name, tasks: add }, renames).tasks
    names.push(...added.map(({ id }) => id))
    // A task that is only reached by an outcome is dormant, so it is not needed.
    const led = new Set(added.flatMap(({ on = {} }) => Object.values(on).flat()))
    const needed = added.map(({ id }) => id).filter(id => !led.has(id))
    return [
      ...siblings.slice(0, at),
      ...added,
      { ...siblings[at]!, needs: [...(siblings[at]!.needs ?? []), ...needed] },
      ...siblings.slice(at + 1),
    ]
  })
  return tasks === null
    ? { ok: false, why: `'${failed}' is no longer in the plan` }
    : { ok: true, value: { definition: { ...definition, tasks }, names } }
}

type Change = (siblings: readonly TaskDefinition[], at: number) => readonly TaskDefinition[]

/** Changes the list that contains the task; for an expanded task the list of its template. */
function within(
  tasks: readonly TaskDefinition[],
  words: readonly string[],
  change: Change,
): readonly TaskDefinition[] | null {
  const at = tasks.findIndex(({ id }) => id === words[0])
  const task = tasks[at]
  if (task === undefined) return null
  const rest = words.slice(isMultiplied(task) ? 2 : 1)
  if (task.action.type !== 'subplan' || rest.length === 0) return change(tasks, at)
  const inner = within(task.action.tasks, rest, change)
  if (inner === null) return null
  const changed: TaskDefinition = { ...task, action: { type: 'subplan', tasks: inner } }
  return [...tasks.slice(0, at), changed, ...tasks.slice(at + 1)]
}

function freeName(name: TaskName, taken: ReadonlySet<TaskName>): TaskName {
  for (let number = 1; ; number++) {
    const free = (number === 1 ? name : `${name}-${number}`) as TaskName
    if (!taken.has(free)) return free
  }
}
