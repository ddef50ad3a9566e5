// `gate`: a point the plan does not pass by itself.

import type { Json } from '../json.ts'
import type { Approvers, Criterion, Escalation, GateType } from '../plan-values.ts'
import type { ActionFacts } from './action-facts.ts'

export interface Option {
  readonly id: string
  readonly title?: string
  readonly pros?: readonly string[]
  readonly cons?: readonly string[]
  readonly cost?: string
}

/** One field of a form; its answer is an output of this name. */
export interface Field {
  readonly name: string
  readonly label?: string
  readonly type: 'text' | 'number' | 'boolean' | 'choice' | 'list'
  readonly choices?: readonly string[]
  readonly optional?: true
  readonly default?: Json
  readonly min?: number
  readonly max?: number
  readonly pattern?: string
}

/** A point the plan does not pass by itself. */
export interface GateAction {
  readonly type: 'gate'
  readonly gate: GateType
  /** What whoever decides must see. */
  readonly show?: readonly string[]
  /** Judged before anybody is asked. `schema`, `invariant`, `tests` and `budget` are decided by them alone. */
  readonly checks?: readonly Criterion[]
  /** When a check does not hold: reject (the default), or let a person overrule it. */
  readonly unmet?: 'reject' | 'ask'
  /** Of `schema`: a JSON file of the workspace, and the file with the JSON Schema it must follow. */
  readonly schema?: { readonly file: string; readonly against: string }
  /** Of `budget`: what may be used up when the plan comes here. */
  readonly within?: { readonly attempts?: number; readonly timeMs?: number }
  readonly approvers?: Approvers
  /** How long it asks, and then: reject (the default) or escalate and go on asking. */
  readonly expiresMs?: number
  readonly expired?: 'reject' | 'escalate'
  readonly escalate?: Escalation
  /** Of `decision`: what may be chosen; the choice is the outcome. */
  readonly options?: readonly Option[]
  /** Of `question`: what is asked; the answers are the outputs of the task. */
  readonly question?: string
  readonly form?: readonly Field[]
}

export const GATE: ActionFacts<GateAction> = {
  effect: () => 'pure',
  isFree: true,
  fields: { checks: 'criteria' },
  // What the answer of a person leaves behind; `state/evolve-gate.ts` puts it there.
  outputs: ({ action: { gate, form = [] } }) => {
    if (gate === 'decision') return ['choice', 'rationale', 'by']
    return gate === 'question' ? form.map(({ name }) => name) : []
  },
  outcomes: ({ gate, options = [] }) =>
    gate === 'decision'
      ? [...options.map(({ id }) => id), 'default', 'success', 'rejected', 'expired', 'failure']
      : ['approved', 'success', 'rejected', 'expired', 'failure'],
}
