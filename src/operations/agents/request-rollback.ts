// An agent asks a person to undo a task. This only creates a question in the inbox, which says what would be undone and by which command.
// A person gives that command; an answer to the question alone reverts nothing.

import type { PlanId, TaskName } from '../../domain/id.ts'
import type { Field } from '../../domain/plan.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { ENDED, PLAN_ENDED, type PlanStatus } from '../../domain/status.ts'
import type { SubmitOptions, Submitted } from '../../engine/engine.ts'
import { previewRollback, rollbackRequest } from '../rollback-plan.ts'
import type { CallerEngine } from '../run-plan.ts'

export interface RollbackRequest {
  readonly why: string
  /** The command by which a person does it. */
  readonly command: (plan: string, task: TaskName) => string
  readonly submit?: SubmitOptions
}

export type RollbackRequested =
  | { readonly status: 'asked'; readonly done: Extract<Submitted, { readonly ok: true }> }
  /** A plan that has ended takes no questions. */
  | { readonly status: 'ended'; readonly plan: PlanStatus; readonly command: string }
  | { readonly status: 'refused'; readonly refusal: Refusal }

type Target = { readonly plan: PlanId; readonly task: TaskName }

export async function requestRollback(
  engine: CallerEngine,
  { plan, task }: Target,
  { why, command, submit }: RollbackRequest,
): Promise<RollbackRequested> {
  const undone = await undoneBy(engine, { plan, task })
  if (!undone.ok) return { status: 'refused', refusal: undone.refusal }
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary === null) return { status: 'refused', refusal: GONE }
  const how = command(summary.name, task)
  if (PLAN_ENDED.has(summary.status)) return { status: 'ended', plan: summary.status, command: how }
  const then = 'that answers this question, and a person resumes the plan afterwards'
  const text = `${rollbackRequest(task)} ${why}. It would ${undone.what}. To do it: \`${how}\`; ${then}. Answering here rolls nothing back.`
  const done = await engine.submit(plan, { type: 'ask', text, form: FORM, task }, submit)
  return done.ok ? { status: 'asked', done } : { status: 'refused', refusal: done.refusal }
}

const FORM: readonly Field[] = [{ name: 'answer', type: 'choice', choices: ['done', 'no'] }]
const GONE = refuse('not-found', 'there is no such plan')
const FILES_SHOWN = 20

/** What would be undone: `undo a: restore x.txt, remove y.txt`. Changes nothing. */
export async function undoneBy(
  engine: CallerEngine,
  { plan, task }: Target,
): Promise<{ readonly ok: true; readonly what: string } | { readonly ok: false; readonly refusal: Refusal }> {
  const preview = await previewRollback(engine, { plan, kind: 'rollback', ask: { tasks: [task] } })
  if (preview === null) return { ok: false, refusal: GONE }
  if (!preview.ok) return preview
  const files = preview.files.flatMap(({ path, will, unclaimed, uncovered, why }) =>
    unclaimed !== undefined
      ? [`${unclaimed} ${path} (perhaps a person's)`]
      : uncovered === true
        ? [`leave ${path} (${why})`]
        : will === 'leave'
          ? []
          : [`${will} ${path}`],
  )
  const card = await engine.ask({ type: 'task', plan, task })
  if (files.length === 0 && card !== null && card.attempt === 0 && card.visits <= 1 && !ENDED.has(card.status))
    return {
      ok: false,
      refusal: refuse('not-ready', `nobody has worked on ${task} yet: there is nothing to undo`),
    }
  const more = files.length > FILES_SHOWN ? ` and ${files.length - FILES_SHOWN} more` : ''
  return { ok: true, what: `undo ${task}: ${files.slice(0, FILES_SHOWN).join(', ') || 'no files'}${more}` }
}
