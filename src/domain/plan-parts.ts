// Small parts of a definition that stand by themselves: who decides, what a form asks, an edit, what is gated. Part of plan.ts,
// which hands them on.

import type { Json } from './json.ts'

/** Who may decide: anybody when no role is said; so many different people must approve, one can reject. */
export interface Approvers {
  readonly role?: string
  readonly count?: number
}

/** Whom to call when nobody has answered for so long. */
export interface Escalation {
  readonly afterMs: number
  /** A role of `policy.roles`, or a name. */
  readonly to: string
}

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

/** One change to one file. `sha256` pins the content it was written against; checked immediately before the rename. */
export type Edit = { readonly sha256?: string } & (
  | { readonly type: 'create'; readonly file: string; readonly content: string; readonly mode?: number }
  | {
      readonly type: 'replace'
      readonly file: string
      readonly find: string
      readonly replace: string
      readonly all?: true
    }
  | { readonly type: 'patch'; readonly file: string; readonly diff: string }
  | { readonly type: 'move'; readonly file: string; readonly to: string }
  | { readonly type: 'delete'; readonly file: string }
  | { readonly type: 'chmod'; readonly file: string; readonly mode: number }
)

export interface GatePolicy {
  /** High-impact work that is gated; all kinds of it when absent, none when empty. */
  readonly before?: readonly GatedImpact[]
  /** Is somebody asked before an unsafe task whose code cannot be read? Not unless `requireGateForProd` is said elsewhere. */
  readonly unknown?: 'ask' | 'allow'
  readonly approvers?: Approvers
  /** How long an approval holds; a day when not said. */
  readonly validMs?: number
}

/** What is hard or impossible to take back, by the names `policy.gates.before` has for it. */
export type GatedImpact = 'push' | 'deploy' | 'delete' | 'migrate' | 'spend' | 'outside'

/** `unknown`: it runs code that cannot be read from the plan, and may do any of these. */
export type Impact = GatedImpact | 'unknown'

/** The classes of failures, as a definition may name them; see result.ts. */
export type FailureKind = 'transient' | 'logic' | 'policy' | 'resource' | 'cancelled' | 'unknown'
