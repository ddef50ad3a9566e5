// Converts a definition to the document that describes it, without validation. The schema defines the keys and their order.

import type { JsonObject } from '../../domain/json.ts'
import type { PlanDefinition, Policy, TaskDefinition } from '../../domain/plan.ts'
import { printer } from './codec.ts'
import { plan, policy, task } from './schema.ts'
import { criterion } from './schema-parts.ts'

export const raisePlan = printer(plan) as (plan: PlanDefinition) => JsonObject
export const raiseTask = printer(task) as (task: TaskDefinition) => JsonObject
export const raisePolicy = printer(policy) as (policy: Policy) => JsonObject
export const raiseCriterion = printer(criterion)
