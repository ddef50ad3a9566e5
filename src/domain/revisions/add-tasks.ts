// What clients add to a plan: tasks, one by one, to a draft; annotations and evaluations.

import { actionFacts } from '../actions/actions.ts'
import { mergedBy } from '../actions/git-action.ts'
import type { CommandOf } from '../command.ts'
import { isTaskName } from '../id.ts'
import { type JsonObject, jsonBytes, same } from '../json.ts'
import { ANNOTATIONS_MAX_BYTES, EVALUATION_MAX_BYTES } from '../limits.ts'
import { suggest } from '../phrases.ts'
import type { TaskDefinition } from '../plan.ts'
import { authorsWith } from '../plan-rules/authors.ts'
import { scopesOverlap } from '../plan-rules/effect.ts'
import { compensatorOf } from '../plan-rules/expand.ts'
import { tasksHint, tasksMax } from '../recovery/breaker.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { type DecisionDraft, emit, unknownTask } from '../rules/decision.ts'
import { refuseForeignKeys } from '../rules/lifecycle.ts'
import { annotated } from '../state/evolve.ts'
import type { PlanState } from '../state/state.ts'

// Data that clients keep on plans and tasks: annotations, which the engine ignores, and evaluations.

export function annotate(draft: DecisionDraft, { task: name, set, by }: CommandOf<'annotate'>): Refusal | undefined {
  const task = name === undefined ? undefined : draft.state.tasks.get(name)
  if (name !== undefined && task === undefined) return unknownTask(draft, name)
  // Assigning this key would replace the prototype of a copy.
  if (Object.hasOwn(set, '__proto__'))
    return refuse('invalid', "an annotation cannot be called '__proto__'", 'choose another name')
  const refusal = tooLarge(set, 'an annotation', ANNOTATIONS_MAX_BYTES)
  if (refusal !== undefined) return refusal
  const before = (task ?? draft.state).annotations
  const after = annotated(before, set)
  if (same(before, after)) return undefined
  if (jsonBytes(after) > ANNOTATIONS_MAX_BYTES)
    return refuse(
      'limit',
      `${name === undefined ? 'the plan' : `'${name}'`} would keep more than ${ANNOTATIONS_MAX_BYTES} bytes of annotations`,
      'take some away by setting them to null, or keep them as an output of a task',
    )
  if (name === undefined) emit(draft, { type: 'plan.annotated', set, by })
  else emit(draft, { type: 'task.annotated', task: name, set, by })
  return undefined
}

export function evaluate(draft: DecisionDraft, command: CommandOf<'evaluate'>): Refusal | undefined {
  const { task: name, id, by, score, passed, data } = command
  const task = draft.state.tasks.get(name)
  if (task === undefined) return unknownTask(draft, name)
  if (task.evaluations.some(one => one.id === id)) return undefined
  if (score !== undefined && !Number.isFinite(score))
    return refuse('invalid', 'a score must be a number', 'leave it out when there is none')
  const refusal = data === undefined ? undefined : tooLarge({ data }, 'the data of an evaluation', EVALUATION_MAX_BYTES)
  if (refusal !== undefined) return refusal
  emit(draft, {
    type: 'task.evaluated',
    task: name,
    id,
    by,
    visit: task.visit,
    score,
    passed,
    data,
  })
  return undefined
}

function tooLarge(value: JsonObject, what: string, max: number): Refusal | undefined {
  const bytes = jsonBytes(value)
  if (bytes <= max) return undefined
  if (bytes === Number.POSITIVE_INFINITY) return refuse('limit', `${what} is nested too deep`, 'flatten it')
  return refuse('limit', `${what} has ${bytes} bytes, more than ${max}`, 'keep it as an output of a task')
}

// Appending to a draft at constant cost for each task: only plain tasks, to which no outcome leads and which change nothing about others.
// Everything else is a revision.

export function add(draft: DecisionDraft, { tasks, writer }: CommandOf<'add'>): Refusal | undefined {
  const { state } = draft
  if (!isOpenTo(state, tasks))
    return refuse(
      'conflict',
      'these tasks cannot be added one by one to the plan as it is now',
      'revise the plan with the tasks in it',
    )
  const there = state.definition.tasks.length
  const max = tasksMax(state.definition)
  if (there + tasks.length > max)
    return refuse('limit', `the plan has ${there + tasks.length} tasks, more than ${max}`, tasksHint(state.definition))
  const earlier = new Set<string>()
  for (const task of tasks) {
    const refusal = refuseTask(state, task, earlier)
    if (refusal !== undefined) return refusal
    earlier.add(task.id)
  }
  const foreign = refuseForeignKeys({ ...state.definition, tasks }, authorsWith(state.authors, tasks, writer))
  if (foreign !== undefined) return foreign
  if (tasks.length > 0) emit(draft, { type: 'task.added', tasks, writer })
  return undefined
}

/** Can they be appended without checking the rest of the plan? Only to a draft without groups and without `done`. */
export function isOpenTo({ status, order, definition }: PlanState, tasks: readonly TaskDefinition[]): boolean {
  return status === 'draft' && order.length === definition.tasks.length && tasks.every(isPlain)
}

/** It is not expanded, and refers to other tasks only by `needs`. */
function isPlain(task: TaskDefinition): boolean {
  if (task.forEach !== undefined || task.matrix !== undefined || task.on !== undefined || task.recover !== undefined)
    return false
  if (task.review !== undefined) return false
  if (task.bound !== undefined || task.sleeps !== undefined || task.leads !== undefined) return false
  if (task.failureModes?.some(mode => mode.recover !== undefined) === true || task.id.includes('/')) return false
  return actionFacts(task.action).isStructure !== true && compensatorOf(task) === null && mergedBy(task.action) === null
}

function refuseTask(state: PlanState, task: TaskDefinition, earlier: ReadonlySet<string>): Refusal | undefined {
  const { id, needs = [], write = [] } = task
  if (!isTaskName(id)) return refuse('invalid', `'${String(id).slice(0, 60)}' cannot be the id of a task`, NAMES)
  if (state.tasks.has(id) || earlier.has(id))
    return refuse('duplicate', `two tasks are called '${id}'`, 'give one of them another id')
  if (needs.includes(id)) return refuse('cycle', `dependency cycle: ${id} → ${id}`, 'remove one of these `needs`')
  const unknown = needs.find(name => !state.tasks.has(name) && !earlier.has(name))
  if (unknown !== undefined) {
    const near = suggest(unknown, [...state.tasks.keys(), ...earlier])
    return refuse(
      'unknown-reference',
      `task '${id}' needs '${unknown}', which does not exist`,
      near === null ? 'name a task of this plan' : `did you mean '${near}'?`,
    )
  }
  const allowed = state.definition.policy?.write
  const beyond = allowed === undefined ? undefined : write.find(pattern => !scopesOverlap([pattern], allowed))
  if (beyond === undefined) return undefined
  return refuse(
    'not-allowed',
    `task '${id}' wants to write '${beyond}', which the plan's policy.write does not allow`,
    'a task may narrow the policy, never widen it',
  )
}

const NAMES = 'use lower-case letters, digits and dashes'
