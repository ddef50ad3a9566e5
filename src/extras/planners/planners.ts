// The door of the planners: what faces ask of them. Each part is loaded when it is called.

import type { GoalList } from '../../cli/commands/plans/list.ts'
import type { ToolPlanning } from '../../cli/commands/service/mcp.ts'
import type { Planning } from '../../operations/agents/plan-drafts.ts'
import type { ServicePlanning } from '../../server/plans/draft-request.ts'
import { openRepository } from './open-planners.ts'

export const replanGoal: Planning['replanGoal'] = async (...asked) =>
  await (await import('./goals/replan-goal.ts')).replanGoal(...asked)

export const proposeFor: ServicePlanning['proposeFor'] = async (...asked) =>
  await (await import('./service/propose-plan.ts')).proposeFor(...asked)

export const proposeOnce: ServicePlanning['proposeOnce'] = async (...asked) =>
  await (await import('./service/propose-plan.ts')).proposeOnce(...asked)

export const proposeHere: ServicePlanning['proposeHere'] = async input =>
  await (await import('./service/propose-plan.ts')).proposeHere(input)

export const mayCommit: ServicePlanning['mayCommit'] = async ({ git, ...place }) =>
  await (await import('./goals/finish-draft.ts')).canCommit({ git, repository: openRepository(place) })

export const proposeForTools: ToolPlanning['proposeForTools'] = async (...asked) =>
  await (await import('./goals/propose-for-tools.ts')).proposeForTools(...asked)

export const listGoals: GoalList['listGoals'] = async (...asked) =>
  await (await import('./commands/goals.ts')).goals(...asked)
