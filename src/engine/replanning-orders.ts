// What may be ordered and asked about changing a plan while it lives: the part of the door in engine.ts that is about proposals,
// convergence and drift.

import type { CommandOf } from '../domain/command.ts'
import type { PlanSource } from '../domain/event.ts'
import type { TaskName } from '../domain/id.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { ProposalCard } from '../domain/views/proposals.ts'
import type { Converging } from './converging.ts'
import type { Drift } from './drift.ts'

export type ReplanningOrder =
  /** A revision that takes effect when somebody agrees to it, or at once where the policy says so. */
  | {
      readonly type: 'propose'
      readonly definition: PlanDefinition
      readonly rationale: string
      readonly source?: PlanSource
      readonly cause?: string
      readonly task?: TaskName
      readonly expectedRevision?: number
    }
  /** Accepts or declines a proposed revision, as it was seen. */
  | Omit<CommandOf<'judge'>, 'by'>
  /** Judges the definition of done against the workspace, in a round of its own. */
  | { readonly type: 'assess' /** No check takes longer. */; readonly timeoutMs?: number }
  /** Adds a task for each criterion that did not hold in the last round: with this script, or for whoever claims it. */
  | { readonly type: 'append'; readonly with?: string }

export interface ReplanningQueries {
  /** Every revision that was proposed, oldest first, and what became of it. */
  proposals: { ask: { plan: string }; answer: readonly ProposalCard[] | null }
  /** How far `converge` has come. */
  converging: { ask: { plan: string }; answer: Converging | null }
  /** What has moved since the plan became what it is, and by whose hand. Without `files`, files are not looked at. */
  drift: { ask: { plan: string; files?: false }; answer: Drift | null }
}
