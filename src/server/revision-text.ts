// A plan rewritten over the wire: the document is read in any format and laid over the plan as it stands, as `planfold revise` does.

import type { PlanId, TaskName } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'
import type { MergeMode, MergeNote } from '../domain/merge.ts'
import type { Fate, Standing } from '../domain/merge-fate.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type { SemanticDiff } from '../domain/semantic-diff.ts'
import type { TaskStatus } from '../domain/status.ts'
import type { Card } from '../domain/views/board.ts'
import type { Order } from '../engine/engine.ts'
import { options } from './call.ts'
import type { ReadDocument } from './document.ts'
import { inOurWords } from './hint-words.ts'
import { findPlan } from './look-up.ts'
import { type Accepted, type Asking, gone, submit } from './ordering.ts'
import { isProblem, type Problem, refused } from './problem.ts'

export interface Rewritten extends Pick<ReadDocument, 'source'> {
  readonly definition: PlanDefinition
  /** The revision it was made from, and how many entries the plan had then. */
  readonly from: number
  readonly version: number
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
  const { plan } = found
  const [summary, current, board] = [
    await engine.ask({ type: 'summary', plan }),
    await engine.ask({ type: 'definition', plan }),
    await engine.ask({ type: 'board', plan }),
  ]
  if (summary === null || current === null || board === null) return gone()
  const text = textOf(document)
  const revised = await call.rooms.documents.run(
    'revise',
    // A text without a name of its own means this plan.
    { text, name: found.name, current: current.definition, standings: standingsOf(board), mode },
    Math.max(text.length, board.length * TASK_LENGTH),
  )
  return isProblem(revised) ? revised : { ...revised, from: current.revision, version: summary.version }
}

/** About how long a task is, written down: a plan of many tasks is a long document, also when what is laid over it is short. */
const TASK_LENGTH = 100

/** An object is written out as it would be in a file. */
export const textOf = (document: Json): string =>
  typeof document === 'string' ? document : `${JSON.stringify(document, null, 2)}\n`

const TRIES_MAX = 5

/** Orders what was made of the document, for the plan as it was read; when it moved meanwhile, it is read again. */
export async function orderRevised(
  call: Asking,
  plan: PlanId,
  { document, mode }: { readonly document: Json; readonly mode: MergeMode },
  orderOf: (made: Rewritten) => Order,
): Promise<{ readonly done: Accepted; readonly made: Rewritten } | Problem> {
  const { engine } = call.rooms
  for (let tries = 1; ; tries++) {
    const made = await readRevision(call, plan, document, mode)
    if (isProblem(made)) return made
    const submitted = await submit(call, plan, orderOf(made), {
      ...options(call),
      expectedVersion: call.expectedVersion ?? made.version,
    })
    if (submitted.ok) return { done: submitted, made }
    const now = (await engine.ask({ type: 'summary', plan }))?.version
    const hasMoved = call.expectedVersion === undefined && submitted.refusal.code === 'conflict' && now !== made.version
    if (!hasMoved || tries >= TRIES_MAX) return refused(inOurWords(submitted.refusal, plan))
  }
}

const BEGUN: ReadonlySet<TaskStatus> = new Set(['running', 'waiting', 'completed', 'failed', 'abandoned'])

const standingsOf = (board: readonly Card[]): readonly (readonly [TaskName, Standing])[] =>
  board.map(({ name, status, attempt, visit }) => [
    name,
    { status, ran: attempt > 0 || visit > 1 || BEGUN.has(status) },
  ])
