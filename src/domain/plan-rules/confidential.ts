// Tasks whose inputs and outputs stay on this machine, by a label on the task or the plan. Prompts, webhooks and traces may contain the
// existence and status of such a task, not its inputs or outputs.

import type { Json } from '../json.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import type { PlanState } from '../state/state.ts'

export const CONFIDENTIAL = '[confidential]'

export const CONFIDENTIAL_LABELS: readonly string[] = ['confidential', 'sensitive', 'secret', 'private']
const LABELS: ReadonlySet<string> = new Set(CONFIDENTIAL_LABELS)

export function isConfidential(plan: Pick<PlanDefinition, 'labels'>, task: Pick<TaskDefinition, 'labels'>): boolean {
  const isListed = (label: string): boolean => LABELS.has(label.toLowerCase())
  return (task.labels ?? []).some(isListed) || (plan.labels ?? []).some(isListed)
}

const answered = new WeakMap<PlanDefinition, { readonly tasks: number; readonly answer: boolean }>()

/** Asked with every entry of a shared store, so the answer is kept for as long as the plan has the same tasks. */
export function hasConfidential({ definition, order }: Pick<PlanState, 'definition' | 'order'>): boolean {
  const known = answered.get(definition)
  if (known?.tasks === order.length) return known.answer
  const answer = isConfidential(definition, {}) || order.some(task => isConfidential(definition, task.definition))
  answered.set(definition, { tasks: order.length, answer })
  return answer
}

/** Shorter texts occur in any sentence. */
const TEXT_MIN = 4

/** Removes from a text the inputs, outputs, evidence and failures of confidential tasks, which the reason of a plan may contain. */
export function confidentialMask(state: PlanState): (text: string) => string {
  const found = new Set<string>()
  for (const { definition, result, reason } of state.order) {
    if (!isConfidential(state.definition, definition)) continue
    for (const value of [definition.inputs, result?.outputs, result?.verdicts?.map(({ evidence }) => evidence ?? null)])
      for (const text of textsIn(value as Json | undefined)) found.add(text)
    for (const text of [reason, result?.status === 'failed' ? result.failure.message : null])
      if (text !== null && text !== undefined) found.add(text)
  }
  const texts = [...found].filter(text => text.length >= TEXT_MIN).toSorted((a, b) => b.length - a.length)
  return text => texts.reduce((masked, one) => masked.replaceAll(one, CONFIDENTIAL), text)
}

export function maskJson<T extends Json>(value: T, mask: (text: string) => string): T {
  if (typeof value === 'string') return mask(value) as T
  if (Array.isArray(value)) return value.map(item => maskJson(item as Json, mask)) as unknown as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskJson(item as Json, mask)])) as T
}

function* textsIn(value: Json | undefined): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) yield* textsIn(item as Json)
}
