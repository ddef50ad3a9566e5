// Renames tasks in a definition, with all references to them: `needs`, `on`, `recover`, compensation, merged branches, and every
// expression, alone or in `${{ … }}`. Returns a copy.

import { mergedBy, mergeOf } from '../../domain/actions/git-action.ts'
import { NAME_MAX, type TaskName } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import type { Action, Criterion, PlanDefinition, TaskDefinition, TaskValues, ValueKind } from '../../domain/plan.ts'
import { withRemedies } from '../../domain/plan-rules/expand.ts'
import { withReviewer } from '../../domain/plan-rules/judge.ts'
import { fieldOf } from '../../domain/plan-rules/task-fields.ts'
import { actionFields } from '../actions/actions.ts'
import { renameInExpression } from '../expression/task-references.ts'
import { parseTemplate } from '../expression/template.ts'

/** From old to new names; tasks not listed keep theirs. */
export type Renames = ReadonlyMap<TaskName, TaskName>

export function renameTasks(plan: PlanDefinition, renames: Renames): PlanDefinition {
  if (renames.size === 0) return plan
  const words = new Words(renames)
  return {
    ...plan,
    ...(plan.done === undefined ? {} : { done: plan.done.map(one => criterion(words, one)) }),
    tasks: plan.tasks.map(task => renameTask(words, task, null)),
  }
}

/** Names tasks `plan-<shortname>-01`, `-02` … in order; steps of subplans keep their short names. */
export function generateTaskIds(plan: PlanDefinition, shortname: string): PlanDefinition {
  return renameTasks(plan, generatedIds(plan, shortname))
}

export function generatedIds(plan: PlanDefinition, shortname: string): Renames {
  const digits = Math.max(2, String(plan.tasks.length).length)
  const slug = shortname
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    // Leaves room for `plan-`, the number, and step names.
    .slice(0, NAME_MAX - 30)
    .replace(/^-+|-+$/g, '')
  const name = (at: number) => `plan-${slug === '' ? 'task' : slug}-${String(at + 1).padStart(digits, '0')}` as TaskName
  return new Map(plan.tasks.map(({ id }, at) => [id, name(at)]))
}

class Words {
  readonly #renames: Renames

  constructor(renames: Renames) {
    this.#renames = renames
  }

  /** A task, or a step below it: `a/1` follows `a`. */
  readonly name = (name: string): string => {
    const direct = this.#renames.get(name as TaskName)
    if (direct !== undefined) return direct
    for (let cut = name.lastIndexOf('/'); cut > 0; cut = name.lastIndexOf('/', cut - 1)) {
      const above = this.#renames.get(name.slice(0, cut) as TaskName)
      if (above !== undefined) return `${above}${name.slice(cut)}`
    }
    return name
  }

  expression(source: string): string {
    return renameInExpression(source, this.name)
  }

  /** Changes only text inside `${{ … }}`. */
  template(text: string): string {
    if (!text.includes('${{') || !text.includes('tasks')) return text
    const parsed = parseTemplate(text)
    if (!parsed.ok) return text
    let renamed = text
    for (const part of parsed.parts.toReversed()) {
      if (part.type !== 'expression') continue
      const { position, source } = part
      renamed = `${renamed.slice(0, position)}${this.expression(source)}${renamed.slice(position + source.length)}`
    }
    return renamed
  }

  /** Maps every text inside a value; keys stay. */
  value<T>(value: T): T {
    return this.#inside(value as Json) as T
  }

  #inside(value: Json): Json {
    if (typeof value === 'string') return this.template(value)
    if (Array.isArray(value)) return value.map(item => this.#inside(item as Json))
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#inside(item as Json)]))
  }
}

/**
 * Steps of a subplan need their siblings by short names, which stay. Their outcomes may also lead to tasks outside, unless a
 * sibling has the same name; expressions use full names.
 */
function renameTask(words: Words, task: TaskDefinition, steps: ReadonlySet<TaskName> | null): TaskDefinition {
  const named = (name: TaskName) => (steps?.has(name) === true ? name : (words.name(name) as TaskName))
  const names = (list: readonly TaskName[]) => list.map(named)
  return changed(task, {
    name: id => (steps === null ? (words.name(id) as TaskName) : id),
    names: needs => (steps === null ? names(needs) : needs),
    edges: on => Object.fromEntries(Object.entries(on).map(([outcome, to]) => [outcome, names(to)])),
    modes: modes =>
      modes.map(mode => ({
        ...mode,
        detect: criterion(words, mode.detect) as typeof mode.detect,
        ...(mode.recover === undefined ? {} : { recover: names(mode.recover) }),
      })),
    recovery: rules => withRemedies(rules, named, tasks => renameAdded(words, tasks)),
    review: review => words.value(withReviewer(review, named)),
    items: each => (each.in === undefined ? each : { ...each, in: words.expression(each.in) }),
    expression: text => words.expression(text),
    criteria: list => list.map(one => criterion(words, one)),
    action: action => renameAction(words, action, steps),
    undo: undo => (undo.type === 'task' ? { ...undo, task: named(undo.task) } : renameAction(words, undo, steps)),
    command: command => words.value(command),
    inputs: inputs => words.value(inputs),
    environment: env => words.value(env),
    template: text => words.template(text),
  })
}

/** Tasks that a rule would add belong to the plan itself. Their own names stay, unless they clash with a renamed one. */
function renameAdded(words: Words, tasks: readonly TaskDefinition[]): readonly TaskDefinition[] {
  const own = new Set(tasks.map(({ id }) => id))
  return tasks.map(task =>
    changed(renameTask(words, task, own), {
      names: needs => needs.map(name => (own.has(name) ? name : (words.name(name) as TaskName))),
    }),
  )
}

function renameAction(words: Words, action: Action, steps: ReadonlySet<TaskName> | null): Action {
  const renamed = actionFields(action).map(({ field, content, value }) => {
    if (content === 'expression') return [field, words.expression(value as string)]
    return [
      field,
      content === 'criteria' ? (value as readonly Criterion[]).map(one => criterion(words, one)) : words.value(value),
    ]
  })
  const changed: Action = { ...action, ...Object.fromEntries(renamed) }
  if (changed.type === 'subplan') {
    const inside = new Set([...(steps ?? []), ...changed.tasks.map(({ id }) => id)])
    return { ...changed, tasks: changed.tasks.map(task => renameTask(words, task, inside)) }
  }
  const merged = mergedBy(action)
  return merged === null || steps?.has(merged) === true ? changed : mergeOf(changed, words.name(merged) as TaskName)
}

function criterion(words: Words, one: Criterion): Criterion {
  if (one.type === 'check') return { ...one, command: words.value(one.command) }
  if (one.type === 'tests') {
    const baseline = one.baseline === undefined ? {} : { baseline: words.name(one.baseline) as TaskName }
    return { ...one, command: words.value(one.command), ...baseline }
  }
  return one.type === 'expect' ? { ...one, expression: words.expression(one.expression) } : one
}

type Changes = { readonly [K in ValueKind]?: (value: TaskValues[K]) => TaskValues[K] }

function changed(task: TaskDefinition, by: Changes): TaskDefinition {
  const entries = Object.entries(task).map(([name, value]) => {
    const field = fieldOf(name)
    const change = field === null || field.key === null ? undefined : by[field.value]
    return [name, change === undefined || value === undefined ? value : change(value as never)]
  })
  return Object.fromEntries(entries) as unknown as TaskDefinition
}
