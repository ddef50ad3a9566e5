// Helpers for testing plans: exported as `planfold/testing`.

export { ClockFake, EPOCH } from './clock.ts'
export { numberedPlanId, numberedSha, sequentialPlanIds } from './ids.ts'
export { failed, interrupted, Journal, type JournalEntry, START, started, succeeded } from './journal.ts'
export { decision, edit, external, gate, name, type PlanOptions, plan, type TaskOptions, task } from './plan.ts'
export { create, type Given, given, type When } from './scenario.ts'
export {
  type ModelProtocol,
  recordedModel,
  type Script,
  type ScriptedModel,
  type ScriptedReply,
  type ScriptedRequest,
  type ScriptedUsage,
  scriptedModel,
} from './scripted-model.ts'
