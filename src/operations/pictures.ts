// Pictures of a plan that are asked for: drawn for a program or a page, and a report of how it went. An extra draws them; the tree of
// text, which drafts are shown with, is always there.

import type { PlanDefinition } from '../domain/plan.ts'
import type { Handoff } from '../domain/views/handoff.ts'
import type { Statuses } from '../format/plan/scene.ts'

export interface Pictures {
  mermaid(definition: PlanDefinition, statuses?: Statuses): string
  dot(definition: PlanDefinition, statuses?: Statuses): string
  markdown(definition: PlanDefinition, statuses?: Statuses): string
  svg(definition: PlanDefinition, statuses?: Statuses): string
  /** One HTML file that opens from disk. */
  report(facts: ReportFacts): string
}

export interface ReportFacts {
  readonly definition: PlanDefinition
  readonly handoff: Handoff
  /** What each task changed, where that is known. */
  readonly changes: readonly {
    readonly task: string
    readonly files: readonly { readonly path: string; readonly patch: readonly string[] | null }[]
    readonly more: number
  }[]
  readonly tokens: number | null
  /** In dollars, or as agents said. */
  readonly cost: number | null
}
