// The tasks of a plan that so far is only an outline: a client of the PlanStore sent steps, and nobody added tasks of its own. Its steps
// become its tasks, as a revision, before it is started.

import type { PlanDefinition } from '../domain/plan.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Engine, Order, Submitted } from '../engine/engine.ts'
import { dialectNamed } from '../extras/dialects/dialect-list.ts'
import { Source } from '../extras/dialects/source.ts'
import { type Parsed, parsePlan } from '../format/plan/parse.ts'
import type { Diagnostic } from '../format/text/diagnostic.ts'
import { checkPlan } from './check-plan.ts'

export interface OutlineRoom {
  readonly engine: Pick<Engine, 'ask'>
  /** Hands the order on in the caller's name; refused when the plan is no longer at this version. */
  readonly submit: (order: Order, expectedVersion: number) => Promise<Submitted>
}

export type OutlineTasks =
  /** It has tasks, or no steps to make some of. */
  | { readonly status: 'nothing' }
  | { readonly status: 'made'; readonly accepted: Extract<Submitted, { readonly ok: true }> }
  | { readonly status: 'faulty'; readonly diagnostics: readonly Diagnostic[] }
  | { readonly status: 'refused'; readonly refusal: Refusal }
  | { readonly status: 'gone' }

const TRIES_MAX = 5

export async function makeOutlineTasks({ engine, submit }: OutlineRoom, plan: string): Promise<OutlineTasks> {
  for (let tries = 1; ; tries++) {
    const seen = await engine.ask({ type: 'summary', plan })
    const current = await engine.ask({ type: 'definition', plan })
    if (seen === null || current === null) return { status: 'gone' }
    const { definition } = current
    const made = definition.tasks.length > 0 ? null : tasksFromSteps(definition)
    if (made === null) return { status: 'nothing' }
    if (!made.ok) return { status: 'faulty', diagnostics: made.diagnostics }
    const filled = { ...definition, tasks: made.definition.tasks }
    const rationale = 'made its steps into tasks'
    // Made from what was just read: tasks that came in between would be undone by it.
    const done = await submit({ type: 'revise', definition: filled, rationale, written: 'others' }, seen.version)
    if (done.ok) return { status: 'made', accepted: done }
    if (done.refusal.code !== 'conflict' || tries >= TRIES_MAX) return { status: 'refused', refusal: done.refusal }
  }
}

/** Neither tasks, nor steps that could become some. */
export const isEmptyPlan = (definition: PlanDefinition): boolean =>
  definition.tasks.length === 0 && tasksFromSteps(definition) === null

/** The steps of a plan as its tasks, by the rules of the format they are written in. */
function tasksFromSteps(definition: PlanDefinition): Parsed | null {
  const steps = definition.extra?.steps
  if (!Array.isArray(steps) || steps.length === 0) return null
  const text = JSON.stringify({ plan_type: definition.extra?.plan_type ?? 'sequential', steps }, null, 2)
  const source = new Source(text)
  const formats = STEP_FORMATS.flatMap(name => dialectNamed(name) ?? [])
  const dialect = formats.find(format => format.recognises(source)) ?? formats.at(-1)
  return dialect === undefined ? null : parsePlan(text, { dialect, fallbackName: definition.name, check: checkPlan })
}

/** Asked in this order; steps that none of them recognises are of the last. */
const STEP_FORMATS: readonly string[] = ['step-list', 'todo-plan', 'plan-steps']
