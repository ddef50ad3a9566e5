// The door of what only clients of older systems need: their routes, and the names of events they listen to.

import { type ListedRoute, under } from '../../server/route.ts'
import { sessionPlanRoutes } from './sessions/session-plans.ts'
import { planOfSessionRoutes, underOlderPaths } from './sessions/session-routes.ts'

export { showSessionPlan } from './sessions/show-session-plan.ts'
export { UNDERSCORE } from './sessions/underscore-events.ts'

/** The routes of the service and those that only these clients call. */
export function withOlderRoutes(own: readonly ListedRoute[]): readonly ListedRoute[] {
  const all = [...own, ...under('plans', planOfSessionRoutes)]
  return [...all, ...under('sessions', sessionPlanRoutes), ...underOlderPaths(all)]
}
