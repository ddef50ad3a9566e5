// Converges a plan: judges the definition of done, adds a task for each criterion that does not hold, drives the plan, and judges again,
// until all hold or a limit is reached. Every step is in the journal before the next one begins, so the operation can be repeated.
//
//   drive ──► judge ──► all hold ──► converged
//     ▲         └─────► rounds, budget or time used up, or no progress ──► not converged
//     └── add tasks ◄── a criterion does not hold

import type { Millis, PlanId } from '../domain/id.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Verdict } from '../domain/result.ts'
import { PLAN_ENDED, type PlanStatus, type TaskStatus } from '../domain/status.ts'
import { unmetIn } from '../domain/views/convergence.ts'
import type { AnswerOf } from '../engine/engine.ts'
import type { PlanTarget } from './find-target.ts'
import type { CallerEngine } from './run-plan.ts'

export type Converging = NonNullable<AnswerOf<'converging'>>

/** Provided by the face. `Rest` is its description of a drive that did not reach the end. */
export interface ConvergeRoom<Rest> {
  readonly engine: CallerEngine
  /** Starts or resumes the plan; with `goOn`, a failed one retries what failed. */
  readonly setMoving: (options: { readonly goOn: boolean }) => Promise<void>
  /** Drives it until it ends, rests, is interrupted or `until` fires; `since` is its version before. */
  readonly drive: (since: number) => Promise<Rest>
  readonly tell: (step: ConvergeStep) => void
  /** Infinite without a limit. */
  readonly timeLeft: () => Millis
  /** Fires when the time is over. */
  readonly until: AbortSignal
}

export interface ConvergeAsk {
  readonly rounds: number
  /** A command for each criterion that does not hold; without one, an agent or a person claims the task. */
  readonly script?: string | undefined
}

export type ConvergeStep =
  | { readonly type: 'judged'; readonly known: Converging; readonly unmet: readonly Verdict[] }
  | { readonly type: 'added'; readonly round: number; readonly tasks: number; readonly revision: number | null }

export type PlanConverged<Rest> =
  /** All criteria hold; the plan itself may still be incomplete. */
  | { readonly status: 'converged'; readonly known: Converging; readonly plan: PlanStatus }
  | { readonly status: 'not-converged'; readonly known: Converging; readonly why: NotConverged }
  /** The plan waits for somebody, or was interrupted. */
  | { readonly status: 'rests'; readonly rest: Rest }
  /** There are no criteria, or the plan was cancelled. */
  | { readonly status: 'unfit'; readonly why: 'no-criteria' | 'cancelled' }
  | { readonly status: 'refused'; readonly refusal: Refusal }

export type NotConverged =
  | { readonly code: 'timeout' }
  /** The last round did not change which criteria hold. */
  | { readonly code: 'no-progress' }
  | { readonly code: 'rounds'; readonly made: number }
  | { readonly code: 'budget'; readonly spent: string }

/** An ended plan of this name, which is continued rather than run again, because its rounds count. Else null. */
export async function endedPlan(engine: Pick<CallerEngine, 'ask'>, name: string): Promise<PlanTarget | null> {
  const there = await engine.ask({ type: 'summary', plan: name })
  return there?.status === 'completed' || there?.status === 'cancelled' ? { plan: there.id, name: there.name } : null
}

export async function convergePlan<Rest>(
  room: ConvergeRoom<Rest>,
  plan: PlanId,
  ask: ConvergeAsk,
): Promise<PlanConverged<Rest>> {
  const { criteria } = await knownOf(room, plan)
  if (criteria === 0) return { status: 'unfit', why: 'no-criteria' }
  if ((await statusOf(room, plan)) === 'cancelled') return { status: 'unfit', why: 'cancelled' }
  if (await hasBroken(room, plan)) await room.setMoving({ goOn: true })
  for (;;) {
    const resting = await drive(room, plan)
    if (resting !== null) return resting
    if (room.until.aborted) return ended(await knownOf(room, plan), { code: 'timeout' })
    // Judged again each time, also after an interruption: files change without a journal entry.
    const judged = await judge(room, plan)
    if ('status' in judged) return judged
    const { known, unmet } = judged
    if (unmet.length === 0) return await converged(room, plan, known)
    const why = reasonToEnd(room, known, ask)
    if (why !== null) return ended(known, why)
    const added = await room.engine.submit(plan, {
      type: 'append',
      with: ask.script,
    })
    if (!added.ok) return { status: 'refused', refusal: added.refusal }
    const revised = added.events.find(event => event.type === 'plan.revised')
    room.tell({ type: 'added', round: known.round, tasks: unmet.length, revision: revised?.revision ?? null })
  }
}

const BROKEN: ReadonlySet<TaskStatus> = new Set(['failed', 'abandoned', 'cancelled'])

/** Failed tasks are retried first. A failed definition of done is judged in the round anyway. */
async function hasBroken(room: Pick<ConvergeRoom<unknown>, 'engine'>, plan: PlanId): Promise<boolean> {
  if ((await statusOf(room, plan)) !== 'failed') return false
  const board = (await room.engine.ask({ type: 'board', plan })) ?? []
  return board.some(({ action, status, optional }) => action !== 'verify' && !optional && BROKEN.has(status))
}

/** Null if the plan has ended or the time is over. */
async function drive<Rest>(
  room: ConvergeRoom<Rest>,
  plan: PlanId,
): Promise<Extract<PlanConverged<Rest>, { readonly status: 'rests' }> | null> {
  if (PLAN_ENDED.has(await statusOf(room, plan))) return null
  const since = (await room.engine.ask({ type: 'summary', plan }))?.version ?? 0
  await room.setMoving({ goOn: false })
  const rest = await room.drive(since)
  return PLAN_ENDED.has(await statusOf(room, plan)) || room.until.aborted ? null : { status: 'rests', rest }
}

async function judge(
  room: ConvergeRoom<unknown>,
  plan: PlanId,
): Promise<
  | { readonly known: Converging; readonly unmet: readonly Verdict[] }
  | { readonly status: 'refused'; readonly refusal: Refusal }
> {
  const left = room.timeLeft()
  const assessed = await room.engine.submit(plan, {
    type: 'assess',
    ...(Number.isFinite(left) ? { timeoutMs: Math.max(1, left) } : {}),
  })
  if (!assessed.ok) return { status: 'refused', refusal: assessed.refusal }
  const known = await knownOf(room, plan)
  const unmet = unmetIn(known.verdicts)
  room.tell({ type: 'judged', known, unmet })
  return { known, unmet }
}

/** Null if another round may be tried. */
function reasonToEnd(
  { until }: Pick<ConvergeRoom<unknown>, 'until'>,
  { isStuck, made, spent }: Converging,
  { rounds }: ConvergeAsk,
): NotConverged | null {
  if (isStuck) return { code: 'no-progress' }
  if (made >= rounds) return { code: 'rounds', made }
  if (spent !== null) return { code: 'budget', spent }
  return until.aborted ? { code: 'timeout' } : null
}

/** All criteria hold. Failed tasks are retried once more, so that the plan itself can complete. */
async function converged<Rest>(
  room: ConvergeRoom<Rest>,
  plan: PlanId,
  known: Converging,
): Promise<PlanConverged<Rest>> {
  if ((await statusOf(room, plan)) === 'failed') {
    const board = (await room.engine.ask({ type: 'board', plan })) ?? []
    const failed = board.filter(card => card.status === 'failed')
    for (const { name: task } of failed) {
      const again = await room.engine.submit(plan, { type: 'retry', task, reason: 'all checks pass now' })
      if (!again.ok) return { status: 'refused', refusal: again.refusal }
    }
    const resting = failed.length === 0 ? null : await drive(room, plan)
    if (resting !== null) return resting
  }
  return { status: 'converged', known, plan: await statusOf(room, plan) }
}

const ended = (known: Converging, why: NotConverged) => ({ status: 'not-converged', known, why }) as const

async function knownOf({ engine }: Pick<ConvergeRoom<unknown>, 'engine'>, plan: PlanId): Promise<Converging> {
  const known = await engine.ask({ type: 'converging', plan })
  if (known === null) throw new Error(`the plan ${plan} has gone`)
  return known
}

const statusOf = async ({ engine }: Pick<ConvergeRoom<unknown>, 'engine'>, plan: PlanId): Promise<PlanStatus> =>
  (await engine.ask({ type: 'summary', plan }))?.status ?? 'draft'
