// The table: every route of the service, noun by noun.

import type { AnyRoute } from '../route.ts'
import { apiRoutes } from './api.ts'
import { artifactRoutes } from './artifacts.ts'
import { auditRoutes } from './audit.ts'
import { authRoutes } from './auth.ts'
import { claimRoutes, runRoutes } from './claims.ts'

import { engineDoorRoutes } from './engine.ts'
import { eventRoutes } from './events.ts'
import { forkRoutes } from './forks.ts'
import { budgetRoutes, gateRoutes } from './gates.ts'
import { goalRoutes } from './goals.ts'
import { haltRoutes, healthRoutes, memoryRoutes, observingRoutes } from './health.ts'

import { homeRoutes } from './home.ts'
import { inboxRoutes, proposalRoutes } from './inbox.ts'

import { logRoutes } from './logs.ts'
import { mcpRoutes } from './mcp.ts'
import { goingBackRoutes, lookingRoutes, planVerbRoutes } from './plan-verbs.ts'
import { planChangeRoutes, planRoutes } from './plans.ts'

import { revisionRoutes } from './revisions.ts'
import { sessionPlanRoutes } from './session-plans.ts'
import { sessionRoutes } from './sessions.ts'
import { taskChangeRoutes, taskRoutes } from './tasks.ts'

import { templateRoutes } from './templates.ts'
import { tokenRoutes } from './tokens.ts'
import { viewRoutes } from './views.ts'

export const ROUTES: readonly AnyRoute[] = [
  ...homeRoutes,
  ...authRoutes,
  ...tokenRoutes,
  ...apiRoutes,
  ...engineDoorRoutes,
  ...mcpRoutes,
  ...eventRoutes,
  ...healthRoutes,
  ...observingRoutes,
  ...sessionRoutes,
  ...sessionPlanRoutes,
  ...planChangeRoutes,
  ...planRoutes,
  ...taskChangeRoutes,
  ...taskRoutes,
  ...runRoutes,
  ...claimRoutes,
  ...gateRoutes,
  ...budgetRoutes,
  ...viewRoutes,
  ...planVerbRoutes,
  ...goingBackRoutes,
  ...forkRoutes,
  ...lookingRoutes,
  ...goalRoutes,
  ...templateRoutes,
  ...inboxRoutes,
  ...proposalRoutes,
  ...revisionRoutes,
  ...logRoutes,
  ...artifactRoutes,
  ...auditRoutes,
  ...haltRoutes,
  ...memoryRoutes,
]
