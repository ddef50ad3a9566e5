// The table of all routes.

import { withOlderRoutes } from '../../extras/compat/compat.ts'
import { extraRoutes } from '../../extras.ts'
import { type ListedRoute, under } from '../route.ts'
import { apiRoutes } from './api.ts'
import { auditRoutes } from './audit.ts'
import { claimRoutes, runRoutes } from './claims.ts'
import { engineDoorRoutes } from './engine.ts'
import { eventRoutes } from './events.ts'
import { forkRoutes } from './forks.ts'
import { budgetRoutes, gateRoutes } from './gates.ts'
import { haltRoutes, healthRoutes, observingRoutes } from './health.ts'
import { homeRoutes } from './home.ts'
import { inboxRoutes, proposalRoutes } from './inbox.ts'
import { lessonRoutes } from './lessons.ts'
import { blobRoutes, logRoutes } from './logs.ts'
import { mcpRoutes } from './mcp.ts'
import { goingBackRoutes, lookingRoutes, planVerbRoutes } from './plan-verbs.ts'
import { planChangeRoutes, planRoutes } from './plans.ts'
import { revisionRoutes } from './revisions.ts'
import { sessionRoutes } from './sessions.ts'
import { evaluationRoutes, taskChangeRoutes, taskRoutes } from './tasks.ts'
import { templateRoutes } from './templates.ts'
import { authRoutes, tokenRoutes } from './tokens.ts'
import { viewRoutes } from './views.ts'

const OWN: readonly ListedRoute[] = [
  ...under('page', homeRoutes),
  ...under('auth', authRoutes),
  ...under('tokens', tokenRoutes),
  ...under('api', apiRoutes),
  ...under('engine', engineDoorRoutes),
  ...under('mcp', mcpRoutes),
  ...under('events', eventRoutes),
  ...under('health', healthRoutes),
  ...under('observing', observingRoutes),
  ...under('sessions', sessionRoutes),
  ...under('plans', planChangeRoutes, planRoutes),
  ...under('tasks', taskChangeRoutes),
  ...under('evaluations', evaluationRoutes),
  ...under('tasks', taskRoutes),
  ...under('agents', runRoutes, claimRoutes),
  ...under('gates', gateRoutes),
  ...under('plans', budgetRoutes),
  ...under('views', viewRoutes),
  ...under('plans', planVerbRoutes),
  ...under('going back', goingBackRoutes),
  ...under('forks', forkRoutes),
  ...under('plans', lookingRoutes),
  ...under('templates', templateRoutes),
  ...under('people', inboxRoutes, proposalRoutes),
  ...under('revisions', revisionRoutes),
  ...under('logs', logRoutes),
  ...under('artifacts', blobRoutes),
  ...under('audit', auditRoutes),
  ...under('halt', haltRoutes),
  ...under('memory', lessonRoutes),
]

/** With those of the extras, which are loaded then and stand before the others of their noun. */
export async function listRoutes(): Promise<readonly ListedRoute[]> {
  const added = (await extraRoutes()).flatMap(({ ROUTES }) => ROUTES)
  const all = added.reduceRight<readonly ListedRoute[]>((routes, one) => {
    const at = routes.findIndex(({ noun }) => noun === one.noun)
    return routes.toSpliced(at === -1 ? routes.length : at, 0, one)
  }, OWN)
  return withOlderRoutes(all)
}
