// Prepares the next revision of a plan: a rewritten document, one that is merged into the plan, or single changes by name. The diff and the
// fate of every task are known before anything is written.

import type { PlanId, TaskName } from '../domain/id.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { mayRunAgain } from '../domain/plan-rules/effect.ts'
import { type Refusal, refuse } from '../domain/refusal.ts'
import {
  type Fate,
  fatesOf,
  type MergeMode,
  type MergeNote,
  mergeDefinitions,
  namesIn,
  orderTasks,
  type RunStatus,
  removeTasks,
  type Standings,
} from '../domain/revisions/merge.ts'
import { type SemanticDiff, semanticDiff, summarise } from '../domain/revisions/semantic-diff.ts'
import { allTasks } from '../domain/state/task-index.ts'
import type { PlanStatus, TaskStatus } from '../domain/status.ts'
import type { Card } from '../domain/views/board.ts'
import type { Engine, Submitted } from '../engine/engine.ts'
import { definitionHash } from '../format/plan/hash.ts'
import { type DefinitionFault, parsePlan } from '../format/plan/parse.ts'
import { printJson } from '../format/plan/print.ts'
import { generateTaskIds, renameTasks } from '../format/plan/rename-tasks.ts'
import type { Diagnostic } from '../format/text/diagnostic.ts'
import { checkPlan } from './check-plan.ts'
import { type DocumentOptions, type DocumentReading, readDocument } from './read-document.ts'

export interface CurrentPlan {
  readonly definition: PlanDefinition
  readonly revision: number
  readonly hash: string
  readonly status: PlanStatus
  readonly version: number
  readonly standings: Standings
}

export async function readCurrentPlan(engine: Pick<Engine, 'ask'>, plan: PlanId): Promise<CurrentPlan | null> {
  const summary = await engine.ask({ type: 'summary', plan })
  const current = await engine.ask({ type: 'definition', plan })
  const board = await engine.ask({ type: 'board', plan })
  if (summary === null || current === null || board === null) return null
  const { status, version } = summary
  return { ...current, status, version, standings: standingsOf(board, summary) }
}

/** The standing of each task. A failed task that waits for a decision is retried when it is changed, like any failed task. */
export function standingsOf(board: readonly Card[], { waiting, holder }: Undecided): Standings {
  const failed = new Set(waiting.flatMap(({ task, asks }) => (/^(recovery|replan)$/.test(asks.type) ? [task] : [])))
  return new Map(
    board.map(card => [
      card.name,
      {
        status: failed.has(card.name) ? 'failed' : card.status,
        ran: ran(card),
        ...(holder?.alive === true ? {} : leftBy(card)),
      },
    ]),
  )
}

interface Undecided {
  readonly waiting: readonly { readonly task: TaskName; readonly asks: { readonly type: string } }[]
  readonly holder: { readonly alive: boolean } | null
}

/** Its process died. Claimed tasks continue without us. */
function leftBy({ status, claimedBy, effect }: Card): Pick<RunStatus, 'left'> {
  if (status !== 'running' || claimedBy !== null) return {}
  return { left: mayRunAgain(effect) ? 'again' : 'asked' }
}

const BEGUN: ReadonlySet<TaskStatus> = new Set(['running', 'waiting', 'completed', 'failed', 'abandoned'])
const ran = ({ attempt, visit, status }: Card): boolean => attempt > 0 || visit > 1 || BEGUN.has(status)

/** Parses the text of a revision. A merged one may name tasks that only the plan contains. */
export async function readRevision(
  text: string,
  current: PlanDefinition,
  mode: MergeMode,
  options: Pick<DocumentOptions, 'fileName'> = {},
): Promise<DocumentReading> {
  const merging = mode === 'merge'
  const check = (written: PlanDefinition) =>
    checkPlan(
      merging ? mergeDefinitions({ current, written, mode, standings: new Map() }, renameTasks).definition : written,
    )
  return await readDocument(text, {
    ...options,
    // A text without a name means this plan.
    fallbackName: current.name,
    ...(merging ? { known: allTasks(current).map(({ id }) => id) } : {}),
    check,
  })
}

export interface RevisionEdits {
  readonly written?: {
    readonly definition: PlanDefinition
    readonly ended: ReadonlyMap<TaskName, TaskStatus>
    readonly mode: MergeMode
    readonly by?: 'id'
  }
  /** Names of tasks, separated by commas; also in `order`. */
  readonly remove?: string
  readonly order?: string
  readonly ids?: 'generated'
}

export interface PreparedRevision {
  readonly definition: PlanDefinition
  readonly hash: string
  readonly diff: SemanticDiff
  readonly summary: string
  readonly notes: readonly MergeNote[]
  readonly fates: readonly Fate[]
}

export type RevisionPreparing =
  | { readonly status: 'prepared'; readonly revision: PreparedRevision }
  | { readonly status: 'refused'; readonly refusal: Refusal }
  /** The merged plan has errors: of the whole, and of single places. */
  | {
      readonly status: 'unsound'
      readonly faults: readonly DefinitionFault[]
      readonly diagnostics: readonly Diagnostic[]
    }

export function prepareRevision(
  current: Pick<CurrentPlan, 'definition' | 'status' | 'standings'>,
  { written, remove, order, ids }: RevisionEdits,
): RevisionPreparing {
  const { standings } = current
  let { definition } = current
  let notes: readonly MergeNote[] = []
  if (written !== undefined) {
    const { ended: claimed, mode, by } = written
    const rewrite = { current: definition, written: written.definition, mode, by, standings, claimed }
    ;({ definition, notes } = mergeDefinitions(rewrite, renameTasks))
  }
  for (const [names, edit] of [
    [remove, removeTasks],
    [order, orderTasks],
  ] as const) {
    if (names === undefined) continue
    const edited = edit(definition, namesIn(names))
    if (!edited.ok) return { status: 'refused', refusal: edited.refusal }
    definition = edited.definition
  }
  if (ids === 'generated') {
    if (current.status !== 'draft') return { status: 'refused', refusal: NO_DRAFT }
    definition = generateTaskIds(definition, definition.name)
  }
  // What was merged is printed and parsed, so that it meets the same rules as a plan that somebody wrote.
  const faults = checkPlan(definition)
  const checked = parsePlan(printJson(definition), { check: () => faults, lenient: true })
  if (!checked.ok) return { status: 'unsound', faults, diagnostics: checked.diagnostics }
  const diff = semanticDiff(current.definition, definition)
  const fates = fatesOf(current.definition, definition, standings)
  return {
    status: 'prepared',
    revision: { definition, hash: definitionHash(definition), diff, summary: summarise(diff), notes, fates },
  }
}

const NO_DRAFT = refuse(
  'not-allowed',
  'ids can only be generated for a draft: in a started plan, another id means another task',
  'keep the ids, or make a new plan with generated ones',
)

/** The proposal or revision that an order made, for a repeated request. */
export async function proposalMade(
  engine: Pick<Engine, 'ask'>,
  { plan, events }: Pick<Extract<Submitted, { readonly ok: true }>, 'plan' | 'events'>,
): Promise<(Pick<PreparedRevision, 'definition' | 'diff' | 'summary'> & { readonly rationale: string }) | null> {
  const made = events.find(event => event.type === 'revision.proposed' || event.type === 'plan.revised')
  if (made === undefined) return null
  const cards = made.type === 'plan.revised' ? [] : ((await engine.ask({ type: 'proposals', plan })) ?? [])
  const revision = made.type === 'plan.revised' ? made.revision - 1 : cards.find(({ id }) => id === made.id)?.on
  const before = await engine.ask({ type: 'definition', plan, revision })
  if (before === null) return null
  const diff = semanticDiff(before.definition, made.definition)
  return { definition: made.definition, diff, summary: summarise(diff), rationale: made.rationale }
}
