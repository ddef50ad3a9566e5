// Drafts a commented draft again: the next version, and its diff. Nothing is written; the caller may keep it as the next revision.

import type { PlanId } from '../../../domain/id.ts'
import type { Json, JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { type Refusal, refuse } from '../../../domain/refusal.ts'
import { type SemanticDiff, semanticDiff, summarise } from '../../../domain/revisions/semantic-diff.ts'
import { printYaml } from '../../../format/plan/print.ts'
import type { PlanComment, PlannerChoice, RedraftRequest } from '../../../operations/agents/plan-drafts.ts'
import { readOwn } from '../../../operations/read-document.ts'
import type { CallerEngine } from '../../../operations/run-plan.ts'
import type { PlanProposal } from '../planner.ts'
import { sameFinish } from './finish-draft.ts'
import { changeDraft, type DraftChanged, withoutPlanning, writtenBy } from './plan-goal.ts'

export interface Redraft {
  /** The revision it was made from. */
  readonly revision: number
  readonly text: string
  readonly diff: SemanticDiff
  readonly summary: string
  readonly rationale: string
  readonly unfollowed: PlanProposal['unfollowed']
}

export type Redrafted<Problem> =
  | { readonly status: 'drafted'; readonly redraft: Redraft }
  | { readonly status: 'refused'; readonly refusal: Refusal }
  | { readonly status: 'failed'; readonly problem: Problem }

const RATIONALE_MAX = 2_000

export async function redraftPlan<Problem>(
  engine: Pick<CallerEngine, 'ask'>,
  {
    plan,
    newComments,
    choice,
  }: { readonly plan: PlanId; readonly newComments: readonly PlanComment[]; readonly choice: PlannerChoice },
  propose: (
    request: RedraftRequest,
  ) => Promise<Pick<PlanProposal, 'definition' | 'unfollowed'> | { readonly problem: Problem }>,
): Promise<Redrafted<Problem>> {
  const [current, summary] = [
    await engine.ask({ type: 'definition', plan }),
    await engine.ask({ type: 'summary', plan }),
  ]
  if (current === null || summary === null)
    return { status: 'refused', refusal: refuse('not-found', 'the plan has gone') }
  const { definition: draft, revision } = current
  if (summary.status !== 'draft')
    return {
      status: 'refused',
      refusal: refuse(
        'illegal-transition',
        `the plan is ${summary.status}: only a draft is drafted again`,
        'propose a revision instead, or have the rest of it drafted again',
      ),
    }
  if (draft.goal === undefined)
    return {
      status: 'refused',
      refusal: refuse('invalid', 'the draft has no goal', 'give it a goal, or edit it'),
    }
  const comments = [...commentsOn(draft), ...newComments]
  const proposed = await propose({ goal: draft.goal, comments, draft, choice: { ...plannerOf(draft), ...choice } })
  if ('problem' in proposed) return { status: 'failed', problem: proposed.problem }
  const next = { ...sameFinish(draft, proposed.definition), name: draft.name }
  const diff = semanticDiff(withoutPlanning(draft), withoutPlanning(next))
  const rationale = `drafted again: ${newComments.map(({ text }) => text).join('; ')}`.slice(0, RATIONALE_MAX)
  const { unfollowed } = proposed
  return {
    status: 'drafted',
    redraft: { revision, text: printYaml(next), diff, summary: summarise(diff), rationale, unfollowed },
  }
}

export async function keepRedraft(
  engine: CallerEngine,
  plan: PlanId,
  { text, rationale }: Pick<Redraft, 'text' | 'rationale'>,
): Promise<DraftChanged> {
  const read = readOwn(text)
  if (!read.ok) throw new Error(`bug: the next draft cannot be read: ${read.diagnostics[0]?.message ?? 'no reason'}`)
  return await changeDraft(engine, plan, read.document, rationale, {
    hides: 'planning',
    written: writtenBy(read.document),
  })
}

const planningOf = ({ extra = {} }: PlanDefinition): JsonObject => {
  const { planning } = extra
  return planning === null || typeof planning !== 'object' || Array.isArray(planning) ? {} : (planning as JsonObject)
}

/** Comments about earlier versions, recorded in the draft. */
export function commentsOn(draft: PlanDefinition): readonly PlanComment[] {
  const { comments } = planningOf(draft)
  if (!Array.isArray(comments)) return []
  return comments.flatMap(one => {
    if (one === null || typeof one !== 'object' || Array.isArray(one)) return []
    const { task = null, text, place } = one as JsonObject
    if (typeof text !== 'string' || (task !== null && typeof task !== 'string')) return []
    return [{ task, text, ...placeIn(place) }]
  })
}

function placeIn(place: Json | undefined): Pick<PlanComment, 'place'> {
  if (place === undefined || place === null || typeof place !== 'object' || Array.isArray(place)) return {}
  const { field, line } = place as JsonObject
  const found = {
    ...(typeof field === 'string' ? { field } : {}),
    ...(typeof line === 'number' ? { line } : {}),
  }
  return Object.keys(found).length === 0 ? {} : { place: found }
}

export function plannerOf(draft: PlanDefinition): PlannerChoice {
  const { planner, template } = planningOf(draft)
  if (planner === 'template' && typeof template === 'string') return { template }
  return planner === 'model' ? { planner } : {}
}
