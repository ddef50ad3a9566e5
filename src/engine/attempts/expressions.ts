// Expressions over a plan: what `tasks`, `plan`, `exit` … refer to. Only the tasks that an expression names are passed to it, so its cost
// does not grow with the plan. The expression library is loaded on first use.

import type { Hint } from '../../domain/hint.ts'
import type { TaskName } from '../../domain/id.ts'
import { type Json, mapOf, mapValues } from '../../domain/json.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { isConfidential } from '../../domain/plan-rules/confidential.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import type { Compiled, Context, Evaluation } from '../../format/expression/expression.ts'
import type { Evaluate } from '../../format/expression/template.ts'
import { lazy } from '../lazy-imports.ts'

type Language = typeof import('../../format/expression/expression.ts')

const compiled = new Map<string, Compiled | { readonly message: string; readonly hint?: Hint }>()
const COMPILED_MAX = 20_000

/** An evaluator over the current state; `extra` adds `exit`, `stdout`, `outputs` and the like. */
export async function evaluator(
  state: PlanState,
  extra: Context = {},
  { leaves = false }: { readonly leaves?: boolean } = {},
): Promise<Evaluate> {
  const { compile, evaluate } = await lazy.expressions()
  return source => {
    const expression = remembered(source, compile)
    if ('message' in expression) return { ok: false, ...expression }
    const kept = leaves ? confidentialIn(state, expression) : undefined
    if (kept !== undefined)
      return {
        ok: false,
        message: `'${kept}' is labelled confidential, so what it left does not go into a prompt`,
        hint: 'leave it out, or hand on a part that may leave from a task of its own',
      }
    const memory = expression.references.memory === null ? {} : { memory: memoryValue(state, extra.memory) }
    return evaluate(expression, { plan: planValue(state), tasks: tasksValue(state, expression), ...extra, ...memory })
  }
}

/** The first confidential task that it reads; any confidential task if the name is computed. */
function confidentialIn({ definition, order, tasks }: PlanState, { references }: Compiled): TaskName | undefined {
  const named = references.dynamic ? order : references.tasks.flatMap(name => tasks.get(name as TaskName) ?? [])
  return named.find(task => isConfidential(definition, task.definition))?.definition.id
}

/** The item and index of an expanded `for_each` task. */
export const boundOf = ({ bound }: TaskDefinition): Context => (bound === undefined ? NOTHING : { ...bound })

export const ownContext = (task: TaskState): Context => ({ ...boundOf(task.definition), feedback: feedbackOf(task) })

/** The latest feedback of the person or task that sent it back. */
export const feedbackOf = ({ feedback }: TaskState): string => feedback.at(-1)?.text ?? ''

const NOTHING: Context = {}

/** True, false, or why the expression has no truth value. */
export function truth(
  evaluation: Evaluation,
  source: string,
): { readonly holds: boolean } | { readonly message: string; readonly hint?: Hint } {
  if (!evaluation.ok)
    return {
      message: `'${source}' cannot be evaluated: ${evaluation.message}`,
      hint: evaluation.hint,
    }
  if (typeof evaluation.value !== 'boolean')
    return {
      message: `'${source}' gives ${JSON.stringify(evaluation.value)}, not true or false`,
      hint: 'compare it with something',
    }
  return { holds: evaluation.value }
}

function remembered(
  source: string,
  compile: Language['compile'],
): Compiled | { readonly message: string; readonly hint?: Hint } {
  const known = compiled.get(source)
  if (known !== undefined) return known
  const compilation = compile(source)
  const made = compilation.ok ? compilation.compiled : { message: compilation.message, hint: compilation.hint }
  if (compiled.size >= COMPILED_MAX) compiled.clear()
  compiled.set(source, made)
  return made
}

function planValue(state: PlanState): Json {
  const { name, title, goal } = state.definition
  return { id: state.id, name, title: title ?? null, goal: goal ?? null, revision: state.revision }
}

/** What was read when the plan started, with the facts of preconditions. */
const memoryValue = ({ memory }: PlanState, facts: Json | undefined): Json => ({
  ...mapValues(memory, ({ value }) => value),
  ...mapOf(facts),
})

function tasksValue(state: PlanState, expression: Compiled): Json {
  const { tasks, dynamic } = expression.references
  const named = dynamic
    ? state.order
    : tasks.map(name => state.tasks.get(name as never)).filter(task => task !== undefined)
  return Object.fromEntries(named.map(task => [task.definition.id, taskValue(task)]))
}

function taskValue(task: TaskState): Json {
  const { result } = task
  return {
    status: task.status,
    visit: task.visit,
    attempt: task.attempt,
    exit: result?.exit ?? null,
    outputs: result?.outputs ?? {},
    outcome: result?.status === 'succeeded' ? (result.outcome ?? 'success') : null,
    error: result?.status === 'failed' ? result.failure.message : null,
  }
}
