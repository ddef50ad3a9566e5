// What a program that embeds Planfold may use: the rooms opened by `compose`, the Engine door, plan documents, and the words.

import { findExtra } from './extras.ts'
import { type Parsed, type ParseOptions, parsePlan as parseText } from './format/plan/parse.ts'

export { type Composed, type ComposeOptions, compose, NoState } from './compose.ts'
export type { Command } from './domain/command.ts'
export type { Event } from './domain/event.ts'
export { advise, type Hint, plainHint, type Step, wordHint } from './domain/hint.ts'
export type { Actor, PlanId, PlanName, Sha256, TaskId, TaskName } from './domain/id.ts'
export type { PlanDefinition, TaskDefinition } from './domain/plan.ts'
export { checkGraph } from './domain/plan-rules/graph-rules.ts'
export type { Refusal } from './domain/refusal.ts'
export type { Failure, Result } from './domain/result.ts'
export { evolve } from './domain/state/evolve.ts'
export { newState } from './domain/state/fold.ts'
export type { PlanStatus, TaskStatus } from './domain/status.ts'
export { board } from './domain/views/board.ts'
export { progress, summary } from './domain/views/summary.ts'
export { timeline } from './domain/views/timeline.ts'
export type {
  Driven,
  DriveOptions,
  Engine,
  EngineInProcess,
  Order,
  Queries,
  Submitted,
  Worker,
} from './engine/engine.ts'
export { type Caller, NotAllowed, RIGHTS, type Right, type Role, type Scope, trusted } from './engine/roles.ts'
export { definitionHash } from './format/plan/hash.ts'
export { printJson, printYaml } from './format/plan/print.ts'
export type { CustomRunner } from './runners/custom/custom-runner.ts'
export type { Attempt, Outcome, Preview, Reach, RunnerAbout, RunnerTools, Stop } from './runners/runner.ts'
export { openGate } from './safety/files/path-gate.ts'
export { inScope } from './safety/scope.ts'
export type { Entry, Page } from './stores/store.ts'

const dialects = await findExtra('dialects')

/** Reads a plan in our own format, or in any other that this build has. */
export const parsePlan = (text: string, options: ParseOptions = {}): Parsed => parseText(text, { dialects, ...options })
