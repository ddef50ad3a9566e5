// `gate`: a point where the plan waits for a decision.

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

export interface GateAction {
  readonly type: 'gate'
  readonly gate: GateType
  readonly show?: readonly string[]
  /** Evaluated before anyone is asked. They alone decide `schema`, `invariant`, `tests` and `budget` gates. */
  readonly checks?: readonly Criterion[]
  /** When a check fails: reject (the default), or let a person overrule it. */
  readonly unmet?: 'reject' | 'ask'
  /** For `schema`: a JSON file of the workspace, and the file with its JSON Schema. */
  readonly schema?: { readonly file: string; readonly against: string }
  /** For `budget`: the most that may be used when the plan gets here. */
  readonly within?: { readonly attempts?: number; readonly timeMs?: number }
  readonly approvers?: Approvers
  /** How long the gate waits before it rejects (the default) or escalates. */
  readonly expiresMs?: number
  readonly expired?: 'reject' | 'escalate'
  readonly escalate?: Escalation
  /** For `decision`: the option chosen becomes the outcome. */
  readonly options?: readonly Option[]
  readonly question?: string
  readonly form?: readonly Field[]
}

export const GATE: ActionFacts<GateAction> = {
  effect: () => 'pure',
  isFree: true,
  fields: { checks: 'criteria' },
  // The outputs that `state/evolve-gate.ts` takes from a person's answer.
  outputs: ({ action: { gate, form = [] } }) => {
    if (gate === 'decision') return ['choice', 'rationale', 'by']
    return gate === 'question' ? form.map(({ name }) => name) : []
  },
  outcomes: ({ gate, options = [] }) =>
    gate === 'decision'
      ? [...options.map(({ id }) => id), 'default', 'success', 'rejected', 'expired', 'failure']
      : ['approved', 'success', 'rejected', 'expired', 'failure'],
}
