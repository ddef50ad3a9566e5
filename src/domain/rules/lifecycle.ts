// The lifecycle of a plan: created, started, paused, resumed, cancelled, archived.

import { actionFacts } from '../actions/actions.ts'
import { gitOf } from '../actions/git-action.ts'
import { goOnWithin, resumeObjection } from '../budget/budget-rules.ts'
import type { CommandOf } from '../command.ts'
import type { ImportedTask } from '../event.ts'
import { advise, joinHints, next } from '../hint.ts'
import type { TaskName } from '../id.ts'
import { defined } from '../json.ts'
import { SANDBOX_FORM } from '../network-decision.ts'
import { suggest } from '../phrases.ts'
import type { Authors, PlanDefinition, TaskDefinition } from '../plan.ts'
import { authorsOfNew, isOwn } from '../plan-rules/authors.ts'
import { usesTaskWorktrees } from '../plan-rules/effect.ts'
import { expandTasks } from '../plan-rules/expand.ts'
import { checkGraph } from '../plan-rules/graph-rules.ts'
import type { GraphFault } from '../plan-rules/structure.ts'
import { writtenTasks } from '../plan-rules/structure.ts'
import { isBelowHome } from '../policy/policy-in-state.ts'
import { layersBesides, type PolicyAgain, type PolicyLayer } from '../policy/policy-layer.ts'
import { refuseLayers } from '../policy/refuse-layers.ts'
import { type Refusal, refuse } from '../refusal.ts'

import { knowsRules } from '../rules-version.ts'
import { type Shortage, shortageReason } from '../shortage.ts'
import { goneBackIn, isUnsealed, type PlanState } from '../state/state.ts'
import { runningInOrder } from '../state/task-index.ts'
import { PLAN_ENDED } from '../status.ts'
import { conclude } from './conclude.ts'
import { type DecisionDraft, emit } from './decision.ts'
import { blockHeld, markReady } from './readiness.ts'
import { howToStartOver } from './start-over.ts'

export function create(draft: DecisionDraft, command: CommandOf<'create'>): Refusal | undefined {
  if (draft.state.revision > 0) return refuse('exists', 'the plan exists already')
  // An empty draft is valid, but cannot start.
  const refusal = command.definition.tasks.length === 0 ? undefined : refuseGraph(command.definition)
  if (refusal !== undefined) return refusal
  const { plan, definition, hash, origin, session, goal, agent, source, outside, place, forkedAt, start } = command
  const { writer, others, context } = command
  const foreign = refuseForeignKeys(definition, authorsOfNew(writer, others))
  if (foreign !== undefined) return foreign
  const imported = importedTasks(definition, command.imported ?? [])
  if ('code' in imported) return imported
  emit(draft, {
    type: 'plan.created',
    plan,
    definition,
    hash,
    origin,
    session,
    goal,
    agent,
    source,
    outside,
    writer,
    others,
    place,
    forkedAt,
    start,
    context,
  })
  if (imported.length > 0) emit(draft, { type: 'task.imported', tasks: imported })
  return undefined
}

/** The imported tasks. A group that has ended gives its status to those of its children that are not listed themselves. */
function importedTasks(
  definition: PlanDefinition,
  imported: readonly ImportedTask[],
): readonly ImportedTask[] | Refusal {
  if (imported.length === 0) return []
  const known = new Map(expandTasks(definition).map(task => [task.id, task]))
  const all = new Map<TaskName, ImportedTask>()
  for (const one of imported) {
    if (!known.has(one.task)) {
      const near = suggest(one.task, known.keys())
      const hint = near === null ? 'name a task of the plan' : `did you mean '${near}'?`
      return refuse('unknown-reference', `the status of '${one.task}' is given, and the plan has no such task`, hint)
    }
    if (all.has(one.task))
      return refuse('duplicate', `the status of '${one.task}' is given twice`, 'give each task one status')
    all.set(one.task, one)
  }
  for (const { task, status } of all.values()) {
    const action = known.get(task)?.action
    if (action?.type !== 'group' || status === 'pending') continue
    // The map grows while it is iterated: children of children come later.
    for (const child of known.get(task)?.needs ?? [])
      if (child.startsWith(`${task}/`) && !all.has(child)) all.set(child, { task: child, status })
  }
  return [...all.values()]
}

export function start(draft: DecisionDraft, command: CommandOf<'start'>): Refusal | undefined {
  const { state } = draft
  if (state.status !== 'draft') return illegal(state, 'start', 'only a draft can be started')
  if (isUnsealed(state)) return refuse('conflict', 'tasks were added to the plan meanwhile', 'start it again')
  const refusal =
    refuseRules(command.rules) ??
    (state.definition.tasks.length === 0 ? refuseGraph(state.definition) : refuseUnsupported(state.definition)) ??
    refuseLayers(state.definition, command.policy ?? [])
  if (refusal !== undefined) return refusal
  const { type: _, asks, ...said } = command
  const isShutIn = said.sandbox === 'required' || layersWant(said.policy ?? [])
  const isOff = state.definition.policy?.sandbox === 'off' && said.sandbox !== undefined && !isShutIn
  emit(draft, { type: 'plan.started', ...said, ...(isOff ? { sandboxOff: true } : {}) })
  markReady(draft, state.order)
  // Imported tasks may have failed or been abandoned.
  blockHeld(draft, state.order)
  conclude(draft)
  if (asks !== undefined) askWithoutSandbox(draft, asks)
  return undefined
}

/** `sandbox: off` and `read: [~/…]` are reserved for tasks that the person wrote. */
export function refuseForeignKeys(definition: PlanDefinition, authors: Authors): Refusal | undefined {
  for (const { task, name } of writtenTasks(definition)) {
    if (isOwn({ authors }, name)) continue
    const key = task.sandbox === 'off' ? 'sandbox: off' : task.read?.some(isBelowHome) ? 'read: [~/…]' : null
    if (key !== null)
      return refuse(
        'not-allowed',
        `task '${name}' says \`${key}\`, which only the person who runs the plan may write`,
        'leave it out: what others wrote runs in the sandbox',
      )
  }
  return undefined
}

const layersWant = (layers: readonly PolicyLayer[]): boolean =>
  layers.some(({ policy }) => (policy.sandbox ?? 'off') !== 'off')

/** For journals from before a person's own plan ran without a sandbox: one question, before anything runs. */
function askWithoutSandbox(draft: DecisionDraft, id: string): void {
  if (draft.state.status !== 'active') return
  emit(draft, { type: 'question.asked', id, text: NO_SANDBOX, form: SANDBOX_FORM, by: 'planfold', sandbox: true })
  emit(draft, { type: 'plan.paused', reason: 'a person must decide whether commands may run without a sandbox' })
}

const NO_SANDBOX =
  'this machine has no sandbox: commands of this plan would run with your permissions. Run them? Or install bubblewrap first (on Linux)'

export const refuseRules = (rules: number): Refusal | undefined =>
  knowsRules(rules)
    ? undefined
    : refuse('not-supported', `this program does not know rules ${rules}`, 'use the planfold that does')

export function pause(draft: DecisionDraft, command: CommandOf<'pause'>): Refusal | undefined {
  const force = command.force === true
  const { cause } = command
  // An automatic pause resumes by itself; a pause by a person must stay.
  const isToStay = (draft.state.shortage !== null || draft.state.overBudget) && cause === undefined
  if (draft.state.status === 'paused' && !isToStay && (!force || draft.state.halted)) return undefined
  const isOpen = draft.state.status === 'active' || draft.state.status === 'paused'
  if (!isOpen) return illegal(draft.state, 'pause', 'only a running plan can be paused')
  if (draft.state.compensating !== null) return illegal(draft.state, 'pause', 'its tasks are being undone')
  const pause = { ...(force ? { force } : {}), ...(command.halt === undefined ? {} : { halt: command.halt }), cause }
  emit(draft, { type: 'plan.paused', reason: command.reason ?? 'paused', ...pause })
  return undefined
}

/** The engine lacks a resource. Compensations, a rollback, and a plan that is not active are left alone. */
export function pauseForShortage(draft: DecisionDraft, cause: Shortage): void {
  const { status, compensating, rollback } = draft.state
  if (status === 'active' && compensating === null && rollback === null)
    emit(draft, { type: 'plan.paused', reason: shortageReason(cause), cause })
}

export function resume(draft: DecisionDraft, command: CommandOf<'resume'>): Refusal | undefined {
  if (draft.state.rollback !== null) return undefined
  if (draft.state.status === 'active') return takeUpStricter(draft, command)
  const { policy } = command
  if (draft.state.status !== 'paused') return illegal(draft.state, 'resume', 'only a paused plan can be resumed')
  const open = draft.state.questions.find(({ sandbox }) => sandbox === true)
  if (open !== undefined) {
    const plan = draft.state.definition.name
    const step = next('answer', { plan, task: open.id, fields: ['run=yes'] })
    return refuse('conflict', `a person must answer first: ${open.text}`, advise`${step}`)
  }
  const beyond = policy === undefined ? undefined : refuseLayers(draft.state.definition, policy)
  if (beyond !== undefined) return beyond
  const objection = resumeObjection(draft.state, draft.now)
  if (objection !== null) return objection
  // The budget in the plan file may have been raised.
  goOnWithin(draft, 'planfold', policyAgain(command))
  if (draft.state.status === 'paused') emit(draft, { type: 'plan.resumed', ...policyAgain(command) })
  conclude(draft)
  return undefined
}

/** A running plan takes new layers up only beside all that it has, so its policy only narrows; a set that lacks one of them is ignored. */
function takeUpStricter(draft: DecisionDraft, command: CommandOf<'resume'>): Refusal | undefined {
  const { state } = draft
  const { policy } = command
  const isOver = state.compensating !== null || state.ending !== null
  if (policy === undefined || isOver || layersBesides(state.layers, policy).length > 0) return undefined
  const beyond = refuseLayers(state.definition, policy)
  if (beyond === undefined) emit(draft, { type: 'plan.resumed', ...policyAgain(command) })
  return beyond
}

export const policyAgain = ({ policy, changed, memory }: PolicyAgain): PolicyAgain => ({
  ...defined({ policy, changed, memory }),
})

/** With `force` the plan ends at once: running tasks are given up, nothing is compensated. */
export function cancel(draft: DecisionDraft, command: CommandOf<'cancel'>): Refusal | undefined {
  const { state } = draft
  if (PLAN_ENDED.has(state.status)) return illegal(state, 'cancel', 'the plan is finished')
  const force = command.force === true
  if (state.compensating === null || (force && (state.compensating.length > 0 || state.rollback !== null))) {
    emit(draft, { type: 'plan.cancelled', reason: command.reason ?? 'cancelled', force })
  }
  if (force) {
    for (const task of runningInOrder(state)) {
      emit(draft, {
        type: 'attempt.lost',
        task: task.definition.id,
        visit: task.visit,
        attempt: task.attempt,
        reason: 'the plan was cancelled by force',
        byUs: true,
        ...goneBackIn(task),
      })
    }
    for (const task of state.order) {
      if (task.status === 'running')
        emit(draft, { type: 'task.abandoned', task: task.definition.id, reason: 'the plan was cancelled by force' })
    }
    emit(draft, { type: 'plan.finished', status: 'cancelled', reason: state.reason ?? 'cancelled' })
  } else {
    for (const task of state.order) {
      if (task.status === 'running' && task.claim !== null)
        emit(draft, { type: 'task.abandoned', task: task.definition.id, reason: 'the plan was cancelled' })
    }
    conclude(draft)
  }
  return undefined
}

export function archive(draft: DecisionDraft): Refusal | undefined {
  const { state } = draft
  if (state.archived) return undefined
  if (state.status !== 'draft' && !PLAN_ENDED.has(state.status))
    return illegal(state, 'archive', 'a plan that is still open cannot be archived')
  emit(draft, { type: 'plan.archived' })
  return undefined
}

/** Verbs whose command is called otherwise. */
const VERBS: { readonly [verb: string]: string } = { decide: 'answer' }

export function illegal(state: PlanState, verb: string, message: string): Refusal {
  const allowed: Record<PlanState['status'], readonly string[]> = {
    draft: ['run', 'cancel', 'archive'],
    active: state.compensating === null ? ['pause', 'cancel', 'revise'] : ['force-cancel'],
    paused: ['resume', 'cancel', 'revise'],
    completed: ['retry', 'archive'],
    failed: ['run', 'retry', 'skip', 'archive'],
    cancelled: ['archive'],
  }
  const plan = state.definition.name
  // Archiving is allowed, but never the advice.
  const ways = allowed[state.status].filter(word => word !== 'archive').map(word => [{ may: word, plan }])
  return refuse(
    'illegal-transition',
    `cannot ${VERBS[verb] ?? verb}: ${message} (status: ${state.status === 'active' ? 'running' : state.status})`,
    ways.length === 0 ? howToStartOver(state) : advise`you can: ${joinHints(ways, ', ')}`,
    allowed[state.status],
  )
}

export function refuseGraph(definition: PlanDefinition): Refusal | undefined {
  const fault = checkGraph(definition)[0]
  if (fault === undefined) return undefined
  const codes: Record<GraphFault['code'], Refusal['code']> = {
    empty: 'invalid',
    limit: 'limit',
    duplicate: 'duplicate',
    'unknown-reference': 'unknown-reference',
    cycle: 'cycle',
    policy: 'not-allowed',
    structure: 'invalid',
  }
  return refuse(codes[fault.code], fault.message, fault.hint)
}

/** What the format allows and this release cannot run is refused before it runs, never skipped silently. */
export function refuseUnsupported(definition: PlanDefinition): Refusal | undefined {
  const apart = usesTaskWorktrees(definition)
  const claimed = apart ? externalIn(definition.tasks) : undefined
  if (claimed !== undefined)
    return refuse(
      'not-supported',
      `task '${claimed.id}' is claimed by an agent, and with 'git: {worktree: task}' only the engine has a worktree to work in`,
      "use 'worktree: plan': all tasks and agents then work in one worktree of the plan, apart from your files",
    )
  for (const task of expandTasks(definition)) {
    const { type } = task.action
    if (!apart && gitOf(task.action)?.do === 'merge')
      return refuse(
        'not-supported',
        `task '${task.id}' merges the branch of a task, and no task has one`,
        "leave it out, or let tasks work in worktrees of their own: 'git: {worktree: task}'",
      )
    if (actionFacts(task.action).isSupported?.(task.action) === false) {
      return refuse(
        'not-supported',
        `task '${task.id}' has the action '${type}', which this release does not carry out yet`,
        'use run, edit, git, http, db, model, agent, decide, gate or checkpoint, or leave the action out and let an agent claim the task',
      )
    }
  }
  return undefined
}

/** Including a task whose items are unknown yet. */
function externalIn(tasks: readonly TaskDefinition[]): TaskDefinition | undefined {
  for (const task of tasks) {
    const { action } = task
    const found = action.type === 'subplan' ? externalIn(action.tasks) : action.type === 'external' ? task : undefined
    if (found !== undefined) return found
  }
  return undefined
}
