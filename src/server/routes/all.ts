// The table: every route of the service, noun by noun.

import type { AnyRoute } from '../route.ts'
import { healthRoutes } from './health.ts'

export const ROUTES: readonly AnyRoute[] = [...healthRoutes]
