// Serialisation of the state. A stored fold has everything except the definition, and for each task only what differs from an untouched
// one, so that opening it is quick. Opening rebuilds the indexes. The definition of an unsealed draft is included, because no single entry
// of the journal holds it.

import { packLedger, unpackLedger } from '../budget/ledger.ts'
import type { PlanId, Sha256, TaskName } from '../id.ts'
import { type Json, type JsonObject, wordList } from '../json.ts'
import { NO_MEMORY } from '../memory/memory-items.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { NO_AUTHORS } from '../plan-rules/authors.ts'
import { RULES } from '../rules-version.ts'
import { isUnsealed, type PlanState, type TaskState } from './state.ts'

import { allTasks, newCounts, newReadyHeap, newTask, newTimerHeap, relink, UNANNOTATED } from './task-index.ts'

export function newState(): PlanState {
  return {
    id: '' as PlanId,
    status: 'draft',
    definition: { name: '' as PlanDefinition['name'], tasks: [] },
    revision: 0,
    hash: '' as Sha256,
    origin: null,
    session: null,
    goal: null,
    agent: null,
    annotations: UNANNOTATED,
    dialect: null,
    version: 0,
    createdAt: 0,
    updatedAt: 0,
    startedAt: null,
    endedAt: null,
    reason: null,
    archived: false,
    tasks: new Map(),
    order: [],
    nextOrdinal: 1,
    completedOrder: [],
    compensating: null,
    compensation: null,
    compensationFailures: 0,
    compensationAt: null,
    ending: null,
    compensated: [],
    unsureCompensated: [],
    rollback: null,
    uncommitted: [],
    sinceCheckpoint: 0,
    rules: RULES,
    files: 'declared',
    sandbox: null,
    authors: NO_AUTHORS,
    layers: [],
    memory: NO_MEMORY,
    place: null,
    attempts: 0,
    loops: 0,
    breakers: [],
    questions: [],
    permits: [],
    proposals: [],
    halted: false,
    byHalt: false,
    shortage: null,
    budget: null,
    overBudget: false,
    rounds: 0,
    rollsBack: false,
    setBack: false,
    restored: [],
    lostOutputs: [],
    programs: null,
    startedEntry: 0,
    stampedEntry: 0,
    counts: newCounts(),
    ready: newReadyHeap(),
    claimable: newReadyHeap(),
    running: new Set(),
    holding: new Set(),
    timers: newTimerHeap(),
    asking: new Set(),
    alarms: newTimerHeap(),
  }
}

const PLAN_KEYS = [
  ...wordList('id status revision hash origin session goal version createdAt updatedAt startedAt endedAt reason'),
  ...wordList('archived nextOrdinal completedOrder compensating compensation rules'),
] satisfies readonly (keyof PlanState)[]

/** Packed only where they differ from a new plan. */
const LATER_KEYS = [
  ...wordList('dialect compensationFailures compensationAt ending compensated unsureCompensated rollback'),
  ...wordList('uncommitted sinceCheckpoint files sandbox layers place attempts loops breakers questions permits'),
  ...wordList('proposals halted rounds rollsBack setBack startedEntry stampedEntry agent annotations restored'),
  ...wordList('shortage lostOutputs overBudget authors byHalt programs memory'),
] satisfies readonly (keyof PlanState)[]

const BLANK = newState()

/** The order of a packed task; append new keys at the end. */
const TASK_KEYS = [
  ...wordList('status visit attempt failures lost readiedAt startedAt endedAt retryAt claim prepared result reason'),
  ...wordList('gate handled dormant routedBy goneBack consent feedback recovering recoveries visitAt escalated'),
  ...wordList('addedAt annotations evaluations refused waitsSince race uploads'),
] satisfies readonly (keyof TaskState)[]

const NO_TASK: TaskDefinition = { id: '' as TaskName, action: { type: 'external' } }

/** As JSON, without a definition that the journal holds. */
export function packFold(state: PlanState): JsonObject {
  const packed: Record<string, Json> = {}
  for (const key of PLAN_KEYS) packed[key] = own(state[key] as Json)
  for (const key of LATER_KEYS) {
    const value = state[key]
    if (Array.isArray(value) ? value.length > 0 : value !== BLANK[key]) packed[key] = own(value as unknown as Json)
  }
  if (state.budget !== null) packed.budget = packLedger(state.budget)
  if (isUnsealed(state)) packed.definition = ownList(state.definition) as unknown as Json
  const fresh = newTask(state.order[0]?.definition ?? NO_TASK, 0, state.createdAt)
  packed.tasks = state.order.map(task => {
    const differs: Record<string, Json> = { ordinal: task.ordinal }
    for (const key of TASK_KEYS) if (task[key] !== fresh[key]) differs[key] = task[key] as unknown as Json
    return differs
  })
  return packed
}

/** `written` reads the definition from the journal; that of an unsealed draft is in the fold. */
export function unpackFold(packed: JsonObject, written: PlanDefinition | (() => PlanDefinition)): PlanState {
  const state = newState()
  const { tasks, definition: unsealed, budget, ...plan } = packed
  const definition =
    unsealed !== undefined
      ? ownList(unsealed as unknown as PlanDefinition)
      : typeof written === 'function'
        ? written()
        : written
  for (const [key, value] of Object.entries(plan)) Object.assign(state, { [key]: own(value) })
  state.definition = definition
  if (budget !== undefined) state.budget = unpackLedger(budget)
  const kept = tasks as readonly (JsonObject & { readonly ordinal: number })[]
  state.order = allTasks(definition).map((written, at) => {
    const differs = kept[at]!
    const task = newTask(written, differs.ordinal, state.createdAt)
    // Key by key: copying ten thousand objects would dominate the time to open.
    for (const key in differs) (task as unknown as Record<string, unknown>)[key] = differs[key]
    return task
  })
  for (const task of state.order) state.tasks.set(task.definition.id, task)
  relink(state)
  return state
}

/** A copy, because the state is mutable and must share nothing with another one from the same fold. */
const own = (value: Json): Json => (Array.isArray(value) ? [...value] : value)

/** While it is unsealed, its list grows in place. */
const ownList = (definition: PlanDefinition): PlanDefinition => ({ ...definition, tasks: [...definition.tasks] })
