// Drafts the rest of a started plan again: after a failure, or on request. Completed, skipped, running and waiting tasks stay; the rest is
// replaced. The result is a proposal, and has no effect until it is accepted.

import type { PlanId } from '../../../domain/id.ts'
import { mapOf } from '../../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { refuse } from '../../../domain/refusal.ts'
import { isEmpty, semanticDiff } from '../../../domain/revisions/semantic-diff.ts'
import type {
  DraftProposal,
  PlanComment,
  PlannerChoice,
  PlanProgress,
  Replanning,
  ReplanRequest,
} from '../../../operations/agents/plan-drafts.ts'
import { prepareRevision, readCurrentPlan } from '../../../operations/revise-plan.ts'
import type { CallerEngine } from '../../../operations/run-plan.ts'
import { HEURISTIC } from './choose-planner.ts'
import { sameFinish } from './finish-draft.ts'
import { withoutPlanning } from './plan-goal.ts'
import { commentsOn, plannerOf } from './redraft-plan.ts'

const RATIONALE_MAX = 2_000
const STAYS: ReadonlySet<string> = new Set(['completed', 'skipped', 'running', 'waiting'])

export async function replanGoal<Problem = never>(
  engine: Pick<CallerEngine, 'ask'>,
  { plan, why, choice }: { readonly plan: PlanId; readonly why: string; readonly choice: PlannerChoice },
  propose: (request: ReplanRequest) => Promise<DraftProposal | { readonly problem: Problem }>,
): Promise<Replanning<Problem>> {
  const current = await readCurrentPlan(engine, plan)
  const board = await engine.ask({ type: 'board', plan })
  if (current === null || board === null) return no('not-found', 'the plan has gone')
  const { definition, status, standings } = current
  if (status === 'draft')
    return no(
      'illegal-transition',
      'the plan is still a draft',
      'comment on it, or edit it: nothing of it has been done',
    )
  if (status === 'completed' || status === 'cancelled')
    return no('illegal-transition', `the plan is ${status}: nothing is left to plan`, 'plan the goal anew')
  if (definition.goal === undefined) return no('invalid', 'the plan has no goal', 'revise it, and give it a goal')
  const wanted = { ...plannerOf(definition), ...choice }
  const isFresh = Object.keys(wanted).length === 0
  if (isFresh && mapOf(definition.extra?.planning).planner !== HEURISTIC)
    return no(
      'not-allowed',
      'no model is named, and the planner that asks none did not draft this plan: it cannot tell what is left of it',
      'name a model or an agent, or revise the plan by hand',
    )
  const stays = new Set(definition.tasks.flatMap(({ id }) => (STAYS.has(standings.get(id)?.status ?? '') ? [id] : [])))
  const progress: PlanProgress = {
    kept: board.flatMap(({ name, title, status: stands, outputs, confidential }) =>
      stays.has(name)
        ? [{ task: name, title: title ?? name, status: stands, outputs: confidential === true ? null : outputs }]
        : [],
    ),
    failed: board.flatMap(({ name, title, reason, confidential }) =>
      standings.get(name)?.status === 'failed'
        ? [{ task: name, title: title ?? name, reason: confidential === true ? 'it failed' : (reason ?? 'it failed') }]
        : [],
    ),
  }
  // A model gets failures separately from comments; without a model they are part of the instruction.
  const isAsked = wanted.model !== undefined || wanted.agent !== undefined || wanted.planner === 'model'
  const failures = progress.failed.map(({ task, reason }) => ({
    task,
    text: `It failed before: '${reason.replace(/\s+/g, ' ').slice(0, 500)}'`,
  }))
  const newComments: readonly PlanComment[] = [
    ...(isAsked ? [] : failures),
    ...(why === '' ? [] : [{ task: null, text: why }]),
  ]
  const comments = [...commentsOn(definition), ...newComments]
  const proposed = await propose({ goal: definition.goal, comments, draft: definition, choice: wanted, progress })
  if ('problem' in proposed) return { status: 'failed', problem: proposed.problem }
  const next = withRest(definition, proposed.definition, stays)
  if (isEmpty(semanticDiff(withoutPlanning(definition), withoutPlanning(next))))
    return no(
      'invalid',
      `the planner '${proposed.planner}' drafts the rest of the plan as it is`,
      'say what should be different with -m, or name a model',
    )
  const cause = progress.failed.map(({ task }) => `'${task}' failed`)
  const rationale = `drafted again by ${proposed.planner}: ${[...cause, ...(why === '' ? [] : [why])].join('; ') || 'asked for'}`
  const { unfollowed } = proposed
  const written = { definition: next, ended: new Map(), mode: 'replace', by: 'id' } as const
  const prepared = prepareRevision(current, { written })
  if (prepared.status === 'refused') return prepared
  if (prepared.status === 'unsound') {
    const { message = '', hint } = prepared.faults[0] ?? prepared.diagnostics[0] ?? {}
    return { status: 'refused', refusal: refuse('invalid', `the rest of the plan cannot work: ${message}`, hint) }
  }
  const { revision } = prepared
  return {
    status: 'drafted',
    replanned: { current, revision, rationale: rationale.slice(0, RATIONALE_MAX), unfollowed },
  }
}

const no = (...words: Parameters<typeof refuse>): Replanning => ({ status: 'refused', refusal: refuse(...words) })

/** The tasks that stay, then the drafted ones. Name, policy and settings are those of the plan. */
function withRest(current: PlanDefinition, drafted: PlanDefinition, stays: ReadonlySet<string>): PlanDefinition {
  const { tasks: rest, done } = sameFinish(current, drafted)
  const fresh = rest.filter(({ id }) => !stays.has(id))
  const known = new Set<string>([...stays, ...fresh.map(({ id }) => id)])
  const kept = current.tasks.filter(({ id }) => stays.has(id)).map(task => withoutLost(task, known))
  return {
    ...current,
    ...(done === undefined ? {} : { done }),
    tasks: [...kept, ...fresh],
    extra: { ...current.extra, planning: mapOf(drafted.extra?.planning) },
  }
}

function withoutLost(task: TaskDefinition, known: ReadonlySet<string>): TaskDefinition {
  if (task.on === undefined || Object.values(task.on).every(to => to.every(name => known.has(name)))) return task
  const on = Object.entries(task.on)
    .map(([outcome, to]) => [outcome, to.filter(name => known.has(name))] as const)
    .filter(([, to]) => to.length > 0)
  return { ...task, on: Object.fromEntries(on) }
}
