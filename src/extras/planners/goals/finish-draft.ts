// What `planfold do` adds to a draft: an agent as worker, a commit of what the review approved, and a limit for the whole.

import type { PlanId, TaskName } from '../../../domain/id.ts'
import type { Budget, PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { PlanStatus } from '../../../domain/status.ts'
import { type AgentWorker, withWorker, workerOf } from '../../../operations/agents/agent-worker.ts'
import type { CallerEngine } from '../../../operations/run-plan.ts'
import type { Git } from '../../../workspace/git/git.ts'
import type { RepositoryView } from '../planner.ts'

export interface DraftFinish {
  readonly worker: AgentWorker | null
  readonly commits: boolean
  readonly budget?: Budget
}

/** The person's last look at the changes. */
export const REVIEW = 'review' as TaskName
const COMMIT = 'commit' as TaskName

export function finishDraft(definition: PlanDefinition, { worker, commits, budget }: DraftFinish): PlanDefinition {
  const worked = worker === null ? definition : withWorker(definition, worker)
  const committed = commits ? withCommit(worked) : worked
  return budget === undefined ? committed : { ...committed, policy: { ...committed.policy, budget } }
}

/** Applies the same additions to the next draft. */
export function sameFinish(before: PlanDefinition, next: PlanDefinition): PlanDefinition {
  const { budget } = before.policy ?? {}
  return finishDraft(next, {
    worker: workerOf(before),
    commits: before.tasks.some(({ id }) => id === COMMIT),
    ...(budget === undefined ? {} : { budget }),
  })
}

/** Is there a non-empty repository that may be written? */
export async function canCommit({
  git,
  repository,
}: {
  readonly git: Pick<Git, 'mayWrite'>
  readonly repository: Pick<RepositoryView, 'state'>
}): Promise<boolean> {
  return ((await repository.state())?.commit ?? null) !== null && (await git.mayWrite()).ok
}

/** Adds the commit right after the review; what needed the review then needs the commit. A plan without a review changes no files. */
export function withCommit(definition: PlanDefinition): PlanDefinition {
  const { tasks, title, name } = definition
  const review = tasks.find(({ id }) => id === REVIEW)
  if (review === undefined || tasks.some(({ id }) => id === COMMIT)) return definition
  const commit: TaskDefinition = {
    id: COMMIT,
    title: 'Commit the approved change',
    rationale: `On the branch plan/${name}: your branch, index and uncommitted files stay as they are.`,
    needs: [REVIEW],
    ...(review.milestone === undefined ? {} : { milestone: review.milestone }),
    action: { type: 'git', git: { do: 'commit', message: title ?? name } },
    write: [],
  }
  const waiting = (needs: readonly TaskName[]): readonly TaskName[] =>
    needs.map(need => (need === REVIEW ? COMMIT : need))
  return {
    ...definition,
    git: { message: '{title}', ...definition.git },
    tasks: tasks.flatMap(task =>
      task.id === REVIEW ? [task, commit] : [task.needs === undefined ? task : { ...task, needs: waiting(task.needs) }],
    ),
  }
}

export interface OpenGoal {
  readonly plan: PlanId
  readonly name: string
  readonly status: PlanStatus
  readonly version: number
}

const LOOKED_AT_MAX = 50

/** The newest unfinished plan for this goal, for any if it is empty; a failed one can still continue. */
export async function lastOpenGoal(engine: Pick<CallerEngine, 'ask'>, goal: string): Promise<OpenGoal | null> {
  const { items } = await engine.ask({ type: 'plans', limit: LOOKED_AT_MAX })
  for (const { id: plan, name, status, version, goal: theirs } of items) {
    if (theirs === null || status === 'completed' || status === 'cancelled') continue
    if (goal !== '' && theirs.trim() !== goal) continue
    const found = await engine.ask({ type: 'definition', plan })
    if (found?.definition.extra?.planning === undefined) continue
    return { plan, name, status, version }
  }
  return null
}
