// A definition as the document a person would write, keys in the order of the format. `schema.ts` says how; nothing is checked here.

import type { JsonObject } from '../../domain/json.ts'
import type { PlanDefinition, Policy, TaskDefinition } from '../../domain/plan.ts'
import { printer } from './codec.ts'
import { plan, policy, task } from './schema.ts'
import { criterion } from './schema-parts.ts'

export const raisePlan = printer(plan) as (plan: PlanDefinition) => JsonObject
export const raiseTask = printer(task) as (task: TaskDefinition) => JsonObject
export const raisePolicy = printer(policy) as (policy: Policy) => JsonObject
export const raiseCriterion = printer(criterion)
