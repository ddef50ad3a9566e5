// A plan rewritten over the wire: the document is read in any format and laid over the plan as it stands, as `planfold revise` does.

import { checkGraph } from '../domain/graph.ts'
import type { TaskName } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'
import { type MergeMode, type MergeNote, mergeDefinitions } from '../domain/merge.ts'
import type { Fate, Standings } from '../domain/merge-fate.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { type SemanticDiff, semanticDiff } from '../domain/semantic-diff.ts'
import { summarise } from '../domain/semantic-diff-kinds.ts'
import type { TaskStatus } from '../domain/status.ts'
import { allTasks } from '../domain/task-graph.ts'
import type { Card } from '../domain/views/board.ts'
import { parsePlan } from '../format/parse.ts'
import { printJson } from '../format/print.ts'
import { renameTasks } from '../format/rename-tasks.ts'
import { findPlan } from './look-up.ts'
import { type Asking, gone } from './ordering.ts'
import { faulty, type PlanText, readPlanText } from './plan-text.ts'
import { isProblem, type Problem } from './problem.ts'

export interface Rewritten extends Pick<PlanText, 'source'> {
  readonly definition: PlanDefinition
  /** The revision it was made from. */
  readonly from: number
  readonly notes: readonly MergeNote[]
  readonly fates: readonly Fate[]
  readonly diff: SemanticDiff
  readonly summary: string
}

/** With `merge`, what the document does not mention stays. */
export async function readRevision(
  call: Asking,
  reference: string,
  document: Json,
  mode: MergeMode,
): Promise<Rewritten | Problem> {
  const { engine } = call.rooms
  const found = await findPlan(call, reference)
  if (isProblem(found)) return found
  const [current, board] = [
    await engine.ask({ type: 'definition', plan: found.plan }),
    await engine.ask({ type: 'board', plan: found.plan }),
  ]
  if (current === null || board === null) return gone()
  const merging = mode === 'merge'
  const standings = standingsOf(board)
  const laid = (written: PlanDefinition, claimed?: ReadonlyMap<TaskName, TaskStatus>) =>
    mergeDefinitions(
      { current: current.definition, written, mode, standings, ...(claimed === undefined ? {} : { claimed }) },
      renameTasks,
    )
  const text = readPlanText(document, {
    // A text without a name of its own means this plan.
    fallbackName: found.name,
    ...(merging ? { known: allTasks(current.definition).map(({ id }) => id) } : {}),
    check: written => checkGraph(merging ? laid(written).definition : written),
  })
  if (isProblem(text)) return text
  const { definition, notes, fates } = laid(text.definition, text.claimed)
  // What was put together of two texts is judged like one that somebody wrote.
  const judged = parsePlan(printJson(definition), { check: checkGraph })
  if (!judged.ok) return faulty(judged.diagnostics)
  const diff = semanticDiff(current.definition, definition)
  return { definition, source: text.source, from: current.revision, notes, fates, diff, summary: summarise(diff) }
}

const BEGUN: ReadonlySet<TaskStatus> = new Set(['running', 'waiting', 'completed', 'failed', 'abandoned'])

const standingsOf = (board: readonly Card[]): Standings =>
  new Map(
    board.map(({ name, status, attempt, visit }) => [
      name,
      { status, ran: attempt > 0 || visit > 1 || BEGUN.has(status) },
    ]),
  )
