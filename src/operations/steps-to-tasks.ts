// Turns an outline into tasks: a PlanStore client sent steps, and no tasks were added. Done as a revision before the plan is started.

import type { Json } from '../domain/json.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Engine, Order, Submitted } from '../engine/engine.ts'
import { openExtra } from '../extras.ts'
import { type Parsed, parsePlan } from '../format/plan/parse.ts'
import type { Diagnostic } from '../format/text/diagnostic.ts'
import { Source } from '../format/text/source.ts'
import { checkPlan } from './check-plan.ts'

export interface OutlineRoom {
  readonly engine: Pick<Engine, 'ask'>
  /** Submits in the caller's name; refused if the plan has another version. */
  readonly submit: (order: Order, expectedVersion: number) => Promise<Submitted>
}

export type OutlineTasks =
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
    const made = definition.tasks.length > 0 ? null : await tasksFromSteps(definition)
    if (made === null) return { status: 'nothing' }
    if (!made.ok) return { status: 'faulty', diagnostics: made.diagnostics }
    const filled = { ...definition, tasks: made.definition.tasks }
    const rationale = 'made its steps into tasks'
    // Bound to the version that was read, so that tasks added in between are not lost.
    const done = await submit({ type: 'revise', definition: filled, rationale, written: 'others' }, seen.version)
    if (done.ok) return { status: 'made', accepted: done }
    if (done.refusal.code !== 'conflict' || tries >= TRIES_MAX) return { status: 'refused', refusal: done.refusal }
  }
}

/** Neither tasks, nor steps to make tasks from. */
export const isEmptyPlan = (definition: PlanDefinition): boolean =>
  definition.tasks.length === 0 && stepsOf(definition).length === 0

function stepsOf({ extra = {} }: PlanDefinition): readonly Json[] {
  return Array.isArray(extra.steps) ? extra.steps : []
}

/** The steps of a plan as its tasks, by the rules of the format they are written in. */
async function tasksFromSteps(definition: PlanDefinition): Promise<Parsed | null> {
  const steps = stepsOf(definition)
  if (steps.length === 0) return null
  const text = JSON.stringify({ plan_type: definition.extra?.plan_type ?? 'sequential', steps }, null, 2)
  const source = new Source(text)
  const { DIALECTS } = await openExtra('dialects')
  const formats = STEP_FORMATS.flatMap(name => DIALECTS.filter(dialect => dialect.name === name))
  const dialect = formats.find(format => format.recognises(source)) ?? formats.at(-1)
  return dialect === undefined ? null : parsePlan(text, { dialect, fallbackName: definition.name, check: checkPlan })
}

/** Asked in this order; steps that none of them recognises are of the last. */
const STEP_FORMATS: readonly string[] = ['step-list', 'todo-plan', 'plan-steps']
