// The table: every route of the service, noun by noun.

import type { AnyRoute } from '../route.ts'
import { apiRoutes } from './api.ts'
import { artifactRoutes } from './artifacts.ts'
import { auditRoutes } from './audit.ts'
import { authRoutes } from './auth.ts'
import { claimRoutes } from './claims.ts'
import { runRoutes } from './claims-run.ts'
import { engineDoorRoutes } from './engine-door.ts'
import { eventRoutes } from './events.ts'
import { gateRoutes } from './gates.ts'
import { goalRoutes } from './goals.ts'
import { haltRoutes } from './halt.ts'
import { healthRoutes } from './health.ts'
import { homeRoutes } from './home.ts'
import { inboxRoutes } from './inbox.ts'
import { proposalRoutes } from './inbox-proposals.ts'
import { logRoutes } from './logs.ts'
import { memoryRoutes } from './memory.ts'
import { observingRoutes } from './observing.ts'
import { planChangeRoutes } from './plan-changes.ts'
import { planVerbRoutes } from './plan-verbs.ts'
import { goingBackRoutes } from './plan-verbs-back.ts'
import { lookingRoutes } from './plan-verbs-look.ts'
import { planRoutes } from './plans.ts'
import { revisionRoutes } from './revisions.ts'
import { sessionPlanRoutes } from './session-plans.ts'
import { sessionRoutes } from './sessions.ts'
import { taskChangeRoutes } from './task-changes.ts'
import { taskRoutes } from './tasks.ts'
import { templateRoutes } from './templates.ts'
import { tokenRoutes } from './tokens.ts'

export const ROUTES: readonly AnyRoute[] = [
  ...homeRoutes,
  ...authRoutes,
  ...tokenRoutes,
  ...apiRoutes,
  ...engineDoorRoutes,
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
  ...planVerbRoutes,
  ...goingBackRoutes,
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
