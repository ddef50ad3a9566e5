// From the shape of the document to the domain's definition: action keys become one action, shorthands are written out,
// `sequential` becomes needs. Nothing here can fail; whatever could was refused before.

import type { PlanName, TaskName } from '../domain/id.ts'
import {
  type Action,
  type Budget,
  type CompensatingTask,
  type Edit,
  type FailureMode,
  type ForEach,
  type GitAction,
  type GitUse,
  LATER_ACTIONS,
  type OutputSource,
  type PlanDefinition,
  type TaskDefinition,
} from '../domain/plan.ts'
import { lowerGate, lowerNotify, lowerPolicy, lowerRecovery } from './lower-judgement.ts'
import { lowerCommand, lowerCriterion, lowerRetry, sparse } from './lower-parts.ts'
import type { EditDocument, GitDocument, PlanDocument, TaskDocument } from './schema.ts'

export function lowerPlan(plan: PlanDocument, name: PlanName): PlanDefinition {
  const { policy, defaults, git, sequential, tasks } = plan
  return sparse<PlanDefinition>({
    name,
    title: plan.title,
    goal: plan.goal,
    done: plan.done?.map(lowerCriterion),
    policy: policy && lowerPolicy(policy, lowerBudget(policy.budget)),
    git: git && sparse<GitUse>({ ...git }),
    notify: plan.notify && lowerNotify(plan.notify),
    recovery: plan.recovery && sparse({ ...plan.recovery }),
    concurrency: plan.concurrency,
    defaults: defaults && sparse({ timeoutMs: defaults.timeout, retry: lowerRetry(defaults.retry) }),
    session: plan.session,
    owner: plan.owner,
    stakeholders: plan.stakeholders,
    hypotheses: plan.hypotheses,
    memory: plan.memory,
    artifacts: plan.artifacts,
    labels: plan.labels,
    extra: plan.extra,
    tasks: tasks.map((task, index) => lowerTask(task, sequential === true ? tasks[index - 1]?.id : undefined)),
  })
}

function lowerTask(task: TaskDocument, previous: TaskName | undefined): TaskDefinition {
  return sparse<TaskDefinition>({
    id: task.id,
    title: task.title,
    description: task.description,
    kind: task.kind,
    rationale: task.rationale,
    instruction: task.instruction,
    action: lowerAction(task),
    needs: task.needs ?? (previous === undefined ? undefined : [previous]),
    optional: task.optional === true ? true : undefined,
    when: task.when,
    timeoutMs: task.timeout,
    retry: lowerRetry(task.retry),
    timeboxMs: task.timebox,
    priority: task.priority,
    inputs: task.inputs,
    outputs: task.outputs && mapValues(task.outputs, lowerOutput),
    write: task.write,
    read: task.read,
    network: task.network,
    env: task.env,
    cwd: task.cwd,
    effect: task.effect,
    probe: task.probe === undefined ? undefined : lowerCommand(task.probe),
    expect: task.expect,
    accept: task.accept?.map(lowerCriterion),
    preconditions: task.preconditions?.map(lowerCriterion),
    postconditions: task.postconditions?.map(lowerCriterion),
    effects: task.effects,
    recover: task.recover?.map(rule => lowerRecovery(rule, one => lowerTask(one, undefined))),
    failureModes: task.failure_modes?.map(lowerFailureMode),
    compensate: task.compensate && lowerUndo(task.compensate),
    on: task.on,
    visits: task.visits,
    assumptions: task.assumptions,
    risks: task.risks,
    rollback: task.rollback,
    owner: task.owner,
    assignee: task.assignee,
    labels: task.labels,
    milestone: task.milestone,
    deadline: task.deadline,
    estimateMs: task.estimate,
    budget: lowerBudget(task.budget),
    capabilities: task.capabilities,
    forEach: task.for_each === undefined ? undefined : lowerForEach(task.for_each),
    matrix: task.matrix,
    extra: task.extra,
  })
}

function lowerUndo({ task, ...action }: NonNullable<TaskDocument['compensate']>): Action | CompensatingTask {
  return task === undefined ? lowerAction(action) : { type: 'task', task }
}

type ActionDocument = Partial<
  Pick<
    TaskDocument,
    | ('run' | 'stdin' | 'edit' | 'decide' | 'gate' | 'show' | 'subplan' | 'git' | 'checkpoint')
    | (typeof LATER_ACTIONS)[number]
  >
>

function lowerAction(document: ActionDocument): Action {
  const { run, edit, decide, gate, stdin, show, git, checkpoint } = document
  if (run !== undefined) return sparse<Action>({ type: 'run', command: lowerCommand(run), stdin })
  if (edit !== undefined) return { type: 'edit', edits: (Array.isArray(edit) ? edit : [edit]).map(lowerEdit) }
  if (decide !== undefined) return { type: 'decide', expression: decide }
  if (gate !== undefined) return lowerGate(gate, show)
  if (document.subplan !== undefined) return { type: 'subplan', tasks: lowerSteps(document.subplan) }
  if (git !== undefined) return { type: 'git', git: lowerGit(git) }
  if (checkpoint === true) return { type: 'checkpoint' }
  if (checkpoint !== undefined)
    return { type: 'checkpoint', name: typeof checkpoint === 'string' ? checkpoint : checkpoint.name }
  for (const type of LATER_ACTIONS) {
    const spec = document[type]
    if (spec !== undefined) return { type, spec }
  }
  return { type: 'external' }
}

function lowerGit(document: GitDocument): GitAction {
  if ('commit' in document) return sparse<GitAction>({ do: 'commit', message: document.commit, paths: document.paths })
  const { message } = document
  if ('tag' in document) return sparse<GitAction>({ do: 'tag', name: document.tag, message })
  return sparse<GitAction>({ do: 'merge', task: document.merge, message })
}

/** Lines of prose become steps `1`, `2`, … each after the one before it. */
function lowerSteps(steps: NonNullable<TaskDocument['subplan']>): readonly TaskDefinition[] {
  return steps.map((step, index) => {
    if (typeof step !== 'string') return lowerTask(step, undefined)
    const follows = index > 0 && typeof steps[index - 1] === 'string'
    return sparse<TaskDefinition>({
      id: String(index + 1) as TaskName,
      title: step,
      action: { type: 'external' },
      needs: follows ? [String(index) as TaskName] : undefined,
    })
  })
}

function lowerForEach(document: NonNullable<TaskDocument['for_each']>): ForEach {
  if (typeof document === 'string') return { in: bare(document) }
  if ('in' in document) return sparse<ForEach>({ in: bare(document.in), items: document.items })
  return { items: document }
}

/** An expression may be written as one, or as the template it would be elsewhere. */
function bare(text: string): string {
  const inner = /^\$\{\{([\s\S]*)\}\}$/.exec(text.trim())?.[1]
  return inner === undefined || inner.includes('${{') ? text : inner.trim()
}

function lowerFailureMode(mode: NonNullable<TaskDocument['failure_modes']>[number]): FailureMode {
  const { name, detect, class: kind, recover, advice } = mode
  return sparse<FailureMode>({
    name,
    detect:
      typeof detect === 'string'
        ? { type: 'prose', text: detect }
        : sparse({ type: 'expect', expression: detect.expect, text: detect.text }),
    class: kind,
    recover,
    advice,
  })
}

function lowerEdit(document: EditDocument): Edit {
  const { file, sha256 } = document
  if ('create' in document)
    return sparse<Edit>({ type: 'create', file, content: document.create, mode: document.mode, sha256 })
  if ('find' in document) {
    const { find, replace, all } = document
    return sparse<Edit>({ type: 'replace', file, find, replace, all: all === true ? true : undefined, sha256 })
  }
  if ('patch' in document) return sparse<Edit>({ type: 'patch', file, diff: document.patch, sha256 })
  if ('move' in document) return sparse<Edit>({ type: 'move', file, to: document.move, sha256 })
  if ('chmod' in document) return sparse<Edit>({ type: 'chmod', file, mode: document.chmod, sha256 })
  return sparse<Edit>({ type: 'delete', file, sha256 })
}

function lowerOutput(output: NonNullable<TaskDocument['outputs']>[string]): OutputSource {
  if (output === 'stdout') return { from: 'stdout', as: 'text' }
  if ('file' in output) return { from: 'file', file: output.file }
  if ('stdout' in output) return { from: 'stdout', as: output.stdout }
  const { report, retention } = output
  return sparse<OutputSource>({ from: 'report', type: report === true ? undefined : report, retention })
}

function lowerBudget(budget: TaskDocument['budget']): Budget | undefined {
  return budget && sparse<Budget>({ timeMs: budget.time, cost: budget.cost, attempts: budget.attempts })
}

function mapValues<T, U>(record: { readonly [key: string]: T }, change: (value: T) => U): { [key: string]: U } {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]))
}
